// The rows of the table are made from the variants' folders.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "userspace/analysis/branches.h"

namespace fairswitch {
namespace {

TEST(Branches, EachFolderWithABranchHasARow) {
    std::set<std::string> folders;
    for (const auto& entry :
         std::filesystem::directory_iterator(FAIRSWITCH_SOURCE "/module/variants")) {
        if (std::filesystem::exists(entry.path() / "branch.h"))
            folders.insert(entry.path().filename());
    }
    std::set<std::string> rows;
    for (const VariantBranch& branch : variant_branches()) rows.insert(branch.id);
    EXPECT_EQ(rows, folders);
    EXPECT_EQ(rows.size(), variant_branches().size());
}

}  // namespace
}  // namespace fairswitch
