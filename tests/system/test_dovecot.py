"""Dovecot's auth service, as Debian packages it, decides who may send."""
import base64
import select
import shutil

import pytest

from harness.client import message
from harness.filters import Dovecot
from test_auth import plain, scram, submission, users  # noqa: F401


@pytest.fixture
def dovecot(users):  # noqa: F811
    """starts it: dovecot("name:{SCHEME}password", …, failure_delay="2s") → (mta, sink), the MTA running."""
    mta, sink = users
    running = []

    def start(*entries, **options):
        service = Dovecot(mta.folder, *entries, **options)
        running.append(service)
        mta.config["auth"] = {"dovecot": str(service.path), "mechanisms": ["SCRAM-SHA-256", "PLAIN", "LOGIN"], "failure_delay": "0s"}
        mta.start()
        return mta, sink, service
    yield start
    for service in running:
        service.stop()
        shutil.rmtree(service.path.parent)


SHA512 = "{SHA512-CRYPT}$6$saltsalt$O5igcpfl.fR3dZSRWPLdiJIQf.Z/YrDFgl.SCSYO1vXlKx9cxF3I3UnP4.DsSt5As2KdW5Nx35sQeU5W.OZg6/"


def log_in(c, mechanism, user, password):
    """The last reply of a whole exchange."""
    if mechanism == "SCRAM-SHA-256":
        return scram(c, user, password)
    if mechanism == "PLAIN":
        return c.say(f"AUTH PLAIN {plain(user, password)}")
    assert c.say("AUTH LOGIN") == "334 VXNlcm5hbWU6"
    assert c.say(encoded(user)) == "334 UGFzc3dvcmQ6"
    return c.say(encoded(password))


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def test_dovecot_knows_its_users(dovecot):
    mta, sink, _ = dovecot("ann:{PLAIN}secret", f"bob:{SHA512}")
    for mechanism, user, password, reply in (
            ("PLAIN", "ann", "secret", "235 2.7.0"), ("LOGIN", "ann", "secret", "235 2.7.0"),
            ("SCRAM-SHA-256", "ann", "secret", "235 2.7.0"), ("PLAIN", "bob", "hidden", "235 2.7.0"),
            ("PLAIN", "ann", "wrong", "535 5.7.8"), ("LOGIN", "ann", "wrong", "535 5.7.8"),
            ("SCRAM-SHA-256", "ann", "wrong", "535 5.7.8"), ("SCRAM-SHA-256", "nobody", "secret", "535 5.7.8")):
        with submission(mta) as c:
            assert log_in(c, mechanism, user, password).startswith(reply), (mechanism, user, password)
            if reply.startswith("535"):  # the session is in step
                assert log_in(c, "PLAIN", "ann", "secret").startswith("235 2.7.0")
            assert c.deliver("ann@test.example", ["user@remote.example"], message(f"{user} by {mechanism}")).startswith("250")
    sink.wait_for(8)
    mta.wait_log(r"SASL LOGIN authentication failed: authentication failure, sasl_username=ann$")
    mta.wait_log(r"sasl_method=SCRAM-SHA-256, sasl_username=ann$")


def test_dovecot_makes_guessers_wait_and_nobody_else(dovecot):
    mta, _, _ = dovecot("ann:{PLAIN}secret", failure_delay="20s")
    mta.config["smtpd"]["workers"] = 1
    mta.restart()
    guessers = [submission(mta) for _ in range(3)]
    for guesser in guessers:
        guesser.send(f"AUTH PLAIN {plain('ann', 'wrong')}\r\n".encode())
    for _ in range(3):
        with submission(mta) as honest:
            assert log_in(honest, "PLAIN", "ann", "secret").startswith("235")
    assert select.select([g.socket for g in guessers], [], [], 0)[0] == [], "none of them has heard yet"
    for guesser in guessers:
        guesser.close()


def test_many_log_in_to_dovecot_at_once(dovecot):
    mta, _, service = dovecot("ann:{PLAIN}secret")
    mta.config["smtpd"]["workers"] = 1
    mta.restart()
    sessions = [submission(mta) for _ in range(20)]
    for c in sessions:  # all are in the middle of an exchange
        assert c.say("AUTH LOGIN").startswith("334")
    for c in sessions:
        assert c.say(encoded("ann")).startswith("334")
    for c in sessions:
        assert c.say(encoded("secret")).startswith("235"), service.said()
        c.close()


def test_dovecot_has_trouble_or_is_gone(dovecot):
    mta, _, service = dovecot(broken=True)
    with submission(mta) as c:
        assert log_in(c, "PLAIN", "ann", "secret").startswith("454 4.7.0"), service.said()
    service.stop()
    with submission(mta) as c:
        assert log_in(c, "PLAIN", "ann", "secret").startswith("454 4.7.0")
    mta.wait_log("SASL PLAIN authentication failed: .*auth service")
