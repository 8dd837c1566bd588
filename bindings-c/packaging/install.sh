#!/usr/bin/env bash
# Installs the header, the libraries, and the files for pkg-config and CMake: install.sh
# TARGET_FOLDER PREFIX. DESTDIR is put before the prefix; LIBDIR, by default lib, is below it.
set -euo pipefail

built=$1
prefix=${DESTDIR:-}$2
libdir=${LIBDIR:-lib}
here=$(cd "$(dirname "$0")/.." && pwd)

version=$(sed -nE '/^\[workspace.package\]/,/^$/s/^version = "(.*)"/\1/p' "$here/../Cargo.toml")
abi=$(sed -nE 's/^#define LEASEQ_ABI_VERSION ([0-9]+)$/\1/p' "$here/include/leaseq.h")
lib=$prefix/$libdir

install -d "$prefix/include" "$lib/pkgconfig" "$lib/cmake/leaseq"
install -m 644 "$here"/include/leaseq*.h* "$prefix/include"

install -m 755 "$built/libleaseq_c.so" "$lib/libleaseq.so.$version"
ln -sf "libleaseq.so.$version" "$lib/libleaseq.so.$abi"
ln -sf "libleaseq.so.$abi" "$lib/libleaseq.so"

# One object that exports only leaseq's names: a program may also link another SQLite or other Rust
# code.
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
ld -r -o "$temporary/leaseq.o" --whole-archive "$built/libleaseq_c.a"
# Removes the bitcode of Rust's standard library: it is useless here, and unreadable once joined.
objcopy --wildcard --keep-global-symbol='leaseq_*' --strip-debug \
    --remove-section=.llvmbc --remove-section=.llvmcmd "$temporary/leaseq.o"
rm -f "$lib/libleaseq.a"
ar -rcsD "$lib/libleaseq.a" "$temporary/leaseq.o"
chmod 644 "$lib/libleaseq.a"

# The files locate the prefix relative to themselves, so that it can be moved. From LIBDIR up to the
# prefix:
up=$(sed -E 's,[^/]+,..,g' <<<"$libdir")
for file in pkgconfig/leaseq.pc pkgconfig/leaseq-static.pc cmake/leaseq/leaseq-config.cmake \
    cmake/leaseq/leaseq-config-version.cmake; do
    sed -e "s,@VERSION@,$version,g" -e "s,@ABI@,$abi,g" -e "s,@UP@,$up,g" -e "s,@LIBDIR@,$libdir,g" \
        "$here/packaging/${file##*/}.in" >"$lib/$file"
    chmod 644 "$lib/$file"
done
