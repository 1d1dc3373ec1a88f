// The join: each cyclictest sample with the wakeup that it measured.
//
//   expected        fired   woken  decided          switched in   clock read
//      |--- slack ----|------|-------|---- waiting ------|------------|
//      |<------------------------ latency --------------------------->|
//
// The measured thread sleeps with clock_nanosleep(TIMER_ABSTIME), so the soft expiry of its timer,
// told by its Wake record, *is* the moment it expected, and
//
//     clock read = expected + latency
//
// which puts the sample on the records' clock. Which sample is which wakeup is align.h's work;
// `fairswitch waker` tells the expected moment itself, which then is the wakeup's.
//
// Measured threads are those with timer wakeups, the main thread of their process aside (that is
// cyclictest's printer). A thread is (pid, start time): when a pid is reused its wakeups are
// parted. cyclictest's threads 0, 1, … are matched with them in the order of their start.
//
// Skipped periods: a thread that wakes more than a period late skips the periods that passed; the
// sample isn't taken and no cycle is numbered. The expected moments lie on a grid of `interval`, so
// a block [begin, end) expects as many samples as grid points, and what wasn't delivered is missed.
// The interval is the median distance of neighbouring expected moments.
//
// A sample belongs to the block in which its expected moment lies, and to the arm in force where
// its thread was woken. What lies outside blocks is in a guard interval (or before the first block)
// and is counted, not used. Without any marks the log is one block per stretch between swaps.
//
// Every sample and every wakeup ends up in exactly one Fate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "userspace/analysis/cyclictest.h"
#include "userspace/analysis/evidence.h"

namespace fairswitch {

struct Block {
    uint64_t number = 0;
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    uint32_t arm = 0;
};

// What became of a period.
enum class Fate : size_t {
    kUsed,        // joined, in a block, its arm the block's
    kGuard,       // joined, outside of every block
    kArmDiffers,  // joined, but woken under another arm than its block's
    kLost,        // records were lost during it: used in the table, not for explanations
    kContrary,    // its latency contradicts its records: used in the table, not for explanations
    kUnsure,      // next to a realignment: not used
    kNoRecords,   // a sample whose wakeup wasn't recorded: not used
    kNoSample,    // a wakeup in a block whose sample wasn't printed: not used
    kCount,
};
const char* fate_text(Fate fate);
bool fate_in_table(Fate fate);

struct Period {
    uint32_t pid = 0;
    uint32_t thread = 0;  // cyclictest's number
    model::Wake wake;
    int64_t expected_ns = 0;
    // The switch-in after which the clock was read; absent: it never left the CPU.
    std::optional<uint64_t> switch_in_ns;
    std::optional<uint64_t> first_in_ns;  // earlier than switch_in_ns if it was interrupted
    uint32_t cpu = 0;            // where it was switched in
    bool still_running = false;  // woken before it had left the CPU
    bool interrupted = false;    // it was switched in before, and preempted before the read
    std::optional<CyclicSample> sample;
    int64_t latency_ns = 0;  // of the sample; from the records alone: to switch_in
    std::optional<size_t> block;
    Fate fate = Fate::kNoSample;

    uint64_t read_ns() const { return static_cast<uint64_t>(expected_ns + latency_ns); }
};

struct BlockResult {
    Block block;
    std::vector<int64_t> latencies;  // in order of time
    uint64_t expected = 0;
    uint64_t unprinted = 0;  // woken but no sample
    uint64_t missed() const {
        uint64_t seen = latencies.size() + unprinted;
        return expected > seen ? expected - seen : 0;
    }
};

struct Join {
    std::vector<Period> periods;  // in order of expected moment
    std::vector<BlockResult> blocks;
    std::array<uint64_t, static_cast<size_t>(Fate::kCount)> fates{};
    uint64_t realigned = 0;
    uint64_t interval_ns = 0;
    bool from_records = false;  // no samples given: latencies end at the switch-in
    std::vector<std::string> notes;

    uint64_t count(Fate fate) const { return fates[static_cast<size_t>(fate)]; }
};

// The blocks that a log tells: from marks, else from swaps, else all of it.
std::vector<Block> find_blocks(const Evidence& evidence);

// Threads whose samples are looked for, in the order of their start.
size_t measured_thread_count(const Evidence& evidence);

// `samples` null: latencies from the records alone.
Join join(const Evidence& evidence, const std::vector<CyclicSample>* samples,
          const std::vector<Block>& blocks);
Join join(const Evidence& evidence, const std::vector<CyclicSample>* samples);

}  // namespace fairswitch
