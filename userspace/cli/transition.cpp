#include "userspace/cli/transition.h"

#include <fmt/format.h>

#include "userspace/cli/progress.h"

namespace fairswitch {

Transition watch_transition(const Livepatch& livepatch, std::chrono::seconds limit,
                            RunControl& control, const std::string& verb) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kNameTasksAfter(1);
    Transition result;
    ProgressLine line;
    const auto begin = Clock::now();
    result.done = livepatch.wait(limit, [&](std::chrono::milliseconds elapsed) {
        std::string text = fmt::format("{}: {:.1f} s of at most {} s", verb,
                                       static_cast<double>(elapsed.count()) / 1e3, limit.count());
        // Naming them reads all of /proc; most transitions are over before that.
        if (elapsed >= kNameTasksAfter) text += "; waiting for " + describe(livepatch.hold_ups());
        line.show(text);
        result.interrupted =
            control.wait(std::chrono::milliseconds(0)) == RunControl::Event::kSignal;
        return !result.interrupted;
    });
    result.elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!result.done) result.held_up_by = describe(livepatch.hold_ups());
    return result;
}

}  // namespace fairswitch
