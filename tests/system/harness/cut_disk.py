"""A disk whose power can be cut under load. An image file holds the file system under test; it lies on an xfs that can
clone files (both through loop devices), and its clone, made in one step between two writes, is what a power cut leaves:
whatever had not reached the disk by then is missing. The model is a disk that keeps every write it was given, in order:
it finds data that was still in the kernel's memory (a sync that is missing), not a disk that lies about its cache.

Needs root. enter_own_mounts() first (own_mounts.py): then nobody else's namespace holds the mounts, and they end with the process."""
import fcntl
import subprocess
import time
from pathlib import Path

from .watch import wait_until

FICLONE = 0x40049409
OUTER_BYTES, IMAGE_BYTES = 6 << 30, 1 << 30
# What the file system under test does on its own initiative comes late: a sync that is missing has to show.
KINDS = {"ext4": (["mkfs.ext4", "-q", "-F", "-E", "nodiscard"], "commit=300"),
         "xfs": (["mkfs.xfs", "-q", "-f", "-K"], "defaults"),
         "btrfs": (["mkfs.btrfs", "-q", "-f", "-K"], "commit=300")}
PLACE = Path("/proc/sys/vm")
SLOW_WRITE_BACK = {"dirty_expire_centisecs": 30000, "dirty_writeback_centisecs": 30000}


class SlowWriteBack:
    """The kernel writes back what nobody has synced only after minutes. For the whole machine, and put back at the end; a
    second run waits, as it would take the first one's values for the machine's own."""

    def __enter__(self):
        self.turn = open(PLACE / next(iter(SLOW_WRITE_BACK)))
        fcntl.flock(self.turn, fcntl.LOCK_EX)
        self.before = {key: (PLACE / key).read_text() for key in SLOW_WRITE_BACK}
        self.write(SLOW_WRITE_BACK)

    def __exit__(self, *why):
        self.write(self.before)
        self.turn.close()

    def write(self, values):
        for key, value in values.items():
            (PLACE / key).write_text(f"{value}\n")


class CutDisk:
    """A file system of that kind, new and mounted on `place`."""

    def __init__(self, folder, kind, place):
        self.outer, self.place, self.options, self.mounted = folder / "outer", place, KINDS[kind][1], []
        self.outer_image = folder / "outer.img"
        for each in (self.outer, self.place):
            each.mkdir(parents=True, exist_ok=True)
        try:
            self.make(self.outer_image, OUTER_BYTES, ["mkfs.xfs", "-q", "-f", "-K", "-m", "reflink=1"])
            self.mount(self.outer_image, self.outer)
            self.image, self.number = self.outer / "image-0", 0
            self.make(self.image, IMAGE_BYTES, KINDS[kind][0])
            self.mount(self.image, self.place, self.options)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def make(file, octets, command):
        with open(file, "wb") as f:
            f.truncate(octets)
        done = subprocess.run([*command, file], capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"

    def mount(self, image, place, options="defaults"):
        done = subprocess.run(["mount", "-o", f"loop,{options}", image, place], capture_output=True, text=True)
        assert done.returncode == 0, f"mount {image}: {done.stderr}"
        self.mounted.append(place)

    def unmount(self, place):
        wait_until(lambda: subprocess.run(["umount", place], capture_output=True).returncode == 0, 30, f"{place} to be free")
        self.mounted.remove(place)

    def cut(self):
        """The clone, and when it began: what had reached the disk by then is in it."""
        self.number += 1
        self.after = self.outer / f"image-{self.number}"
        with open(self.image, "rb") as source, open(self.after, "wb") as target:
            begun = time.monotonic()
            fcntl.ioctl(target.fileno(), FICLONE, source.fileno())
        return begun

    def power_on(self):
        """Mounts what the cut has left, which replays the journal. Nothing may use the disk any more. What it was at the
        cut stays beside it, for who has to look."""
        self.unmount(self.place)
        self.image.unlink()
        self.image = self.after
        self.copy(self.image, self.outer / "at-the-cut")
        self.mount(self.image, self.place, self.options)

    def look_back(self):
        """In place of what there is now, the disk as the power cut left it."""
        self.unmount(self.place)
        looked_at = self.outer / "looked-at"
        self.copy(self.outer / "at-the-cut", looked_at)
        self.mount(looked_at, self.place, self.options)

    @staticmethod
    def copy(source, target):
        with open(source, "rb") as a, open(target, "wb") as b:
            fcntl.ioctl(b.fileno(), FICLONE, a.fileno())

    def close(self):
        for place in reversed(list(self.mounted)):
            try:
                self.unmount(place)
            except AssertionError:
                subprocess.run(["umount", "-l", place], capture_output=True)
