// Semantic patches: counting gates, choosing a form, and the refusals.
#include "tests/unit/graft_support.h"
#include "userspace/graft/c_scanner.h"
#include "userspace/graft/locate.h"
#include "userspace/graft/variants.h"

namespace fairswitch {
namespace {

using testing::failure_of;
using testing::must_run;
using testing::refusal_of;
using testing::ScratchFolder;

TEST(CScannerTest, FindsCallsInTheirFunctions) {
    const auto calls = find_calls(R"(
#define fsw_macro(x) { x }
static int helper(int a) { return fsw_with(rq, FSW_V_A) ? 1 : 0; }
int two(struct rq *rq, int (*cb)(int))
{
	if (fsw_with(rq_of(cfs_rq), FSW_V_B) && fsw_hygiene (rq)) { return 1; }
	return 0;
}
int table[] = { 1, 2 };
)",
                                  "fsw_");
    ASSERT_EQ(calls.size(), 4U);
    EXPECT_EQ(calls[0].function, "");
    EXPECT_EQ(calls[1].function, "helper");
    EXPECT_EQ(calls[2].function, "two");
    EXPECT_EQ(calls[2].arguments, "rq_of(cfs_rq), FSW_V_B");
    EXPECT_EQ(calls[3].callee, "fsw_hygiene");
}

TEST(CScannerTest, IgnoresCommentsStringsAndLongerNames) {
    const auto calls = find_calls(R"c(
int f(void)
{
	/* fsw_with(rq, A) */
	// fsw_with(rq, B)
	print("fsw_with(rq, C) \" fsw_with(rq, D)", '"', '{');
	not_fsw_with(rq);
	return fsw_with(rq, E);
}
)c",
                                  "fsw_");
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].arguments, "rq, E");
    EXPECT_EQ(calls[0].function, "f");
}

TEST(CScannerTest, BlankingKeepsPositions) {
    const std::string source = "a /* b\n c */ \"d\\\"e\" 'f' 1'000";
    const auto blank = blank_comments_and_strings(source);
    EXPECT_EQ(blank.size(), source.size());
    EXPECT_EQ(blank, "a     \n      \"    \" ' ' 1'000");
}

TEST(CScannerTest, DefinitionIsNotDeclaration) {
    EXPECT_TRUE(defines_function("int f(int x)\n{\n}\n", "f"));
    EXPECT_FALSE(defines_function("int f(int x);\nint g(void) { return f(1); }\n", "f"));
}

TEST(CScannerTest, FunctionsReachFromTheirFirstWordToTheirBrace) {
    const std::string source =
        "int x = f(1);\nDEFINE(a, b);\n#ifdef A /* { */\n"
        "/* about f */\nstatic int\nf(int x)\n{\n\treturn x;\n}\n#else\n"
        "static inline int f(int x) { return 0; }\n#endif\nstruct s { int a; };\nvoid g(void) {}\n";
    std::vector<std::string> texts;
    for (const auto& one : find_functions(source))
        texts.push_back(one.name + ": " + source.substr(one.begin, one.end - one.begin));
    EXPECT_EQ(texts, (std::vector<std::string>{"f: static int\nf(int x)\n{\n\treturn x;\n}",
                                               "f: static inline int f(int x) { return 0; }",
                                               "g: void g(void) {}"}));
}

class TransformerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (run_shell("command -v spatch").status != 0) {
            GTEST_SKIP() << "spatch (Debian package coccinelle) isn't installed";
        }
        folder_.put("module/taps/00-include.cocci",
                    "// expect-include: gates.h\n@@\n@@\n #include \"last.h\"\n"
                    "+#include \"gates.h\"\n");
        put_form("forward", "if (pick(q) == p)",
                 "if (pick(q) == p && !fsw_with(q, FSW_V_PICK_TWICE))");
    }

    void put_form(const std::string& form, const std::string& from, const std::string& to) {
        folder_.put("module/variants/pick-twice/" + form + ".cocci",
                    "// title: picks twice\n// construct: " + from +
                        "\n// expect: check 1\n@@\n@@\n check(...)\n {\n <...\n-" + from + "\n+" +
                        to + "\n return 1;\n ...>\n }\n");
    }

    Transformation transform(const std::string& condition,
                             const std::vector<std::string>& wanted = {}) {
        const auto source = folder_.put("fair.c",
                                        "#include \"last.h\"\n"
                                        "int check(struct q *q, struct e *p)\n{\n\t" +
                                            condition + "\n\t\treturn 1;\n\treturn 0;\n}\n");
        return Transformer(folder_ / "module", folder_ / "work").run(source, wanted);
    }

    ScratchFolder folder_;
};

