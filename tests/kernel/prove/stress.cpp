// fairswitch-stress LOG SECONDS SEED: records everything into LOG and swaps 20 times a second, in
// one session, through every assignment of positions: each once in random order, then again in
// another order, and so on. Prints "swaps N" at the end, for the judge of the log.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "userspace/base/failure.h"
#include "userspace/device/device.h"
#include "userspace/device/environment.h"
#include "userspace/device/loaded_graft.h"
#include "userspace/device/recorder.h"

namespace {

using namespace fairswitch;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod(50);
// Below this share of the swaps that fit into the time it was no stress.
constexpr double kLeastShare = 0.9;

// An arm's number tells in what it differs from stock, so 0 is stock.
ArmSpec arm_of(std::uint32_t number, const std::vector<Variant>& variants) {
    ArmSpec arm{.name = "", .positions = number ^ stock_positions(variants)};
    for (const Variant& variant : variants) {
        if ((number & (1u << variant.index)) == 0) continue;
        arm.name += (arm.name.empty() ? "" : "+") + variant.id;
    }
    if (arm.name.empty()) arm.name = "stock";
    return arm;
}

class Stress {
  public:
    explicit Stress(std::uint64_t seed) : session_(Device()), random_(seed) {
        for (std::uint32_t n = 0; n < 1u << session_.device().variants().size(); ++n) {
            arms_.push_back(arm_of(n, session_.device().variants()));
        }
        order_.resize(arms_.size());
        std::iota(order_.begin(), order_.end(), 0);
    }

    void run(const std::string& path, std::chrono::seconds duration) {
        LogWriter log(path, header());
        Recorder recorder(session_, log, all_kinds());
        recorder.start();
        swap_until(Clock::now() + duration, recorder);
        recorder.stop();
        log.close(recorder.end_record("duration is over"));
        report(recorder, duration);
    }

  private:
    Header header() const {
        Header header = describe_machine(session_.device());
        header.set_command("fairswitch-stress");
        header.set_graft(graft_manifest(""));
        for (std::uint32_t n = 0; n < arms_.size(); ++n) add_arm(header, n, arms_[n]);
        return header;
    }

    void swap_until(Clock::time_point end, const Recorder& recorder) {
        for (Clock::time_point due = Clock::now(); due < end && recorder.healthy(); due += kPeriod) {
            std::this_thread::sleep_until(due);
            if (Clock::now() >= end) return;
            swap();
        }
    }

    void swap() {
        const std::size_t turn = swaps_++ % order_.size();
        if (turn == 0) std::shuffle(order_.begin(), order_.end(), random_);
        const std::uint32_t arm = order_[turn];
        const fsw_set set = session_.set(arm, arms_[arm].positions);
        slowest_ns_ = std::max<std::uint64_t>(slowest_ns_, set.end_ns - set.begin_ns);
        in_flight_ += set.delayed_in_flight;
    }

    void report(const Recorder& recorder, std::chrono::seconds duration) const {
        const Recorder::Live live = recorder.live();
        fmt::print("{} records, {} bytes, {} lost; slowest swap {:.1f} us, {} delayed in flight\n",
                   live.records, live.bytes, live.dropped, static_cast<double>(slowest_ns_) / 1e3,
                   in_flight_);
        fmt::print("swaps {}\n", swaps_);
        if (!recorder.violations().empty()) {
            fail(Exit::kRunFailed, "the books don't add up:\n{}", recorder.violations());
        }
        const auto least = static_cast<std::uint64_t>(
            kLeastShare * static_cast<double>(duration / kPeriod));
        if (swaps_ < std::max<std::uint64_t>(least, arms_.size())) {
            fail(Exit::kRunFailed, "{} swaps in {} s; expected {} at least, and each of {} arms",
                 swaps_, duration.count(), least, arms_.size());
        }
    }

    Session session_;
    std::mt19937_64 random_;
    std::vector<ArmSpec> arms_;
    std::vector<std::uint32_t> order_;
    std::uint64_t swaps_ = 0;
    std::uint64_t slowest_ns_ = 0;
    std::uint64_t in_flight_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 4) fail(Exit::kUsage, "usage: fairswitch-stress LOG SECONDS SEED");
        Stress(std::stoull(argv[3])).run(argv[1], std::chrono::seconds(std::stoul(argv[2])));
        return 0;
    } catch (const Failure& failure) {
        fmt::print(stderr, "fairswitch-stress: {}\n", failure.what());
        return static_cast<int>(failure.exit());
    }
}
