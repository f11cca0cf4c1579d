"""A null client: an application server that only sends, by way of the hub of its site, where it logs in. The hub is Debian's
Postfix with Dovecot."""
import re

import pytest

from harness.client import Client
from harness.machine import listens
from harness.watch import wait_until

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

HUB = "192.0.2.1"


@pytest.fixture
def hub(other_machine, network, dns):
    """mail.example.com: takes mail on port 587 of those who log in, for its users and nobody else."""
    network.add(HUB)
    dns.address_of("mail.example.com", HUB)
    here = other_machine("mail.example.com", "postfix", "dovecot-core")
    for user in ("dovecot", "dovenull"):
        here.add_user(user)
    here.run("openssl req -x509 -newkey rsa:2048 -nodes -keyout /etc/ssl/key.pem -out /etc/ssl/cert.pem -subj /CN=mail.example.com "
             "-addext subjectAltName=DNS:mail.example.com -days 90")
    here.write("/etc/dovecot/dovecot.conf", """
protocols =
ssl = no
log_path = /var/log/dovecot
auth_mechanisms = plain login
passdb {
  driver = static
  args = user=app1 password=secret-of-app1
}
service auth {
  unix_listener postfix {
    mode = 0666
  }
}
""")
    here.start_unit("dovecot", lambda: listens(here.path("/run/dovecot/postfix")))
    here.write("/etc/mail-aliases", "")
    here.start_postfix(HUB, "mail.example.com", "example.com", "ops", "webmaster", main="""
smtpd_tls_cert_file = /etc/ssl/cert.pem
smtpd_tls_key_file = /etc/ssl/key.pem
smtpd_sasl_type = dovecot
smtpd_sasl_path = /run/dovecot/postfix
""", master="""
587 inet n - n - - smtpd
    -o smtpd_tls_security_level=encrypt
    -o smtpd_sasl_auth_enable=yes
    -o smtpd_client_restrictions=permit_sasl_authenticated,reject
""")
    return here


@pytest.fixture
def app(mail_host, hub):
    here = mail_host("null_client", "app1.example.com")
    here.write("/etc/ssl/certs/ca-certificates.crt", hub.read("/etc/ssl/cert.pem"))
    here.run("useradd --create-home webmaster")
    here.start()
    return here


def test_mail_of_programs_goes_to_the_hub(app, hub):
    # As cron does it: to an address without a domain.
    app.sendmail("-i", "webmaster", text="From: root (Cron Daemon)\nSubject: Cron <root@app1> backup\n\nThe disk is full.\n")
    got = hub.wait_mail("webmaster", "Subject: Cron")
    assert "Return-Path: <ops@example.com>" in got and "From: ops@example.com" in got.replace("(Cron Daemon)", "").replace(' \n', '\n')
    assert "The disk is full" in got
    # An application by SMTP, as users of the site.
    with app.client() as c:
        assert c.deliver("webmaster@example.com", ["ops@example.com"], "From: webmaster@example.com\nSubject: by SMTP\n\nx\n").startswith("250")
    assert "Return-Path: <webmaster@example.com>" in hub.wait_mail("ops", "Subject: by SMTP")
    assert "sasl_username=app1" in hub.read("/var/log/mail.log")
    app.wait_log(r"to=<ops@example\.com>, relay=mail\.example\.com\[192\.0\.2\.1\]:587, .*dsn=2\.0\.0, status=sent")


def test_what_the_hub_does_not_know_is_returned_by_way_of_the_hub(app, hub):
    app.sendmail("-f", "webmaster@example.com", "no-such-user@example.com")
    report = hub.wait_mail("webmaster", "Undelivered Mail")
    assert "no-such-user@example.com" in report and "550 5.1.1" in report


def test_mail_waits_while_the_hub_is_away(app, hub):
    hub.run("postfix stop")
    app.sendmail("-f", "webmaster@example.com", "ops@example.com", text="Subject: later\n\nx\n")
    app.wait_log(r"to=<ops@example\.com>.*status=deferred \(connect to mail\.example\.com")
    assert re.search(r"Connection refused", app.queue())
    hub.run("postfix start")
    wait_until(lambda: listens(f"{HUB}:587"), 20, hub.said)
    app.flush()
    assert hub.wait_mail("ops", "Subject: later")
    wait_until(lambda: "Mail queue is empty" in app.queue(), 10, app.said)


def test_nobody_else_is_served(app, hub):
    assert not listens("127.0.0.2:25") and listens("127.0.0.1:25")
    for name in ("root", "webmaster"):
        assert not app.path(f"/home/{name}/Maildir").exists()
    with Client("127.0.0.1", 25) as c:
        c.say("EHLO localhost")
        # No domain is its own: its mail goes to the hub, too.
        c.say("MAIL FROM:<webmaster@example.com>")
        assert c.say("RCPT TO:<webmaster@app1.example.com>").startswith("250")
