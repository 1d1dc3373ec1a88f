// Overwriting rings, and what of them becomes a window of the log.
#include "userspace/device/flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include "tests/unit/device_test_ring.h"
#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

struct OverRing : TestRing {
    explicit OverRing(std::uint64_t bytes, std::uint64_t start = 0) : TestRing(bytes, start) {
        ring.overwrite = true;
        producer.oldest = start;
    }

    std::vector<model::Record> left() {
        std::vector<model::Record> records;
        RingReader::Frozen frozen = reader->frozen();
        for (Bytes record; frozen.next(record);) {
            EXPECT_TRUE(overlay(record, records.emplace_back()));
        }
        return records;
    }
};

TEST(OverRing, KeepsTheNewest) {
    OverRing ring(1024);
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(ring.put_marker(i));
    const auto left = ring.left();
    ASSERT_EQ(left.size(), 16u);
    for (std::size_t i = 0; i < left.size(); ++i) {
        EXPECT_EQ(std::get<model::Marker>(left[i]).value, 84 + i);
    }
    EXPECT_EQ(ring.producer.produced[FSW_KIND_MARKER], 100u);
    EXPECT_EQ(ring.producer.overwritten[FSW_KIND_MARKER], 84u);
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_MARKER], 0u);
}

TEST(OverRing, ARecordThatTheRingCannotTakeIsRefused) {
    OverRing ring(256);
    EXPECT_FALSE(ring.put<fsw_decision_record>(FSW_KIND_DECISION, 5));
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_DECISION], 1u);
    EXPECT_EQ(ring.producer.lost_first_ns, 5u);
    // Nor one that only the Pad in front of it makes too long.
    OverRing padded(512, 512 - 200);
    EXPECT_FALSE(padded.put<fsw_decision_record>(FSW_KIND_DECISION));
    EXPECT_TRUE(padded.left().empty());
}

TEST(OverRing, RefusalsAreCountedWithTheirTimes) {
    OverRing ring(1024);
    ring.put_marker(1);
    fsw_ring_refuse(&ring.ring, FSW_KIND_WAKE, 100);
    fsw_ring_refuse(&ring.ring, FSW_KIND_MARKER, 300);
    EXPECT_EQ(ring.reader->loss().first_ns, 100u);
    EXPECT_EQ(ring.reader->loss().last_ns, 300u);
    EXPECT_EQ(ring.producer.produced[FSW_KIND_MARKER], 2u);
    EXPECT_EQ(ring.producer.dropped[FSW_KIND_MARKER], 1u);
    EXPECT_EQ(ring.left().size(), 1u);
    fsw_ring_empty(&ring.ring);
    ring.ring.loss.pending = false;
    EXPECT_TRUE(ring.left().empty());
    fsw_ring_refuse(&ring.ring, FSW_KIND_WAKE, 700);
    EXPECT_EQ(ring.reader->loss().first_ns, 700u);
}

std::uint64_t sum(const RingReader::Counts& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    return total;
}

