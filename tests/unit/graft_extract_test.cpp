// Taking functions out of an object, and comparing functions between objects.
#include "tests/unit/graft_support.h"
#include "userspace/graft/extract.h"
#include "userspace/graft/function_diff.h"

namespace fairswitch {
namespace {

using testing::compile_c;
using testing::Compiled;
using testing::failure_of;
using testing::ScratchFolder;

constexpr const char* kCode = R"(
extern unsigned long fsw_gates;
extern void print(const char *);
static int tunable = 5;
static int __attribute__((noinline)) helper(int x) { return x * tunable; }
static int __attribute__((noinline)) other(int x) { return helper(x) - 7; }
int patched(int x)
{
	static int __already_done;
	if (fsw_gates & 1)
		return other(x);
	if (!__already_done) {
		__already_done = 1;
		print("once");
	}
	return helper(x) + tunable;
}
int untouched(int x) { return other(x); }
void tune(int x) { tunable = x; }
)";

Extract take(const Compiled& compiled, const std::set<std::string>& kernel_functions,
             const std::string& kernel_data = "ffffffff82000000 d tunable\n") {
    const auto kallsyms = Kallsyms::parse("ffffffff81000000 T _text\n" + kernel_data, "test");
    return extract({compiled.object,
                    compiled.locals,
                    {"patched"},
                    [&](const std::string& name) { return kernel_functions.count(name) != 0; },
                    kallsyms});
}

bool is_undefined(const Object& object, const std::string& name) {
    const auto symbol = object.find_symbol(name);
    return symbol && object.symbols[*symbol].is_undefined();
}

TEST(ExtractTest, BindsTheKernelsFunctionsAndVariables) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", kCode);
    const auto taken = take(compiled, {"helper", "other"});
    EXPECT_TRUE(is_undefined(taken.object, "helper"));
    EXPECT_TRUE(is_undefined(taken.object, "other"));
    EXPECT_TRUE(is_undefined(taken.object, "tunable")) << "a copy would have its own value";
    EXPECT_TRUE(is_undefined(taken.object, "fsw_gates"));
    EXPECT_FALSE(taken.object.find_symbol("untouched"));
    EXPECT_TRUE(taken.copied_functions.empty());
    const auto patched = taken.object.find_symbol("patched");
    ASSERT_TRUE(patched);
    EXPECT_EQ(taken.object.symbols[*patched].bind, STB_GLOBAL);
}

TEST(ExtractTest, CodeIsTheCompilersByteForByte) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", kCode);
    const auto taken = take(compiled, {"helper"});
    taken.object.write(folder / "graft.o");
    const auto before = code_texts(compiled.object, "before");
    const auto after = code_texts(Object::read(folder / "graft.o"), "after");
    EXPECT_EQ(before.at("patched"), after.at("patched"));
    EXPECT_EQ(before.at("other"), after.at("other"));
}

TEST(ExtractTest, CopiesWhatTheKernelDoesNotHave) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", kCode);
    const auto taken = take(compiled, {"helper"});
    ASSERT_EQ(taken.copied_functions, std::vector<std::string>{"other"});
    EXPECT_TRUE(is_undefined(taken.object, "helper")) << "called by the copied function";
    const auto other = taken.object.find_symbol("other");
    ASSERT_TRUE(other);
    EXPECT_EQ(taken.object.symbols[*other].bind, STB_LOCAL);
}

TEST(ExtractTest, ReportsReferencesToModuleData) {
    ScratchFolder folder;
    const auto taken = take(compile_c(folder, "fair", kCode), {"helper", "other"});
    ASSERT_EQ(taken.module_data.size(), 1U);
    EXPECT_EQ(taken.module_data.front().compare(0, 9, "fsw_gates"), 0);
}

TEST(ExtractTest, VariableThatTheKernelDoesNotNameIsRefused) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", kCode);
    const auto message = failure_of([&] { take(compiled, {"helper", "other"}, ""); });
    EXPECT_NE(message.find("tunable"), std::string::npos) << message;
}

TEST(ExtractTest, AddressOfACopiedFunctionIsRefused) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", R"(
static int __attribute__((noinline)) callback(int x) { return x + 1; }
extern void keep(int (*)(int));
int patched(int x) { keep(callback); return x; }
)");
    EXPECT_TRUE(is_undefined(take(compiled, {"callback"}).object, "callback"));
    const auto message = failure_of([&] { take(compiled, {}); });
    EXPECT_NE(message.find("takes the address of callback"), std::string::npos) << message;
}

TEST(ExtractTest, InlinedAwayFunctionIsRefused) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", "int lonely(int x) { return x; }");
    const auto message = failure_of([&] { take(compiled, {}); });
    EXPECT_NE(message.find("inlined this patched function away"), std::string::npos) << message;
}

TEST(FunctionDiffTest, SeesTheCallTargetAndNothingElse) {
    ScratchFolder folder;
    const auto code = [](const char* callee, const char* extra) {
        return fmt::format(
            "extern int f(int); extern int g(int); extern void p(const char *);\n"
            "{}int caller(int x) {{ return {}(x) + 1; }}\n"
            "void printer(void) {{ p(\"text\"); }}\n",
            extra, callee);
    };
    const auto first = function_texts(compile_c(folder, "a", code("f", "")).object, "a");
    // Another function in front moves strings and numbering, and must not count.
    const auto moved = function_texts(
        compile_c(folder, "b", code("f", "void before(void) { p(\"other\"); }\n")).object, "b");
    const auto changed = function_texts(compile_c(folder, "c", code("g", "")).object, "c");
    EXPECT_EQ(differing_functions(first, moved), std::set<std::string>{"before"});
    EXPECT_EQ(differing_functions(first, changed), std::set<std::string>{"caller"});
}

TEST(FunctionDiffTest, GatesAreFoundThroughInlining) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", R"(
extern unsigned long fsw_gates;
static inline int gate(void) { return fsw_gates & 1; }
int with_gate(int x) { return gate() ? x : 0; }
int without(int x) { return x; }
)");
    EXPECT_EQ(functions_with_gates(compiled.object), std::set<std::string>{"with_gate"});
}

TEST(FunctionDiffTest, NamesOfTheCompiler) {
    EXPECT_EQ(without_number("__already_done.3"), "__already_done");
    EXPECT_EQ(without_number("CSWTCH.1805"), "CSWTCH");
    EXPECT_EQ(without_number("entity_lag.isra.0"), "entity_lag.isra.0");
    EXPECT_EQ(without_number("plain"), "plain");
    EXPECT_EQ(owner_of("dequeue_entity.cold"), "dequeue_entity");
    EXPECT_EQ(owner_of("dequeue_entity"), "dequeue_entity");
    EXPECT_TRUE(is_clone("clear_delayed.part.0.constprop.0"));
    EXPECT_FALSE(is_clone("clear_delayed"));
}

TEST(PromoteTest, MakesLocalSymbolsGlobalOnce) {
    std::string assembly =
        "\t.globl\tpublic\n\t.type\tpublic, @function\n"
        "\t.type\thidden, @function\nhidden:\n"
        "\t.local\tstate\n\t.comm\tstate,4,4\n\t.type\tstate, @object\n";
    const auto names = promote_local_symbols(assembly);
    EXPECT_EQ(names, (std::set<std::string>{"hidden", "state"}));
    EXPECT_EQ(assembly.find(".local"), std::string::npos) << assembly;
    EXPECT_NE(assembly.find("\t.globl\thidden\n"), std::string::npos) << assembly;
}

}  // namespace
}  // namespace fairswitch
