"""A mail exchanger with postscreen at its door: Debian's Postfix and Postrider, with the same settings, have to do the same to
the same clients, and say so in the same lines of the log."""
import re

import pytest

from harness.client import Client
from harness.mail_host import POSTFIX, POSTRIDER

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

HOST, OTHERS = "192.0.2.1", [f"192.0.2.{n}" for n in range(63, 72)]
STRANGER, SECOND, HASTY, LISTED, HALF, ODD, VOUCHED, ALLOWED, DENIED = OTHERS  # the last two: in postscreen_access.cidr


@pytest.fixture
def exchanger(mail_host, network, dns):
    network.add(HOST, *OTHERS)
    dns.address_of("mx.example.com", HOST)
    here = mail_host("postscreen", "mx.example.com")
    here.door = HOST
    return here


def listed(dns, address, *zones, answer="127.0.0.2"):
    for zone in zones:
        dns.address_of(".".join(reversed(address.split("."))) + "." + zone, answer)


def connect(source, greet=True):
    return Client(HOST, 25, source=source, greet=greet)


def rcpt(client):
    assert client.say("EHLO client.example.net").startswith("250")
    assert client.say("MAIL FROM:<bob@remote.example>").startswith("250")
    return client.say("RCPT TO:<ann@example.com>")


def code(reply):
    """What a server does with a reply: its codes."""
    return re.match(r"\d{3} (\d\.\d\.\d )?", reply.split("\n")[-1])[0]


def screened(host, words):
    host.wait_log(rf"postfix/postscreen\[\d+\]: {words}")


def remembered(host, address, which="NEW"):
    screened(host, rf"PASS {which} \[{re.escape(address)}\]:\d+$")


def test_a_stranger_waits_once(exchanger):
    exchanger.start()
    with connect(STRANGER) as c:
        assert c.banner.startswith("220-") and c.banner.split("\n")[-1].startswith("220 ")
        assert rcpt(c).startswith("250")
    remembered(exchanger, STRANGER)
    with connect(STRANGER) as c:
        assert c.banner.startswith("220 ") and rcpt(c).startswith("250")
        assert c.say("RCPT TO:<nobody@example.com>").startswith("550 5.1.1")
    remembered(exchanger, STRANGER, "OLD")
    with connect(HOST) as c:  # the host's own networks are not tested
        assert c.banner.startswith("220 ") and rcpt(c).startswith("250")
    assert not exchanger.logged(rf"PASS \S+ \[{re.escape(HOST)}\]")


def test_who_talks_first_or_hangs_up_is_not_remembered(exchanger):
    exchanger.start()
    for n in range(2):
        with connect(HASTY, greet=False) as c:
            c.send(b"EHLO hasty.example.net\r\n")
            said = c.reply()
            while not said.split("\n")[-1].startswith("250 "):  # Postfix leaves the second line of its greeting out
                said = c.reply()
            assert code(c.say("MAIL FROM:<bob@remote.example>")) == "250 2.1.0 "
            assert code(c.say("RCPT TO:<ann@example.com>")) == "550 5.5.1 "
            assert code(c.say("QUIT")) == "221 2.0.0 "
    screened(exchanger, rf"PREGREET 24 after \d\S* from \[{re.escape(HASTY)}\]:\d+: EHLO hasty\.example\.net")
    # Postfix's line has no name of the client, and commas.
    exchanger.wait_log(r"NOQUEUE: reject: RCPT from \S+: 550 5\.5\.1 Protocol error; from=<bob@remote\.example>,? "
                       r"to=<ann@example\.com>,? proto=ESMTP,? helo=<hasty\.example\.net>")
    connect(SECOND, greet=False).close()
    screened(exchanger, rf"HANGUP after \S+ from \[{re.escape(SECOND)}\]:\d+ in tests before SMTP handshake$")
    assert not exchanger.logged("PASS")


