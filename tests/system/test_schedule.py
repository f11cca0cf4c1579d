"""Mail that waits is sent at another time (`postrider message schedule`), or is not sent at all."""
import json
import threading
import time

import pytest

from harness.trouble import Injection
from harness.watch import wait_until
from test_journal import events

HOUR = 3600


def later(mta, fields="X-Postrider-Send-At: 2h\r\n", **how):
    return mta.submit("user@remote.example", extra=fields, port=mta.submission_port, **how)


def shown(mta, queue_id):
    return json.loads(mta.command("message", "show", queue_id, "--json").stdout)


def schedule_of(mta, queue_id):
    [lines] = [json.loads(line) for line in mta.command("explain", queue_id, "--json").stdout.splitlines()]
    return next((g["until"] for g in lines["gates"] if g["gate"] == "schedule" and not g["open"]), 0)


def date(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def fails(mta, status, *words):
    done = mta.command("message", "schedule", *words, check=False)
    assert done.returncode == status, done
    return done.stderr


@pytest.mark.smoke
def test_another_time_survives_a_crash_and_the_expiry_follows(relaying):
    mta, sink = relaying
    queue_id = later(mta, "X-Postrider-Send-At: 2h\r\nX-Postrider-Expires: 1h\r\n")
    of_policy = later(mta)
    before = shown(mta, of_policy)["expiry"]
    at = int(time.time()) + 24 * HOUR
    done = mta.command("message", "schedule", date(at), queue_id, of_policy, "--reason", "after the holiday")
    assert done.stdout == f"2 messages set to be sent at {date(at)}\n"
    wait_until(lambda: events(mta, queue_id, "message.rescheduled"), 15, "the event")
    [event] = events(mta, queue_id, "message.rescheduled")
    assert (event["not_before"], event["why"]) == (date(at).replace("Z", ".000000Z"), "after the holiday")
    assert event["who"] and event["sender"] == "sender@test.example"
    for _ in range(2):
        assert schedule_of(mta, queue_id) == schedule_of(mta, of_policy) == at
        assert shown(mta, queue_id)["expiry"] == at + HOUR
        assert shown(mta, of_policy)["expiry"] - before in range(22 * HOUR - 2, 22 * HOUR + 2)
        mta.kill_everything()
        mta.start()
    mta.wait_log(rf"{queue_id}: schedule by .*: after the holiday")
    soon = time.time() + 2
    wait_until(lambda: mta.command("message", "schedule", "2s", queue_id, check=False).returncode == 0, 15, "the spool to be read")
    assert shown(mta, queue_id)["expiry"] - soon - HOUR < 2
    assert mta.command("message", "schedule", "now", of_policy).stdout == "1 message set to be sent now\n"
    sink.wait_for(2)
    assert time.time() >= soon
    mta.wait_until_empty()


def test_many_by_filter_and_held_mail_stays_held(relaying):
    mta, sink = relaying
    first, second = later(mta), later(mta)
    mta.command("message", "hold", second)
    ready = mta.submit("user@elsewhere.example", port=mta.submission_port)
    selected = "recipient=user@remote.example"
    times = schedule_of(mta, first)
    assert mta.command("message", "schedule", "1d", selected, "--dry-run").stdout.startswith("2 messages would be set to be sent at ")
    assert schedule_of(mta, first) == times
    done = mta.command("message", "schedule", "now", "all", check=False)
    assert done.stdout == "2 messages set to be sent now, 1 not (no change needed, or no longer queued)\n" and done.returncode == 2
    assert f"{ready} is not scheduled: it is sent as soon as possible" in done.stderr
    sink.wait_for(1)
    assert mta.queued_ids() == {second, ready}
    mta.command("message", "schedule", "1d", "id=" + ready)
    wait_until(lambda: shown(mta, ready)["state"] == "scheduled", 15, "what was to be sent at once to wait")
    mta.command("message", "release", second)
    sink.wait_for(2)
    mta.command("message", "remove", ready)
    mta.wait_until_empty()


def test_what_cannot_be_moved_is_named_with_the_reason(relaying):
    mta, sink = relaying
    reached, gate = threading.Event(), threading.Event()

    def wait(session, argument):
        reached.set()
        gate.wait(60)
    sink.at("rcpt", wait, times=1)
    flying = mta.submit("user@remote.example")
    assert reached.wait(20)
    try:
        assert f"{flying} is being delivered now" in fails(mta, 2, "2h", flying)
        by, fixed = date(time.time() + 3 * HOUR), date(time.time() + 4 * HOUR)
        due = later(mta, f"X-Postrider-Send-At: 1h\r\nX-Postrider-Deliver-By: {by}\r\n")
        ends = later(mta, f"X-Postrider-Send-At: 1h\r\nX-Postrider-Expires: {fixed}\r\n")
        free = later(mta)
        refused = fails(mta, 2, "5h", flying, due, ends, free)
        assert f"{flying} is being delivered now" in refused
        assert f"{due} must be delivered by {by}" in refused
        assert f"{ends} expires at {fixed}: " in refused and free not in refused
        assert schedule_of(mta, free) - time.time() > 4 * HOUR > 2 * HOUR > schedule_of(mta, due) - time.time()
        assert "is not a time, at most 90 days ahead" in fails(mta, 64, "91d", free)
        assert "expected a time such as" in fails(mta, 64, "tomorrow", free)
        assert "no queue ids" in fails(mta, 64, "2h", "-")
        mta.command("message", "schedule", "90d", free)
    finally:
        gate.set()
    sink.wait_for(1)


def test_what_is_cancelled_is_never_sent_and_what_is_sent_was_not_cancelled(relaying):
    """Each is removed at about the time when it is due: the answer is right, whichever comes first."""
    mta, sink = relaying
    due = int(time.time()) + 4
    ids = [later(mta, f"X-Postrider-Send-At: {date(due)}\r\n", subject=str(n)) for n in range(30)]
    cancelled = set()
    wait_until(lambda: time.time() > due - 0.6, 20, "them to be nearly due", step=0.01)
    for n, queue_id in enumerate(ids):
        done = mta.command("message", "remove", queue_id, check=False)
        if done.returncode == 0:
            assert done.stdout == "1 message removed\n"
            cancelled.add(str(n))
    mta.wait_until_empty()
    assert {m.header("Subject") for m in sink.messages} == {str(n) for n in range(30)} - cancelled
    assert "0" in cancelled


@pytest.mark.needs("strace")
@pytest.mark.parametrize("words", [("remove",), ("schedule", "1h")], ids=["remove", "schedule"])
def test_the_time_that_comes_while_it_is_recorded_is_too_late(relaying, words):
    mta, sink = relaying
    due = int(time.time()) + 3
    queue_id = later(mta, f"X-Postrider-Send-At: {date(due)}\r\n")
    wait_until(lambda: queue_id in mta.queued_ids(), 15, "it to be queued")
    injection = Injection(mta.wait_for_role("queue-manager")[0], "delay_enter=2s", "fsync,fdatasync")
    try:
        wait_until(lambda: time.time() > due - 0.7, 20, "it to be nearly due", step=0.01)
        done = mta.command("message", *words, queue_id)
        assert time.time() > due + 0.5, "recorded too quickly to tell"
    finally:
        injection.end()
    assert done.stdout.startswith("1 message ")
    kept = mta.submit("user@remote.example", subject="kept")
    sink.wait_for(1)
    assert [m.header("Subject") for m in sink.messages] == ["kept"]
    assert mta.queued_ids() - {kept} == (set() if words == ("remove",) else {queue_id})
