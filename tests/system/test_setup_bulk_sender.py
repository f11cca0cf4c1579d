"""A host that sends newsletters and orders of applications: from an address for each kind, with limits for destinations, signed by
OpenDKIM, and not to whom PostgreSQL lists as unsubscribed."""
import re
import threading

import pytest
from dnslib import TXT

from harness.client import message
from harness.databases import Postgres
from harness.dkim import signatures, verified_by_dkimpy
from harness.machine import listens
from harness.watch import wait_until

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

HOST, BULK, TRANS, APP, STRANGER = "192.0.2.1", "192.0.2.31", "192.0.2.32", "192.0.2.50", "192.0.2.66"
PROVIDER, SLOW = "192.0.2.10", "192.0.2.11"
UNSUBSCRIBED = ("create table unsubscribed (address varchar(80))", "insert into unsubscribed values ('tired@provider.example')")


@pytest.fixture
def database():
    server = Postgres("127.0.0.1", 5432, *UNSUBSCRIBED)
    yield server
    server.remove()


@pytest.fixture
def provider(network, dns, remote):
    network.add(HOST, BULK, TRANS, APP, STRANGER, PROVIDER, SLOW)
    dns.address_of("out.example.com", HOST)
    dns.address_of("news.example.com", BULK)
    dns.pointer(APP, "app1.internal")
    dns.address_of("app1.internal", APP)
    for domain, address in (("provider.example", PROVIDER), ("slow.example", SLOW)):
        dns.mx(domain, (10, f"mx.{domain}"))
        dns.address_of(f"mx.{domain}", address)
    return remote(25, PROVIDER)


@pytest.fixture
def slow_provider(provider, remote):
    return remote(25, SLOW)


@pytest.fixture
def host(mail_host, database, provider, slow_provider, dns):
    here = mail_host("bulk_sender", "out.example.com", "opendkim", "opendkim-tools", tables=["pgsql", "pcre"])
    here.door = HOST
    here.add_user("opendkim")
    here.run("mkdir -p /run/opendkim; chown opendkim /run/opendkim\nopendkim-genkey -D /etc/dkimkeys -d example.com -s mail\n"
             "chown -R opendkim /etc/dkimkeys; chmod 700 /etc/dkimkeys")
    record = "".join(re.findall(r'"(.*?)"', here.read("/etc/dkimkeys/mail.txt")))
    here.start_unit("opendkim", lambda: listens("8891"))
    for domain in ("example.com", "news.example.com"):
        dns.add(f"mail._domainkey.{domain}", "TXT", TXT([record[i:i + 200] for i in range(0, len(record), 200)]))
    here.start()
    return here


class Published:
    """For dkimpy."""

    def __init__(self, names):
        self.names = names

    def look_up(self, name, timeout=5):
        found = self.names.records.get((name.decode().rstrip(".").lower(), "TXT"), [])
        return b"".join(found[0][0].data) if found else None


class AtOnce:
    """How many messages are between their end and the reply, at most."""

    def __init__(self):
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def while_waiting_for(self, event):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        event.wait(60)
        with self.lock:
            self.now -= 1


def send(here, sender, recipients, subject="test", source=APP, extra=""):
    with here.client(source=source, hello="app1.internal") as c:
        return c.deliver(sender, recipients, message(subject, sender=sender, to=recipients[0], extra=extra))


def test_each_kind_of_mail_leaves_from_its_own_address(host, provider, dns):
    for sender, address, name in (("campaign7@news.example.com", BULK, "news.example.com"), ("orders@example.com", TRANS, "orders.example.com"),
                                  ("ann@example.com", HOST, "out.example.com")):
        assert send(host, sender, ["reader@provider.example"], f"by {sender}", extra="X-Campaign-Internal: 7\r\n").startswith("250")
        got = wait_until(lambda: next((m for m in provider.messages if m.sender == sender), None), 20, host.said)
        assert got.peer == address and f"EHLO {name}" in [line for _, line in provider.commands]
        # Nothing of the inside, and a good signature of what was left.
        assert "X-Campaign-Internal" not in got.text and "app1.internal" not in got.text
        assert [each["d"] for each in signatures(got.content)] == [sender.partition("@")[2]]
        assert verified_by_dkimpy(got.content, Published(dns)) == [True]
    # Mail of programs, too.
    host.sendmail("-f", "orders@example.com", "reader@provider.example", text="From: orders@example.com\nSubject: from a program\n\nx\n")
    got = wait_until(lambda: next((m for m in provider.messages if m.header("Subject") == "from a program"), None), 20, host.said)
    assert got.peer == TRANS and verified_by_dkimpy(got.content, Published(dns)) == [True]


