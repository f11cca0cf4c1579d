"""Mail for the people of two domains: users, aliases and passwords in MariaDB, mailboxes and logins by Dovecot, senders
checked by policyd-spf."""
import base64
import re
import ssl

import pytest
from dnslib import TXT

from harness.client import message
from harness.databases import Mariadb
from harness.machine import listens
from harness.mail_host import POSTFIX, POSTRIDER
from harness.watch import wait_until

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

HOST, ELSEWHERE, FORGER = "192.0.2.1", "192.0.2.2", "192.0.2.66"
PEOPLE = (
    "create table users (email varchar(80) primary key, name varchar(40), domain varchar(40), password varchar(40))",
    "insert into users values ('ann@example.com', 'ann', 'example.com', 'ann-secret'), ('bob@example.com', 'bob', 'example.com', 'bob-secret'), "
    "('carol@example.org', 'carol', 'example.org', 'carol-secret')",
    "create table aliases (source varchar(80), destination varchar(200))",
    # A team, an address of ann's own, everything else at example.org, somebody who has moved.
    "insert into aliases values ('team@example.com', 'ann@example.com, bob@example.com'), ('sales@example.com', 'ann@example.com'), "
    "('@example.org', 'carol@example.org'), ('gone@example.com', 'dave@example.net')",
)


@pytest.fixture
def database():
    server = Mariadb("127.0.0.1", 3306, *PEOPLE)
    yield server
    server.remove()


@pytest.fixture
def elsewhere(network, dns, remote):
    """The server of example.net, whose domain says by SPF that only it sends."""
    network.add(HOST, ELSEWHERE, FORGER)
    for domain in ("example.com", "example.org"):
        dns.mx(domain, (10, "mail.example.com"))
    dns.address_of("mail.example.com", HOST)
    dns.mx("example.net", (10, "mx.example.net"))
    dns.address_of("mx.example.net", ELSEWHERE)
    dns.pointer(ELSEWHERE, "mx.example.net")
    dns.add("example.net", "TXT", TXT("v=spf1 mx -all"))
    return remote(25, ELSEWHERE)


@pytest.fixture
def host(mail_host, database, elsewhere):
    here = mail_host("mysql_hosting", "mail.example.com", "dovecot-core", "dovecot-imapd", "dovecot-lmtpd", "dovecot-mysql", "postfix-policyd-spf-python",
                     tables=["mysql"])
    here.door = HOST
    for user in ("dovecot", "dovenull", "policyd-spf"):
        here.add_user(user)
    here.add_user("vmail", "/var/vmail")
    here.run("mkdir -p /var/vmail; chown vmail:vmail /var/vmail\nopenssl req -x509 -newkey rsa:2048 -nodes -keyout /etc/ssl/mail.example.com.key "
             "-out /etc/ssl/mail.example.com.pem -subj /CN=mail.example.com -days 90")
    if here.system == POSTRIDER:
        move_dovecots_sockets(here)
        start_policyd_as_systemd_does(here)
    here.start(decided=["master.cf:48 policyd-spf unix: spawn"])
    sockets = "/run/dovecot" if here.system == POSTRIDER else "/var/spool/postfix/private"
    here.start_unit("dovecot", lambda: listens(here.path(f"{sockets}/dovecot-lmtp")) and listens(here.path(f"{sockets}/auth")))
    return here


def move_dovecots_sockets(here):
    """What postrider-from-postfix(7) has the owner do: Postfix's directory goes with its package."""
    here.run("mkdir -p /run/dovecot; sed -i 's,/var/spool/postfix/private/,/run/dovecot/,; s/= postfix/= postrider/' /etc/dovecot/dovecot.conf\n"
             "sed -i 's,private/dovecot-lmtp,/run/dovecot/dovecot-lmtp,; s,private/auth,/run/dovecot/auth,' /etc/postfix/main.cf")


def start_policyd_as_systemd_does(here):
    """What postrider-from-postfix(7) says of programs that spawn(8) starts: policyd-spf.socket, and a service for each connection."""
    here.serve("systemd-socket-activate", "--accept", "--inetd", "--listen=/run/policyd-spf.sock", "setpriv", "--reuid=policyd-spf",
               "--regid=policyd-spf", "--init-groups", "/usr/bin/policyd-spf")
    wait_until(lambda: here.path("/run/policyd-spf.sock").exists(), 10, here.said)
    here.run("chown postrider /run/policyd-spf.sock")


def mailbox(here, user, domain="example.com"):
    return [file.read_text(errors="replace") for file in sorted(here.path(f"/var/vmail/{domain}/{user}").glob("new/*"))]


