"""The load: Postfix's own smtp-source and smtp-sink, our tls-source, and one patient client that measures latency."""
import fcntl
import os
import re
import socket
import subprocess
import time

COUNTER = re.compile(rb"mesg=(\d+)")


def wait_for_port(address, port, seconds=20):
    end = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((address, port), 1) as s:
                s.settimeout(5)
                if s.recv(3) == b"220":
                    s.sendall(b"QUIT\r\n")
                    return
        except OSError:
            pass
        if time.monotonic() > end:
            raise TimeoutError(f"nobody greets on {address}:{port}")
        time.sleep(0.02)


class Sink:
    """smtp-sink with its running counter on a pipe."""

    def __init__(self, address, port, wait=0):
        command = ["smtp-sink", *(["-u", "root"] if os.geteuid() == 0 else []), "-c", *(["-w", str(wait)] if wait else []), f"{address}:{port}", "1000"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.number = self.process.stdout.fileno()
        fcntl.fcntl(self.number, fcntl.F_SETFL, os.O_NONBLOCK)
        fcntl.fcntl(self.number, 1031, 1 << 20)  # F_SETPIPE_SZ
        self.count, self.tail = 0, b""
        wait_for_port(address, port)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def messages(self):
        try:
            while True:
                piece = os.read(self.number, 1 << 20)
                if not piece:
                    break
                self.tail = (self.tail + piece)[-200:]
        except BlockingIOError:
            pass
        found = COUNTER.findall(self.tail.rpartition(b"\r")[0])
        if found:
            self.count = int(found[-1])
        return self.count

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def wait_until_received(sinks, expected, seconds, each_time=lambda: None):
    """The moment at which all sinks together have that many messages."""
    end = time.monotonic() + seconds
    while True:
        have = sum(sink.messages() for sink in sinks)
        now = time.monotonic()
        if have >= expected:
            return now
        if now > end:
            raise TimeoutError(f"the sinks have {have} of {expected} messages after {seconds:.0f} s")
        each_time()
        time.sleep(0.005)


def source(address, port, messages, *, sessions=20, size=4096, recipients=1, reuse=False, to="user@sink.example"):
    command = ["smtp-source", "-s", str(sessions), "-m", str(messages), "-l", str(size), "-f", "sender@bench.example",
               "-t", to, *(["-r", str(recipients)] if recipients > 1 else []), *(["-d"] if reuse else []),
               f"{address}:{port}"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def tls_source(program, address, port, messages, *, sessions=20, size=4096, reuse=False, resume=False, mail=True):
    """The same under STARTTLS; its output says how many handshakes there were, and how many were resumed."""
    command = [program, "-s", str(sessions), "-m", str(messages), "-l", str(size), *(["-d"] if reuse else []),
               *(["-r"] if resume else []), *([] if mail else ["-n"]), f"{address}:{port}"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def latencies(address, port, rounds, size=4096):
    """Seconds from connect to the 250 of the final dot, one client, one message at a time, commands not pipelined."""
    content = (b"From: sender@bench.example\r\nTo: user@sink.example\r\nSubject: latency\r\n\r\n" +
               (b"x" * 76 + b"\r\n") * (size // 78) + b".\r\n")
    commands = [b"EHLO bench.example\r\n", b"MAIL FROM:<sender@bench.example>\r\n", b"RCPT TO:<user@sink.example>\r\n",
                b"DATA\r\n", content]
    found = []
    for _ in range(rounds):
        begun = time.perf_counter()
        with socket.create_connection((address, port), 10) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.settimeout(30)
            reply(s)
            for command in commands:
                s.sendall(command)
                reply(s)
            found.append(time.perf_counter() - begun)
            s.sendall(b"QUIT\r\n")
            reply(s)
    return found


def reply(s):
    text = b""
    while True:
        piece = s.recv(4096)
        if not piece:
            raise ConnectionError(f"closed after {text!r}")
        text += piece
        if text.endswith(b"\r\n") and text.splitlines()[-1][3:4] == b" ":
            if text[:1] not in b"23":
                raise ConnectionError(f"refused: {text!r}")
            return
