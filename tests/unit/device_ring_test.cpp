// The ring, both halves: the producer that the kernel runs (module/ring_core.h, the same file) and
// the reader of user space.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "proto/record.pb.h"
#include "tests/unit/device_test_ring.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

TEST(Ring, HandsOutWhatWasPut) {
    TestRing ring(4096);
    EXPECT_TRUE(ring.put_marker(11));
    EXPECT_TRUE(ring.put<fsw_decision_record>(FSW_KIND_DECISION));
    const auto records = ring.read();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(std::get<model::Marker>(records[0]).value, 11u);
    EXPECT_EQ(std::get<model::Decision>(records[1]).curr_pid,
              testing::filled_record<fsw_decision_record>().body.curr_pid);
    EXPECT_TRUE(ring.read().empty());
    EXPECT_EQ(ring.consumer.tail, ring.producer.head);
}

TEST(Ring, FillsToTheLastByte) {
    TestRing ring(1024);
    for (std::uint64_t i = 0; i < 1024 / kMarkerBytes; ++i) EXPECT_TRUE(ring.put_marker(i));
    EXPECT_EQ(ring.producer.head, 1024u);
    EXPECT_FALSE(ring.put_marker(99));
    EXPECT_EQ(ring.read_values().size(), 16u);
    EXPECT_TRUE(ring.put_marker(100));
    EXPECT_EQ(ring.read_values(), std::vector<std::uint64_t>{100});
}

TEST(Ring, PadsTheEndThatARecordDoesNotFit) {
    TestRing ring(1024);
    for (int i = 0; i < 15; ++i) EXPECT_TRUE(ring.put_marker(1));
    EXPECT_EQ(ring.read_values().size(), 15u);
    // 64 bytes are left, a Wake has 112.
    EXPECT_TRUE(ring.put<fsw_wake_record>(FSW_KIND_WAKE));
    EXPECT_EQ(ring.producer.head, 1024 + sizeof(fsw_wake_record));
    // The Pad is a record by itself, 64 bytes long.
    Record pad;
    ASSERT_TRUE(pad.ParseFromArray(ring.data.data() + 15 * kMarkerBytes + 2, 62));
    EXPECT_TRUE(pad.has_pad());
    const auto records = ring.read();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<model::Wake>(records[0]));
}

// Every length of gap from the smallest Pad, 8 bytes, to the longest that a Decision can leave.
TEST(Ring, PadsOfEveryLengthAreRecords) {
    for (std::uint64_t gap = 8; gap < sizeof(fsw_decision_record); gap += 8) {
        TestRing ring(1024, 1024 - gap);
        EXPECT_TRUE(ring.put<fsw_decision_record>(FSW_KIND_DECISION));
        const std::string bytes(reinterpret_cast<const char*>(ring.data.data()) + 1024 - gap, gap);
        const Framing frame = framing(testing::as_bytes(bytes));
        EXPECT_EQ(frame.prefix + frame.length, gap);
        Record pad;
        EXPECT_TRUE(pad.ParseFromString(bytes.substr(2))) << gap;
        EXPECT_TRUE(pad.has_pad()) << gap;
        EXPECT_EQ(ring.read().size(), 1u) << gap;
    }
}

TEST(Ring, CountsDropsAndTellsThemInPlace) {
    TestRing ring(1024);
    for (int i = 0; i < 16; ++i) EXPECT_TRUE(ring.put_marker(1, 100));
    EXPECT_FALSE(ring.put_marker(2, 200));
    EXPECT_FALSE(ring.put<fsw_wake_record>(FSW_KIND_WAKE, 300));
    EXPECT_FALSE(ring.put_marker(3, 400));
    EXPECT_EQ(ring.producer.produced[FSW_KIND_MARKER], 18u);
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_MARKER], 2u);
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_WAKE], 1u);
    EXPECT_EQ(ring.read().size(), 16u);

    EXPECT_TRUE(ring.put_marker(4, 500));
    EXPECT_TRUE(ring.put_marker(5, 600));
    const auto records = ring.read();
    ASSERT_EQ(records.size(), 3u);
    const auto& lost = std::get<model::Lost>(records[0]);
    EXPECT_EQ(lost.markers, 2u);
    EXPECT_EQ(lost.wakes, 1u);
    EXPECT_EQ(lost.decisions, 0u);
    EXPECT_EQ(lost.first_ns, 200u);
    EXPECT_EQ(lost.last_ns, 400u);
    // The stamp of the record behind it, outside of the sequence.
    EXPECT_EQ(lost.stamp.time_ns, 500u);
    EXPECT_EQ(lost.stamp.arm, 7u);
    EXPECT_EQ(lost.stamp.seq, 0u);
    EXPECT_EQ(std::get<model::Marker>(records[1]).value, 4u);
    EXPECT_EQ(std::get<model::Marker>(records[2]).value, 5u);
}

