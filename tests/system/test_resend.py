"""Mail that failed is kept for a while, on request, and can be sent again to those that it did not reach."""
import json
import re

import pytest

from harness.watch import wait_until
from test_journal import events

NOT_FOUND, USAGE = 1, 64


@pytest.fixture
def keeping(mta, remote):
    """(mta, sink): failed mail is kept, and the sink refuses whoever is called "nobody"."""
    sink = remote()
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "250 2.1.5 Ok")
    mta.route("remote.example", sink)
    mta.config["history"] = {"keep_failed": "3d"}
    mta.start()
    return mta, sink


def kept(mta):
    return {path.name for path in (mta.spool / "failed").iterdir()}


def test_those_that_were_not_reached_get_it_after_all(keeping):
    mta, sink = keeping
    queue_id = mta.submit(["user@remote.example", "nobody@remote.example"], "lost", sender="someone@test.example")
    good = mta.submit("user@remote.example", "good")
    mta.wait_until_empty()
    wait_until(lambda: kept(mta) == {queue_id}, 15, "it to be kept, and it alone")
    assert mta.queued_ids() == set()
    shown = mta.command("message", "show", queue_id).stdout
    assert re.search(rf"^  Content +kept until \d\d\d\d-.*: postrider message resend {queue_id}$", shown, re.M), shown
    assert "Content" not in mta.command("message", "show", good).stdout
    assert "Subject: lost" in mta.command("message", "cat", queue_id).stdout
    wait_until(lambda: re.search(r"^Failed +1 message can be sent again", mta.command("status").stdout, re.M), 15, "status to say so")
    mta.restart()
    assert mta.queued_ids() == set() and kept(mta) == {queue_id}

    sink.well_behaved()
    said = mta.command("message", "resend", queue_id).stdout
    new = re.fullmatch(rf"{queue_id}: sent again as ([0-9A-F]{{14}}) to 1 recipient: nobody@remote\.example\n", said)
    assert new, said
    sink.wait_for_one_to("nobody@remote.example")
    mta.wait_until_empty()
    assert len(sink.to("user@remote.example")) == 2  # not again
    [again] = sink.to("nobody@remote.example")
    assert again.header("Subject") == "lost" and again.sender == "someone@test.example"
    wait_until(lambda: events(mta, new[1], "message.finished"), 15, "the journal to have it")
    accepted, *_ = events(mta, new[1], "message.accepted")
    assert accepted["parent"] == queue_id and accepted["source"] == "copy" and accepted["recipients"] == ["nobody@remote.example"]
    assert accepted["message_id"] == "<lost@test.example>"
    books = mta.command("history", "--check", check=False)
    assert books.returncode == 0, books.stdout + books.stderr
    assert kept(mta) == {queue_id}  # it may be needed again


def test_to_another_address(keeping):
    mta, sink = keeping
    queue_id = mta.submit("nobody@remote.example", "elsewhere")
    mta.wait_until_empty()
    wait_until(lambda: kept(mta) == {queue_id}, 15, "it to be kept")
    answer = json.loads(mta.command("message", "resend", queue_id, "--to", "user@remote.example", "--json").stdout)
    assert answer["old_id"] == queue_id and answer["recipients"] == ["user@remote.example"] and answer["version"] == 1
    sink.wait_for_one_to("user@remote.example")
    wrong = mta.command("message", "resend", queue_id, "--to", "user", check=False)
    assert wrong.returncode == USAGE and 'expected an address such as ann@example.org' in wrong.stderr


