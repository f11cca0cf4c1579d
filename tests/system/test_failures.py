"""What remote servers refuse, and what becomes of the mail: later, or back to the sender."""
import re

import pytest

from harness.sink import drop, endless, garbage, long_line, only, raw, reset, silence, slowly
from harness.watch import wait_until

STAGES = ["connect", "ehlo", "mail", "rcpt", "data", "dot"]


@pytest.mark.smoke
def test_deferral_then_success(mta, remote):
    """Nobody listens; the mail waits and says why; then somebody does, and it is delivered once."""
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, relay=none, .*dsn=4\.\d\.\d, status=deferred "
                 rf"\(connect to \S+\[{re.escape(sink.address)}\]:{sink.port}: Connection refused\)")
    assert mta.queued_ids() == {queue_id}
    sink.start()
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(sink.messages) == 1


@pytest.mark.parametrize("reply", ["421 4.3.2 Closing", "450 4.2.0 Not now"])
@pytest.mark.parametrize("stage", STAGES)
def test_temporary_refusal(relaying, stage, reply):
    mta, sink = relaying
    sink.at(stage, reply, times=1)
    queue_id = mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(sink.messages) == 1
    assert mta.logged(rf"{queue_id}: .*status=sent") and not mta.logged(r"status=bounced")


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data", "dot"])
def test_permanent_refusal_is_reported(relaying, stage):
    mta, sink = relaying
    sink.at(stage, "554 5.7.9 We do not like it")
    queue_id = mta.submit("user@remote.example", "unloved", sender=f"{mta.user}@test.example")
    report = mta.wait_mailbox(1)[0]
    assert mta.logged(rf"{queue_id}: to=<user@remote\.example>, .*dsn=5\.7\.9, status=bounced \(host \S+ said: 554 5\.7\.9 We do not like it")
    assert mta.logged(rf"postfix/bounce\[\d+\]: {queue_id}: sender non-delivery notification: [0-9A-F]+")
    assert "Return-Path: <>" in report and "Auto-Submitted: auto-replied" in report
    assert "multipart/report" in report and "report-type=delivery-status" in report
    assert re.search(r"^Final-Recipient: rfc822; ?user@remote\.example", report, re.M)
    assert re.search(r"^Action: failed", report, re.M) and re.search(r"^Status: 5\.7\.9", report, re.M)
    assert re.search(r"^Diagnostic-Code: smtp; ?554 5\.7\.9 We do not like it", report, re.M)
    assert "Subject: unloved" in report
    mta.wait_until_empty()


@pytest.mark.parametrize("stage", ["connect", "ehlo"])
def test_permanent_refusal_of_the_connection_is_no_verdict_on_the_mail(relaying, stage):
    mta, sink = relaying
    sink.at(stage, "554 5.3.2 Not today", times=2)
    mta.submit("user@remote.example")
    sink.wait_for(1)
    assert not mta.logged(r"status=bounced")


@pytest.mark.smoke
def test_each_recipient_gets_what_it_deserves(relaying):
    """Mixed replies to RCPT: the accepted are delivered, the refused reported, the rest tried again. Nobody twice."""
    mta, sink = relaying
    sink.at("rcpt", lambda s, a: "550 5.1.1 Unknown" if "bad" in a else "450 4.2.1 Later" if "slow" in a and
            sum("slow" in line for _, line in list(sink.commands)) < 2 else None)
    mta.submit(["good@remote.example", "bad@remote.example", "slow@remote.example"], sender=f"{mta.user}@test.example")
    report = mta.wait_mailbox(1)[0]
    assert "bad@remote.example" in report
    assert "good@remote.example" not in "".join(re.findall(r"Final-Recipient:.*", report))
    sink.wait_for_one_to("slow@remote.example")
    mta.wait_until_empty()
    assert len(sink.to("good@remote.example")) == 1 and len(sink.to("slow@remote.example")) == 1
    assert len(mta.mailbox()) == 1