// Room for a Lost or for the record, but not for both: neither is written.
TEST(Ring, LostComesOnlyTogetherWithARecord) {
    TestRing ring(1024);
    for (int i = 0; i < 16; ++i) EXPECT_TRUE(ring.put_marker(1));
    EXPECT_FALSE(ring.put_marker(2));
    ring.consumer.tail = kLostBytes;  // a reader that has freed this much
    EXPECT_FALSE(ring.put_marker(3));
    EXPECT_EQ(ring.producer.head, 1024u);
    ring.consumer.tail = kLostBytes + kMarkerBytes;
    EXPECT_TRUE(ring.put_marker(4));
    EXPECT_EQ(ring.producer.head, 1024u + kLostBytes + kMarkerBytes);
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_MARKER], 2u);
}

// Values that no reader has: the ring reads them as full and writes nothing over unread records.
TEST(Ring, ABogusTailIsFull) {
    const std::uint64_t start = (5ull << 40) + 512;
    for (const std::uint64_t bogus : {std::uint64_t{0}, ~std::uint64_t{0}, start - 1,
                                      start + 1024 + 8, std::uint64_t{1} << 63}) {
        TestRing ring(1024, start);
        for (int i = 0; i < 16; ++i) EXPECT_TRUE(ring.put_marker(i));
        const auto before = ring.data;
        ring.consumer.tail = bogus;
        EXPECT_FALSE(ring.put_marker(99)) << bogus;
        EXPECT_EQ(ring.data, before) << bogus;
        ring.consumer.tail = start + 1024;  // sense again
        EXPECT_TRUE(ring.put_marker(100)) << bogus;
    }
}

TEST(Ring, ARecordLongerThanTheRingIsDropped) {
    TestRing ring(256);
    EXPECT_FALSE(ring.put<fsw_decision_record>(FSW_KIND_DECISION));
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_DECISION], 1u);
    EXPECT_EQ(ring.producer.head, 0u);
}

TEST(Ring, DiscardFreesEverythingAndForgetsTheBooks) {
    TestRing ring(1024);
    for (int i = 0; i < 10; ++i) ring.put_marker(i);
    ring.reader->discard();
    EXPECT_EQ(ring.consumer.tail, ring.producer.head);
    EXPECT_EQ(ring.reader->stored()[FSW_KIND_MARKER], 0u);
    EXPECT_TRUE(ring.read().empty());
}

TEST(Ring, TheReaderIsDueOncePerWatermark) {
    TestRing ring(4096);
    constexpr std::uint64_t kWatermark = 1024;
    int due = 0;
    for (int i = 0; i < 64; ++i) {
        ASSERT_TRUE(ring.put_marker(i));
        due += fsw_ring_reader_due(&ring.ring, kWatermark);
    }
    EXPECT_EQ(due, 3);
    ring.read();
    // Drained: not due, though the producer's own copy of the tail is old.
    ASSERT_TRUE(ring.put_marker(64));
    EXPECT_FALSE(fsw_ring_reader_due(&ring.ring, kWatermark));
}

TEST(RingReader, RefusesAForeignPage) {
    fsw_ring_producer producer{};
    fsw_ring_consumer consumer{};
    std::byte data[64]{};
    EXPECT_THROW(RingReader(&producer, &consumer, data), Failure);
    producer.magic = FSW_RING_MAGIC;
    producer.abi = FSW_ABI;
    producer.ring_bytes = 48;  // no power of two
    EXPECT_THROW(RingReader(&producer, &consumer, data), Failure);
    producer.ring_bytes = 64;
    EXPECT_NO_THROW(RingReader(&producer, &consumer, data));
    producer.abi = FSW_ABI + 1;
    EXPECT_THROW(RingReader(&producer, &consumer, data), Failure);
}

// A length that runs beyond the head, isn't a multiple of 8, or is none at all.
TEST(RingReader, BelievesNoLength) {
    const unsigned char bad[][2] = {{0xfe, 0x01}, {0xbd, 0x00}, {0x3e, 0x00}, {0x86, 0x80}};
    for (const auto& length : bad) {
        TestRing ring(1024);
        ring.put_marker(1);
        std::memcpy(ring.data.data(), length, 2);
        bool called = false;
        EXPECT_THROW(ring.reader->drain([&](Bytes) { called = true; }), Failure);
        EXPECT_FALSE(called);
        EXPECT_EQ(ring.consumer.tail, 0u);
    }
}