TEST_F(TransformerTest, ForwardFormMeansStockIsWithout) {
    const auto result = transform("if (pick(q) == p)");
    ASSERT_EQ(result.variants.size(), 1U);
    EXPECT_TRUE(result.variants[0].available()) << result.variants[0].refusal;
    EXPECT_FALSE(result.variants[0].stock_with);
    EXPECT_EQ(result.variants[0].functions, std::vector<std::string>{"check"});
    const auto gated = read_file(result.gated);
    EXPECT_NE(gated.find("fsw_with(q, FSW_V_PICK_TWICE)"), std::string::npos) << gated;
    EXPECT_NE(gated.find("#include \"gates.h\""), std::string::npos) << gated;
}

TEST_F(TransformerTest, ReverseFormMeansStockIsWith) {
    put_form("reverse", "if (pick_twice(q) == p)",
             "if (fsw_with(q, FSW_V_PICK_TWICE) && pick_twice(q) == p)");
    const auto result = transform("if (pick_twice(q) == p)");
    EXPECT_TRUE(result.variants[0].available()) << result.variants[0].refusal;
    EXPECT_TRUE(result.variants[0].stock_with);
}

TEST_F(TransformerTest, RenamedConstructIsRefusedByName) {
    const auto result = transform("if (choose(q) == p)");
    ASSERT_FALSE(result.variants[0].available());
    EXPECT_NE(result.variants[0].refusal.find("if (pick(q) == p)"), std::string::npos)
        << result.variants[0].refusal;
    const auto message = refusal_of([&] { transform("if (choose(q) == p)", {"pick-twice"}); });
    EXPECT_NE(message.find("variant pick-twice can't be had"), std::string::npos) << message;
}

TEST_F(TransformerTest, BothFormsMatchingIsRefused) {
    put_form("reverse", "if (pick(q) == p)", "if (fsw_with(q, FSW_V_PICK_TWICE) || pick(q) == p)");
    const auto result = transform("if (pick(q) == p)");
    ASSERT_FALSE(result.variants[0].available());
    EXPECT_NE(result.variants[0].refusal.find("forward.cocci and reverse.cocci both match"),
              std::string::npos)
        << result.variants[0].refusal;
}

TEST_F(TransformerTest, NothingButTheExpectedFunctionsIsTouched) {
    const std::string head = "#include \"last.h\"\nint other(void)\n{\n\treturn 5;\n}\n\n";
    const std::string tail = "/* behind */\nint odd( void )\n{ if (pick(q) == p) return 1; }\n";
    const auto source = folder_.put("fair.c", head +
                                                  "int check(struct q *q, struct e *p)\n{\n"
                                                  "\tif (pick(q) == p)\n\t\treturn 1;\n"
                                                  "\treturn 0;\n}\n" +
                                                  tail);
    const auto result = Transformer(folder_ / "module", folder_ / "work").run(source, {});
    ASSERT_TRUE(result.variants[0].available()) << result.variants[0].refusal;
    const auto after = read_file(result.variants[0].after);
    EXPECT_EQ(after.compare(0, head.size(), head), 0) << after;
    EXPECT_EQ(after.compare(after.size() - tail.size(), tail.size(), tail), 0) << after;
}

TEST_F(TransformerTest, AddingAFunctionIsAnError) {
    folder_.put("module/variants/helped/forward.cocci",
                "// title: helped\n// construct: return 0;\n// expect: check 1\n@@\n@@\n"
                "+int helper(void) { return 2; }\n"
                " check(...)\n {\n <...\n-return 0;\n"
                "+return fsw_with(q, FSW_V_HELPED) ? helper() : 0;\n ...>\n }\n");
    const auto message = failure_of([&] { transform("if (pick(q) == p)"); });
    EXPECT_NE(message.find("helpers.h"), std::string::npos) << message;
}

