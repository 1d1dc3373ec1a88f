// fairswitch-disk MODE DETAIL DIR RECORDS [RATE]: from a ring to a file, natively. The producer is
// the code that the kernel runs (module/ring_core.h), the collector the recorder's reader and writer.
//
//   one-core   both on one CPU, in turns
//   waits      each on a CPU of its own; the producer waits for room: what the chain sustains
//   paced      likewise, RATE records a second, and the producer never waits: as in the kernel
//   flood      likewise, as fast as it can
//
// DETAIL is brief or full. Prints one line, in which `seconds` counts until the last write and
// `synced` until the file is on the disk; `lost` is what the producer dropped, `told` what a reader
// of the file alone finds lost:
//
//   disk MODE DETAIL produced seconds synced collector_cpu_s stored lost told file_bytes
//
// Fails if the file's records and losses aren't what was produced, to the last one.
#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/program.h"
#include "tests/unit/ring_producer.h"
#include "tests/unit/records.h"
#include "userspace/base/failure.h"
#include "userspace/device/ring_reader.h"
#include "userspace/log/reader.h"
#include "userspace/log/schema.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using Clock = std::chrono::steady_clock;

// As the module's default; it wakes its reader when a quarter is unread.
constexpr std::uint64_t kRing_bytes = 4 << 20;
constexpr std::uint64_t kWatermark_bytes = kRing_bytes / 4;
constexpr std::chrono::microseconds kPoll(100);
constexpr std::uint64_t kGap_ns = 1000;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

double thread_cpu_s() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void pin(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0)
        fail(Exit::kImpossible, "no CPU {} for a thread of this mode; it needs two", cpu);
}

struct Plan {
    std::string mode;
    std::string path;
    std::uint64_t records = 0;
    double rate = 0;
};

struct Outcome {
    double seconds = 0;
    double synced = 0;
    double collector_cpu_s = 0;
};

template <typename Packed, unsigned kKind>
class Chain {
  public:
    explicit Chain(const Plan& plan)
        : plan_(plan), data_(kRing_bytes), log_(plan.path, header()) {
        fsw_ring_init(&ring_, &producer_, &consumer_, data_.data(), kRing_bytes, 0);
        reader_.emplace(&producer_, &consumer_, data_.data());
        record_.body.stamp.cpu = record_.body.stamp.rq_cpu = 0;
    }

    Outcome run() {
        const auto begin = Clock::now();
        const double cpu = thread_cpu_s();
        if (plan_.mode == "one-core") {
            in_turns();
        } else {
            side_by_side();
        }
        log_.flush();
        Outcome outcome{.seconds = seconds_since(begin), .collector_cpu_s = thread_cpu_s() - cpu};
        log_.close(end());
        outcome.synced = seconds_since(begin);
        return outcome;
    }

    std::uint64_t produced() const { return reader_->produced()[kKind]; }
    std::uint64_t stored() const { return reader_->stored()[kKind]; }
    std::uint64_t lost() const { return reader_->dropped()[kKind]; }

  private:
    static Header header() {
        Header header;
        header.set_kernel_release("generated");
        header.set_host("generated");
        header.set_cpus(1);
        header.set_schema(log_schema());
        return header;
    }

    // What fsw_ring_publish() does, without the interrupt.
    void put(std::uint64_t number) {
        fsw_stamp& stamp = record_.body.stamp;
        stamp.time_ns = number * kGap_ns;
        stamp.seq = number + 1;
        fsw_ring_put(&ring_, &record_, sizeof(record_), kKind, stamp.time_ns);
    }

    bool has_room() {
        return fsw_ring_has_room(&ring_, fsw_ring_after(&ring_, ring_.head, sizeof(record_)));
    }

    bool drain() {
        return reader_->drain([this](Bytes records) { log_.append(records); }) != 0;
    }

    void in_turns() {
        pin(0);
        for (std::uint64_t i = 0; i < plan_.records; ++i) {
            put(i);
            if (ring_.head - consumer_.tail > kWatermark_bytes) drain();
        }
        drain();
    }

