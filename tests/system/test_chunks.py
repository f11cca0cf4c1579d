"""CHUNKING, and mail that leaves later: BDAT, FUTURERELEASE, MT-PRIORITY."""
import time

import pytest

from harness.client import message

SEQUENCES = [b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r.\r\n", b"\r\n.\r", b"\r.\n", b"\r\n.\r\r\n", b"\r\r\n.\r\r\n",
             b"\r\n\0.\r\n", b"\r\n.\0\r\n", b"\r\n. \r\n", b"\r\n.\r\n"]


def begin(c, recipient="user@remote.example"):
    c.say("MAIL FROM:<a@test.example>")
    assert c.say(f"RCPT TO:<{recipient}>").startswith("250")


@pytest.mark.smoke
def test_a_message_in_chunks(shared):
    mta, sink = shared
    content = message("chunks", "one\r\n.\r\n..two\r\nthree").encode()
    with mta.client() as c:
        assert "250-CHUNKING" in c.say("EHLO client.example")
        begin(c)
        for at in range(0, len(content), 50):
            piece = content[at:at + 50]
            c.send(b"BDAT %d\r\n" % len(piece) + piece)
            assert c.reply().startswith("250 2.0.0 Ok: ")
        assert c.say("BDAT 0 LAST").startswith("250 2.0.0 Ok: queued as ")
    got = sink.wait_for(1)[0]
    assert got.content.endswith(b"\r\none\r\n.\r\n..two\r\nthree\r\n"), got.content


@pytest.mark.smoke
@pytest.mark.parametrize("sequence", SEQUENCES, ids=repr)
def test_nothing_is_smuggled_in_chunks(shared, sequence):
    mta, sink = shared
    content = (message("outer", "text").encode().rstrip() + sequence +
               b"MAIL FROM:<evil@remote.example>\r\nRCPT TO:<victim@remote.example>\r\nDATA\r\nsmuggled\r\n.\r\n")
    for cut in (0, content.index(sequence) + 1):
        with mta.client() as c:
            begin(c)
            if cut:
                c.send(b"BDAT %d\r\n" % cut + content[:cut])
                assert c.reply().startswith("250")
            c.send(b"BDAT %d LAST\r\n" % (len(content) - cut) + content[cut:])
            c.reply()
            assert c.say("NOOP").startswith("250"), "the session is in step"
    mta.wait_until_empty()
    assert not sink.to("victim@remote.example")
    for m in sink.messages:
        assert b"\r" not in m.content.replace(b"\r\n", b"") and b"\n" not in m.content.replace(b"\r\n", b"")


def test_chunks_that_end_in_the_middle(shared):
    mta, sink = shared
    with mta.client() as c:
        begin(c)
        c.send(b"BDAT 100\r\nhalf of it")
    mta.wait_log(r"lost connection after BDAT \(\d+ bytes\) from")
    with mta.client() as c:
        begin(c)
        c.send(b"BDAT 4\r\nabcd")
        assert c.reply().startswith("250")
        assert c.say("RSET").startswith("250")
        assert c.say("BDAT 0 LAST").startswith("503 5.5.1")
    mta.wait_until_empty()
    assert not sink.messages


def test_thousands_of_empty_chunks(mta):
    mta.config["smtpd"].update(commands=200)
    mta.start()
    with mta.client() as c:
        begin(c, f"{mta.user}@test.example")
        c.send(b"BDAT 0\r\n" * 5000)
        assert b"421 4.7.0" in c.closed_by_peer()
    mta.wait_log("too many errors after BDAT")


def test_mail_for_later_leaves_later(shared):
    mta, sink = shared
    with mta.client(mta.submission_port) as c:
        reply = c.say("EHLO client.example")
        assert "FUTURERELEASE 7776000 20" in reply and "MT-PRIORITY" in reply and "LIMITS RCPTMAX=" in reply, reply
        asked = time.time()
        assert c.deliver("a@test.example", ["user@remote.example"], message("later"), " HOLDFOR=3").startswith("250")
        assert c.deliver("a@test.example", ["user@remote.example"], message("now"), " MT-PRIORITY=3").startswith("250")
        assert c.say("MAIL FROM:<a@test.example> HOLDFOR=7776001").startswith("501 5.5.4")
        assert c.say("MAIL FROM:<a@test.example> HOLDUNTIL=2999-01-01T00:00:00Z") == \
            "501 5.5.4 HOLDUNTIL exceeds the offered maximum"
    first, second = sink.wait_for(2)
    assert b"Subject: now" in first.content and b"Subject: later" in second.content
    assert time.time() - asked >= 3
    with mta.client() as c:
        assert "FUTURERELEASE" not in c.say("EHLO client.example")
        assert c.say("MAIL FROM:<a@test.example> HOLDFOR=3").startswith("555 5.5.4")