def test_too_many_recipients_are_sent_in_turns(relaying):
    """452 after n recipients: those go, the rest at once in a further transaction."""
    mta, sink = relaying
    sink.at("rcpt", lambda session, a: "452 4.5.3 Too many recipients" if len(session.recipients) >= 10 else None)
    everybody = [f"user{n}@remote.example" for n in range(25)]
    mta.submit(everybody)
    mta.wait_until_empty()
    assert sorted(r for m in sink.messages for r in m.recipients) == sorted(everybody)
    assert not mta.logged("status=bounced")


@pytest.mark.parametrize("stage", ["connect", "ehlo", "mail", "rcpt", "data", "content", "dot"])
@pytest.mark.parametrize("how", [drop, reset], ids=["drop", "reset"])
def test_connection_lost(relaying, stage, how):
    mta, sink = relaying
    sink.at(stage, how, times=1)
    queue_id = mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert mta.logged(rf"{queue_id}: .*status=deferred \(.*(lost connection|Connection reset by peer)")


@pytest.mark.parametrize("stage", ["connect", "ehlo", "mail", "rcpt", "data", "dot"])
def test_silence_ends_by_timeout(mta, remote, stage):
    mta.config["smtp_client"].update(greeting_timeout="1s", command_timeout="1s", data_timeout="1s", block_timeout="1s",
                                     final_dot_timeout="1s")
    sink = remote()
    sink.at(stage, silence, times=1)
    mta.route("remote.example", sink)
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert mta.logged(r"status=deferred \(.*timed out")


@pytest.mark.parametrize("stage", ["connect", "ehlo", "mail", "rcpt", "dot"])
@pytest.mark.parametrize("how", [endless, garbage, long_line, raw(b"250 \0\0\0\r\n99 what\r\n"), raw(b"\r\n\r\n\r\n")],
                         ids=["endless", "garbage", "64 KiB line", "NUL and no code", "empty lines"])
def test_nonsense_is_bounded_and_temporary(relaying, stage, how):
    mta, sink = relaying
    sink.at(stage, how, times=1)
    queue_id = mta.submit("user@remote.example")
    sink.wait_for(1, 25)
    mta.wait_until_empty()
    assert not mta.logged("status=bounced")
    line = mta.logged(rf"{queue_id}: to=.*status=deferred.*")
    assert all(len(m[0]) < 2000 and m[0].isprintable() for m in line)


def test_replies_byte_by_byte(relaying):
    mta, sink = relaying
    sink.at("connect", slowly("220 patience"))
    sink.at("mail", slowly("250 2.1.0 fine"))
    sink.at("dot", "250 2.0.0 Taken")
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert not mta.logged("status=deferred")


@pytest.mark.parametrize("stage, reply", [("rcpt", "354 Go ahead"), ("data", "250 2.0.0 Thanks")])
def test_reply_that_does_not_belong(relaying, stage, reply):
    mta, sink = relaying
    sink.at(stage, reply, times=1)
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(sink.messages) == 1 and not mta.logged("status=bounced")


def test_lost_final_reply_is_in_doubt_and_tried_again(relaying):
    mta, sink = relaying
    sink.at("dot", drop, times=1)
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert mta.logged(r"status=deferred \(.*(in doubt|end of (DATA|data)|final dot|message body)")


def test_greylisting_is_sat_out(relaying):
    """450 to RCPT three times, then yes: delivered by the ladder, once, always from the same address."""
    mta, sink = relaying
    sink.at("rcpt", "450 4.2.0 Greylisted", times=3)
    queue_id = mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(mta.logged(rf"{queue_id}: .*status=deferred \(host \S+ said: 450 4\.2\.0 Greylisted")) == 3
    assert len(sink.messages) == 1 and len(sink.peers) == 1


