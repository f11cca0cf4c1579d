"""Calls of daemons that fail on demand, by a preloaded library (faults.c): which call, with which error, which of them."""
import ctypes
import errno
import mmap
import subprocess
from pathlib import Path

from .mta import BUILD, ROLES

KINDS = ("open", "read", "write", "sync", "rename", "unlink", "stat", "list", "truncate", "lock", "mkdir", "accept", "socket",
         "connect", "descriptor", "mmap", "send", "receive", "thread", "fork")
# What the kernel may answer to each (beside what tests/system/test_disk.py has of full disks).
ERRORS = {**{kind: ("EIO", "ENOMEM") for kind in ("read", "write", "sync", "rename", "unlink", "stat", "list", "truncate", "mkdir")},
          "open": ("EMFILE", "EIO", "ENOMEM"), "lock": ("ENOLCK",), "accept": ("EMFILE", "ENOMEM"),
          "socket": ("EMFILE", "ENOMEM"), "connect": ("ENOMEM",), "descriptor": ("EMFILE", "ENOMEM"), "mmap": ("ENOMEM",),
          "send": ("ENOMEM",), "receive": ("ENOMEM",), "thread": ("EAGAIN",), "fork": ("EAGAIN", "ENOMEM")}
EVERY = 1 << 30  # of them fail


class Control(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("error", ctypes.c_int), ("skip", ctypes.c_int), ("count", ctypes.c_int),
                ("calls", ctypes.c_int * len(KINDS)), ("failed", ctypes.c_int * len(KINDS))]


def library():
    """Built once, beside what is tested."""
    source = Path(__file__).with_name("faults.c")
    built = BUILD / "faults.so"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        fresh = built.with_suffix(f".{id(source)}")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wno-nonnull-compare", "-o", fresh, source, "-ldl"], check=True)
        fresh.rename(built)
    return built


class Faults:
    """Of an MTA that has not been started yet: from now on its daemons run with the library."""

    def __init__(self, mta):
        place = mta.folder / "faults"
        place.mkdir()
        mta.wrap(LD_PRELOAD=str(library()), POSTRIDER_FAULTS=str(place))
        self.controls = {}
        for role in ROLES:
            file = place / f"{role}.real"
            file.write_bytes(bytes(ctypes.sizeof(Control)))
            file.chmod(0o666)
            with open(file, "r+b") as f:
                self.controls[role] = Control.from_buffer(mmap.mmap(f.fileno(), 0))
            self.controls[role].kind = -1

    def begin(self, role, kind, error, skip=0, count=EVERY):
        control = self.controls[role]
        control.kind = -1
        control.error, control.skip, control.count = getattr(errno, error) if error else 0, skip, count
        control.failed[KINDS.index(kind)] = control.calls[KINDS.index(kind)] = 0
        control.kind = KINDS.index(kind)

    def hold(self, role, kind, skip=0):
        """From now on such calls wait until end(); failed() counts those that do."""
        self.begin(role, kind, None, skip)

    def failed(self, role, kind):
        return self.controls[role].failed[KINDS.index(kind)]

    def calls(self, role, kind):
        return self.controls[role].calls[KINDS.index(kind)]

    def end(self, role):
        self.controls[role].kind = -1
