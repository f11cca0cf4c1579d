"""Headers of the PROXY protocol as a balancer sends them, and HAProxy itself out of its Debian package."""
import ipaddress
import struct

from .filters import answers
from .unpacked import Service, environment, tree

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def line(client, server="198.51.100.1", ports=(4711, 25)):
    """Version 1."""
    family = "TCP6" if ":" in client else "TCP4"
    return f"PROXY {family} {client} {server} {ports[0]} {ports[1]}\r\n".encode()


def binary(client=None, server="198.51.100.1", ports=(4711, 25), extra=b"", command=0x21):
    """Version 2; without a client: LOCAL."""
    if client is None:
        return SIGNATURE + struct.pack(">BBH", 0x20, 0, len(extra)) + extra
    a, b = ipaddress.ip_address(client), ipaddress.ip_address(server)
    rest = a.packed + b.packed + struct.pack(">HH", *ports) + extra
    return SIGNATURE + struct.pack(">BBH", command, 0x21 if a.version == 6 else 0x11, len(rest)) + rest


class HaProxy(Service):
    """In front of one or more listeners: ports maps its own port to (address, port, "send-proxy" or "send-proxy-v2")."""

    def __init__(self, folder, host, ports):
        place = tree("haproxy")
        config = folder / "haproxy.cfg"
        config.write_text("global\n  maxconn 100\ndefaults\n  mode tcp\n  timeout connect 10s\n  timeout client 60s\n  timeout server 60s\n"
                          + "".join(f"frontend f{port}\n  bind {host}:{port}\n  default_backend b{port}\n"
                                    f"backend b{port}\n  server s {address}:{to} {how}\n"
                                    for port, (address, to, how) in ports.items()))
        # Debian's package has it below usr/sbin.
        super().__init__([place / "usr/sbin/haproxy", "-db", "-f", config], folder,
                         lambda: all(answers(f"inet:{host}:{port}") for port in ports), environment(place))
