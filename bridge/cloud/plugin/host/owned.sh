#!/bin/sh
# Lends a machine and gives it back. It comes over SSH, and lies on the machine
# while that is lent: DO ID, where DO is look, start, extend or release. What it
# must say it says in its last line.
set -u
umask 077
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
unset SPILLWAY_OWNED

base=/var/lib/spillway
own=$base/owned     # what was there before, and whose the machine is
dir=$base/enrol     # the agent's folder, see boot.sh of the scheduler
files="/etc/hosts /etc/munge /etc/slurm"
# Where the scheduler's daemons and their jobs leave things.
traces="/var/lib/slurm /var/spool/slurmd /var/log/slurm /run/slurm /run/munge /var/lib/munge /var/log/munge $base/bin $base/bin/spillway /var/log/spillway-boot.log /var/log/spillway-slurmd.log /run/spillway-slurmd"
scratch="/tmp /var/tmp /dev/shm"

done_with() { echo "spillway-owned $1 $id"; exit 0; }
refuse() { echo "spillway-refused $1: $2"; exit 1; }
fail() { echo "spillway-failed $1"; exit 1; }

owner() { cat "$own/id" 2>/dev/null; }
under_systemd() { [ -d /run/systemd/system ]; }
boot_id() { cat /proc/sys/kernel/random/boot_id; }

# lock keeps two of us apart; it is let go with the process.
lock() {
	# It stays: a lock file that is removed is no lock for those who wait.
	exec 9>/run/spillway-owned.lock || fail "cannot write to /run"
	flock -w 20 9 || fail "another is at work on this machine"
}

look() {
	[ "$(id -u)" = 0 ] || refuse NotRoot "commands do not run as root"
	for tool in flock setsid awk grep stat sed base64 find umount; do
		command -v "$tool" >/dev/null || refuse MissingTool "the machine has no $tool"
	done
	mkdir -p "$base" && echo >"$base/.try" && rm "$base/.try" || refuse NoSpace "cannot write to $base"
	have=$(owner)
	[ -z "$have" ] || [ "$have" = "$id" ] || refuse InUse "it is lent to $have already"
}

# processes are "pid start session" of all that live. A name may hold anything:
# what counts is the last line of a process, under its own path.
processes() {
	grep -sH '' /proc/[0-9]*/stat | awk '
		{ split($0, path, "/"); line = $0; if (sub(/^.*\) /, "", line)) last[path[3]] = line }
		END { for (p in last) { split(last[p], f, " "); if (f[1] != "Z") print p, f[20], f[4] } }'
}

mounts() { awk '{ print $5 }' /proc/self/mountinfo | sort; }

listing() {
	for d in $traces; do
		[ -e "$d" ] && find "$d" -xdev
	done | sort -u
}

# remember writes down how the machine is before anything is changed.
remember() {
	rm -rf "$own/files" && mkdir -p "$own/files" || return 1
	for f in $files; do
		[ -e "$f" ] || continue
		mkdir -p "$own/files${f%/*}" && cp -a "$f" "$own/files$f" || return 1
	done
	if under_systemd; then
		systemctl is-active munge >"$own/munge" 2>/dev/null
	fi
	uname -n >"$own/hostname" && boot_id >"$own/boot" && mounts >"$own/mounts" && listing >"$own/listing" &&
		processes | awk '{ print $1 ":" $2 }' >"$own/processes" && echo saved >"$own/saved" || return 1
	sync
}

started() { [ -e "$own/started" ] || grep -lzsF "SPILLWAY_OWNED=$id" /proc/[0-9]*/environ | grep -q .; }

start() {
	look
	lock
	look
	if [ "$(owner)" = "$id" ] && started; then
		done_with started
	fi
	if [ -z "$(owner)" ]; then
		rm -rf "$own" && mkdir -p "$own" && echo "$id" >"$own/id.new" && mv "$own/id.new" "$own/id" || fail "cannot write to $own"
	fi
	[ -e "$own/saved" ] || remember || fail "cannot write down how the machine is"
	rm -rf "$dir" && mkdir -p "$dir" || fail "cannot make $dir"
	printf '%s\n' "$id" >"$dir/instance" && printf '%s\n' "$expires" >"$dir/expires" &&
		printf '%s' "$self" | base64 -d >"$dir/release" && chmod 700 "$dir/release" &&
		printf '%s' "$boot" | base64 -d >"$own/boot.sh" && chmod 700 "$own/boot.sh" || fail "no space for the boot script"
	setsid env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 "SPILLWAY_OWNED=$id" "$own/boot.sh" </dev/null >/dev/null 2>&1 9>&- &
	echo started >"$own/started" || fail "no space"
	done_with started
}

