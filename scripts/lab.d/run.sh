# shellcheck shell=bash
# lab run: boots a target with given files and one command, and brings back what it said, the
# files it left in /out, and a verdict.

readonly RUN_TIME_LIMIT=124 RUN_COMPLAINT=125 RUN_LOST=126
readonly VERDICT_GRAMMAR='^fairswitch-verdict 1 exit=([0-9]+) complaints=([0-9]+) output=([0-9]+) files=([0-9]+)$'

run_usage() {
    cat <<'USAGE'
usage: scripts/lab run TARGET [options] -- COMMAND [ARGUMENTS...]
Boots the target's kernel in qemu and runs COMMAND there as root, in /lab, with a live output.
One argument containing blanks is a shell line:  -- 'cyclictest -l 100 && dmesg'
  --smp N               virtual CPUs (2)
  --mem MB              memory (1024)
  --timeout SECONDS     hard limit for boot, command and files (120)
  --file HOST[:GUEST]   add a file or directory with its shared libraries (to /lab/NAME)
  --out DIR             bring the guest's /out back into DIR (the kernel log is dmesg.txt)
  --log DIR             keep console.log, output.log, qemu.log and verdict in DIR
  --append ARGUMENTS    more kernel arguments
  --virtual-time        guest time counts instructions: slower, repeatable except for the moments at
                        which the ports answer
  --replay              --virtual-time, repeatable to the byte: the same command and files, the same
                        files in DIR
  --without FEATURES    of the CPU, like erms,fsrm
  --quiet               no progress lines
FAIRSWITCH_ACCEL=kvm|tcg chooses the accelerator; otherwise KVM is used if the kernel boots there.
Exit code: COMMAND's own, up to 124; 124 also for the time limit; 125 the kernel complained (and
the lines are printed); 126 the machine was lost: it stopped without a verdict.
USAGE
}

