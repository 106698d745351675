# Read by benchmarks that need a kernel of their own: a Debian kernel under QEMU with files in its memory.
# Set before: name (for messages) and top (of the project); device, one that QEMU must have; launcher, if QEMU is to be
# started by a program. Downloads stay in build/guest.
# After `prepare`: $work, removed at the end; $root, the guest's files; $image and $busybox.

# Ends with 2: something is missing here. A guest that fails ends with 1.
die() { echo "$name: $*" >&2; exit 2; }

prepare() {
    [ -x "$top/.venv/bin/python" ] || die "no .venv; run tools/setup test"
    cache=$top/build/guest
    mkdir -p "$cache"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    find_qemu
    image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
    [ -n "$image" ] || die "apt knows no linux-image-amd64; run apt-get update"
    fetch "$image"
    fetch busybox-static
    busybox=$work/busybox-static/bin/busybox
    root=$work/root
    mkdir -p "$root"
    (cd "$root" && mkdir -p bin dev proc sys tmp modules)
    cp "$busybox" "$root/bin/busybox"
}

# Sets qemu to one with the device: that which is installed, or one below build/guest from the packages of apt, which needs
# no root. That of Debian 12 is old, and a newer one is among its backports.
find_qemu() {
    qemu=qemu-system-x86_64
    ! has_device || return 0
    tree=$cache/qemu
    [ -e "$tree/.whole" ] || unpack_qemu
    libraries=$(echo "$tree"/usr/lib/*-linux-gnu "$tree"/lib/*-linux-gnu | tr " " :)
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s -L %s -L %s "$@"\n' "$libraries" \
        "$tree/usr/bin/qemu-system-x86_64" "$tree/usr/share/qemu" "$tree/usr/share/seabios" >"$work/qemu"
    chmod +x "$work/qemu"
    qemu=$work/qemu
    has_device || die "the qemu-system-x86 that apt has lacks $device"
}

has_device() { "$qemu" -device help 2>/dev/null | grep -q "\"${device:-e1000}\""; }

# What is installed here is not downloaded again.
unpack_qemu() {
    rm -rf "$tree"
    mkdir -p "$tree" "$work/apt/sources" "$work/apt/archives/partial"
    cp -a /var/lib/apt/lists "$work/apt/lists"
    mkdir -p "$work/apt/lists/partial"
    cp /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list "$work/apt/sources/" 2>/dev/null || :
    release=
    if [ "$(. /etc/os-release && echo "$VERSION_CODENAME")" = bookworm ]; then
        release=--target-release=bookworm-backports
        mirror=$(apt-cache policy | sed -n 's/.* \(http[^ ]*\/debian\) bookworm\/main amd64 .*/\1/p' | head -n 1)
        [ -n "$mirror" ] || die "apt knows no mirror of bookworm; run apt-get update"
        echo "deb $mirror bookworm-backports main" >"$work/apt/backports.list"
        ask_apt -o Dir::Etc::SourceList="$work/apt/backports.list" -o Dir::Etc::SourceParts=- \
            -o APT::Get::List-Cleanup=false update
        cp "$work/apt/backports.list" "$work/apt/sources/"
    fi
    ask_apt -o Dir::Etc::SourceParts="$work/apt/sources" install --yes --download-only $release qemu-system-x86
    for package in "$work"/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$tree" --keep-directory-symlink --no-same-owner
    done
    touch "$tree/.whole"
}

ask_apt() {
    apt-get -q -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt" -o APT::Install-Recommends=false \
        -o APT::Sandbox::User= -o Debug::NoLocking=true "$@" >"$work/apt/log" 2>&1 ||
        die "apt-get cannot get qemu-system-x86: $(grep -m 1 '^E:' "$work/apt/log")"
}

fetch() {
    ls "$cache/$1"_*.deb >/dev/null 2>&1 || (cd "$cache" && apt-get download "$1" >/dev/null 2>&1) ||
        die "cannot download $1; run apt-get update"
    dpkg -x "$(ls "$cache/$1"_*.deb | tail -n 1)" "$work/$1"
}

# Modules of the kernel, in the order in which they must be loaded; what is built in has no file.
add_modules() {
    number=10
    for module; do
        file=$(find "$work/$image" -name "$module.ko" | head -n 1)
        [ -z "$file" ] || cp "$file" "$root/modules/$number-$module.ko"
        number=$((number + 1))
    done
}

# The libraries that programs need.
add_libraries_of() {
    for library in $(ldd "$@" | sed -n 's/^\(.* \)\{0,1\}[[:space:]]*\(\/[^ ]*\) (.*/\2/p' | sort -u); do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
}

# Python with our package and what of the packages it needs is named: `run_python` in the guest runs a file with it.
add_python() {
    python=$top/.venv/bin/python
    binary=$(readlink -f "$python")
    mkdir -p "$root/python/lib" "$root/packages"
    cp "$binary" "$root/bin/python3"
    standard=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    (cd "$(dirname "$standard")" && tar -c --exclude=site-packages --exclude=test --exclude=idlelib --exclude=tkinter \
        --exclude=ensurepip --exclude=lib2to3 --exclude='config-*' --exclude=turtledemo --exclude='*.a' \
        --exclude='*.opt-?.pyc' "$(basename "$standard")") | tar -x -C "$root/python/lib"
    (cd "$top/python" && tar -c brimful) | tar -x -C "$root/packages"
    for package; do
        cp -a "$("$python" -c "import $package; print($package.__path__[0])")" "$root/packages/"
    done
    add_libraries_of "$binary" $(find "$root/packages" "$root/python" -name '*.so' ! -name '_tkinter*')
    printf '#!/bin/sh\nPYTHONHOME=/python PYTHONPATH=/packages exec python3 -S -B "$@"\n' >"$root/bin/run_python"
    chmod +x "$root/bin/run_python"
}

# SECONDS [OPTIONS OF QEMU]: what the guest says is then in $work/console.
boot() {
    limit_seconds=$1; shift
    (cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initramfs"
    status=0
    timeout "$limit_seconds" ${launcher:-} "$qemu" -accel tcg -m 768 -nographic -no-reboot "$@" \
        -kernel "$(find "$work/$image/boot" -name 'vmlinuz-*' | head -n 1)" -initrd "$work/initramfs" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off" </dev/null >"$work/raw" 2>&1 || status=$?
    tr -d '\r' <"$work/raw" >"$work/console"
    [ "$status" != 124 ] || { cat "$work/console"; echo "$name: no answer in $limit_seconds s" >&2; exit 1; }
}
