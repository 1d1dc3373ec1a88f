// What the benchmarks' programs have in common.
#pragma once

#include <cstdio>
#include <exception>

namespace fairswitch {

// The body of main(): what ends the program is told under its name, with exit code 1.
inline int run_program(const char* name, int (*run)(int, char**), int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 1;
    }
}

}  // namespace fairswitch
