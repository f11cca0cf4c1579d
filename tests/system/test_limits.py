"""Limits of users and of single listeners, and of what is done about passwords at the same time."""
import contextlib
import crypt
import re
import socket
import threading

import pytest

from harness.client import Client, message
from harness.watch import wait_until
from test_auth import plain, submission, users  # noqa: F401
from test_policy import guarded  # noqa: F401

LOGIN = f"AUTH PLAIN {plain('ann', 'secret')}"


@pytest.fixture
def single(users):  # noqa: F811
    """One worker, so that counts are exact."""
    mta, sink = users
    mta.config["smtpd"]["workers"] = 1
    return mta, sink


def logged_in(mta):
    c = submission(mta)
    assert c.say(LOGIN).startswith("235")
    return c


def test_messages_and_recipients_of_a_user(single):
    mta, _ = single
    mta.config["smtpd"].update(user_messages_per_hour=3, user_recipients_per_hour=5)
    mta.start()
    with logged_in(mta) as c:
        assert c.deliver("ann@test.example", [f"user{n}@remote.example" for n in range(3)], message()).startswith("250")
    with logged_in(mta) as c:  # wherever the user comes from
        assert c.deliver("ann@test.example", ["a@remote.example", "b@remote.example"], message()).startswith("250")
        assert c.say("MAIL FROM:<ann@test.example>").startswith("250")
        assert c.say("RCPT TO:<c@remote.example>") == "450 4.7.1 Error: too many recipients from user ann"
        c.say("RSET")
        assert c.say("MAIL FROM:<ann@test.example>") == "450 4.7.1 Error: too many messages from user ann"
    mta.wait_log(r"NOQUEUE: reject: MAIL from \S+: 450 4\.7\.1 Error: too many messages from user ann; from=<ann@test.example>")
    mta.wait_log(r"reject: RCPT from \S+: 450 4\.7\.1 Error: too many recipients from user ann; ")


def test_connections_of_a_user(single):
    mta, _ = single
    mta.config["listen.submission"]["user_connections_per_minute"] = 2
    mta.start()
    for _ in range(2):
        logged_in(mta).close()
    with submission(mta) as c:
        assert c.say(LOGIN).startswith("421 4.7.0 mta.test.example Error: too many connections of user ann")
        c.closed_by_peer()
    mta.wait_log(r"NOQUEUE: reject: AUTH from \S+: 421 4\.7\.0 .*too many connections of user ann; proto=ESMTPS")


def test_a_listener_has_limits_of_its_own(guarded):  # noqa: F811
    port = guarded.block.port()
    guarded.config["smtpd"].update(workers=1, messages_per_minute=1, connections_per_minute=1000)
    guarded.config["listen.strict"] = {"addresses": [f"{guarded.address}:{port}"], "service": "relay", "recipients_per_minute": 2,
                                       "message_size": "2KiB", "recipients": 3}
    guarded.config["listen.lax"] = {"addresses": [f"{guarded.address}:{guarded.block.port()}"], "service": "relay",
                                    "messages_per_minute": 0, "connections_per_minute": 2}
    guarded.start()
    user = f"{guarded.user}@test.example"

    def replies(port, source, *lines):
        with Client(guarded.address, port, source=guarded.block.host(source)) as c:
            return [c.say(line)[:9] for line in ("EHLO client.example", *lines)][1:]
    mail, rcpt = "MAIL FROM:<a@remote.example>", f"RCPT TO:<{user}>"
    assert replies(port, 61, mail, rcpt, rcpt, rcpt) == ["250 2.1.0", "250 2.1.5", "250 2.1.5", "450 4.7.1"]
    assert replies(port, 61, mail) == ["450 4.7.1"]  # [smtpd]'s, for it names none
    assert replies(guarded.relay_port, 61, mail, rcpt, rcpt, rcpt) == ["250 2.1.0"] + ["250 2.1.5"] * 3  # counted by itself
    assert replies(port + 1, 62, mail, "RSET", mail, "RSET", mail) == ["250 2.1.0", "250 2.0.0"] * 2 + ["250 2.1.0"]
    assert replies(port, 63, mail + " SIZE=3000") == ["552 5.3.4"]
    assert replies(port + 1, 62, mail) == ["250 2.1.0"]
    with Client(guarded.address, port + 1, source=guarded.block.host(62)) as c:
        assert c.banner.startswith("421 4.7.0 mta.test.example Error: too many new connections from your network")
    guarded.wait_log(rf"warning: Connection rate limit exceeded: \d+ from \S+\[{re.escape(guarded.block.host(62))}\] for service \S+$")


