"""The store that nodes share: a real Redis out of its unpacked package, and stores that are not what they should be."""
import signal
import socket
import socketserver
import threading

from .databases import Server
from .filters import short_folder
from .unpacked import environment, tree

PASSWORD = "s3cret-of-the-store"


class Redis(Server):
    """`options`: further lines of its configuration. It keeps nothing on disk: killed, it starts empty."""

    def __init__(self, address, port, *options, certificate=None):
        package = tree("redis-server")
        self.address, self.port, self.place, self.certificate = address, port, short_folder(), certificate
        self.environment = environment(package)
        lines = ["save \"\"", "appendonly no", f"bind {address}", f"dir {self.place}", "daemonize no", "protected-mode no",
                 f"unixsocket {self.place}/sock", *options]
        if certificate:
            lines += ["port 0", f"tls-port {port}", f'tls-cert-file "{certificate[0]}"', f'tls-key-file "{certificate[1]}"',
                      "tls-auth-clients no"]
        else:
            lines.append(f"port {port}")
        (self.place / "redis.conf").write_text("\n".join(lines) + "\n")
        self.command = [package / "usr/bin/redis-server", self.place / "redis.conf"]
        self.begin()

    @property
    def url(self):
        return f"{'rediss' if self.certificate else 'redis'}://{self.address}:{self.port}"

    def kill(self):
        self.signal(signal.SIGKILL)
        self.service.stop()

    def ask(self, *words, password=None):
        """A command, by the socket of the place; the reply's lines as the protocol has them."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(str(self.place / "sock"))
            sent = [["AUTH", password]] if password else []
            for command in [*sent, words]:
                s.sendall(b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(str(w).encode()), str(w).encode()) for w in command))
                reply = self.read(s.makefile("rb"))
            return reply

    def read(self, file):
        line = file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:].decode()
        if kind == b"$":
            return None if rest == "-1" else file.read(int(rest) + 2)[:-2].decode(errors="replace")
        if kind == b"*":
            return [self.read(file) for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest


class FakeStore:
    """Answers whatever comes with the same bytes, again and again: a store that is broken, or an attacker."""

    def __init__(self, address, port, reply):
        fake = self
        self.connections = 0

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                fake.connections += 1
                try:
                    while self.request.recv(65536):
                        while True:
                            self.request.sendall(reply)
                except OSError:
                    pass

        class Listening(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

        self.server = Listening((address, port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def remove(self):
        self.server.shutdown()
        self.server.server_close()