// Random kinds, ring sizes and positions: what is left is always the end of what was put, whole.
TEST(OverRing, LeavesTheEndUnderAnyPattern) {
    std::random_device entropy;
    const unsigned seed = entropy();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 50; ++round) {
        OverRing ring(std::uint64_t{1024} << random() % 4, std::uint64_t{8} * (random() % 4096));
        std::deque<std::pair<unsigned, std::uint64_t>> put;  // kind and time
        std::uint64_t emptied = 0;  // given up when the ring was emptied last, and before
        for (std::uint64_t step = 1; step < 1500; ++step) {
            unsigned kind = FSW_KIND_MARKER;
            bool stored = false;
            switch (random() % 6) {
                case 0: {
                    auto record = testing::filled_record<fsw_decision_record>();
                    record.body.stamp.time_ns = step;
                    stored = ring.offer(record, kind = FSW_KIND_DECISION, step);
                    break;
                }
                case 1: {
                    auto record = testing::filled_record<fsw_brief_record>();
                    record.body.stamp.time_ns = step;
                    stored = ring.offer(record, kind = FSW_KIND_BRIEF, step);
                    break;
                }
                default:
                    stored = ring.put_marker(step, step);
            }
            ASSERT_TRUE(stored);
            put.emplace_back(kind, step);
            if (random() % 64 != 0) continue;
            const auto left = ring.left();
            ASSERT_LE(left.size(), put.size());
            while (put.size() > left.size()) put.pop_front();
            for (std::size_t i = 0; i < left.size(); ++i) {
                ASSERT_EQ(model::stamp_of(left[i])->time_ns, put[i].second);
                ASSERT_EQ(std::holds_alternative<model::Decision>(left[i]),
                          put[i].first == FSW_KIND_DECISION);
            }
            EXPECT_EQ(sum(ring.reader->produced()), left.size() + sum(ring.reader->overwritten()));
            // Nothing was given up without need: at most a record too many.
            if (sum(ring.reader->overwritten()) > emptied) {
                EXPECT_GT(ring.ring.head - ring.ring.tail,
                          ring.ring.bytes - sizeof(fsw_decision_record));
            }
            if (random() % 4 == 0) {
                fsw_ring_empty(&ring.ring);
                for (std::size_t i = 0; i < left.size(); ++i) {
                    ++ring.producer.overwritten[put[i].first];
                }
                put.clear();
                emptied = sum(ring.reader->overwritten());
            }
        }
    }
}

// A writer that is told of the freeze as the kernel's are, and a reader that waits for it as
// synchronize_rcu() does; meant to be run with FAIRSWITCH_TSAN=ON too.
TEST(OverRing, FrozenWindowsAreWhole) {
    OverRing ring(8192);
    std::atomic<bool> frozen{false}, done{false};
    std::atomic<std::uint64_t> outside{0};  // grows whenever the writer is between two records
    std::thread writer([&] {
        for (std::uint64_t i = 1; !done.load(std::memory_order_relaxed); ++i) {
            if (frozen.load(std::memory_order_acquire)) {
                fsw_ring_refuse(&ring.ring, FSW_KIND_MARKER, i);
            } else {
                ring.put_marker(i, i);
            }
            outside.fetch_add(1, std::memory_order_release);
        }
    });
    const auto synchronize = [&] {
        const std::uint64_t now = outside.load(std::memory_order_acquire);
        while (outside.load(std::memory_order_acquire) < now + 2)
            std::this_thread::sleep_for(std::chrono::microseconds(20));
    };
    std::uint64_t last = 0, kept = 0;
    for (int window = 0; window < 40; ++window) {
        synchronize();
        frozen.store(true, std::memory_order_relaxed);
        synchronize();
        const auto left = ring.left();
        ASSERT_FALSE(left.empty());
        for (std::size_t i = 0; i < left.size(); ++i) {
            const auto& marker = std::get<model::Marker>(left[i]);
            ASSERT_GT(marker.value, last);
            ASSERT_EQ(marker.value, marker.stamp.time_ns);
            ASSERT_TRUE(i == 0 || marker.value == last + 1) << marker.value << " after " << last;
            last = marker.value;
        }
        kept += left.size();
        fsw_ring_empty(&ring.ring);
        frozen.store(false, std::memory_order_release);
    }
    done.store(true);
    writer.join();
    const auto rest = ring.left().size();
    EXPECT_EQ(sum(ring.reader->produced()), kept + rest + sum(ring.reader->overwritten()) +
                                                sum(ring.reader->dropped()));
}

std::vector<std::uint64_t> times(const std::vector<model::Record>& records) {
    std::vector<std::uint64_t> result;
    for (const model::Record& record : records) {
        result.push_back(model::stamp_of(record)->time_ns);
    }
    return result;
}

