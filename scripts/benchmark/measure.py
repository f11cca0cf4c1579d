"""Measuring an MTA from outside: CPU and memory of all its processes, its syncs."""
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
SYNC_CALL = re.compile(r"\b(fsync|fdatasync|syncfs|sync_file_range|sync|msync)\((?:\d+<([^>]*)>)?")


def _cgroup2_root():
    for line in Path("/proc/mounts").read_text().splitlines():
        device, place, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(place, os.W_OK):
            return Path(place)
    return None


class Group:
    """All processes of one MTA: a cgroup where there is one (its CPU clock counts processes that have ended, to the
    microsecond), else the process tree under the one that was started."""

    def __init__(self, name):
        root = _cgroup2_root()
        self.folder = None
        self.root_pid = None
        if root:
            try:
                self.folder = root / f"postrider-bench-{name}"
                self.folder.mkdir(exist_ok=True)
                self.cpu_seconds()
            except OSError:
                self.folder = None

    def enter(self):
        """In the child, before exec."""
        if self.folder:
            (self.folder / "cgroup.procs").write_text("0")

    def started(self, pid):
        self.root_pid = pid

    def pids(self):
        if self.folder:
            return [int(p) for p in (self.folder / "cgroup.procs").read_text().split()]
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                    parents.setdefault(int(fields[1]), []).append(int(entry))
                except OSError:
                    pass
        found, look = [], [self.root_pid]
        while look:
            pid = look.pop()
            if os.path.exists(f"/proc/{pid}"):
                found.append(pid)
            look += parents.get(pid, [])
        return found

    def cpu_seconds(self):
        if self.folder:
            for line in (self.folder / "cpu.stat").read_text().splitlines():
                if line.startswith("usage_usec "):
                    return int(line.split()[1]) / 1e6
            raise OSError("cpu.stat has no usage_usec")
        ticks = 0
        for pid in self.pids():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(n) for n in fields[11:15])
            except OSError:
                pass
        return ticks / TICK

    def memory(self, kind="Pss"):
        """Bytes, over all processes. Pss: shared pages counted once in all. Private: those nobody shares."""
        return sum(memory_of(pid, kind) for pid in self.pids())

    def processes(self):
        """[(name, how many, private bytes)] for the list beside the table."""
        count, private = {}, {}
        for pid in self.pids():
            try:
                name = Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            count[name] = count.get(name, 0) + 1
            private[name] = private.get(name, 0) + memory_of(pid, "Private")
        return [(name, n, private[name]) for name, n in sorted(count.items())]

    def close(self):
        if self.folder:
            try:
                self.folder.rmdir()
            except OSError:
                pass


def memory_of(pid, kind="Pss"):
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == kind or (kind == "Private" and name in ("Private_Clean", "Private_Dirty")):
                total += int(rest.split()[0]) * 1024
    except (OSError, ValueError):
        pass
    return total


class PeakMemory(threading.Thread):
    """Samples twice a second until stopped."""

    def __init__(self, weigh):
        super().__init__(daemon=True)
        self.weigh, self.peak, self.done = weigh, 0, threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.5):
            self.peak = max(self.peak, self.weigh())

    def stop(self):
        self.done.set()
        self.join()
        self.peak = max(self.peak, self.weigh())
        return self.peak


def listing(command):
    """The whole queue as mailq or postqueue -p prints it: how many messages that is, and the command's peak memory."""
    peak, last = 0, b""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as listed:
        while piece := listed.stdout.read1(1 << 20):
            last = (last + piece)[-200:]
            peak = max(peak, high_water(listed.pid))
    if listed.returncode:
        sys.exit(f"{command[0]}: exit status {listed.returncode}")
    found = re.search(rb"in (\d+) Request", last)
    return int(found[1]) if found else 0, peak


def high_water(pid):
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        found = None
    return int(found[1]) * 1024 if found else 0


def strace_prefix(file):
    """A command prefix that records every sync of the whole process tree."""
    return ["strace", "-f", "-y", "--seccomp-bpf", "-qq", "-e", "signal=none",
            "-e", "trace=fsync,fdatasync,syncfs,sync,sync_file_range,msync", "-o", str(file)]


def count_syncs(file):
    """How many of files and how many of directories (a directory outlives the run, a message's file does not)."""
    counts = {"files": 0, "directories": 0}
    with open(file, errors="replace") as lines:
        for line in lines:
            found = SYNC_CALL.search(line)
            if found:
                counts["directories" if found[2] and os.path.isdir(found[2]) else "files"] += 1
    return counts
