// Small objects of our own for the graft's tests: compiled on the spot by the system's compiler.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/unit/scratch_folder.h"
#include "userspace/base/failure.h"
#include "userspace/graft/compiler.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/process.h"

namespace fairswitch::testing {

inline void must_run(const std::string& command) {
    const auto result = run_shell(command);
    if (result.status != 0) fail(Exit::kRunFailed, "{}\n{}", command, result.output);
}

struct Compiled {
    Object object;
    std::set<std::string> locals;
};

// Compiles C as the graft compiles fair.c: a section each, local symbols made global in between.
inline Compiled compile_c(const ScratchFolder& folder, const std::string& name,
                          const std::string& code) {
    const auto source = folder.put(name + ".c", code).string();
    const auto assembly = (folder / (name + ".s")).string();
    const auto object = (folder / (name + ".o")).string();
    must_run(
        "gcc -O2 -fno-pic -mcmodel=kernel -ffunction-sections -fdata-sections "
        "-fno-asynchronous-unwind-tables -fcf-protection=none -fno-common -S -o " +
        assembly + " " + source);
    Compiled compiled;
    std::string text = read_file(assembly);
    compiled.locals = promote_local_symbols(text);
    write_file(assembly, text);
    must_run("gcc -c -o " + object + " " + assembly);
    compiled.object = Object::read(object);
    return compiled;
}

// What a Failure says when `action` throws one; empty if it doesn't.
template <typename Action>
std::string failure_of(Action action) {
    try {
        action();
    } catch (const Failure& failure) {
        return failure.what();
    }
    return {};
}

// The same for a refusal, which must have the exit code of what can't be had on this kernel.
template <typename Action>
std::string refusal_of(Action action) {
    try {
        action();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kImpossible) << failure.what();
        return failure.what();
    }
    return {};
}

}  // namespace fairswitch::testing
