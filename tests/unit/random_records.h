// Records in the kernel's layout with random values, and random submessages absent.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/records.h"

namespace fairswitch::testing {

using Random = std::mt19937_64;

// Often a value at an edge: 0, all ones, the sign's bit.
inline std::uint64_t some_value(Random& random) {
    constexpr std::uint64_t kEdges[] = {0,   1, ~0ull, 1ull << 63, 1ull << 31, (1ull << 63) - 1,
                                        0x7f};
    return random() % 3 == 0 ? kEdges[random() % std::size(kEdges)] : random();
}

#define FSW_RANDOM_u7(number, name) body.name = some_value(random) & 0x7f;
#define FSW_RANDOM_f32(number, name) body.name = static_cast<std::uint32_t>(some_value(random));
#define FSW_RANDOM_s32(number, name) body.name = static_cast<std::int32_t>(some_value(random));
#define FSW_RANDOM_f64(number, name) body.name = some_value(random);
#define FSW_RANDOM_s64(number, name) body.name = static_cast<std::int64_t>(some_value(random));
#define FSW_RANDOM_comm(number, name) \
    for (char& c : body.name) c = static_cast<char>(some_value(random));
#define FSW_RANDOM_stamp(number, name) randomise(body.name, random);
// An absent submessage keeps bytes that mean nothing, but its tags and lengths stand.
#define FSW_RANDOM_SUB(name)      \
    randomise(body.name, random); \
    if (random() % 3 == 0) body.name##_tag = FSW_TAG_VOID;
#define FSW_RANDOM_entity(number, name) FSW_RANDOM_SUB(name)
#define FSW_RANDOM_queue(number, name) FSW_RANDOM_SUB(name)
#define FSW_RANDOM_timer(number, name) FSW_RANDOM_SUB(name)
#define FSW_RANDOM(number, type, name) FSW_RANDOM_##type(number, name)
#define FSW_RANDOM_MESSAGE(message, MESSAGE)                     \
    inline void randomise(fsw_##message& body, Random& random) { \
        FSW_##MESSAGE##_FIELDS(FSW_RANDOM)                       \
    }
FSW_RANDOM_MESSAGE(stamp, STAMP)
FSW_RANDOM_MESSAGE(entity, ENTITY)
FSW_RANDOM_MESSAGE(queue, QUEUE)
FSW_RANDOM_MESSAGE(timer, TIMER)
#define FSW_RANDOM_KIND(number, message, MESSAGE) FSW_RANDOM_MESSAGE(message, MESSAGE)
FSW_KINDS(FSW_RANDOM_KIND)
#undef FSW_RANDOM_KIND

template <typename Packed>
std::string random_record(Random& random) {
    Packed record = record_template<Packed>();
    randomise(record.body, random);
    return bytes_of(record);
}

// One of every kind.
inline std::vector<std::string> random_records(Random& random) {
    std::vector<std::string> records;
#define FSW_ADD(number, message, MESSAGE) \
    records.push_back(random_record<fsw_##message##_record>(random));
    FSW_KINDS(FSW_ADD)
#undef FSW_ADD
    return records;
}

}  // namespace fairswitch::testing
