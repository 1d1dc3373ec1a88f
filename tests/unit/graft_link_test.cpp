// The ELF model and the livepatch link step, on a small object of our own.
#include <algorithm>

#include "tests/unit/graft_support.h"
#include "userspace/graft/klp_link.h"

namespace fairswitch {
namespace {

using testing::compile_c;
using testing::failure_of;
using testing::must_run;
using testing::ScratchFolder;

constexpr const char* kCode = R"(
extern int hidden_variable;
extern int hidden_call(int);
extern int exported_call(int);
int own_state = 3;
int patched(int x) { return hidden_call(x) + exported_call(x) + hidden_variable + own_state; }
int second(int x) { return hidden_call(x + 1); }
)";

Kallsyms symbols(const std::string& extra = "") {
    return Kallsyms::parse(
        "ffffffff81000000 T _text\n"
        "ffffffff81000100 t hidden_call\n"
        "ffffffff82000000 d hidden_variable\n" +
            extra,
        "test symbols");
}

const Section& section_named(const Object& object, const std::string& name) {
    const auto index = object.find_section(name);
    if (!index) fail(Exit::kRunFailed, "no section {}", name);
    return object.sections[*index];
}

TEST(ObjectTest, SurvivesWritingAndReading) {
    ScratchFolder folder;
    const auto original = compile_c(folder, "small", kCode).object;
    const auto copy = Object::parse(original.serialize(), "copy");
    ASSERT_EQ(original.sections.size(), copy.sections.size());
    for (size_t i = 0; i < original.sections.size(); ++i) {
        EXPECT_EQ(original.sections[i].name, copy.sections[i].name);
        EXPECT_EQ(original.sections[i].bytes, copy.sections[i].bytes);
        ASSERT_EQ(original.sections[i].relocations.size(), copy.sections[i].relocations.size());
        for (size_t r = 0; r < original.sections[i].relocations.size(); ++r) {
            const auto& before = original.sections[i].relocations[r];
            const auto& after = copy.sections[i].relocations[r];
            EXPECT_EQ(before.offset, after.offset);
            EXPECT_EQ(before.addend, after.addend);
            EXPECT_EQ(original.symbols[before.symbol].name, copy.symbols[after.symbol].name);
        }
    }
    original.write(folder / "copy.o");
    must_run("ld -r -o " + (folder / "linked.o").string() + " " + (folder / "copy.o").string());
}

TEST(ObjectTest, TruncatedFileIsNamed) {
    ScratchFolder folder;
    const auto bytes = compile_c(folder, "small", kCode).object.serialize();
    const auto message =
        failure_of([&] { Object::parse(std::string_view(bytes).substr(0, 200), "short.o"); });
    EXPECT_NE(message.find("short.o"), std::string::npos) << message;
    EXPECT_FALSE(failure_of([] { Object::parse("not an object", "text"); }).empty());
}

TEST(KlpLinkTest, UnexportedReferencesBecomeLivepatchRelocations) {
    ScratchFolder folder;
    auto module = compile_c(folder, "small", kCode).object;
    const auto kallsyms = symbols();
    const auto bound = klp_link(module, {kallsyms, {"exported_call"}, {}});
    ASSERT_EQ(bound.size(), 2U);
    module.write(folder / "linked.o");
    const auto linked = Object::read(folder / "linked.o");

    const auto& patched = section_named(linked, ".text.patched");
    ASSERT_EQ(patched.livepatch_relocations.size(), 2U);
    for (const auto& relocation : patched.livepatch_relocations) {
        const auto& symbol = linked.symbols[relocation.symbol];
        EXPECT_EQ(symbol.special, kSectionLivepatch);
        EXPECT_TRUE(symbol.name == ".klp.sym.vmlinux.hidden_call,0" ||
                    symbol.name == ".klp.sym.vmlinux.hidden_variable,0")
            << symbol.name;
    }
    // The exported function and the module's own variable stay with the module loader.
    ASSERT_EQ(patched.relocations.size(), 2U);
    for (const auto& relocation : patched.relocations) {
        const auto& name = linked.symbols[relocation.symbol].name;
        EXPECT_TRUE(name == "exported_call" || name == "own_state") << name;
    }
    EXPECT_EQ(section_named(linked, ".text.second").livepatch_relocations.size(), 1U);

    const auto raw = run_process({"readelf", "-SW", folder / "linked.o"}).output;
    EXPECT_NE(raw.find(".klp.rela.vmlinux..text.patched"), std::string::npos) << raw;
}

TEST(KlpLinkTest, CountsReferences) {
    ScratchFolder folder;
    auto module = compile_c(folder, "small", kCode).object;
    const auto kallsyms = symbols();
    const auto bound = klp_link(module, {kallsyms, {"exported_call"}, {}});
    const auto call = std::find_if(bound.begin(), bound.end(),
                                   [](const auto& one) { return one.name == "hidden_call"; });
    ASSERT_NE(call, bound.end());
    EXPECT_EQ(call->references, 2U);
}

TEST(KlpLinkTest, UnknownSymbolIsRefusedByName) {
    ScratchFolder folder;
    auto module = compile_c(folder, "small", kCode).object;
    const auto kallsyms = symbols();
    const auto message = failure_of([&] { klp_link(module, {kallsyms, {}, {}}); });
    EXPECT_NE(message.find("exported_call"), std::string::npos) << message;
    EXPECT_EQ(message.find("hidden_call"), std::string::npos) << message;
}

TEST(KlpLinkTest, AmbiguousNameNeedsAProvenAddress) {
    ScratchFolder folder;
    const auto kallsyms = symbols("ffffffff81000080 t hidden_call\n");
    auto module = compile_c(folder, "small", kCode).object;
    const auto message = failure_of([&] { klp_link(module, {kallsyms, {"exported_call"}, {}}); });
    EXPECT_NE(message.find("hidden_call: 2 kernel symbols"), std::string::npos) << message;

    auto again = compile_c(folder, "again", kCode).object;
    klp_link(again, {kallsyms, {"exported_call"}, {{"hidden_call", 0xffffffff81000100}}});
    // 0x...80 is the first of that name, 0x...100 the second.
    EXPECT_TRUE(again.find_symbol(".klp.sym.vmlinux.hidden_call,2"));
}

TEST(KlpLinkTest, SymbolNamesAreParsedStrictly) {
    std::string name;
    unsigned position = 0;
    EXPECT_TRUE(parse_klp_symbol(".klp.sym.vmlinux.foo.isra.0,3", name, position));
    EXPECT_EQ(name, "foo.isra.0");
    EXPECT_EQ(position, 3U);
    EXPECT_FALSE(parse_klp_symbol("foo", name, position));
    EXPECT_FALSE(parse_klp_symbol(".klp.sym.vmlinux.foo", name, position));
    EXPECT_FALSE(parse_klp_symbol(".klp.sym.vmlinux.foo,", name, position));
    EXPECT_FALSE(parse_klp_symbol(".klp.sym.vmlinux.,1", name, position));
    EXPECT_FALSE(parse_klp_symbol(".klp.sym.vmlinux.foo,1x", name, position));
}

TEST(KlpLinkTest, OnlyVmlinuxExportsCount) {
    const auto names = parse_module_symvers(
        "0x1\tprintk\tvmlinux\tEXPORT_SYMBOL\t\n"
        "0x2\tkvm_init\tarch/x86/kvm/kvm\tEXPORT_SYMBOL_GPL\t\n");
    EXPECT_EQ(names, std::set<std::string>{"printk"});
}

}  // namespace
}  // namespace fairswitch
