#!/bin/sh
# Boot script of a machine rented by Spillway: enrol, join the cluster, and be
# off by the end of the rental whatever happens. It holds no secret but a
# ticket that is good for one enrolment of this very machine.
set -u
umask 077
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
url=@URL@
ticket=@TICKET@
expires=@EXPIRES@
metadata=http://169.254.169.254/latest
dir=/var/lib/spillway/enrol

mkdir -p "$dir" /var/log
exec >>/var/log/spillway-boot.log 2>&1 </dev/null
trap '' HUP

say() { echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) $*"; }
uptime_s() { cut -d. -f1 /proc/uptime; }

# off_at is the end of the rental on a clock that nobody can set.
off_at=$(($(uptime_s) + expires - $(date +%s)))

fetch() {
	token=$(curl -sf -m 2 --noproxy '*' -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "$metadata/api/token") || token=
	curl -sf -m 5 --noproxy '*' ${token:+-H "X-aws-ec2-metadata-token: $token"} "$metadata/meta-data/$1"
}

off() {
	say "$1: power off"
	poweroff || poweroff -f || shutdown -h now
}

# ask_end learns of an extension: from the bridge once enrolled, and from the
# tags of the machine. It prints a time, or "now" when the rental is over.
ask_end() {
	if [ -s "$dir/lease" ]; then
		code=$(sed 's/^/Authorization: Bearer /' "$dir/lease" | curl -s -m 10 --noproxy '*' --cacert "$dir/ca.pem" \
			-H @- -o "$dir/term" -w '%{http_code}' "${url%/*}/lease")
		[ "$code" != 410 ] || { echo now; return; }
		[ "$code" != 200 ] || { value expires <"$dir/term"; return; }
	fi
	fetch tags/instance/spillway-expires
}

# The machine switches itself off at the end of its rental.
watch_end() {
	known=$expires
	while :; do
		end=$(ask_end)
		[ "$end" != now ] || off "the rental has ended"
		at=$(date -u -d "${end:-none}" +%s 2>/dev/null) && [ "$at" -ne "$known" ] && {
			say "the rental ends at $end"
			off_at=$((off_at + at - known))
			known=$at
		}
		left=$((off_at - $(uptime_s)))
		[ "$left" -gt 0 ] || off "the rental is over"
		[ "$left" -gt 0 ] && [ "$left" -lt 15 ] || left=15
		sleep "$left"
	done
}

# Jobs must not read this script or tags from the metadata service.
close_metadata() {
	ip rule add pref 1 to 169.254.169.254 uidrange 1-4294967294 prohibit &&
		ip rule add pref 2 lookup local && ip rule del pref 0 && return
	iptables -I OUTPUT -d 169.254.169.254 -m owner ! --uid-owner 0 -j REJECT && return
	say "the metadata service stays open to jobs: neither ip rule nor iptables can close it"
}

# again retries a step, at first soon and then every half minute.
again() {
	pause=1
	until "$@"; do
		say "$1 failed; again in $pause s"
		sleep "$pause"
		pause=$((pause * 2))
		[ "$pause" -le 30 ] || pause=30
	done
}

identify() { instance=$(fetch instance-id) && [ -n "$instance" ]; }

enrol() {
	code=$(printf '{"ticket":"%s","instance":"%s"}' "$ticket" "$instance" |
		curl -sS -m 20 --noproxy '*' --cacert "$dir/ca.pem" -H 'Content-Type: application/json' \
			--data-binary @- -o "$dir/answer" -w '%{http_code}' "$url") || return 1
	case $code in
	200) [ -n "$(answer node)" ] && return ;;
	401 | 403) off "enrolment is refused for good ($code: $(head -c 300 "$dir/answer"))" ;;
	esac
	say "enrolment answered $code"
	return 1
}

# value prints one value of a flat JSON object of strings.
value() { tr -d '\n' | sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p'; }
answer() { value "$1" <"$dir/answer"; }

name_host() {
	hostname "$node"
	grep -q " $node\$" /etc/hosts || echo "127.0.1.1 $node" >>/etc/hosts
	answer hosts | tr ',' '\n' | while read -r address name; do
		[ -z "$name" ] || getent hosts "$name" >/dev/null || echo "$address $name" >>/etc/hosts
	done
	chmod 644 /etc/hosts
}

start_munge() {
	install -d -o munge -g munge -m 700 /etc/munge || return 1
	answer munge_key | base64 -d >/etc/munge/munge.key || return 1
	chown munge:munge /etc/munge/munge.key && chmod 400 /etc/munge/munge.key || return 1
	if [ -d /run/systemd/system ]; then
		systemctl restart munge
		return
	fi
	install -d -o munge -g munge -m 755 /run/munge || return 1
	munge -n >/dev/null 2>&1 || setpriv --reuid=munge --regid=munge --clear-groups munged
}

write_conf() {
	files=$(answer conf_files)
	[ -n "$files" ] || return 0
	mkdir -p -m 755 /etc/slurm
	echo "$files" | base64 -d | tar -xz --no-same-owner -C /etc/slurm && chmod -R u=rwX,go=rX /etc/slurm
}

# run_slurmd starts the node's daemon and starts it again when it ends.
run_slurmd() {
	install -d -m 755 /var/lib/slurm /var/lib/slurm/slurmd /var/spool/slurmd /var/log/slurm /run/slurm
	set -- -D -Z -N "$node" --conf "$(answer slurmd_conf)"
	[ -n "$(answer conf_files)" ] || set -- "$@" --conf-server "$(answer controllers)"
	rm -f "$dir/answer"
	if [ -d /run/systemd/system ]; then
		systemctl disable --now slurmd
		systemd-run --unit=spillway-slurmd -p Delegate=yes -p KillMode=process -p LimitMEMLOCK=infinity \
			-p Restart=always -p RestartSec=5 slurmd "$@"
		return
	fi
	while :; do
		slurmd "$@"
		say "slurmd ended with $?"
		sleep 5
	done
}

cat >"$dir/ca.pem" <<'CA'
@CA@
CA
say "boot"
watch_end &
again identify
close_metadata
again enrol
node=$(answer node)
answer lease >"$dir/lease"
say "enrolled as $node"
name_host
again start_munge
write_conf || say "writing the configuration failed"
# A site may hold jobs back until its mounts and devices are there.
[ ! -x /etc/spillway/ready ] || again /etc/spillway/ready
umask 022
say "start slurmd"
run_slurmd &