void put_task(OverRing& ring, std::uint64_t time_ns) {
    auto record = testing::filled_record<fsw_task_record>();
    record.body.stamp.time_ns = time_ns;
    ring.offer(record, FSW_KIND_TASK, time_ns);
}

TEST(Window, IsInOrderOfTimeWithTheTasksInFront) {
    OverRing first(4096), second(4096);
    put_task(first, 5);
    for (const std::uint64_t time : {10, 30, 50, 70}) first.put_marker(time, time);
    put_task(second, 55);
    for (const std::uint64_t time : {20, 40, 60}) second.put_marker(time, time);
    std::vector<model::Record> records;
    const std::vector<RingReader*> rings{&*first.reader, &*second.reader};
    copy_window(rings, 40, [&](Bytes record) {
        EXPECT_TRUE(overlay(record, records.emplace_back()));
    });
    // Of the second ring, 55 stands before 20: only its own ring's order counts there.
    EXPECT_EQ(times(records), (std::vector<std::uint64_t>{5, 50, 55, 40, 60, 70}));
    EXPECT_EQ(first.reader->stored()[FSW_KIND_MARKER], 2u);
    EXPECT_EQ(first.reader->passed()[FSW_KIND_MARKER], 2u);
    EXPECT_EQ(second.reader->stored()[FSW_KIND_TASK], 1u);
    EXPECT_EQ(second.reader->passed()[FSW_KIND_MARKER], 1u);
    pass_all(rings);
    EXPECT_EQ(second.reader->passed()[FSW_KIND_MARKER], 4u);
}

TEST(Window, AFullDiskIsNotInTheBooks) {
    OverRing ring(4096);
    ring.put_marker(1, 1);
    EXPECT_THROW(copy_window({&*ring.reader}, 0, [](Bytes) { throw std::runtime_error("full"); }),
                 std::runtime_error);
    EXPECT_EQ(ring.reader->stored()[FSW_KIND_MARKER], 0u);
}

TEST(Window, IsWholeFromTheYoungestOfTheOldest) {
    OverRing full(1024), other(4096);
    const std::vector<RingReader*> rings{&*full.reader, &*other.reader};
    other.put_marker(1, 7);
    EXPECT_EQ(whole_from(rings, {0, 0}), 0u);
    for (std::uint64_t i = 1; i <= 20; ++i) full.put_marker(i, 100 * i);
    EXPECT_EQ(whole_from(rings, {0, 0}), 500u);
    EXPECT_EQ(whole_from(rings, {4, 0}), 0u);
}

TEST(Window, BelievesNoLength) {
    OverRing ring(1024);
    ring.put_marker(1);
    ring.data[0] = std::byte{0xfe};
    RingReader::Frozen frozen = ring.reader->frozen();
    Bytes record;
    EXPECT_THROW(frozen.next(record), Failure);
    ring.producer.oldest = 4096;
    EXPECT_THROW(ring.reader->frozen(), Failure);
}

TEST(Trigger, IsALatencyWithAUnit) {
    EXPECT_EQ(parse_trigger("latency>1ms"), 1'000'000u);
    EXPECT_EQ(parse_trigger("latency > 2.5us"), 2'500u);
    for (const char* wrong : {"", "latency", "latency>", "latency>0ms", "latency<1ms", "latency>1",
                              "latency>1min", "latency>-1ms", "runtime>1ms", "latency>2h"}) {
        EXPECT_THROW(parse_trigger(wrong), Failure) << wrong;
    }
}

TEST(Trigger, DurationsAreRefusedByOption) {
    EXPECT_EQ(parse_duration_ns("50ms", "--before"), 50'000'000u);
    EXPECT_EQ(parse_duration_ns("0s", "--before"), 0u);
    try {
        parse_duration_ns("50 parsec", "--before");
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(std::string(failure.what()).rfind("--before: `50 parsec`", 0), 0u);
    }
    EXPECT_EQ((Flight{.after_ns = 1'000'001}).after_ms(), 2u);
}

}  // namespace
}  // namespace fairswitch
