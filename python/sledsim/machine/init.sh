#!/usr/bin/bash
# The init program of the guest: creates a file system, starts the device server, mounts the device, runs the program, and
# sends the results through the second serial port. The settings are in `/run.env`.
export PATH=/usr/bin:/usr/sbin:/applets LC_ALL=C
/usr/bin/busybox mkdir -p /applets /proc /sys /dev /tmp /store /mnt /out
/usr/bin/busybox --install -s /applets
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o size=90% store /store
mount -t cgroup2 group /sys/fs/cgroup
. /run.env

# Sends the files of /out through the second serial port and ends the machine.
leave() {
    dmesg > /out/kernel
    stty -F /dev/ttyS1 raw -echo
    tar -c -z -C /out . > /dev/ttyS1
    reboot -f
    sleep 100
}
fail() {
    echo "$1" > /out/failed
    echo "machine: $1"
    leave
}
# Prints the processor time of all kernel threads, ns. They are the processes without a command line.
kernel_ns() {
    local sum=0 stat line
    for stat in /proc/[0-9]*/schedstat; do
        line=
        read -r -d '' line 2>/dev/null < "${stat%schedstat}cmdline"
        if [ -z "$line" ] && read -r line _ 2>/dev/null < "$stat"; then sum=$((sum + line)); fi
    done
    echo $sum
}
note() {
    {
        echo "$1_us=${EPOCHREALTIME/./}"
        echo "$1_kernel_ns=$(kernel_ns)"
        sed "s/^/$1_program_/; s/ /=/" /sys/fs/cgroup/program/cpu.stat
        sed "s/^/$1_server_/; s/ /=/" /sys/fs/cgroup/server/cpu.stat
        read -r line < /sys/block/nbd0/stat
        echo "$1_disk=$line"
    } >> /out/notes
}
program() {
    echo $BASHPID > /sys/fs/cgroup/program/cgroup.procs
    cd /mnt && exec bash /command
}
serve() {
    echo $BASHPID > /sys/fs/cgroup/server/cgroup.procs
    exec sledsim-nbd /system.json --image /store/image --socket /store/socket --log /out/trace.csv --dilation "$DILATION"
}

for module in $MODULES; do insmod "/modules/$module.ko" || fail "the kernel rejects the module $module"; done
echo +memory +io +cpu > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/program /sys/fs/cgroup/server
echo "$MEMORY_BYTES" > /sys/fs/cgroup/program/memory.max
# Intervals of write-back count on the device's clock.
echo $((DILATION_PERCENT * 5)) > /proc/sys/vm/dirty_writeback_centisecs
echo $((DILATION_PERCENT * 30)) > /proc/sys/vm/dirty_expire_centisecs

truncate -s "$SIZE_BYTES" /store/image
$MAKE /store/image $MAKE_SIZE > /out/made 2>&1 || fail "no file system: $(tail -n 2 /out/made)"
if [ -d /content ]; then
    mount -t "$FILE_SYSTEM" -o loop /store/image /mnt || fail "the file system can't be mounted to copy the program's files"
    cp -a /content/. /mnt && umount /mnt || fail "the device has no room for the program's files"
    rm -rf /content
fi
serve > /out/served 2>&1 &
server=$!
for each in $(seq 1000); do [ -S /store/socket ] && break; kill -0 $server 2>/dev/null || break; sleep 0.01; done
[ -S /store/socket ] || fail "the device server did not start: $(tail -n 3 /out/served)"
nbd-client -unix /store/socket /dev/nbd0 -b 512 > /out/connected 2>&1 || fail "no block device: $(tail -n 2 /out/connected)"
echo none > /sys/block/nbd0/queue/scheduler
[ -z "$READ_AHEAD_KIB" ] || echo "$READ_AHEAD_KIB" > /sys/block/nbd0/queue/read_ahead_kb
# Without this option ext4 reads all bitmaps at a random time after the mount, which delays programs.
[ "$FILE_SYSTEM" != ext4 ] || MOUNT="no_prefetch_block_bitmaps,$MOUNT"
mount -t "$FILE_SYSTEM" -o "$MOUNT" /dev/nbd0 /mnt 2> /out/mounted || fail "mount -o $MOUNT: $(cat /out/mounted; dmesg | tail -n 1)"
if [ "$CACHE" = warm ]; then
    (echo $BASHPID > /sys/fs/cgroup/program/cgroup.procs; find /mnt -type f -exec cat {} + > /dev/null)
fi
sync
note start
echo "start_us=${EPOCHREALTIME/./}" >> /out/notes
(program) > /out/output 2> /out/errors < /dev/null
echo "status=$?" >> /out/notes
note end
sync
note synced
umount /mnt || fail "a program still has files open: $(fuser -m /mnt 2>&1)"
nbd-client -d /dev/nbd0 > /dev/null 2>&1
kill -TERM $server
wait $server
echo "served=$?" >> /out/notes
leave
