// One fuzzer: libFuzzer over the target named at compile time.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/targets.h"

// What libprotobuf has to say about bad bytes would drown the findings.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    google::protobuf::SetLogHandler(nullptr);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const auto& target : fairswitch::fuzz::targets()) {
        if (std::strcmp(target.name, FAIRSWITCH_FUZZ_TARGET) != 0) continue;
        target.run(std::as_bytes(std::span(data, size)));
        return 0;
    }
    std::abort();
}
