"""Who the client is when somebody stands between it and us: the PROXY protocol, XCLIENT and XFORWARD."""
import re
import socket
import subprocess

import pytest

from harness.client import Client, message
from harness.proxy import HaProxy, binary, line
from test_auth import submission, users  # noqa: F401
from test_policy import guarded, policy, reversed_name, use  # noqa: F401
from test_tls import starttls, trusting


@pytest.fixture
def balanced(mta, remote):
    """(mta, sink, port): the MTA, whose further listener on that port is behind balancers at 127.0.0.1."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.config["smtpd"]["workers"] = 1
    port = mta.block.port()
    mta.config["listen.balanced"] = {"addresses": [f"{mta.address}:{port}"], "service": "relay",
                                     "proxy_networks": ["127.0.0.1", mta.block.host(70)]}
    return mta, sink, port


def through(mta, port, header, source="127.0.0.1"):
    c = Client(mta.address, port, greet=False, source=source)
    c.send(header)
    return c


# -- PROXY

@pytest.mark.smoke
@pytest.mark.parametrize("header", [line, binary])
def test_the_client_is_whom_the_balancer_names(balanced, header):
    mta, sink, port = balanced
    mta.start()
    for client, replies in (("192.0.2.7", ["250", "250"]), ("203.0.113.7", ["250", "554"]), ("2001:db8::7", ["250", "554"])):
        server = "2001:db8::1" if ":" in client else "198.51.100.1"
        with through(mta, port, header(client, server)) as c:
            assert c.reply().startswith("220")
            c.say("EHLO client.example")
            assert [c.say(l)[:3] for l in ("MAIL FROM:<a@remote.example>", "RCPT TO:<user@remote.example>")] == replies, client
        mta.wait_log(rf"connect from unknown\[{client}\]$")
    mta.wait_log(r"NOQUEUE: reject: RCPT from unknown\[203\.0\.113\.7\]: 554 5\.7\.1 <user@remote.example>: Relay access denied")
    with through(mta, port, header("192.0.2.7")) as c:
        c.reply()
        c.say("EHLO client.example")
        assert c.deliver("a@remote.example", ["user@remote.example"], message()).startswith("250")
    assert "(unknown [192.0.2.7])" in sink.wait_for(1)[0].content.decode()


def test_header_and_bytes_behind_it(balanced):
    mta, _, port = balanced
    mta.start()
    for header in (line("192.0.2.7"), binary("192.0.2.7", extra=b"\x02\0\x04mail"), binary(), b"PROXY UNKNOWN\r\n"):
        with through(mta, port, header[:1]) as c:  # byte by byte
            for octet in header[1:]:
                c.send(bytes([octet]))
            assert c.reply().startswith("220")
        with through(mta, port, header + b"EHLO hasty.example\r\n") as c:  # before the greeting
            assert c.reply().startswith("554 5.5.0")
            c.closed_by_peer()
    mta.wait_log("improper command pipelining after CONNECT from .*EHLO hasty.example", count=4)


def test_no_header_no_session(balanced):
    mta, _, port = balanced
    mta.config["smtpd"]["proxy_timeout"] = "300ms"
    mta.start()
    wrong = {b"EHLO client.example\r\n": "not a PROXY header",
             b"PROXY TCP4 192.0.2.7 198.51.100.1 99999 25\r\n": "not two ports",
             b"PROXY UNKNOWN " + b"x" * 200: "a line of more than 107 bytes",
             binary("192.0.2.7", command=0x2f): "neither LOCAL nor PROXY of version 2",
             binary("192.0.2.7", extra=b"\x03\0\x04\0\0\0\0"): "checksum mismatch",
             binary("192.0.2.7", extra=b"x" * 5000): "more than 4096 bytes after its fixed part",
             b"PROXY TCP4 192.0.2.7": "not received in time",
             b"": "not received in time"}
    for header, why in wrong.items():
        with through(mta, port, header) as c:
            assert c.closed_by_peer() == b""
        mta.wait_log(rf"warning: no PROXY header from localhost\[127\.0\.0\.1\]: {re.escape(why)}")
    with through(mta, port, b"PROXY TC") as c:
        c.socket.shutdown(socket.SHUT_WR)
        assert c.closed_by_peer() == b""
    mta.wait_log(r"no PROXY header from \S+: the connection was closed")
    with through(mta, port, line("192.0.2.7")) as c:
        assert c.reply().startswith("220")


def test_who_is_no_balancer_is_refused(balanced):
    mta, _, port = balanced
    mta.start()
    with through(mta, port, line("192.0.2.7"), source=mta.block.host(71)) as c:
        assert c.reply().startswith("554 5.7.1 mta.test.example Error: connect through the load balancer")
        c.closed_by_peer()
    mta.wait_log(r"NOQUEUE: reject: CONNECT from \S+: 554 5\.7\.1 .*through the load balancer")
    with mta.client(greet=False) as c:  # and a listener without balancers believes nobody
        c.send(line("192.0.2.7"))
        said = c.reply()
        assert re.match("5[05]", c.reply() if said.startswith("220") else said)


def test_limits_count_the_clients_not_the_balancer(balanced):
    mta, _, port = balanced
    mta.config["listen.balanced"]["sessions_per_network"] = 2
    mta.start()
    clients = [through(mta, port, line(f"203.0.113.{n % 3}")) for n in range(6)]
    assert all(c.reply().startswith("220") for c in clients)
    with through(mta, port, line("203.0.113.1")) as c:
        assert c.reply().startswith("421 4.7.0")
    for c in clients:
        c.close()


def test_header_before_implicit_tls(balanced, users):  # noqa: F811
    mta, _, port = balanced
    mta.config["listen.balanced"]["tls"] = "implicit"
    mta.start()
    raw = socket.create_connection((mta.address, port), 20, source_address=("127.0.0.1", 0))
    raw.sendall(binary("192.0.2.7"))
    with trusting().wrap_socket(raw, server_hostname="mta.test.example") as tls:
        assert tls.recv(1000).startswith(b"220 ")
    mta.wait_log(r"TLS connection established from unknown\[192\.0\.2\.7\] to mta\.test\.example: TLS")


def test_haproxy_in_front(balanced):
    mta, sink, port = balanced
    mta.config["relay"]["networks"] = [mta.block.host(72)]
    ports = {mta.block.port(): "send-proxy", mta.block.port(): "send-proxy-v2"}
    mta.start()
    proxy = HaProxy(mta.folder, mta.block.host(60), {p: (mta.address, port, f"{how} source 127.0.0.1") for p, how in ports.items()})
    try:
        for n, (own, how) in enumerate(ports.items()):
            done = subprocess.run(["swaks", "--timeout", "20", "--from", "a@test.example", "--to", "user@remote.example", "--body", how,
                                   "--local-interface", mta.block.host(72), "--server", f"{mta.block.host(60)}:{own}"],
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stdout
            assert f"[{mta.block.host(72)}])" in sink.wait_for(n + 1)[n].content.decode()
        done = subprocess.run(["swaks", "--timeout", "20", "--from", "a@test.example", "--to", "user@remote.example",
                               "--local-interface", mta.block.host(73), "--server", f"{mta.block.host(60)}:{next(iter(ports))}"],
                              capture_output=True, text=True)
        assert "554 5.7.1 <user@remote.example>: Relay access denied" in done.stdout
    finally:
        proxy.stop()


@pytest.mark.parametrize("version", ["1", "2"])
def test_swaks_as_a_balancer(balanced, version):
    mta, sink, port = balanced
    mta.start()
    done = subprocess.run(["swaks", "--timeout", "20", "--from", "a@test.example", "--to", "user@remote.example",
                           "--local-interface", "127.0.0.1", "--server", f"{mta.address}:{port}",
                           "--proxy-version", version, "--proxy-family", "TCP4" if version == "1" else "AF_INET",
                           *(["--proxy-protocol", "STREAM"] if version == "2" else []),
                           "--proxy-source", "192.0.2.9", "--proxy-source-port", "4711",
                           "--proxy-dest", "198.51.100.1", "--proxy-dest-port", "25"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(unknown [192.0.2.9])" in sink.wait_for(1)[0].content.decode()


# -- XCLIENT

@pytest.fixture
def proxied(guarded):  # noqa: F811
    """An MTA that believes a proxy at 127.0.0.1."""
    guarded.config["listen.relay"].update(xclient_networks=["127.0.0.1"], xforward_networks=["127.0.0.1"])
    return guarded


def proxy(mta, **options):
    c = Client(mta.address, mta.relay_port, source="127.0.0.1", **options)
    offered = c.say("EHLO proxy.example")
    assert "250-XCLIENT NAME ADDR PORT PROTO HELO LOGIN DESTADDR DESTPORT REVERSE_NAME" in offered
    return c


@pytest.mark.smoke
def test_xclient_makes_the_session_another_clients(proxied, remote):
    sink = remote()
    proxied.route("remote.example", sink)
    proxied.start()
    with proxy(proxied) as c:
        assert c.say("XCLIENT NAME=spike.example ADDR=203.0.113.7 PORT=4711").startswith("220 mta.test.example")
        c.say("EHLO spike.example")
        c.say("MAIL FROM:<a@remote.example>")
        assert c.say("RCPT TO:<user@remote.example>").startswith("554 5.7.1")
        proxied.wait_log(r"reject: RCPT from spike\.example\[203\.0\.113\.7\]: 554 5\.7\.1 .*Relay access denied")
        c.say("RSET")
        assert c.say("XCLIENT NAME=[UNAVAILABLE] ADDR=IPV6:2001:db8::7").startswith("220")
        assert c.say("XCLIENT NAME=trusted.example ADDR=192.0.2.7").startswith("220")
        c.say("EHLO trusted.example")
        assert c.deliver("a@remote.example", ["user@remote.example"], message()).startswith("250")
        for nobody in ("ADDR=[UNAVAILABLE]", "ADDR=[TEMPUNAVAIL] NAME=[TEMPUNAVAIL]"):
            assert c.say(f"XCLIENT {nobody}").startswith("220")
            c.say("EHLO nobody.example")
            c.say("MAIL FROM:<a@remote.example>")
            assert c.say("RCPT TO:<user@remote.example>").startswith("554 5.7.1")
            assert c.say("RSET").startswith("250")
        assert c.say("XCLIENT ADDR=300.1.2.3") == "501 5.5.4 Error: bad value of ADDR"
        assert c.say("XCLIENT DESTADDR=nonsense") == "501 5.5.4 Error: bad value of DESTADDR"
        c.say("QUIT")
    received = sink.wait_for(1)[0].content.decode()
    assert "from trusted.example (trusted.example [192.0.2.7])" in received
    proxied.wait_log(r"XCLIENT from localhost\[127\.0\.0\.1\]: the client is spike\.example\[203\.0\.113\.7\]")
    proxied.wait_log(r"reject: RCPT from unknown\[unknown\]: 554")
    proxied.wait_log(r"disconnect from .* xclient=5/7 ")


def test_swaks_as_a_proxy(proxied, remote):
    sink = remote()
    proxied.route("remote.example", sink)
    proxied.start()
    swaks = ["swaks", "--timeout", "20", "--from", "a@test.example", "--to", "user@remote.example", "--local-interface", "127.0.0.1",
             "--server", f"{proxied.address}:{proxied.relay_port}"]
    done = subprocess.run([*swaks, "--xclient-addr", "192.0.2.7", "--xclient-name", "spike.example", "--xclient-helo", "helo.example",
                           "--xclient-port", "4711", "--xclient-proto", "ESMTP"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(spike.example [192.0.2.7])" in sink.wait_for(1)[0].content.decode()
    done = subprocess.run([*swaks, "--xclient-login", "ann", "--xclient-addr", "203.0.113.7"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    sink.wait_for(2)
    proxied.wait_log(r": client=unknown\[203\.0\.113\.7\], sasl_method=XCLIENT, sasl_username=ann$")


def test_strangers_get_nothing_by_it(proxied):
    proxied.start()
    for source, port in (("127.0.0.1", proxied.submission_port), (proxied.block.host(70), proxied.relay_port)):
        with Client(proxied.address, port, source=source) as c:
            assert "XCLIENT" not in c.say("EHLO client.example")
            for command in ("XCLIENT ADDR=192.0.2.1", "XCLIENT LOGIN=ann", "XCLIENT", "XFORWARD NAME=x"):
                assert c.say(command) == "550 5.7.0 Error: insufficient authorization"
    with Client(proxied.address, proxied.relay_port, source=proxied.block.host(70)) as c:
        c.say("EHLO client.example")
        c.say("XCLIENT LOGIN=ann")
        c.say("MAIL FROM:<a@remote.example>")
        assert c.say("RCPT TO:<user@remote.example>").startswith("554 5.7.1")
    proxied.wait_log(r"NOQUEUE: reject: XCLIENT from \S+: 550 5\.7\.0 Error: insufficient authorization")


def test_what_was_known_of_the_former_client_is_forgotten(proxied, policy, names, block):  # noqa: F811
    """Rates, DNS lists and policy are those of the client the proxy names last."""
    proxied.use_names(names)
    proxied.config["smtpd"]["messages_per_minute"] = 1
    proxied.config["smtpd"]["workers"] = 1
    proxied.config['dns_list."bad.example"'] = {"weight": 1}
    names.address_of(reversed_name("203.0.113.66", "bad.example"), "127.0.0.2")
    use(proxied, policy)
    proxied.start()
    user = f"{proxied.user}@test.example"

    def reply_to(c, address):
        assert c.say(f"XCLIENT ADDR={address} NAME=client{address[-1]}.example REVERSE_NAME=ptr.example DESTADDR=198.51.100.1 DESTPORT=25"
                     ).startswith("220")
        c.say(f"EHLO client{address[-1]}.example")
        reply = c.say("MAIL FROM:<a@remote.example>")
        return c.say(f"RCPT TO:<{user}>") if reply[0] == "2" else reply
    with proxy(proxied) as c:
        assert reply_to(c, "203.0.113.66").startswith("554 5.7.1 Service unavailable; Client host [203.0.113.66] blocked")
        c.say("RSET")
        assert reply_to(c, "203.0.113.7").startswith("250")
        asked = policy.questions[-1]
        assert (asked["client_address"], asked["client_name"], asked["reverse_client_name"], asked["server_address"], asked["server_port"]
                ) == ("203.0.113.7", "client7.example", "ptr.example", "198.51.100.1", "25")
        c.say("RSET")
        assert reply_to(c, "203.0.113.8").startswith("250")
        c.say("RSET")
        assert reply_to(c, "203.0.113.7").startswith("450 4.7.1 Error: too many messages from 203.0.113.7")


def test_sessions_are_counted_for_the_client_named(proxied):
    proxied.config["smtpd"]["workers"] = 1
    proxied.config["listen.relay"]["sessions_per_network"] = 3
    proxied.start()
    sessions = []
    for n in range(6):  # more than the proxy itself may have
        sessions.append(proxy(proxied))
        assert sessions[-1].say(f"XCLIENT ADDR=203.0.113.{n // 3}").startswith("220")
    with proxy(proxied) as c:
        assert c.say("XCLIENT ADDR=203.0.113.1").startswith("421 4.7.0")
    sessions[0].close()
    proxied.wait_log(r"disconnect from .*203\.0\.113\.0")
    with proxy(proxied) as c:
        assert c.say("XCLIENT ADDR=203.0.113.0").startswith("220")
    for c in sessions:
        c.close()


def test_xclient_is_no_way_around_a_handshake(users):  # noqa: F811
    """Before STARTTLS anybody in between may have said it: who had logged in is nobody under TLS."""
    mta, _ = users
    mta.config["listen.submission"].update(tls="offer", xclient_networks=["127.0.0.0/8"])
    mta.start()
    with Client(mta.address, mta.submission_port) as c:
        c.say("EHLO proxy.example")
        assert c.say("XCLIENT LOGIN=ann ADDR=203.0.113.7 HELO=client.example").startswith("220")
        assert c.say("MAIL FROM:<ann@test.example>").startswith("250")
        assert c.say("XCLIENT LOGIN=root").startswith("503")
        c.say("RSET")
        c.send(b"STARTTLS\r\nXCLIENT LOGIN=ann\r\n")
        assert c.reply().startswith("554 5.5.0")
    with submission(mta) as c:
        assert c.say("MAIL FROM:<ann@test.example>").startswith("530 5.7.0 Authentication required")
        assert c.say("XCLIENT LOGIN=ann").startswith("220")
        assert c.say("AUTH PLAIN AGFubgBzZWNyZXQ=").startswith("503")  # EHLO first
        assert c.say("EHLO client.example").startswith("250")
        assert c.say("AUTH PLAIN AGFubgBzZWNyZXQ=").startswith("503 5.5.1 Error: already authenticated")
        assert c.say("MAIL FROM:<ann@test.example>").startswith("250")
        c.say("RSET")
        assert c.say("XCLIENT ADDR=203.0.113.8").startswith("220")
        assert c.say("EHLO client.example").startswith("250")
        assert c.say("MAIL FROM:<ann@test.example>").startswith("530")
        c.send(b"XCLIENT LOGIN=ann\r\nMAIL FROM:<ann@test.example>\r\n")
        assert c.reply().startswith("554 5.5.0")


# -- XFORWARD

def test_what_xforward_said_is_forgotten_with_rset(proxied):
    proxied.start()
    with proxy(proxied) as c:
        assert c.say("XFORWARD NAME=spike.example ADDR=203.0.113.7 IDENT=3F4A5B").startswith("250 2.0.0")
        assert c.say("RSET").startswith("250")
        assert c.deliver("a@remote.example", [f"{proxied.user}@test.example"], message()).startswith("250")
    assert proxied.wait_log(r": client=(.*)")[1] == "localhost[127.0.0.1]"


def test_xforward_is_for_the_log(proxied):
    proxied.start()
    user = f"{proxied.user}@test.example"
    with proxy(proxied) as c:
        assert c.say("XFORWARD NAME=spike.example ADDR=203.0.113.7 PORT=4711 PROTO=ESMTP").startswith("250 2.0.0")
        assert c.say("XFORWARD HELO=spike.example IDENT=3F4A5B SOURCE=REMOTE").startswith("250 2.0.0")
        assert c.deliver("a@remote.example", [user], message("first")).startswith("250")
        assert c.deliver("a@remote.example", [user], message("second")).startswith("250")
    proxied.wait_log(r": client=localhost\[127\.0\.0\.1\], orig_queue_id=3F4A5B, orig_client=spike\.example\[203\.0\.113\.7\]$")
    proxied.wait_log(r": client=localhost\[127\.0\.0\.1\]$")  # of one message only
    received = proxied.wait_mailbox(2)
    assert not any("203.0.113.7" in each for each in received)