TEST_F(TransformerTest, MoreSitesThanExpectedIsNoMatch) {
    const auto result = transform("if (pick(q) == p)\n\t\treturn 1;\n\tif (pick(q) == p)");
    ASSERT_FALSE(result.variants[0].available());
    EXPECT_NE(result.variants[0].refusal.find("2 of 1 gates in check"), std::string::npos)
        << result.variants[0].refusal;
}

TEST_F(TransformerTest, TapThatDoesNotApplyIsFatal) {
    folder_.put("module/taps/10-tap.cocci",
                "// expect: check fsw_tap 1\n@@\n@@\n check(...)\n {\n <...\n+fsw_tap();\n "
                "return 7;\n ...>\n }\n");
    const auto message = refusal_of([&] { transform("if (pick(q) == p)"); });
    EXPECT_NE(message.find("tap 10-tap.cocci"), std::string::npos) << message;
    EXPECT_NE(message.find("0 of 1 fsw_tap in check"), std::string::npos) << message;
}

TEST_F(TransformerTest, AnotherFolderIsAnotherVariant) {
    folder_.put("module/variants/return-two/forward.cocci",
                "// title: returns two\n// construct: return 0;\n// expect: check 1\n@@\n@@\n"
                " check(...)\n {\n <...\n-return 0;\n"
                "+return fsw_with(q, FSW_V_RETURN_TWO) ? 2 : 0;\n ...>\n }\n");
    folder_.put("module/variants/return-two/branch.h", "#error not for the graft\n");
    const auto result = transform("if (pick(q) == p)");
    ASSERT_EQ(result.variants.size(), 2U);
    EXPECT_TRUE(result.variants[0].available()) << result.variants[0].refusal;
    EXPECT_EQ(result.variants[1].id, "return-two");
    EXPECT_TRUE(result.variants[1].available()) << result.variants[1].refusal;
    EXPECT_EQ(result.variants[1].bit, 1U);
    const auto gated = read_file(result.gated);
    EXPECT_NE(gated.find("fsw_with(q, FSW_V_PICK_TWICE)"), std::string::npos) << gated;
    EXPECT_NE(gated.find("fsw_with(q, FSW_V_RETURN_TWO)"), std::string::npos) << gated;
}

TEST_F(TransformerTest, UnknownVariantListsTheKnown) {
    const auto message = failure_of([&] { transform("if (pick(q) == p)", {"nonsense"}); });
    EXPECT_NE(message.find("pick-twice"), std::string::npos) << message;
}

GraftVariant make_variant(const std::string& id, bool stock_with, unsigned bit) {
    GraftVariant variant;
    variant.id = id;
    variant.macro = variant_macro(id);
    variant.title = "a title";
    variant.stock_with = stock_with;
    variant.bit = bit;
    return variant;
}

