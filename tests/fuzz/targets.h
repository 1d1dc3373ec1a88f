// What the fuzzers run: one function per way that bytes from outside come in.
//
// A target may throw nothing: a Failure, told to people, is what bad bytes should end in, and is
// caught inside. Anything else that goes wrong (a sanitizer's finding, another exception, a broken
// promise) ends the program.
#pragma once

#include <cstddef>
#include <span>

namespace fairswitch::fuzz {

using Input = std::span<const std::byte>;

struct Target {
    const char* name;
    void (*run)(Input input);
};

std::span<const Target> targets();

// In order of the files targets_*.cpp.
void run_log(Input input);             // a log as it stands in a file
void run_packed_log(Input input);      // records, packed here into frames and cut
void run_record(Input input);          // one record, by overlay and by libprotobuf
void run_ring(Input input);            // a hostile producer's page and data
void run_cyclictest(Input input);      // what cyclictest prints
void run_command_line(Input input);    // of cyclictest
void run_arm(Input input);             // an arm's assignment of positions
void run_semantic_patch(Input input);  // a .cocci file's header, and C that it is judged on
void run_kallsyms(Input input);
void run_filter(Input input);  // of the recorder, and a flight recorder's trigger
void run_waker(Input input);   // what `fairswitch waker` prints

}  // namespace fairswitch::fuzz
