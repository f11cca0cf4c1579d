"""A gateway with amavis in front of an office's mail server: recipients in OpenLDAP, all mail through a content filter and back by
a port of its own."""
import re
from functools import partial

import pytest

from harness.client import message
from harness.databases import Slapd
from harness.machine import listens
from harness.watch import wait_until

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

GATE, OFFICE, ELSEWHERE = "192.0.2.1", "192.0.2.20", "192.0.2.2"
PEOPLE = "dn: ou=people,dc=example\nobjectClass: organizationalUnit\nou: people\n\n" + "".join(
    f"dn: cn={address},ou=people,dc=example\nobjectClass: inetOrgPerson\nsn: x\ncn: {address}\nmail: {address}\n\n"
    for address in ("ann@example.com", "postmaster@example.com", "bob@example.org", "info@example.org", "abuse@example.com"))
BY_AMAVIS = "(amavis, port 10024)"
PROGRAM = ('MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nsee the attachment\n'
           '--b\nContent-Type: application/octet-stream; name="invoice.pdf.exe"\nContent-Disposition: attachment; filename="invoice.pdf.exe"\n'
           'Content-Transfer-Encoding: base64\n\nTVqQAAMAAAAEAAAA\n--b--\n')


@pytest.fixture
def directory():
    server = Slapd("127.0.0.1", 389, PEOPLE)
    yield server
    server.remove()


@pytest.fixture
def office(network, dns, remote):
    """The office's own mail server."""
    network.add(GATE, OFFICE, ELSEWHERE)
    for domain in ("example.com", "example.org"):
        dns.mx(domain, (10, "gate.example.com"))
    dns.address_of("gate.example.com", GATE)
    dns.mx("example.net", (10, "mx.example.net"))
    dns.address_of("mx.example.net", ELSEWHERE)
    dns.pointer(ELSEWHERE, "mx.example.net")
    return remote(25, OFFICE)


@pytest.fixture
def elsewhere(office, remote):
    return remote(25, ELSEWHERE)


@pytest.fixture
def gate(mail_host, directory, office, elsewhere):
    here = mail_host("amavis_gateway", "gate.example.com", "amavisd-new", tables=["ldap"])
    here.door = GATE
    here.add_user("amavis", "/var/lib/amavis")
    here.run("for each in tmp db virusmails; do mkdir -p -m 750 /var/lib/amavis/$each; done; chown -R amavis:amavis /var/lib/amavis; mkdir -p /run/amavis")
    here.start_filter = partial(here.start_unit, "amavis", lambda: listens("10024"))
    here.start()
    return here


def send(here, recipients, subject="test", sender="someone@example.net", source=ELSEWHERE, body="Hello.", extra=""):
    with here.client(source=source, hello="mx.example.net") as c:
        return c.deliver(sender, recipients, message(subject, body, sender=sender, to=recipients[0], extra=extra))


def test_mail_of_both_directions_goes_through_amavis(gate, office, elsewhere):
    gate.start_filter()
    assert send(gate, ["ann@example.com"], "into the office").startswith("250")
    got = office.wait_for_one_to("ann@example.com")
    assert got.sender == "someone@example.net" and BY_AMAVIS in got.text
    first, into = gate.wait_log(r"(\w+): to=<ann@example\.com>, relay=127\.0\.0\.1\[127\.0\.0\.1\]:10024, .*status=sent .*queued as (\w+)").groups()
    gate.wait_log(rf"{into}: to=<ann@example\.com>, relay=192\.0\.2\.20\[192\.0\.2\.20\]:25, .*status=sent")
    # By XFORWARD the log knows where it really came from.
    gate.wait_log(rf"{into}: client=localhost\[127\.0\.0\.1\], orig_queue_id={first}, orig_client=mx\.example\.net\[192\.0\.2\.2\]")
    assert send(gate, ["friend@example.net"], "out of it", "ann@example.com", OFFICE).startswith("250")
    assert BY_AMAVIS in elsewhere.wait_for_one_to("friend@example.net").text
    # Aliases are looked up once, when it is back.
    assert send(gate, ["info@example.org"], "to several").startswith("250")
    wait_until(lambda: len(office.to("ann@example.com")) == 2 and len(office.to("bob@example.org")) == 1, 20, gate.said)
    assert not office.to("info@example.org")


def test_forbidden_attachments_go_back_to_their_sender(gate, office, elsewhere):
    gate.start_filter()
    with gate.client(source=ELSEWHERE, hello="mx.example.net") as c:
        content = f"From: someone@example.net\nTo: ann@example.com\nSubject: invoice\nDate: Fri, 20 Nov 2026 16:00:00 +0000\nMessage-ID: <i@example.net>\n{PROGRAM}"
        assert c.deliver("someone@example.net", ["ann@example.com"], content).startswith("250")
    report = elsewhere.wait_for_one_to("someone@example.net")
    assert report.sender == "" and "invoice.pdf.exe" in report.text
    gate.wait_log(r"to=<ann@example\.com>, relay=127\.0\.0\.1\[127\.0\.0\.1\]:10024, .*BOUNCE|to=<ann@example\.com>, relay=127.*status=sent .*BANNED")
    assert not office.messages


def test_what_is_refused_before_amavis_sees_it(gate, office):
    gate.start_filter()
    assert re.match(r"550 5\.1\.1 <nobody@example\.com>: Recipient address rejected: User unknown", send(gate, ["nobody@example.com"]))
    assert send(gate, ["friend@example.net"]).startswith("554 5.7.1")
    assert send(gate, ["ann@example.com"], "win the lottery").startswith("550 5.7.1 no lotteries")
    wanted = 'MIME-Version: 1.0\r\nContent-Type: application/octet-stream; name="holiday.scr"\r\n'
    assert send(gate, ["ann@example.com"], "pictures", extra=wanted).startswith("550 5.7.1 such attachments are not accepted")
    assert not office.messages
    # The way back is for this host only.
    assert listens("127.0.0.1:10025") and not listens(f"{GATE}:10025")


def test_mail_waits_while_amavis_is_away(gate, office):
    assert send(gate, ["ann@example.com"], "early").startswith("250")
    gate.wait_log(r"to=<ann@example\.com>, relay=none, .*status=deferred \(connect to 127\.0\.0\.1\[127\.0\.0\.1\]:10024: Connection refused\)")
    assert "ann@example.com" in gate.queue() and not office.messages
    gate.start_filter()
    gate.flush()
    assert office.wait_for_one_to("ann@example.com").header("Subject") == "early"


def test_who_is_known_has_to_wait_while_the_directory_is_away(gate, office, directory):
    gate.start_filter()
    assert send(gate, ["bob@example.org"], "before").startswith("250")
    directory.stop()
    assert re.match(r"45[01] 4\.3\.0", send(gate, ["ann@example.com"]))
    directory.begin()
    wait_until(lambda: send(gate, ["ann@example.com"], "after").startswith("250"), 30, gate.said)
    assert office.wait_for_one_to("ann@example.com").header("Subject") == "after"
