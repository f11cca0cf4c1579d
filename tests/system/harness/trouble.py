"""Trouble from the kernel, on demand."""
import os
import subprocess
import threading
from pathlib import Path

from .watch import wait_until


class Injection:
    """strace on one process, answering its system calls falsely until ended."""

    def __init__(self, pid, fault, trace):
        self.process = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-e", f"trace={trace}", "-e", f"inject={trace}:{fault}",
                                         "-p", str(pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()
        threads = len(os.listdir(f"/proc/{pid}/task"))
        wait_until(lambda: sum("attached" in l for l in self.lines) >= 1, 10, "strace to attach")
        wait_until(lambda: self.attached(pid) >= threads, 10, "strace to attach to all threads")

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode(errors="replace"))

    def attached(self, pid):
        count = 0
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                count += "TracerPid:\t0\n" not in (task / "status").read_text()
            except OSError:
                pass
        return count

    def end(self):
        self.process.terminate()
        self.process.wait()