def wait_mail(here, user, subject, domain="example.com"):
    return wait_until(lambda: next((m for m in mailbox(here, user, domain) if f"Subject: {subject}\n" in m), None), 20,
                      lambda: f"{subject!r} to {user}\n{here.said()}")


def send(here, recipients, subject, sender="someone@example.net", source=ELSEWHERE):
    with here.client(source=source, hello="mx.example.net") as c:
        return c.deliver(sender, recipients, message(subject, sender=sender, to=recipients[0]))


class Login:
    """A mail program of somebody who logs in on the submission port."""

    def __init__(self, here, user, password):
        self.client = here.client(port=587, hello="laptop.local")
        assert self.client.say("STARTTLS").startswith("220")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.client.socket = context.wrap_socket(self.client.socket)
        offered = self.client.say("EHLO laptop.local")
        assert "AUTH" in offered
        words = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        self.reply = self.client.say(f"AUTH PLAIN {words}")

    def send(self, sender, recipient, subject):
        return self.client.deliver(sender, [recipient], message(subject, sender=sender, to=recipient))


def test_mail_from_outside_comes_to_mailboxes_and_aliases(host):
    assert send(host, ["ann@example.com", "carol+x@example.org"], "to two").startswith("250")
    got = wait_mail(host, "ann", "to two")
    assert "Received-SPF: Pass" in got, got
    assert wait_mail(host, "carol", "to two", "example.org")
    assert send(host, ["team@example.com"], "to a team").startswith("250")
    assert wait_mail(host, "ann", "to a team") and wait_mail(host, "bob", "to a team")
    assert send(host, ["whoever@example.org"], "to all others").startswith("250")
    assert wait_mail(host, "carol", "to all others", "example.org")
    # A user's own address comes before the one that catches all others.
    assert send(host, ["carol@example.org"], "to herself").startswith("250")
    assert wait_mail(host, "carol", "to herself", "example.org")


def test_who_has_moved_gets_mail_there(host, elsewhere):
    assert send(host, ["gone@example.com"], "forwarded").startswith("250")
    assert elsewhere.wait_for_one_to("dave@example.net").header("Subject") == "forwarded"


def test_what_is_refused(host):
    assert re.match(r"550 5\.1\.1 <nobody@example\.com>: Recipient address rejected: User unknown", send(host, ["nobody@example.com"], "x"))
    assert send(host, ["someone@elsewhere.example"], "x").startswith("554 5.7.1")
    refused = send(host, ["ann@example.com"], "forged", source=FORGER)
    assert re.match(r"550 5\.7\.(1|23) <ann@example\.com>: Recipient address rejected: .*SPF", refused), refused
    assert not mailbox(host, "ann")


def test_people_send_when_they_have_logged_in(host, elsewhere):
    ann = Login(host, "ann@example.com", "ann-secret")
    assert ann.reply.startswith("235")
    assert ann.send("ann@example.com", "friend@example.net", "hello").startswith("250")
    assert elsewhere.wait_for_one_to("friend@example.net").sender == "ann@example.com"
    assert ann.send("sales@example.com", "bob@example.com", "as an alias of hers").startswith("250")
    assert wait_mail(host, "bob", "as an alias of hers")
    ann.client.say("RSET")
    assert ann.send("bob@example.com", "friend@example.net", "not hers").startswith("553 5.7.1")
    host.wait_log(r"sasl_method=PLAIN, sasl_username=ann@example\.com")
    assert Login(host, "ann@example.com", "wrong").reply.startswith("535 5.7.8")
    with host.client(port=587) as c:
        replies = [c.say("MAIL FROM:<ann@example.com>"), c.say("RCPT TO:<friend@example.net>")]
        assert replies[0].startswith("530 5.7.0 Must issue a STARTTLS"), replies
    with host.client() as c:
        assert "AUTH" not in c.say("EHLO client.example.net")


def test_mail_waits_while_the_database_is_away(host, database):
    assert send(host, ["bob@example.com"], "before").startswith("250")
    assert wait_mail(host, "bob", "before")
    database.stop()
    assert re.match(r"45[01] 4\.3\.0", send(host, ["ann@example.com"], "during"))
    host.sendmail("-f", "root@mail.example.com", "bob@example.com", text="Subject: from a program\n\nx\n")
    wait_until(lambda: "bob@example.com" in host.queue(), 20, host.said)
    database.begin()
    if host.system == POSTFIX:
        host.run("postfix reload")  # its tables are not asked again for a minute
    def arrived():
        host.flush()
        return any("from a program" in each for each in mailbox(host, "bob"))
    wait_until(arrived, 60, host.said, step=1)
    assert send(host, ["ann@example.com"], "after").startswith("250")
    assert wait_mail(host, "ann", "after")
    assert not host.logged("status=bounced")
