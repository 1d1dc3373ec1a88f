#include "userspace/doctor/doctor.h"

#include <algorithm>

#include "userspace/doctor/checks.h"
#include "userspace/doctor/rivals.h"

namespace fairswitch {
namespace {

bool hindered(const Findings& findings, Hinders by) {
    return std::any_of(findings.begin(), findings.end(), [by](const Finding& finding) {
        return finding.mark == Mark::kNo && finding.hinders == by;
    });
}

void add_build_checks(const Subject& subject, Findings& findings) {
    for (const auto check : {check_headers, check_source, check_compiler, check_image,
                             check_symbols, check_coccinelle, check_make}) {
        findings.push_back(check(subject));
    }
}

// What the running machine adds to what a kernel can do.
void add_machine_checks(const Subject& subject, Findings& findings) {
    for (const auto check : {check_livepatches, check_kprobes, check_ftrace_users}) {
        findings.push_back(check(subject));
    }
}

std::string what_was_left_out(const Subject& subject, bool examined) {
    std::string text;
    const auto add = [&text](const std::string& more) {
        text += (text.empty() ? "" : "; ") + more;
    };
    if (!subject.running) {
        add("not the running kernel: its configuration was read, and lockdown, livepatches and "
            "tracers are those of the machine that runs it");
    }
    if (subject.builds() && !examined) {
        add(subject.quick
                ? "--quick: fair.c wasn't compiled, so identity and variants are unknown"
                : "fair.c wasn't compiled, since no build can succeed; identity and variants "
                  "are unknown");
    }
    return text;
}

}  // namespace

Diagnosis diagnose(const DoctorOptions& options, const std::filesystem::path& root) {
    auto subject = inspect(options, root);
    Diagnosis diagnosis;
    diagnosis.builds = subject.builds();
    diagnosis.title = subject.release.empty() ? "unknown kernel" : subject.release;
    auto& findings = diagnosis.findings;
    for (const auto check : {check_kernel, check_settings, check_livepatch, check_stack_traces,
                             check_ftrace, check_signatures, check_lockdown, check_secure_boot}) {
        findings.push_back(check(subject));
    }
    if (subject.builds()) {
        add_build_checks(subject, findings);
    } else {
        findings.push_back(check_module(subject));
    }
    // Compiling takes a while: only where it can succeed.
    const bool examined = subject.builds() && !subject.quick &&
                          check_symbols(subject).mark == Mark::kOk &&
                          !hindered(findings, Hinders::kBuild);
    if (examined) examine(subject);
    if (subject.running) add_machine_checks(subject, findings);
    for (auto& finding : check_fair(subject)) findings.push_back(std::move(finding));
    diagnosis.left_out = what_was_left_out(subject, examined);
    diagnosis.can_build = !hindered(findings, Hinders::kBuild);
    diagnosis.can_load = !hindered(findings, Hinders::kLoad);
    return diagnosis;
}

}  // namespace fairswitch
