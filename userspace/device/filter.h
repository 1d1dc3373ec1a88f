// Filters as people write them, for the kernel and for the log's header.
#pragma once

#include <cstdint>
#include <string>

#include "fairswitch/device.h"
#include "proto/record.pb.h"

namespace fairswitch {

struct FilterOptions {
    std::uint32_t pid = 0;
    std::uint32_t tgid = 0;
    std::string cgroup{};  // a directory, or its path below /sys/fs/cgroup
    std::string comm{};
    std::string cpus{};  // "0,2-3"
    std::uint32_t sample = 0;
    bool short_slice = false;
    std::string paths{};  // "pick-keep,cancel-preempt"
};

struct ParsedFilter {
    fsw_filter kernel{};
    Filter log;
    bool used = false;
};

// Throws Failure (kUsage) naming what was wrong and what there is.
ParsedFilter parse_filter(const FilterOptions& options);

}  // namespace fairswitch
