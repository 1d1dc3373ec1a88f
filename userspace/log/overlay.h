// From a record's bytes to the model: by overlay when every tag and length stands where the kernel
// puts it, which costs one comparison under a mask, else by libprotobuf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "proto/record.pb.h"
#include "userspace/log/model.h"

namespace fairswitch {

using Bytes = std::span<const std::byte>;

// `record` is one whole record, its length prefix included. False if it isn't in the kernel's
// layout of a kind that the kernel writes; `out` may hold anything then.
bool overlay(Bytes record, model::Record& out);

// From a decoded message, absent scalars reading 0. False for kinds that the model doesn't have
// (Header, End, Pad, none).
bool from_message(const Record& message, model::Record& out);

// The length prefix of a record: bytes of the prefix and of the message behind it. prefix == 0: the
// bytes end inside the prefix. prefix < 0: no varint of a possible length.
struct Framing {
    int prefix = 0;
    std::uint64_t length = 0;
};
Framing framing(Bytes bytes);

// A message as a record of the log: length prefix and message.
std::string framed(const google::protobuf::MessageLite& message);

// No record is longer; a longer one means that the framing is lost.
inline constexpr std::uint64_t kMaxRecordBytes = 16u << 20;

}  // namespace fairswitch
