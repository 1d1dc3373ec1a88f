// Reads a decision log from a file or a pipe, packed or not, record by record, in the order of the
// file.
//
// That is the order in which rings were drained: records of one CPU are in order of time, records
// of one runqueue are ordered by Stamp.seq only, since several CPUs can write about it.
//
// Logs may be joined by `cat`, of several hosts too: each Header begins a new part, with books,
// sequence numbers and clock of its own. Who compares records has to keep parts apart. A part that
// ends inside a record costs no more than that record: where records can't be followed, the next
// Header is looked for (not inside a packed part, of which nothing is told behind its damage).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/log/descriptor.h"
#include "userspace/log/losses.h"
#include "userspace/log/model.h"
#include "userspace/log/overlay.h"
#include "userspace/log/source.h"
#include "userspace/log/validity.h"

namespace fairswitch {

// One recording: from a Header to the next or to the end of the file.
struct LogPart {
    Header header;
    std::optional<End> end;  // absent when the recording wasn't closed properly
    Validity validity;
    Losses losses;
    std::uint64_t records = 0;  // handed out
};

// "host lab, kernel 6.12.117, begun 2026-01-01 12:00:00 UTC, 1234 records".
std::string describe(const LogPart& part);

class LogReader {
  public:
    // "-" is standard input. Throws Failure if it can't be opened, is no fairswitch log, or ends
    // before its header does.
    explicit LogReader(const std::string& path);
    LogReader(Descriptor file, std::string name);

    // The next record. False at the end of the log or where its framing is lost; everything told
    // below is complete then. Pad, Header and End records aren't handed out.
    bool next(model::Record& record);

    // Never empty; the last one is that of the record handed out last. A part is complete once the
    // next one has begun.
    const std::vector<LogPart>& parts() const { return parts_; }

    // Of the part being read.
    const Header& header() const { return parts_.back().header; }
    const std::optional<End>& end() const { return parts_.back().end; }
    // Of all parts together.
    Validity validity() const;

    std::uint64_t records() const { return records_; }       // handed out
    std::uint64_t fallbacks() const { return fallbacks_; }   // of these, decoded by libprotobuf
    std::uint64_t bytes() const { return source_.bytes(); }  // of the file, read so far

  private:
    // Sequence numbers seen of one runqueue.
    struct Sequence {
        std::uint64_t lowest = 0;
        std::uint64_t highest = 0;
        std::uint64_t records = 0;
    };

    // Records handed out of one CPU's ring.
    using KindCounts = std::array<std::uint64_t, FSW_KIND_COUNT>;

    Bytes next_bytes();
    Bytes stop(Badness why, std::uint64_t count);
    Bytes stop_at_end(std::uint64_t unread);
    Bytes unread() const;
    bool fill();
    bool find_header(std::uint64_t from, std::uint64_t to, std::uint64_t torn);
    bool joined_within_last();
    enum class Candidate { kNo, kYes, kNeedsMore };
    Candidate header_at(Bytes bytes);
    Bytes begin_of_log();
    void read_header();
    bool decode(Bytes bytes, model::Record& record);
    bool decode_message(Bytes bytes, model::Record& record);
    bool known_kind(model::Record& record);
    void begin_part(Header&& header);
    void finish_part();
    void account(const model::Record& record);
    void account_sequence(const model::Stamp& stamp);
    void check_sequences();
    void check_books();
    void bad(Badness badness, std::uint64_t count = 1) {
        parts_.back().validity.add(badness, count);
    }

    std::string name_;
    LogSource source_;
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_of_bytes_ = 0;
    std::uint64_t base_ = 0;         // where in the log the buffer begins
    std::uint64_t last_ = 0;         // where in the log the record handed out last begins,
    std::uint64_t before_last_ = 0;  // and the one before; the buffer holds both
    bool at_end_of_file_ = false;
    bool finished_ = false;
    Record scratch_;
    std::vector<LogPart> parts_;
    std::vector<Sequence> sequences_;  // by Stamp.rq_cpu
    std::vector<KindCounts> stored_;   // by Stamp.cpu
    unsigned kind_ = 0;                // of the record decoded last
    std::uint64_t records_ = 0;
    std::uint64_t fallbacks_ = 0;
};

}  // namespace fairswitch
