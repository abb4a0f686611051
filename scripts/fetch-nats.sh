#!/bin/sh
# fetch-nats <folder>: unpacks the nats-server of Debian 13 (2.10) there, without installing it, and prints its path.
# That of Debian 12 (2.9) has replicas which differ once one of them was killed: it is no use in a cluster.
set -eu
folder=$1
sources=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -v security | head -n 1)
mkdir -p "$folder/parts" "$folder/lists/partial" "$folder/cache/archives/partial"
cat >"$folder/parts/next.sources" <<END
Types: deb
URIs: $sources
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
apt() {
  apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/parts" \
    -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >&2
}
cd "$folder"
apt update
apt download nats-server
dpkg-deb -x nats-server_*.deb "$folder/unpacked"
echo "$folder/unpacked/usr/sbin/nats-server"
