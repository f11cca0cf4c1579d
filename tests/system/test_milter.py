"""Mail filters: what they are told, what they may change, and what becomes of mail when they fail."""
import re
import ssl
import struct

import pytest

from harness.certificates import make_certificate
from harness.watch import wait_until
from harness.client import message
from harness.milter import Milter


@pytest.fixture
def filters(mta, block):
    """Makes milters of this MTA: filters("name", **settings) → Milter; socket=path for one on a UNIX socket."""
    made = []

    def make(name, steps=0, actions=0x1ff, **settings):
        socket = settings.pop("socket", None)
        one = Milter(socket, None, actions, steps) if socket else Milter(block.host(40 + len(made)), block.port(), actions, steps)
        made.append(one)
        address = f"unix:{socket}" if socket else f"inet:{one.address}:{one.port}"
        mta.config[f"milter.{name}"] = {"address": address, "timeout": "2s", "message_timeout": "2s", **settings}
        return one
    yield make
    for one in made:
        one.stop()


def text(*words):
    return b"".join(w.encode() + b"\0" for w in words)


def send(mta, **more):
    return mta.submit(f"{mta.user}@test.example", **more)


def try_to_send(mta, content=None):
    with mta.client() as c:
        return c.deliver("a@test.example", [f"{mta.user}@test.example"], content or message())


@pytest.mark.smoke
def test_a_filter_sees_all_of_it_and_changes_it(mta, filters):
    milter = filters("one")
    milter.changes = [
        ("h", text("X-Added", "at the end")), ("i", struct.pack(">I", 1) + text("X-Inserted", "below Received\n\tfolded")),
        ("m", struct.pack(">I", 1) + text("Subject", "changed")), ("m", struct.pack(">I", 2) + text("X-Twice", "")),
        ("+", text("<other@test.example>"))]
    mta.start()
    queued = send(mta, extra="X-Twice: first\r\nX-Twice: second\r\n", body="Hello.\r\n.dot")
    mail = mta.wait_mailbox(1)[0]
    assert re.fullmatch(r"CHMRTL+NB+E[AQ]*", milter.commands()), milter.commands()
    seen = dict(milter.seen)
    assert seen["C"].startswith(b"localhost\x004") and seen["C"].endswith(b"127.0.0.1\0")
    assert seen["H"] == b"client.example\0" and seen["M"] == b"<sender@test.example>\0"
    assert seen["R"] == f"<{mta.user}@test.example>\0".encode()
    assert ("Subject", "test") in milter.headers() and not any(n == "Received" for n, _ in milter.headers())
    assert milter.body() == b"Hello.\r\n.dot\r\n"
    assert milter.macros["M"][b"i"] == queued.encode() and milter.macros["C"][b"j"] == b"mta.test.example"
    header, _, body = mail.partition("\n\n")
    lines = header.split("\n")
    received = next(i for i, l in enumerate(lines) if l.startswith("Received:"))
    inserted = lines.index("X-Inserted: below Received")
    assert inserted > received and lines[inserted + 1] == "\tfolded"
    assert "Subject: changed" in lines and "Subject: test" not in lines
    assert "X-Twice: first" in lines and "X-Twice: second" not in lines and lines[-1] == "X-Added: at the end"
    assert body == "Hello.\n.dot\n"
    assert "X-Added: at the end" in mta.wait_mailbox(1, "other")[0]


def test_several_filters_in_order_see_what_others_changed(mta, filters):
    second = filters("b")
    first = filters("a")
    first.changes = [("h", text("X-First", "1")), ("b", b"new body\r\nwith a line\n"), ("b", b"and more")]
    second.changes = [("m", struct.pack(">I", 1) + text("X-First", "2"))]
    mta.start()
    send(mta)
    mail = mta.wait_mailbox(1)[0]
    assert ("X-First", "1") in second.headers() and second.body() == b"new body\r\nwith a line\r\nand more"
    header, _, body = mail.partition("\n\n")
    assert "X-First: 2" in header and body == "new body\nwith a line\nand more\n"


