"""What the journal still knows of mail that has left the queue, and whether it accounts for all of it."""
import json

from harness.watch import wait_until


def check(mta):
    done = mta.command("history", "--check", check=False)
    return done.returncode, done.stdout.splitlines()


def test_show_and_explain_of_mail_that_is_gone(relaying):
    mta, sink = relaying
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "250 2.1.5 Ok")
    queue_id = mta.submit(["user@remote.example", "nobody@remote.example"], "lost", sender="someone@test.example")
    mta.wait_until_empty()
    shown = mta.command("message", "show", queue_id)
    lines = shown.stdout.splitlines()
    assert lines[0] == f"{queue_id}: no longer queued: 1 of 2 failed"
    assert any(line.split() == ["From", "someone@test.example"] for line in lines)
    assert any(line.split() == ["Message-ID", "<lost@test.example>"] for line in lines)
    assert any("user@remote.example" in line and "delivered" in line and "250 2.0.0 Taken" in line for line in lines)
    assert any("nobody@remote.example" in line and "failed" in line and "550 5.1.1 No such user" in line for line in lines)
    explained = mta.command("explain", queue_id).stdout
    assert explained.startswith(f"{queue_id}: no longer queued: 1 of 2 failed\n")
    assert [word for line in explained.splitlines() for word in line.split() if word.startswith(("message.", "report."))] == [
        "message.accepted", "message.delivered", "message.failed", "report.sent", "message.finished"]
    as_json = json.loads(mta.command("message", "show", queue_id, "--json").stdout)
    assert as_json["id"] == queue_id and as_json["finished"] and as_json["outcome"] == "1 of 2 failed" and "events" not in as_json
    assert [e["type"] for e in json.loads(mta.command("explain", queue_id, "--json").stdout)["events"]][-1] == "message.finished"


def test_an_id_that_nobody_knows(relaying):
    mta, _ = relaying
    mta.wait_log("all messages in the spool have been read")
    for command in (("message", "show"), ("explain",)):
        done = mta.command(*command, "0C5D183A07F310", check=False)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == 'postrider: there is no message "0C5D183A07F310", and the journal has nothing of it\n'


def test_without_a_journal_there_is_nothing_to_tell(mta, remote):
    mta.config["history"] = {"enabled": False}
    mta.route("remote.example", remote())
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_until_empty()
    mta.wait_log("all messages in the spool have been read")
    done = mta.command("message", "show", queue_id, check=False)
    assert done.returncode == 1 and f'there is no message "{queue_id}"' in done.stderr and "there is no journal in" in done.stderr


def test_all_mail_is_accounted_for(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["spool"]["removed_age"] = "1h"
    mta.start()
    sink.at("mail", "450 4.2.0 Not now")
    ids = [mta.submit("user@remote.example", sender="someone@test.example") for _ in range(4)]
    wait_until(lambda: set(ids) <= mta.queued_ids(), 15, "them to wait")
    mta.command("message", "hold", ids[0])
    mta.command("message", "remove", ids[1], "--permanently")
    mta.command("message", "remove", ids[2])
    mta.command("message", "restore", ids[2])
    mta.command("message", "expire", ids[3])
    mta.wait_log(f"{ids[3]}: removed")
    assert check(mta)[0] == 0
    mta.stop()
    assert check(mta) == (0, ["5 messages accepted, 2 finished, 1 removed, 2 in the spool: all of them are accounted for"])
    as_json = json.loads(mta.command("history", "--check", "--json").stdout)
    assert as_json["accepted"] == 5 and as_json["in_spool"] == 2 and as_json["imbalances"] == []


def test_what_vanishes_from_the_spool_is_named(relaying):
    mta, sink = relaying
    sink.at("mail", "450 4.2.0 Not now")
    stays, vanishes = (mta.submit("user@remote.example") for _ in range(2))
    for queue_id in (stays, vanishes):
        mta.wait_log(f"{queue_id}: .*status=deferred")
    mta.stop()
    [file] = (mta.spool / "messages").rglob(vanishes)
    kept = file.read_bytes()
    file.unlink()
    assert check(mta) == (65, [f"{vanishes}: accepted, and neither finished nor in the spool",
                               "2 messages accepted, 0 finished, 0 removed, 1 in the spool: 1 message not accounted for"])
    file.write_bytes(kept)
    assert check(mta)[0] == 0
    [segment] = (mta.spool / "history").glob("*.jsonl")
    lines = segment.read_text().splitlines(keepends=True)
    first = {**json.loads(lines[0]), "type": "config.reloaded", "time": "2026-11-01T00:00:00.000000Z"}
    begins = json.dumps(first, separators=(",", ":")) + "\n"
    segment.write_text(begins + "".join(line for line in lines if not ("message.accepted" in line and stays in line)))
    status, said = check(mta)
    assert status == 65 and said[0] == f"{stays}: in the spool, and its acceptance is not recorded, or it was finished before"


def test_check_takes_nothing_else(relaying):
    mta, _ = relaying
    for words in (["user@remote.example"], ["--events"]):
        done = mta.command("history", "--check", *words, check=False)
        assert done.returncode == 64 and "--check covers all mail" in done.stderr
