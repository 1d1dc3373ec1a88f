#include "userspace/experiment/loads.h"

#include <signal.h>

#include <algorithm>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

using Clock = std::chrono::steady_clock;

// A load that ends sooner than this has hardly run: something is wrong with it.
constexpr double kLeastSeconds = 0.2;

// Each load's output has a file of its own.
std::string output_of(const std::string& out, size_t number) {
    return number == 0 ? out + "/load.txt" : fmt::format("{}/load-{}.txt", out, number + 1);
}

}  // namespace

double Loads::Load::running_for() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void Loads::start(size_t number) {
    loads_.resize(number + 1);
    run(number);
}

void Loads::run(size_t number) {
    Load& load = loads_[number];
    load.process =
        std::make_unique<ChildProcess>(program(number).command(), output_of(out_, number));
    place_(*load.process, program(number));
    load.begin = Clock::now();
    load.process->release();
    ++load.runs;
}

void Loads::check() {
    for (size_t i = 0; i < loads_.size(); ++i) check(i);
}

void Loads::check(size_t number) {
    Load& load = loads_[number];
    if (load.process->running()) return;
    const double ran = load.running_for();
    if (load.process->failed() || ran < kLeastSeconds)
        fail(Exit::kRunFailed, "the load ended after {:.2f} s ({}): {}\n{}", ran,
             load.process->outcome(), program(number).command(), load.process->last_words());
    load.seconds += ran;
    run(number);
}

Loads::Ran Loads::stop(std::chrono::milliseconds patience) {
    Ran ran;
    for (Load& load : loads_) {
        if (!load.process) continue;
        load.process->stop(SIGTERM, patience);
        const double last = load.running_for();
        ran.seconds = std::max(ran.seconds, load.seconds + last);
        ran.text += ran.text.empty() ? "" : "; ";
        ran.text += load.runs > 1
                        ? fmt::format("{} complete runs, {:.2f} s each on average, and a part",
                                      load.runs - 1, load.seconds / (load.runs - 1))
                        : fmt::format("ran {:.1f} s without end, stopped", last);
    }
    loads_.clear();
    return ran;
}

}  // namespace fairswitch
