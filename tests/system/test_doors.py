"""Bad input at every door: each gets one clear answer, is bounded, and harms nobody else."""
import os
import re
import select
import signal
import socket
import threading
import time

import pytest

from harness.client import Client, Closed, message, stuffed
from harness.doors import knock
from harness.mta import kill
from harness.watch import wait_until


@pytest.fixture
def running(shared):
    return shared[0]


def still_serves(mta):
    """The proof after each outrage: an honest client is served at once."""
    mta.submit(f"{mta.user}@test.example", f"still alive {time.monotonic()}")


# -- what a client may say

@pytest.mark.smoke
@pytest.mark.parametrize("line, reply", [
    ("FOO", "500"), ("EHLO", "501"), ("MAIL", "501"), ("MAIL FROM:", "501"), ("MAIL FROM:<a@b", "501"),
    ("MAIL FROM:<a@test.example> SIZE=18446744073709551616", "552 5.3.4"), ("MAIL FROM:<a@test.example> SIZE=-1", "501"),
    ("MAIL FROM:<a@test.example> SIZE=many", "501"), ("MAIL FROM:<a@test.example> RET=FULL RET=HDRS", "501"),
    ("MAIL FROM:<a@test.example> ENVID=a+zz", "501"), ("MAIL FROM:<a@test.example> NOSUCH=1", "555"),
    ("MAIL FROM:<a@test.example> SIZE=99999999999", "552"), ("RCPT TO:<a@test.example>", "503"), ("DATA", "503"),
    ("MAIL FROM:<a@test.example> SIZE=9223372036854775808", "552 5.3.4"),
    ("MAIL FROM:<a@test.example> SIZE=" + "9" * 100, "552 5.3.4"), ("MAIL FROM:<" + "x" * 255 + "@test.example>", "250"),
    ("MAIL FROM:<" + "x" * 256 + "@test.example>", "501"), ("VRFY someone", "252"), ("NOOP", "250"), ("HELP", "214"),
    ("RSET", "250"), ("STARTTLS", "502"), ("EXPN list", "502"), ("BDAT", "501 5.5.4"), ("BDAT -1", "501 5.5.4"), ("BDAT 18446744073709551616", "501 5.5.4"),
    ("BDAT 5 LAST LAST", "501 5.5.4"), ("BDAT 0", "503 5.5.1"), ("BDAT 18446744073709551615", "503 5.5.1"),
], ids=lambda v: v[:40])
def test_command_and_reply(running, line, reply):
    with running.client() as c:
        answer = c.say(line)
        assert answer.startswith(reply), answer
        # Every reply after EHLO carries an enhanced code of its own class.
        assert re.match(rf"{answer[0]}\d\d[ -]{answer[0]}\.\d+\.\d+ ", answer), answer


@pytest.mark.parametrize("parameters, reply", [
    ("NOTIFY=NEVER,SUCCESS", "501 5.5.4"), ("NOTIFY=SOMETIMES", "501 5.5.4"), ("ORCPT=rfc822;a+00b", "501 5.5.4"),
    ("ORCPT=rfc822;a+0D+0Ab", "501 5.5.4"), ("ORCPT=rfc822;a+zz", "501 5.5.4"), ("ORCPT=nothing", "501 5.5.4"),
    ("NOTIFY=NEVER NOTIFY=NEVER", "501 5.5.4"), ("NOTIFY=SUCCESS,FAILURE,DELAY", "250 2.1.5"),
])
def test_rcpt_parameters(running, parameters, reply):
    with running.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        answer = c.say(f"RCPT TO:<user@remote.example> {parameters}")
        assert answer.startswith(reply), answer


def test_ehlo_inside_a_transaction_resets_it(running):
    with running.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.say("RCPT TO:<user@remote.example>")
        c.say("EHLO again.example")
        assert c.say("RCPT TO:<user@remote.example>").startswith("503")
        assert c.say("DATA").startswith("503")