def test_mail_that_expired_is_kept_too(mta, remote):
    sink = remote()
    sink.at("mail", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.config["history"] = {"keep_failed": "3d"}
    mta.start()
    queue_id = mta.submit("user@remote.example", "late")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*status=deferred")
    mta.command("message", "expire", queue_id)
    wait_until(lambda: kept(mta) == {queue_id}, 15, "it to be kept")
    sink.well_behaved()
    mta.command("message", "resend", queue_id)
    sink.wait_for_one_to("user@remote.example")


def test_what_is_not_kept_is_said(keeping):
    mta, sink = keeping
    good = mta.submit("user@remote.example")
    bad = mta.submit("nobody@remote.example")
    mta.wait_until_empty()
    wait_until(lambda: kept(mta) == {bad}, 15, "it to be kept")
    said = mta.command("message", "resend", good, bad, check=False)  # the other one is sent nevertheless
    assert said.returncode == NOT_FOUND
    assert said.stderr.startswith(f"postrider: {good}: its content is not kept: it reached all recipients, or is older than")
    assert said.stdout.startswith(f"{bad}: sent again as ")
    sink.at("mail", "450 4.2.0 Not now")
    waiting = mta.submit("user@remote.example")
    wait_until(lambda: waiting in mta.queued_ids(), 15, "it to wait")
    said = mta.command("message", "resend", waiting, check=False)
    assert said.returncode == NOT_FOUND and f'{waiting}: still queued: "postrider message retry {waiting}"' in said.stderr
    assert mta.command("message", "resend", "no-id", check=False).returncode == USAGE


def test_a_listed_recipient_is_named_and_left_out(keeping):
    mta, sink = keeping
    sink.well_behaved()
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "450 4.2.0 Not now")
    queue_id = mta.submit(["listed@remote.example", "nobody@remote.example"])
    mta.wait_log(rf"{queue_id}: to=<listed@remote\.example>, .*status=deferred")
    mta.command("suppress", "add", "listed@remote.example")  # waiting mail is returned
    mta.wait_until_empty()
    wait_until(lambda: kept(mta) == {queue_id}, 15, "it to be kept")
    said = mta.command("message", "resend", queue_id)
    assert "not sent to listed@remote.example, which is on the suppression list" in said.stderr
    assert "to 1 recipient: nobody@remote.example" in said.stdout


def test_nothing_is_kept_unless_asked_for_and_the_rest_goes_when_it_is_no_longer(keeping):
    mta, _ = keeping
    queue_id = mta.submit("nobody@remote.example")
    mta.wait_until_empty()
    wait_until(lambda: kept(mta) == {queue_id}, 15, "it to be kept")
    mta.config["history"] = {}
    mta.restart()
    mta.wait_log(r"failed/: 1 messages can no longer be sent again, \d+ bytes \(history\.keep_failed\)")
    assert kept(mta) == set()
    other = mta.submit("nobody@remote.example")
    mta.wait_until_empty()
    assert kept(mta) == set()
    said = mta.command("message", "resend", other, check=False)
    assert said.returncode == NOT_FOUND and "its content is not kept, because history.keep_failed is 0" in said.stderr


def test_the_oldest_go_when_there_are_too_many(keeping):
    mta, _ = keeping
    mta.config["history"]["keep_failed_size"] = "1MiB"
    mta.restart()
    first = mta.submit("nobody@remote.example", body="x" * 70 + "\r\n" + "y" * 400_000)
    wait_until(lambda: kept(mta) == {first}, 15, "it to be kept")
    others = []
    for _ in range(3):
        others.append(mta.submit("nobody@remote.example", body="x" * 70 + "\r\n" + "y" * 400_000))
        wait_until(lambda: others[-1] in kept(mta), 15, "the next to be kept")
    wait_until(lambda: first not in kept(mta), 15, "the oldest to go")
    assert others[-1] in kept(mta)


@pytest.mark.parametrize("role", ["queue-manager"])
def test_a_failure_just_before_a_kill_is_kept_once(keeping, role):
    mta, sink = keeping
    ids = set()
    for n in range(12):
        ids.add(mta.submit("nobody@remote.example", f"number {n}"))
        if n % 4 == 3:
            mta.kill(role)
    mta.wait_until_empty(60)
    wait_until(lambda: kept(mta) == ids, 30, lambda: f"all to be kept, not {kept(mta) ^ ids}")
    mta.restart()
    mta.wait_log("all messages in the spool have been read")
    assert mta.queued_ids() == set() and kept(mta) == ids
    books = mta.command("history", "--check", check=False)
    assert books.returncode == 0, books.stdout + books.stderr
