"""Verification of addresses: reject_unverified_recipient and reject_unverified_sender ask a server that receives the
mail, up to RCPT, and remember the answer. The replies are those of Debian's Postfix."""
import json
import os
import re
import signal

import pytest

from harness import fake_clock
from harness.client import Client
from harness.postfix import Postfix
from harness.sink import only, silence
from harness.watch import wait_until
from test_metrics import metered, wait_figures  # noqa: F401 (a fixture)

PROGRESS = "unverified address: Address verification in progress"


@pytest.fixture
def verifying(mta):
    """Strangers' mail for domains that others host; whatever its name is, each has a server of its own."""
    mta.config["relay"] = {"networks": [], "domains": ["remote.example", "other.example"]}
    mta.config["access.strangers"] = {"recipient": ["reject_unverified_recipient"], "listeners": ["relay"]}
    mta.config["verify"] = {"wait": "20s"}
    return mta


def asked(sink, word="RCPT"):
    with sink.lock:
        return [line for _, line in sink.commands if line.upper().startswith(word)]


def reply_to(mta, recipient, sender="ann@far.example"):
    with mta.client(mta.relay_port) as c:
        c.say(f"MAIL FROM:<{sender}>")
        return c.say(f"RCPT TO:<{recipient}>")


def verified(mta, address, *options):
    done = mta.command("verify", address, "--json", *options, check=False)
    return json.loads(done.stdout), done.returncode


def test_a_recipient_is_accepted_once_its_server_would_accept_it(verifying, remote):
    mta, sink = verifying, remote()
    mta.route("remote.example", sink)
    mta.start()
    assert reply_to(mta, "bob@remote.example").startswith("250")
    assert asked(sink) == ["RCPT TO:<bob@remote.example>"]
    assert asked(sink, "MAIL")[0].startswith("MAIL FROM:<>")
    assert not asked(sink, "DATA") and not sink.messages
    mta.wait_log(r"verify: to=<bob@remote\.example>, relay=\S+:\d+, delay=\S+, status=deliverable \(250 2\.1\.5 Ok\)")
    # Remembered, also when its letters are of another case, by all workers, and over a restart.
    for _ in range(6):
        assert reply_to(mta, "BOB@Remote.Example").startswith("250")
    mta.restart()
    assert reply_to(mta, "bob@remote.example").startswith("250")
    assert len(asked(sink)) == 1


def test_a_recipient_that_its_server_rejects_is_rejected(verifying, remote):
    mta, sink = verifying, remote()
    sink.at("rcpt", only("nobody@", "550 5.1.1 No such user"))
    mta.route("remote.example", sink)
    mta.start()
    said = (rf"unverified address: host \S+ said: 550 5\.1\.1 No such user \(in reply to RCPT TO command\)")
    assert re.fullmatch(rf"450 4\.1\.1 <nobody@remote\.example>: Recipient address rejected: {said}", reply_to(mta, "nobody@remote.example"))
    mta.config["verify"]["recipient_reject_code"] = 550
    mta.write_config()
    mta.command("reload")
    said = said.replace("unverified", "undeliverable")
    wait_until(lambda: re.fullmatch(rf"550 5\.1\.1 <nobody@remote\.example>: Recipient address rejected: {said}",
                                    reply_to(mta, "nobody@remote.example")), 15, "the new code")
    mta.config["verify"]["recipient_reject_reason"] = "Address lookup failed"
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: reply_to(mta, "nobody@remote.example") ==
               "550 5.1.1 <nobody@remote.example>: Recipient address rejected: undeliverable address: Address lookup failed",
               15, "the reason that is configured")
    assert len(asked(sink)) == 1
    assert reply_to(mta, "bob@remote.example").startswith("250")


def test_a_server_that_defers_or_is_not_there_defers(verifying, remote):
    mta, sink, gone = verifying, remote(), remote()
    sink.at("rcpt", "451 4.7.1 Greylisted")
    mta.route("remote.example", sink)
    mta.route("other.example", gone)
    gone.stop()
    mta.start()
    assert re.fullmatch(r"450 4\.1\.1 <bob@remote\.example>: Recipient address rejected: unverified address: host \S+ said: "
                        r"451 4\.7\.1 Greylisted \(in reply to RCPT TO command\)", reply_to(mta, "bob@remote.example"))
    assert re.fullmatch(r"450 4\.1\.1 <bob@other\.example>: Recipient address rejected: unverified address: .*Connection refused.*",
                        reply_to(mta, "bob@other.example"))
    # Such a link rests: others of it are not asked about now.
    assert reply_to(mta, "ann@other.example").endswith(PROGRESS)
    mta.wait_log(r"verify: to=<ann@other\.example>, not checked now: link \S+ did not answer lately")


