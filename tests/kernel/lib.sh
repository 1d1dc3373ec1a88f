# shellcheck shell=dash
# What every kernel test can use. A test is a small sh script, NAME.test, run in the guest as root
# in /lab with this file sourced, sh's -e not set. It passes if it ends with 0 and no check failed:
#
#   # what:  one line: what must hold
#   # group: tests of a group share one boot; groups are listed in tests/kernel/groups
#
# The runner unloads the module afterwards and reads the kernel log after every test.
#
# Available: fairswitch, fairswitch.ko, cyclictest, hackbench, busybox; /out comes back to the host.

TEST_FAILED=1
TEST_SKIPPED=77

# Ends the test; the reason is shown beside its name.
fail() {
    echo "$*" >"$REASON"
    exit "$TEST_FAILED"
}

skip() {
    echo "$*" >"$REASON"
    exit "$TEST_SKIPPED"
}

# check TEXT COMMAND...: fails with TEXT unless the command succeeds.
check() {
    check_text=$1
    shift
    "$@" || fail "$check_text (command: $*)"
}

# check_fails TEXT COMMAND...: fails with TEXT if the command succeeds.
check_fails() {
    check_text=$1
    shift
    if "$@"; then fail "$check_text (command should have failed: $*)"; fi
}

# check_equal TEXT WANTED FOUND
check_equal() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# check_less TEXT SMALLER LARGER, whole numbers
check_less() {
    [ "$2" -lt "$3" ] || fail "$1: expected $2 < $3"
}

# wait_for SECONDS COMMAND...: polls until the command succeeds; false if it never does in time.
wait_for() {
    wait_until=$(($(cut -d. -f1 /proc/uptime) + $1))
    shift
    until "$@"; do
        [ "$(cut -d. -f1 /proc/uptime)" -lt "$wait_until" ] || return 1
        usleep 50000
    done
}

module_is_loaded() {
    [ -d /sys/module/fairswitch ]
}

# Loads the module if it is not loaded; fails the test when that does not work.
load_module() {
    module_is_loaded && return
    urgently fairswitch load /lab/fairswitch.ko "$@" || fail "fairswitch load failed with $?"
}

# The same for unloading.
unload_module() {
    module_is_loaded || return 0
    urgently fairswitch unload "$@" || fail "fairswitch unload failed with $?"
}

# Starts hackbench in the background, about ten tasks a CPU, until stop_load.
start_load() {
    hackbench -T -p -l 16000000 -g 1 -f 10 >/tmp/load.txt 2>&1 &
    LOAD=$!
}

stop_load() {
    kill -INT "$LOAD" 2>/dev/null
    wait "$LOAD" 2>/dev/null
    killall -KILL hackbench 2>/dev/null
    true
}

# Runs a controlling command ahead of the load; as SCHED_FIFO it makes no fair decision itself.
urgently() {
    chrt -f 50 "$@"
}

# start_recorder FILE [record options…]: returns once it records; $RECORDER is its pid.
start_recorder() {
    recorder_file=$1
    shift
    rm -f "$recorder_file"
    # Not through the function: $! would be the shell's around it.
    chrt -f 50 fairswitch record -o "$recorder_file" "$@" &
    RECORDER=$!
    wait_for 20 test -s "$recorder_file" || fail "the recorder did not start"
}

# Ends it as Ctrl-C would.
stop_recorder() {
    kill -INT "$RECORDER"
    wait "$RECORDER"
    check_equal "the recorder's exit code" 0 $?
}

# Records one window under load and arm: record_under_load FILE SECONDS [record options…]
record_under_load() {
    record_file=$1
    record_seconds=$2
    shift 2
    start_load
    urgently fairswitch record -o "$record_file" --duration "$record_seconds" "$@"
    record_code=$?
    stop_load
    return "$record_code"
}
