#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "proto/record.pb.h"
#include "tests/unit/analysis_stream.h"
#include "userspace/analysis/explain.h"
#include "userspace/analysis/run.h"
#include "userspace/analysis/story.h"
#include "userspace/analysis/table.h"
#include "userspace/analysis/tally.h"
#include "userspace/base/failure.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace test;
namespace fs = std::filesystem;

// Twelve rounds of two arms, 60 periods a block and 5 of guard; arm 0 is late in every tenth
// period.
Stream experiment() {
    Stream s;
    uint64_t at = 0;
    for (uint64_t block = 0; block < 24; ++block) {
        const uint32_t arm = (block + block / 2) % 2;
        s.swap(arm, kStart + at * kInterval - 500'000);
        for (int i = 0; i < 5; ++i, ++at) s.period(at, Stream::usual(at));
        s.marker(1, block, kStart + at * kInterval - 1000);
        for (int i = 0; i < 60; ++i, ++at)
            s.period(at, arm == 0 && i % 10 == 3 ? 2'500'000 - i : Stream::usual(at));
        s.marker(2, block, kStart + at * kInterval - 1000);
    }
    return s;
}

struct Analysed {
    explicit Analysed(Stream stream)
        : s(std::move(stream)),
          evidence(s.evidence()),
          joined(join(evidence, &s.samples)),
          tally(joined.blocks),
          decisions(measured_pids(joined), windows_of(joined, worst_periods(joined, 5))) {
        for (const model::Record& record : s.records) {
            tally.add(record);
            decisions.add(record);
        }
        decisions.finish();
    }
    Table table() { return build_table({evidence, joined, tally, decisions, names, nullptr}); }

    Stream s;
    Evidence evidence;
    Join joined;
    Tally tally;
    DecisionStore decisions;
    std::map<uint32_t, std::string> names{{0, "stock"}, {1, "dequeue-delayed"}};
};

TEST(Tally, CountsByArmInBlocksOnly) {
    Analysed a(experiment());
    const ArmCounts& stock = a.tally.of(0);
    EXPECT_EQ(stock.decisions, 12u * 60);
    EXPECT_EQ(stock.preempts, 12u * 54);
    EXPECT_EQ(stock.delayed_picked, 12u * 6);
    EXPECT_TRUE(stock.taken.empty());
    EXPECT_EQ(a.tally.of(1).preempts, 12u * 60);
    EXPECT_NEAR(stock.seconds, 12 * 60 * kInterval / 1e9, 1e-6);
    EXPECT_EQ(a.tally.outside(), 24u * 5);
    EXPECT_EQ(a.tally.mixed(), 0u);
}

TEST(Tally, CountsBranchesOfRequeueAndDelay) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    model::Requeue requeue;
    requeue.stamp = {1500, 1, 0, 0, 0, 1};
    requeue.entity = Stream::entity(5, 0, 0);
    requeue.branches = FSW_LAG_CLAMPED | FSW_LAG_CLOCK_UPDATED;
    requeue.curr_stale_ns = 700;
    tally.add(requeue);
    model::Delay delay;
    delay.stamp = {1600, 2, 0, 0, 0, 1};
    delay.entity = Stream::entity(5, 0, 0);
    delay.verdict = FSW_DELAY_DELAYED;
    tally.add(delay);
    EXPECT_EQ(tally.of(0).requeues, 1u);
    EXPECT_EQ(tally.of(0).taken,
              (std::map<std::string, uint64_t>{{"lag-clamp", 1}, {"requeue-clock", 1}}));
    EXPECT_EQ(tally.of(0).stale_clocks, 1u);
    EXPECT_EQ(tally.of(0).delayed, 1u);
}