def test_a_silent_server_delays_nobody_else(verifying, remote):
    """Its clients are deferred when their wait is over; other addresses are verified and mail flows meanwhile."""
    mta, sink, silent = verifying, remote(), remote()
    silent.at("rcpt", silence)
    mta.route("remote.example", sink)
    mta.route("other.example", silent)
    mta.config["verify"]["wait"] = "2s"
    mta.start()
    clients = [mta.client(mta.relay_port) for _ in range(3)]
    for n, c in enumerate(clients):
        c.say("MAIL FROM:<ann@far.example>")
        c.send(f"RCPT TO:<{'bob' if n < 2 else 'carol'}@other.example>\r\n".encode())
    wait_until(lambda: asked(silent), 10, "the probe")
    for _ in range(3):
        assert reply_to(mta, "bob@remote.example").startswith("250")
    assert reply_to(mta, "dave@remote.example").startswith("250")
    mta.submit("bob@remote.example")
    sink.wait_for_one_to("bob@remote.example")
    for n, c in enumerate(clients):
        assert c.reply() == f"450 4.1.1 <{'bob' if n < 2 else 'carol'}@other.example>: Recipient address rejected: {PROGRESS}"
        assert c.say("NOOP").startswith("250")
        c.close()
    assert asked(silent) == ["RCPT TO:<bob@other.example>"]  # once, and one address of that server at a time


def test_a_client_that_leaves_while_it_waits_is_no_trouble(verifying, remote):
    mta, sink = verifying, remote()
    sink.at("rcpt", silence, times=1)
    mta.route("remote.example", sink)
    mta.start()
    c = mta.client(mta.relay_port)
    c.say("MAIL FROM:<ann@far.example>")
    c.send(b"RCPT TO:<bob@remote.example>\r\n")
    wait_until(lambda: asked(sink), 10, "the probe")
    c.close()
    with mta.client(mta.relay_port) as c:
        assert c.say("MAIL FROM:<ann@far.example>").startswith("250")


def test_addresses_here_are_answered_without_the_network(verifying, remote):
    mta, sink = verifying, remote()
    mta.aliases.write_text(f"sales: bob@remote.example\nteam: {mta.user}, bob@remote.example\n")
    mta.route("remote.example", sink)
    mta.start()
    assert reply_to(mta, f"{mta.user}@test.example").startswith("250")
    assert reply_to(mta, "team@test.example").startswith("250")
    assert not asked(sink)
    assert reply_to(mta, "sales@test.example").startswith("250")  # where its mail goes is asked
    assert asked(sink) == ["RCPT TO:<bob@remote.example>"]
    facts, status = verified(mta, "nobody@test.example")
    assert status == 67 and facts["result"] == "undeliverable" and facts["checked"] == 0, facts


def test_senders(verifying, remote):
    mta, sink = verifying, remote()
    mta.config["access.strangers"] = {"sender": ["reject_unverified_sender"], "listeners": ["relay"]}
    mta.config["verify"].update(sender_reject_code=550, sender="probe@test.example")
    mta.route("far.example", sink)
    sink.at("rcpt", only("spam@", "550 5.1.1 No such user"))
    mta.start()
    to = f"{mta.user}@test.example"
    assert reply_to(mta, to).startswith("250")
    assert asked(sink, "MAIL")[0].startswith("MAIL FROM:<probe@test.example>")
    assert re.fullmatch(r"550 5\.1\.7 <spam@far\.example>: Sender address rejected: undeliverable address: host \S+ said: .*",
                        reply_to(mta, to, "spam@far.example"))
    assert len(asked(sink)) == 2
    assert reply_to(mta, to, "").startswith("250")  # the null sender is no address
    assert len(asked(sink)) == 2
    assert reply_to(mta, to, "ann@nowhere.example").startswith("450 4.1.7 <ann@nowhere.example>: Sender address rejected: unverified address: ")