def test_a_route_to_a_listener_of_ours_is_refused(mta):
    mta.config['route."circle.example"'] = {"next_hop": f"[{mta.address}]:{mta.relay_port}"}
    mta.write_config()
    done = mta.command("check", check=False)
    assert done.returncode != 0
    assert f'route."circle.example".next_hop: [{mta.address}]:{mta.relay_port} is this system itself' in done.stderr + done.stdout


def test_mail_in_a_circle_ends(mta, names):
    """A route whose name leads back to us: the sender is told, and it comes back once only."""
    names.address_of("back.example", mta.address)
    mta.use_names(names)
    mta.config['route."circle.example"'] = {"next_hop": f"[back.example]:{mta.relay_port}"}
    mta.start()
    mta.submit("user@circle.example", sender=f"{mta.user}@test.example")
    report = mta.wait_mailbox(1, seconds=30)[0]
    assert re.search(r"^Status: 5\.4\.6", report, re.M)
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 1


def test_next_host_takes_over(mta, remote):
    first, second = remote(), remote()
    first.stop()
    mta.route("remote.example", [first, second])
    mta.start()
    mta.submit("user@remote.example")
    second.wait_for(1)


@pytest.mark.parametrize("behaviour", ["421 4.3.2 Shutting down", "554 5.3.2 No", drop], ids=["421", "554", "drop"])
def test_next_host_after_a_bad_greeting(mta, remote, behaviour):
    first, second = remote(), remote()
    first.at("connect", behaviour)
    mta.route("remote.example", [first, second])
    mta.start()
    mta.submit("user@remote.example")
    second.wait_for(1)
    assert not mta.logged("status=bounced")


def test_one_bad_message_does_not_hold_up_the_others(relaying):
    mta, sink = relaying
    mta.submit("user@remote.example", "fine first")
    sink.wait_for(1)
    sink.at("dot", only("Subject: poisonous", "451 4.3.0 Cannot digest this"))
    bad = mta.submit("user@remote.example", "poisonous")
    mta.wait_log(rf"{bad}: .*status=deferred")
    for n in range(10):
        mta.submit("user@remote.example", f"good {n}")
    sink.wait_for(11)
    wait_until(lambda: mta.queued_ids() == {bad}, 10, "the others to leave the queue")


def test_one_bad_recipient_does_not_hold_up_the_domain(relaying):
    mta, sink = relaying
    sink.at("rcpt", only("greylisted@", "450 4.2.0 Greylisted"))
    mta.submit("greylisted@remote.example")
    mta.wait_log(r"to=<greylisted@.*status=deferred")
    mta.submit("user@remote.example")
    sink.wait_for_one_to("user@remote.example", 3)


@pytest.mark.smoke
def test_expiry_returns_the_mail(mta, remote):
    sink = remote()
    sink.at("mail", "451 4.3.0 Never")
    mta.route("remote.example", sink)
    mta.config["queue"].update(expiry="3s", delay_notice="0s")
    mta.start()
    queue_id = mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    report = mta.wait_mailbox(1, seconds=20)[0]
    assert re.search(r"^Status: 4\.\d\.\d", report, re.M) and "451 4.3.0 Never" in report
    mta.wait_log(rf"postfix/qmgr\[\d+\]: {queue_id}: from=<{mta.user}@test\.example>, status=expired, returned to sender")
    mta.wait_until_empty()


