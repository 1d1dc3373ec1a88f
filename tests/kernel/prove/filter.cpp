// A filtered log: nothing that the filter should have left out, and books that say how much was.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

class FilterProof {
  public:
    explicit FilterProof(const OrderedLog& log) : log_(log), filter_(log.header.filter()) {
        for (const model::Record& record : log.unordered) {
            const auto* task = std::get_if<model::Task>(&record);
            if (task == nullptr) continue;
            processes_[task->pid].insert(task->tgid);
            names_[task->pid].insert(std::string(model::text(task->comm)));
        }
    }

    void run() {
        for (const auto& [cpu, records] : log_.by_rq) {
            for (const model::Record& record : records) {
                std::visit([this](const auto& kind) { check(kind); }, record);
            }
        }
        const std::uint64_t left_out = check_sampling();
        if (checked_ == 0) fail(Exit::kRunFailed, "no record passed the filter");
        if (left_out == 0) fail(Exit::kRunFailed, "the filter left nothing out");
        fmt::print("{} records pass, {} were left out\n", checked_, left_out);
    }

  private:
    template <typename Kind>
    void check(const Kind&) {}
    void check(const model::Decision& d) {
        about(d.stamp, d.wakee_pid);
        path(d.path);
        if (!filter_.short_slice()) return;
        constexpr std::uint32_t kTask = FSW_ENTITY_TASK;
        // Where groups are compared the tasks' own slices aren't in the record.
        if (d.wakee->flags & d.curr->flags & kTask && d.wakee->slice_ns >= d.curr->slice_ns) {
            fail(Exit::kRunFailed, "the wakee's slice {} is not shorter than {}", d.wakee->slice_ns,
                 d.curr->slice_ns);
        }
    }
    void check(const model::Brief& d) {
        about(d.stamp, d.wakee_pid);
        path(d.path);
    }
    void check(const model::Requeue& r) { about(r.stamp, r.entity->pid); }
    void check(const model::Delay& d) { about(d.stamp, d.entity->pid); }

    void about(const model::Stamp& stamp, std::uint32_t pid) {
        ++checked_;
        const bool wrong =
            (filter_.has_pid() && pid != filter_.pid()) ||
            (filter_.has_tgid() && !processes_[pid].contains(filter_.tgid())) ||
            (filter_.has_comm() && !names_[pid].contains(filter_.comm())) ||
            // The test's load is alone in that group.
            (filter_.has_cgroup() && !names_[pid].contains("hackbench")) ||
            (filter_.cpus_size() > 0 && std::ranges::count(filter_.cpus(), stamp.rq_cpu) == 0);
        if (wrong) {
            fail(Exit::kRunFailed, "record {} of CPU {} about pid {} should have been left out",
                 stamp.seq, stamp.rq_cpu, pid);
        }
    }

    void path(std::uint32_t path) {
        if (filter_.paths_size() > 0 &&
            std::ranges::count(filter_.paths(), static_cast<int>(path)) == 0) {
            fail(Exit::kRunFailed, "a decision on path {}", path);
        }
    }

    // With sampling alone every Nth of all is here, on each CPU and of each kind.
    std::uint64_t check_sampling() {
        Filter others = filter_;
        others.clear_sample();
        const bool alone = others.ByteSizeLong() == 0;
        std::uint64_t left_out = 0;
        for (const RingBooks& ring : log_.end->rings()) {
            for (int kind = 0; kind < ring.filtered_size(); ++kind) {
                const std::uint64_t here = ring.produced(kind), out = ring.filtered(kind);
                left_out += out;
                if (!alone || out == 0) continue;
                const std::uint64_t wanted = (here + out) / filter_.sample();
                if (here + 1 < wanted || here > wanted + 1) {
                    fail(Exit::kRunFailed, "CPU {} kind {}: {} of {} are no 1 in {}", ring.cpu(),
                         kind, here, here + out, filter_.sample());
                }
            }
        }
        return left_out;
    }

    const OrderedLog& log_;
    const Filter& filter_;
    std::map<std::uint32_t, std::set<std::uint32_t>> processes_;  // by pid
    std::map<std::uint32_t, std::set<std::string>> names_;
    std::uint64_t checked_ = 0;
};

}  // namespace

void filter(const OrderedLog& log) {
    if (!log.end || !log.header.has_filter()) {
        fail(Exit::kRunFailed, "the log has no filter or no End record");
    }
    FilterProof(log).run();
}

}  // namespace fairswitch::prove
