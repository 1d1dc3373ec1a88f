// The one error type of user space.
//
// Every failure of a subcommand ends it, so a failure is thrown where it is noticed and caught once,
// in main(), which prints what() and leaves with exit(). RAII releases what was held. The message
// names what was found, what was expected and what to do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace fairswitch {

// Process exit codes, part of the command line's contract.
enum class Exit : int {
    kOk = 0,
    kRunFailed = 1,   // the run started and failed
    kUsage = 2,       // wrong options, unknown arm or variant
    kImpossible = 3,  // this kernel or machine can't do it
};

class Failure : public std::runtime_error {
  public:
    Failure(Exit exit, const std::string& message) : std::runtime_error(message), exit_(exit) {}
    Exit exit() const { return exit_; }

  private:
    Exit exit_;
};

template <typename... Args>
[[noreturn]] void fail(Exit exit, fmt::format_string<Args...> format, Args&&... args) {
    throw Failure(exit, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace fairswitch
