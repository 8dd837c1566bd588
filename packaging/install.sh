#!/usr/bin/env bash
# Installs the programs with manual pages, completions and units: install.sh PROGRAMS PREFIX, with the folder where
# cargo left them. DESTDIR is put before the prefix.
set -euo pipefail

programs=$1
prefix=${DESTDIR:-}$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")

for program in leaseq leaseq-cleaner; do
    install -D -m 755 "$programs/$program" "$prefix/bin/$program"
    strip "$prefix/bin/$program"
done

share=$prefix/share
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$programs/leaseq" man "$pages"
"$programs/leaseq-cleaner" --man >"$pages/leaseq-cleaner.1"
install -d "$share/man/man1"
for page in "$pages"/*.1; do
    # Without the time, so that the same page is the same file.
    gzip -9 -n <"$page" >"$share/man/man1/${page##*/}.gz"
done
complete() {
    install -d "$share/$2"
    "$programs/leaseq" completion "$1" >"$share/$2/$3"
}
complete bash bash-completion/completions leaseq
complete zsh zsh/vendor-completions _leaseq
complete fish fish/vendor_completions.d leaseq.fish

install -d "$prefix/lib/systemd/system" "$share/doc/leaseq"
for unit in "$top"/cleaner/packaging/*.service; do
    sed "s,/usr/local/bin/,$2/bin/," "$unit" >"$prefix/lib/systemd/system/${unit##*/}"
done
install -m 644 "$top"/cleaner/packaging/{cleaner.toml,alerts.yaml,grafana-dashboard.json} \
    "$top"/core/docs/users.acl "$top"/{README,CHANGELOG}.md "$top"/LICENSE-{MIT,APACHE} "$share/doc/leaseq"
