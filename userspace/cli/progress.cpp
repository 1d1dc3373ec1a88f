#include "userspace/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace fairswitch {
namespace {

constexpr std::chrono::seconds kLinePeriod(5);

}  // namespace

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::show(const std::string& text) {
    if (terminal_) {
        fmt::print(stderr, "\r\033[K{}", text);
        shown_ = true;
    } else if (const auto now = std::chrono::steady_clock::now(); now >= next_) {
        fmt::print(stderr, "{}\n", text);
        next_ = now + kLinePeriod;
    }
    std::fflush(stderr);
}

void ProgressLine::finish() {
    if (shown_) fmt::print(stderr, "\n");
    shown_ = false;
}

}  // namespace fairswitch
