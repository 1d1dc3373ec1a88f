#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "userspace/analysis/diff.h"
#include "userspace/analysis/diff_text.h"
#include "userspace/analysis/runqueue_order.h"
#include "userspace/analysis/same_conditions.h"

namespace fairswitch {
namespace {

constexpr uint64_t kStart = 12'000'000'000;
constexpr size_t kWaiting = 1 << 16;

model::Entity entity(uint32_t pid, int64_t lag, uint32_t flags = FSW_ENTITY_ELIGIBLE) {
    model::Entity e;
    e.pid = pid;
    e.flags = flags | FSW_ENTITY_TASK;
    e.slice_ns = 2'800'000;
    e.lag_ns = lag;
    e.deadline_ns = 50'310'000;
    return e;
}

// A made-up recording, of which the tests change a copy.
class Replay {
  public:
    // `count` decisions on each runqueue, in turns; deterministic, no two neighbours alike.
    explicit Replay(size_t count, uint32_t runqueues = 1) {
        for (size_t i = 0; i < count; ++i)
            for (uint32_t cpu = 0; cpu < runqueues; ++cpu) decide(i, cpu);
        number();
    }

    void decide(size_t i, uint32_t cpu) {
        model::Decision d;
        d.stamp.time_ns = kStart + i * 10'000;
        d.stamp.rq_cpu = cpu;
        d.wakee_pid = 100 + static_cast<uint32_t>(i * 7 % 13);
        d.curr_pid = 200 + static_cast<uint32_t>(i * 5 % 11);
        d.path = FSW_PATH_PICK_KEEP;
        d.verdict = FSW_VERDICT_KEEP;
        d.wakee = entity(d.wakee_pid, 1'000'000);
        d.curr = entity(d.curr_pid, -500'000, FSW_ENTITY_PROTECTED);
        d.picked = entity(801, 2'000'000, FSW_ENTITY_DELAYED);
        d.queue.emplace();
        d.queue->avg_vruntime_ns = 50'000'000;
        d.queue->branches = FSW_BRANCH_DELAYED_PICKED;
        records.push_back(d);
    }

    // Gives each record its place on its runqueue, as the kernel does.
    void number() {
        std::map<uint32_t, uint64_t> seq;
        for (model::Record& record : records)
            std::visit(
                [&](auto& kind) {
                    if constexpr (requires { kind.stamp; }) {
                        if (!std::holds_alternative<model::Lost>(record))
                            kind.stamp.seq = ++seq[kind.stamp.rq_cpu] + 40;
                    }
                },
                record);
    }

    model::Decision& decision(size_t index) { return std::get<model::Decision>(records[index]); }

    // From there on everything happens later.
    void delay(size_t from, uint64_t ns) {
        for (size_t i = from; i < records.size(); ++i)
            std::visit(
                [&](auto& kind) {
                    if constexpr (requires { kind.stamp; }) kind.stamp.time_ns += ns;
                },
                records[i]);
    }

    void take_branch(size_t index) {
        model::Decision& d = decision(index);
        d.path = FSW_PATH_PICK_PREEMPT;
        d.verdict = FSW_VERDICT_PREEMPT;
        d.picked = d.wakee;
        d.queue->branches = FSW_BRANCH_DEQUEUE_DELAYED;
        d.stamp.arm = 1;
    }

    RecordSource source() const {
        return [this, at = size_t{0}](model::Record& record) mutable {
            if (at == records.size()) return false;
            record = records[at++];
            return true;
        };
    }

    std::vector<model::Record> records;
};

struct Compared {
    Compared(const Replay& a, const Replay& b, size_t most_waiting = kWaiting) {
        logs[0].survey = survey(a.source(), 1'000'000);
        logs[1].survey = survey(b.source(), 1'000'000);
        logs[0].path = "a.fsl";
        logs[1].path = "b.fsl";
        Arm* arm = logs[1].header.add_arms();
        arm->set_id(1);
        arm->set_name("dequeue-delayed");
        found = diff(a.source(), logs[0].survey, b.source(), logs[1].survey, most_waiting);
    }

    std::string text(const std::vector<std::string>& forced = {}) const {
        const std::string text = diff_text(logs[0], logs[1], found, 1'000'000, forced);
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
        return text;
    }

