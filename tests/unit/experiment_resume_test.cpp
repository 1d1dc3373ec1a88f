#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <fstream>
#include <random>

#include "tests/unit/scratch_folder.h"
#include "userspace/analysis/schedule.h"
#include "userspace/base/failure.h"
#include "userspace/experiment/journal.h"
#include "userspace/experiment/resume.h"

namespace fairswitch {
namespace {
namespace fs = std::filesystem;

constexpr size_t kArms = 3;
constexpr size_t kRounds = 12;

class Resume : public ::testing::Test {
  protected:
    std::string plan_file() const { return dir_ + "/plan.textproto"; }

    // As the runner keeps its plan: what was measured of round n is in it once the round is over.
    // Each block also leaves a line, which is there even if its round isn't over.
    void measure(uint64_t seed) const {
        Experiment done;
        if (fs::exists(plan_file())) done = read_plan(plan_file());
        const uint32_t first =
            done.parts_size() ? done.parts().rbegin()->first_round() : 0;
        keep_whole_rounds(done, kArms, first, ~0ull);
        done.add_parts()->set_first_round(rounds_done(done));
        write_plan(plan_file(), done);
        const auto order = draw_order(kArms, kRounds, seed);
        for (uint32_t round = rounds_done(done); round < kRounds; ++round) {
            for (const size_t arm : order[round]) {
                ExperimentBlock* block = done.add_blocks();
                block->set_number(static_cast<uint64_t>(done.blocks_size()) - 1);
                block->set_round(round);
                block->set_arm(static_cast<uint32_t>(arm));
                block->set_end_ns(1);
                std::ofstream(dir_ + "/blocks", std::ios::app)
                    << round << " " << arm << " " << getpid() << "\n";
                usleep(200);
            }
            write_plan(plan_file(), done);
        }
        done.set_ended("complete");
        write_plan(plan_file(), done);
    }

    // In a child that is killed after so many microseconds. True: it came to its end before.
    bool measure_and_kill(uint64_t seed, useconds_t after_us) const {
        const pid_t child = fork();
        if (child == 0) {
            measure(seed);
            _exit(0);
        }
        usleep(after_us);
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    const testing::ScratchFolder folder_;
    const std::string dir_ = folder_.path();
};

// Who measured the blocks of a round: the last process that began it measured all of them.
void expect_rounds_in_one_go(const std::string& file) {
    std::ifstream in(file);
    std::map<uint32_t, std::vector<pid_t>> by_round;
    uint32_t round = 0, arm = 0;
    for (pid_t pid = 0; in >> round >> arm >> pid;) by_round[round].push_back(pid);
    ASSERT_EQ(by_round.size(), kRounds);
    for (const auto& [number, pids] : by_round) {
        ASSERT_GE(pids.size(), kArms);
        for (size_t i = pids.size() - kArms; i < pids.size(); ++i)
            EXPECT_EQ(pids[i], pids.back()) << "round " << number;
    }
}

TEST_F(Resume, KilledAtRandomMomentsItComesToTheSameSchedule) {
    int kills = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        fs::remove(plan_file());
        fs::remove(dir_ + "/blocks");
        int attempts = 0;
        // Each attempt gets further, so that it ends.
        while (!measure_and_kill(seed, 500 + random() % 6000 + 1000 * attempts)) ++attempts;
        kills += attempts;
        const Experiment done = read_plan(plan_file());
        ASSERT_EQ(done.blocks_size(), static_cast<int>(kArms * kRounds));
        const auto order = draw_order(kArms, kRounds, seed);
        for (int i = 0; i < done.blocks_size(); ++i) {
            const auto n = static_cast<size_t>(i);
            EXPECT_EQ(done.blocks(i).round(), n / kArms);
            EXPECT_EQ(done.blocks(i).arm(), order[n / kArms][n % kArms]);
            EXPECT_EQ(done.blocks(i).number(), n);
        }
        expect_rounds_in_one_go(dir_ + "/blocks");
    }
    EXPECT_GT(kills, 8) << "hardly anything was killed";
}

Experiment three_rounds() {
    Experiment done;
    for (uint32_t i = 0; i < 6; ++i) {
        ExperimentBlock* block = done.add_blocks();
        block->set_round(i / 2);
        block->set_arm(i % 2);
        block->set_end_ns(100 * (i + 1));
    }
    return done;
}

TEST_F(Resume, ARoundCountsOnceItsDataAreWhole) {
    const auto rounds = [](uint32_t first, uint64_t until) {
        Experiment done = three_rounds();
        keep_whole_rounds(done, 2, first, until);
        EXPECT_EQ(done.blocks_size() % 2, 0);
        return rounds_done(done);
    };
    EXPECT_EQ(rounds(0, 600), 3u);
    EXPECT_EQ(rounds(0, 599), 2u);  // the last block's end isn't in the files
    EXPECT_EQ(rounds(0, 399), 1u);
    EXPECT_EQ(rounds(0, 0), 0u);
    EXPECT_EQ(rounds(2, 0), 2u);  // nothing of the second part counts, all of the first does
    Experiment part = three_rounds();
    part.mutable_blocks()->RemoveLast();
    keep_whole_rounds(part, 2, 0, 600);
    EXPECT_EQ(rounds_done(part), 2u);
}

std::string refusal(const std::function<void()>& act, Exit exit) {
    try {
        act();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), exit);
        return failure.what();
    }
    return "accepted";
}

