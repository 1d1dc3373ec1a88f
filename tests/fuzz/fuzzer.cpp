// One fuzzer: libFuzzer over the target named at compile time.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const auto& target : fairswitch::fuzz::targets()) {
        if (std::strcmp(target.name, FAIRSWITCH_FUZZ_TARGET) != 0) continue;
        target.run(std::as_bytes(std::span(data, size)));
        return 0;
    }
    std::abort();
}
