#include "userspace/log/overlay.h"

#include <algorithm>
#include <cstring>

namespace fairswitch {
namespace {

// What must stand in a record: all bytes where `mask` has bits. An optional submessage's tag is
// left out, since it can read `void`; take() looks at it.
template <typename Packed>
struct Shape {
    Packed want;
    Packed mask;

    bool matches(const std::byte* bytes) const {
        static_assert(sizeof(Packed) % 8 == 0);
        const auto word = [](const void* base, std::size_t at) {
            std::uint64_t value;
            std::memcpy(&value, static_cast<const std::byte*>(base) + at, sizeof(value));
            return value;
        };
        std::uint64_t wrong = 0;
        for (std::size_t at = 0; at < sizeof(Packed); at += 8) {
            wrong |= (word(bytes, at) ^ word(&want, at)) & word(&mask, at);
        }
        return wrong == 0;
    }
};

// The masks, by type of field. A u7's top bit must be clear: else it isn't one byte.
#define FSW_MASK_u7(name) mask.name##_tag = 0xff, mask.name = 0x80;
#define FSW_MASK_f32(name) mask.name##_tag = 0xff;
#define FSW_MASK_s32(name) mask.name##_tag = 0xff;
#define FSW_MASK_f64(name) mask.name##_tag = 0xff;
#define FSW_MASK_s64(name) mask.name##_tag = 0xff;
#define FSW_MASK_comm(name) mask.name##_tag = 0xff, mask.name##_len = 0xff;
#define FSW_MASK_stamp(name) mask.name##_tag = 0xff, mask.name##_len = 0xff, set_mask(mask.name);
#define FSW_MASK_OPTIONAL(name) mask.name##_len = 0xff, set_mask(mask.name);
#define FSW_MASK_entity(name) FSW_MASK_OPTIONAL(name)
#define FSW_MASK_queue(name) FSW_MASK_OPTIONAL(name)
#define FSW_MASK_timer(name) FSW_MASK_OPTIONAL(name)
#define FSW_MASK(number, type, name) FSW_MASK_##type(name)

// The copies, from the packed struct and from the generated class, by type of field.
#define FSW_TAKE_u7(number, name) out.name = in.name;
#define FSW_TAKE_f32(number, name) out.name = in.name;
#define FSW_TAKE_s32(number, name) out.name = in.name;
#define FSW_TAKE_f64(number, name) out.name = in.name;
#define FSW_TAKE_s64(number, name) out.name = in.name;
#define FSW_TAKE_comm(number, name) std::memcpy(out.name.data(), in.name, FSW_COMM_BYTES);
#define FSW_TAKE_stamp(number, name) \
    if (!take(in.name, out.name)) return false;
#define FSW_TAKE_OPTIONAL(number, type, name)                 \
    if (in.name##_tag == FSW_TAG(number, type)) {             \
        if (!take(in.name, out.name.emplace())) return false; \
    } else if (in.name##_tag == FSW_TAG_VOID) {               \
        out.name.reset();                                     \
    } else {                                                  \
        return false;                                         \
    }
#define FSW_TAKE_entity(number, name) FSW_TAKE_OPTIONAL(number, entity, name)
#define FSW_TAKE_queue(number, name) FSW_TAKE_OPTIONAL(number, queue, name)
#define FSW_TAKE_timer(number, name) FSW_TAKE_OPTIONAL(number, timer, name)
#define FSW_TAKE(number, type, name) FSW_TAKE_##type(number, name)

#define FSW_READ_u7(name) out.name = static_cast<std::uint8_t>(in.name());
#define FSW_READ_f32(name) out.name = in.name();
#define FSW_READ_s32(name) out.name = in.name();
#define FSW_READ_f64(name) out.name = in.name();
#define FSW_READ_s64(name) out.name = in.name();
#define FSW_READ_comm(name) out.name.fill('\0'), in.name().copy(out.name.data(), out.name.size());
#define FSW_READ_stamp(name) read(in.name(), out.name);
#define FSW_READ_OPTIONAL(name)              \
    if (in.has_##name()) {                   \
        read(in.name(), out.name.emplace()); \
    } else {                                 \
        out.name.reset();                    \
    }
#define FSW_READ_entity(name) FSW_READ_OPTIONAL(name)
#define FSW_READ_queue(name) FSW_READ_OPTIONAL(name)
#define FSW_READ_timer(name) FSW_READ_OPTIONAL(name)
#define FSW_READ(number, type, name) FSW_READ_##type(name)

// For one message: mask it, copy it from the ring's layout, copy it from the generated class.
#define FSW_MESSAGE(message, MESSAGE, Model, Generated)                                      \
    [[maybe_unused]] void set_mask(fsw_##message& mask) { FSW_##MESSAGE##_FIELDS(FSW_MASK) } \
    [[maybe_unused]] bool take(const fsw_##message& in, model::Model& out) {                 \
        FSW_##MESSAGE##_FIELDS(FSW_TAKE) return true;                                        \
    }                                                                                        \
    [[maybe_unused]] void read(const Generated& in, model::Model& out) {                     \
        FSW_##MESSAGE##_FIELDS(FSW_READ)                                                     \
    }
FSW_MESSAGE(stamp, STAMP, Stamp, Stamp)
FSW_MESSAGE(entity, ENTITY, Entity, Entity)
FSW_MESSAGE(queue, QUEUE, Queue, Queue)
FSW_MESSAGE(timer, TIMER, Timer, Timer)
FSW_MESSAGE(decision, DECISION, Decision, Decision)
FSW_MESSAGE(brief, BRIEF, Brief, Brief)
FSW_MESSAGE(requeue, REQUEUE, Requeue, Requeue)
FSW_MESSAGE(delay, DELAY, Delay, Delay)
FSW_MESSAGE(wake, WAKE, Wake, Wake)
FSW_MESSAGE(switch, SWITCH, Switch, Switch)
FSW_MESSAGE(task, TASK, Task, Task)
FSW_MESSAGE(swap, SWAP, Swap, ArmSwap)
FSW_MESSAGE(lost, LOST, Lost, Lost)
FSW_MESSAGE(marker, MARKER, Marker, Marker)

template <typename Packed>
Shape<Packed> make_shape(const Packed& want) {
    Shape<Packed> shape{.want = want, .mask = {}};
    std::memset(&shape.mask.frame, 0xff, sizeof(shape.mask.frame));
    set_mask(shape.mask.body);
    shape.mask.fill_tag = shape.mask.fill_len = 0xff;
    return shape;
}

// The alternative of `out` of this type, kept if it is there already.
template <typename Model>
Model& alternative(model::Record& out) {
    if (!std::holds_alternative<Model>(out)) out.emplace<Model>();
    return *std::get_if<Model>(&out);
}

template <typename Model, typename Packed>
bool overlay_as(const Shape<Packed>& shape, Bytes record, model::Record& out) {
    if (record.size() != sizeof(Packed) || !shape.matches(record.data())) return false;
    Packed packed;
    std::memcpy(&packed, record.data(), sizeof(packed));
    return take(packed.body, alternative<Model>(out));
}

#define FSW_SHAPE(number, message, MESSAGE)            \
    const fsw_##message##_record message##_template =  \
        FSW_RECORD_TEMPLATE(number, message, MESSAGE); \
    const Shape<fsw_##message##_record> message##_shape = make_shape(message##_template);
FSW_KINDS(FSW_SHAPE)
#undef FSW_SHAPE

}  // namespace

bool overlay(Bytes record, model::Record& out) {
    if (record.size() < sizeof(fsw_frame)) return false;
    switch (std::to_integer<unsigned>(record[offsetof(fsw_frame, kind_tag)]) >> 3) {
        case FSW_KIND_DECISION:
            return overlay_as<model::Decision>(decision_shape, record, out);
        case FSW_KIND_BRIEF:
            return overlay_as<model::Brief>(brief_shape, record, out);
        case FSW_KIND_REQUEUE:
            return overlay_as<model::Requeue>(requeue_shape, record, out);
        case FSW_KIND_DELAY:
            return overlay_as<model::Delay>(delay_shape, record, out);
        case FSW_KIND_WAKE:
            return overlay_as<model::Wake>(wake_shape, record, out);
        case FSW_KIND_SWITCH:
            return overlay_as<model::Switch>(switch_shape, record, out);
        case FSW_KIND_TASK:
            return overlay_as<model::Task>(task_shape, record, out);
        case FSW_KIND_SWAP:
            return overlay_as<model::Swap>(swap_shape, record, out);
        case FSW_KIND_LOST:
            return overlay_as<model::Lost>(lost_shape, record, out);
        case FSW_KIND_MARKER:
            return overlay_as<model::Marker>(marker_shape, record, out);
        default:
            return false;
    }
}

bool from_message(const Record& message, model::Record& out) {
    switch (message.kind_case()) {
        case Record::kDecision:
            return read(message.decision(), alternative<model::Decision>(out)), true;
        case Record::kBrief:
            return read(message.brief(), alternative<model::Brief>(out)), true;
        case Record::kRequeue:
            return read(message.requeue(), alternative<model::Requeue>(out)), true;
        case Record::kDelay:
            return read(message.delay(), alternative<model::Delay>(out)), true;
        case Record::kWake:
            return read(message.wake(), alternative<model::Wake>(out)), true;
        case Record::kSwitch:
            return read(message.switch_(), alternative<model::Switch>(out)), true;
        case Record::kTask:
            return read(message.task(), alternative<model::Task>(out)), true;
        case Record::kSwap:
            return read(message.swap(), alternative<model::Swap>(out)), true;
        case Record::kLost:
            return read(message.lost(), alternative<model::Lost>(out)), true;
        case Record::kMarker:
            return read(message.marker(), alternative<model::Marker>(out)), true;
        case Record::kSample:
            out = model::Sample{.thread = message.sample().thread(),
                                .cycle = message.sample().cycle(),
                                .latency_ns = message.sample().latency_ns()};
            return true;
        default:
            return false;
    }
}

Framing framing(Bytes bytes) {
    constexpr std::size_t kMaxPrefix = 5;
    Framing result;
    for (std::size_t i = 0; i < std::min(bytes.size(), kMaxPrefix); ++i) {
        const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
        result.length |= (byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            result.prefix = result.length <= kMaxRecordBytes ? static_cast<int>(i) + 1 : -1;
            return result;
        }
    }
    result.prefix = bytes.size() < kMaxPrefix ? 0 : -1;
    return result;
}

std::string framed(const google::protobuf::MessageLite& message) {
    std::string result;
    std::size_t length = message.ByteSizeLong();
    for (; length >= 0x80; length >>= 7) result.push_back(static_cast<char>(length | 0x80));
    result.push_back(static_cast<char>(length));
    message.AppendToString(&result);
    return result;
}

}  // namespace fairswitch