@pytest.mark.smoke
def test_nobody_relays_by_accident(mta, remote, block):
    sink = remote()
    mta.route("*", sink)
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.config["listen.submission"]["submission_networks"] = ["192.0.2.0/24"]
    mta.start()
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        for victim in ("user@remote.example", "user%remote.example@elsewhere.example", '"user@remote.example"@elsewhere.example'):
            assert c.say(f"RCPT TO:<{victim}>").startswith("554 5.7.1"), victim
        assert c.say("RCPT TO:<@test.example:user@remote.example>")[0] == "5"
        assert c.say(f"RCPT TO:<{mta.user}@test.example>").startswith("250")
        assert c.say("RCPT TO:<postmaster>").startswith("250")
    mta.wait_log(r"NOQUEUE: reject: RCPT from \S+\[127\.\S+\]: 554 5\.7\.1 <user@remote\.example>: Relay access denied; "
                 r"from=<a@test\.example> to=<user@remote\.example> proto=ESMTP helo=<client\.example>")
    with mta.client(mta.submission_port) as c:
        assert c.say("MAIL FROM:<a@test.example>").startswith("530 5.7.0")
    assert sink.connections == 0


def test_unknown_local_user_is_refused_at_once(running):
    with running.client() as c:
        c.say("MAIL FROM:<a@remote.example>")
        assert c.say("RCPT TO:<nobody-here@test.example>").startswith("550 5.1.1")
        assert c.say("RCPT TO:<postmaster>").startswith("250")
        assert c.say("RCPT TO:<postmaster@test.example>").startswith("250")


# -- smuggling

SEQUENCES = {"LF.LF": b"\n.\n", "LF.CRLF": b"\n.\r\n", "CRLF.LF": b"\r\n.\n", "CR.CR": b"\r.\r", "CR.CRLF": b"\r.\r\n",
             "CRLF.CR": b"\r\n.\r", "CR.LF": b"\r.\n", "CRLF.CRCRLF": b"\r\n.\r\r\n", "CRCRLF.CRCRLF": b"\r\r\n.\r\r\n",
             "CRLF NUL.CRLF": b"\r\n\0.\r\n", "CRLF.NUL CRLF": b"\r\n.\0\r\n", "CRLF.SP CRLF": b"\r\n. \r\n"}


def test_long_local_parts_go_all_the_way(mta, remote):
    """As VERP and SRS make them: from a program and from a client, to a user's address with a long extension, through an
    alias, and back to the long sender when nobody takes the message."""
    sink = remote()
    mta.route("remote.example", sink)
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "unknown" in argument else None)
    verp = "list-bounces+" + "some.subscriber.with.a.long.name.indeed=" * 4 + "example.org"
    srs = "SRS0=HHHH=TT=" + "a" * 80 + ".example.org=" + "someone" * 12
    long_alias = "a-list-with-a-very-long-name-" * 5
    mta.aliases.write_text(f"{long_alias}: {mta.user}\nlist-bounces: other\n")
    mta.start()
    assert all(64 < len(each) <= 255 for each in (verp, srs, long_alias))
    with mta.client() as c:
        assert c.deliver(f"{srs}@test.example", [f"{verp}@remote.example", f"{mta.user}+{srs}@test.example", f"{long_alias}@test.example"],
                         message("from outside"), rcpt_parameters=f" ORCPT=rfc822;{srs.replace('=', '+3D')}@test.example").startswith("250")
    done = mta.sendmail("-f", f"{verp}@test.example", f"{srs}@remote.example")
    assert done.returncode == 0, done.stderr
    sink.wait_for(2)
    assert {m.sender for m in sink.messages} == {f"{srs}@test.example", f"{verp}@test.example"}
    assert {r for m in sink.messages for r in m.recipients} == {f"{verp}@remote.example", f"{srs}@remote.example"}
    mta.wait_mailbox(2)
    assert mta.sendmail("-f", f"{verp}@test.example", "unknown@remote.example").returncode == 0
    report = mta.wait_mailbox(1, user="other")[0]
    assert "550 5.1.1 No such user" in report and f"{verp}@test.example" in report
    mta.wait_until_empty()


