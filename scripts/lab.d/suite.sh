# shellcheck shell=bash
# Targets of another Debian release than the host's: that release's archive, and its compiler.
#
#   CACHE/apt/SUITE      apt's state for the suite; the host's own sources and lists stay as they are
#   CACHE/tools/SUITE-…  a root with the suite's compiler and make, shared by the suite's targets
#
# A kernel is only reproduced by the very compiler that built it, and kbuild's own programs in the
# headers package are linked against that release's libraries. So both run in a root of that
# release (fairswitch build --root), while everything else is the host's.

readonly TOOLS_PACKAGES=(make libelf1t64 libssl3t64 zlib1g)

host_suite() {
    sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

# trixie of trixie-backports.
release_of() {
    printf '%s\n' "${1%-backports}"
}

# Sets FOREIGN to 1 if the target's kernel is of another release than the host.
read_foreign() {
    local release
    release=$(release_of "$TARGET_SUITE")
    # shellcheck disable=SC2034 # read by fetch
    if [[ $(host_suite) == "$release" ]]; then FOREIGN=0; else FOREIGN=1; fi
}

# Prints the address of the Debian archive that the host uses.
host_archive() {
    # shellcheck disable=SC2016 # apt's variables, not the shell's
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v suite="$(host_suite)" '$1 == suite { print $2; exit }'
}

# Makes apt look at suite $1, for this process and what it starts.
use_foreign_archive() {
    local suite=$1 archive home release keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    home=$(dirname "$TARGET_CACHE")/apt/$suite
    release=$(release_of "$suite")
    archive=$(host_archive)
    [[ -n $archive ]] || die "$EXIT_IMPOSSIBLE" \
        "apt has no archive of Debian $(host_suite); expected one in /etc/apt/sources.list*"
    [[ -e $keyring ]] || die "$EXIT_IMPOSSIBLE" "missing $keyring; run: scripts/setup"
    mkdir -p "$home/lists/partial" "$home/archives/partial"
    {
        printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$archive" "$release"
        [[ $release == "$suite" ]] ||
            printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$archive" "$suite"
    } >"$home/sources.list"
    # Only what differs: proxies and the like stay the host's.
    cat >"$home/apt.conf" <<CONF
Dir::Etc::sourcelist "$home/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$home/lists";
Dir::State::status "/dev/null";
Dir::Cache "$home";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
CONF
    export APT_CONFIG=$home/apt.conf
}

# Prints the tools' root of the target.
tools_root() {
    printf '%s/tools/%s-%s\n' "$(dirname "$TARGET_CACHE")" "$(release_of "$TARGET_SUITE")" \
        "$TARGET_COMPILER"
}

# make_root DIR RELEASE VARIANT PACKAGES: the packages of a Debian release, and what they need, in
# DIR; VARIANT is mmdebstrap's. A half-made one never gets its name.
make_root() {
    local root=$1 release=$2 variant=$3 packages=$4 staging
    need_tools mmdebstrap
    mkdir -p "$(dirname "$root")"
    staging=$(mktemp -d "$(dirname "$root")/.making.XXXXXX")
    # shellcheck disable=SC2064 # the path is meant as it is now
    trap "rm -rf '$staging'" EXIT
    env -u APT_CONFIG mmdebstrap --quiet --variant="$variant" --include="$packages" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        "$release" "$staging/root" "$(dirname "$APT_CONFIG")/sources.list" >&2 ||
        die "$EXIT_FAILED" "mmdebstrap could not make a root of Debian $release; its reason is above"
    mv -T "$staging/root" "$root" 2>/dev/null || [[ -d $root ]] ||
        die "$EXIT_FAILED" "cannot move the new root to $root"
    rm -rf "$staging"
    say "the root is in $root"
}

# Makes the tools' root unless it is there.
make_tools_root() {
    local root release packages
    root=$(tools_root)
    release=$(release_of "$TARGET_SUITE")
    [[ ! -d $root ]] || return 0
    say "making a root with $TARGET_COMPILER of Debian $release, once: about a minute, 300 MB"
    packages=$(IFS=, && printf '%s' "$TARGET_COMPILER,${TOOLS_PACKAGES[*]}")
    make_root "$root" "$release" essential "$packages"
}
