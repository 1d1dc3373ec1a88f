// What compilers and kernels newer than 6.12's bring: other tables, merged sections, sanitizers,
// and tools of another Debian release.
#include "tests/unit/graft_support.h"
#include "userspace/graft/code_tables.h"
#include "userspace/graft/extract.h"
#include "userspace/graft/function_diff.h"
#include "userspace/graft/tool_root.h"

namespace fairswitch {
namespace {

using testing::compile_c;
using testing::failure_of;
using testing::must_run;
using testing::ScratchFolder;

// A function with two warnings, whose table has `extra` words behind the code's address.
std::string warnings(const std::string& extra) {
    const auto warning = [&](int line) {
        return R"(asm volatile("1: ud2\n.pushsection __bug_table, \"aw\"\n.long 1b - .\n)" + extra +
               fmt::format(R"(.long text - .\n.word {}\n.word 0\n.popsection");)", line);
    };
    return "const char text[] = \"file.c\";\nint patched(int x) { if (x) { " + warning(7) +
           " } else { " + warning(9) + " } return x; }\n";
}

TEST(CodeTableTest, BugTableOfEitherSize) {
    ScratchFolder folder;
    const auto older = compile_c(folder, "older", warnings(""));
    const auto newer = compile_c(folder, "newer", warnings(R"(.long text - .\n)"));
    const auto size = [](const Object& object) {
        const auto entries = read_code_tables(object, "test");
        EXPECT_EQ(entries.size(), 2U);
        return entries.empty() ? 0 : entries.front().size;
    };
    EXPECT_EQ(size(older.object), 12U);
    EXPECT_EQ(size(newer.object), 16U);
}

TEST(CodeTableTest, BugTableOfUnknownSizeIsRefused) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "odd", warnings(R"(.long text - .\n.long text - .\n)"));
    const auto message = failure_of([&] { read_code_tables(compiled.object, "odd"); });
    EXPECT_NE(message.find("layout is not known"), std::string::npos) << message;
}

constexpr const char* kPrinter = R"(
extern void print(const char *);
int patched(int x) { print(x ? "longer text" : "text"); print("text"); return x; }
)";

// Newer kernels merge all constants of a module, and a string is no longer known by its section.
TEST(MergedSectionTest, StringsAreStillCompared) {
    ScratchFolder folder;
    const auto compiled = compile_c(folder, "fair", kPrinter);
    const auto kallsyms = Kallsyms::parse("ffffffff81000000 T _text\n", "test");
    const auto taken = extract({compiled.object,
                                compiled.locals,
                                {"patched"},
                                [](const std::string&) { return false; },
                                kallsyms});
    taken.object.write(folder / "graft.o");
    compile_c(folder, "rest", "const char other[] = \"not a string of fair.c\";\n");
    folder.put("module.lds", "SECTIONS { .rodata 0 : { *(.rodata .rodata.*) } }\n");
    const auto at = [&](const char* name) { return (folder / name).string(); };
    must_run("ld -r -T " + at("module.lds") + " -o " + at("module.o") + " " + at("rest.o") + " " +
             at("graft.o"));
    const auto before = code_texts(compiled.object, "before").at("patched");
    const auto after = code_texts(Object::read(folder / "module.o"), "after").at("patched");
    EXPECT_NE(before.find("\"longer text\""), std::string::npos) << before;
    EXPECT_EQ(before, after);
}

constexpr const char* kBounds = R"(
int table[4];
int patched(int i) { return table[i]; }
)";

TEST(SanitizerTest, DataComeAlongAndLinesDoNotCount) {
    ScratchFolder folder;
    const auto compile = [&](const std::string& name, const std::string& code) {
        const auto source = folder.put(name + ".c", code).string();
        const auto object = (folder / (name + ".o")).string();
        must_run(
            "gcc -O2 -fno-pic -mcmodel=kernel -ffunction-sections -fdata-sections "
            "-fsanitize=bounds -fcf-protection=none -fno-asynchronous-unwind-tables -S -o " +
            object + ".s " + source);
        // Names as in the kernel, where these data have sections of their own.
        auto text = read_file(object + ".s");
        for (size_t seen = 0, from = 0;;) {
            const auto found = text.find("\n.Lubsan_data", from);
            if (found == std::string::npos) break;
            const auto section = fmt::format("\n\t.section\t.data..Lubsan_data{},\"aw\"", ++seen);
            text.insert(found, section);
            from = found + section.size() + 1;
        }
        write_file(object + ".s", text);
        must_run("gcc -c -o " + object + " " + object + ".s");
        return Object::read(object);
    };
    const auto first = compile("first", kBounds);
    const auto moved = compile("moved", std::string("\n\n\n") + kBounds);
    const auto first_text = function_texts(first, "first").at("patched");
    EXPECT_NE(first_text.find("sanitizer's data"), std::string::npos) << first_text;
    EXPECT_EQ(first_text, function_texts(moved, "moved").at("patched"));
}

TEST(CommonSectionsTest, FunctionsShareTextAndTheirKind) {
    EXPECT_EQ(with_common_sections("\t.section\t.text.pick,\"ax\",@progbits\n"),
              "\t.section\t.text,\"ax\",@progbits\n");
    EXPECT_EQ(with_common_sections("\t.section\t.text.unlikely.pick,\"ax\",@progbits\n"),
              "\t.section\t.text.unlikely,\"ax\",@progbits\n");
    // A function that is called like a kind of section.
    EXPECT_EQ(with_common_sections("\t.section\t.text.hotplug,\"ax\",@progbits\n"),
              "\t.section\t.text,\"ax\",@progbits\n");
    EXPECT_EQ(with_common_sections("\t.section\t.init.text,\"ax\",@progbits\n\tcall\tf\n"),
              "\t.section\t.init.text,\"ax\",@progbits\n\tcall\tf\n");
}

TEST(ToolRootTest, FolderWithoutToolsIsRefused) {
    ScratchFolder folder;
    const auto message = failure_of([&] { ToolRoot root(folder.path()); });
    EXPECT_NE(message.find("has no usr/bin/make"), std::string::npos) << message;
}

TEST(ToolRootTest, FilesThatTheRootWouldHideAreRefused) {
    ScratchFolder folder;
    folder.put("usr/bin/make", "");
    const ToolRoot root(folder.path());
    EXPECT_EQ(failure_of([&] { root.check_visible("/tmp/module"); }), "");
    const auto message = failure_of([&] { root.check_visible("/usr/src/linux-headers"); });
    EXPECT_NE(message.find("/usr and /etc are those of"), std::string::npos) << message;
    EXPECT_EQ(failure_of([&] { ToolRoot().check_visible("/usr/src/linux-headers"); }), "");
}

// The root's /usr, and everything else the host's: needs root or user namespaces.
TEST(ToolRootTest, CommandsSeeTheRootsProgramsAndTheHostsFiles) {
    ScratchFolder folder;
    folder.put("root/usr/bin/make", "");
    std::filesystem::create_directories(folder / "root/bin");
    std::filesystem::copy_file("/bin/busybox", folder / "root/usr/bin/busybox");
    const auto file = folder.put("note", "of the host\n").string();
    const ToolRoot root(folder / "root");
    ProcessResult result;
    const auto failure = failure_of([&] {
        result = run_process({"/usr/bin/busybox", "cat", file}, {.root = &root});
    });
    if (result.output.find("can't enter the tools' root: unshare") != std::string::npos) {
        GTEST_SKIP() << "this user may not make namespaces: " << result.output;
    }
    EXPECT_EQ(failure, "");
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(result.output, "of the host\n");
}

}  // namespace
}  // namespace fairswitch
