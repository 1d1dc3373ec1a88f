# shellcheck shell=bash
# Which QEMU the lab runs.
#
# Debian 12's has two faults that matter here, and both look like the kernel's:
# - With a virtual clock and several CPUs, a CPU gets what the one before it left of the time to
#   the next timer. One that never stops early (a busy loop) leaves nothing: the others stand
#   still for tens of seconds, perhaps within a spinlock. Since 8.1, each has its share.
# - With a thread for each CPU, one translates code while another CPU rewrites it, and the guest
#   dies of an int3 that is no longer in memory (livepatching rewrites code by the thousands).
# So the lab brings the QEMU of a newer Debian release, where the host's is older than that.
#
#   CACHE/tools/qemu-SUITE   the package and its libraries, run in place by their own loader

readonly EMULATOR_SUITE=trixie EMULATOR_NEEDED=8.1

# True when version $1 is at least $2.
at_least() {
    [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

host_emulator_version() {
    qemu-system-x86_64 --version 2>/dev/null | sed -n '1s/.*version \([0-9.]*\).*/\1/p'
}

host_emulator_is_new() {
    at_least "$(host_emulator_version)" "$EMULATOR_NEEDED"
}

emulator_root() {
    printf '%s/tools/qemu-%s\n' "$(dirname "$TARGET_CACHE")" "$EMULATOR_SUITE"
}

# Brings it unless it is there or not needed. Without it the host's does, with the faults above.
fetch_emulator() {
    local root
    root=$(emulator_root)
    if host_emulator_is_new || [[ -d $root ]]; then return 0; fi
    say "bringing QEMU of Debian $EMULATOR_SUITE, once: about half a minute, 150 MB"
    (use_foreign_archive "$EMULATOR_SUITE" && make_root "$root" "$EMULATOR_SUITE" extract \
        qemu-system-x86) ||
        say "going on with the host's QEMU $(host_emulator_version), which is worse at several CPUs"
}

# Sets EMULATOR to the command that runs it.
choose_emulator() {
    local root libraries
    root=$(emulator_root)
    # shellcheck disable=SC2034 # read by qemu_command
    EMULATOR=(qemu-system-x86_64)
    if host_emulator_is_new || [[ ! -d $root ]]; then return 0; fi
    libraries=$root/usr/lib/x86_64-linux-gnu
    # shellcheck disable=SC2034
    EMULATOR=(env QEMU_MODULE_DIR="$libraries/qemu"
        "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries"
        "$root/usr/bin/qemu-system-x86_64" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios")
}