def test_sessions_go_on_without_a_queue_manager(verifying, remote):
    mta, sink = verifying, remote()
    mta.route("remote.example", sink)
    mta.config["verify"]["wait"] = "1s"
    mta.start()
    assert reply_to(mta, "bob@remote.example").startswith("250")
    [pid] = mta.pids("queue-manager")
    with mta.client(mta.relay_port) as c:
        c.say("MAIL FROM:<ann@far.example>")
        os.kill(pid, signal.SIGSTOP)
        try:
            assert c.say("RCPT TO:<bob@remote.example>").endswith(PROGRESS)
            assert c.say("NOOP").startswith("250")
        finally:
            os.kill(pid, signal.SIGCONT)
        mta.expects_crashes = True
        mta.kill("queue-manager")
        wait_until(lambda: c.say("RCPT TO:<bob@remote.example>").startswith("250"), 20, "the next queue-manager to answer")


def test_a_paused_link_is_not_asked(verifying, remote):
    mta, sink = verifying, remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.command("pause", "queue", "remote.example")
    assert reply_to(mta, "bob@remote.example").endswith(PROGRESS)
    mta.wait_log(r"verify: to=<bob@remote\.example>, not checked now: mail would wait: queue remote\.example is paused")
    assert not asked(sink)
    mta.command("resume", "queue", "remote.example")
    assert reply_to(mta, "bob@remote.example").startswith("250")


def test_an_operator_sees_and_forgets_an_address(verifying, remote):
    mta, sink = verifying, remote()
    sink.at("rcpt", "550 5.1.1 No such user", times=1)
    mta.route("remote.example", sink)
    mta.start()
    facts, status = verified(mta, "bob@remote.example")
    assert status == 67 and facts["result"] == "undeliverable" and facts["expires"] - facts["checked"] == 3 * 86400, facts
    shown = mta.command("verify", "bob@remote.example", check=False)
    assert shown.returncode == 67 and "No such user" in shown.stdout and "remembered until" in shown.stdout
    assert len(asked(sink)) == 1
    assert mta.command("verify", "bob@remote.example", "--forget").stdout == "bob@remote.example: forgotten\n"
    assert mta.command("verify", "bob@remote.example", "--forget").stdout == "bob@remote.example: was not remembered\n"
    mta.wait_log(r"verify: <bob@remote\.example> forgotten by ")
    facts, status = verified(mta, "bob@remote.example")
    assert status == 0 and facts["result"] == "deliverable" and facts["expires"] - facts["checked"] == 31 * 86400, facts
    assert mta.command("verify", "nonsense", check=False).returncode == 64
    said = mta.command("try", "--client", "198.51.100.1", "--name", "x.example", "--helo", "x.example", "--from", "a@x.example",
                       "--to", "bob@remote.example")
    assert "reject_unverified_recipient" in said.stdout and "bob@remote.example: deliverable" in said.stdout
    assert said.stdout.splitlines()[-1] == "result     accepted"
    mta.stop()
    said = mta.command("try", "--client", "198.51.100.1", "--name", "x.example", "--helo", "x.example", "--from", "a@x.example",
                       "--to", "bob@remote.example", check=False)
    assert said.returncode == 75 and "bob@remote.example was not verified: Postrider is not running" in said.stdout, said


def test_a_refresh_happens_behind_the_former_answer(verifying, remote):
    mta, sink = verifying, remote()
    mta.wrap(**fake_clock.offset(0))
    mta.route("remote.example", sink)
    mta.start()
    assert reply_to(mta, "bob@remote.example").startswith("250")
    sink.at("rcpt", "550 5.1.1 No such user")
    for times, days in ((1, 8), (2, 9)):  # the first rejection is not the end of a good address
        mta.stop()
        for program in mta.programs.iterdir():
            if program.with_name(f"{program.name}.real").exists():
                program.write_text(re.sub(r"FAKETIME='\+\d+'", f"FAKETIME='+{days * 86400}'", program.read_text()))
        mta.start()
        assert reply_to(mta, "bob@remote.example").startswith("250")
        wait_until(lambda: len(asked(sink)) == 1 + times, 15, "the check behind the answer")
    wait_until(lambda: "No such user" in reply_to(mta, "bob@remote.example"), 15, "the result of the second check")


