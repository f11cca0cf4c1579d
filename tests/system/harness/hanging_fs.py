"""A file system that never answers, as NFS does whose server has gone: FUSE by hand, whose user space takes every request
and says nothing to it. Who looks into it sleeps until killed. Needs root and /dev/fuse."""
import ctypes
import os
import select
import struct
import subprocess
import threading

INIT = 26


def can_hang():
    return os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK)


class HangingFileSystem:
    """Mounted on `place` until stop(); `requests` counts who hangs there."""

    def __init__(self, place):
        self.place, self.requests = place, 0
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40755,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        MS_NOSUID, MS_NODEV = 2, 4
        if libc.mount(b"hanging", os.fsencode(place), b"fuse", MS_NOSUID | MS_NODEV, options.encode()) != 0:
            why = os.strerror(ctypes.get_errno())
            os.close(self.device)
            raise OSError(f"mount of a FUSE file system on {place}: {why}")
        self.halt = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.halt.is_set():
            if not select.select([self.device], [], [], 0.1)[0]:
                continue
            try:
                request = os.read(self.device, 1 << 18)
            except OSError:
                return
            _, opcode, unique = struct.unpack_from("<IIQ", request)
            if opcode == INIT:
                answer = struct.pack("<IIIIHHIII", 7, 31, 0, 0, 16, 16, 4096, 1, 0) + b"\0" * 28
                os.write(self.device, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)
            else:
                self.requests += 1

    def stop(self):
        """Who hangs there gets an error: the device is closed."""
        self.halt.set()
        self.thread.join()
        subprocess.run(["umount", "-l", str(self.place)], capture_output=True)
        os.close(self.device)
