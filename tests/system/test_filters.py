"""Filters and a policy server that others wrote: OpenDKIM, rspamd, postgrey, as Debian packages them."""
import re
import shutil

import pytest

from harness.client import message
from harness.filters import OpenDkim, Postgrey, Rspamd, short_folder
from harness.watch import wait_until
from test_auth import add_user, plain


@pytest.fixture
def beside(mta):
    """Runs one of them beside the MTA: beside(service), until the test ends."""
    running = []

    def keep(service):
        running.append(service)
        return service
    yield keep
    for service in running:
        service.stop()


@pytest.fixture(params=["inet", "unix"])
def somewhere(request, block):
    """An address to listen at, of either kind."""
    if request.param == "inet":
        yield f"inet:{block.host(40)}:{block.port()}"
        return
    folder = short_folder()
    yield f"unix:{folder}/socket"
    shutil.rmtree(folder)


# -- OpenDKIM

@pytest.fixture
def dkim(mta, remote, beside, somewhere):
    """(mta, sink): ann may authenticate on the submission port; OpenDKIM sees everything."""
    mta.config["auth"] = {"passwords": str(mta.folder / "passwords")}
    mta.config["listen.submission"].update(submission_networks=[], auth=True, auth_without_tls=True)
    mta.config["milter.opendkim"] = {"address": somewhere}
    sink = remote()
    mta.route("remote.example", sink)
    beside(OpenDkim(mta.folder, somewhere))
    mta.write_config()
    add_user(mta, "ann", "secret")
    mta.start()
    return mta, sink


def signed(mta, sink, content):
    """As it leaves when ann has sent it."""
    with mta.client(mta.submission_port) as c:
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("235")
        reply = c.deliver("ann@test.example", ["user@remote.example"], content)
        assert reply.startswith("250 2.0.0"), reply
    return sink.wait_for_one_to("user@remote.example")


def received(mta, content):
    """As it lies in the mailbox when a stranger has sent it."""
    before = len(mta.mailbox())
    with mta.client() as c:
        reply = c.deliver("ann@test.example", [f"{mta.user}@test.example"], content)
        assert reply.startswith("250 2.0.0"), reply
    return mta.wait_mailbox(before + 1)[-1]


def results(mail):
    return re.findall(r"^Authentication-Results: (.*(?:\n[ \t].*)*)", mail.partition("\n\n")[0], re.M)


def test_opendkim_signs_what_users_send_and_verifies_what_comes(dkim):
    mta, sink = dkim
    letter = message("signed", "First line.\r\n\r\n..and dots.\r\n  spaces  \r\nLast.", "ann@test.example", "user@remote.example")
    out = signed(mta, sink, letter)
    assert "d=test.example" in out.header("DKIM-Signature") and "s=mail" in out.header("DKIM-Signature")
    # It comes back whole: good. A word in it changed: bad. Who is no user is not signed for.
    assert "dkim=pass" in results(received(mta, out.content))[0]
    changed = received(mta, out.content.replace(b"Last.", b"Lost."))
    assert "dkim=fail" in results(changed)[0]
    unsigned = received(mta, letter)
    assert "DKIM-Signature" not in unsigned and "dkim=none" in results(unsigned)[0]


def test_opendkim_signs_what_submission_completed(dkim):
    """What we add to a user's message and take from it must not spoil its signature: the filter sees it as it goes out."""
    mta, sink = dkim
    out = signed(mta, sink, "From: ann@test.example\nBcc: hidden@remote.example\nSubject: bare\n\nHello.\n")
    assert out.header("Date") and out.header("Message-ID") and "hidden" not in out.text
    assert "dkim=pass" in results(received(mta, out.content))[0]


def test_opendkim_takes_forged_results_away(dkim):
    mta, _ = dkim
    forged = "Authentication-Results: mta.test.example; dkim=pass header.d=bank.example"
    other = "Authentication-Results: elsewhere.example; dkim=pass"
    mail = received(mta, message(extra=f"{forged}\r\nX-Between: them\r\n{other}\r\n{forged}\r\n"))
    assert "bank.example" not in mail and "X-Between: them" in mail
    found = results(mail)
    assert len(found) == 2 and found[0].startswith("mta.test.example; dkim=none") and found[1] == "elsewhere.example; dkim=pass"


# -- rspamd

SPAM = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


def test_rspamd_decides(mta, beside, block):
    rspamd = beside(Rspamd(mta.folder, block.host(41), block.port()))
    mta.config["milter.rspamd"] = {"address": rspamd.address}
    mta.start()

    def send(subject, body="Hello.", extra=""):
        with mta.client() as c:
            return c.deliver("a@remote.example", [f"{mta.user}@test.example"], message(subject, body, extra=extra))

    def taken(subject, **more):
        before = mta.mailbox()
        assert send(subject, **more).startswith("250 2.0.0")
        return next(m for m in mta.wait_mailbox(len(before) + 1) if m not in before)
    assert send("spam", SPAM) == "554 5.7.1 Gtube pattern"
    mta.wait_log(r"reject: END-OF-MESSAGE from \S+: 554 5\.7\.1 Gtube pattern")
    assert send("later") == "451 4.7.1 come back later"
    assert mta.mailbox() == []
    assert "X-Spam" not in taken("good")
    assert re.search(r"^X-Spam: Yes$", taken("doubtful"), re.M)
    assert re.search(r"^Subject: \*\*\* SPAM \*\*\* loud$", taken("loud"), re.M)
    marked = taken("marked", extra="X-Secret: one\r\nX-Other: stays\r\nX-Secret: two\r\n")
    header = marked.partition("\n\n")[0].split("\n")
    assert header.index("X-First: on top") < header.index("Subject: marked") < header.index("X-Last: below")
    assert "X-Other: stays" in header and "X-Secret" not in marked
    assert "Return-Path: <changed@remote.example>" in header
    with mta.client() as c:  # several in one session, a refused one between them
        for body, reply in (("one", "250"), (SPAM, "554"), ("two", "250")):
            assert c.deliver("a@remote.example", [f"{mta.user}@test.example"], message("in a row", body)).startswith(reply)
    mta.wait_mailbox(6)


# -- postgrey

def test_postgrey_greylists_and_later_permits(mta, beside, somewhere):
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}  # who comes is a stranger
    postgrey = beside(Postgrey(mta.folder, somewhere))
    mta.config["policy.postgrey"] = {"address": postgrey.address}
    mta.start()
    user = f"{mta.user}@test.example"

    def attempt():
        with mta.client() as c:
            return c.deliver("stranger@remote.example", [user], message("grey"))
    reply = attempt()
    assert re.match(rf"450 4\.2\.0 <{re.escape(user)}>: Recipient address rejected: Greylisted", reply), reply
    mta.wait_log(r"NOQUEUE: reject: RCPT from \S+: 450 4\.2\.0 .*Greylisted")
    wait_until(lambda: attempt().startswith("250 2.0.0"), 20, "postgrey to have enough of it", step=0.2)
    assert re.search(r"^X-Greylist: delayed \d+ seconds by postgrey-", mta.wait_mailbox(1)[0], re.M)
