#!/bin/sh
# Tries a machine out: says of each thing "name ok|bad ms text", all in the job's
# comment, separated by bars.
dir=@DIR@ want_gpus=@GPUS@ size_mib=@SIZE@
export LC_ALL=C
now() { date +%s%N; }
said=
say() {
	said="$said|$1 $2 $((($(now) - began) / 1000000)) $(echo "$3" | tr '|=' '/:')"
	scontrol update "JobId=$SLURM_JOB_ID" "Comment=$said" 2>/dev/null
}
rate() { # MiB/s of $size_mib since $began
	ms=$((($(now) - began) / 1000000))
	echo "$((size_mib * 1000 / (ms > 0 ? ms : 1))) MiB/s"
}
file=$dir/.spillway-drill-$SLURM_JOB_ID
local=${TMPDIR:-/tmp}/.spillway-drill-$SLURM_JOB_ID
trap 'rm -f "$file" "$file.new" "$local"' EXIT

began=$(now)
say start ok "$(hostname)"
began=$(now)
if command -v nvidia-smi >/dev/null 2>&1; then
	gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
else
	gpus=$(ls /dev | grep -c '^nvidia[0-9][0-9]*$')
fi
[ "$gpus" -ge "$want_gpus" ] && v=ok || v=bad
say gpus $v "$gpus of $want_gpus"

began=$(now)
if dd if=/dev/zero of="$local" bs=1M count="$size_mib" conv=fsync 2>/dev/null; then
	say disk ok "$(rate) written"
else
	say disk bad "cannot write ${TMPDIR:-/tmp}"
fi

began=$(now)
if answer=$(scontrol ping 2>&1); then
	say network ok "$(echo "$answer" | head -n 1)"
else
	say network bad "the controller does not answer"
fi

began=$(now)
sum=$(echo "$SLURM_JOB_ID $began" | cksum)
if why=$(dd status=none if=/dev/zero of="$file.new" bs=1M count="$size_mib" conv=fsync 2>&1 >/dev/null) && echo "$sum" >>"$file.new" && mv "$file.new" "$file"; then
	say checkpoint-write ok "$(rate)"
else
	say checkpoint-write bad "cannot write $dir: ${why##*: }"
fi
began=$(now)
if got=$(tail -n 1 "$file" 2>/dev/null) && [ "$got" = "$sum" ] && dd if="$file" of=/dev/null bs=1M 2>/dev/null; then
	say checkpoint-read ok "$(rate)"
elif [ ! -e "$file" ]; then
	say checkpoint-read bad "nothing was written"
else
	say checkpoint-read bad "what was written to $dir is not what is read"
fi
for wait in 1 2 4 8 16; do # what was said must arrive
	say end ok - && break
	sleep $wait
done
