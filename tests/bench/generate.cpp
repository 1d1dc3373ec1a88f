// fairswitch-generate FILE DECISIONS [zstd]: a made-up log of any length, for measuring what reads
// logs. The same arguments give the same file.
//
// A machine of 8 CPUs decides 50,000 times a second. One thread is watched: it sleeps 2777 us at a
// time and is late now and then; on its CPU others run in turns. Two arms alternate in blocks of
// two seconds. Beside each decision stand half a Delay and half a Requeue, as under hackbench.
#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "tests/bench/program.h"
#include "tests/unit/records.h"
#include "userspace/base/failure.h"
#include "userspace/log/schema.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

constexpr std::uint32_t kCpus = 8;
constexpr std::uint64_t kStart_ns = 1'000'000'000;
constexpr std::uint64_t kDecisionGap_ns = 20'000;
constexpr std::uint64_t kPeriod_ns = 2'777'000;
constexpr std::uint64_t kBlock_ns = 2'000'000'000;
constexpr std::uint64_t kGuard_ns = 100'000'000;
constexpr std::uint32_t kWatched = 500;
constexpr std::uint32_t kFirstTask = 1000;
constexpr std::uint32_t kTasks = 320;

template <typename Packed>
Bytes bytes_of(const Packed& record) {
    return std::as_bytes(std::span(&record, 1));
}

class Machine {
  public:
    explicit Machine(LogWriter& log) : log_(log) {}

    End run(std::uint64_t decisions) {
        for (std::uint32_t i = 0; i < kTasks; ++i) task(kFirstTask + i, "hackbench");
        task(kWatched, "cyclictest");
        for (std::uint64_t i = 0; i < decisions; ++i) {
            now_ns_ += kDecisionGap_ns;
            if (now_ns_ >= next_block_ns_) begin_block();
            if (now_ns_ >= next_period_ns_) period();
            decide(random_() % kCpus, some_task(), some_task());
            if (i % 2 == 0) sleep_and_return();
        }
        end_block();
        return books();
    }

  private:
    std::uint32_t some_task() {
        return kFirstTask + static_cast<std::uint32_t>(random_() % kTasks);
    }

    // The ring's books, which the reader holds against the file.
    template <typename Packed>
    void put(Packed& record, unsigned kind, std::uint32_t cpu, std::uint64_t time_ns,
             bool ordered) {
        fsw_stamp& stamp = record.body.stamp;
        stamp.time_ns = time_ns;
        stamp.cpu = stamp.rq_cpu = cpu;
        stamp.seq = ordered ? ++seq_[cpu] : 0;
        stamp.arm = arm_;
        stamp.generation = generation_;
        ++stored_[cpu][kind];
        log_.append(bytes_of(record));
    }

    void task(std::uint32_t pid, const char* comm) {
        auto record = testing::record_template<fsw_task_record>();
        record.body.pid = pid;
        record.body.tgid = pid == kWatched ? kWatched - 1 : kFirstTask;
        record.body.start_ns = pid;
        std::strncpy(record.body.comm, comm, FSW_COMM_BYTES - 1);
        put(record, FSW_KIND_TASK, 0, kStart_ns, false);
    }

    void fill(fsw_entity& entity, std::uint32_t pid) {
        entity.pid = pid;
        entity.flags = FSW_ENTITY_TASK | FSW_ENTITY_ON_RQ |
                       (random_() % 2 ? unsigned{FSW_ENTITY_ELIGIBLE} : 0u);
        entity.weight = 1 << 20;
        entity.slice_ns = 2'800'000;
        entity.vruntime_ns = now_ns_ / 8 + random_() % 1'000'000;
        entity.deadline_ns = entity.vruntime_ns + 2'800'000;
        entity.lag_ns = static_cast<std::int64_t>(random_() % 2'000'000) - 1'000'000;
    }

    void decide(std::uint32_t cpu, std::uint32_t wakee, std::uint32_t curr, bool late = false) {
        auto& record = decision_;
        fsw_decision& body = record.body;
        const bool preempt = !late && random_() % 3 == 0;
        body.path = preempt ? FSW_PATH_PICK_PREEMPT : FSW_PATH_PICK_KEEP;
        body.verdict = preempt ? FSW_VERDICT_PREEMPT : FSW_VERDICT_KEEP;
        body.resched = preempt ? FSW_RESCHED_NOW_IPI : FSW_RESCHED_NONE;
        body.wakee_state = 0x200;
        body.duration_ns = 400;
        body.wakee_pid = wakee;
        body.curr_pid = curr;
        fill(body.wakee, wakee);
        fill(body.curr, curr);
        fill(body.picked, preempt ? wakee : curr);
        body.queue.queued = body.queue.h_queued = 10;
        body.queue.avg_vruntime_ns = now_ns_ / 8;
        body.queue.picks = 1;
        put(record, FSW_KIND_DECISION, cpu, now_ns_, true);
    }

    void sleep_and_return() {
        const std::uint32_t cpu = random_() % kCpus, pid = some_task();
        auto& delay = delay_;
        fill(delay.body.entity, pid);
        delay.body.verdict = FSW_DELAY_DELAYED;
        put(delay, FSW_KIND_DELAY, cpu, now_ns_ + 1000, true);
        auto& requeue = requeue_;
        fill(requeue.body.entity, pid);
        requeue.body.curr_stale_ns = random_() % 3 * 1000;
        put(requeue, FSW_KIND_REQUEUE, cpu, now_ns_ + 2000, true);
    }