    void produce() {
        pin(1);
        const auto begin = Clock::now();
        for (std::uint64_t i = 0; i < plan_.records; ++i) {
            if (plan_.mode == "waits") {
                while (!has_room()) {
                }
            } else if (plan_.mode == "paced" && i % kBurst == 0) {
                while (seconds_since(begin) * plan_.rate < static_cast<double>(i)) {
                }
            }
            put(i);
        }
    }

    void side_by_side() {
        pin(0);
        std::atomic<bool> done{false};
        std::thread producer([&] {
            produce();
            done.store(true, std::memory_order_release);
        });
        for (bool last = false; !last;) {
            last = done.load(std::memory_order_acquire);
            // While little is unread the recorder sleeps, too.
            if (!drain() && !last) std::this_thread::sleep_for(kPoll);
        }
        producer.join();
    }

    End end() const {
        End end;
        end.set_time_ns(plan_.records * kGap_ns);
        end.set_reason("generated");
        RingBooks& books = *end.add_rings();
        for (unsigned kind = 0; kind < FSW_KIND_COUNT; ++kind) {
            books.add_produced(reader_->produced()[kind]);
            books.add_dropped(reader_->dropped()[kind]);
            books.add_stored(reader_->stored()[kind]);
        }
        return end;
    }

    static constexpr std::uint64_t kBurst = 64;

    const Plan& plan_;
    std::vector<std::byte> data_;
    LogWriter log_;
    fsw_ring ring_{};
    fsw_ring_producer producer_{};
    fsw_ring_consumer consumer_{};
    std::optional<RingReader> reader_;
    Packed record_ = testing::filled_record<Packed>();
};

// A reader of the file alone has to find the same numbers.
std::uint64_t check_file(const std::string& path, std::uint64_t produced, std::uint64_t stored,
                         std::uint64_t lost) {
    LogReader reader(path);
    model::Record record;
    std::uint64_t found = 0;
    while (reader.next(record)) found += !std::holds_alternative<model::Lost>(record);
    const std::uint64_t told = reader.parts().back().losses.total();
    Validity validity = reader.validity();
    if (produced != stored + lost || found != stored || told != lost ||
        validity.count(Badness::kBooksOff) + validity.count(Badness::kBooksUnbalanced) != 0) {
        fail(Exit::kRunFailed,
             "{}: produced {}, stored {}, lost {}, but the file holds {} and tells of {} lost", path,
             produced, stored, lost, found, told);
    }
    return told;
}

template <typename Packed, unsigned kKind>
void measure(const Plan& plan, const std::string& detail) {
    Chain<Packed, kKind> chain(plan);
    const Outcome outcome = chain.run();
    const std::uint64_t told = check_file(plan.path, chain.produced(), chain.stored(), chain.lost());
    const auto bytes = std::filesystem::file_size(plan.path);
    std::filesystem::remove(plan.path);
    fmt::print("disk {} {} {} {:.4f} {:.4f} {:.4f} {} {} {} {}\n", plan.mode, detail,
               chain.produced(), outcome.seconds, outcome.synced, outcome.collector_cpu_s,
               chain.stored(), chain.lost(), told, bytes);
}

int run(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const std::string detail = argc > 2 ? argv[2] : "";
    const bool known = mode == "one-core" || mode == "waits" || mode == "paced" || mode == "flood";
    if (!known || (detail != "brief" && detail != "full") || argc != (mode == "paced" ? 6 : 5))
        fail(Exit::kUsage, "usage: fairswitch-disk one-core|waits|paced|flood brief|full DIR "
                           "RECORDS [RATE, of paced]");
    const Plan plan{.mode = mode,
                    .path = std::string(argv[3]) + "/disk-bench.fsl",
                    .records = std::stoull(argv[4]),
                    .rate = mode == "paced" ? std::stod(argv[5]) : 0};
    if (detail == "brief") {
        measure<fsw_brief_record, FSW_KIND_BRIEF>(plan, detail);
    } else {
        measure<fsw_decision_record, FSW_KIND_DECISION>(plan, detail);
    }
    return 0;
}

}  // namespace
}  // namespace fairswitch

int main(int argc, char** argv) {
    return fairswitch::run_program("fairswitch-disk", fairswitch::run, argc, argv);
}
