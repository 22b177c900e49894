# Process 1 of a machine, first half: the host's files are still visible.
# Descriptor 3 is the lifeline from the starter, 4 tells it that all is ready.
set -eu
read -r _ <&3 # Until the starter has plugged the cable in.

mount --make-rprivate /
hostname "$SW_NAME"
ip -batch - <<BATCH
link set lo up
address add $SW_ADDRESS dev eth0
link set eth0 up
route add default via $SW_GATEWAY
BATCH

root=$SW_DIR/root
layers="lowerdir=$SW_IMAGE,upperdir=$SW_DIR/upper,workdir=$SW_DIR/work"
# volatile: nothing of a machine has to survive a crash of the host.
mount -t overlay -o "$layers,volatile" overlay "$root" 2>/dev/null ||
	mount -t overlay -o "$layers" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
# Slurm before 24.11 does not start without a control group mount; an empty one
# of the old kind is enough when it is told to constrain nothing.
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/run"
mount -t tmpfs -o mode=1777,nosuid tmpfs "$root/tmp"
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"

cd "$root/dev"
mknod -m 666 null c 1 3
mknod -m 666 zero c 1 5
mknod -m 666 full c 1 7
mknod -m 666 random c 1 8
mknod -m 666 urandom c 1 9
mknod -m 666 tty c 5 0
mkdir pts shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts pts
mount -t tmpfs -o mode=1777,nosuid tmpfs shm
ln -s pts/ptmx ptmx
ln -s /proc/self/fd fd
ln -s fd/0 stdin
ln -s fd/1 stdout
ln -s fd/2 stderr
gpu=0
while [ "$gpu" -lt "$SW_GPUS" ]; do
	mknod -m 666 "nvidia$gpu" c 1 3 # Any character device will do.
	gpu=$((gpu + 1))
done

printf '%s' "$SW_BINDS" | while IFS='	' read -r from to mode; do
	mkdir -p "$root$to"
	mount --bind "$from" "$root$to"
	[ "$mode" = rw ] || mount -o remount,bind,ro "$root$to"
done

# The old root ends up on top of the new one; taking it away leaves the new.
cd "$root"
pivot_root . .
umount -l .
cd /
exec /bin/sh -c "$SW_INIT"