    void switched(std::uint64_t time_ns, std::uint32_t prev, std::uint32_t next) {
        auto record = testing::record_template<fsw_switch_record>();
        record.body.prev_pid = prev;
        record.body.next_pid = next;
        record.body.prev_state = prev == kWatched;
        put(record, FSW_KIND_SWITCH, 0, time_ns, true);
    }

    // It wakes; one in fifty is kept waiting while others run.
    void period() {
        const std::uint64_t expected = next_period_ns_;
        next_period_ns_ += kPeriod_ns;
        const bool late = random_() % 50 == 0;
        auto record = testing::record_template<fsw_wake_record>();
        record.body.pid = kWatched;
        record.body.source = FSW_WAKE_TIMER;
        record.body.timer_slack_ns = 50'000;
        record.body.timer.soft_expiry_ns = expected;
        record.body.timer.hard_expiry_ns = expected + 50'000;
        record.body.timer.fired_ns = now_ns_ - 500;
        put(record, FSW_KIND_WAKE, 0, now_ns_, false);
        const std::uint32_t curr = some_task();
        decide(0, kWatched, curr, late);
        std::uint64_t at = now_ns_ + 1000 + random_() % 4000;
        std::uint32_t running = curr;
        for (int turns = late ? 3 : 0; turns > 0; --turns) {
            const std::uint32_t next = some_task();
            switched(at, running, next);
            running = next;
            at += 400'000 + random_() % 100'000;
        }
        switched(at, running, kWatched);
        switched(at + 6'000, kWatched, some_task());
    }

    void mark(std::uint32_t id, std::uint64_t time_ns) {
        auto record = testing::record_template<fsw_marker_record>();
        record.body.id = id;
        record.body.value = block_;
        put(record, FSW_KIND_MARKER, 0, time_ns, false);
    }

    void end_block() {
        if (block_begun_) mark(2, now_ns_);
        if (block_begun_) ++block_;
        block_begun_ = false;
    }

    // A swap on each CPU, then the guard interval is let pass.
    void begin_block() {
        end_block();
        const std::uint32_t old = arm_;
        arm_ = (block_ + block_ / 2) % 2;
        ++generation_;
        for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
            auto record = testing::record_template<fsw_swap_record>();
            record.body.old_arm = old;
            record.body.old_generation = generation_ - 1;
            record.body.positions = arm_;
            record.body.reason = FSW_SWAP_SET;
            record.body.requested_ns = now_ns_;
            put(record, FSW_KIND_SWAP, cpu, now_ns_ + cpu, true);
        }
        mark(1, now_ns_ + kGuard_ns);
        block_begun_ = true;
        next_block_ns_ = now_ns_ + kGuard_ns + kBlock_ns;
    }

    End books() const {
        End end;
        end.set_time_ns(now_ns_);
        end.set_reason("generated");
        for (std::uint32_t cpu = 0; cpu < kCpus; ++cpu) {
            RingBooks& books = *end.add_rings();
            books.set_cpu(cpu);
            for (const std::uint64_t count : stored_[cpu]) {
                books.add_produced(count);
                books.add_dropped(0);
                books.add_stored(count);
            }
        }
        return end;
    }

    LogWriter& log_;
    std::mt19937 random_{1};
    fsw_decision_record decision_ = testing::record_template<fsw_decision_record>();
    fsw_delay_record delay_ = testing::record_template<fsw_delay_record>();
    fsw_requeue_record requeue_ = testing::record_template<fsw_requeue_record>();
    std::uint64_t now_ns_ = kStart_ns;
    std::uint64_t next_period_ns_ = kStart_ns + kPeriod_ns;
    std::uint64_t next_block_ns_ = kStart_ns;
    std::uint32_t arm_ = 0;
    std::uint32_t generation_ = 1;
    std::uint64_t block_ = 0;
    bool block_begun_ = false;
    std::array<std::uint64_t, kCpus> seq_{};
    std::array<std::array<std::uint64_t, FSW_KIND_COUNT>, kCpus> stored_{};
};

int run(int argc, char** argv) {
    if (argc < 3 || argc > 4 || (argc == 4 && std::string(argv[3]) != "zstd")) {
        fail(Exit::kUsage, "usage: fairswitch-generate FILE DECISIONS [zstd]");
    }
    Header header;
    header.set_kernel_release("generated");
    header.set_host("generated");
    header.set_cpus(kCpus);
    header.set_start_monotonic_ns(kStart_ns);
    header.set_schema(log_schema());
    for (std::uint32_t id : {0u, 1u}) {
        Arm& arm = *header.add_arms();
        arm.set_id(id);
        arm.set_name(id == 0 ? "stock" : "other");
    }
    LogWriter log(argv[1], header,
                  argc == 4 ? LogWriter::Packing::kZstd : LogWriter::Packing::kPlain);
    log.close(Machine(log).run(std::stoull(argv[2])));
    return 0;
}

}  // namespace
}  // namespace fairswitch

int main(int argc, char** argv) {
    return fairswitch::run_program("fairswitch-generate", fairswitch::run, argc, argv);
}
