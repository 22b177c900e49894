#!/bin/sh
# Boot script of a machine rented by Spillway: closes the metadata service to
# jobs, fetches the agent, and runs it. It holds no secret but a ticket that is
# good for one enrolment of this very machine. Whatever happens to the agent, it
# switches the machine off, or gives it back, at the end of the rental.
set -u
umask 077
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
url=@URL@
sum=@SUM@
arch=@ARCH@
expires=@EXPIRES@
dir=/var/lib/spillway/enrol
installed=/usr/local/bin/spillway
fetched=/var/lib/spillway/bin/spillway

mkdir -p "$dir" "${fetched%/*}" /var/log
exec >>/var/log/spillway-boot.log 2>&1 </dev/null
trap '' HUP

say() { echo "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ) $*"; }
uptime_s() { cut -d. -f1 /proc/uptime; }

# off_at is the end of the rental on a clock that nobody can set. A day's clock
# that says it is over already may be wrong: the agent asks the bridge first.
left=$((expires - $(date +%s)))
[ "$left" -gt 300 ] || left=300
off_at=$(($(uptime_s) + left))

# off ends the machine: one that was lent to us is given back, any other is
# switched off.
off() {
	if [ -e "$dir/release" ]; then
		say "$1: give the machine back"
		"$dir/release"
		return
	fi
	say "$1: power off"
	poweroff || poweroff -f || shutdown -h now
}

# watch_end is the last resort: the agent, which hears of extensions, writes the
# end where it is read here.
watch_end() {
	while :; do
		end=$(cat "$dir/end" 2>/dev/null) && [ -n "$end" ] || end=$off_at
		left=$((end - $(uptime_s)))
		[ "$left" -gt 0 ] || off "the rental is over"
		[ "$left" -gt 0 ] && [ "$left" -lt 15 ] || left=15
		sleep "$left"
	done
}

# Jobs must not read this script or tags from the metadata service.
close_metadata() {
	for at in 169.254.169.254 169.254.0.23 100.100.100.200; do
		ip rule add pref 1 to $at uidrange 1-4294967294 prohibit || closed=no
	done
	[ -z "${closed:-}" ] && ip rule add pref 2 lookup local && ip rule del pref 0 && return
	for at in 169.254.169.254 169.254.0.23 100.100.100.200; do
		iptables -I OUTPUT -d $at -m owner ! --uid-owner 0 -j REJECT || {
			say "the metadata service stays open to jobs: neither ip rule nor iptables can close it"
			return
		}
	done
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

ask() { curl -sS --noproxy '*' --cacert "$dir/ca.pem" "$@"; }

# tell says what keeps the agent from running, in words that need no quoting.
tell() {
	text=$(printf '%s' "$1" | tr '\n' ' ' | tr -cd 'A-Za-z0-9 ._:/,=()-' | cut -c1-300)
	code=$({ printf '{"ticket":"' && tr -d '\n' <"$dir/ticket" && printf '","text":"%s"}' "$text"; } |
		ask -m 20 -H 'Content-Type: application/json' --data-binary @- -o /dev/null -w '%{http_code}' "$url/v1/fault") || return 1
	case $code in 200 | 401 | 403) ;; *) return 1 ;; esac
}

# give_up tells why, and waits to be given back; a bridge that does not do so
# has it switch itself off.
give_up() {
	say "$1"
	again tell "$1"
	sleep 600
	off "nobody gave the machine back"
	exit 1
}

is_agent() { [ -x "$1" ] && [ "$(sha256sum <"$1" | cut -c1-64)" = "$sum" ]; }

# fetch_agent takes the agent that the image brings, or gets it from the bridge.
fetch_agent() {
	for agent in "$installed" "$fetched"; do
		is_agent "$agent" && return
	done
	code=$(sed 's/^/Authorization: Bearer /' "$dir/ticket" |
		ask -m 600 -H @- -o "$agent.new" -w '%{http_code}' "$url/v1/agent?sum=$sum") || return 1
	case $code in
	200) chmod 700 "$agent.new" ;;
	401) off "the agent is refused for good" ;;
	404) give_up "the bridge does not keep this agent any more" ;;
	*) say "asking for the agent was answered $code" && return 1 ;;
	esac
	is_agent "$agent.new" || { say "what came is not the agent" && return 1; }
	said=$("$agent.new" version --output json 2>&1 >/dev/null) || give_up "the agent cannot run here: $said"
	mv "$agent.new" "$agent"
}

printf '%s\n' @TICKET@ >"$dir/ticket"
cat >"$dir/ca.pem" <<'CA'
@CA@
CA
say "boot"
watch_end &
[ -e "$dir/instance" ] || close_metadata # A machine that was told who it is asks no service.
[ "$(uname -m)" = "$arch" ] || give_up "the agent is for $arch, this machine is $(uname -m)"
again fetch_agent
say "start the agent"
set -- "$agent" node --url "$url" --ca "$dir/ca.pem" --ticket "$dir/ticket" --dir "$dir" --expires "$expires"
if [ -d /run/systemd/system ]; then
	systemd-run --unit=spillway-node -p StartLimitIntervalSec=0 -p Restart=always -p RestartSec=2 -p KillMode=process -p TimeoutStopSec=40 \
		-p StandardOutput=append:/var/log/spillway-boot.log -p StandardError=append:/var/log/spillway-boot.log "$@" && exit
fi
while :; do
	"$@"
	say "the agent ended with $?"
	sleep 2
done &
