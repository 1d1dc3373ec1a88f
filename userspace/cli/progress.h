// One line on stderr that tells how a long step is going: rewritten in place on a terminal, else
// written anew every few seconds, so that a log file isn't flooded.
#pragma once

#include <chrono>
#include <string>

namespace fairswitch {

class ProgressLine {
  public:
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(const std::string& text);
    // Ends the line; what is printed next stands on its own.
    void finish();

  private:
    const bool terminal_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace fairswitch