def test_lists_count_by_their_weights(exchanger, dns):
    listed(dns, LISTED, "bad.example", "worse.example")
    listed(dns, HALF, "bad.example")
    listed(dns, ODD, "bad.example")
    listed(dns, ODD, "worse.example", answer="127.0.0.10")  # not one of the answers that count
    exchanger.start()
    with connect(LISTED) as c:
        assert re.fullmatch(rf"550 5\.7\.1 Service unavailable; client \[{re.escape(LISTED)}\] blocked using (bad|worse)\.example.*",
                            rcpt(c))
    screened(exchanger, rf"DNSBL rank 4 for \[{re.escape(LISTED)}\]:\d+$")
    for address in (HALF, ODD):
        with connect(address) as c:
            assert rcpt(c).startswith("250"), address
        remembered(exchanger, address)


def test_who_is_listed_for_good_does_not_wait(exchanger, dns):
    listed(dns, VOUCHED, "good.example", "bad.example")  # -4 + 2
    main = exchanger.read("/etc/postfix/main.cf")
    exchanger.write("/etc/postfix/main.cf", main.replace("greet_wait = 2s", "greet_wait = 10m"))  # longer than a client of the test
    exchanger.start()
    for address in (VOUCHED, ALLOWED):
        with connect(address) as c:
            assert rcpt(c).startswith("250")
    remembered(exchanger, VOUCHED)
    screened(exchanger, rf"ALLOWLISTED \[{re.escape(ALLOWED)}\]:\d+$")
    with connect(DENIED) as c:
        assert code(c.banner) == "521 5.3.2 " and c.closed_by_peer() == b""
    screened(exchanger, rf"DENYLISTED \[{re.escape(DENIED)}\]:\d+$")


# -- tests during the session

DEEP = """
postscreen_greet_action = ignore
postscreen_dnsbl_action = ignore
postscreen_pipelining_enable = yes
postscreen_pipelining_action = enforce
postscreen_non_smtp_command_enable = yes
postscreen_non_smtp_command_action = drop
postscreen_bare_newline_enable = yes
postscreen_bare_newline_action = enforce
"""


@pytest.fixture
def deep(exchanger):
    main = exchanger.read("/etc/postfix/main.cf")
    exchanger.write("/etc/postfix/main.cf", re.sub(r"^postscreen_(greet|dnsbl)_action.*\n", "", main, flags=re.M) + DEEP)
    exchanger.start()
    return exchanger


def test_who_breaks_a_rule_is_rejected_or_dropped(deep):
    for address, sent, line in ((STRANGER, b"MAIL FROM:<bob@remote.example>\r\nRCPT TO:<ann@example.com>\r\n", "COMMAND PIPELINING"),
                                (SECOND, b"NOOP\n", "BARE NEWLINE")):
        with connect(address) as c:
            assert c.say("EHLO client.example.net").startswith("250")
            c.send(sent)
            for _ in range(sent.count(b"\n")):
                c.reply()
            c.say("RSET")
            assert code(c.say("MAIL FROM:<bob@remote.example>")) == "250 2.1.0 "
            assert code(c.say("RCPT TO:<ann@example.com>")) == "550 5.5.1 "
        screened(deep, rf"{line} from \[{re.escape(address)}\]:\d+ after \S+")
    for address, sent in ((HASTY, "GET / HTTP/1.1"), (HALF, "Subject: hello")):
        with connect(address) as c:
            c.send(f"{sent}\r\n".encode())
            assert c.closed_by_peer()[:1] == b"5"
        screened(deep, rf"NON-SMTP COMMAND from \[{re.escape(address)}\]:\d+ after CONNECT: {sent}")
    assert not deep.logged("PASS NEW")


def test_who_passes_during_the_session_is_remembered(deep):
    with connect(STRANGER) as c:
        # postscreen cannot hand a session over that it has begun: it asks the client to come again. Postrider goes on.
        assert code(rcpt(c)) == {POSTFIX: "450 4.3.2 ", POSTRIDER: "250 2.1.5 "}[deep.system]
        assert c.say("QUIT").startswith("221")
    remembered(deep, STRANGER)
    with connect(STRANGER) as c:
        assert rcpt(c).startswith("250")
    remembered(deep, STRANGER, "OLD")