def test_mail_in_transit_through_this_host_is_not_rewritten(mta, remote):
    """A filter or list program of this host gives back what came from elsewhere: signatures of the strictest kind hold."""
    sink = remote()
    mta.route("remote.example", sink)
    del mta.config["smtpd"]["complete_headers"]
    mta.start()
    strict = "DKIM-Signature: v=1; c=simple/simple; d=x.example; s=s; h=to:date:message-id;\r\n b=AAAA\r\nTO :bare\r\nSubject:no blank\r\n\r\nbody\r\n"
    for content in (strict, "Received: from a by b; Fri, 20 Nov 2026 16:00:00 +0000\r\nTo:bare\r\nContent-Length: 5\r\n\r\nbody\r\n"):
        with mta.client() as c:
            assert c.deliver("a@test.example", ["user@remote.example"], content.encode()).startswith("250")
        sink.wait_for(1)
        assert sink.messages[-1].text.replace("\r\n", "\n").endswith(content.replace("\r\n", "\n")), sink.messages[-1].text
        assert sink.messages[-1].text.count("Message-ID:") == 0
        sink.messages.clear()
    with mta.client() as c:  # what begins here still gets what it lacks
        assert c.deliver("a@test.example", ["user@remote.example"], b"To: bare\r\n\r\nbody\r\n").startswith("250")
    sink.wait_for(1)
    assert "To: bare@test.example" in sink.messages[0].text and "Message-ID: <" in sink.messages[0].text


