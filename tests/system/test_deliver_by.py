"""DELIVERBY (RFC 2852): mail that is late is returned, or its sender is notified; servers that offer it learn what time is left."""
import re

import pytest

from harness.client import message
from harness.watch import wait_until


@pytest.fixture
def outbox(mta, remote):
    able, plain = remote(), remote()
    able.extensions.append("DELIVERBY")
    mta.route("able.example", able)
    mta.route("plain.example", plain)
    mta.aliases.write_text(f"sender: {mta.user}\n")
    return mta, able, plain


def send(mta, to, parameters, rcpt=""):
    return mta.submit(to, port=mta.submission_port, mail_parameters=parameters, rcpt_parameters=rcpt)


def the_report(mta, count=1):
    return mta.wait_mailbox(count)[-1]


@pytest.mark.smoke
def test_offered_and_passed_on_with_the_time_that_is_left(outbox):
    mta, able, _ = outbox
    mta.start()
    with mta.client(mta.submission_port) as c:
        assert "DELIVERBY" in c.say("EHLO client.example")
        assert c.say("MAIL FROM:<a@test.example> BY=0;R").startswith("501 5.5.4 BY needs seconds and a mode")
        assert c.say("MAIL FROM:<a@test.example> BY=60;R HOLDFOR=60") == \
            "501 5.5.4 BY ends before HOLDFOR or HOLDUNTIL lets the message go"
    with mta.client() as c:
        assert "DELIVERBY" not in c.say("EHLO client.example")
        assert c.say("MAIL FROM:<a@test.example> BY=60;R").startswith("555 5.5.4")
    able.at("connect", "421 4.3.2 Later", times=1)
    queue_id = send(mta, "user@able.example", " BY=500;R")
    wait_until(lambda: able.messages, 20, "the message to arrive")
    assert int(re.search(r" BY=(\d+);R$", able.messages[0].arguments["mail"])[1]) in range(480, 500)
    assert not mta.mailbox(), "nothing to report"
    send(mta, "user@able.example", " BY=-7;N")
    assert re.search(r" BY=-\d+;N$", able.wait_for(2)[1].arguments["mail"])
    mta.wait_until_empty()
    assert mta.logged(f"{queue_id}: .*status=sent")


def test_a_server_without_it_gets_no_mail_that_must_be_in_time(outbox):
    mta, _, plain = outbox
    mta.start()
    send(mta, "user@plain.example", " BY=500;R")
    report = the_report(mta)
    assert "does not offer DELIVERBY" in report and "Status: 5.4.7" in report and "Deliver-By-Date:" in report, report
    assert not plain.messages
    send(mta, "user@plain.example", " BY=500;N")
    plain.wait_for(1)
    assert " BY=" not in plain.messages[0].arguments["mail"]
    assert "Action: relayed" in the_report(mta, 2)
    send(mta, "user@plain.example", " BY=500;N", " NOTIFY=NEVER")
    plain.wait_for(2)
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 2


def test_traced_mail_is_reported_by_each_host(outbox):
    mta, able, _ = outbox
    mta.start()
    send(mta, "user@able.example", " BY=500;RT")
    able.wait_for(1)
    assert "Action: relayed" in the_report(mta)


@pytest.mark.parametrize("mode, action", [("R", "failed"), ("N", "delayed")])
def test_late_although_nothing_failed(outbox, mode, action):
    """Paused by the operator: other mail would not expire, nor be reported as delayed."""
    mta, able, _ = outbox
    mta.config["queue"]["report_merge_window"] = "0s"
    mta.start()
    mta.command("pause", "all")
    queue_id = send(mta, f"{mta.user}@test.example" if mode == "R" else "user@able.example", f" BY=2;{mode}")
    assert "then return it" in mta.command("message", "show", queue_id).stdout or mode == "N"
    wait_until(lambda: mode == "N" or queue_id not in mta.queued_ids(), 20, "the message to be returned")
    wait_until(lambda: any("parent" in line or "notification" in line for line in mta.log()), 20, "its report")
    mta.command("resume", "all")
    report = the_report(mta)
    assert f"Action: {action}" in report and "Deliver-By-Date:" in report, report
    if mode == "N":
        able.wait_for(1)
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 1


def test_by_option_and_by_field(outbox):
    mta, able, _ = outbox
    mta.start()
    sender = ("-f", "sender@test.example")
    assert mta.sendmail(*sender, "-O", "deliverby=500;R", "user@able.example").returncode == 0
    assert " BY=" in able.wait_for(1)[0].arguments["mail"]
    done = mta.sendmail(*sender, "-O", "deliverby=500;X", "user@able.example")
    assert done.returncode == 65 and 'expected ;R or ;N after the time, not ";X"' in done.stderr
    with mta.client(mta.submission_port) as c:
        text = message("by", "x", extra="X-Postrider-Deliver-By: 5m;NT\r\n")
        assert c.deliver("sender@test.example", ["user@able.example"], text).startswith("250")
        assert c.deliver("sender@test.example", ["user@able.example"], text, " BY=5;R") == \
            "554 5.6.0 Error: X-Postrider-Deliver-By: BY was given as well"
    got = able.wait_for(2)[1]
    assert re.search(r" BY=(29\d|300);NT", got.arguments["mail"]) and b"X-Postrider" not in got.content


def test_it_survives_a_restart(outbox):
    mta, able, _ = outbox
    mta.start()
    mta.command("pause", "all")
    send(mta, "user@able.example", " BY=900;R")
    mta.kill_everything()
    mta.start()
    mta.command("resume", "all")
    assert re.search(r" BY=8\d\d;R", able.wait_for(1)[0].arguments["mail"])