TEST(Tally, EachVariantHasItsBranch) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    auto decided = [&](uint32_t path, uint32_t branches, uint32_t curr_flags) {
        model::Decision decision;
        decision.stamp = {1500, 1, 0, 0, 0, 1};
        decision.path = static_cast<decltype(decision.path)>(path);
        decision.curr = Stream::entity(7, 0, curr_flags);
        decision.queue.emplace();
        decision.queue->branches = branches;
        tally.add(decision);
    };
    decided(FSW_PATH_PICK_KEEP, FSW_BRANCH_DELAYED_PICKED, 0);
    EXPECT_TRUE(tally.of(0).taken.empty());
    decided(FSW_PATH_PICK_PREEMPT, FSW_BRANCH_DEQUEUE_DELAYED, 0);
    decided(FSW_PATH_CANCEL_PREEMPT, FSW_BRANCH_BUDDY_CLEARED, 0);
    decided(FSW_PATH_PICK_PREEMPT, FSW_BRANCH_BUDDY_NOMINATED, 0);
    const uint32_t idle = FSW_ENTITY_IDLE | FSW_ENTITY_EFFECTIVE_IDLE;
    decided(FSW_PATH_IDLE_PREEMPT, 0, idle);                                  // of an idle group
    decided(FSW_PATH_IDLE_PREEMPT, 0, idle | 5u << FSW_ENTITY_POLICY_SHIFT);  // SCHED_IDLE itself
    const std::map<std::string, uint64_t> expected = {{"dequeue-delayed", 1},
                                                      {"cancel-protection", 1},
                                                      {"short-buddy", 2},
                                                      {"hierarchical-idle", 1}};
    EXPECT_EQ(tally.of(0).taken, expected);
}

TEST(Table, RowsAreThoseOfTheVariantsThatTheLogKnows) {
    Analysed a(experiment());
    Table table = a.table();
    table.variants = {"lag-clamp", "short-buddy"};
    const std::string text = render_text(table);
    EXPECT_NE(text.find("lag-clamp raised a lag "), std::string::npos);
    EXPECT_NE(text.find("short-buddy changed a hint "), std::string::npos);
    EXPECT_EQ(text.find("dequeue-delayed taken"), std::string::npos);
}

TEST(Table, MaximumHasNoVerdict) {
    Analysed a(experiment());
    const std::string text = render_text(a.table());
    EXPECT_NE(text.find("Maximum           (us)               2503        106   (-96 %)?\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("? = no verdict: the Maximum"), std::string::npos);
}

TEST(Tally, EntityDelayedUnderAnotherArmIsCarriedOver) {
    for (bool end_first : {false, true}) {  // rings are drained in any order
        Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}, {{1, 3000, 4000, 1}, {}, 0, 0}});
        model::Delay delay;
        delay.stamp = {1900, 1, 0, 0, 0, 1};
        delay.entity = Stream::entity(5, 0, 0);
        delay.verdict = FSW_DELAY_DELAYED;
        model::Requeue requeue;
        requeue.stamp = {3100, 1, 1, 1, 1, 2};
        requeue.entity = Stream::entity(5, 0, 0);
        if (end_first) {
            tally.add(requeue);
            tally.add(delay);
        } else {
            tally.add(delay);
            tally.add(requeue);
        }
        EXPECT_EQ(tally.of(1).carried_over, 1u) << end_first;
        EXPECT_EQ(tally.of(0).carried_over, 0u);
    }
}

TEST(Tally, RecordOfAnotherArmInABlockIsMixed) {
    Tally tally({{{0, 1000, 2000, 0}, {}, 0, 0}});
    model::Decision decision;
    decision.stamp = {1500, 1, 0, 0, 1, 2};
    tally.add(decision);
    EXPECT_EQ(tally.mixed(), 1u);
    EXPECT_EQ(tally.of(0).decisions, 0u);
}

