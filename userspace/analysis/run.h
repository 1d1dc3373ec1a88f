// A recorded run, read back: the log, what cyclictest printed, the plan.
//
// A run's directory holds run.fsl, measure.txt (the measuring program's output), plan.textproto,
// load.txt, table.txt and explain.txt; one that was resumed also run-2.fsl, measure-2.txt and so on:
// the same boot's clock, another measuring process, whose threads are numbered on. A lone log is a
// run as well: its table ends each latency at the switch-in, since no program told when it read the
// clock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/experiment.pb.h"
#include "proto/record.pb.h"
#include "userspace/analysis/cyclictest.h"
#include "userspace/analysis/evidence.h"
#include "userspace/analysis/join.h"
#include "userspace/analysis/run_files.h"
#include "userspace/analysis/story.h"
#include "userspace/analysis/table.h"
#include "userspace/analysis/tally.h"
#include "userspace/log/losses.h"

namespace fairswitch {

struct LogPart;

struct SampleId {
    uint32_t thread = 0;
    uint64_t cycle = 0;
};

enum class TableFormat { kText, kMarkdown, kCsv, kJson };

class Run {
  public:
    // Reads the log twice: for the join, then for the counts and the decisions that matter.
    static Run load(const RunFiles& files, size_t worst, std::optional<SampleId> chosen = {});

    const Join& joined() const { return *join_; }
    const Evidence& evidence() const { return *evidence_; }
    std::string arm_name(uint32_t arm) const;

    std::string table_text(TableFormat format = TableFormat::kText) const;
    // The stories of the most late samples, and of how many the cause is known.
    std::string worst_text() const;
    // The story of the sample chosen at load().
    std::string sample_text(SampleId id) const;
    // The periods asked for at load(), the worst first.
    const std::vector<size_t>& worst() const { return worst_; }
    // Until when the last part's records and samples are all there; 0 if it has none.
    uint64_t whole_until() const;

  private:
    Table table() const;
    void warn_of_blocks(Table& table) const;
    void read_parts_for_join(const RunFiles& files);
    void read_log_for_join(const RunFiles& files, const std::string& log);
    void warn_of_part(const LogPart& part, bool resumed_later);
    void warn_of_filter(const std::optional<End>& end);
    std::vector<Block> covered(std::vector<Block> blocks);
    void read_samples(const std::string& path, uint32_t first_thread);
    CyclicOutput read_waker(std::istream& in);
    void choose(size_t worst, std::optional<SampleId> chosen);
    void read_log_for_decisions(const RunFiles& files);
    const Period* find(SampleId id) const;
    void name_arms();
    std::string story(const Period& period) const;

    Header header_;
    Losses losses_;
    std::unique_ptr<Evidence> evidence_ = std::make_unique<Evidence>();
    std::optional<CyclicOutput> cyclic_;
    CyclicCommand command_;
    std::optional<Experiment> plan_;
    std::unique_ptr<Join> join_;
    std::unique_ptr<Tally> tally_;
    std::unique_ptr<DecisionStore> decisions_;
    std::vector<size_t> worst_;
    std::map<uint32_t, std::string> arm_names_;
    std::vector<std::string> warnings_;
    bool cut_short_ = false;
    uint32_t first_thread_ = 0;       // of the last part
    uint64_t part_begin_ns_ = 0;      // of the last part
};

}  // namespace fairswitch