# -- AUTH

def test_passwords_are_checked_a_few_at_a_time(single):
    """While one is checked another client is told to come back, and the session goes on."""
    mta, _ = single
    slow = crypt.crypt("secret", "$6$rounds=4000000$saltsalt")
    (mta.folder / "passwords").write_text(f"ann:{slow}\n")
    mta.config["auth"].update(concurrent_checks=1, queued_checks=0)
    mta.start()
    a, b = submission(mta), submission(mta)
    for c in (a, b):
        c.send(LOGIN.encode() + b"\r\n")
    replies = {}
    threads = [threading.Thread(target=lambda c=c, name=name: replies.setdefault(name, c.reply())) for name, c in (("a", a), ("b", b))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert sorted(r[:9] for r in replies.values()) == ["235 2.7.0", "454 4.7.0"]
    mta.wait_log(r"warning: \S+: SASL PLAIN authentication failed: too many passwords are being checked, sasl_username=ann$")
    turned_away = a if replies["a"].startswith("454") else b
    assert turned_away.say(LOGIN).startswith("235")
    a.close(), b.close()


class SilentDovecot:
    """Introduces itself and answers only when told to: shows who was asked, and in what order."""

    def __init__(self, path):
        self.questions, self.sockets, self.lock = [], [], threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(50)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            s.sendall(b"VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t00\nDONE\n")
            threading.Thread(target=self.listen_to, args=(s,), daemon=True).start()

    def listen_to(self, s):
        with contextlib.suppress(ConnectionError):  # smtpd ends without a word
            for line in s.makefile():
                if line.startswith("AUTH\t"):
                    with self.lock:
                        self.questions.append(s)

    def say_yes(self, n):
        self.questions[n].sendall(b"OK\t1\tuser=ann\n")


def test_dovecot_is_asked_a_few_things_at_a_time(single, monkeypatch):
    mta, _ = single
    monkeypatch.chdir(mta.folder)
    dovecot = SilentDovecot("auth-client")
    mta.config["auth"] = {"dovecot": "auth-client", "mechanisms": ["PLAIN"], "concurrent_checks": 1, "queued_checks": 1}
    mta.start()
    asking, *others = [submission(mta) for _ in range(3)]
    asking.send(LOGIN.encode() + b"\r\n")
    wait_until(lambda: len(dovecot.questions) == 1, 20, "the first question")
    replies = {}
    threads = [threading.Thread(target=lambda c=c: replies.setdefault(c, c.reply())) for c in others]
    for c, t in zip(others, threads):
        c.send(LOGIN.encode() + b"\r\n")
        t.start()
    wait_until(lambda: replies, 20, "one to be told to come back, the other waits")
    assert [r[:9] for r in replies.values()] == ["454 4.7.0"] and len(dovecot.questions) == 1
    mta.wait_log("too many requests to the auth service are pending")
    dovecot.say_yes(0)
    assert asking.reply().startswith("235")
    wait_until(lambda: len(dovecot.questions) == 2, 20, "the second question")
    dovecot.say_yes(1)
    for t in threads:
        t.join(20)
    assert sorted(r[:3] for r in replies.values()) == ["235", "454"]
    for c in (asking, *others):
        c.close()