# shellcheck disable=SC2034 # qemu_command reads some of these
parse_run() {
    SMP=2 MEMORY=1024 LIMIT=120 OUT='' LOG='' APPEND='' VIRTUAL_TIME=0 REPLAY=0 WITHOUT='' QUIET=0
    FILES=() COMMAND=()
    while (($#)); do
        case $1 in
            --smp) SMP=${2:-} && shift 2 ;;
            --mem) MEMORY=${2:-} && shift 2 ;;
            --timeout) LIMIT=${2:-} && shift 2 ;;
            --file) FILES+=("${2:-}") && shift 2 ;;
            --out) OUT=${2:-} && shift 2 ;;
            --log) LOG=${2:-} && shift 2 ;;
            --append) APPEND=${2:-} && shift 2 ;;
            --virtual-time) VIRTUAL_TIME=1 && shift ;;
            --replay) VIRTUAL_TIME=1 REPLAY=1 && shift ;;
            --without) WITHOUT=${2:-} && shift 2 ;;
            --quiet) QUIET=1 && shift ;;
            --help) run_usage && exit 0 ;;
            --) shift && COMMAND=("$@") && break ;;
            *) die "$EXIT_USAGE" "run: unknown argument '$1'; see scripts/lab run --help" ;;
        esac
    done
    local number
    for number in "$SMP" "$MEMORY" "$LIMIT"; do
        [[ $number =~ ^[1-9][0-9]*$ ]] ||
            die "$EXIT_USAGE" "run: '$number' is not a positive whole number"
    done
    ((${#COMMAND[@]})) || die "$EXIT_USAGE" "run: no command; put it behind '--'"
}

progress() {
    ((QUIET)) || say "$@"
}

# The command as a shell script: a single argument is a line of shell, several are a vector.
write_command() {
    if ((${#COMMAND[@]} == 1)); then
        printf '%s\n' "${COMMAND[0]}"
    else
        local word line=''
        for word in "${COMMAND[@]}"; do line+=" '${word//\'/\'\\\'\'}'"; done
        printf 'exec%s\n' "$line"
    fi
}

# Ends whatever still runs; no machine outlives its lab.
end_machine() {
    if [[ -n ${MACHINE:-} ]]; then
        kill -KILL "$MACHINE" 2>/dev/null || true
        wait "$MACHINE" 2>/dev/null || true
        MACHINE=''
    fi
    if [[ -n ${VIEWER:-} ]]; then
        wait "$VIEWER" 2>/dev/null || true
        VIEWER=''
    fi
}

clean_up() {
    end_machine
    [[ -z ${WORK:-} ]] || rm -rf "$WORK"
}

start_machine() {
    mkfifo "$WORK/output"
    touch "$WORK"/{output.log,verdict,files.tar,console.log}
    tee "$WORK/output.log" <"$WORK/output" &
    VIEWER=$!
    # qemu dies with this shell even if the shell is killed.
    setpriv --pdeathsig KILL "${QEMU[@]}" </dev/null >"$WORK/qemu.log" 2>&1 &
    MACHINE=$!
}

size_of() {
    stat -c %s "$1"
}

verdict_is_complete() {
    [[ $(cat "$WORK/verdict") =~ $VERDICT_GRAMMAR ]] || return 1
    (($(size_of "$WORK/output.log") >= BASH_REMATCH[3])) &&
        (($(size_of "$WORK/files.tar") >= BASH_REMATCH[4]))
}

# Waits for the verdict; sets OUTCOME to verdict, lost or timeout.
watch_machine() {
    local begin=$SECONDS stage='' reached gone=0
    OUTCOME=''
    while [[ -z $OUTCOME ]]; do
        kill -0 "$MACHINE" 2>/dev/null || gone=1
        reached=$(grep -ao 'fairswitch-lab: \(init\|command [a-z]*\).*' "$WORK/console.log" |
            tail -n 1 | tr -d '\r') || true
        if [[ $reached != "$stage" ]]; then
            stage=$reached
            progress "${stage#fairswitch-lab: }"
        fi
        if verdict_is_complete; then
            OUTCOME=verdict
        elif ((gone)); then
            OUTCOME=lost
        elif ((SECONDS - begin >= LIMIT)); then
            OUTCOME=timeout
        else
            sleep 0.1
        fi
    done
    STAGE=${stage:-before init}
}

console_complaints() {
    tr -d '\r' <"$WORK/console.log" | grep -a -E -f "$LAB_DIR/complaints" |
        grep -a -v -E -f "$LAB_DIR/complaints.known" | sed 's/^fairswitch-lab: complaint: //' |
        sort -u || true
}

show_console_tail() {
    printf 'lab: the last lines of the console:\n' >&2
    tail -n 20 "$WORK/console.log" | tr -d '\r' | sed 's/^/lab:   /' >&2
    [[ ! -s $WORK/qemu.log ]] || sed 's/^/lab: qemu: /' "$WORK/qemu.log" | head -n 10 >&2
}

show_complaints() {
    printf 'lab: the kernel complained:\n' >&2
    printf '%s\n' "$1" | sed 's/^/lab:   /' >&2
}

# Returns the exit code for OUTCOME.
judge() {
    local complaints code
    complaints=$(console_complaints)
    case $OUTCOME in
        timeout)
            say "time limit of $LIMIT s reached; it got as far as: ${STAGE#fairswitch-lab: }"
            show_console_tail
            return "$RUN_TIME_LIMIT"
            ;;
        lost)
            say "lost machine: no verdict; it got as far as: ${STAGE#fairswitch-lab: }"
            [[ -z $complaints ]] || show_complaints "$complaints"
            show_console_tail
            return "$RUN_LOST"
            ;;
    esac
    [[ $(cat "$WORK/verdict") =~ $VERDICT_GRAMMAR ]]
    code=${BASH_REMATCH[1]}
    if ((BASH_REMATCH[2] > 0)) || [[ -n $complaints ]]; then
        show_complaints "$complaints"
        return "$RUN_COMPLAINT"
    fi
    if ((code > RUN_TIME_LIMIT)); then
        say "the command ended with $code, reported as 1"
        return "$EXIT_FAILED"
    fi
    return "$code"
}

bring_files() {
    [[ -n $OUT && -s $WORK/files.tar ]] || return 0
    mkdir -p "$OUT"
    tar -x --no-same-owner -C "$OUT" -f "$WORK/files.tar" 2>/dev/null ||
        say "the files in $OUT are incomplete: the machine stopped while it sent them"
}

keep_logs() {
    [[ -n $LOG ]] || return 0
    mkdir -p "$LOG"
    cp "$WORK"/{console.log,output.log,qemu.log,verdict} "$LOG/"
}

lab_run() {
    local env code=0
    parse_run "$@"
    need_tools qemu-system-x86_64 busybox cyclictest hackbench cpio setpriv ldd strip
    env=$(target_env)
    # shellcheck source=/dev/null
    . "$env"
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/fairswitch-lab.XXXXXX")
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    write_command >"$WORK/command"
    build_initramfs "$WORK/initramfs" "$WORK/command" "${FILES[@]}"
    choose_emulator
    ACCEL=tcg
    ((VIRTUAL_TIME)) || choose_accelerator "$IMAGE" "$WORK/initramfs"
    qemu_command "$IMAGE" "$WORK/initramfs" "$WORK"
    progress "booting $RELEASE under $ACCEL, $SMP CPUs, $MEMORY MB, limit $LIMIT s"
    start_machine
    watch_machine
    end_machine
    bring_files
    keep_logs
    judge || code=$?
    progress "done: exit code $code"
    return "$code"
}