def test_a_damaged_memory_is_replaced(verifying, remote):
    mta, sink = verifying, remote()
    mta.route("remote.example", sink)
    mta.start()
    assert reply_to(mta, "bob@remote.example").startswith("250")
    mta.stop()
    (mta.spool / "state/verified/data.mdb").write_bytes(b"no database" * 10_000)
    mta.start()
    mta.wait_log(r"error: verify: the verified addresses were moved aside as \S+/state/verified/data\.mdb\.damaged")
    assert reply_to(mta, "bob@remote.example").startswith("250")
    assert len(asked(sink)) == 2


def test_counts(metered, remote):  # noqa: F811
    mta, sink = metered, remote()
    mta.config["relay"] = {"networks": [], "domains": ["remote.example"]}
    mta.config["access.strangers"] = {"recipient": ["reject_unverified_recipient"], "listeners": ["relay"]}
    mta.route("remote.example", sink)
    sink.at("rcpt", only("nobody@", "550 5.1.1 No such user"))
    mta.start()
    for name in ("bob", "bob", "nobody"):
        reply_to(mta, f"{name}@remote.example")
    figures = wait_figures(mta, lambda f: f("postrider_verified_addresses") == 2)
    assert figures("postrider_verification_answers_total", result="deliverable") == 2
    assert figures("postrider_verification_checks_total", result="deliverable") == 1
    assert figures("postrider_verification_checks_total", result="undeliverable") == 1


@pytest.mark.needs("root", "mounts")
@pytest.mark.parametrize("settings, ours", [
    ({}, {}),
    ({"unverified_recipient_reject_code": "550", "unverified_recipient_defer_code": "451"},
     {"recipient_reject_code": 550, "recipient_defer_code": 451}),
    ({"unverified_recipient_reject_code": "550", "unverified_recipient_reject_reason": "Not known there"},
     {"recipient_reject_code": 550, "recipient_reject_reason": "Not known there"}),
], ids=["default", "codes", "reason"])
def test_replies_are_those_of_postfix(verifying, remote, block, folder, settings, ours):
    mta, sink, silent = verifying, remote(), remote()
    for word, said in (("nobody@", "550 5.1.1 <nobody@remote.example>: no such user"), ("full@", "452 4.2.2 Mailbox full"),
                       ("odd@", "553 sorry")):
        sink.at("rcpt", only(word, said))
    silent.at("rcpt", silence)
    mta.route("remote.example", sink)
    mta.route("other.example", silent)
    mta.config["verify"].update(ours, wait="2s")
    theirs = folder / "theirs"
    theirs.mkdir()
    hops = ", ".join(f"{domain}=smtp:[{s.address}]:{s.port}" for domain, s in (("remote.example", sink), ("other.example", silent)))
    server = Postfix(theirs, block.host(77), block.port(), relay_domains="remote.example, other.example",
                     transport_maps=f"inline:{{ {hops} }}", smtpd_recipient_restrictions="reject_unverified_recipient",
                     smtpd_relay_restrictions="reject_unauth_destination", address_verify_poll_delay="1s", queue_minfree="0",
                     smtp_host_lookup="native", **settings)

    def replies(client, names):
        client.say("EHLO client.example")
        client.say("MAIL FROM:<ann@far.example>")
        return [re.sub(r"host \S+ said", "host sink said", client.say(f"RCPT TO:<{name}>")) for name in names]
    try:
        mta.start()
        names = [f"{name}@remote.example" for name in ("bob", "nobody", "full", "odd")] + ["bob@other.example"]
        with Client(server.address, server.port) as c:
            replies(c, names)  # its probes may take longer than it waits
        wait_until(lambda: {a for a in names if f"RCPT TO:<{a}>" in " ".join(asked(sink) + asked(silent))} == set(names), 20, "its probes")

        def settled():
            with Client(server.address, server.port) as c:
                said = replies(c, names)
            return said if not any("in progress" in each for each in said[:4]) else None
        expected = wait_until(settled, 20, "its answers")
        with mta.client(mta.relay_port, hello=False) as c:
            assert replies(c, names) == expected
    finally:
        server.stop()
