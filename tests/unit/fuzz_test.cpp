// What fuzzers once found, and the inputs that they set out from: each is run without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/fuzz/targets.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;

const fs::path kRegressions = FAIRSWITCH_SOURCE "/tests/fuzz/regressions";

TEST(Fuzz, RegressionsStayFixed) {
    std::set<std::string> known;
    for (const fuzz::Target& target : fuzz::targets()) {
        known.insert(target.name);
        if (!fs::exists(kRegressions / target.name)) continue;
        for (const auto& entry : fs::directory_iterator(kRegressions / target.name)) {
            SCOPED_TRACE(entry.path());
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string input(std::istreambuf_iterator<char>(in), {});
            EXPECT_NO_THROW(target.run(std::as_bytes(std::span(input))));
        }
    }
    for (const auto& entry : fs::directory_iterator(kRegressions)) {
        EXPECT_TRUE(known.contains(entry.path().filename())) << entry.path() << " has no target";
    }
}

TEST(Fuzz, TargetsTakeNothingAtAll) {
    for (const fuzz::Target& target : fuzz::targets())
        EXPECT_NO_THROW(target.run({})) << target.name;
}

}  // namespace
}  // namespace fairswitch
