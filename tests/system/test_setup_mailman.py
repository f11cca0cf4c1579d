"""Lists by Mailman 3, which writes the tables that say where their mail goes, and forwarding with PostSRSd."""
import re

import pytest

from harness.client import message
from harness.mail_host import POSTFIX, POSTRIDER
from harness.machine import listens
from harness.watch import wait_until

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

HOST, ELSEWHERE = "192.0.2.1", "192.0.2.2"
# Each of Mailman's runners is a Python of its own: those that no test here needs stay away.
ASLEEP = ("archive", "command", "digest", "nntp", "rest", "retry", "task", "virgin")


@pytest.fixture
def elsewhere(network, dns, remote):
    """The server of example.org and example.net."""
    network.add(HOST, ELSEWHERE)
    for domain in ("example.com", "lists.example.com"):
        dns.mx(domain, (10, "mail.example.com"))
    dns.address_of("mail.example.com", HOST)
    dns.address_of("mx.example.net", ELSEWHERE)
    dns.pointer(ELSEWHERE, "mx.example.net")
    for domain in ("example.org", "example.net"):
        dns.mx(domain, (10, "mx.example.net"))
    return remote(25, ELSEWHERE)


@pytest.fixture
def host(mail_host, elsewhere):
    return set_up(mail_host)


def set_up(mail_host, change=None, lists=True):
    """`change`: of the files, before anything starts. Without `lists`, Mailman has none and does not run: it takes its time."""
    here = mail_host("mailman", "mail.example.com", "mailman3", "postsrsd")
    here.door = HOST
    here.add_user("list", "/var/list")
    here.add_user("postsrsd")
    here.run("useradd --create-home ann\nmkdir -p /var/lib/postsrsd; echo a-secret >/etc/postsrsd.secret\n"
             "cp /usr/share/mailman3/mailman.cfg.sample /etc/mailman3/mailman.cfg\n"
             "for each in /var/lib/mailman3 /var/lib/mailman3/data /var/log/mailman3 /run/mailman3; do\n"
             "    mkdir -p $each; chown list:list $each\ndone; chmod 2750 /var/lib/mailman3/data")
    here.write("/etc/mailman3/mailman.cfg", here.read("/etc/mailman3/mailman.cfg") + "".join(f"[runner.{name}]\nstart: no\n" for name in ASLEEP))
    if change:
        change(here)
    if lists:
        make_list(here, "team", "ann@example.com", "bob@example.net")
    else:
        for table in ("lmtp", "domains"):
            here.write(f"/var/lib/mailman3/data/postfix_{table}", "")
            here.run(f"postmap hash:/var/lib/mailman3/data/postfix_{table}" if here.system == POSTFIX else "true")
    if here.system == POSTRIDER:
        here.run("usermod -a -G list postrider")  # whom Mailman lets read its tables
    here.start_unit("postsrsd", lambda: listens("10001") and listens("10002"))
    here.start()
    if lists:
        here.start_unit("mailman3", lambda: listens("8024"))
    return here


def make_list(here, name, *members):
    here.run("su", "list", "-s", "/bin/sh", "-c", f"mailman create --domain {name}@lists.example.com")
    here.write("/tmp/members", "".join(f"{each}\n" for each in members))
    here.run("su", "list", "-s", "/bin/sh", "-c", f"mailman addmembers /tmp/members {name}@lists.example.com")


def send(here, recipients, subject="test", sender="bob@example.net", source=ELSEWHERE):
    with here.client(source=source, hello="mx.example.net") as c:
        return c.deliver(sender, recipients, message(subject, sender=sender or "<>", to=recipients[0]))


def home_mail(here, user, subject):
    return wait_until(lambda: next((m for m in here.mailbox(user) if f"Subject: {subject}\n" in m), None), 30,
                      lambda: f"{subject!r} to {user}\n{here.said()}")


