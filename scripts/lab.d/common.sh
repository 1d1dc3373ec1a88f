# shellcheck shell=bash
# Shared by all lab verbs: messages, exit codes, the target table. Sourced, never run.

readonly EXIT_FAILED=1 EXIT_USAGE=2 EXIT_IMPOSSIBLE=3

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_STARTED=${EPOCHREALTIME/[.,]/}

# Prints one progress line with the seconds since this command started.
say() {
    local now=${EPOCHREALTIME/[.,]/}
    local tenths=$(((now - LAB_STARTED) / 100000))
    printf '[lab %3d.%ds] %s\n' $((tenths / 10)) $((tenths % 10)) "$*" >&2
}

die() {
    local code=$1
    shift
    printf 'lab: %s\n' "$*" >&2
    exit "$code"
}

# Sets TARGET and its TARGET_* facts from the table, or explains which targets there are.
read_target() {
    local name suite version flavour compiler known=''
    while read -r name suite version flavour compiler; do
        case $name in '' | '#'*) continue ;; esac
        known+=" $name"
        if [[ $name == "${1:-}" ]]; then
            # shellcheck disable=SC2034 # read by the verbs
            TARGET=$name TARGET_SUITE=$suite TARGET_VERSION=$version TARGET_FLAVOUR=$flavour \
                TARGET_COMPILER=$compiler
            TARGET_CACHE=${FAIRSWITCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fairswitch}/$TARGET
            return
        fi
    done <"$LAB_DIR/targets"
    die "$EXIT_USAGE" "unknown target '${1:-}'; expected one of:$known (see scripts/lab.d/targets)"
}

# Prints the newest complete version in the cache, nothing when there is none.
cached_version() {
    local env
    for env in "$TARGET_CACHE"/*/target.env; do
        if [[ -e $env ]]; then basename "$(dirname "$env")"; fi
    done | sort -rV | head -n 1
}

# Prints the path of the target.env that the other verbs use.
target_env() {
    local version
    version=$(cached_version)
    [[ -n $version ]] || die "$EXIT_FAILED" \
        "no kernel for target $TARGET in $TARGET_CACHE; run: scripts/lab fetch $TARGET"
    printf '%s\n' "$TARGET_CACHE/$version/target.env"
}

need_tools() {
    local tool missing=''
    for tool in "$@"; do
        command -v "$tool" >/dev/null || missing+=" $tool"
    done
    [[ -z $missing ]] || die "$EXIT_IMPOSSIBLE" "missing programs:$missing; run: scripts/setup"
}
