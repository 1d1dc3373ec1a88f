// Waiting for a livepatch's transition with a progress line.
#pragma once

#include <chrono>
#include <string>

#include "userspace/device/livepatch.h"
#include "userspace/device/run_control.h"

namespace fairswitch {

struct Transition {
    bool done = false;
    bool interrupted = false;  // by a signal
    double elapsed_s = 0;
    std::string held_up_by;  // tasks, when not done
};

// `verb` begins the progress line, as "loading". A signal ends the wait.
Transition watch_transition(const Livepatch& livepatch, std::chrono::seconds limit,
                            RunControl& control, const std::string& verb);

}  // namespace fairswitch
