"""A mail client for tests: says exactly the bytes it is told, one reply at a time."""
import socket


class Closed(Exception):
    pass


class Client:
    def __init__(self, address, port, timeout=20, greet=True, source=None):
        self.socket = socket.create_connection((address, port), timeout, source_address=(source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        if greet:
            self.banner = self.reply()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    def close(self):
        self.socket.close()

    def reply(self):
        """One whole reply, its lines joined by newlines: "250-first\\n250 last"."""
        lines = []
        while True:
            while b"\r\n" not in self.buffer:
                piece = self.socket.recv(65536)
                if not piece:
                    raise Closed(f"closed after {lines} {self.buffer!r}")
                self.buffer += piece
            line, _, self.buffer = self.buffer.partition(b"\r\n")
            lines.append(line.decode("utf-8", "replace"))
            if lines[-1][3:4] != "-":
                return "\n".join(lines)

    def send(self, octets):
        self.socket.sendall(octets)

    def say(self, line):
        """Sends one command line, returns the reply."""
        self.send(line.encode() + b"\r\n")
        return self.reply()

    def closed_by_peer(self):
        """Everything until the peer closes; fails by timeout if it does not."""
        rest = self.buffer
        while True:
            try:
                piece = self.socket.recv(65536)
            except ConnectionResetError:
                return rest
            if not piece:
                return rest
            rest += piece

    def deliver(self, sender, recipients, content, mail_parameters="", rcpt_parameters=""):
        """One transaction after EHLO was said; returns the reply to the final dot, or the first refusal."""
        reply = self.say(f"MAIL FROM:<{sender}>{mail_parameters}")
        if reply[0] != "2":
            return reply
        for recipient in recipients:
            reply = self.say(f"RCPT TO:<{recipient}>{rcpt_parameters}")
            if reply[0] != "2":
                return reply
        reply = self.say("DATA")
        if reply[0] != "3":
            return reply
        self.send(stuffed(content))
        return self.reply()


def stuffed(content):
    """Content as it goes after 354: CRLF, dots doubled, the final dot."""
    if isinstance(content, str):
        content = content.replace("\r\n", "\n").replace("\n", "\r\n").encode()
    if not content.endswith(b"\r\n"):
        content += b"\r\n"
    lines = content.split(b"\r\n")
    return b"\r\n".join(b"." + l if l.startswith(b".") else l for l in lines) + b".\r\n"


def message(subject="test", body="Hello.", sender="sender@test.example", to="user@remote.example", extra=""):
    return (f"From: {sender}\r\nTo: {to}\r\nSubject: {subject}\r\nMessage-ID: <{subject.replace(' ', '.')}@test.example>\r\n"
            f"Date: Fri, 20 Nov 2026 16:00:00 +0000\r\n{extra}\r\n{body}\r\n")
