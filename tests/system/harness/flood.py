"""Everything that keeps a mail server from its work, at once: each kind in a thread of its own, from addresses of its
own, again and again until the flood is over."""
import errno
import random
import selectors
import socket
import threading
import time


class Crowd(threading.Thread):
    """So many connections at a time, opened anew when they are closed. Each says its lines, one for each time it hears
    something, and then stays; with `drip` it goes on by a byte now and then; with `leave` it goes itself."""

    def __init__(self, flood, number, sources, lines=(), drip=None, leave=False):
        super().__init__(daemon=True)
        self.flood, self.number, self.sources = flood, number, sources
        self.lines, self.drip, self.leave = lines, drip, leave
        self.selector, self.said, self.settled = selectors.DefaultSelector(), {}, set()
        self.opened = self.closed = 0
        self.start()

    def run(self):
        try:
            while not self.flood.over.wait(0.02):
                self.open_more()
                for key, _ in self.selector.select(0.02):
                    self.hear(key.fileobj)
                for s in list(self.settled) if self.drip else ():
                    self.say(s, self.drip)
        finally:
            for s in list(self.said):
                self.close(s)
            self.selector.close()

    def open_more(self):
        for _ in range(min(50, self.number - len(self.said))):
            s = socket.socket()
            s.setblocking(False)
            try:
                s.bind((random.choice(self.sources), 0))
                error = s.connect_ex((self.flood.address, self.flood.port))
            except OSError as e:
                error = e.errno
            if error not in (0, errno.EINPROGRESS):
                s.close()
                return
            self.opened += 1
            self.said[s] = 0
            self.selector.register(s, selectors.EVENT_READ)

    def hear(self, s):
        try:
            heard = s.recv(65536)
        except OSError:
            heard = b""
        if not heard:
            return self.close(s)
        n = self.said[s]
        if n < len(self.lines):
            self.said[s] = n + 1
            self.say(s, self.lines[n])
        elif self.leave:
            self.close(s)
        else:
            self.settled.add(s)

    def say(self, s, octets):
        try:
            s.send(octets)
        except BlockingIOError:
            pass
        except OSError:
            self.close(s)

    def close(self, s):
        if self.said.pop(s, None) is None:
            return
        self.closed += 1
        self.settled.discard(s)
        self.selector.unregister(s)
        s.close()


class Flood:
    """Of `size` connections at a time. The addresses are below the block's host 100 + 60."""

    def __init__(self, block, address, port, user, size):
        self.address, self.port, self.over = address, port, threading.Event()
        sources = [[block.host(100 + 10 * kind + n) for n in range(10)] for kind in range(6)]
        hello, mail = b"EHLO flood.example\r\n", b"MAIL FROM:<flood@flood.example>\r\n"
        to = b"RCPT TO:<%s@test.example>\r\n" % user.encode()
        self.crowds = {
            "idle holders": Crowd(self, size // 2, sources[0]),
            "half-open handshakes": Crowd(self, size // 6, sources[1], [hello, b"STARTTLS\r\n", b"\x16\x03\x01\x02\x00\x01"]),
            "slow writers": Crowd(self, size // 6, sources[2], [hello, mail, to, b"DATA\r\n", b"Subject: "], drip=b"x"),
            "error loops": Crowd(self, size // 12, sources[3], [b"NONSENSE\r\n" * 30]),
            "many recipients": Crowd(self, max(2, size // 50), sources[4],
                                     [hello, *[mail + to * 1000 + b"RSET\r\n"] * 50]),
            "connections": Crowd(self, size // 12, sources[5], leave=True),
        }

    def stands(self):
        """Every kind has begun, and what ends by itself has begun anew."""
        return all(c.opened > 0 for c in self.crowds.values()) and all(
            self.crowds[name].closed > 20 for name in ("error loops", "connections"))

    def stop(self):
        self.over.set()
        for c in self.crowds.values():
            c.join(20)

    def report(self):
        return ", ".join(f"{name} {c.opened}" for name, c in self.crowds.items())


def timed(action):
    """(what it returned, seconds)."""
    begun = time.monotonic()
    return action(), time.monotonic() - begun
