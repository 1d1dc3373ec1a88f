#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "proto/record.pb.h"
#include "tests/unit/analysis_experiment.h"
#include "tests/unit/scratch_folder.h"
#include "userspace/analysis/run.h"
#include "userspace/base/failure.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace test;
namespace fs = std::filesystem;

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
    void write(const Stream& s, const std::string& ended, const End& end = End()) {
        Header header;
        header.set_kernel_release("6.12-test");
        Arm* arm = header.add_arms();
        arm->set_id(1);
        arm->set_name("dequeue-delayed");
        if (filter_.ByteSizeLong() > 0) *header.mutable_filter() = filter_;
        LogWriter log(dir_ + "/run.fsl", header);
        for (const model::Record& record : s.records) {
            Record out;
            std::visit(ToProto{out}, record);
            log.append(out);
        }
        End last = end;
        if (filter_.ByteSizeLong() > 0) last.add_rings()->add_filtered(5);
        log.close(last);
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

    const testing::ScratchFolder folder_;
    const std::string dir_ = folder_.path();
    Filter filter_;
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

TEST_F(RunDirectory, AVoidBlockIsToldAndNotUsed) {
    write(experiment(), "complete");
    Experiment plan = read_plan(dir_ + "/plan.textproto");
    plan.mutable_blocks(3)->set_void_reason("the machine slept");
    plan.mutable_blocks(5)->set_throttles(2);
    plan.set_block_seconds(0.1);
    plan.mutable_blocks(6)->set_steal_ticks(50);
    write_plan(dir_ + "/plan.textproto", plan);
    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 0);
    const std::string table = run.table_text();
    EXPECT_NE(table.find("!! BLOCK 3 OF ROUND 2 IS VOID: the machine slept\n"), std::string::npos)
        << table;
    EXPECT_NE(table.find("!! CPUS WERE SLOWED FOR HEAT in 1 of 24 blocks\n"), std::string::npos)
        << table;
    EXPECT_NE(table.find("!! A HYPERVISOR TOOK 0.5 S OF CPU TIME during the blocks\n"),
              std::string::npos)
        << table;
    EXPECT_EQ(run.joined().count(Fate::kUsed), 23u * 60);
    EXPECT_EQ(run.joined().count(Fate::kGuard) % 60, (24u * 5) % 60) << "its samples are set aside";
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

TEST_F(RunDirectory, AFilteredLogSaysSoFirst) {
    filter_.set_comm("hackbench");
    filter_.set_sample(10);
    write(experiment(), "complete");
    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 1);
    const std::string said = "!! filtered: name hackbench, 1 in 10: counts and rates are of that "
                             "part, 5 records were left out\n";
    EXPECT_NE(run.table_text().find(said), std::string::npos) << run.table_text();
    EXPECT_NE(run.worst_text().find(said), std::string::npos) << run.worst_text();
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

// Joined by `cat`: two boots' clocks must not be taken for one.
TEST_F(RunDirectory, PartsOfALogAreKeptApart) {
    write(experiment(), "complete");
    const std::string log = dir_ + "/run.fsl", joined = dir_ + "/joined.fsl";
    {
        std::ofstream out(joined, std::ios::binary);
        for (int i = 0; i < 2; ++i) out << std::ifstream(log, std::ios::binary).rdbuf();
    }
    RunFiles files = RunFiles::find(joined);
    try {
        fairswitch::Run::load(files, 0);
        FAIL() << "two recordings were taken for one";
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        const std::string told = failure.what();
        EXPECT_NE(told.find("holds 2 recordings"), std::string::npos) << told;
        EXPECT_NE(told.find("\n  2: host "), std::string::npos) << told;
        EXPECT_NE(told.find("--part N"), std::string::npos) << told;
    }
    const std::string alone = fairswitch::Run::load(RunFiles::find(log), 0).table_text();
    for (files.part = 1; files.part <= 2; ++files.part)
        EXPECT_EQ(fairswitch::Run::load(files, 0).table_text(), alone);
    files.part = 3;
    EXPECT_THROW(fairswitch::Run::load(files, 0), Failure);
}

TEST_F(RunDirectory, LossesStandOnTopWithCpuAndTime) {
    Stream s = experiment();
    End end;
    RingBooks& books = *end.add_rings();
    books.set_cpu(5);
    for (int kind = 0; kind < 3; ++kind) books.add_dropped(kind == 2 ? 77 : 0);
    write(s, "complete", end);
    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 1);
    EXPECT_EQ(run.table_text().rfind("!! 77 RECORDS LOST", 0), 0u);
    EXPECT_NE(run.table_text().find("!! CPU 5: 77 decisions lost at the end"), std::string::npos);
    EXPECT_NE(run.worst_text().find("!! CPU 5: 77 decisions lost at the end"), std::string::npos);
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

// Killed in the middle of a round and resumed: another process with other pids, whose output
// counts its threads and cycles from 0 again.
TEST_F(RunDirectory, ResumedPartsAreReadAsOneRun) {
    Stream all = experiment();
    const uint64_t border = kStart + 12 * 65 * kInterval - 600'000;
    Stream first, second;
    first.records.clear();
    second.records.clear();
    for (const model::Record& record : all.records) {
        const uint64_t time = model::stamp_of(record)->time_ns;
        if (time < border) {
            first.records.push_back(record);
            continue;
        }
        model::Record moved = record;
        if (auto* wake = std::get_if<model::Wake>(&moved)) wake->pid += 1000;
        if (auto* change = std::get_if<model::Switch>(&moved)) {
            if (change->prev_pid == kPid) change->prev_pid += 1000;
            if (change->next_pid == kPid) change->next_pid += 1000;
        }
        second.records.push_back(moved);
    }
    second.task(kPid + 1000, kTgid + 1000, "cyclictest", border, border - 1000);
    std::get<model::Task>(second.records.back()).stamp.seq = 0;  // not of a runqueue's order
    for (const CyclicSample& sample : all.samples) {
        const bool late = sample.cycle >= 12 * 65;
        (late ? second : first)
            .samples.push_back({0, sample.cycle - (late ? 12 * 65 : 0), sample.latency_ns});
    }
    write(second, "complete");
    fs::rename(dir_ + "/run.fsl", dir_ + "/run-2.fsl");
    fs::rename(dir_ + "/measure.txt", dir_ + "/measure-2.txt");
    write(first, "complete");
    fs::resize_file(dir_ + "/run.fsl", fs::file_size(dir_ + "/run.fsl") - 13);  // killed
    Experiment plan = read_plan(dir_ + "/plan.textproto");
    plan.add_parts();
    plan.add_parts()->set_first_round(6);
    write_plan(dir_ + "/plan.textproto", plan);

    const auto run = fairswitch::Run::load(RunFiles::find(dir_), 0);
    const std::string table = run.table_text();
    EXPECT_EQ(table.find("!!"), std::string::npos) << table;
    EXPECT_EQ(run.joined().count(Fate::kUsed), 24u * 60);
    EXPECT_EQ(run.joined().count(Fate::kNoRecords), 0u);
    EXPECT_EQ(run.joined().count(Fate::kNoSample), 0u);
    EXPECT_NE(table.find("Note: killed and resumed, in round 7\n"), std::string::npos) << table;
    for (const Period& period : run.joined().periods)
        EXPECT_EQ(period.thread, period.pid == kPid ? 0u : 1u);
    const uint64_t last = kStart + (24 * 65 - 1) * kInterval;
    EXPECT_GE(run.whole_until(), last);
}

TEST_F(RunDirectory, ALookOnTheWayLeavesLessForTheLastTable) {
    write(experiment(), "complete");
    Experiment plan = read_plan(dir_ + "/plan.textproto");
    plan.set_rounds_planned(20);
    plan.set_stop_reason("the interval of P99 is at most 20 % wide");
    plan.add_looks()->set_alpha(0.02);
    plan.mutable_looks(0)->set_rounds(10);
    plan.add_looks()->set_alpha(0.01);
    plan.mutable_looks(1)->set_rounds(12);
    write_plan(dir_ + "/plan.textproto", plan);
    const std::string table = fairswitch::Run::load(RunFiles::find(dir_), 0).table_text();
    EXPECT_NE(table.find("not significant at 1 %"), std::string::npos) << table;
    EXPECT_NE(table.find("ended after 12 of 20 rounds: the interval of P99 is at most 20 % wide"),
              std::string::npos)
        << table;
    plan.clear_stop_reason();
    plan.set_ended("");
    write_plan(dir_ + "/plan.textproto", plan);
    EXPECT_NE(fairswitch::Run::load(RunFiles::find(dir_), 0)
                  .table_text()
                  .find("not significant at 2 %"),
              std::string::npos)
        << "what is left";
}

}  // namespace
}  // namespace fairswitch