@pytest.mark.smoke
@pytest.mark.parametrize("split", ["whole", "each byte"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_nothing_but_crlf_dot_crlf_ends_a_message(shared, name, split):
    mta, sink = shared
    smuggled = (b"MAIL FROM:<evil@remote.example>\r\nRCPT TO:<victim@remote.example>\r\nDATA\r\n"
                b"Subject: smuggled\r\n\r\nsurprise\r\n")
    content = message("outer", "first line").encode().rstrip(b"\r\n") + SEQUENCES[name] + smuggled + b".\r\n"
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.say("RCPT TO:<user@remote.example>")
        c.say("DATA")
        if split == "whole":
            c.send(content)
        else:
            for n in range(len(content)):
                c.send(content[n:n + 1])
        first = c.reply()
        assert c.say("NOOP").startswith("250"), "the session is in step"
    mta.wait_until_empty()
    assert not sink.to("victim@remote.example")
    assert len(sink.messages) == (1 if first.startswith("250") else 0)
    for m in sink.messages:
        assert b"\r" not in m.content.replace(b"\r\n", b"") and b"\n" not in m.content.replace(b"\r\n", b"")
    if name in ("LF.LF", "LF.CRLF", "CRLF.LF", "CR.CR", "CR.CRLF", "CRLF.CR", "CR.LF"):
        assert first.startswith("550 5.5.2"), first


def test_dot_at_once_is_an_empty_message(shared):
    mta, sink = shared
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.say("RCPT TO:<user@remote.example>")
        c.say("DATA")
        assert c.say(".").startswith("250 2.0.0")
    sink.wait_for(1)


def test_bare_newlines_in_commands_end_the_session(running):
    with running.client() as c:
        replies = []
        try:
            for _ in range(30):
                c.send(b"NOOP\n")
                c.send(b"\r\n")
                replies.append(c.reply())
        except (Closed, OSError):
            pass
        assert replies and replies[0].startswith("500") and len(replies) < 30
    still_serves(running)


def test_a_device_of_ours_may_end_lines_and_messages_with_a_bare_newline(mta, block):
    mta.config["smtpd"] = {"bare_newline_networks": [f"{block.host(9)}/32"], "bare_newlines": "reject"}
    mta.start()
    with mta.client(source=block.host(9)) as scanner:
        scanner.send(f"MAIL FROM:<scanner@test.example>\nRCPT TO:<{mta.user}@test.example>\nDATA\n".encode())
        assert [scanner.reply()[:3] for _ in range(3)] == ["250", "250", "354"]
        scanner.send(b"Subject: scanned\n\n..page one\n.\nQUIT\n")
        assert [scanner.reply()[:3] for _ in range(2)] == ["250", "221"]
    scanned = mta.wait_mailbox(1)[0]
    assert "Subject: scanned\n" in scanned and scanned.endswith("\n\n.page one\n")
    with mta.client(source=block.host(8)) as stranger:
        stranger.send(b"NOOP\n")
        assert stranger.reply().startswith("500 5.5.2")


def test_who_talks_before_the_banner_is_refused(shared):
    """The server is stopped while they talk, so that what they say is there before it can greet."""
    mta, sink = shared
    doors = mta.pids("smtpd")
    try:
        for pid in doors:
            kill(pid, signal.SIGSTOP)
        c = Client(mta.address, mta.relay_port, greet=False)
        c.send(b"EHLO early.example\r\nMAIL FROM:<a@test.example>\r\n")
    finally:
        for pid in doors:
            kill(pid, signal.SIGCONT)
    with c:
        assert c.closed_by_peer().startswith(b"554 5.5.0 ")
    mta.wait_log(r"improper command pipelining after CONNECT from \S+\[127\.\S+\]: EHLO early\.example")
    still_serves(mta)


# -- limits

def test_line_limits_of_commands(running):
    with running.client() as c:
        assert c.say("NOOP " + "x" * 400).startswith("250")
        assert c.say("NOOP " + "x" * 5000).startswith("500 5.5.2")
        assert c.say("NOOP").startswith("250")


@pytest.mark.parametrize("length", [998, 999, 1_000_000])
def test_long_lines_of_content_are_taken(shared, length):
    mta, sink = shared
    mta.submit("user@remote.example", body="x" * length)
    m = sink.wait_for_one_to("user@remote.example")
    assert m.content.count(b"x") >= length


def memory_peak(mta, role):
    """In KiB, of the largest of that role's processes."""
    return max(int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) for pid in mta.pids(role))


def test_endless_line_costs_no_memory(mta):
    """48 MB without a newline against a limit of 1 MB: read, thrown away, refused."""
    mta.config["smtpd"].update(message_size="1MiB", workers=1)
    mta.start()
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.say(f"RCPT TO:<{mta.user}@test.example>")
        c.say("DATA")
        for _ in range(48):
            c.send(b"x" * (1 << 20))
        c.send(b"\r\n.\r\n")
        assert c.reply().startswith("552 5.3.4")
        assert c.say("NOOP").startswith("250")
    if not os.environ.get("ASAN_OPTIONS"):
        assert memory_peak(mta, "smtpd") < 30_000
    assert not mta.spool_files()


def test_a_hundred_thousand_recipients(mta, remote):
    """1,000 are taken, as many again are told 452, and the log says so once; who goes on is sent away."""
    mta.config["smtpd"]["workers"] = 1
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    replies = {"250": 0, "452": 0}
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        for n in range(0, 2_000, 500):
            c.send(b"".join(b"RCPT TO:<user%d@remote.example>\r\n" % k for k in range(n, n + 500)))
            for _ in range(500):
                replies[c.reply()[:3]] += 1
        assert replies == {"250": 1000, "452": 1000}
        c.say("DATA")
        c.send(stuffed(message()))
        assert c.reply().startswith("250 2.0.0")
        assert len(mta.spool_files()) <= 1
    assert len(mta.logged(r"reject: RCPT from \S+: 452 4\.5\.3 Error: too many recipients; from=<a@test\.example>")) == 1
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        for n in range(100_000):
            reply = c.say(f"RCPT TO:<user{n}@remote.example>")
            if reply.startswith("452 4.5.3") and n >= 2000:
                over = n
            if n == 2000 + 19:
                break
        assert over == 2019 and c.reply() == "421 4.7.0 mta.test.example Error: too many errors"
        c.closed_by_peer()
    if not os.environ.get("ASAN_OPTIONS"):
        assert memory_peak(mta, "smtpd") < 30_000
    mta.wait_until_empty(40)


def test_an_idle_crowd_gives_way(mta):
    """Sessions that say nothing fill the house: more are told to come back or take the place of who has been silent for
    a while, and an honest client gets in."""
    mta.config["smtpd"].update(sessions=50, sessions_per_network=1000, workers=1, command_timeout="2s")
    mta.config["listen.submission"]["sessions"] = 50
    mta.start()
    crowd = [Client(mta.address, mta.relay_port, greet=False, source=mta.block.host(100 + n % 100)) for n in range(60)]
    try:
        said = [c.reply() for c in crowd]
        busy = "421 4.3.2 mta.test.example All server ports are busy, try again later"
        assert {s for s in said if not s.startswith("220 mta")} <= {busy} and said.count(busy) <= 10, said
        mta.wait_log("of 50 sessions are in use: idle ones are closed sooner")
        wait_until(mta.answers, 10, "an honest client to be served")
        gave_way = [c for c in crowd if select.select([c.socket], [], [], 0)[0]]
        words = "421 4.3.2 mta.test.example Error: session too slow, and other clients are waiting"
        assert all(words in c.reply() for c in gave_way if busy not in said[crowd.index(c)])
    finally:
        for c in crowd:
            c.close()


def test_message_too_large(mta, remote):
    mta.config["smtpd"]["message_size"] = "100KiB"
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    with mta.client() as c:
        assert c.say("MAIL FROM:<a@test.example> SIZE=200000").startswith("552 5.3.4")
        mta.wait_log(r"NOQUEUE: reject: MAIL from \S+\[127\.\S+\]: 552 5\.3\.4 Message size exceeds fixed limit; "
                     r"proto=ESMTP helo=<client\.example>")
        reply = c.deliver("a@test.example", ["user@remote.example"], message(body="x" * 70 + "\r\n" + ("y" * 70 + "\r\n") * 3000))
        assert reply.startswith("552 5.3.4"), reply
        assert c.say("NOOP").startswith("250")
        assert c.deliver("a@test.example", ["user@remote.example"], message("small")).startswith("250")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(sink.messages) == 1


@pytest.mark.parametrize("what, content, reply", [
    ("10 MB of header", "X-Long: " + "x" * 70 + "\r\n", "552 5.3.4"),
    ("100,000 fields", "X: y\r\n", "5"),
    ("51 Received fields", "Received: from a by b; Fri, 20 Nov 2026 16:00:00 +0000\r\n", "554 5.4.6"),
])
def test_outrageous_headers(running, what, content, reply):
    times = {"10 MB of header": 130_000, "100,000 fields": 100_000, "51 Received fields": 51}[what]
    with running.client() as c:
        answer = c.deliver("a@test.example", ["user@remote.example"], (content * times + "Subject: x\r\n\r\nbody\r\n").encode())
        assert answer.startswith(reply), answer
    still_serves(running)


def test_too_many_recipients(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.send(b"".join(b"RCPT TO:<user%d@remote.example>\r\n" % n for n in range(1100)))
        replies = [c.reply()[:9] for _ in range(1100)]
        assert replies[:1000] == ["250 2.1.5"] * 1000 and set(replies[1000:]) == {"452 4.5.3"}
        c.say("DATA")
        c.send(stuffed(message()))
        assert c.reply().startswith("250 2.0.0")
    assert len(mta.spool_files()) <= 1
    wait_until(lambda: sum(len(m.recipients) for m in sink.messages) == 1000, 15, "1000 recipients")
    mta.wait_until_empty()


def test_too_many_errors_end_the_session(running):
    with running.client() as c:
        last = ""
        with pytest.raises((Closed, OSError)):
            for _ in range(100):
                last = c.say("NONSENSE")
        assert last.startswith("421")
    running.wait_log(r"postfix/smtpd\[\d+\]: too many errors after \S+ from \S+\[127\.")


def test_sessions_over_the_limit_are_told(mta):
    mta.config["smtpd"].update(sessions_per_network=20, workers=1)
    mta.start()
    clients = []
    try:
        for _ in range(20):
            clients.append(mta.client())
        with Client(mta.address, mta.relay_port, greet=False) as extra:
            assert extra.reply() == "421 4.7.0 mta.test.example Error: too many connections from your network"
        mta.wait_log(rf"smtpd\[\d+\]: warning: Connection concurrency limit exceeded: 21 from localhost\[{mta.address[:4]}\S+\] for service relay$")
    finally:
        for c in clients:
            c.close()
    wait_until(mta.answers, 10, "the door to open again")


def test_idle_and_slow_clients_are_let_go(mta):
    mta.config["smtpd"].update(command_timeout="1s", data_timeout="1s")
    mta.start()
    with mta.client() as idle, mta.client() as dripping:
        begun = time.monotonic()

        def drip():
            try:
                for byte in b"NOOP " + b"x" * 100:
                    dripping.send(bytes([byte]))
                    time.sleep(0.2)
            except OSError:
                pass
        threading.Thread(target=drip, daemon=True).start()
        assert idle.closed_by_peer().startswith(b"421 4.4.2")
        assert b"421" in dripping.closed_by_peer()
        assert time.monotonic() - begun < 8
    mta.wait_log(r"postfix/smtpd\[\d+\]: timeout after \S+ from ")


@pytest.mark.smoke
@pytest.mark.parametrize("bytes_", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
                                    bytes(range(256)) * 200], ids=["HTTP", "TLS hello", "binary noise"])
def test_other_protocols(running, bytes_):
    with running.client(hello=False) as c:
        c.send(bytes_)
        try:
            c.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        said = c.closed_by_peer()
        assert re.search(rb"^(5\d\d|421) ", said, re.M), said[:200]
        assert said.count(b"\r\n") <= 25
    still_serves(running)


def test_a_flood_of_connections_harms_nobody(running):
    flood = []
    try:
        for _ in range(300):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((running.address, running.relay_port))
            flood.append(s)
        begun = time.monotonic()
        still_serves(running)
        assert time.monotonic() - begun < 5
    finally:
        for s in flood:
            s.close()


def test_disconnect_at_every_point_leaves_nothing(running):
    """Cut after each piece of a transaction: nothing is queued, nothing stays open, nothing stays in the spool."""
    pieces = [b"EHLO a.example\r\n", b"MAIL FROM:<a@test.example>\r\n", b"RCPT TO:<user@remote.example>\r\n", b"DATA\r\n",
              b"Subject: half\r\n\r\nha", b"lf a mess\r\n", b"age\r\n.", b"\r"]
    for n in range(1, len(pieces) + 1):
        with running.client(hello=False) as c:
            for number, piece in enumerate(pieces[:n]):
                c.send(piece)
                if number < 4:  # the commands are answered, their mail's text is not
                    c.reply()
    running.wait_log(r"lost connection after \w+( \(\d+ bytes\))? from", count=len(pieces))
    wait_until(lambda: not running.spool_files(), 10, "the spool to be empty")
    assert running.queue() == []


# -- doors that local users reach

SOCKETS = ["submit", "showq", "control", "master"]


@pytest.mark.parametrize("noise", [b"", b"\0" * 10000, b"\xff" * 70000, b"{\"no\": ", b"GET / HTTP/1.0\r\n\r\n", os.urandom(5000)],
                         ids=["nothing", "NULs", "0xff", "half JSON", "HTTP", "random"])
@pytest.mark.parametrize("door", SOCKETS)
def test_noise_on_local_sockets(running, door, noise):
    path = running.spool / "run" / door
    pids = {role: running.pids(role) for role in ("master", "queue-manager", "pickup")}
    with knock(path) as s:
        try:
            s.sendall(noise)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError:
            pass
    still_serves(running)
    assert {role: running.pids(role) for role in pids} == pids, "nobody died of it"


def test_private_sockets_are_private(running):
    private = running.spool / "run" / "private"
    assert private.stat().st_mode & 0o077 == 0
    for name in ("queue-manager", "categorizer"):
        with knock(private / name) as s:
            s.sendall(b"\x40\0\0\0" + b"\xee" * 64)
            try:
                assert s.recv(1000) == b"", "no token, no conversation"
            except ConnectionResetError:
                pass
    still_serves(running)


def test_rubbish_in_the_drop_directory_is_ignored(running):
    drop = running.spool / "drop"
    drop.mkdir(exist_ok=True)
    (drop / "rubbish").write_bytes(os.urandom(3000))
    (drop / "empty").write_bytes(b"")
    os.symlink("/etc/passwd", drop / "link")
    os.mkfifo(drop / "fifo")
    (drop / "folder").mkdir()
    before = len(running.mailbox())
    running.sendmail("user@remote.example")
    still_serves(running)
    running.wait_mailbox(before + 1)