TEST_F(Resume, RefusesWhatItCannotGoOnWith) {
    Plan saved, asked;
    saved.set_rounds(10);
    asked.set_rounds(12);
    EXPECT_NE(refusal([&] { check_resumable(dir_, saved, asked); }, Exit::kUsage)
                  .find("another plan (modified: rounds: 10 -> 12)"),
              std::string::npos);
    EXPECT_EQ(refusal([&] { check_resumable(dir_, saved, saved); }, Exit::kUsage), "accepted");
    Experiment done;
    done.set_ended("complete");
    done.set_stop_reason("all 10 rounds were run");
    write_plan(plan_file(), done);
    EXPECT_NE(refusal([&] { check_resumable(dir_, saved, saved); }, Exit::kUsage)
                  .find("is complete (all 10 rounds were run)"),
              std::string::npos);
    done.set_ended("interrupted");
    done.add_looks()->set_alpha(0.05);
    write_plan(plan_file(), done);
    EXPECT_NE(refusal([&] { check_resumable(dir_, saved, saved); }, Exit::kUsage)
                  .find("ended by its user"),
              std::string::npos);
    done.mutable_looks(0)->set_alpha(0.03);  // a watched run keeps a share
    write_plan(plan_file(), done);
    EXPECT_EQ(refusal([&] { check_resumable(dir_, saved, saved); }, Exit::kUsage), "accepted");
}

TEST_F(Resume, OnlyInTheSameBootOfTheSameKernel) {
    Header then;
    then.set_kernel_release("6.12.1");
    then.set_boot_id("a");
    then.add_variants()->set_id("lag-clamp");
    Header now = then;
    const auto said = [&] {
        return refusal([&] { check_same_boot("run1", then, now); }, Exit::kImpossible);
    };
    EXPECT_EQ(said(), "accepted");
    now.set_boot_id("b");
    EXPECT_EQ(said(), "run1 can't be resumed here: its boot was 'a', and is 'b' now; begin a new run");
    now.set_kernel_release("7.2");
    EXPECT_NE(said().find("its kernel was '6.12.1', and is '7.2' now"), std::string::npos);
    now = then;
    now.mutable_variants(0)->set_id("short-buddy");
    EXPECT_NE(said().find("list of variants was 'lag-clamp'"), std::string::npos);
}

TEST_F(Resume, JournalPutsBackWhatAKilledRunChanged) {
    const std::string file = dir_ + "/changed", value = dir_ + "/value", group = dir_ + "/group";
    const pid_t child = fork();
    if (child == 0) {
        auto* journal = new Journal(file);  // killed: never destroyed
        journal->will_write(value, "first");
        journal->will_write(value, "second");
        journal->will_make(group);
        fs::create_directory(group);
        std::ofstream(value) << "changed";
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    {
        Journal journal(file);
        EXPECT_EQ(journal.put_back().size(), 3u);
        EXPECT_FALSE(fs::exists(group));
        std::string text;
        std::ifstream(value) >> text;
        EXPECT_EQ(text, "first") << "the oldest value is what was found";
        EXPECT_TRUE(journal.put_back().empty());
        journal.will_write(value, "x");
        EXPECT_TRUE(fs::exists(file));
    }
    EXPECT_FALSE(fs::exists(file)) << "a run that ended has put everything back";
}

TEST_F(Resume, EndsOnlyTheProgramsOfItsRun) {
    const auto start = [](const char* run) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("FAIRSWITCH_RUN", run, 1);
            execlp("sleep", "sleep", "60", nullptr);
            _exit(127);
        }
        return child;
    };
    const pid_t ours = start(dir_.c_str()), other = start((dir_ + "x").c_str());
    size_t killed = 0;
    for (int attempt = 0; attempt < 100 && killed == 0; ++attempt) {
        killed = end_left_behind(dir_);  // it may not have executed yet
        usleep(10'000);
    }
    EXPECT_EQ(killed, 1u);
    int status = 0;
    EXPECT_EQ(waitpid(ours, &status, 0), ours);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(waitpid(other, &status, WNOHANG), 0) << "another run's program was ended";
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace fairswitch
