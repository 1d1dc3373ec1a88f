// Ctrl-C ends an experiment cleanly while an object of these lives.
#pragma once

#include <signal.h>

#include "userspace/experiment/runner.h"

namespace fairswitch {

class InterruptGuard {
  public:
    InterruptGuard() {
        struct sigaction action {};
        action.sa_handler = [](int) { ExperimentRun::interrupt(); };
        sigaction(SIGINT, &action, &old_int_);
        sigaction(SIGTERM, &action, &old_term_);
    }
    ~InterruptGuard() {
        sigaction(SIGINT, &old_int_, nullptr);
        sigaction(SIGTERM, &old_term_, nullptr);
    }
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

  private:
    struct sigaction old_int_ {};
    struct sigaction old_term_ {};
};

}  // namespace fairswitch
