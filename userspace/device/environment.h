// What is known of the machine at the start of a recording: the log's Header.
#pragma once

#include <string>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/device/device.h"

namespace fairswitch {

// Kernel, host, clocks, variants, settings and schema. The caller adds command line, arms, watched
// pids and the graft manifest.
Header describe_machine(const Device& device);

// An arm as the header has it.
void add_arm(Header& header, std::uint32_t id, const ArmSpec& arm);

// The running kernel's build id (raw bytes, from /sys/kernel/notes); empty if it can't be read.
std::string running_build_id();

}  // namespace fairswitch