    DiffLog logs[2];
    Diff found;
};

void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << text;
}

TEST(Diff, EqualRunsDifferNowhere) {
    const Compared c(Replay(3000, 2), Replay(3000, 2));
    EXPECT_EQ(c.found.first(), nullptr);
    EXPECT_EQ(c.found.common, 6000u);
    expect_parts(c.text(), {"no decision differs: 6000 decisions\n",
                            "Skew of the clocks on CPU 0 (B - A): +0 ns throughout"});
}

TEST(Diff, NamesTheFirstDecisionThatDiffersByContent) {
    Replay b(3000, 2);
    b.take_branch(2 * 1234 + 1);
    b.take_branch(2 * 2000);
    const Compared c(Replay(3000, 2), b);
    const RunqueueDiff* first = c.found.first();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->rq_cpu, 1u);
    EXPECT_EQ(first->common, 1234u);
    EXPECT_EQ(first->parting, Parting::kContent);
    EXPECT_EQ(c.found.runqueues[0].common, 2000u);
    EXPECT_EQ(c.found.common, 3234u);
    EXPECT_EQ(parting_cause(c.found, *first), PartingCause::kBranch);
    expect_parts(
        c.text(),
        {"The first decision that differs is number 1235 of CPU 1's runqueue; 1234 in common",
         "* arm       stock                                       dequeue-delayed\n",
         "* path      PICK_KEEP                                   PICK_PREEMPT\n",
         "* verdict   KEEP                                        PREEMPT\n",
         "* branch    the pick is delayed                         dequeued a delayed pick, picked",
         "* variant   none                                        dequeue-delayed 1 time\n",
         "  wakee     pid 106                                     pid 106\n",
         "            lag +1.00 ms, slice 2.80 ms, V+310 us",
         "* picked    pid 801                                     pid 106\n",
         "Variants' branches taken before it in A: none\n",
         "Variants' branches taken before it in B: none\n",
         "CPU 0: number 2001 differs, at 12.020000000 s\n",
         "  PICK_KEEP                 3234        2766        2764\n",
         "  PICK_PREEMPT                 0           0           2\n",
         "  all                       3234        2766        2766\n"});
}

TEST(Diff, EachFieldOfTheContentCounts) {
    const Replay a(20);
    const auto differs = [&a](const auto& change) {
        Replay b = a;
        change(b.decision(10));
        const Compared c(a, b);
        return c.found.first() && c.found.first()->common == 10;
    };
    EXPECT_TRUE(differs([](model::Decision& d) { d.wakee_pid = 7; }));
    EXPECT_TRUE(differs([](model::Decision& d) { d.curr_pid = 7; }));
    EXPECT_TRUE(differs([](model::Decision& d) { d.path = FSW_PATH_RESCHED_PENDING; }));
    EXPECT_TRUE(differs([](model::Decision& d) { d.verdict = FSW_VERDICT_PREEMPT; }));
    EXPECT_TRUE(differs([](model::Decision& d) { d.picked->pid = 7; }));
    EXPECT_TRUE(differs([](model::Decision& d) { d.picked->owned_group_id = 7; }));
    EXPECT_TRUE(differs([](model::Decision& d) { d.picked.reset(); }));
    // Numbers shift with the clock and are no content.
    EXPECT_FALSE(differs([](model::Decision& d) { d.wakee->lag_ns += 8; }));
    EXPECT_FALSE(differs([](model::Decision& d) { d.stamp.time_ns += 8; }));
    EXPECT_FALSE(differs([](model::Decision& d) { d.stamp.arm = 1; }));
}

TEST(Diff, ADifferenceWithoutAnyBranchIsOfTheSkew) {
    Replay b(100);
    b.decision(60).path = FSW_PATH_RESCHED_PENDING;
    const Compared c(Replay(100), b);
    ASSERT_NE(c.found.first(), nullptr);
    EXPECT_EQ(parting_cause(c.found, *c.found.first()), PartingCause::kSkew);
    expect_parts(c.text(), {"Its cause is the skew of the clocks, not the arm"});

    // A branch that both sides take, being stock on that kernel, is no cause.
    Replay a(100);
    a.decision(30).queue->branches |= FSW_BRANCH_DEQUEUE_DELAYED;
    b.decision(30).queue->branches |= FSW_BRANCH_DEQUEUE_DELAYED;
    const Compared both(a, b);
    EXPECT_EQ(parting_cause(both.found, *both.found.first()), PartingCause::kSkew);
}

TEST(Diff, ABranchBeforeTheDifferenceIsItsCause) {
    Replay b(100, 2);
    model::Requeue requeue;
    requeue.stamp.time_ns = kStart + 300'000;
    requeue.branches = FSW_LAG_CLOCK_UPDATED;
    b.records.insert(b.records.begin() + 60, requeue);  // on CPU 0
    b.decision(2 * 60 + 2).path = FSW_PATH_RESCHED_PENDING;
    b.number();
    const Compared c(Replay(100, 2), b);
    ASSERT_NE(c.found.first(), nullptr);
    EXPECT_EQ(c.found.first()->rq_cpu, 1u);
    EXPECT_EQ(parting_cause(c.found, *c.found.first()), PartingCause::kEarlierBranch);
    expect_parts(c.text(), {"Its cause lies before it"});
}

TEST(Diff, AFilteredLogIsCalledAPart) {
    Compared c(Replay(50), Replay(50));
    c.logs[0].header.mutable_filter()->set_sample(100);
    EXPECT_EQ(c.text().rfind("!! A HOLDS ONLY A PART, filtered: ", 0), 0u) << c.text();
}

TEST(Diff, BriefDecisionsAreCounted) {
    Replay a(3);
    a.records.push_back(model::Brief{});
    EXPECT_EQ(survey(a.source(), 0).briefs, 1u);
}

TEST(Diff, OrderIsContent) {
    Replay b(40);
    std::swap(b.records[20], b.records[21]);
    b.number();
    const Compared c(Replay(40), b);
    ASSERT_NE(c.found.first(), nullptr);
    EXPECT_EQ(c.found.first()->common, 20u);
}

TEST(Diff, TellsADecisionThatOneSideLacks) {
    Replay b(200);
    b.records.erase(b.records.begin() + 100, b.records.begin() + 102);
    b.number();
    const Compared c(Replay(200), b);
    ASSERT_NE(c.found.first(), nullptr);
    EXPECT_EQ(c.found.first()->common, 100u);
    EXPECT_EQ(c.found.first()->parting, Parting::kMissingInB);
    EXPECT_EQ(c.found.first()->missing, 2u);
    expect_parts(c.text(), {"B lacks 2 decisions that A made; the next ones are equal again."});
    const Compared other(b, Replay(200));
    EXPECT_EQ(other.found.first()->parting, Parting::kMissingInA);
    expect_parts(other.text(), {"A lacks 2 decisions that B made"});
}

TEST(Diff, RecordingsMayBeginAndEndAtOtherDecisions) {
    Replay b(200);
    b.records.erase(b.records.begin(), b.records.begin() + 3);
    b.records.resize(150);
    b.number();
    const Compared c(Replay(200), b);
    EXPECT_EQ(c.found.first(), nullptr);
    expect_parts(c.text(), {"no decision differs: 150 decisions\n", "CPU 0: A began 3 decisions",
                            "CPU 0: A goes on for 47 decisions\n"});
}

TEST(Diff, ARunqueueThatOneSideHasNotIsNoDifference) {
    const Compared c(Replay(5000, 2), Replay(5000, 1));
    EXPECT_EQ(c.found.first(), nullptr);
    expect_parts(c.text(), {"CPU 1: A goes on for 5000 decisions"});
}

TEST(Diff, TellsHowTheSkewGrew) {
    Replay b(2000);
    b.delay(0, 16);
    b.delay(50, 8);
    b.delay(500, 1000);
    b.take_branch(1500);
    const Compared c(Replay(2000), b);
    ASSERT_NE(c.found.first(), nullptr);
    const Skew& skew = c.found.first()->skew;
    EXPECT_EQ(skew.changes, 2u);
    EXPECT_EQ(skew.first_change, 51u);
    EXPECT_EQ(skew.first_step_ns, 8);
    EXPECT_EQ(skew.last_ns, 1024);
    expect_parts(c.text(), {"Skew of the clocks on CPU 0 (B - A): +16 ns at 1, +16 ns at 10, "
                            "+24 ns at 100, +1.0 us at 1000,",
                            "it changed 2 times, first at decision 51, by +8 ns",
                            "12.015001024 s (+1.0 us)"});
}

// Records stand in a log in the order in which rings were read.
TEST(Diff, OrderOfTheLogDoesNotMatter) {
    Replay b(4000, 2);
    std::mt19937 random(1);
    for (size_t i = 0; i + 500 <= b.records.size(); i += 500)
        std::shuffle(b.records.begin() + static_cast<std::ptrdiff_t>(i),
                     b.records.begin() + static_cast<std::ptrdiff_t>(i + 500), random);
    const Compared c(Replay(4000, 2), b);
    EXPECT_EQ(c.found.first(), nullptr);
    EXPECT_EQ(c.found.common, 8000u);
}

TEST(Diff, LossesAreSaidFirst) {
    Replay b(200);
    b.take_branch(150);
    b.records.erase(b.records.begin() + 100);
    model::Lost lost;
    lost.stamp.time_ns = kStart + 1'010'000;
    lost.first_ns = lost.last_ns = kStart + 1'000'000;
    lost.decisions = 1;
    b.records.insert(b.records.begin() + 110, lost);
    const Compared c(Replay(200), b, 20);
    ASSERT_NE(c.found.first(), nullptr);
    EXPECT_EQ(c.found.first()->common, 100u);
    EXPECT_EQ(c.text().rfind("!! B: 1 RECORD LOST WITHIN WHAT IS COMPARED", 0), 0u) << c.text();
    // What was lost behind the difference is no reason to doubt it.
    b.take_branch(50);
    EXPECT_EQ(Compared(Replay(200), b, 20).text().rfind("A  a.fsl", 0), 0u);
}

TEST(Diff, BranchesThatShowInNoDecisionAreCountedBeforeIt) {
    Replay b(100);
    model::Requeue requeue;
    requeue.stamp.time_ns = kStart + 300'000;
    requeue.branches = FSW_LAG_CLOCK_UPDATED;
    b.records.insert(b.records.begin() + 30, requeue);
    b.records.insert(b.records.begin() + 61, requeue);
    b.number();
    b.take_branch(62);
    const Compared c(Replay(100), b);
    ASSERT_NE(c.found.first(), nullptr);
    EXPECT_EQ(c.found.first()->common, 60u);
    expect_parts(c.text(), {"before it in B: requeue-clock 1 time; first by decision 31\n",
                            "dequeue-delayed 1 time, requeue-clock 1"});
}

TEST(Diff, FirstLateWakeupOfEitherSide) {
    const auto with_period = [](Replay replay, uint64_t latency_ns) {
        for (uint64_t i = 0; i < 5; ++i) {
            model::Wake wake;
            wake.pid = 88;
            wake.stamp.time_ns = kStart + i * 5'000'000 + 60'000;
            wake.source = FSW_WAKE_TIMER;
            wake.timer = model::Timer{kStart + i * 5'000'000, kStart + i * 5'000'000,
                                      wake.stamp.time_ns, 0, 1};
            model::Switch in;
            in.next_pid = 88;
            in.stamp.time_ns = kStart + i * 5'000'000 + (i >= 3 ? latency_ns : 70'000);
            // The switch can stand before the wakeup, being from another ring.
            replay.records.push_back(in);
            replay.records.push_back(wake);
            in.stamp.time_ns += 1000;
            replay.records.push_back(in);
        }
        return replay;
    };
    // The very first switch stands before anything is known of the thread.
    const Compared c(with_period(Replay(20), 90'000), with_period(Replay(20), 2'310'000));
    EXPECT_EQ(c.logs[0].survey.late, 0u);
    EXPECT_EQ(c.logs[1].survey.late, 2u);
    expect_parts(c.text(),
                 {"First wakeup later than 1.00 ms:\n  A: none (of all 5 wakeups, 0 are)\n",
                  "  B: pid 88 at 12.015000000 s, 2.31 ms late (of all 5 wakeups, 2 are)\n"});

    // One that both sides have is no consequence; one that still waits where they part can be.
    Replay branched(3000);
    branched.take_branch(1800);  // at 12.018 s
    const Compared parted(with_period(Replay(3000), 2'310'000), with_period(branched, 2'310'000));
    expect_parts(parted.text(), {"First wakeup later than 1.00 ms, from there on:\n",
                                 "  A: pid 88 at 12.020000000 s, 2.31 ms late"});
    branched = Replay(3000);
    branched.take_branch(1600);
    const Compared waiting(with_period(Replay(3000), 2'310'000), with_period(branched, 2'310'000));
    expect_parts(waiting.text(), {"  B: pid 88 at 12.015000000 s, 2.31 ms late"});
}

TEST(Diff, WhollyOtherPidsAreNoReplay) {
    const Replay a(50);
    Replay b = a;
    for (model::Record& record : b.records) std::get<model::Decision>(record).wakee_pid += 1000;
    EXPECT_EQ(same_pids(survey(a.source(), 0), survey(a.source(), 0)), SamePids::kAll);
    EXPECT_EQ(same_pids(survey(a.source(), 0), survey(b.source(), 0)), SamePids::kNone);
}

TEST(Diff, ABrokenLogIsToldFromOneWithLosses) {
    Compared c(Replay(50), Replay(50));
    EXPECT_FALSE(c.logs[1].broken());
    c.logs[1].validity.add(Badness::kLost, 3);
    c.logs[1].validity.add(Badness::kSequenceGap, 3);
    EXPECT_FALSE(c.logs[1].broken());
    c.logs[1].validity.add(Badness::kTornTail, 17);
    EXPECT_TRUE(c.logs[1].broken());
    EXPECT_EQ(c.text().rfind("!! B IS BROKEN: ", 0), 0u) << c.text();
}

TEST(Diff, WhatWasForcedIsSaidFirst) {
    const Compared c(Replay(50), Replay(50));
    EXPECT_EQ(c.text({"kernel: 6.12.117 against 7.3.4"})
                  .rfind("!! NOT ONE CONFIGURATION: kernel: 6.12.117 against 7.3.4\n", 0),
              0u);
}

TEST(RunqueueOrder, AGapIsSkippedOnlyWhenTooManyWait) {
    std::vector<uint64_t> out;
    RunqueueOrder order({{0, 5}}, 3, [&](const model::Record& record) {
        out.push_back(model::stamp_of(record)->seq);
    });
    const auto add = [&](uint64_t seq) {
        model::Marker marker;
        marker.stamp.seq = seq;
        order.add(marker);
    };
    for (uint64_t seq : {6, 5, 8, 9, 10}) add(seq);
    EXPECT_EQ(out, (std::vector<uint64_t>{5, 6}));
    add(11);
    EXPECT_EQ(out, (std::vector<uint64_t>{5, 6, 8, 9, 10, 11}));
    EXPECT_EQ(order.skipped(0), 1u);
    add(14);
    order.finish();
    EXPECT_EQ(out.back(), 14u);
    EXPECT_EQ(order.skipped(0), 3u);
}

TEST(SameConditions, ArmsAndOutputsAreFree) {
    Header a;
    a.set_kernel_release("6.12.117");
    a.set_command("fairswitch record -o a.fsl --arm stock --duration 2 -- hackbench --arm x");
    a.set_graft("module_bytes: 7\nelapsed_ns: 1\n");
    Header b = a;
    b.set_command("fairswitch record --arm=lag-clamp -o b.fsl --duration 2 -- hackbench --arm x");
    b.set_graft("module_bytes: 7\nelapsed_ns: 2\n");
    b.set_boot_id("another");
    EXPECT_TRUE(differing_conditions(a, b).empty());

    b.set_command("fairswitch record -o b.fsl --duration 2 -- hackbench --arm y");
    b.set_kernel_release("7.3.4");
    Setting* setting = b.add_settings();
    setting->set_name("base_slice_ns");
    setting->set_value("3000000");
    const auto lines = differing_conditions(a, b);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0], "kernel: 6.12.117 against 7.3.4");
    EXPECT_NE(lines[1].find("--arm x against ..."), std::string::npos) << lines[1];
    EXPECT_EQ(lines[2], "base_slice_ns: nothing against 3000000");
}

}  // namespace
}  // namespace fairswitch
