# shellcheck shell=bash
# Builds the guest's file system: busybox, rt-tests, our init, and the given files with the
# shared libraries they need. Packed reproducibly: sorted names, one fixed time, root as owner.

# Copies an ELF file's shared libraries to the same paths below the root.
add_libraries() {
    local file=$1 root=$2 library
    while read -r library; do
        [[ -e $root$library ]] && continue
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done < <(ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true)
}

is_elf() {
    [[ -f $1 && $(head -c 4 "$1" | tr -d '\0') == $'\x7fELF' ]]
}

add_tool() {
    local tool=$1 root=$2 path
    path=$(command -v "$tool") || die "$EXIT_IMPOSSIBLE" "missing program $tool; run: scripts/setup"
    cp -L "$path" "$root/bin/$tool"
    add_libraries "$path" "$root"
}

# Adds HOST or HOST:GUEST; without GUEST it goes to /lab, where commands start and PATH looks.
add_given() {
    local host=${1%%:*} guest root=$2 file
    [[ -e $host ]] || die "$EXIT_USAGE" "--file $1: there is no $host"
    guest=/lab/$(basename "$host")
    [[ $1 == *:* ]] && guest=${1#*:}
    [[ $guest == /* ]] || die "$EXIT_USAGE" "--file $1: the guest path must be absolute"
    mkdir -p "$root$(dirname "$guest")"
    cp -rLT "$host" "$root$guest"
    while read -r file; do
        if is_elf "$file" && [[ $file != *.ko ]]; then
            add_libraries "$file" "$root"
            # Debug information is most of a binary, and the guest's memory holds all of it.
            strip --strip-debug "$file"
        fi
    done < <(find "$root$guest" -type f)
}

# Drivers that the lab needs and that this kernel has only as modules, with what they depend on.
add_modules() {
    local modules=$1 root=$2 module dependency target=$2/lib/lab-modules
    mkdir -p "$target"
    : >"$target/order"
    for module in virtio_pci virtio_console; do
        grep -q "/$module\.ko" "$modules/modules.builtin" && continue
        [[ -e $modules/modules.dep ]] ||
            depmod -b "${modules%/lib/modules/*}" "$(basename "$modules")"
        for dependency in $(modules_for "$modules" "$module"); do
            unpack_module "$modules/$dependency" "$target"
        done
    done
}

# Prints a module and all it needs, needed ones first, as paths below the modules directory.
modules_for() {
    awk -F': *' -v module="/$2.ko" 'index($1, module) {
        count = split($2, needed, " ")
        for (i = count; i > 0; i--) print needed[i]
        print $1
        found = 1
        exit
    } END { exit !found }' "$1/modules.dep" ||
        die "$EXIT_IMPOSSIBLE" "the kernel has no module $2, which the lab's ports need"
}

unpack_module() {
    local name
    name=$(basename "$1")
    name=${name%.xz}
    [[ -e $2/$name ]] && return
    case $1 in
        *.xz) xz -dc "$1" >"$2/$name" ;;
        *) cp "$1" "$2/$name" ;;
    esac
    printf '%s\n' "$name" >>"$2/order"
}

# Archives a directory as an initramfs that depends on its content only.
pack() {
    local root=$1 archive=$2
    find "$root" -exec touch -h -d @1700000000 {} +
    (cd "$root" && find . -print0 | LC_ALL=C sort -z |
        cpio --null --create --format=newc --quiet --reproducible --owner=0:0) >"$archive"
}

# shellcheck disable=SC2153 # MODULES comes from target.env
# build_initramfs ARCHIVE COMMAND-FILE [HOST[:GUEST]]...
build_initramfs() {
    local archive=$1 command=$2 root given applet
    shift 2
    root=$(mktemp -d)
    mkdir -p "$root"/{bin,dev,proc,sys,tmp,out,lab,run,etc,root,usr}
    chmod 755 "$root"
    ln -s ../bin "$root/usr/bin"
    ln -s bin "$root/sbin"
    cp "$LAB_DIR/guest-init" "$root/init"
    cp "$LAB_DIR/complaints" "$LAB_DIR/complaints.known" "$root/etc/"
    chmod 755 "$root/init"
    cp "$command" "$root/etc/lab-command"
    cp "$(command -v busybox)" "$root/bin/busybox"
    while read -r applet; do
        [[ $applet == busybox ]] || ln -sf busybox "$root/bin/$applet"
    done < <(busybox --list)
    printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\n' >"$root/etc/group"
    for given in cyclictest hackbench chrt; do add_tool "$given" "$root"; done
    add_modules "$MODULES" "$root"
    for given in "$@"; do add_given "$given" "$root"; done
    pack "$root" "$archive"
    rm -rf "$root"
}
