"""A remote mail server that records everything and misbehaves as told.

    sink.at("rcpt", "450 4.2.0 Greylisted", times=1)     the next RCPT is refused, then all is well
    sink.at("dot", drop)                                 the connection is cut after the final dot, always

    Sink(address, port, certificate=make_certificate(…))  offers STARTTLS

Stages: connect, ehlo, starttls, mail, rcpt, data (the reply to DATA), content (while it arrives), dot, quit.
A behaviour is a reply line, or one of drop, silence, endless, garbage …, or a function (session, argument) → reply.
"""
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field

from .watch import wait_until


class Cut(Exception):
    """The connection ends here."""


def drop(session, argument):
    raise Cut


def silence(session, argument):
    """Never says a word until the peer gives up."""
    session.wait_for_peer_to_leave()
    raise Cut


def endless(session, argument):
    """A multi-line reply that never ends."""
    try:
        while True:
            session.send(b"250-and another thing\r\n" * 100)
    except OSError:
        raise Cut from None


def garbage(session, argument):
    session.send(bytes(range(256)) * 4 + b"\r\n")
    session.wait_for_peer_to_leave()
    raise Cut


def long_line(session, argument):
    session.send(b"250 " + b"x" * 65536 + b"\r\n")
    session.wait_for_peer_to_leave()
    raise Cut


def reset(session, argument):
    session.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    raise Cut


def slowly(text, seconds_per_byte=0.01):
    """The reply, one byte at a time."""
    def behave(session, argument):
        for byte in text.encode() + b"\r\n":
            session.send(bytes([byte]))
            time.sleep(seconds_per_byte)
    return behave


def raw(octets):
    """Exactly these bytes for a reply."""
    def behave(session, argument):
        session.send(octets)
    return behave


def only(condition, reply):
    """The reply where the command's argument contains the text; else the usual one."""
    return lambda session, argument: reply if condition in argument else None


@dataclass
class Received:
    sender: str
    recipients: list
    content: bytes
    session: int
    tls: object  # of the connection: "TLSv1.3", "TLSv1.3 resumed", None
    arguments: dict = field(default_factory=dict)  # "mail" → everything after MAIL FROM:<…>, …
    client: object = None  # the common name of the certificate that the client has shown
    at: float = field(default_factory=time.monotonic)
    peer: str = ""  # the address it came from

    def header(self, name):
        found, lines = None, self.content.decode("utf-8", "replace").split("\r\n\r\n", 1)[0].split("\r\n")
        for line in lines:
            if found is not None and line[:1] in (" ", "\t"):
                found += line
            elif found is not None:
                break
            elif line.lower().startswith(name.lower() + ":"):
                found = line.partition(":")[2].strip()
        return found

    @property
    def text(self):
        return self.content.decode("utf-8", "replace")


class Sink:
    defaults = {"connect": "220 sink.example ESMTP", "starttls": "220 2.0.0 Go ahead", "mail": "250 2.1.0 Ok", "rcpt": "250 2.1.5 Ok",
                "data": "354 Go ahead", "dot": "250 2.0.0 Taken", "quit": "221 2.0.0 Bye", "rset": "250 2.0.0 Ok",
                "noop": "250 2.0.0 Ok", "unknown": "502 5.5.1 What?"}

    def __init__(self, address, port, extensions=("PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES", "SIZE 104857600", "DSN"),
                 certificate=None):
        self.address, self.port, self.extensions = address, port, list(extensions)
        self.use_certificate(certificate)
        self.messages, self.commands, self.connections, self.refused = [], [], 0, []
        self.scripts, self.lock = {}, threading.Lock()
        self.listener, self.open = None, set()
        self.most_at_once, self.peers = 0, set()
        self.start()

    # -- what tests say

    def at(self, stage, behaviour, times=None):
        """From now on (or for the next `times` occasions) that stage behaves so."""
        with self.lock:
            self.scripts.setdefault(stage, []).append([behaviour, times])

    def use_certificate(self, certificate, clients=()):
        """(certificate, key), as files, for sessions from now on; None: no STARTTLS. `clients`: files of the only
        certificates with which clients get in."""
        self.tls = None
        if certificate:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*certificate)
            for file in clients:
                self.tls.verify_mode = ssl.CERT_REQUIRED
                self.tls.load_verify_locations(file)

    def well_behaved(self):
        with self.lock:
            self.scripts.clear()

    def wait_for(self, count, seconds=15):
        wait_until(lambda: len(self.messages) >= count, seconds,
                   lambda: f"{count} messages at the sink, {len(self.messages)} came")
        return self.messages

    def to(self, recipient):
        with self.lock:
            return [m for m in self.messages if recipient in m.recipients]

    def wait_for_one_to(self, recipient, seconds=15):
        return wait_until(lambda: self.to(recipient), seconds, f"a message to {recipient}")[0]

    # -- life

    def start(self):
        self.listener = socket.socket(socket.AF_INET6 if ":" in self.address else socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((self.address, self.port))
        self.listener.listen(512)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        """Nobody listens any more; connections that are open are cut."""
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        for s in list(self.open):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self, listener):
        while True:
            try:
                connection, peer = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                self.peers.add(peer[0])
                self.open.add(connection)
                self.most_at_once = max(self.most_at_once, len(self.open))
                number = self.connections
            threading.Thread(target=self.serve, args=(connection, number, peer[0]), daemon=True).start()

    def serve(self, connection, number, peer):
        session = Session(self, connection, number, peer)
        try:
            session.run()
        except (Cut, OSError):
            pass
        finally:
            with self.lock:
                self.open.discard(session.socket)
            session.socket.close()

    def behaviour(self, stage):
        with self.lock:
            for entry in self.scripts.get(stage, []):
                if entry[1] is None:
                    return entry[0]
                if entry[1] > 0:
                    entry[1] -= 1
                    return entry[0]
        return None