extend() {
	lock
	[ "$(owner)" = "$id" ] || done_with extended
	printf '%s\n' "$expires" >"$dir/expires.new" && mv "$dir/expires.new" "$dir/expires" || fail "cannot write the new end"
	done_with extended
}

# spared are this very program and those it hangs on.
spared() {
	p=$$
	while [ "${p:-0}" -gt 1 ]; do
		echo "$p"
		p=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$p/status" 2>/dev/null)
	done
}

# theirs are the processes to end: all that came from the boot script, all of
# jobs, the scheduler's daemons, and all of ordinary users that were not there
# before. After a restart of the machine nobody knows which of the latter were.
theirs() {
	{
		spared | sed 's/^/spare /'
		if [ "$(boot_id)" = "$(cat "$own/boot")" ]; then
			echo users
			sed 's/^/before /' "$own/processes"
		fi
		stat -c 'uid %u %n' /proc/[0-9]* 2>/dev/null
		grep -lzsE '^(SLURM_JOB_ID|SPILLWAY_OWNED)=' /proc/[0-9]*/environ | sed -n 's,^/proc/\([0-9]*\)/.*,marked \1,p'
		grep -lsxE 'slurmd|slurmstepd' /proc/[0-9]*/comm | sed -n 's,^/proc/\([0-9]*\)/.*,marked \1,p'
		processes | sed 's/^/is /'
	} | awk -v self=$$ '
		$1 == "spare" { spare[$2] = 1 }
		$1 == "users" { users = 1 }
		$1 == "before" { before[$2] = 1 }
		$1 == "marked" { marked[$2] = 1 }
		$1 == "uid" { sub(/^.*\//, "", $3); uid[$3] = $2 }
		$1 == "is" { start[$2] = $3; session[$2] = $4 }
		END {
			for (p in start) {
				if (p in spare || session[p] == session[self] || (p ":" start[p]) in before) continue
				if (p in marked || users && uid[p] >= 1000 && uid[p] != 65534) print p
			}
		}'
}

end_processes() {
	under_systemd && systemctl stop spillway-node spillway-slurmd >/dev/null 2>&1
	under_systemd && systemctl reset-failed spillway-node spillway-slurmd >/dev/null 2>&1
	round=0
	while :; do
		left=$(theirs | tr '\n' ' ')
		[ -n "$left" ] || return 0
		round=$((round + 1))
		[ "$round" -le 50 ] || fail "processes do not end: $left"
		# Stopped first, so that none makes another while they are ended.
		kill -STOP $left 2>/dev/null
		kill -KILL $left 2>/dev/null
		sleep 0.1
	done
}

unmount() {
	[ "$(boot_id)" = "$(cat "$own/boot")" ] || return 0
	for round in 1 2 3; do
		mounts | sort -r | grep -vxFf "$own/mounts" | while read -r m; do umount "$(printf '%b' "$m")"; done 2>/dev/null
	done
	left=$(mounts | grep -vxFf "$own/mounts" | tr '\n' ' ')
	[ -z "$left" ] || fail "still mounted: $left"
}

restore() {
	for f in $files; do
		was=$own/files$f
		if [ -f "$was" ]; then
			# In place: it may be a mount of its own.
			cmp -s "$was" "$f" || cat "$was" >"$f" || return 1
		elif [ -d "$was" ]; then
			rm -rf "$f" && cp -a "$was" "$f" || return 1
		else
			rm -rf "$f" || return 1
		fi
	done
	cat "$own/hostname" >/proc/sys/kernel/hostname || return 1
	if under_systemd; then
		case $(cat "$own/munge") in
		active) systemctl restart munge ;;
		*) systemctl stop munge >/dev/null 2>&1 ;;
		esac
	fi
	return 0
}

sweep() {
	listing | sort -r | grep -vxFf "$own/listing" | while read -r f; do
		if [ -d "$f" ] && [ ! -L "$f" ]; then rmdir "$f"; else rm -f "$f"; fi
	done
	left=$(listing | grep -vxFf "$own/listing" | tr '\n' ' ')
	[ -z "$left" ] || fail "cannot be removed: $left"
	for d in $scratch; do
		[ -d "$d" ] && find "$d" -xdev -mindepth 1 -depth -cnewer "$own/saved" -uid +999 ! -uid 65534 -delete 2>/dev/null
	done
	rm -rf "$dir"
}

release() {
	[ "$(id -u)" = 0 ] || refuse NotRoot "commands do not run as root"
	lock
	[ "$(owner)" = "$id" ] || done_with released
	if [ -e "$own/saved" ]; then
		end_processes
		unmount
		restore || fail "cannot put back what was there"
		sweep
	fi
	# Whose it is goes last: until then all of this is done again.
	mv "$own/id" "$own/was" && rm -rf "$own" || fail "cannot remove $own"
	rmdir "$base" 2>/dev/null
	done_with released
}
