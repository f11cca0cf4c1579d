"""A mount namespace of the test process' own: what a test mounts, it and what it starts see, and nobody else.

The test process enters it when it starts (conftest.py). Otherwise a namespace that another test makes meanwhile (a
machine, a container) would be made with our mount in it and keep it: a disk that our test has unmounted would still be
mounted there, and its image be the old disk when it is mounted again."""
import ctypes
import os


def enter_own_mounts():
    """For the whole process: to be called once, before it has threads. False: this machine does not let us."""
    CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
    libc = ctypes.CDLL(None, use_errno=True)
    return os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0
