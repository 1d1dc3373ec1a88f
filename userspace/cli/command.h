// A subcommand: one class in one file, listed once in main.cpp.
#pragma once

#include <CLI/CLI.hpp>

namespace fairswitch {

class Command {
  public:
    virtual ~Command() = default;
    // Declares the subcommand, its options and its help on `app`.
    virtual CLI::App* declare(CLI::App& app) = 0;
    // Runs after a successful parse; failures are thrown as Failure. Returns the exit code.
    virtual int run() = 0;
};

}  // namespace fairswitch
