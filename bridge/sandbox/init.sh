# Process 1 of a machine: it starts the boot script, reaps what others leave
# behind, and lives as long as $life does. Descriptor 3 is the lifeline from
# the starter, 4 tells it that the machine is up.
set -e
trap 'exit 0' TERM INT PWR # What poweroff sends.
mount -t proc proc /proc
if [ "$SW_DETACHED" = yes ]; then
	sleep infinity 3<&- 4>&- &
else
	cat <&3 >/dev/null 4>&- & # Ends with the starter.
fi
life=$!
exec 3<&-
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	/var/lib/spillway/init 4>&- </dev/null &
echo ready >&4
exec 4>&-
wait "$life"
