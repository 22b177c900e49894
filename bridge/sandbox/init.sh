# Process 1 of a machine, second half: inside its own root. It starts the init
# script, reaps what is left behind by others, and lives as long as $life does.
trap 'exit 0' TERM INT PWR # What poweroff sends.
if [ "$SW_DETACHED" = yes ]; then
	sleep infinity 3<&- 4>&- &
else
	cat <&3 >/dev/null 4>&- & # Ends with the starter.
fi
life=$!
exec 3<&-
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	/bin/sh /var/lib/spillway/boot 4>&- </dev/null &
echo ready >&4
exec 4>&-
wait "$life"