TEST(VariantsHeaderTest, HelpersAreThoseOfTheVariantsThatCanBeHad) {
    ScratchFolder folder;
    for (const char* id : {"a-one", "gone"})
        folder.put(std::string("variants/") + id + "/helpers.h", "");
    auto refused = make_variant("gone", false, 0);
    refused.refusal = "not here";
    const auto text = helpers_header(
        {make_variant("a-one", false, 0), make_variant("b-two", true, 1), refused}, folder.path());
    EXPECT_NE(text.find("#include \"variants/a-one/helpers.h\"\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("b-two"), std::string::npos) << text;
    EXPECT_EQ(text.find("gone"), std::string::npos) << text;
}

TEST(VariantsHeaderTest, CompilesToTheRightConstants) {
    ScratchFolder folder;
    auto refused = make_variant("gone", false, 0);
    refused.refusal = "not here";
    folder.put("fairswitch_variants.h",
               variants_header({make_variant("a-one", false, 0), refused,
                                make_variant("b-two", true, 1), make_variant("c-three", true, 2)}));
    folder.put("use.c", R"(
#include "fairswitch_variants.h"
#ifdef FSW_V_GONE
#error a refused variant has no gate
#endif
#define ONE(bit, ID, id, stock) + (FSW_V_##ID == bit && FSW_STOCK_##ID == stock && sizeof(id) > 1)
_Static_assert(0 FSW_VARIANTS(ONE) == 3, "table");
_Static_assert(FSW_VARIANT_COUNT == 3, "count");
_Static_assert(FSW_STOCK_WORD == 6, "stock word");
_Static_assert(FSW_FOLD_WORD == EXPECTED, "folded word");
)");
    const auto compile = "gcc -std=gnu11 -fsyntax-only " + (folder / "use.c").string();
    must_run(compile + " -DEXPECTED=6");
    must_run(compile + " -DEXPECTED=7 -DFSW_FOLD_A_ONE=1");
    must_run(compile + " -DEXPECTED=4 -DFSW_FOLD_B_TWO=0");
}

TEST(LocateTest, ReadsConfigAndVersion) {
    ScratchFolder folder;
    const auto config = parse_config(
        "CONFIG_SMP=y\n# CONFIG_X is not set\n"
        "CONFIG_CC_VERSION_TEXT=\"gcc-12 (Debian 12.2.0)\"\n");
    EXPECT_EQ(config.at("CONFIG_SMP"), "y");
    EXPECT_EQ(config.at("CONFIG_CC_VERSION_TEXT"), "gcc-12 (Debian 12.2.0)");
    EXPECT_EQ(config.count("CONFIG_X"), 0U);
    folder.put("Makefile",
               "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = x\n");
    EXPECT_EQ(source_version(folder.path()), "6.12.117");
    folder.put("Makefile", "all:\n\ttrue\n");
    EXPECT_FALSE(failure_of([&] { source_version(folder.path()); }).empty());
}

// Everything that must be refused before any work is done, on a made-up kernel.
class LocateRefusalTest : public ::testing::Test {
  protected:
    void SetUp() override {
        options_.kdir = folder_.put("kdir/Module.symvers", "").parent_path();
        folder_.put("kdir/include/config/kernel.release", "6.12.9-test\n");
        put_config("y");
        options_.source =
            folder_.put("source/kernel/sched/fair.c", "").parent_path().parent_path().parent_path();
        put_version("9");
        options_.image = folder_.put("vmlinuz", "x");
        options_.kallsyms = folder_.put("kallsyms", "x");
        options_.module = folder_.put("module/variants/x", "").parent_path().parent_path();
        options_.out = folder_ / "out";
    }

    void put_config(const std::string& livepatch, const std::string& compiler = "") {
        auto text = compiler;
        if (text.empty()) {
            text = run_shell("gcc --version | head -n 1").output;
            text.pop_back();
        }
        folder_.put("kdir/.config", "CONFIG_LIVEPATCH=" + livepatch +
                                        "\nCONFIG_KALLSYMS_ALL=y\nCONFIG_MODULES=y\nCONFIG_SMP=y\n"
                                        "CONFIG_DYNAMIC_FTRACE_WITH_ARGS=y\n"
                                        "CONFIG_CC_VERSION_TEXT=\"" +
                                        text + "\"\n");
    }

    void put_version(const std::string& sublevel) {
        folder_.put("source/Makefile",
                    "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = " + sublevel + "\nEXTRAVERSION =\n");
    }

    std::string refusal() {
        return refusal_of([&] { locate(options_); });
    }

    ScratchFolder folder_;
    BuildOptions options_;
};

TEST_F(LocateRefusalTest, AcceptsWhatBelongsTogether) {
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(locate(options_).release, "6.12.9-test");
}

TEST_F(LocateRefusalTest, KernelWithoutLivepatch) {
    put_config("n");
    EXPECT_NE(refusal().find("CONFIG_LIVEPATCH"), std::string::npos) << refusal();
}

TEST_F(LocateRefusalTest, SourceOfAnotherVersion) {
    put_version("90");
    EXPECT_NE(refusal().find("source of Linux 6.12.90"), std::string::npos) << refusal();
    put_version("8");
    EXPECT_NE(refusal().find("source of Linux 6.12.8"), std::string::npos) << refusal();
}

TEST_F(LocateRefusalTest, AnotherCompiler) {
    put_config("y", "x86_64-linux-gnu-gcc-3 (Debian 3.3.5-13) 3.3.5");
    EXPECT_NE(refusal().find("Debian package gcc-3"), std::string::npos) << refusal();
}

TEST_F(LocateRefusalTest, MissingPieces) {
    std::filesystem::remove(options_.kdir / ".config");
    EXPECT_NE(refusal().find("linux-headers"), std::string::npos) << refusal();
    put_config("y");
    std::filesystem::remove_all(options_.source);
    EXPECT_NE(refusal().find("linux-source-6.12"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace fairswitch