def test_a_large_message_and_a_replaced_body(mta, filters):
    milter = filters("one", steps=0x80000 | 0x80)  # no answer to header fields and pieces of the body
    mta.start()
    body = "".join(f"line {n}\r\n" for n in range(400_000))
    send(mta, body=body)
    mail = mta.wait_mailbox(1, seconds=30)[0]
    assert milter.body() == body.encode() + b"\r\n"
    assert mail.partition("\n\n")[2] == body.replace("\r\n", "\n") + "\n"
    milter.changes = [("b", b"x" * 60_000 + b"\r\n")] * 3 + [("h", text("X-Large", "yes"))]
    send(mta, subject="replaced", body=body)
    mail = next(m for m in mta.wait_mailbox(2, seconds=30) if "Subject: replaced" in m)
    header, _, body = mail.partition("\n\n")
    assert body == ("x" * 60_000 + "\n") * 3 and "X-Large: yes" in header
    mta.wait_until_empty()


def test_relayed_mail_goes_out_as_edited(mta, filters, remote):
    sink = remote()
    mta.route("remote.example", sink)
    milter = filters("one")
    milter.changes = [("i", struct.pack(">I", 0) + text("X-Top", "of all")), ("e", text("<changed@test.example>"))]
    mta.start()
    mta.submit("user@remote.example")
    arrived = sink.wait_for(1)[0]
    assert arrived.content.startswith(b"X-Top: of all\r\nReceived: ")
    assert arrived.sender == "changed@test.example"


@pytest.mark.parametrize("command, word, reply", [
    ("M", b"r", "550 5.7.1 Command rejected"), ("R", b"t", "451 4.7.1 Service unavailable - try again later"),
    ("T", text("y550 5.7.9 not today"), "550 5.7.9 not today"), ("L", b"r", "550 5.7.1 Command rejected"),
    ("E", text("y451 4.7.9 later"), "451 4.7.9 later"), ("E", b"r", "550 5.7.1 Command rejected"), ("H", b"r", None)])
def test_a_filter_refuses(mta, filters, command, word, reply):
    milter = filters("one")
    mta.start()
    milter.replies[command] = word
    milter.changes = [("h", text("X-Never", "seen"))]
    if reply is None:
        with mta.client(hello=False) as c:
            assert c.say("EHLO client.example") == "550 5.7.1 Command rejected"
    else:
        assert try_to_send(mta) == reply
        mta.wait_log("milter-reject: (MAIL|RCPT|DATA|END-OF-MESSAGE) from .*" + re.escape(reply))
    milter.replies.clear()
    milter.changes = []
    send(mta)
    assert "X-Never" not in mta.wait_mailbox(1)[0]


def test_accept_discard_quarantine(mta, filters):
    milter = filters("one")
    mta.start()
    milter.replies["R"] = b"a"
    send(mta)
    assert re.fullmatch("CHMR[AQ]*", milter.commands())
    milter.replies = {"E": b"d"}
    gone = send(mta, subject="discarded")
    mta.wait_log(f"{gone}: milter-discard: END-OF-MESSAGE")
    milter.replies, milter.changes = {}, [("q", text("looks odd"))]
    held = send(mta, subject="held")
    mta.wait_log(f"{held}: milter-hold: END-OF-MESSAGE from .*: looks odd")
    milter.changes = [("-", text(f"<{mta.user}@test.example>"))]
    nobody = send(mta, subject="for nobody")
    mta.wait_log(f"{nobody}: discard: a filter has removed all recipients")
    assert len(mta.wait_mailbox(1)) == 1 and [(e[0], e[1]) for e in mta.queue()] == [(held, "!")]


TROUBLE = {
    "hangs at RCPT": {"R": "hang"}, "hangs at the end": {"E": "hang"}, "dies at MAIL": {"M": "die"},
    "dies at the end": {"E": "die"}, "dies in the body": {"B": "die"},
    "a length of nothing": {"R": (b"\0\0\0\0",)}, "a length of 4 GiB": {"E": (b"\xff\xff\xff\xffc",)},
    "nonsense": {"L": (b"HTTP/1.1 400 Bad Request\r\n\r\n",)}, "half a change, then death": {"E": (b"\0\0\0\x0chX-A\0half",)},
    "a change too early": {"R": b"hX-A\0b\0"}, "no header field": {"E": (b"\0\0\0\x09hX A\0b\0xc",)},
    "an unknown reply": {"T": b"Z"},
}


@pytest.mark.parametrize("default, reply, delivered, held", [
    ("tempfail", "451 4.7.1", 0, 0), ("reject", "550 5.7.1", 0, 0), ("accept", "250 2.0.0", 1, 0), ("quarantine", "250 2.0.0", 0, 1)])
