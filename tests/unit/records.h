// Records in the kernel's layout for tests: templates filled with distinct values.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "fairswitch/record.h"
#include "userspace/log/overlay.h"

namespace fairswitch::testing {

// A template of each kind: record_template<fsw_wake_record>().
template <typename Packed>
Packed record_template();
#define FSW_TEST_TEMPLATE(number, message, MESSAGE)           \
    template <>                                               \
    inline fsw_##message##_record record_template() {         \
        return FSW_RECORD_TEMPLATE(number, message, MESSAGE); \
    }
FSW_KINDS(FSW_TEST_TEMPLATE)
#undef FSW_TEST_TEMPLATE

// Counts up, so that every field of a record has a value of its own.
struct Filler {
    std::uint64_t next = 1;

    template <typename Integer>
    Integer take() {
        // High bits too: a field that is read with the wrong width shows.
        const std::uint64_t n = next++;
        return static_cast<Integer>(n | (n << 24) | (n << 40) | (n << 56));
    }
};

#define FSW_FILL_u7(name) body.name = static_cast<std::uint8_t>(filler.next++ & 1 ? 1 : 2);
#define FSW_FILL_f32(name) body.name = filler.take<std::uint32_t>();
#define FSW_FILL_s32(name) body.name = -filler.take<std::int32_t>();
#define FSW_FILL_f64(name) body.name = filler.take<std::uint64_t>();
#define FSW_FILL_s64(name) body.name = -filler.take<std::int64_t>();
#define FSW_FILL_comm(name)                \
    std::memcpy(body.name,                 \
                "a\xff"                    \
                "comm\0\0\0\0\0\0\0\0\0z", \
                FSW_COMM_BYTES);
#define FSW_FILL_stamp(name) fill(body.name, filler);
#define FSW_FILL_entity(name) fill(body.name, filler);
#define FSW_FILL_queue(name) fill(body.name, filler);
#define FSW_FILL_timer(name) fill(body.name, filler);
#define FSW_FILL(number, type, name) FSW_FILL_##type(name)
#define FSW_FILL_MESSAGE(message, MESSAGE) \
    inline void fill(fsw_##message& body, Filler& filler) { FSW_##MESSAGE##_FIELDS(FSW_FILL) }
FSW_FILL_MESSAGE(stamp, STAMP)
FSW_FILL_MESSAGE(entity, ENTITY)
FSW_FILL_MESSAGE(queue, QUEUE)
FSW_FILL_MESSAGE(timer, TIMER)
#define FSW_FILL_KIND(number, message, MESSAGE) FSW_FILL_MESSAGE(message, MESSAGE)
FSW_KINDS(FSW_FILL_KIND)
#undef FSW_FILL_KIND

template <typename Packed>
Packed filled_record() {
    Packed record = record_template<Packed>();
    Filler filler;
    fill(record.body, filler);
    return record;
}

template <typename Packed>
std::string bytes_of(const Packed& record) {
    return std::string(reinterpret_cast<const char*>(&record), sizeof(record));
}

inline Bytes as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace fairswitch::testing
