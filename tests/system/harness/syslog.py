"""A syslog daemon on a UNIX socket that writes what it hears into a file as rsyslogd does by default. In a network of the
test's own: how many datagrams may wait is the kernel's 10 there, and systemd's 512 here."""
import os
import re
import socket
import tempfile
import threading
from pathlib import Path


class Syslog:
    def __init__(self, file, host="mail"):
        self.file, self.host = Path(file), host
        self.folder = Path(tempfile.mkdtemp(prefix="postrider-syslog-"))  # a socket's path is short
        self.path = self.folder / "log"
        Path("/proc/sys/net/unix/max_dgram_qlen").write_text("512")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.thread = threading.Thread(target=self.write, daemon=True)
        self.thread.start()

    def write(self):
        with open(self.file, "w", encoding="utf-8") as file:
            while packet := self.socket.recv(8192):
                said = re.fullmatch(r"<\d+>(\w{3} [ \d]\d \d\d:\d\d:\d\d) (.*)", packet.decode(), re.S)
                file.write(f"{said[1]} {self.host} {said[2]}\n")

    def stop(self):
        """What was sent before is in the file."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.path))
        self.thread.join()
        self.socket.close()
        os.unlink(self.path)
        self.folder.rmdir()
