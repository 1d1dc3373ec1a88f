// Reads a decision log from a file or a pipe, record by record, in the order of the file.
//
// That is the order in which rings were drained: records of one CPU are in order of time, records
// of one runqueue are ordered by Stamp.seq only, since several CPUs can write about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/log/descriptor.h"
#include "userspace/log/model.h"
#include "userspace/log/overlay.h"
#include "userspace/log/validity.h"

namespace fairswitch {

class LogReader {
  public:
    // "-" is standard input. Throws Failure if it can't be opened, is no fairswitch log, or ends
    // before its header does.
    explicit LogReader(const std::string& path);
    LogReader(Descriptor file, std::string name);

    const Header& header() const { return header_; }

    // The next record. False at the end of the log or where its framing is lost; validity() and
    // end() are complete then. Pad, Header and End records aren't handed out.
    bool next(model::Record& record);

    // The End record; absent when the log wasn't closed properly.
    const std::optional<End>& end() const { return end_; }
    const Validity& validity() const { return validity_; }

    std::uint64_t records() const { return records_; }      // handed out
    std::uint64_t fallbacks() const { return fallbacks_; }  // of these, decoded by libprotobuf
    std::uint64_t bytes() const { return consumed_; }

  private:
    // Sequence numbers seen of one runqueue.
    struct Sequence {
        std::uint64_t lowest = 0;
        std::uint64_t highest = 0;
        std::uint64_t records = 0;
    };

    Bytes next_bytes();
    Bytes stop(Badness why, std::uint64_t count);
    Bytes unread() const;
    bool fill();
    void read_header();
    bool decode(Bytes bytes, model::Record& record);
    bool decode_message(Bytes bytes, model::Record& record);
    void account(const model::Record& record);
    void account_drops();
    void finish();

    std::string name_;
    Descriptor file_;
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_of_bytes_ = 0;
    bool at_end_of_file_ = false;
    bool finished_ = false;
    Header header_;
    Record scratch_;
    std::optional<End> end_;
    Validity validity_;
    std::vector<Sequence> sequences_;  // by Stamp.rq_cpu
    std::uint64_t records_ = 0;
    std::uint64_t fallbacks_ = 0;
    std::uint64_t consumed_ = 0;
};

}  // namespace fairswitch
