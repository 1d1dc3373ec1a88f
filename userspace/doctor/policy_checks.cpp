#include <fmt/format.h>

#include "userspace/doctor/checks.h"

namespace fairswitch {
namespace {

constexpr const char* kSign =
    "sign fairswitch.ko with a key that the machine trusts (a MOK, as DKMS does): "
    "scripts/sign-file of the headers";

bool is_signed(const Subject& subject) { return subject.module && subject.module->is_signed; }

// What the module must be, said for one that will be or is there.
Finding wants_signature(const Subject& subject, const std::string& name, const std::string& why) {
    if (is_signed(subject)) return ok(name, why + "; this module is signed");
    return no(Hinders::kLoad, name, why, kSign);
}

// "none [integrity] confidentiality" -> the one in brackets.
std::string bracketed(const std::string& text) {
    const auto open = text.find('[');
    const auto close = text.find(']');
    if (open == std::string::npos || close == std::string::npos) return {};
    return text.substr(open + 1, close - open - 1);
}

Finding lockdown_of_config(const Subject& subject) {
    if (subject.has("CONFIG_LOCK_DOWN_KERNEL_FORCE_INTEGRITY") ||
        subject.has("CONFIG_LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY")) {
        return wants_signature(subject, "lockdown", "the kernel is built to be locked down");
    }
    return ok("lockdown", "none unless the command line asks for it");
}

}  // namespace

Finding check_signatures(const Subject& subject) {
    const std::string name = "signatures";
    const bool enforced =
        subject.has("CONFIG_MODULE_SIG_FORCE") ||
        (subject.running &&
         subject.files.first_line("/sys/module/module/parameters/sig_enforce") == "Y");
    if (enforced) return wants_signature(subject, name, "the kernel takes signed modules only");
    return ok(name, "unsigned modules may be loaded");
}

Finding check_lockdown(const Subject& subject) {
    const std::string name = "lockdown";
    if (!subject.running) return lockdown_of_config(subject);
    const std::string path = "/sys/kernel/security/lockdown";
    const auto file = subject.files.read(path);
    if (!file.present && subject.config_known && !subject.has("CONFIG_SECURITY_LOCKDOWN_LSM")) {
        return ok(name, "none, this kernel can't be locked down");
    }
    if (!file.present) {
        return warn(name, fmt::format("unknown: there is no {}", path),
                    "mount it: mount -t securityfs securityfs /sys/kernel/security");
    }
    if (!file.readable) {
        return warn(name, fmt::format("unknown: {} can't be read ({})", path, file.problem),
                    "run as root");
    }
    const auto level = bracketed(file.text);
    if (level == "none") return ok(name, "none");
    const std::string secrets =
        level == "confidentiality" ? "; kprobes, tracefs and debugfs are closed too" : "";
    return wants_signature(
        subject, name,
        fmt::format("{}: only modules signed by a key that the kernel trusts are "
                    "loaded{}",
                    level, secrets));
}

Finding check_secure_boot(const Subject& subject) {
    const std::string name = "Secure Boot";
    if (!subject.running) {
        return subject.has("CONFIG_LOCK_DOWN_IN_EFI_SECURE_BOOT")
                   ? ok(name, "where it is on, this kernel locks itself down")
                   : ok(name, "makes no difference to this kernel");
    }
    if (!subject.files.exists("/sys/firmware/efi")) return ok(name, "no EFI, so none");
    const auto variable = subject.files.read(
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
    if (!variable.present) return ok(name, "off, or efivarfs isn't mounted");
    if (!variable.readable || variable.text.size() < 5) {
        return warn(name, "unknown: its EFI variable can't be read", "see: mokutil --sb-state");
    }
    // Four bytes of attributes come first.
    if (variable.text[4] == 0) return ok(name, "off");
    return warn(name, "on; what that forbids is said by lockdown and signatures", "");
}

}  // namespace fairswitch
