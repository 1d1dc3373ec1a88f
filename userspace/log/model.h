// Records in memory: plain structs, one per kind, with the names of proto/record.proto.
//
// The structs are made from the field lists of the shared header, so a field that is added there is
// here too. Unlike the generated protobuf classes they are cheap to fill and to copy, and unlike
// the packed structs of the ring their members may be pointed into. proto/record.proto is the
// manual of every field. A scalar that is absent in the log reads 0; an absent submessage is
// std::nullopt.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "fairswitch/record.h"

namespace fairswitch::model {

using Comm = std::array<char, FSW_COMM_BYTES>;

#define FSW_MODEL_u7(name) std::uint8_t name = 0;
#define FSW_MODEL_f32(name) std::uint32_t name = 0;
#define FSW_MODEL_s32(name) std::int32_t name = 0;
#define FSW_MODEL_f64(name) std::uint64_t name = 0;
#define FSW_MODEL_s64(name) std::int64_t name = 0;
#define FSW_MODEL_comm(name) Comm name{};
#define FSW_MODEL_stamp(name) Stamp name;
#define FSW_MODEL_entity(name) std::optional<Entity> name;
#define FSW_MODEL_queue(name) std::optional<Queue> name;
#define FSW_MODEL_timer(name) std::optional<Timer> name;
#define FSW_MODEL(number, type, name) FSW_MODEL_##type(name)

struct Stamp {
    FSW_STAMP_FIELDS(FSW_MODEL)
    bool operator==(const Stamp&) const = default;
};
struct Entity {
    FSW_ENTITY_FIELDS(FSW_MODEL)
    bool operator==(const Entity&) const = default;
};
struct Queue {
    FSW_QUEUE_FIELDS(FSW_MODEL)
    bool operator==(const Queue&) const = default;
};
struct Timer {
    FSW_TIMER_FIELDS(FSW_MODEL)
    bool operator==(const Timer&) const = default;
};

struct Decision {
    FSW_DECISION_FIELDS(FSW_MODEL)
    bool operator==(const Decision&) const = default;
};
struct Brief {
    FSW_BRIEF_FIELDS(FSW_MODEL)
    bool operator==(const Brief&) const = default;
};
struct Requeue {
    FSW_REQUEUE_FIELDS(FSW_MODEL)
    bool operator==(const Requeue&) const = default;
};
struct Delay {
    FSW_DELAY_FIELDS(FSW_MODEL)
    bool operator==(const Delay&) const = default;
};
struct Wake {
    FSW_WAKE_FIELDS(FSW_MODEL)
    bool operator==(const Wake&) const = default;
};
struct Switch {
    FSW_SWITCH_FIELDS(FSW_MODEL)
    bool operator==(const Switch&) const = default;
};
struct Task {
    FSW_TASK_FIELDS(FSW_MODEL)
    bool operator==(const Task&) const = default;
};
struct Swap {
    FSW_SWAP_FIELDS(FSW_MODEL)
    bool operator==(const Swap&) const = default;
};
struct Lost {
    FSW_LOST_FIELDS(FSW_MODEL)
    bool operator==(const Lost&) const = default;
};
struct Marker {
    FSW_MARKER_FIELDS(FSW_MODEL)
    bool operator==(const Marker&) const = default;
};

// Not from the kernel, so without a stamp.
struct Sample {
    std::uint32_t thread = 0;
    std::uint64_t cycle = 0;
    std::int64_t latency_ns = 0;
    bool operator==(const Sample&) const = default;
};

using Record =
    std::variant<Decision, Brief, Requeue, Delay, Wake, Switch, Task, Swap, Lost, Marker, Sample>;

// A Brief in the place of a Decision: no entities, no queue; of the picked one only its pid.
inline Decision as_decision(const Brief& brief) {
    Decision decision;
    decision.stamp = brief.stamp;
    decision.path = brief.path;
    decision.verdict = brief.verdict;
    decision.resched = brief.resched;
    decision.wakee_pid = brief.wakee_pid;
    decision.curr_pid = brief.curr_pid;
    if (brief.picked_pid != 0) decision.picked.emplace().pid = brief.picked_pid;
    return decision;
}

// Whether a decision that came from a Brief, which has no entities.
inline bool is_brief(const Decision& decision) { return !decision.wakee; }

// The stamp of any record but a Sample, which has none (nullptr).
inline const Stamp* stamp_of(const Record& record) {
    return std::visit(
        [](const auto& kind) -> const Stamp* {
            if constexpr (requires { kind.stamp; }) {
                return &kind.stamp;
            } else {
                return nullptr;
            }
        },
        record);
}

// A comm up to its first NUL; any bytes, not UTF-8.
inline std::string_view text(const Comm& comm) {
    const std::string_view all(comm.data(), comm.size());
    return all.substr(0, all.find('\0'));
}

}  // namespace fairswitch::model