def test_undeliverable_report_lands_in_bad(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit("user@remote.example", sender="gone@remote.example")
    wait_until(lambda: list((mta.spool / "bad").iterdir()), 15, "the report to land in bad/")
    mta.wait_until_empty()
    assert not sink.messages


def test_null_sender_is_never_reported_to(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit("user@remote.example", sender="")
    mta.wait_log("status=bounced")
    mta.wait_until_empty()
    assert not mta.mailbox() and not mta.logged("sender non-delivery notification")


def test_notify_never_is_obeyed(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit("user@remote.example", sender=f"{mta.user}@test.example", rcpt_parameters=" NOTIFY=NEVER")
    mta.wait_log("status=bounced")
    mta.wait_until_empty()
    assert not mta.mailbox()


def test_dsn_parameters_are_passed_on(relaying):
    mta, sink = relaying
    mta.submit("user@remote.example", mail_parameters=" RET=HDRS ENVID=abc+2Bd",
               rcpt_parameters=" NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;first@test.example")
    m = sink.wait_for_one_to("user@remote.example")
    assert "RET=HDRS" in m.arguments["mail"] and "ENVID=abc+2Bd" in m.arguments["mail"]
    rcpt = m.arguments["rcpt user@remote.example"]
    assert "NOTIFY=SUCCESS,FAILURE" in rcpt and "ORCPT=rfc822;first@test.example" in rcpt


def test_success_is_reported_when_asked(mta, remote):
    sink = remote(extensions=["PIPELINING", "8BITMIME"])
    mta.route("remote.example", sink)
    mta.start()
    mta.submit("user@remote.example", sender=f"{mta.user}@test.example", rcpt_parameters=" NOTIFY=SUCCESS")
    report = mta.wait_mailbox(1)[0]
    assert re.search(r"^Action: relayed", report, re.M)
    mta.submit("other@test.example", sender=f"{mta.user}@test.example", rcpt_parameters=" NOTIFY=SUCCESS")
    report = mta.wait_mailbox(2)[1]
    assert re.search(r"^Action: delivered", report, re.M)


def test_ret_hdrs_returns_no_body(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit("user@remote.example", body="the secret body", sender=f"{mta.user}@test.example", mail_parameters=" RET=HDRS")
    report = mta.wait_mailbox(1)[0]
    assert "the secret body" not in report and "text/rfc822-headers" in report


def test_eight_bit_mail_that_no_seven_bit_server_can_have_is_returned(mta, remote):
    """Bodies can be encoded (test_conversion.py); fields of a header cannot."""
    sink = remote(extensions=["PIPELINING"])
    mta.route("remote.example", sink)
    mta.start()
    mta.submit("user@remote.example", extra="X-Greeting: gr\u00fc\u00df\n", sender=f"{mta.user}@test.example",
               mail_parameters=" BODY=8BITMIME")
    report = mta.wait_mailbox(1)[0]
    assert re.search(r"^Status: 5\.6\.3", report, re.M)
    assert not sink.messages


def test_ladder_falls_as_configured(mta, remote):
    """Failures at 0, 1, 2 s (glitch), then every 2 s (retry): never early."""
    sink = remote()
    times = []
    import time

    def refuse(session, argument):
        times.append(time.monotonic())
        return "451 4.3.0 No"
    sink.at("mail", refuse)
    mta.route("remote.example", sink)
    mta.start()
    mta.submit("user@remote.example")
    wait_until(lambda: len(times) >= 5, 20, "five tries")
    gaps = [b - a for a, b in zip(times, times[1:])]
    wanted = [1, 1, 2, 2]
    assert all(w - 0.02 <= g <= w + 0.8 for g, w in zip(gaps, wanted)), gaps


def test_counts_and_reasons_survive_kill_and_restart(mta, remote):
    sink = remote()
    sink.at("mail", "451 4.3.0 Not this one")
    mta.route("remote.example", sink)
    mta.config["queue"].update(retry_interval="1h")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred", count=3)
    before = mta.queue()
    mta.kill_everything()
    mta.start()
    wait_until(lambda: mta.queued_ids() == {queue_id}, 10, "the message to be back")
    after = mta.queue()
    assert "451 4.3.0 Not this one" in " ".join(before[0][4]) and before[0][4] == after[0][4]
    # Three failures behind it: it waits its hour, it does not start from the bottom of the ladder.
    mta.submit(f"{mta.user}@test.example", "a marker")
    mta.wait_mailbox(1)
    assert len(mta.logged(rf"{queue_id}: .*status=deferred")) <= 4
