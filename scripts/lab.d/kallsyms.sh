# shellcheck shell=bash
# lab kallsyms: the symbol addresses of the target's kernel, which only the booted kernel knows
# (Debian's System.map is empty). Booted with nokaslr, so that they fit the image's own text, and in
# virtual time, where emulation is slower and never fails (see tests/kernel/groups).

lab_kallsyms() {
    local env home out code=0
    (($# == 0)) || die "$EXIT_USAGE" "kallsyms: unknown argument '$1'; it takes a target only"
    env=$(target_env)
    # shellcheck source=/dev/null
    . "$env"
    if [[ -s $KALLSYMS && -s $NOTES && -s $PROC_VERSION ]]; then
        say "symbols of $RELEASE are in the cache: $KALLSYMS"
        return
    fi
    home=$(dirname "$env")
    out=$(mktemp -d "$home/.kallsyms.XXXXXX")
    (lab_run --virtual-time --timeout 180 --append nokaslr --out "$out" -- \
        'cp /proc/version /sys/kernel/notes /out/ && cat /proc/kallsyms >/out/kallsyms') || code=$?
    if ((code == 0)) && ! grep -q ' [Tt] enqueue_task_fair$' "$out/kallsyms"; then
        say "the symbols brought back hold no enqueue_task_fair"
        code=$EXIT_FAILED
    fi
    if ((code == 0)); then
        mv "$out/version" "$PROC_VERSION"
        mv "$out/notes" "$NOTES"
        mv "$out/kallsyms" "$KALLSYMS"
        say "$(wc -l <"$KALLSYMS") symbols of $RELEASE are in $KALLSYMS"
    fi
    rm -rf "$out"
    return "$code"
}
