// The preflight, on made-up machines: a folder with the /proc, /sys, /boot and /usr/src that count.
#include "userspace/doctor/doctor.h"

#include <algorithm>
#include <sstream>

#include "tests/unit/graft_support.h"
#include "userspace/base/wrap.h"
#include "userspace/doctor/checks.h"

namespace fairswitch {
namespace {

using testing::must_run;
using testing::ScratchFolder;

constexpr const char* kRelease = "6.12.9-test";
constexpr const char* kPackage = "6.12.9-1";
const std::string kFunction = "check_preempt_wakeup_fair";

// A machine on which everything is as it should be; each test breaks one thing.
class DoctorTest : public ::testing::Test {
  protected:
    void SetUp() override {
        put_kernel();
        put_headers();
        put("usr/src/linux-source-6.12/kernel/sched/fair.c", "");
        put("usr/src/linux-source-6.12/Makefile",
            "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\nEXTRAVERSION =\n");
        put_livepatch_and_tracing();
        options_.build.module =
            put("module/variants/one/forward.cocci",
                "// title: one\n// construct: x\n// expect: " + kFunction + " 1\n")
                .parent_path()
                .parent_path()
                .parent_path();
        put("module/taps/00.cocci", "// expect-include: gates.h\n");
        options_.build.out = folder_ / "out";
        options_.quick = true;
    }

    // An ELF file that says what a kernel's image says, and the running kernel that says the same.
    void put_kernel() {
        const auto banner = std::string("Linux version ") + kRelease +
                            " (someone) (gcc) #1 SMP Debian " + kPackage + " (2026-01-01)";
        put("proc/sys/kernel/osrelease", std::string(kRelease) + "\n");
        put("proc/version", banner + "\n");
        put("proc/kallsyms", "ffffffff81000000 T _text\nffffffff81000100 t " + kFunction + "\n");
        put("proc/sys/kernel/ftrace_enabled", "1\n");
        put("proc/sys/kernel/modules_disabled", "0\n");
        const auto source =
            put("image.c", "const char banner[] = \"" + banner + "\\n\";\nvoid _start(void) {}\n");
        const auto image = put(std::string("boot/vmlinuz-") + kRelease, "");
        const auto notes = put("sys/kernel/notes", "");
        must_run("gcc -nostdlib -static -Wl,--build-id=sha1 -o " + image.string() + " " +
                 source.string());
        must_run("objcopy -O binary --only-section=.note.gnu.build-id " + image.string() + " " +
                 notes.string());
    }

    void put_headers(const std::string& compiler = "", const std::string& livepatch = "y") {
        auto text = compiler;
        if (text.empty()) {
            text = run_shell("gcc --version | head -n 1").output;
            text.pop_back();
        }
        put_build(".config",
                  "CONFIG_X86_64=y\nCONFIG_KALLSYMS_ALL=y\nCONFIG_MODULES=y\nCONFIG_SMP=y\n"
                  "CONFIG_STACKTRACE=y\nCONFIG_HAVE_RELIABLE_STACKTRACE=y\nCONFIG_KPROBES=y\n"
                  "CONFIG_DYNAMIC_FTRACE=y\nCONFIG_DYNAMIC_FTRACE_WITH_ARGS=y\n"
                  "CONFIG_LIVEPATCH=" +
                      livepatch + "\nCONFIG_CC_VERSION_TEXT=\"" + text + "\"\n");
        put_build("Module.symvers", "");
        put_build("Makefile", "");
        put_build("include/config/kernel.release", std::string(kRelease) + "\n");
    }

