#!/bin/sh
# Makes what a small virtual machine has in its memory: memory.sh KERNEL FOLDER PROGRAM...
# KERNEL is an unpacked Debian package of a kernel; FOLDER is made anew, with `initrd` and a link to the kernel's image in it.
# Each program comes with the libraries that it is linked with. The loader is known by its place, all others by their names.
set -eu
modules=$(ls -d "$1"/lib/modules/*/kernel/drivers/block)
image=$(ls "$1"/boot/vmlinuz-*)
rm -rf "$2"
mkdir -p "$2/root"
ln -s "$(realpath "$image")" "$2/kernel"
cd "$2/root"
mkdir bin programs lib lib64 modules proc sys dev tmp mnt
shift 2
for program in "$@"; do
    place=programs
    [ "${program##*/}" != busybox ] || place=bin
    cp -L "$program" $place/
    # Nothing of one that is linked statically.
    for library in $(ldd "$program" 2>&1 | tr ' ' '\n' | grep '^/' || true); do
        case $library in
            */ld-linux*) cp -L "$library" lib64/ ;;
            *) cp -L "$library" lib/ ;;
        esac
    done
done
for module in loop ublk_drv; do
    if [ -e "$modules/$module.ko.xz" ]; then
        xz --decompress --stdout "$modules/$module.ko.xz" > modules/$module.ko
    else
        cp "$modules/$module.ko" modules/
    fi
done
cat > init
chmod 755 init
find . | bin/busybox cpio -o -H newc > ../initrd