def test_lists(host, elsewhere):
    # A post reaches all subscribers.
    assert send(host, ["team@lists.example.com"], "hello all").startswith("250")
    assert "List-Id: <team.lists.example.com>" in home_mail(host, "ann", "[Team] hello all")
    copy = wait_until(lambda: elsewhere.to("bob@example.net"), 20, host.said)[0]
    assert copy.header("Subject") == "[Team] hello all" and copy.sender.startswith("team-bounces")
    # What cannot be delivered comes back to Mailman.
    assert send(host, ["team-bounces+bob=example.net@lists.example.com"], "failure", sender="").startswith("250")
    host.wait_log(r"to=<team-bounces\+bob=example\.net@lists\.example\.com>, relay=(127\.0\.0\.1|localhost)\[127\.0\.0\.1\]:8024, .*status=sent")
    # A new list is known at once, and no other.
    assert re.match(r"550 5\.1\.1 <club@lists\.example\.com>: Recipient address rejected: User unknown", send(host, ["club@lists.example.com"]))
    assert re.match(r"550 5\.1\.1 <nobody-here@example\.com>: Recipient address rejected: User unknown", send(host, ["nobody-here@example.com"]))
    make_list(host, "club", "ann@example.com", "bob@example.net")
    if host.system == POSTFIX:
        host.run("postfix reload")  # only some of its processes would see the table at once
    wait_until(lambda: send(host, ["club@lists.example.com"], "first post").startswith("250"), 20, host.said)
    assert home_mail(host, "ann", "[Club] first post")
    # Mail waits while Mailman is away.
    host.run("kill $(cat /run/mailman3/master.pid)")
    wait_until(lambda: not listens("8024"), 20, "Mailman to end")
    assert send(host, ["team@lists.example.com"], "later").startswith("250")
    host.wait_log(r"to=<team@lists\.example\.com>, .*status=deferred \(connect to .*8024: Connection refused\)")
    host.start_unit("mailman3", lambda: listens("8024"))
    host.flush()
    assert home_mail(host, "ann", "[Team] later")


def test_forwarded_mail_has_a_sender_of_ours_and_reports_find_back(mail_host, elsewhere):
    host = set_up(mail_host, lists=False)
    assert send(host, ["carol@example.com"], "to forward", sender="dave@example.net").startswith("250")
    copy = elsewhere.wait_for_one_to("carol@example.org")
    assert re.fullmatch(r"SRS0=....=..=example\.net=dave@example\.com", copy.sender)
    # Carol's server cannot deliver it after all.
    assert send(host, [copy.sender], "Undelivered Mail", sender="").startswith("250")
    report = elsewhere.wait_for_one_to("dave@example.net")
    assert report.sender == "" and report.header("Subject") == "Undelivered Mail"
    # Nobody makes such an address up.
    forged = re.sub(r"=....=", "=AAAA=", copy.sender, count=1)
    assert re.match(r"550 5\.1\.1", send(host, [forged], sender=""))


def test_tables_of_patterns(mail_host, elsewhere):
    """The other form in which Mailman writes its tables."""
    def change(here):
        here.write("/etc/mailman3/postfix-mailman.cfg", "[postfix]\npostmap_command: /usr/sbin/postmap\ntransport_file_type: regex\n")
        here.run("sed -i 's,^configuration: python:mailman.config.postfix,configuration: /etc/mailman3/postfix-mailman.cfg,' /etc/mailman3/mailman.cfg\n"
                 "sed -i 's,hash:/var/lib/mailman3,regexp:/var/lib/mailman3,' /etc/postfix/main.cf")
    here = set_up(mail_host, change)
    assert "/^team@" in here.read("/var/lib/mailman3/data/postfix_lmtp")
    assert send(here, ["team@lists.example.com"], "hello all").startswith("250")
    assert home_mail(here, "ann", "[Team] hello all")
    assert send(here, ["team-bounces+bob=example.net@lists.example.com"], "failure", sender="").startswith("250")
    assert send(here, ["club@lists.example.com"]).startswith("550 5.1.1")