    void put_livepatch_and_tracing() {
        std::filesystem::create_directories(folder_ / "sys/kernel/livepatch");
        put("sys/module/module/parameters/sig_enforce", "N\n");
        put("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        put("sys/kernel/debug/kprobes/list", "");
        put("sys/kernel/tracing/enabled_functions", "");
    }

    std::filesystem::path put(const std::string& path, const std::string& text) {
        return folder_.put(path, text);
    }
    void put_build(const std::string& path, const std::string& text) {
        put(std::string("lib/modules/") + kRelease + "/build/" + path, text);
    }
    void remove(const std::string& path) { std::filesystem::remove_all(folder_ / path); }

    // A file that can't be read, for root either: a link that leads to itself.
    void make_unreadable(const std::string& path) {
        remove(path);
        std::filesystem::create_symlink((folder_ / path).filename(), folder_ / path);
    }

    Diagnosis look() { return diagnose(options_, folder_.path()); }

    static Finding finding_of(const Diagnosis& diagnosis, const std::string& name) {
        for (const auto& finding : diagnosis.findings) {
            if (finding.name == name) return finding;
        }
        ADD_FAILURE() << "no finding " << name << " on:\n" << screen(diagnosis);
        return {};
    }

    // The diagnosis is that fairswitch can't work, because of what `name` found, and the last lines
    // say so.
    Finding expect_hindered(const std::string& name, const std::string& text) {
        const auto diagnosis = look();
        const auto finding = finding_of(diagnosis, name);
        EXPECT_EQ(finding.mark, Mark::kNo);
        EXPECT_NE(finding.found.find(text), std::string::npos) << finding.found;
        EXPECT_FALSE(finding.advice.empty());
        EXPECT_FALSE(diagnosis.can_work());
        const auto shown = screen(diagnosis);
        const auto verdict = shown.substr(shown.rfind("\nfairswitch can't"));
        EXPECT_NE(verdict.find("  " + name + ": "), std::string::npos) << shown;
        return finding;
    }

    Finding expect_warned(const std::string& name, const std::string& text) {
        const auto diagnosis = look();
        const auto finding = finding_of(diagnosis, name);
        EXPECT_EQ(finding.mark, Mark::kWarn);
        EXPECT_NE(finding.found.find(text), std::string::npos) << finding.found;
        EXPECT_TRUE(diagnosis.can_work()) << screen(diagnosis);
        return finding;
    }

    ScratchFolder folder_;
    DoctorOptions options_;
};

TEST_F(DoctorTest, EverythingFine) {
    if (run_shell("command -v spatch").status != 0) {
        GTEST_SKIP() << "spatch (Debian package coccinelle) isn't installed";
    }
    const auto diagnosis = look();
    const auto shown = screen(diagnosis);
    EXPECT_TRUE(diagnosis.can_work()) << shown;
    for (const auto& finding : diagnosis.findings) EXPECT_EQ(finding.mark, Mark::kOk) << shown;
    EXPECT_TRUE(finding_of(diagnosis, "kernel")
                    .found.starts_with("6.12.9-test (Debian 6.12.9-1), build-id "));
    EXPECT_NE(shown.find("none on the 1 functions to replace"), std::string::npos) << shown;
    EXPECT_TRUE(shown.ends_with("fairswitch can work here: fairswitch build, then load\n"));
}

TEST_F(DoctorTest, FitsTheScreen) {
    put("sys/kernel/debug/kprobes/list", "ffffffff81000100  k  " + kFunction + "+0x0  [FTRACE]\n");
    const auto shown = screen(look());
    EXPECT_LE(std::count(shown.begin(), shown.end(), '\n'), 40) << shown;
    std::istringstream lines(shown);
    for (std::string line; std::getline(lines, line);) {
        // A path is never broken, and the scratch folder's make long ones.
        if (line.find(folder_.path()) != std::string::npos) continue;
        EXPECT_LE(line.size(), 100U) << line;
    }
}

TEST_F(DoctorTest, KernelWithoutLivepatch) {
    put_headers("", "n");
    remove("sys/kernel/livepatch");
    expect_hindered("livepatch", "built without CONFIG_LIVEPATCH");
    EXPECT_EQ(finding_of(look(), "configuration").mark, Mark::kOk) << "said once";
    put_build(".config", "CONFIG_X86_64=y\nCONFIG_SMP=y\nCONFIG_MODULES=y\n");
    expect_hindered("configuration", "CONFIG_KALLSYMS_ALL (the addresses of fair.c's variables)");
}

TEST_F(DoctorTest, FtraceSwitchedOff) {
    put("proc/sys/kernel/ftrace_enabled", "0\n");
    EXPECT_EQ(expect_hindered("ftrace", "switched off").advice, "sysctl kernel.ftrace_enabled=1");
}

TEST_F(DoctorTest, LoadingModulesSwitchedOff) {
    put("proc/sys/kernel/modules_disabled", "1\n");
    expect_hindered("configuration", "kernel.modules_disabled");
}

TEST_F(DoctorTest, Lockdown) {
    put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    expect_hindered("lockdown", "confidentiality: only modules signed");
    put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    EXPECT_NE(expect_hindered("lockdown", "integrity").advice.find("sign-file"), std::string::npos);
    make_unreadable("sys/kernel/security/lockdown");
    expect_warned("lockdown", "can't be read");
    remove("sys/kernel/security/lockdown");
    EXPECT_EQ(finding_of(look(), "lockdown").mark, Mark::kOk) << "this kernel has no lockdown";
    remove("lib/modules");
    EXPECT_EQ(finding_of(look(), "lockdown").mark, Mark::kWarn) << "this one may have it";
}

TEST_F(DoctorTest, SignaturesEnforced) {
    put("sys/module/module/parameters/sig_enforce", "Y\n");
    expect_hindered("signatures", "signed modules only");
}

TEST_F(DoctorTest, SecureBootIsNamed) {
    const std::string variable =
        "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    put(variable, std::string("\6\0\0\0\1", 5));
    expect_warned("Secure Boot", "on; ");
    put(variable, std::string("\6\0\0\0\0", 5));
    EXPECT_EQ(finding_of(look(), "Secure Boot").found, "off");
}

TEST_F(DoctorTest, MissingHeaders) {
    remove(std::string("lib/modules/") + kRelease);
    EXPECT_NE(expect_hindered("headers", "doesn't exist").advice.find("linux-headers-6.12.9-test"),
              std::string::npos);
}

TEST_F(DoctorTest, TreeThatWasNotBuilt) {
    remove(std::string("lib/modules/") + kRelease + "/build/Module.symvers");
    put_build("kernel/sched/fair.c", "");
    EXPECT_NE(expect_hindered("headers", "no Module.symvers").advice.find("make modules"),
              std::string::npos);
}

TEST_F(DoctorTest, MissingSource) {
    remove("usr/src/linux-source-6.12");
    EXPECT_NE(expect_hindered("source", "linux-source-6.12.tar.xz doesn't exist")
                  .advice.find("apt install linux-source-6.12=6.12.9-1"),
              std::string::npos);
}

TEST_F(DoctorTest, SourcePackageOfAnotherVersion) {
    if (run_shell("command -v dpkg-query").status != 0) GTEST_SKIP() << "no dpkg here";
    remove("usr/src/linux-source-6.12");
    put("usr/src/linux-source-6.12.tar.xz", "");
    put("var/lib/dpkg/status",
        "Package: linux-source-6.12\nStatus: install ok installed\nMaintainer: a\n"
        "Architecture: all\nVersion: 6.12.8-1\nDescription: x\n\n");
    expect_hindered("source", "is of package version 6.12.8-1, the kernel of 6.12.9-1");
}

TEST_F(DoctorTest, SourceTreeOfAnotherVersion) {
    put("usr/src/linux-source-6.12/Makefile",
        "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 90\nEXTRAVERSION =\n");
    expect_hindered("source", "is of Linux 6.12.90");
}

TEST_F(DoctorTest, FullTreeOfTheHeadersIsTheSource) {
    remove("usr/src");
    put_build("kernel/sched/fair.c", "");
    put_build("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\nEXTRAVERSION =\n");
    const auto finding = finding_of(look(), "source");
    EXPECT_EQ(finding.mark, Mark::kOk) << finding.found;
    EXPECT_NE(finding.found.find("/build (Linux 6.12.9)"), std::string::npos) << finding.found;
}

TEST_F(DoctorTest, AnotherCompiler) {
    put_headers("x86_64-linux-gnu-gcc-3 (Debian 3.3.5-13) 3.3.5");
    EXPECT_NE(expect_hindered("compiler", "gcc-3 (Debian 3.3.5-13) 3.3.5, found: none")
                  .advice.find("apt install gcc-3 "),
              std::string::npos);
    put_headers("gcc (Debian 3.3.5-13) 3.3.5");
    EXPECT_NE(expect_hindered("compiler", "found: gcc").advice.find("apt install gcc-3 "),
              std::string::npos);
    put_headers("Debian clang version 14.0.6");
    expect_hindered("compiler", "found: none");
}

TEST_F(DoctorTest, ImageReplacedSinceBoot) {
    put("sys/kernel/notes", std::string("\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xab\xcd\x01\0", 20));
    EXPECT_NE(expect_hindered("image", "the running kernel abcd01").advice.find("reboot"),
              std::string::npos);
    remove("boot");
    expect_hindered("image", "vmlinuz-6.12.9-test doesn't exist");
}

TEST_F(DoctorTest, HiddenSymbolsAreForRoot) {
    put("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 t " + kFunction + "\n");
    EXPECT_NE(expect_warned("symbols", "hides its addresses").advice.find("run as root"),
              std::string::npos);
}

TEST_F(DoctorTest, AnotherLivepatchOnAPatchedFunction) {
    put("sys/kernel/livepatch/other/vmlinux/" + kFunction + ",1/stack_order", "1\n");
    EXPECT_NE(expect_hindered("livepatches", "livepatch other already patches " + kFunction)
                  .advice.find("/sys/kernel/livepatch/other/enabled"),
              std::string::npos);
}

TEST_F(DoctorTest, AnotherLivepatchElsewhereDoesNoHarm) {
    put("sys/kernel/livepatch/other/vmlinux/do_exit,1/stack_order", "1\n");
    const auto finding = finding_of(look(), "livepatches");
    EXPECT_EQ(finding.mark, Mark::kOk);
    EXPECT_EQ(finding.found, "loaded, on other functions: other");
}

TEST_F(DoctorTest, FairswitchLoaded) {
    put("sys/kernel/livepatch/fairswitch/vmlinux/" + kFunction + ",1/stack_order", "1\n");
    put("sys/kernel/tracing/enabled_functions", kFunction + " (1) R I     \ttramp: 0x1\n");
    expect_warned("livepatches", "fairswitch itself is loaded and patches " + kFunction);
    EXPECT_EQ(finding_of(look(), "ftrace users").found, "none but fairswitch itself");
}

TEST_F(DoctorTest, KprobeOnAPatchedFunction) {
    put("sys/kernel/debug/kprobes/list",
        "ffffffff81000200  k  do_exit+0x0    [FTRACE]\n"
        "ffffffff81000100  r  " +
            kFunction + "+0x0    [DISABLED][FTRACE]\n");
    EXPECT_NE(expect_warned("kprobes", "a kprobe is on " + kFunction).advice.find("EBUSY"),
              std::string::npos);
    put("sys/kernel/debug/kprobes/list", "ffffffff81000200  k  do_exit+0x0    [FTRACE]\n");
    EXPECT_EQ(finding_of(look(), "kprobes").found,
              "none on the 1 functions to replace (1 elsewhere)");
}

TEST_F(DoctorTest, TracersOnAPatchedFunction) {
    const auto use = [&](const std::string& flags) {
        put("sys/kernel/tracing/enabled_functions",
            "do_exit (1) R D   \n" + kFunction + " (1) " + flags + "\n");
    };
    use("           \ttramp: ftrace_ops_list_func");
    EXPECT_EQ(finding_of(look(), "ftrace users").mark, Mark::kOk);
    use("    D   M   \ttramp: bpf_trampoline\n\tdirect-->bpf_trampoline_6442+0x0/0x1000");
    expect_warned("ftrace users", "a BPF trampoline or a redirection is on " + kFunction);
    use("R I");
    expect_warned("ftrace users", "a BPF trampoline or a redirection is on " + kFunction);
}

TEST_F(DoctorTest, UnreadableTracingIsSaid) {
    make_unreadable("sys/kernel/debug/kprobes/list");
    remove("sys/kernel/tracing");
    expect_warned("kprobes", "/sys/kernel/debug/kprobes/list can't be read");
    const auto finding = expect_warned("ftrace users", "can't be read (No such file");
    EXPECT_NE(finding.advice.find("mount -t tracefs"), std::string::npos) << finding.advice;
}

TEST_F(DoctorTest, AnotherKernelIsReadFromItsConfiguration) {
    options_.build.image = folder_ / (std::string("boot/vmlinuz-") + kRelease);
    options_.build.kallsyms = folder_ / "proc/kallsyms";
    options_.build.kdir = folder_ / (std::string("lib/modules/") + kRelease + "/build");
    put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    put("sys/module/module/parameters/sig_enforce", "Y\n");
    remove("sys/kernel/livepatch");
    auto diagnosis = look();
    EXPECT_TRUE(diagnosis.can_work()) << "only the running machine is at fault:\n"
                                      << screen(diagnosis);
    EXPECT_NE(diagnosis.left_out.find("not the running kernel"), std::string::npos);
    put_build(".config", read_file(options_.build.kdir / ".config") +
                             "CONFIG_MODULE_SIG_FORCE=y\n"
                             "CONFIG_LOCK_DOWN_KERNEL_FORCE_INTEGRITY=y\n");
    expect_hindered("signatures", "signed modules only");
    expect_hindered("lockdown", "built to be locked down");
}

// What a build found becomes the last part of the screen.
class FairTest : public ::testing::Test {
  protected:
    void SetUp() override {
        Graft graft;
        graft.mutable_identity()->set_compared(8);
        graft.mutable_identity()->set_identical(8);
        graft.add_patch_set()->set_name(kFunction);
        auto& one = *graft.add_variants();
        one.set_id("one");
        one.set_stock(Graft::POSITION_WITH);
        one.add_functions(kFunction);
        auto& two = *graft.add_variants();
        two.set_id("two");
        two.set_refusal("forward.cocci looked for: x");
        subject_.graft = graft;
    }

