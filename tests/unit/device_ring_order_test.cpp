// The order of memory accesses between the ring's two halves, under ThreadSanitizer.
//
// The diagram of module/uapi/fairswitch/device.h names four accesses, which make two pairs:
//
//   pair  producer              consumer              what it orders            test
//   B–C   B: release of head    C: acquire of head    records are whole before HeadPublishesRecords
//                                                     they are read
//   D–A   A: acquire of tail    D: release of tail    records are read before   TailFreesRoom
//                                                     they are overwritten
//   both, through losses and Pads                                               BothWaysWithLosses
//
// Only these accesses tell the sanitizer that one thread's plain accesses to the data come before
// the other's: no lock, no atomic flag and no start or end of a thread lies in between. That the
// tests would notice a missing order is shown by ring_order_weak_{A,B,C,D}: this file, built with
// that one access relaxed, must bring the sanitizer's report (tests/unit/CMakeLists.txt).
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "tests/unit/records.h"
#include "tests/unit/ring_producer.h"
#include "userspace/device/ring_reader.h"

namespace fairswitch {
namespace {

constexpr std::uint32_t kMarkerBytes = sizeof(fsw_marker_record);

struct OrderedRing {
    explicit OrderedRing(std::uint64_t bytes) : data(bytes) {
        fsw_ring_init(&ring, &producer, &consumer, data.data(), bytes, 0);
        reader.emplace(&producer, &consumer, data.data());
    }

    bool put(std::uint64_t value) {
        auto record = testing::record_template<fsw_marker_record>();
        record.body.value = value;
        return fsw_ring_put(&ring, &record, sizeof(record), FSW_KIND_MARKER, value);
    }

    // Hands values of markers to `take`, lost ones by their number to `lose`.
    template <typename Take, typename Lose>
    void drain(Take take, Lose lose) {
        reader->drain([&](Bytes bytes) {
            while (!bytes.empty()) {
                const Framing frame = framing(bytes);
                const std::size_t whole = static_cast<std::size_t>(frame.prefix) + frame.length;
                model::Record record;
                ASSERT_TRUE(overlay(bytes.first(whole), record));
                if (const auto* marker = std::get_if<model::Marker>(&record)) take(marker->value);
                if (const auto* lost = std::get_if<model::Lost>(&record)) lose(lost->markers);
                bytes = bytes.subspan(whole);
            }
        });
    }

    fsw_ring_producer producer{};
    fsw_ring_consumer consumer{};
    std::vector<std::byte> data;
    fsw_ring ring{};
    std::optional<RingReader> reader;
};

// The ring is never full: the producer never needs the consumer's tail.
TEST(RingOrder, HeadPublishesRecords) {
    constexpr std::uint64_t kRecords = 5'000;
    OrderedRing ring(1 << 19);
    static_assert(kRecords * kMarkerBytes < 1 << 19);
    std::thread producer([&] {
        for (std::uint64_t i = 1; i <= kRecords; ++i) EXPECT_TRUE(ring.put(i));
    });
    std::uint64_t last = 0;
    while (last < kRecords) {
        ring.drain([&](std::uint64_t value) { EXPECT_EQ(value, ++last); },
                   [](std::uint64_t) { ADD_FAILURE() << "a ring with room lost a record"; });
        std::this_thread::yield();
    }
    producer.join();
}

// The ring has room for two records: nearly each overwrites one that was just read, and may do so
// only after it saw the tail behind it.
TEST(RingOrder, TailFreesRoom) {
    constexpr std::uint64_t kRecords = 5'000;
    OrderedRing ring(2 * kMarkerBytes);
    std::thread producer([&] {
        for (std::uint64_t i = 1; i <= kRecords; ++i) {
            // As fsw_ring_put() does, but waits where that drops.
            while (!fsw_ring_has_room(&ring.ring, ring.ring.head + kMarkerBytes)) {
                std::this_thread::yield();
            }
            EXPECT_TRUE(ring.put(i));
        }
    });
    std::uint64_t last = 0;
    while (last < kRecords) {
        ring.drain([&](std::uint64_t value) { EXPECT_EQ(value, ++last); },
                   [](std::uint64_t) { ADD_FAILURE() << "a producer that waits lost a record"; });
        std::this_thread::yield();
    }
    producer.join();
    EXPECT_EQ(ring.reader->dropped()[FSW_KIND_MARKER], 0u);
}

TEST(RingOrder, BothWaysWithLosses) {
    constexpr std::uint64_t kRecords = 50'000;
    OrderedRing ring(1024);
    std::thread producer([&] {
        for (std::uint64_t i = 1; i <= kRecords; ++i) ring.put(i);
        // The last one is waited for, so that the reader knows when all is told.
        while (!ring.put(kRecords + 1)) std::this_thread::yield();
    });
    std::uint64_t last = 0, read = 0, lost = 0;
    while (last <= kRecords) {
        ring.drain(
            [&](std::uint64_t value) {
                EXPECT_GT(value, last);
                last = value;
                ++read;
            },
            [&](std::uint64_t count) { lost += count; });
        std::this_thread::yield();
    }
    producer.join();
    EXPECT_EQ(ring.reader->produced()[FSW_KIND_MARKER], read + lost);
    EXPECT_EQ(ring.reader->dropped()[FSW_KIND_MARKER], lost);
}

}  // namespace
}  // namespace fairswitch
