"""What was promised to queued mail holds over reloads and restarts: how long it may live, how it is retried, and what
its own domain's route says; and what changes it by explicit word."""
import pytest

from harness.watch import wait_until
from test_control import ask, one


def state(mta, queue_id):
    return one(mta, "message", id=queue_id)["recipients"][0]["state"]


def put_off(mta, address, **more):
    queue_id = mta.submit(address, sender=f"{mta.user}@test.example", **more)
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    wait_until(lambda: state(mta, queue_id) == "retrying", 15, "it to wait for its next try")
    return queue_id


def reload(mta):
    mta.write_config()
    mta.command("reload")


def test_a_reload_with_a_shorter_expiry_returns_nothing_that_is_queued(mta, remote):
    sink = remote()
    sink.at("rcpt", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.config["queue"] |= {"expiry": "1d", "glitch_interval": "1s", "jitter": 0}
    mta.start()
    old = put_off(mta, "user@remote.example")
    expires = one(mta, "message", id=old)["expiry"]
    mta.config["queue"]["expiry"] = "1s"
    reload(mta)
    new = mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    mta.wait_log(f"{new}: .*status=expired", 30)  # the sweep that took it has passed the other one
    assert old in mta.queued_ids() and one(mta, "message", id=old)["expiry"] == expires
    mta.restart()
    wait_until(lambda: old in mta.queued_ids(), 15, "it to be found again")
    assert one(mta, "message", id=old)["expiry"] == expires, "nor does a restart"
    assert mta.command("message", "expire", "--after", "2h", old).stdout == "1 message set to expire after 2h\n"
    shown = one(mta, "message", id=old)
    assert shown["expiry"] == shown["arrival"] + 7200
    mta.command("message", "expire", "--after", "1s", old)
    mta.wait_log(f"{old}: .*status=expired", 30)


def test_a_reload_does_not_change_how_queued_mail_is_retried_but_requeue_does(mta, remote):
    sink = remote()
    sink.at("rcpt", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["retry_policy"] = "own"
    mta.config["retry.own"] = {"kind": "fixed", "interval": "1h", "attempts": 5, "jitter": 0}
    mta.start()
    queue_id = put_off(mta, "user@remote.example")
    promised = "fixed: every 1h; 5 tries"
    wait_until(lambda: one(mta, "message", id=queue_id)["policy_values"] == promised, 15, "the values to be recorded")
    due = one(mta, "message", id=queue_id)["recipients"][0]["next_attempt"]
    mta.config["retry.own"] |= {"interval": "1s", "attempts": 2}
    reload(mta)
    mta.command("force", "all")
    mta.wait_log(f"{queue_id}: .*status=deferred", count=2)
    wait_until(lambda: state(mta, queue_id) == "retrying", 15, "it to wait for its next try")
    mta.restart()
    wait_until(lambda: queue_id in mta.queued_ids(), 15, "it to be found again")
    shown = one(mta, "message", id=queue_id)
    assert shown["policy_values"] == promised and shown["recipients"][0]["next_attempt"] >= due
    assert f"Policy" in mta.command("message", "show", queue_id).stdout
    mta.command("message", "requeue", "--policy", "own", queue_id)
    assert "Action: failed" in mta.wait_mailbox(1, seconds=30)[0]
    mta.wait_until_empty()


def test_mail_whose_schedule_an_operator_ended_does_not_wait_for_it_again_after_a_restart(mta, remote):
    sink = remote()
    sink.at("rcpt", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.start()
    queue_id = mta.submit("user@remote.example", port=mta.submission_port, mail_parameters=" HOLDFOR=36000")
    wait_until(lambda: state(mta, queue_id) == "scheduled", 15, "it to be scheduled")
    mta.command("message", "retry", queue_id)
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    wait_until(lambda: state(mta, queue_id) == "retrying", 15, "it to wait for its next try")
    mta.restart()
    wait_until(lambda: ask(mta, "message", id=queue_id)[1] is None, 15, "it to be found again")
    assert state(mta, queue_id) != "scheduled"
    sink.well_behaved()
    mta.command("force", "all")
    sink.wait_for(1)
    mta.wait_until_empty()


@pytest.mark.parametrize("by", ["requeue", "restart"])
def test_a_mended_alias_counts_for_what_is_queued(mta, remote, by):
    sink = remote()
    sink.at("rcpt", lambda session, argument: "250 2.1.5 Ok" if "right" in argument or "done" in argument else "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.aliases.write_text("other: wrong@remote.example, done@remote.example\n")
    mta.config["queue"]["recategorize_on_start"] = by == "restart"
    mta.start()
    queue_id = mta.submit("other@test.example")
    mta.wait_log(rf"{queue_id}: to=<wrong@remote\.example>, .*status=deferred")
    sink.wait_for_one_to("done@remote.example")
    mta.aliases.write_text("other: right@remote.example, done@remote.example\n")
    if by == "requeue":
        mta.command("reload")
        mta.command("message", "requeue", queue_id)
    else:
        mta.restart()
    sink.wait_for_one_to("right@remote.example")
    mta.wait_until_empty()
    assert len(sink.to("done@remote.example")) == 1, "who has it does not get it again"


@pytest.mark.parametrize("last", ["strange.example", "remote.example"])
def test_of_domains_that_share_a_link_each_keeps_its_own_reading_of_replies(mta, remote, last):
    sink = remote()
    mta.route("remote.example", sink)
    mta.route("strange.example", sink)
    mta.config['route."strange.example"']["reply_overrides"] = ["550 5.7.1 at RCPT is temporary"]
    mta.start()
    first = "remote.example" if last == "strange.example" else "strange.example"
    for domain in (first, last):
        mta.submit(f"before@{domain}")
    sink.wait_for(2)  # both have been looked up, the one that matters last
    sink.at("rcpt", "550 5.7.1 Not today")
    ours = mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    theirs = mta.submit("user@strange.example", sender=f"{mta.user}@test.example")
    mta.wait_log(rf"{ours}: to=<user@remote\.example>, .*dsn=5\.7\.1, status=bounced")
    mta.wait_log(rf"{theirs}: to=<user@strange\.example>, .*dsn=4\.7\.1, status=deferred")