TEST(RingReader, RefusesAHeadThatIsTooFarAhead) {
    TestRing ring(1024);
    ring.producer.head = 1024 + 8;
    EXPECT_THROW(ring.reader->drain([](Bytes) {}), Failure);
}

TEST(RingReader, AFailedSinkIsNotInTheBooks) {
    TestRing ring(1024);
    ring.put_marker(1);
    EXPECT_THROW(ring.reader->drain([](Bytes) { throw std::runtime_error("full"); }),
                 std::runtime_error);
    EXPECT_EQ(ring.reader->stored()[FSW_KIND_MARKER], 0u);
    EXPECT_EQ(ring.consumer.tail, 0u);
    EXPECT_EQ(ring.read_values(), std::vector<std::uint64_t>{1});
    EXPECT_EQ(ring.reader->stored()[FSW_KIND_MARKER], 1u);
}

std::uint64_t lost_of(const model::Lost& lost) {
    return std::uint64_t{lost.decisions} + lost.wakes + lost.markers;
}

// Random kinds, ring sizes and reader positions: what is read is what was put, in order, and what
// isn't is counted, in the books and in Lost records.
TEST(Ring, KeepsItsBooksUnderAnyPattern) {
    std::random_device entropy;
    const unsigned seed = entropy();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 50; ++round) {
        TestRing ring(std::uint64_t{512} << random() % 4, std::uint64_t{8} * (random() % 4096));
        std::uint64_t offered = 0, told_lost = 0, read = 0, last = 0;
        const auto read_all = [&] {
            for (const model::Record& record : ring.read()) {
                if (const auto* lost = std::get_if<model::Lost>(&record)) {
                    told_lost += lost_of(*lost);
                    continue;
                }
                ++read;
                if (const auto* marker = std::get_if<model::Marker>(&record)) {
                    EXPECT_GT(marker->value, last);
                    last = marker->value;
                }
            }
        };
        for (int step = 0; step < 2000; ++step) {
            switch (random() % 8) {
                case 0:
                    read_all();
                    break;
                case 1:
                    ++offered, ring.put<fsw_decision_record>(FSW_KIND_DECISION);
                    break;
                case 2:
                    ++offered, ring.put<fsw_wake_record>(FSW_KIND_WAKE);
                    break;
                default:
                    ++offered, ring.put_marker(step + 1);
            }
        }
        read_all();
        ring.put_marker(1 << 20);  // brings out the last Lost
        ++offered;
        read_all();
        EXPECT_EQ(offered, read + told_lost);
        std::uint64_t produced = 0, dropped = 0;
        for (int kind = 0; kind < FSW_KIND_COUNT; ++kind) {
            produced += ring.producer.produced[kind];
            dropped += ring.producer.dropped[kind];
        }
        EXPECT_EQ(produced, offered);
        EXPECT_EQ(dropped, told_lost);
    }
}

// One thread puts, one reads; meant to be run with FAIRSWITCH_TSAN=ON too.
TEST(Ring, OneProducerAndOneReaderThread) {
    constexpr std::uint64_t kRecords = 200'000;
    TestRing ring(8192);
    std::atomic<bool> done{false};
    std::thread producer([&] {
        for (std::uint64_t i = 1; i <= kRecords; ++i) ring.put_marker(i);
        done.store(true, std::memory_order_release);
    });
    std::uint64_t read = 0, lost = 0, last = 0;
    bool in_order = true;
    const auto read_all = [&] {
        for (const model::Record& record : ring.read()) {
            if (const auto* told = std::get_if<model::Lost>(&record)) {
                lost += told->markers;
                continue;
            }
            const std::uint64_t value = std::get<model::Marker>(record).value;
            in_order = in_order && value > last;
            last = value;
            ++read;
        }
    };
    while (!done.load(std::memory_order_acquire)) read_all();
    producer.join();
    read_all();
    ring.put_marker(kRecords + 1);
    read_all();
    EXPECT_TRUE(in_order);
    EXPECT_EQ(read + lost, kRecords + 1);
    EXPECT_EQ(ring.reader->stored()[FSW_KIND_MARKER], read);
    EXPECT_EQ(ring.reader->dropped()[FSW_KIND_MARKER], lost);
}

}  // namespace
}  // namespace fairswitch
