# shellcheck shell=bash
# How the lab starts qemu, and whether KVM can be trusted to.

# A /dev/kvm that opens proves little: nested or emulated ones abort qemu or stall in the first
# instructions. So boot the very kernel under it, once per host boot, and remember the answer.
kvm_works() {
    local image=$1 initrd=$2 memory answer
    [[ -r /dev/kvm && -w /dev/kvm ]] || return 1
    memory=$TARGET_CACHE/.kvm-$(cat /proc/sys/kernel/random/boot_id)
    if [[ ! -s $memory ]]; then
        say "probing /dev/kvm with a boot"
        answer=no
        # The shell would report an aborting qemu in its own words.
        if (probe_kvm "$image" "$initrd") 2>/dev/null; then answer=yes; fi
        rm -f "$TARGET_CACHE"/.kvm-*
        printf '%s\n' "$answer" >"$memory"
        say "KVM usable: $answer"
    fi
    [[ $(cat "$memory") == yes ]]
}

# True when the kernel reaches user space under KVM within ten seconds.
probe_kvm() {
    local image=$1 initrd=$2 dir pid tick reached=1
    dir=$(mktemp -d)
    setpriv --pdeathsig KILL "${EMULATOR[@]}" -accel kvm -cpu max -m 512 -nodefaults \
        -display none -no-reboot -serial "file:$dir/console" -kernel "$image" -initrd "$initrd" \
        -append 'console=ttyS0 panic=-1 fairswitch.probe' >"$dir/qemu" 2>&1 </dev/null &
    pid=$!
    for ((tick = 0; tick < 100; tick++)); do
        if grep -qs 'fairswitch-lab: init' "$dir/console"; then
            reached=0
            break
        fi
        if grep -qs 'KVM internal error' "$dir/qemu" || ! kill -0 "$pid" 2>/dev/null; then break; fi
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    rm -rf "$dir"
    return "$reached"
}

# Sets ACCEL to kvm or tcg.
choose_accelerator() {
    case ${FAIRSWITCH_ACCEL:-auto} in
        kvm | tcg) ACCEL=$FAIRSWITCH_ACCEL ;;
        auto) if kvm_works "$@"; then ACCEL=kvm; else ACCEL=tcg; fi ;;
        *) die "$EXIT_USAGE" "FAIRSWITCH_ACCEL is '$FAIRSWITCH_ACCEL'; expected kvm, tcg or nothing" ;;
    esac
}

# Sets QEMU to the command line. Of the three ports, the output goes through a FIFO, to be seen
# live; the returned files and the verdict go to plain files.
qemu_command() {
    local image=$1 initrd=$2 work=$3 ports=''
    # Otherwise another thread of qemu's serves the ports, whenever the host lets it run, and the
    # guest meets their interrupts at another instruction each time.
    ((!REPLAY)) || ports=',ioeventfd=off'
    # shellcheck disable=SC2054 # the commas are qemu's
    QEMU=("${EMULATOR[@]}" -nodefaults -no-user-config -display none -no-reboot
        -smp "$SMP" -m "$MEMORY" -kernel "$image" -initrd "$initrd"
        -serial "file:$work/console.log" -device "virtio-serial-pci$ports"
        -chardev "file,id=output,path=$work/output"
        -device virtserialport,chardev=output,name=lab.output
        -chardev "file,id=files,path=$work/files.tar"
        -device virtserialport,chardev=files,name=lab.files
        -chardev "file,id=verdict,path=$work/verdict"
        -device virtserialport,chardev=verdict,name=lab.verdict)
    local cpu=max${WITHOUT:+",-${WITHOUT//,/,-}"}
    local append="console=ttyS0 loglevel=5 panic=-1 log_buf_len=4M printk.devkmsg=on"
    if ((VIRTUAL_TIME)); then
        # Guest time is a count of instructions: nothing that reads the host may remain.
        QEMU+=(-accel 'tcg,thread=single' -icount 'shift=3,sleep=off' -cpu "$cpu,-rdrand,-rdseed"
            -rtc 'base=2026-01-01,clock=vm')
        ((!REPLAY)) || QEMU+=(-seed 1)
        append+=' nokaslr norandmaps tsc=reliable random.trust_cpu=off random.trust_bootloader=off'
    elif [[ $ACCEL == kvm ]]; then
        QEMU+=(-accel kvm -cpu "$cpu")
    else
        QEMU+=(-accel 'tcg,thread=multi' -cpu "$cpu")
    fi
    QEMU+=(-append "$append${APPEND:+ $APPEND}")
}