def test_newsletters_go_out_over_a_few_connections(host, provider):
    all_queued, busy = threading.Event(), AtOnce()
    provider.at("dot", lambda session, argument: busy.while_waiting_for(all_queued))
    for n in range(12):
        assert send(host, "campaign7@news.example.com", [f"reader{n}@provider.example"], f"number {n}").startswith("250")
    wait_until(lambda: busy.most > 1, 20, host.said)
    all_queued.set()
    wait_until(lambda: len(provider.messages) == 12, 30, host.said)
    assert 1 < busy.most <= 3 and provider.most_at_once <= 3 and {each.peer for each in provider.messages} == {BULK}


def test_the_slow_provider_gets_one_at_a_time(host, slow_provider):
    all_queued, busy = threading.Event(), AtOnce()
    slow_provider.at("dot", lambda session, argument: busy.while_waiting_for(all_queued))
    for n in range(3):
        assert send(host, "ann@example.com", [f"reader{n}@slow.example"], f"number {n}").startswith("250")
    # Newsletters, too: where mail goes counts before who sends it.
    assert send(host, "campaign7@news.example.com", ["reader3@slow.example"], "newsletter").startswith("250")
    all_queued.set()
    wait_until(lambda: len(slow_provider.messages) == 4, 40, host.said)
    assert {each.peer for each in slow_provider.messages} == {HOST}
    assert busy.most == 1
    # A second between two; the first one waited for the others to be queued, and the start of the second may have been late.
    times = sorted(each.at for each in slow_provider.messages)
    assert times[3] - times[1] > 1.2, times
    host.wait_log(r"to=<reader0@slow\.example>, relay=mx\.slow\.example\[192\.0\.2\.11\]:25, .*status=sent")


def test_who_may_not_send_and_who_gets_nothing(host, provider):
    assert send(host, "x@elsewhere.example", ["reader@provider.example"], source=STRANGER).startswith(("554 5.7.1", "530 5.7.0"))
    refused = send(host, "campaign7@news.example.com", ["Tired@provider.example"])
    assert re.match(r"554 5\.7\.1 <Tired@provider\.example>: Recipient address rejected: has unsubscribed", refused), refused
    assert not provider.messages


def test_mail_waits_rather_than_leave_unsigned_or_to_the_unsubscribed(host, provider, database):
    assert send(host, "orders@example.com", ["reader@provider.example"], "before").startswith("250")
    provider.wait_for(1)
    database.stop()
    assert re.match(r"45[01] 4\.3\.[05]", send(host, "orders@example.com", ["other@provider.example"]))
    database.begin()
    wait_until(lambda: send(host, "orders@example.com", ["reader@provider.example"], "after").startswith("250"), 30, host.said)
    provider.wait_for(2)
    host.run("kill $(cat /run/opendkim/opendkim.pid)")
    wait_until(lambda: not listens("8891"), 10, "OpenDKIM to end")
    assert re.match(r"4[35]1 4\.7\.1", send(host, "orders@example.com", ["reader@provider.example"], "unsigned"))
    host.start_unit("opendkim", lambda: listens("8891"))
    wait_until(lambda: send(host, "orders@example.com", ["reader@provider.example"], "signed again").startswith("250"), 30, host.said)
    assert signatures(wait_until(lambda: next((m for m in provider.messages if m.header("Subject") == "signed again"), None), 20, host.said).content)