TEST(Table, Golden) {
    Analysed a(experiment());
    const std::string text = render_text(a.table());
    const std::string path = std::string(FAIRSWITCH_TEST_DATA) + "/analysis_table.txt";
    if (std::getenv("FAIRSWITCH_WRITE_GOLDEN")) std::ofstream(path) << text;
    std::ifstream in(path);
    std::stringstream golden;
    golden << in.rdbuf();
    EXPECT_EQ(text, golden.str()) << "set FAIRSWITCH_WRITE_GOLDEN=1 to accept";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Table, WithoutAPlanStockIsTheBase) {
    Stream s;
    uint64_t at = 0;
    for (uint64_t block = 0; block < 2; ++block) {
        s.swap(block == 0 ? 1 : 0, kStart + at * kInterval - 500'000);
        s.marker(1, block, kStart + at * kInterval - 1000);
        for (int i = 0; i < 60; ++i, ++at) s.period(at, Stream::usual(at));
        s.marker(2, block, kStart + at * kInterval - 1000);
    }
    Analysed a(std::move(s));
    a.names[1] = "a-name-that-is-far-too-long-for-its-column";
    const Table table = a.table();
    EXPECT_EQ(table.columns.at(0).arm, 0u);
    const std::string text = render_text(table);
    EXPECT_NE(text.find(" column 2: a-name-that-is-far-too-long-for-its-column\n"),
              std::string::npos);
    EXPECT_NE(text.find("no verdict: fewer than 10 pairs"), std::string::npos);
}

TEST(Table, LostRecordsStandOnTop) {
    Stream s = experiment();
    model::Lost lost;
    lost.stamp = s.stamp(kStart);
    lost.first_ns = lost.last_ns = kStart + 30 * kInterval;
    lost.switches = 9;
    s.records.push_back(lost);
    Analysed a(std::move(s));
    EXPECT_EQ(render_text(a.table()).rfind("!! 9 RECORDS LOST", 0), 0u);
}

TEST(Table, NoSampleIsSaidNotInvented) {
    Analysed a{Stream()};
    EXPECT_EQ(render_text(a.table()).rfind("No block was completed", 0), 0u);
    EXPECT_EQ(a.table().columns.at(0).sorted.size(), 0u);
}

TEST(Story, LateSampleNamesCauseAndWhoRan) {
    Analysed a(experiment());
    auto worst = worst_periods(a.joined, 1);
    ASSERT_EQ(worst.size(), 1u);
    const Period& period = a.joined.periods[worst[0]];
    EXPECT_EQ(cause_of(period, a.evidence, a.decisions), Cause::kKeptDelayed);
    auto slices = who_ran(period, a.evidence, a.decisions);
    ASSERT_EQ(slices.size(), 1u);
    EXPECT_EQ(slices[0].pid, kHog);
    EXPECT_EQ(slices[0].to_ns - slices[0].from_ns,
              *period.switch_in_ns - period.wake.stamp.time_ns);
    std::string text;
    for (const std::string& line : explain(period, a.evidence, a.decisions, "stock", 3))
        text += line + "\n";
    for (const char* part :
         {"2.50 ms late: cyclictest/812", "arm stock", "timer fired on CPU 0", "hackbench/790",
          "KEEP", "pick_eevdf() chose pid 801, which sleeps", "lag +1.00 ms", "deadline V+310 us",
          "protected", "hackbench/790 ran for 2.44 ms", "switched in on CPU 0", "read the clock",
          "cause: kept waiting: the pick was a delayed (sleeping) entity: 2.44 ms of 2.50 ms"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Story, CausesAreCountedByArm) {
    Analysed a(experiment());
    auto causes = causes_by_arm(a.joined, a.evidence, a.decisions, 1'000'000);
    EXPECT_EQ(causes[0][static_cast<size_t>(Cause::kKeptDelayed)], 72u);
    EXPECT_EQ(causes[1][static_cast<size_t>(Cause::kKeptDelayed)], 0u);
}

// Among 100 periods one that is woken before it has left the CPU, which it leaves `stall` later; it
// is switched in 2.5 ms after the expected moment, and if `again` is set for the first time then.
Stream woken_on_cpu(uint64_t stall, uint64_t again = 0) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 50; ++i) s.period(i, Stream::usual(i));
    const uint64_t expected = kStart + 50 * kInterval, in = expected + 2'500'000;
    s.switched(expected + 10'000, kHog, kPid, true);
    s.wake(expected, expected + 58'000);
    s.switched(expected + 58'000 + stall, kPid, kHog, false);
    if (again) {
        s.switched(expected + again, kHog, kPid, false);
        s.switched(expected + again + 2'000, kPid, kHog, true);
    }
    s.switched(in, kHog, kPid, true);
    s.switched(in + kReadCost + 6'000, kPid, kHog, false);
    s.samples.push_back({0, s.cycle++, 2'504'000});
    for (uint64_t i = 51; i < 100; ++i) s.period(i, Stream::usual(i));
    s.marker(2, 0, kStart + 100 * kInterval);
    return s;
}

struct WorstOf {
    explicit WorstOf(Stream s)
        : a(std::move(s)), period(a.joined.periods.at(worst_periods(a.joined, 1).at(0))) {}
    Cause cause() const { return cause_of(period, a.evidence, a.decisions); }
    LatencyParts parts() const { return parts_of(period, a.evidence); }
    Analysed a;
    const Period& period;
};

TEST(Story, StallIsTheCauseOnlyIfItIsTheLongestPart) {
    WorstOf most(woken_on_cpu(2'000'000));
    EXPECT_EQ(most.cause(), Cause::kCpuStalled);
    EXPECT_EQ(most.parts().stalled_ns, 2'000'000);
    EXPECT_EQ(most.parts().waiting_ns, 442'000);

    // More than 1 ms, yet it waited longer than that.
    WorstOf some(woken_on_cpu(1'100'000));
    EXPECT_EQ(some.cause(), Cause::kStillRunning);
    EXPECT_EQ(some.parts().stalled_ns, 1'100'000);
    EXPECT_EQ(some.parts().waiting_ns, 1'342'000);
    EXPECT_EQ(some.parts().longest(), 1'342'000);
}

TEST(Story, PreemptedAgainIsTheCauseOnlyIfItIsTheLongestPart) {
    WorstOf early(woken_on_cpu(5'000, 100'000));
    EXPECT_EQ(early.cause(), Cause::kReadLate);
    EXPECT_EQ(early.parts().again_ns, 2'400'000);
    WorstOf late(woken_on_cpu(5'000, 2'000'000));
    EXPECT_EQ(late.cause(), Cause::kStillRunning);
    EXPECT_EQ(late.parts().again_ns, 500'000);
}

TEST(Story, PartsAreAllOfTheLatency) {
    Analysed a(experiment());
    for (const Period& period : a.joined.periods) {
        if (!fate_in_table(period.fate)) continue;
        const LatencyParts p = parts_of(period, a.evidence);
        ASSERT_EQ(p.timer_ns + p.wake_ns + p.stalled_ns + p.waiting_ns + p.again_ns + p.after_ns,
                  period.latency_ns);
    }
}

TEST(Story, TextTellsTheLengthOfTheCause) {
    WorstOf most(woken_on_cpu(2'000'000));
    const auto lines = explain(most.period, most.a.evidence, most.a.decisions, "stock", 0);
    EXPECT_EQ(lines.back(),
              "  cause: its CPU stood still (virtual CPU without time, SMI, host load): 2.00 ms of "
              "2.50 ms");
}

TEST(Story, WhatIsMissingIsNamed) {
    Stream s;
    s.marker(1, 0, kStart - 1000);
    for (uint64_t i = 0; i < 100; ++i) s.period(i, i == 50 ? 1'900'000 : Stream::usual(i));
    s.marker(2, 0, kStart + 100 * kInterval);
    Stream without = s;
    std::erase_if(without.records, [](const model::Record& record) {
        return std::holds_alternative<model::Decision>(record);
    });
    Analysed a(without);
    auto worst = worst_periods(a.joined, 1);
    Cause cause = cause_of(a.joined.periods[worst[0]], a.evidence, a.decisions);
    EXPECT_EQ(cause, Cause::kNoDecision);
    EXPECT_FALSE(cause_explains(cause));
}

TEST(Duration, ReadsWell) {
    EXPECT_EQ(duration_text(57), "57 ns");
    EXPECT_EQ(duration_text(5'700), "5.7 us");
    EXPECT_EQ(duration_text(57'300), "57 us");
    EXPECT_EQ(duration_text(-2'310'000), "-2.31 ms");
    EXPECT_EQ(duration_text(12'300'000'000), "12.3 s");
}

// ---- a run's directory, written with the generated classes and read back

void set_stamp(Stamp* out, const model::Stamp& stamp) {
    out->set_time_ns(stamp.time_ns);
    out->set_seq(stamp.seq);
    out->set_cpu(stamp.cpu);
    out->set_rq_cpu(stamp.rq_cpu);
    out->set_arm(stamp.arm);
    out->set_generation(stamp.generation);
}

void set_entity(Entity* out, const model::Entity& entity) {
    out->set_pid(entity.pid);
    out->set_flags(entity.flags);
    out->set_slice_ns(entity.slice_ns);
    out->set_deadline_ns(entity.deadline_ns);
    out->set_lag_ns(entity.lag_ns);
}

struct ToProto {
    Record& out;
    void operator()(const model::Decision& d) {
        auto* m = out.mutable_decision();
        set_stamp(m->mutable_stamp(), d.stamp);
        m->set_path(static_cast<Path>(d.path));
        m->set_verdict(static_cast<Verdict>(d.verdict));
        m->set_resched(static_cast<Resched>(d.resched));
        m->set_wakee_pid(d.wakee_pid);
        m->set_curr_pid(d.curr_pid);
        set_entity(m->mutable_wakee(), *d.wakee);
        set_entity(m->mutable_curr(), *d.curr);
        set_entity(m->mutable_picked(), *d.picked);
        m->mutable_queue()->set_avg_vruntime_ns(d.queue->avg_vruntime_ns);
        m->mutable_queue()->set_branches(d.queue->branches);
    }
    void operator()(const model::Wake& w) {
        auto* m = out.mutable_wake();
        set_stamp(m->mutable_stamp(), w.stamp);
        m->set_pid(w.pid);
        m->set_waker_pid(w.waker_pid);
        m->set_source(static_cast<WakeSource>(w.source));
        m->mutable_timer()->set_soft_expiry_ns(w.timer->soft_expiry_ns);
        m->mutable_timer()->set_fired_ns(w.timer->fired_ns);
    }
    void operator()(const model::Switch& s) {
        auto* m = out.mutable_switch_();
        set_stamp(m->mutable_stamp(), s.stamp);
        m->set_prev_pid(s.prev_pid);
        m->set_next_pid(s.next_pid);
        m->set_prev_state(s.prev_state);
        m->set_preempted(s.preempted);
    }
    void operator()(const model::Task& t) {
        auto* m = out.mutable_task();
        set_stamp(m->mutable_stamp(), t.stamp);
        m->set_pid(t.pid);
        m->set_tgid(t.tgid);
        m->set_start_ns(t.start_ns);
        m->set_comm(t.comm.data(), t.comm.size());
    }
    void operator()(const model::Swap& s) {
        auto* m = out.mutable_swap();
        set_stamp(m->mutable_stamp(), s.stamp);
        m->set_old_arm(s.old_arm);
        m->set_reason(static_cast<SwapReason>(s.reason));
        m->set_requested_ns(s.requested_ns);
        m->set_delayed_in_flight(s.delayed_in_flight);
    }
    void operator()(const model::Marker& k) {
        auto* m = out.mutable_marker();
        set_stamp(m->mutable_stamp(), k.stamp);
        m->set_id(k.id);
        m->set_value(k.value);
    }
    template <typename Other>
    void operator()(const Other&) {
        FAIL() << "the made-up machine writes no such record";
    }
};

class RunDirectory : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "fairswitch_run_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        dir_ = pattern;
    }
    void TearDown() override { fs::remove_all(dir_); }

    void write(const Stream& s, const std::string& ended) {
        Header header;
        header.set_kernel_release("6.12-test");
        Arm* arm = header.add_arms();
        arm->set_id(1);
        arm->set_name("dequeue-delayed");
        LogWriter log(dir_ + "/run.fsl", header);
        for (const model::Record& record : s.records) {
            Record out;
            std::visit(ToProto{out}, record);
            log.append(out);
        }
        log.close(End());
        std::ofstream measure(dir_ + "/measure.txt");
        for (const CyclicSample& sample : s.samples)
            measure << fmt::format("{:8}:{:8}:{:8}\n", sample.thread, sample.cycle,
                                   sample.latency_ns / 1000);
        Experiment plan;
        plan.set_ended(ended);
        plan.set_measure_command("cyclictest -i 2777 -v --policy=fair");
        for (uint32_t id : {0u, 1u}) {
            ExperimentArm* plan_arm = plan.add_arms();
            plan_arm->set_id(id);
            plan_arm->set_name(id ? "dequeue-delayed" : "stock");
        }
        for (uint32_t b = 0; b < 24; ++b) {
            ExperimentBlock* block = plan.add_blocks();
            block->set_number(b);
            block->set_round(b / 2);
            block->set_arm((b + b / 2) % 2);
            // As experiment() lays them out: 5 periods of guard, 60 measured.
            block->set_begin_ns(kStart + (b * 65 + 5) * kInterval - 1000);
            block->set_end_ns(kStart + (b * 65 + 65) * kInterval - 1000);
            block->set_switches(1234 * 60 * kInterval / 1'000'000'000);
        }
        write_plan(dir_ + "/plan.textproto", plan);
    }

    std::string dir_;
};

TEST_F(RunDirectory, ReportIsRebuiltFromFiles) {
    write(experiment(), "complete");
    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 5);
    const std::string table = run.table_text();
    EXPECT_EQ(table.find("!!"), std::string::npos) << table;
    EXPECT_NE(table.find("dequeue-delayed"), std::string::npos);
    EXPECT_NE(table.find("Context switches/s                   1230       1230"), std::string::npos)
        << table;
    EXPECT_NE(table.find("knows no policy 'fair'"), std::string::npos);
    EXPECT_EQ(run.joined().count(Fate::kUsed), 24u * 60);
    const std::string stories = run.worst_text();
    EXPECT_EQ(stories.rfind("72 samples above 1 ms, 72 explained, 0 not. The 5 most late:", 0), 0u)
        << stories;
    EXPECT_NE(stories.find("#5 "), std::string::npos);
}

TEST_F(RunDirectory, PlanKnowsItsBlocksWhenMarksAreLost) {
    Stream s = experiment();
    std::erase_if(s.records, [](const model::Record& record) {
        return std::holds_alternative<model::Marker>(record);
    });
    write(s, "complete");
    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 0);
    EXPECT_EQ(run.joined().count(Fate::kUsed), 24u * 60);
}

TEST_F(RunDirectory, OneSampleByItsCycle) {
    write(experiment(), "complete");
    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 0, SampleId{0, 7});
    EXPECT_NE(run.sample_text({0, 7}).find("cycle 7"), std::string::npos);
    EXPECT_THROW(run.sample_text({0, 999'999}), Failure);
}

TEST_F(RunDirectory, IncompleteRunSaysSoFirst) {
    write(experiment(), "interrupted");
    EXPECT_EQ(
        fairswitch::Run::load(RunFiles::find(dir_), 0).table_text().rfind("!! INCOMPLETE RUN", 0),
        0u);
}

TEST_F(RunDirectory, TruncatedLogSaysSoFirst) {
    write(experiment(), "complete");
    fs::resize_file(dir_ + "/run.fsl", fs::file_size(dir_ + "/run.fsl") - 13);
    EXPECT_EQ(
        fairswitch::Run::load(RunFiles::find(dir_), 0).table_text().rfind("!! LOG NOT WHOLE", 0),
        0u);
}

TEST_F(RunDirectory, TruncatedLogCountsOnlyWhatItCovers) {
    Stream s = experiment();
    // The log ends in the middle of block 10, of arm 1; blocks 11 to 23 are not in it.
    const uint64_t end = kStart + (10 * 65 + 35) * kInterval;
    std::erase_if(s.records, [&](const model::Record& record) {
        return model::stamp_of(record)->time_ns > end;
    });
    write(s, "complete");
    fs::resize_file(dir_ + "/run.fsl", fs::file_size(dir_ + "/run.fsl") - 13);
    const std::string table = fairswitch::Run::load(RunFiles::find(dir_), 0).table_text();
    EXPECT_NE(table.find("!! THE LOG ENDS EARLY: 1 blocks are counted in part, 13 not at all\n"),
              std::string::npos)
        << table;
    // A decision in 2.777 ms, however much of the run is there; the last one's period is cut off.
    EXPECT_NE(table.find("Decisions per second                  360        361"), std::string::npos)
        << table;
    EXPECT_NE(table.find("Blocks, measured seconds           5, 0.8     6, 0.9"), std::string::npos)
        << table;
}

TEST_F(RunDirectory, NamedFileWithoutSamplesIsRefused) {
    write(experiment(), "complete");
    std::ofstream(dir_ + "/passwd") << "root:x:0:0:root:/root:/bin/bash\n";
    try {
        fairswitch::Run::load(RunFiles::find(dir_ + "/run.fsl", dir_ + "/passwd"), 0);
        FAIL() << "a file without samples was taken for cyclictest's output";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_NE(std::string(failure.what()).find("holds no cyclictest sample"),
                  std::string::npos);
    }
}

TEST_F(RunDirectory, LoneLogIsReportedFromItsRecords) {
    write(experiment(), "complete");
    const auto run = fairswitch::Run::load(RunFiles::find(dir_ + "/run.fsl"), 1);
    EXPECT_TRUE(run.joined().from_records);
    EXPECT_NE(run.table_text().find("from records"), std::string::npos);
}

TEST_F(RunDirectory, WrongPathsAreNamed) {
    try {
        RunFiles::find(dir_);
        FAIL() << "an empty directory was taken for a run";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_NE(std::string(failure.what()).find("run.fsl"), std::string::npos);
    }
    EXPECT_THROW(RunFiles::find(dir_ + "/nothing.fsl"), Failure);
    EXPECT_THROW(read_plan(dir_ + "/nothing"), Failure);
}

}  // namespace
}  // namespace fairswitch