    void differ(const std::string& function) {
        auto& difference = *subject_.graft->mutable_identity()->add_differences();
        difference.set_function(function);
        difference.set_reason("code differs at +0x1");
        subject_.graft->mutable_identity()->set_identical(7);
    }

    Subject subject_;
};

TEST_F(FairTest, FiguresAndVariants) {
    const auto findings = check_fair(subject_);
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].found,
              "8 of 8 functions of fair.c compile to the kernel's code, all 1 to be replaced among "
              "them");
    EXPECT_EQ(findings[1].found, "stock is with; switched in " + kFunction);
    EXPECT_EQ(findings[2].mark, Mark::kNo);
    EXPECT_EQ(findings[2].hinders, Hinders::kNothing) << "the others can be had without it";
    EXPECT_EQ(findings[2].found, "not on this kernel: forward.cocci looked for: x");
}

TEST_F(FairTest, DifferenceCountsWhereItIsReplaced) {
    differ("elsewhere");
    EXPECT_EQ(check_fair(subject_)[0].mark, Mark::kWarn);
    differ(kFunction);
    EXPECT_EQ(check_fair(subject_)[0].mark, Mark::kNo);
    EXPECT_NE(check_fair(subject_)[0].found.find(kFunction + " (code differs at +0x1)"),
              std::string::npos);
}

TEST_F(FairTest, FailedExaminationIsTheReason) {
    subject_.examination_problem = "tap 10-decision: fair.c isn't as it expects";
    const auto findings = check_fair(subject_);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].hinders, Hinders::kBuild);
    EXPECT_NE(findings[0].found.find("tap 10-decision"), std::string::npos);
}

TEST(WrapTest, BreaksBetweenWordsAtTheEdge) {
    EXPECT_EQ(wrapped("one two", 4), "one two");
    EXPECT_EQ(wrapped(std::string(60, 'a') + " " + std::string(36, 'b') + " c", 2),
              std::string(60, 'a') + " " + std::string(36, 'b') + "\n  c");
    EXPECT_EQ(wrapped(std::string(120, 'a'), 2), std::string(120, 'a')) << "a path stays whole";
}

}  // namespace
}  // namespace fairswitch