def test_what_a_failing_filter_had_changed_is_forgotten(mta, filters, default, reply, delivered, held):
    milter = filters("one", on_failure=default, timeout="300ms", message_timeout="300ms")
    milter.changes = [("h", text("X-Half", "made"))]
    mta.start()
    mta.forget_the_log()
    for n, (name, trouble) in enumerate(TROUBLE.items()):
        milter.replies = trouble
        answer = try_to_send(mta, message(f"message {n}"))
        assert answer.startswith(reply), (name, answer)
        mta.wait_log("warning: milter one: ", count=n + 1)
    milter.stop()
    assert try_to_send(mta).startswith(reply)
    if delivered:
        assert not any("X-Half" in m or "X-A" in m for m in mta.wait_mailbox(len(TROUBLE) + 1))
    if held:
        wait_until(lambda: len([e for e in mta.queue() if e[1] == "!"]) == len(TROUBLE) + 1, what="all to be held")
    if not delivered and not held:
        assert mta.queue() == [] and mta.mailbox() == []


def test_what_it_did_not_ask_for_it_may_not_change(mta, filters):
    milter = filters("one", actions=0x01, on_failure="accept")
    milter.changes = [("b", b"another body")]
    mta.start()
    send(mta)
    assert "another body" not in mta.wait_mailbox(1)[0]
    mta.wait_log("warning: milter one: an invalid or unannounced modification")


def test_steps_it_does_not_want_are_left_out(mta, filters):
    milter = filters("one", steps=0x1 | 0x2 | 0x10 | 0x200)  # no connect, HELO, body, DATA
    mta.start()
    send(mta)
    mta.wait_mailbox(1)
    assert re.fullmatch("MRL+NE[AQ]*", milter.commands()), milter.commands()


def test_a_filter_hears_of_commands_nobody_knows(mta, filters):
    milter = filters("one")
    mta.start()
    with mta.client() as c:
        assert c.say("XYZZY plugh") == "500 5.5.2 Error: command not recognized"
        milter.replies["U"] = text("y550 5.7.1 none of that here")
        assert c.say("XYZZY") == "550 5.7.1 none of that here"
        mta.wait_log(r"NOQUEUE: milter-reject: UNKNOWN from \S+: 550 5\.7\.1 none of that here; proto=ESMTP helo=<client\.example>")
        assert c.deliver("a@test.example", [f"{mta.user}@test.example"], message()).startswith("250")
    mta.wait_mailbox(1)
    assert [d for c, d in milter.seen if c == "U"] == [b"XYZZY plugh\0", b"XYZZY\0"]


def test_a_filter_is_told_of_tls_where_the_client_says_who_it_is(mta, filters):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    milter = filters("one")
    mta.start()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with mta.client() as c:
        assert b"{tls_version}" not in milter.macros.get("H", {})
        assert c.say("STARTTLS").startswith("220")
        c.socket = context.wrap_socket(c.socket)
        c.say("EHLO client.example")
        assert milter.macros["H"][b"{tls_version}"] == c.socket.version().encode()
        assert milter.macros["H"][b"{cipher}"] == c.socket.cipher()[0].encode()


def test_a_session_with_several_messages(mta, filters):
    milter = filters("one")
    mta.start()
    with mta.client() as c:
        for n in range(3):
            assert c.deliver("a@test.example", [f"{mta.user}@test.example"], message(f"message {n}")).startswith("250")
        c.say("MAIL FROM:<a@test.example>")
        c.say("RSET")
        assert c.deliver("a@test.example", [f"{mta.user}@test.example"], message("the last")).startswith("250")
        c.say("QUIT")
    mta.wait_mailbox(4)
    assert re.fullmatch("CH(MRTL+NB+E){3}MAMRTL+NB+EQ?", milter.commands()), milter.commands()


@pytest.mark.parametrize("depth", [0, 150], ids=["short", "longer than a socket address"])
def test_a_filter_on_a_unix_socket(mta, filters, tmp_path, depth):
    folder = tmp_path / ("x" * depth) if depth else tmp_path
    folder.mkdir(exist_ok=True)
    milter = filters("one", socket=folder / "milter.sock")
    milter.changes = [("h", text("X-Seen", "yes"))]
    mta.start()
    send(mta)
    assert "X-Seen: yes" in mta.wait_mailbox(1)[0]


