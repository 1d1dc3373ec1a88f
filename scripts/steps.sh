# shellcheck shell=bash
# What make demo and make test share: steps with progress and logs, and everything that has to
# exist before a lab run. Sourced, never run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${FAIRSWITCH_BUILD:-$ROOT/build}
LOGS=$BUILD/logs
STEPS_STARTED=$SECONDS

mkdir -p "$LOGS"

elapsed() {
    printf '[%3ds]' $((SECONDS - STEPS_STARTED))
}

# A step runs in the background, where Ctrl-C does not reach it: it is ended by hand.
end_step() {
    [[ -z ${STEP_PID:-} ]] || kill -TERM "$STEP_PID" 2>/dev/null || true
    exit "$1"
}
trap 'end_step 130' INT
trap 'end_step 143' TERM HUP

# step NAME COMMAND...: runs the command with its output in a log; shows that it is alive, and
# the log's end if it fails.
step() {
    local name=$1 log code=0 begin=$SECONDS
    shift
    log=$LOGS/${name// /-}.log
    printf '%s %s …\n' "$(elapsed)" "$name"
    "$@" >"$log" 2>&1 </dev/null &
    STEP_PID=$!
    while kill -0 "$STEP_PID" 2>/dev/null; do
        wait_a_little "$STEP_PID" "$name" "$log" "$begin"
    done
    wait "$STEP_PID" || code=$?
    STEP_PID=''
    if ((code)); then
        printf '%s %s failed with exit code %d; the end of %s:\n' "$(elapsed)" "$name" "$code" "$log"
        tail -n 40 "$log" | sed 's/^/    /'
        return "$code"
    fi
}

# Returns when the process has ended or, after ten seconds, with a line of progress.
wait_a_little() {
    local tick last
    for ((tick = 0; tick < 100; tick++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    last=$(tail -n 1 "$3" | tr -d '\r' | cut -c 1-60)
    printf '%s   %s, %d s: %s\n' "$(elapsed)" "$2" $((SECONDS - $4)) "$last"
}

# live NAME COMMAND...: like step, for commands whose output is for people.
live() {
    local name=$1 code=0
    shift
    printf '%s %s …\n' "$(elapsed)" "$name"
    "$@" 2>&1 </dev/null | tee "$LOGS/${name// /-}.log" || code=${PIPESTATUS[0]}
    return "$code"
}

# Without debug information user space compiles in two thirds of the time; -O3 gains nothing.
configure() {
    cmake -S "$ROOT" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_FLAGS_RELEASE='-O2 -DNDEBUG' "${@:2}"
}

# ThreadSanitizer of this compiler cannot place its shadow under a large address randomisation.
without_aslr() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

read_target_env() {
    local env
    env=$("$ROOT/scripts/lab" env "$1")
    TOOLS_ROOT='' # caches made before there were tools' roots don't set it
    # shellcheck source=/dev/null
    . "$env"
}

# Everything that decides about the module: sources, the tool that makes it, kernel and symbols.
graft_inputs() {
    find "$ROOT/module" -type f -print0 | sort -z | xargs -0 sha256sum
    sha256sum "$BUILD/userspace/cli/fairswitch" "$KALLSYMS"
    printf '%s %s\n' "$PACKAGE_VERSION" "$COMPILER"
}

run_graft() {
    "$BUILD/userspace/cli/fairswitch" build --kdir "$KDIR" --source "$SOURCE" --image "$IMAGE" \
        --kallsyms "$KALLSYMS" --out "$1" ${TOOLS_ROOT:+--root "$TOOLS_ROOT"} 2>&1 | tee "$1.summary"
    return "${PIPESTATUS[0]}"
}

# Builds the module for the target into build/graft/TARGET, unless nothing it is made of changed.
graft() {
    local out=$BUILD/graft/$1 inputs
    read_target_env "$1" || return
    inputs=$(graft_inputs) || return
    if [[ -s $out/fairswitch.ko && $(cat "$out/inputs" 2>/dev/null) == "$inputs" ]]; then
        echo "the module is up to date"
        return
    fi
    rm -rf "$out" && mkdir -p "$out" && run_graft "$out" || return
    [[ -s $out/fairswitch.ko ]] || {
        echo "fairswitch build succeeded but left no $out/fairswitch.ko"
        return 1
    }
    mv "$out.summary" "$out/summary.txt" && printf '%s\n' "$inputs" >"$out/inputs"
}

# Callers test the results of what follows, which turns the shell's -e off inside: hence the chains.

set_up() {
    [[ -z ${SET_UP:-} ]] || return 0
    step 'set up' "$ROOT/scripts/setup" && SET_UP=1
}

# prepare_user_space [CMAKE-TARGET...]: everything, or the named targets.
prepare_user_space() {
    set_up &&
        step 'configure' configure "$BUILD" &&
        step 'build' cmake --build "$BUILD" ${1:+--target "$@"}
}

prepare_kernel() {
    set_up &&
        step 'fetch kernel' "$ROOT/scripts/lab" fetch "$1" &&
        step 'read symbols' "$ROOT/scripts/lab" kallsyms "$1"
}

prepare_module() {
    step 'graft' graft "$1"
}

# prepare TARGET [CMAKE-TARGET...]: from a fresh checkout to the tool, the kernel and the module.
# Only the named parts of user space are built, since compiling is most of the time.
prepare() {
    local target=$1
    shift
    prepare_user_space fairswitch "$@" && prepare_kernel "$target" && prepare_module "$target"
}
