// The checks on a finished module: each one must be able to fail.
#include "tests/unit/graft_support.h"
#include "userspace/graft/klp_link.h"
#include "userspace/graft/verify.h"

namespace fairswitch {
namespace {

using testing::compile_c;
using testing::failure_of;
using testing::ScratchFolder;

// A module in one file; `modinfo` is C for the .modinfo strings, `extra` more code.
std::string module_code(const std::string& extra = "", const std::string& livepatch = "livepatch=Y",
                        const std::string& depends = "depends=",
                        const std::string& vermagic = "vermagic=6.12.9-test SMP") {
    const auto info = [](const std::string& name, const std::string& text) {
        return fmt::format(
            "const char {}[] __attribute__((section(\".modinfo\"), used, aligned(1)))"
            " = \"{}\";\n",
            name, text);
    };
    return info("info_a", livepatch) + info("info_b", depends) + info("info_c", vermagic) +
           "extern int hidden(int);\nunsigned long fsw_gates;\n"
           "int patched(int x) { return fsw_gates ? hidden(x) : x * 3; }\n" +
           extra;
}

class VerifyTest : public ::testing::Test {
  protected:
    VerifyTest()
        : kallsyms_(
              Kallsyms::parse("ffffffff81000000 T _text\nffffffff81000100 t hidden\n", "test")) {}

    // What verify says about `code`, built and linked; the gated object is `gated_code`.
    std::string check(const std::string& code, const std::string& gated_code = module_code()) {
        gated_ = compile_c(folder_, "gated", gated_code).object;
        module_ = compile_c(folder_, "module", code).object;
        klp_link(module_, {kallsyms_, {}, {}});
        return verdict();
    }

    std::string verdict() {
        return failure_of([&] {
            compared_ = verify({module_, gated_, {"patched"}, {}, kallsyms_, "6.12.9-test"});
        });
    }

    ScratchFolder folder_;
    Kallsyms kallsyms_;
    Object gated_;
    Object module_;
    size_t compared_ = 0;
};

TEST_F(VerifyTest, GoodModulePasses) {
    EXPECT_EQ(check(module_code()), "");
    EXPECT_EQ(compared_, 1U);
}

TEST_F(VerifyTest, NoLivepatch) {
    EXPECT_NE(check(module_code("", "license=GPL")).find("livepatch"), std::string::npos);
}

TEST_F(VerifyTest, Dependency) {
    EXPECT_NE(check(module_code("", "livepatch=Y", "depends=kvm")).find("depends on kvm"),
              std::string::npos);
}

TEST_F(VerifyTest, OtherKernel) {
    const auto message =
        check(module_code("", "livepatch=Y", "depends=", "vermagic=6.12.90-test SMP"));
    EXPECT_NE(message.find("expected kernel 6.12.9-test"), std::string::npos) << message;
}

TEST_F(VerifyTest, ChangedCode) {
    auto code = module_code();
    code.replace(code.find("x * 3"), 5, "x * 5");
    EXPECT_NE(check(code).find("patched: its code"), std::string::npos);
}

TEST_F(VerifyTest, AddressOfModuleCode) {
    const auto code = module_code(
        "static int own(int x) { return x; }\n"
        "extern int (*fsw_hook)(int);\nint (*fsw_hook)(int);\n"
        "int patched_too(void) { fsw_hook = own; return 0; }\n");
    ASSERT_EQ(check(code, code), "");
    const auto message = failure_of([&] {
        verify({module_, gated_, {"patched", "patched_too"}, {}, kallsyms_, "6.12.9-test"});
    });
    EXPECT_NE(message.find("takes the address of the module's own"), std::string::npos) << message;
}

TEST_F(VerifyTest, UndefinedSymbol) {
    ASSERT_EQ(check(module_code()), "");
    Symbol symbol;
    symbol.name = "nowhere";
    symbol.bind = STB_GLOBAL;
    module_.add_symbol(symbol);
    EXPECT_NE(verdict().find("nowhere"), std::string::npos);
}

TEST_F(VerifyTest, BoundSymbolThatDoesNotResolve) {
    ASSERT_EQ(check(module_code()), "");
    const auto index = module_.find_symbol(".klp.sym.vmlinux.hidden,0");
    ASSERT_TRUE(index);
    module_.symbols[*index].name = ".klp.sym.vmlinux.hidden,2";
    EXPECT_NE(verdict().find("doesn't resolve"), std::string::npos);
}

TEST_F(VerifyTest, RelocationInTheWrongTable) {
    ASSERT_EQ(check(module_code()), "");
    auto& section = module_.sections[*module_.find_section(".text.patched")];
    ASSERT_FALSE(section.livepatch_relocations.empty());
    section.relocations.push_back(section.livepatch_relocations.back());
    section.livepatch_relocations.pop_back();
    EXPECT_NE(verdict().find("is an ordinary one"), std::string::npos);
}

}  // namespace
}  // namespace fairswitch
