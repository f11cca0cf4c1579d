"""A network of the test process' own: a namespace in which every port is free (25, 53 and 443 among them) and from which
nothing outside can be reached by mistake.

The test process enters it when it starts (conftest.py), so whatever a test starts is inside: the MTA, servers in
processes or threads, name servers, and the Python code of the test itself. Nothing has to be entered by hand, and all
of it is gone when the process ends. A test that needs it says so, and is skipped where nobody is root:

    pytestmark = pytest.mark.needs("own network")

    def test_mail_by_ipv6(mta, names, network):
        network.add("192.0.2.53", "2001:db8::25")           addresses of its own choice …
        mx, web = network.address(), network.address()      … or the next of 192.0.2.1, 192.0.2.2 …
        mx6 = network.address6()                            … 2001:db8::1, 2001:db8::2 …
        Sink(mx, 25), Names("127.0.0.53", 53), WebServer(web, 443)

All of 127.0.0.0/8 and ::1 are there without being added. What was added through the fixture `network` is taken away
when the test ends.
"""
import ctypes
import fcntl
import itertools
import os
import socket
import struct
import subprocess

_inside = False


def enter_own_network():
    """For the whole test process: to be called once, before it has threads. False: this machine does not let us."""
    global _inside
    CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8914, 1
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
    _inside = True
    return True


def inside_own_network():
    return _inside


class Network:
    """Addresses on the loopback interface of our namespace, for as long as a test lasts."""

    def __init__(self):
        assert _inside, "not in a network namespace of our own: addresses would be the machine's"
        self.added = []
        self.next4, self.next6 = itertools.count(1), itertools.count(1)

    def add(self, *addresses):
        for address in addresses:
            self._ip("add", address)
            self.added.append(address)

    def address(self):
        address = f"192.0.2.{next(self.next4)}"
        self.add(address)
        return address

    def address6(self):
        address = f"2001:db8::{next(self.next6):x}"
        self.add(address)
        return address

    def close(self):
        while self.added:
            self._ip("del", self.added.pop())

    def _ip(self, what, address):
        whole, more = (128, ["nodad"] if what == "add" else []) if ":" in address else (32, [])
        done = subprocess.run(["ip", "address", what, f"{address}/{whole}", "dev", "lo", *more], capture_output=True, text=True)
        assert done.returncode == 0, f"ip address {what} {address}: {done.stderr.strip()}"
