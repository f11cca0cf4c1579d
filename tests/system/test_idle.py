"""What idle sessions cost a worker: 10,000 of them fit into 200 MB, in plain text and under TLS. `scripts/soak idle`
opens as many under TLS, too; here a tenth of them stands for the rest."""
import os
import resource
import socket
import ssl
from pathlib import Path

import pytest

from harness.certificates import make_certificate
from test_tls import trusting

WANTED, MEMORY = 10_000, 200_000_000
UNDER_TLS = int(os.environ.get("POSTRIDER_IDLE_TLS", 1000))


@pytest.fixture
def descriptors():
    """As many as this process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard if hard != resource.RLIM_INFINITY else 1 << 20
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def roomy(mta):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.config["smtpd"].update(workers=1, sessions=2 * WANTED, sessions_per_network=2 * WANTED, command_timeout="1h")
    mta.start()
    return mta


def resident(mta):
    status = Path(f"/proc/{mta.pids('smtpd')[0]}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def reply(s, read=None):
    """Until the last line of a reply is whole."""
    read, said = read or (lambda: s.recv(4096)), b""
    while not said.endswith(b"\r\n") or said.rpartition(b"\r\n")[0].rpartition(b"\r\n")[2][3:4] == b"-":
        piece = read()
        assert piece, said
        said += piece
    return said


def crowd(mta, number, greet):
    """Connected sockets; a hundred at a time are on their way."""
    sockets = []
    while len(sockets) < number:
        fresh = [socket.create_connection((mta.address, mta.relay_port), 60) for _ in range(min(100, number - len(sockets)))]
        for s in fresh:
            greet(s)
        sockets += fresh
    return sockets


def cost_of_ten_thousand(mta, number, greet):
    """The worker's memory with them, or what it would be."""
    before = resident(mta)
    sockets = crowd(mta, number, greet)
    try:
        after = resident(mta)
        print(f"\n{number} idle sessions: {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB with them")
        return before + (after - before) * WANTED // number
    finally:
        for s in sockets:
            s.close()


def test_ten_thousand_idle_sessions(roomy, descriptors):
    def greet(s):
        assert reply(s).startswith(b"220")
        s.sendall(b"EHLO idle.example\r\n")
        assert reply(s).startswith(b"250")
    assert cost_of_ten_thousand(roomy, min(WANTED, descriptors - 500), greet) < MEMORY
    assert roomy.answers()


def test_ten_thousand_idle_sessions_under_tls(roomy, descriptors):
    context = trusting()

    def greet(s):
        assert reply(s).startswith(b"220")
        s.sendall(b"EHLO idle.example\r\n")
        assert reply(s).startswith(b"250")
        s.sendall(b"STARTTLS\r\n")
        assert reply(s).startswith(b"220")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()  # of our own end only the socket stays
        tls = context.wrap_bio(incoming, outgoing)

        def until(step):
            while True:
                try:
                    done = step()
                except ssl.SSLWantReadError:
                    s.sendall(outgoing.read())
                    incoming.write(s.recv(65536))
                    continue
                s.sendall(outgoing.read())
                return done
        until(tls.do_handshake)
        tls.write(b"EHLO idle.example\r\n")
        assert reply(s, lambda: until(lambda: tls.read(4096))).startswith(b"250")
    assert cost_of_ten_thousand(roomy, min(UNDER_TLS, descriptors - 500), greet) < MEMORY
    assert roomy.answers()
