"""Programs under another clock (libfaketime). Each of its processes has a semaphore named by its process id, which stays when
the process is killed; another process with that number then does not start. So what dead ones have left is removed first."""
import re
from pathlib import Path

SHARED = Path("/dev/shm")


def forget_the_dead():
    for left in SHARED.glob("*faketime_s*"):
        number = re.search(r"faketime_(?:sem|shm)_(\d+)$", left.name)
        if number and not Path("/proc", number[1]).exists():
            left.unlink(missing_ok=True)


def command(*options):
    """The words before a command that sees another time: command("-f", "+3d")."""
    forget_the_dead()
    return ["faketime", *options]


def offset(seconds):
    """For Mta.wrap: the wall clock is ahead by so much, or behind, for the whole life of a process; also of one that may not
    read files."""
    forget_the_dead()
    return {"LD_PRELOAD": library(), "FAKETIME": f"{seconds:+d}", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1"}


def library():
    return str(next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")))


def settings(file, both=False):
    """For Mta.wrap: the wall clock is ahead by what the file says. `both`: the monotonic clock, too; it must not go back."""
    forget_the_dead()
    kept = {} if both else {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    return {"LD_PRELOAD": library(), "FAKETIME_NO_CACHE": "1", "FAKETIME_TIMESTAMP_FILE": str(file), "NO_FAKE_STAT": "1", **kept}
