// What a build must refuse: each by name, with exit code 3. On the lab's kernels where they are in
// its cache; fair.c is changed in a copy.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "tests/unit/graft_support.h"
#include "userspace/graft/builder.h"
#include "userspace/graft/identity.h"
#include "userspace/graft/image.h"
#include "userspace/graft/kallsyms.h"
#include "userspace/graft/locate.h"
#include "userspace/graft/variants.h"

namespace fairswitch {
namespace {

namespace fs = std::filesystem;
using testing::must_run;
using testing::refusal_of;
using testing::ScratchFolder;

void expect_says(const std::string& message, const std::string& text) {
    EXPECT_NE(message.find(text), std::string::npos) << message;
}

// A lab kernel's parts, from its target.env; empty if it isn't in the cache.
std::map<std::string, std::string> lab_kernel(const std::string& target) {
    const auto script = std::string(FAIRSWITCH_SOURCE) + "/scripts/lab";
    const auto result = run_shell(". \"$(" + script + " env " + target +
                                  " 2>/dev/null)\" 2>/dev/null && for name in RELEASE KDIR SOURCE "
                                  "IMAGE KALLSYMS; do eval echo \"$name=\\$$name\"; done");
    std::map<std::string, std::string> parts;
    if (result.status != 0) return parts;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
        parts[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    }
    if (!fs::exists(parts["SOURCE"]) || !fs::exists(parts["KALLSYMS"])) parts.clear();
    return parts;
}

// The definition of a function, its static or return type included, so that spatch needn't read
// all of fair.c.
std::string function_text(const std::string& source, const std::string& name) {
    const std::regex head("\n(static )?(void|bool) " + name + "\\([^;{]*\\{\n");
    std::smatch match;
    if (!std::regex_search(source, match, head)) return {};
    const auto start = static_cast<size_t>(match.position(0)) + 1;
    return source.substr(start, source.find("\n}\n", start) + 3 - start);
}

size_t replace_all(std::string& text, const std::string& from, const std::string& to) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
        ++count;
    }
    return count;
}

// The wakeup check of the 6.12 kernel under the module's own semantic patches.
class VariantRefusalTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (run_shell("command -v spatch").status != 0) {
            GTEST_SKIP() << "spatch (Debian package coccinelle) isn't installed";
        }
        auto kernel = lab_kernel("6.12");
        if (kernel.empty()) GTEST_SKIP() << "no 6.12 kernel in the lab's cache: scripts/lab fetch";
        check_ = function_text(read_file(kernel["SOURCE"] + "/kernel/sched/fair.c"),
                               "check_preempt_wakeup_fair");
        ASSERT_NE(check_.find(kConstruct), std::string::npos) << check_;
    }

    // What the build says when dequeue-delayed is asked for.
    std::string refusal(const std::string& source) {
        const auto file = folder_.put("fair.c", source);
        const Transformer transformer(std::string(FAIRSWITCH_SOURCE) + "/module", folder_ / "work");
        return refusal_of([&] { transformer.run(file, {"dequeue-delayed"}); });
    }

    static constexpr const char* kConstruct = "if (pick_eevdf(cfs_rq) == pse)\n\t\tgoto preempt;\n";
    ScratchFolder folder_;
    std::string check_;
};

TEST_F(VariantRefusalTest, RenamedConstruct) {
    ASSERT_EQ(replace_all(check_, "pick_eevdf(cfs_rq) == pse", "choose_eevdf(cfs_rq) == pse"), 1U);
    const auto message = refusal(check_);
    expect_says(message, "variant dequeue-delayed can't be had on this kernel: ");
    expect_says(message, "forward.cocci looked for: if (pick_eevdf(cfs_rq) == pse) goto preempt;");
}

TEST_F(VariantRefusalTest, ConstructStandsTwice) {
    const std::string construct = kConstruct;
    ASSERT_EQ(replace_all(check_, construct, construct + "\n\t" + construct), 1U);
    const auto message = refusal(check_);
    expect_says(message, "variant dequeue-delayed can't be had on this kernel: ");
    expect_says(message, "(found 2 of 1 gates in check_preempt_wakeup_fair)");
}

// A backport that brought the new check and left the old one.
TEST_F(VariantRefusalTest, BothFormsMatch) {
    auto newer = lab_kernel("7.2");
    if (newer.empty()) GTEST_SKIP() << "no 7.2 kernel in the lab's cache: scripts/lab fetch 7.2";
    const auto added =
        function_text(read_file(newer["SOURCE"] + "/kernel/sched/fair.c"), "wakeup_preempt_fair");
    ASSERT_FALSE(added.empty());
    const auto message = refusal(check_ + "\n" + added);
    expect_says(message, "variant dequeue-delayed can't be had on this kernel: ");
    expect_says(message, "forward.cocci and reverse.cocci both match");
}

