"""A milter on loopback that speaks version 6 of the protocol as a script tells it.

    m = Milter(address, port)
    m.replies["R"] = b"y" + b"550 5.7.1 no\\0"     what it says to a command (default: continue)
    m.replies["M"] = lambda data: …                 the same, by what the command says
    m.changes = [("h", b"X-A\\0b\\0"), ("q", b"why\\0")]   said before the final word on a message
    m.seen: [(command, data)] of the newest session that had a message; macros of all of them in m.macros
"""
import struct

from .listener import Listener


class Milter(Listener):
    def __init__(self, address, port, actions=0x1ff, steps=0):
        self.actions, self.steps = actions, steps
        self.replies, self.changes, self.macros = {}, [], {}
        self.sessions = []  # of each connection: [(command, data)]; several may go on side by side
        super().__init__(address, port)

    silent_bits = {"C": 0x1000, "H": 0x2000, "M": 0x4000, "R": 0x8000, "T": 0x10000, "L": 0x80, "N": 0x40000, "B": 0x80000}

    def serve(self, one):
        session = []
        self.sessions.append(session)
        with one, one.makefile("rb") as stream:
            def say(command, data=b""):
                one.sendall(struct.pack(">I", len(data) + 1) + command.encode() + data)
            while head := stream.read(4):
                packet = stream.read(struct.unpack(">I", head)[0])
                command, data = chr(packet[0]), packet[1:]
                try:
                    if command == "O":
                        say("O", struct.pack(">III", 6, self.actions, self.steps))
                    elif command == "D":
                        names = data[1:].split(b"\0")
                        self.macros.setdefault(chr(data[0]), {}).update(zip(names[::2], names[1::2]))
                    elif command in "AQ":
                        session.append((command, data))
                    else:
                        session.append((command, data))
                        reply = self.replies.get(command, b"c")
                        if callable(reply):
                            reply = reply(data)
                        if reply == "die":
                            return
                        if reply == "hang" or self.steps & self.silent_bits.get(command, 0):
                            continue
                        if isinstance(reply, tuple):  # bytes as they are
                            one.sendall(reply[0])
                            continue
                        if command == "E":
                            for what, change in self.changes:
                                say(what, change)
                        say(chr(reply[0]), reply[1:])
                except OSError:
                    return

    @property
    def seen(self):
        return next((s for s in reversed(self.sessions) if any(c == "M" for c, _ in s)), [])

    def commands(self):
        return "".join(c for c, _ in self.seen)

    def headers(self):
        return [tuple(d.decode().split("\0")[:2]) for c, d in self.seen if c == "L"]

    def body(self):
        return b"".join(d for c, d in self.seen if c == "B")
