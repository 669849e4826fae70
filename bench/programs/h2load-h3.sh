#!/bin/sh
# Run inside the Debian sid root as its root: builds that suite's nghttp2 with HTTP/3, of which Debian's own h2load has none.
set -e
[ -x /usr/local/bin/h2load-h3 ] && exit 0
echo 'deb-src http://deb.debian.org/debian sid main' >/etc/apt/sources.list.d/sources.list
# The suite's index may be older than it promises.
apt-get -qq -o Acquire::Check-Valid-Until=false update
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends g++ make pkgconf \
  libngtcp2-dev libngtcp2-crypto-ossl-dev libnghttp3-dev libssl-dev libev-dev libc-ares-dev zlib1g-dev >/dev/null
folder=$(mktemp -d)
cd "$folder"
# Signature and Debian's changes may not be mirrored; the program's own source is enough.
apt-get source --download-only nghttp2 >/dev/null 2>&1 || true
tar xf nghttp2_*.orig.tar.*
cd nghttp2-*/
./configure --disable-shared --enable-app --enable-http3 --disable-hpack-tools --disable-examples --without-systemd \
  --without-jansson --without-libxml2 --without-neverbleed >/dev/null
for part in lib third-party; do make -s -j2 -C $part >/dev/null 2>&1; done
make -s -j2 -C src h2load >/dev/null 2>&1
install -m 755 src/h2load /usr/local/bin/h2load-h3
cd /
rm -rf "$folder"