// The whole 6.12 kernel with a source that isn't quite its own.
class SourceRefusalTest : public ::testing::Test {
  protected:
    void SetUp() override {
        kernel_ = lab_kernel("6.12");
        if (kernel_.empty()) GTEST_SKIP() << "no 6.12 kernel in the lab's cache: scripts/lab fetch";
        fs::copy(kernel_["SOURCE"], folder_ / "source", fs::copy_options::recursive);
        fair_ = read_file(folder_ / "source/kernel/sched/fair.c");
        options_.kdir = kernel_["KDIR"];
        options_.image = kernel_["IMAGE"];
        options_.kallsyms = kernel_["KALLSYMS"];
        options_.source = folder_ / "source";
        options_.module = std::string(FAIRSWITCH_SOURCE) + "/module";
        options_.out = folder_ / "out";
        fs::create_directories(options_.out);
    }

    void put_fair(const std::string& text) { folder_.put("source/kernel/sched/fair.c", text); }

    // Compiles the copy's fair.c as the build does.
    Object compile() {
        const auto located = locate(options_);
        const Compiler compiler(options_.kdir, located.source, options_.out,
                                located.compiler_program, options_.tools);
        compiler.compile({{located.source / "kernel/sched/fair.c",
                           folder_ / "stock.o",
                           {},
                           {},
                           folder_ / "laid-out.o"}});
        return Object::read(folder_ / "laid-out.o");
    }

    std::string refusal() {
        return refusal_of([&] { compile(); });
    }

    ScratchFolder folder_;
    std::map<std::string, std::string> kernel_;
    BuildOptions options_;
    std::string fair_;
};

TEST_F(SourceRefusalTest, PatchedFunctionDiffersFromTheKernel) {
    const std::string head = "requeue_delayed_entity(struct sched_entity *se)\n{\n";
    ASSERT_EQ(replace_all(fair_, head, head + "\tse->slice += 1;\n"), 1U);
    put_fair(fair_);
    const auto image = KernelImage::read(options_.image, folder_ / "image");
    const auto identity =
        prove_identity(compile(), "changed fair.c", image, Kallsyms::read(options_.kallsyms));
    EXPECT_GT(identity.identical.size(), 100U) << "the other functions are the kernel's";
    ASSERT_EQ(identity.different.count("requeue_delayed_entity"), 1U);
    const auto message = refusal_of(
        [&] { refuse_replacement(identity, "requeue_delayed_entity", kernel_["RELEASE"]); });
    expect_says(message,
                "requeue_delayed_entity: compiled from this source it isn't the kernel's own code "
                "(code differs at +0x");
    expect_says(message, "install the source and compiler of exactly 6.12.");
}

TEST_F(SourceRefusalTest, FileCutOff) {
    put_fair(fair_.substr(0, fair_.size() / 2));
    const auto message = refusal();
    expect_says(message, "source/kernel/sched/fair.c: the kernel's own source doesn't compile");
    expect_says(message, "is it complete");
}

TEST_F(SourceRefusalTest, MissingHeader) {
    fs::remove(folder_ / "source/kernel/sched/pelt.h");
    const auto message = refusal();
    expect_says(message, "is incomplete: kernel/sched/fair.c includes pelt.h");
}

TEST_F(SourceRefusalTest, ArchiveCutOff) {
    must_run("cd " + folder_.path().string() +
             " && mv source linux && tar -cJf whole.tar.xz linux && head -c 100000 whole.tar.xz > "
             "cut.tar.xz");
    options_.source = folder_ / "cut.tar.xz";
    const auto message = refusal();
    expect_says(message, "cut.tar.xz: tar can't unpack kernel/sched from it; truncated?");
    options_.source = folder_ / "whole.tar.xz";
    EXPECT_EQ(locate(options_).source, options_.out / "source") << "the whole one is accepted";
}

TEST_F(SourceRefusalTest, ArchiveOfSomethingElse) {
    must_run("cd " + folder_.path().string() +
             " && mkdir -p other/kernel/sched && touch other/Makefile other/kernel/x.h && "
             "tar -czf other.tar.gz other");
    options_.source = folder_ / "other.tar.gz";
    expect_says(refusal(), "other.tar.gz: holds no kernel/sched/fair.c");
}

TEST_F(SourceRefusalTest, ImageOfAnotherVersion) {
    const auto source =
        folder_.put("other.c",
                    "const char banner[] = \"Linux version 6.12.1-other (a) #1\\n\";\n"
                    "void _start(void) {}\n");
    options_.image = folder_ / "vmlinux";
    must_run("gcc -nostdlib -static -Wl,--build-id=sha1 -o " + options_.image.string() + " " +
             source.string());
    const auto message = refusal_of([&] { Builder(options_).run(); });
    expect_says(message, "vmlinux: is kernel 6.12.1-other, but the headers are those of " +
                             kernel_["RELEASE"]);
}

TEST_F(SourceRefusalTest, ImageCutOff) {
    const auto whole = read_file(options_.image);
    options_.image = folder_.put("vmlinuz", whole.substr(0, whole.size() / 2));
    expect_says(refusal_of([&] { Builder(options_).run(); }), "truncated?");
}

}  // namespace
}  // namespace fairswitch
