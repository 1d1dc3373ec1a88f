# shellcheck shell=bash
# lab fetch: brings one Debian kernel (image, headers, kbuild, source) into the cache.
#
#   CACHE/TARGET/VERSION/root        the packages' files; headers usable as KDIR in place
#   CACHE/TARGET/VERSION/source      the parts of the source that the graft reads
#   CACHE/TARGET/VERSION/target.env  the paths of all that, for the shell
#
# The version is whatever the archive offers today: all packages must exist in that one version,
# since text and source of different builds do not belong together.

fetch_usage() {
    cat <<'USAGE'
usage: scripts/lab fetch TARGET [--offline]
Finds the newest kernel version for which image, headers, kbuild and source all exist, and
unpacks them into the cache. For a kernel of another Debian release, makes a root with that
release's compiler, too; and a newer QEMU if the host's is too old. With --offline, uses the newest version already in the cache.
USAGE
}

# Prints "package version" for every kernel package of the target that apt knows.
known_packages() {
    # Newer packages split the image into binary and modules, and its own package is empty.
    local kinds='image|binary|binary-unsigned|modules|base|headers|kbuild|source'
    local prefix="^linux-($kinds)-${TARGET_VERSION//./\\.}"
    local names
    mapfile -t names < <(apt-cache search --names-only "$prefix" 2>/dev/null | cut -d' ' -f1)
    ((${#names[@]})) || return 0
    apt-cache madison "${names[@]}" 2>/dev/null | awk -F' *[|] *' '{ print $1, $2 }' | sed 's/^ *//'
}

# Prints the packages of version $1, one a line, if all of them are there. List on stdin.
complete_set() {
    # An ABI name such as 6.12.117+deb12 tells real packages from meta packages.
    awk -v wanted="$1" -v flavour="$TARGET_FLAVOUR" -v series="$TARGET_VERSION" \
        -v featureset="${TARGET_FLAVOUR%%-*}" '
        BEGIN { abi = series "[.][0-9][^-]*" }
        $2 != wanted { next }
        $1 ~ "^linux-image-" abi "-" flavour "$" { image = $1 }
        $1 ~ "^linux-image-" abi "-" flavour "-unsigned$" { unsigned = $1 }
        $1 ~ "^linux-binary-" abi "-" flavour "$" { binary = $1 }
        $1 ~ "^linux-binary-unsigned-" abi "-" flavour "$" { unsigned_binary = $1 }
        $1 ~ "^linux-modules-" abi "-" flavour "$" { modules = $1 }
        $1 ~ "^linux-base-" abi "-" flavour "$" { base = $1 }
        $1 ~ "^linux-headers-" abi "-" flavour "$" { headers = $1 }
        $1 ~ "^linux-headers-" abi "-common$" && common == "" { common = $1 }
        # A flavour with headers, and patches, of its own, such as rt before it was merged.
        $1 ~ "^linux-headers-" abi "-common-" featureset "$" { common = $1 }
        $1 ~ "^linux-kbuild-" series "[.]" { kbuild = $1 }
        $1 == "linux-source-" series { source = $1 }
        END {
            if (image == "") image = unsigned
            if (binary == "") binary = unsigned_binary
            if (modules != "") image = binary == "" ? "" : binary "\n" modules "\n" base
            if (image != "" && headers != "" && common != "" && kbuild != "" && source != "")
                print image "\n" headers "\n" common "\n" kbuild "\n" source
        }'
}

# Callers test the results of what follows, which turns the shell's -e off inside: each step that
# can fail therefore says so itself.

# Sets VERSION and PACKAGES to the newest complete set; fails when apt knows none.
resolve_version() {
    local known candidate
    known=$(known_packages)
    VERSION='' PACKAGES=()
    while read -r candidate; do
        [[ -n $candidate ]] || continue
        mapfile -t PACKAGES < <(complete_set "$candidate" <<<"$known")
        if ((${#PACKAGES[@]} >= 5)); then
            VERSION=$candidate
            return 0
        fi
    done < <(awk -v name="linux-source-$TARGET_VERSION" '$1 == name { print $2 }' <<<"$known" |
        sort -urV)
    return 1
}

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

refresh_lists() {
    say "refreshing the package lists"
    if ((FOREIGN)); then
        apt-get -q update >/dev/null 2>&1 || true
    else
        as_root apt-get -q update >/dev/null 2>&1 || true
    fi
}

download_packages() {
    local package
    local -a names=()
    for package in "${PACKAGES[@]}"; do names+=("$package=$VERSION"); done
    (cd "$1" && apt-get -q -o APT::Sandbox::User="$(id -un)" download "${names[@]}") >&2
}

# The header package includes its sibling by an absolute path below /usr/src; follow the sibling
# in the same root instead, so that the headers work from the cache, wherever it is moved to.
relocate_headers() {
    local makefile=$1/usr/src/$2/Makefile
    # shellcheck disable=SC2016 # for make, not for the shell
    local escaped='$(dir $(abspath $(lastword $(MAKEFILE_LIST))))..'
    grep -q '^include /usr/src/' "$makefile" ||
        die "$EXIT_FAILED" "unexpected $makefile: no 'include /usr/src/…' line to relocate"
    # Newer ones name their own place, too; ':=', since an include changes MAKEFILE_LIST.
    # shellcheck disable=SC2016
    local own='$(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))'
    sed -i -e "s,^include /usr/src,include $escaped," \
        -e "s|^KBUILD_OUTPUT=/usr/src/.*|KBUILD_OUTPUT := $own|" "$makefile"
}

# Extracts only what the graft compiles: the scheduler, the private headers beside it, and the
# trace events; the source package is thirty times as large.
unpack_source() {
    local deb=$1 into=$2 top=linux-source-$TARGET_VERSION
    mkdir -p "$into"
    dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$top.tar.xz" |
        tar -xJ -C "$into" --strip-components=1 --wildcards --no-wildcards-match-slash \
            "$top/Makefile" "$top/kernel/*.h" "$top/kernel/sched" "$top/include/trace/events" ||
        die "$EXIT_FAILED" "cannot unpack $(basename "$deb"); is there space in $TARGET_CACHE?"
    [[ -s $into/kernel/sched/fair.c ]] ||
        die "$EXIT_FAILED" "$(basename "$deb") has no kernel/sched/fair.c below $top"
}

# All flavours of a version have one source package; the target VERSION may have unpacked it.
copy_source() {
    local sibling
    sibling=$(dirname "$TARGET_CACHE")/$TARGET_VERSION/$VERSION/source
    [[ -s $sibling/kernel/sched/fair.c ]] && cp -r "$sibling" "$1"
}

# Newer packages keep image, configuration and modules together below /usr/lib; put them where
# older ones have them, so that only one layout has to be known.
settle_layout() {
    local root=$1 release
    [[ -d $root/usr/lib/modules ]] || return 0
    release=$(basename "$root"/usr/lib/modules/*)
    mkdir -p "$root/boot" "$root/lib" &&
        mv "$root/usr/lib/modules" "$root/lib/modules" &&
        mv "$root/lib/modules/$release/vmlinuz" "$root/boot/vmlinuz-$release" &&
        mv "$root/lib/modules/$release/config" "$root/boot/config-$release"
}

write_env() {
    local staging=$1 home=$2 image release tools=''
    if ((FOREIGN)); then tools=$(tools_root); fi
    image=$(cd "$staging/root/boot" && ls vmlinuz-*) || return 1
    release=${image#vmlinuz-}
    cat >"$staging/target.env" <<ENV
TARGET='$TARGET'
RELEASE='$release'
PACKAGE_VERSION='$VERSION'
COMPILER='$TARGET_COMPILER'
KDIR='$home/root/usr/src/linux-headers-$release'
SOURCE='$home/source'
IMAGE='$home/root/boot/$image'
CONFIG='$home/root/boot/config-$release'
MODULES='$home/root/lib/modules/$release'
KALLSYMS='$home/kallsyms'
NOTES='$home/notes'
PROC_VERSION='$home/version'
TOOLS_ROOT='$tools'
ENV
}

unpack_version() {
    local staging=$1 home=$2 package deb
    if copy_source "$staging/source"; then unset "PACKAGES[-1]"; fi # the source is the last
    say "downloading ${#PACKAGES[@]} packages of $VERSION"
    mkdir -p "$staging/debs" "$staging/root"
    download_packages "$staging/debs" || return 1
    for package in "${PACKAGES[@]}"; do
        deb=$(echo "$staging/debs/${package}"_*.deb)
        say "unpacking $(basename "$deb")"
        if [[ $package == linux-source-* ]]; then
            unpack_source "$deb" "$staging/source"
        else
            dpkg-deb -x "$deb" "$staging/root" ||
                die "$EXIT_FAILED" "cannot unpack $(basename "$deb") into $staging"
        fi
    done
    rm -r "$staging/debs"
    # Without the headers' vmlinux, kbuild makes no BTF for modules, which would need pahole.
    rm -rf "$staging/root/usr/share" "$staging"/root/usr/src/*/vmlinux
    for package in "${PACKAGES[@]}"; do
        case $package in
            linux-headers-*-common | linux-headers-*-common-*) ;;
            linux-headers-*) relocate_headers "$staging/root" "$package" ;;
        esac
    done
    settle_layout "$staging/root" ||
        die "$EXIT_FAILED" "the image packages of $VERSION have neither /boot nor /usr/lib/modules"
    write_env "$staging" "$home" || die "$EXIT_FAILED" "cannot write $staging/target.env"
}

install_version() {
    local staging home=$TARGET_CACHE/$VERSION
    staging=$(mktemp -d "$TARGET_CACHE/.fetch.XXXXXX")
    chmod 755 "$staging"
    # shellcheck disable=SC2064 # the path is meant as it is now
    trap "rm -rf '$staging'" EXIT
    if ! unpack_version "$staging" "$home"; then
        # Lists older than the archive name files that are gone: look again, once.
        refresh_lists
        resolve_version || return 1
        home=$TARGET_CACHE/$VERSION
        rm -rf "${staging:?}"/*
        unpack_version "$staging" "$home" || return 1
    fi
    mv -T "$staging" "$home" 2>/dev/null || [[ -e $home/target.env ]] ||
        die "$EXIT_FAILED" "cannot move the unpacked kernel to $home"
}

check_host() {
    need_tools apt-get apt-cache dpkg-deb tar xz
    read_foreign
    if ((FOREIGN)); then
        use_foreign_archive "$TARGET_SUITE"
    else
        need_tools "$TARGET_COMPILER"
    fi
}

fall_back_to_cache() {
    local version
    version=$(cached_version)
    [[ -n $version ]] || die "$EXIT_FAILED" "$1, and $TARGET_CACHE holds no version of $TARGET"
    say "$1; using $version from the cache"
}

lab_fetch() {
    local offline=0 argument
    for argument in "$@"; do
        case $argument in
            --offline) offline=1 ;;
            --help) fetch_usage && return ;;
            *) die "$EXIT_USAGE" "fetch: unknown argument '$argument'; see scripts/lab fetch --help" ;;
        esac
    done
    check_host
    mkdir -p "$TARGET_CACHE"
    ((offline)) || fetch_emulator
    if ((offline)); then
        fall_back_to_cache "offline by request"
        return
    fi
    fetch_kernel
    if ((FOREIGN)); then make_tools_root; fi
}

fetch_kernel() {
    resolve_version || { refresh_lists && resolve_version; } || {
        fall_back_to_cache "apt knows no version of $TARGET with image, headers, kbuild and source"
        return
    }
    if [[ -e $TARGET_CACHE/$VERSION/target.env ]]; then
        say "kernel $VERSION is in the cache: $TARGET_CACHE/$VERSION"
        return
    fi
    if install_version; then
        say "kernel $VERSION (${PACKAGES[*]}) is in $TARGET_CACHE/$VERSION"
    else
        fall_back_to_cache "the archive could not be reached"
    fi
}
