#!/bin/sh
# Installs the Debian packages that a target needs and that are missing, and
# names each. Nothing is configured, enabled or started: Spillway keeps its
# servers in namespaces and images of its own.
#
#   packages.sh demo    network namespaces and the builder of the Slurm image
#   packages.sh test    the same, what the tests look through, a browser with
#                       fonts (Node.js itself comes with the npm packages),
#                       Amazon's own clients, which judge the local cloud, and
#                       a Prometheus, whose service is masked: tests run its program
set -eu

case "${1:-}" in
demo) want="mmdebstrap ip:iproute2 nsenter:util-linux" ;;
test)
	noto=/usr/share/fonts
	want="mmdebstrap ip:iproute2 nsenter:util-linux strace gcc curl npm chromium fc-match:fontconfig prometheus"
	want="$want ssh:openssh-client /usr/bin/aws:awscli /usr/lib/python3/dist-packages/boto3:python3-boto3"
	want="$want $noto/opentype/noto/NotoSansCJK-Regular.ttc:fonts-noto-cjk $noto/truetype/noto/NotoColorEmoji.ttf:fonts-noto-color-emoji"
	;;
*) echo "usage: packages.sh demo|test" >&2; exit 2 ;;
esac

missing=""
for w in $want; do
	command -v "${w%%:*}" >/dev/null 2>&1 || [ -e "${w%%:*}" ] || [ -x "/usr/sbin/${w%%:*}" ] || missing="$missing ${w##*:}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "spillway: missing on this machine:$missing (no apt-get here: install them yourself and try again)" >&2
	exit 1
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null 2>&1 || { echo "spillway: installing$missing needs root, and there is no sudo" >&2; exit 1; }
	echo "spillway: sudo is asked for one step: apt-get install$missing" >&2
	as_root=sudo
fi
echo "spillway: installing Debian packages:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq >&2
case "$missing " in
*" prometheus "*)
	# Its package would start a server, now and at each boot.
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		trap '$as_root rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' | $as_root tee /usr/sbin/policy-rc.d >/dev/null
		$as_root chmod 755 /usr/sbin/policy-rc.d
	fi
	$as_root mkdir -p /etc/systemd/system
	[ -e /etc/systemd/system/prometheus.service ] || $as_root ln -s /dev/null /etc/systemd/system/prometheus.service
	;;
esac
# shellcheck disable=SC2086 # one word per package
$as_root apt-get install -y -qq --no-install-recommends $missing >&2
