// What is missing from a log because a ring was full: per CPU, by kind, with the time.
//
// Lost records tell it in place, and the books of the End record tell what was dropped after the
// last of them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/log/model.h"

namespace fairswitch {

class Losses {
  public:
    void add(const model::Lost& lost);
    // The books of the recording's end, which are complete.
    void settle(const End& end);

    // Those of another recording of the same machine.
    void add(const Losses& other);

    std::uint64_t total() const;
    // "CPU 1: 120 decisions, 3 wakes lost in 2 stretches, from 1.204 s to 1.311 s; the ring was
    // full", a line for each CPU. Times count from `begin_ns`.
    std::vector<std::string> lines(std::uint64_t begin_ns) const;

  private:
    struct OfCpu {
        std::array<std::uint64_t, FSW_KIND_COUNT> by_kind{};
        std::uint64_t stretches = 0;
        std::uint64_t first_ns = 0;
        std::uint64_t last_ns = 0;
        bool at_end = false;  // some of it after the last record
    };

    std::map<std::uint32_t, OfCpu> cpus_;
};

// Records that a Lost tells of, all kinds together.
std::uint64_t records_of(const model::Lost& lost);

}  // namespace fairswitch