class Session:
    def __init__(self, sink, connection, number, peer):
        self.sink, self.socket, self.number = sink, connection, number
        self.buffer = b""
        self.forget()
        self.tls = self.client = None
        self.peer, self.lmtp = peer, False
        connection.settimeout(120)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def forget(self):
        self.sender, self.recipients, self.arguments = None, [], {}

    def send(self, octets):
        self.socket.sendall(octets)

    def wait_for_peer_to_leave(self):
        while self.socket.recv(65536):
            pass

    def line(self):
        while b"\r\n" not in self.buffer:
            piece = self.socket.recv(65536)
            if not piece:
                raise Cut
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def answer(self, stage, argument=""):
        """Says what the script or the default says; returns the reply's first digit, "" if it said something else."""
        behaviour = self.sink.behaviour(stage)
        reply = behaviour(self, argument) if callable(behaviour) else behaviour
        if reply is None:
            if callable(behaviour) and getattr(behaviour, "__name__", "") == "behave":
                return ""
            reply = self.sink.defaults.get(stage)
            if stage == "ehlo":
                lines = ["sink.example", *self.sink.extensions]
                if self.sink.tls and not self.tls:
                    lines.append("STARTTLS")
                reply = "\r\n".join(f"250{'-' if i + 1 < len(lines) else ' '}{e}" for i, e in enumerate(lines))
        self.send(reply.encode() + b"\r\n")
        if reply.startswith("421"):
            raise Cut
        return reply[0]

    def run(self):
        if self.answer("connect") == "5":
            self.wait_for_peer_to_leave()
            return
        while True:
            line = self.line().decode("utf-8", "replace")
            with self.sink.lock:
                self.sink.commands.append((self.number, line))
            word = line.split(" ")[0].upper()
            argument = line[len(word) + 1:]
            if word in ("EHLO", "HELO", "LHLO"):
                self.forget()
                self.lmtp = word == "LHLO"
                self.answer("ehlo", argument)
            elif word == "STARTTLS" and self.sink.tls and not self.tls:
                if self.answer("starttls") == "2":
                    self.start_tls()
            elif word == "MAIL":
                self.forget()
                if self.answer("mail", argument) == "2":
                    self.sender = address_in(argument)
                    self.arguments["mail"] = argument
            elif word == "RCPT":
                if self.answer("rcpt", argument) == "2":
                    self.recipients.append(address_in(argument))
                    self.arguments[f"rcpt {address_in(argument)}"] = argument
            elif word == "DATA":
                if not self.recipients:
                    self.send(b"503 5.5.1 No recipients\r\n")
                elif self.answer("data", argument) == "3":
                    self.data()
            elif word == "QUIT":
                self.answer("quit")
                return
            elif word == "RSET":
                self.forget()
                self.answer("rset")
            else:
                self.answer("noop" if word == "NOOP" else "unknown", line)

    def start_tls(self):
        self.forget()
        plain = self.socket
        self.socket = self.sink.tls.wrap_socket(plain, server_side=True)
        self.tls = self.socket.version() + (" resumed" if self.socket.session_reused else "")
        if self.sink.tls.verify_mode == ssl.CERT_REQUIRED:
            self.client = dict(pair for parts in self.socket.getpeercert()["subject"] for pair in parts)["commonName"]
        with self.sink.lock:
            self.sink.open.discard(plain)
            self.sink.open.add(self.socket)

    def data(self):
        behaviour = self.sink.behaviour("content")
        if behaviour:
            behaviour(self, "")
        while b"\r\n.\r\n" not in self.buffer and not self.buffer.startswith(b".\r\n"):
            piece = self.socket.recv(1 << 18)
            if not piece:
                raise Cut
            self.buffer += piece
        if self.buffer.startswith(b".\r\n"):
            content, self.buffer = b"", self.buffer[3:]
        else:
            content, _, self.buffer = self.buffer.partition(b"\r\n.\r\n")
            content += b"\r\n"
        lines = content.split(b"\r\n")
        content = b"\r\n".join(l[1:] if l.startswith(b".") else l for l in lines)
        message = Received(self.sender, list(self.recipients), content, self.number, self.tls,
                           dict(self.arguments), self.client, peer=self.peer)
        self.forget()
        # Recorded before the reply: what the peer is told was taken has been taken.
        behaviour = self.sink.behaviour("dot")
        if behaviour is None:
            with self.sink.lock:
                self.sink.messages.append(message)
            self.send((self.sink.defaults["dot"].encode() + b"\r\n") * (len(message.recipients) if self.lmtp else 1))
            return
        reply = behaviour(self, message.text) if callable(behaviour) else behaviour
        if reply is None:
            reply = self.sink.defaults["dot"]
        with self.sink.lock:
            (self.sink.messages if reply.startswith("2") else self.sink.refused).append(message)
        self.send(reply.encode() + b"\r\n")
        if reply.startswith("421"):
            raise Cut


def address_in(argument):
    return argument[argument.index("<") + 1:argument.index(">")] if "<" in argument and ">" in argument else argument