def test_status_names_the_services_that_do_not_answer(mta, filters, block):
    one = filters("one", listeners=["relay", "local"])
    address, port = one.address, one.port
    mta.config["policy.grey"] = {"address": f"inet:{block.host(60)}:{block.port()}", "on_failure": "accept", "listeners": ["relay"],
                                 "stage": "connect"}
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.start()
    one.stop()
    assert try_to_send(mta).startswith("451 4.7.1")
    assert mta.sendmail(f"{mta.user}@test.example").returncode == 75
    told = rf"milter one: inet:{address}:{port}: .*connection refused; until it answers, mail that it should check is rejected temporarily"
    status = wait_until(lambda: (s := mta.command("status").stdout) and len(re.findall(told, s)) == 2 and s, 10, "smtpd and pickup to tell")
    assert re.search(r"policy service grey: .*connection refused; until it answers, mail that it should check is accepted without it", status)
    again = Milter(address, port, 0x1ff, 0)
    assert try_to_send(mta).startswith("250") and mta.sendmail(f"{mta.user}@test.example").returncode == 0
    wait_until(lambda: "milter one" not in (s := mta.command("status").stdout) and "policy service grey" in s, 10, "the milter to be well")
    again.stop()
    assert try_to_send(mta).startswith("451 4.7.1")
    del mta.config["milter.one"], mta.config["policy.grey"]
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: "until it answers" not in mta.command("status").stdout, 10, "what is not asked any more to be forgotten")


# -- mail of programs on this host

def test_a_filter_sees_local_mail_only_where_that_is_said(mta, filters):
    over_smtp, both = filters("a"), filters("b", listeners=["relay", "local"])
    over_smtp.changes, both.changes = [("h", text("X-A", "1"))], [("h", text("X-B", "2")), ("b", b"another body\n")]
    mta.start()
    done = mta.sendmail("-f", "ann@test.example", f"{mta.user}@test.example")
    assert done.returncode == 0, done.stderr
    header, _, body = mta.wait_mailbox(1)[0].partition("\n\n")
    assert "X-A" not in header and "X-B: 2" in header and body == "another body\n"
    assert re.fullmatch(r"CHMRTL+NB+E[AQ]*", both.commands()), both.commands()
    seen = dict(both.seen)
    assert seen["C"] == b"localhost\x004\0\x00127.0.0.1\0" and seen["M"] == b"<ann@test.example>\0"


def test_a_refusal_of_local_mail_is_the_programs_exit_status(mta, filters):
    milter = filters("one", listeners=["local"])
    mta.start()
    milter.replies["E"] = text("y550 5.7.9 not today")
    done = mta.sendmail(f"{mta.user}@test.example")
    assert done.returncode == 69 and "550 5.7.9 not today" in done.stderr, (done.returncode, done.stderr)
    mta.wait_log(r"milter-reject: END-OF-MESSAGE from localhost\[127\.0\.0\.1\]: 550 5\.7\.9 not today; from=<.*> to=<.*>")
    milter.replies["E"] = b"t"
    assert mta.sendmail(f"{mta.user}@test.example").returncode == 75
    milter.replies, milter.changes = {}, [("q", text("looks odd"))]
    assert mta.sendmail(f"{mta.user}@test.example").returncode == 0
    wait_until(lambda: [e[1] for e in mta.queue()] == ["!"], what="it to be held")
    milter.stop()
    assert mta.sendmail(f"{mta.user}@test.example").returncode == 75
    assert mta.mailbox() == []


def test_what_was_left_while_nothing_ran_comes_back_to_its_sender_if_a_filter_refuses_it(mta, filters):
    milter = filters("one", listeners=["local"])
    milter.replies["R"] = text("y550 5.7.9 not for him")
    mta.start()
    mta.stop()
    done = mta.sendmail("-f", f"{mta.user}@test.example", "other@test.example", input="Subject: left behind\n\nHello.\n")
    assert done.returncode == 0, done.stderr
    mta.start()
    report = mta.wait_mailbox(1)[0]
    assert "Subject: left behind" in report and "not for him" in report and "Status: 5.7.9" in report
    assert mta.mailbox("other") == []
    mta.wait_until_empty()
    assert mta.logged(r"error\[\d+\]: \w+: to=<other@test.example>, .*dsn=5.7.9, status=bounced \(not for him\)")
