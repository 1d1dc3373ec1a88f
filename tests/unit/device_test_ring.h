// A ring in plain memory: the producer that the kernel runs (module/ring_core.h, the same file) and
// the reader of user space.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#define FSW_LOAD_ACQUIRE(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#define FSW_STORE_RELEASE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#define FSW_STORE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELAXED)
#define FSW_MEMCPY(to, from, bytes) std::memcpy(to, from, bytes)
#include "module/ring_core.h"
#include "tests/unit/records.h"
#include "userspace/device/ring_reader.h"

namespace fairswitch {

inline constexpr std::uint32_t kMarkerBytes = sizeof(fsw_marker_record);
inline constexpr std::uint32_t kLostBytes = sizeof(fsw_lost_record);

// A ring in plain memory, with its producer and its reader.
struct TestRing {
    explicit TestRing(std::uint64_t bytes, std::uint64_t start = 0) : data(bytes) {
        fsw_ring_init(&ring, &producer, &consumer, data.data(), bytes, 3);
        // As if it had run for long: positions beyond any 32 bits.
        ring.head = ring.tail = producer.head = consumer.tail = start;
        reader.emplace(&producer, &consumer, data.data());
    }

    bool put_marker(std::uint64_t value, std::uint64_t time_ns = 0) {
        auto record = testing::record_template<fsw_marker_record>();
        record.body.stamp.time_ns = time_ns;
        record.body.stamp.arm = 7;
        record.body.stamp.seq = value;
        record.body.value = value;
        return offer(record, FSW_KIND_MARKER, time_ns);
    }

    template <typename Packed>
    bool offer(const Packed& record, unsigned kind, std::uint64_t time_ns) {
        return ring.overwrite ? fsw_ring_put_over(&ring, &record, sizeof(record), kind, time_ns)
                              : fsw_ring_put(&ring, &record, sizeof(record), kind, time_ns);
    }

    template <typename Packed>
    bool put(unsigned kind, std::uint64_t time_ns = 0) {
        const auto record = testing::filled_record<Packed>();
        return offer(record, kind, time_ns);
    }

    std::vector<model::Record> read() {
        std::vector<model::Record> records;
        reader->drain([&](Bytes bytes) {
            while (!bytes.empty()) {
                const Framing frame = framing(bytes);
                const std::size_t whole = 2 + frame.length;
                ASSERT_EQ(frame.prefix, 2);
                ASSERT_LE(whole, bytes.size());
                EXPECT_TRUE(overlay(bytes.first(whole), records.emplace_back()));
                bytes = bytes.subspan(whole);
            }
        });
        return records;
    }

    std::vector<std::uint64_t> read_values() {
        std::vector<std::uint64_t> values;
        for (const model::Record& record : read()) {
            if (const auto* marker = std::get_if<model::Marker>(&record)) {
                values.push_back(marker->value);
            }
        }
        return values;
    }

    fsw_ring_producer producer{};
    fsw_ring_consumer consumer{};
    std::vector<std::byte> data;
    fsw_ring ring{};
    std::optional<RingReader> reader;
};

}  // namespace fairswitch
