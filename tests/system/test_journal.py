"""The journal: what became of every message, whatever happens to the machine, the disk or the processes meanwhile."""
import json
import re
import struct
from collections import defaultdict

import pytest

from harness.faults import Faults
from harness.watch import wait_until

GIVEN_UP = re.compile(r"journal: .*: what becomes of messages is not recorded until this works again")


def segments(mta):
    return sorted((mta.spool / "history").glob("*.jsonl"))


def synced(mta):
    """The number up to which lines are final."""
    try:
        mark = (mta.spool / "history/synced").read_bytes()
    except FileNotFoundError:
        return 0
    if not mark:
        return 0  # made, and not written yet
    assert mark[:8] == b"PRSYNCED" and len(mark) == 16
    return struct.unpack("<Q", mark[8:])[0]


def journal(mta):
    """All final events, by number; of two lines of a number the one in the newer file counts."""
    last, lines = synced(mta), {}
    for file in segments(mta):
        for line in file.read_bytes().split(b"\n")[:-1]:
            event = json.loads(line)
            assert list(event)[:5] == ["v", "seq", "node", "time", "type"], event
            assert event["v"] == 1 and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["time"])
            lines[event["seq"]] = event
    return {seq: lines[seq] for seq in sorted(lines) if seq <= last}


def events(mta, queue_id, *types):
    return [e for e in journal(mta).values() if e.get("id") == queue_id and (not types or e["type"] in types)]


def types_of(mta, queue_id):
    return [e["type"].removeprefix("message.") for e in events(mta, queue_id)]


def wait_types(mta, queue_id, *expected):
    wait_until(lambda: types_of(mta, queue_id) == list(expected), 15,
               lambda: f"{queue_id} to have {expected}, it has {types_of(mta, queue_id)}\n{mta.last_words()}")
    return events(mta, queue_id)


def check_numbers(mta):
    """Every number up to the last one has a line, or is named by a gap."""
    lines = journal(mta)
    missing = {n for e in lines.values() if e["type"] == "journal.gap" and "from" in e for n in range(e["from"], e["to"] + 1)}
    unknown = [n for n in range(1, max(lines, default=0) + 1) if n not in lines and n not in missing]
    assert not unknown, unknown[:10]
    assert len({e["node"] for e in lines.values()}) == 1
    assert (mta.spool / "history/node").read_text().strip() == lines[max(lines)]["node"]


def check_books(mta, ids):
    """Each accepted message is finished, removed or queued, and only one of that."""
    found = defaultdict(list)
    for event in journal(mta).values():
        if "id" in event:
            found[event["id"]].append(event["type"])
    queued = mta.queued_ids()
    for queue_id in ids:
        ends = sum(t in ("message.finished", "message.removed") for t in found[queue_id]) + (queue_id in queued)
        assert found[queue_id].count("message.accepted") == 1 and ends == 1, (queue_id, found[queue_id], queue_id in queued)
    checked = mta.command("history", "--check", check=False)
    assert checked.returncode == 0 and checked.stdout.endswith(": all of them are accounted for\n"), checked.stdout + checked.stderr


def test_what_becomes_of_ten_messages_one_of_them_to_nowhere(relaying):
    mta, sink = relaying
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "250 2.1.5 Ok")
    ids = [mta.submit(f"user{n}@remote.example", f"number{n}") for n in range(9)]
    nowhere = mta.submit("nobody@remote.example", "nowhere", sender="someone@test.example")
    for n, queue_id in enumerate(ids):
        accepted, delivered, finished = wait_types(mta, queue_id, "accepted", "delivered", "finished")
        for event in (accepted, delivered, finished):
            assert event["sender"] == "sender@test.example" and event["message_id"] == f"<number{n}@test.example>"
            assert event["submitter"] == accepted["submitter"] != ""
        assert accepted["source"] == "smtp" and accepted["listener"] == "relay" and accepted["client"]["address"] == "127.0.0.1"
        assert accepted["recipients"] == [f"user{n}@remote.example"] and accepted["recipients_total"] == 1
        assert accepted["protocol"] == "ESMTP" and accepted["helo"] == "client.example" and accepted["size"] > 0
        assert delivered["recipient"] == f"user{n}@remote.example" and delivered["attempt"] == 1 and delivered["code"] == 250
        assert delivered["remote"]["address"] == sink.address and delivered["remote"]["port"] == sink.port
        assert delivered["link"] and delivered["stage"] == "final_dot" and delivered["status"].startswith("2.")
        assert finished["counts"] == {"delivered": 1} and finished["total"] >= 0
    wait_until(lambda: "finished" in types_of(mta, nowhere), 15, "the failure to be reported")
    failed, report = events(mta, nowhere, "message.failed", "report.sent")
    assert (failed["recipient"], failed["code"], failed["status"], failed["stage"]) == ("nobody@remote.example", 550, "5.1.1", "rcpt")
    assert failed["by"] == "remote" and "No such user" in failed["text"] and failed["message_id"] == "<nowhere@test.example>"
    assert report["recipient"] == "nobody@remote.example"
    its_report = wait_types(mta, report["report"]["id"], "accepted", "delivered", "finished")
    assert its_report[0]["source"] == "report" and its_report[0]["parent"] == nowhere and its_report[0]["sender"] == ""
    assert events(mta, nowhere, "message.finished")[0]["counts"] == {"failed": 1}
    mta.wait_until_empty()
    check_books(mta, [*ids, nowhere])
    check_numbers(mta)


def test_each_attempt_and_each_recipient_has_its_event(relaying):
    mta, sink = relaying
    sink.at("rcpt", lambda session, argument: "450 4.2.1 Later" if "slow" in argument else "250 2.1.5 Ok")
    queue_id = mta.submit(["quick@remote.example", "slow@remote.example", f"{mta.user}@test.example"])
    mta.wait_log(rf"{queue_id}: to=<slow@remote\.example>, .*status=deferred", count=2)
    sink.well_behaved()
    mta.wait_until_empty()
    wait_until(lambda: types_of(mta, queue_id)[-1:] == ["finished"], 15, "the journal to have all")
    deferred = events(mta, queue_id, "message.deferred")
    assert [e["attempt"] for e in deferred] == list(range(1, len(deferred) + 1)) and len(deferred) >= 2
    assert {e["recipient"] for e in deferred} == {"slow@remote.example"} and all(e["next_attempt"] > e["time"] for e in deferred)
    delivered = {e["recipient"]: e for e in events(mta, queue_id, "message.delivered")}
    assert set(delivered) == {"quick@remote.example", "slow@remote.example", f"{mta.user}@test.example"}
    assert delivered["slow@remote.example"]["attempt"] == len(deferred) + 1
    assert delivered[f"{mta.user}@test.example"]["link"] == "local"
    assert events(mta, queue_id, "message.finished")[0]["counts"] == {"delivered": 3}


def test_recipients_that_no_agent_gets_have_their_events(mta, remote):
    mta.aliases.write_text("both: someone, other\nnull: /dev/null\n")
    mta.start()
    unknown = mta.sendmail("unknown@test.example")
    assert unknown.returncode in (0, 67), unknown.stderr
    queue_id = mta.submit("both@test.example")
    events_of = wait_types(mta, queue_id, "accepted", "expanded", "delivered", "delivered", "finished")
    assert events_of[1]["recipient"] == "both@test.example" and events_of[1]["recipients_total"] == 2
    assert sorted(events_of[1]["recipients"]) == ["other@test.example", "someone@test.example"]
    assert {e["recipient"]: e["original_recipient"] for e in events_of[2:4]} == {
        "other@test.example": "both@test.example", "someone@test.example": "both@test.example"}
    assert events_of[4]["counts"] == {"delivered": 2, "expanded": 1}
    mta.wait_until_empty()
    local = next(e for e in journal(mta).values() if e["type"] == "message.accepted" and e["source"] == "local")
    failed = next(e for e in events(mta, local["id"], "message.failed"))
    assert failed["recipient"] == "unknown@test.example" and failed["by"] == "local" and failed["status"] == "5.1.1"


def test_what_expires_and_what_an_operator_does_is_told(relaying):
    mta, sink = relaying
    sink.at("mail", "450 4.2.0 Not now")
    first, second = (mta.submit("user@remote.example", sender="someone@test.example") for _ in range(2))
    wait_until(lambda: {first, second} <= mta.queued_ids(), 15, "them to wait")
    mta.command("message", "hold", first, "--reason", "looks odd")
    mta.command("message", "release", first)
    mta.command("message", "remove", second, "--reason", "spam", "--permanently")
    mta.command("message", "expire", first)
    wait_until(lambda: types_of(mta, first)[-1:] == ["finished"], 15, lambda: f"it to expire: {types_of(mta, first)}")
    held, released = events(mta, first, "message.held", "message.released")
    assert held["why"] == "looks odd" and held["who"] and held["sender"] == "someone@test.example"
    assert released["who"] == held["who"]
    expired = events(mta, first, "message.expired")
    assert [e["recipient"] for e in expired] == ["user@remote.example"] and "Not now" in expired[0]["text"]
    assert events(mta, first, "message.finished")[0]["counts"] == {"expired": 1}
    removed = events(mta, second, "message.removed")
    assert len(removed) == 1 and removed[0]["why"] == "spam"
    sink.well_behaved()
    mta.wait_until_empty()
    check_books(mta, [first, second])


def test_nothing_is_lost_or_told_twice_when_the_queue_manager_is_killed(relaying):
    mta, sink = relaying
    mta.expects_crashes = True
    sink.at("mail", "450 4.2.0 Not now")
    ids = [mta.submit("user@remote.example") for _ in range(5)]
    wait_until(lambda: set(ids) <= mta.queued_ids(), 15, "them to wait")
    for queue_id in ids:
        wait_until(lambda: "accepted" in types_of(mta, queue_id), 15, "their acceptance to be recorded")
    mta.kill("queue-manager")
    mta.wait_log("spool: loaded: 5 messages")
    sink.well_behaved()
    ids += [mta.submit("user@remote.example") for _ in range(3)]
    mta.flush()
    mta.wait_until_empty()
    for queue_id in ids:
        wait_until(lambda: types_of(mta, queue_id)[-1:] == ["finished"], 15, "all to be recorded")
    gaps = [e for e in journal(mta).values() if e["type"] == "journal.gap"]
    assert len(gaps) == 1 and gaps[0]["to"] - gaps[0]["from"] + 1 == 65536 and gaps[0]["seq"] == gaps[0]["to"] + 1
    check_books(mta, ids)
    check_numbers(mta)


def test_what_is_killed_before_its_first_line_is_written_is_told_again(mta, remote):
    sink = remote()
    sink.at("mail", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.config["history"] = {"sync": "10s"}  # all is killed long before
    mta.expects_crashes = True
    mta.start()
    mta.command("pause", "all")
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: from=<sender@test\.example>.*queue active")
    assert events(mta, queue_id) == []
    mta.kill_everything()
    mta.config["history"] = {}
    mta.start()
    accepted, = wait_types(mta, queue_id, "accepted")
    assert accepted["again"] is True and accepted["recipients"] == ["user@remote.example"]
    check_books(mta, [queue_id])


def test_an_orderly_stop_leaves_no_gap(relaying):
    mta, sink = relaying
    first = mta.submit("user@remote.example")
    mta.wait_until_empty()
    mta.restart()
    second = mta.submit("user@remote.example")
    wait_types(mta, second, "accepted", "delivered", "finished")
    lines = journal(mta)
    assert sorted(lines) == list(range(1, max(lines) + 1)) and not [e for e in lines.values() if e["type"] == "journal.gap"]
    assert len(segments(mta)) == 2
    check_books(mta, [first, second])


def test_a_message_stays_until_its_lines_are_durable(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["history"] = {"sync": "2s"}
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: removed")
    assert mta.spool_files() or "finished" in types_of(mta, queue_id)
    mta.wait_until_empty()
    assert types_of(mta, queue_id) == ["accepted", "delivered", "finished"]


@pytest.mark.parametrize("kind, error", [("sync", "EIO"), ("write", "ENOSPC")])
def test_one_failure_of_the_disk_begins_a_new_file_and_loses_nothing(mta, remote, kind, error):
    faults = Faults(mta)
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["spool"]["reused_files"] = 0
    mta.start()
    wait_until(lambda: segments(mta) or mta.submit("user@remote.example"), 15, "a first segment")
    mta.wait_until_empty()
    mta.command("pause", "all")
    wait_until(lambda: synced(mta) >= max(journal(mta), default=1), 15, "the journal to be complete")
    faults.begin("queue-manager", kind, error, count=1)
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: faults.failed("queue-manager", kind), 15, "the failure")
    mta.command("resume", "all")
    mta.wait_until_empty()
    wait_until(lambda: types_of(mta, queue_id)[-1:] == ["finished"], 15, lambda: f"all lines: {types_of(mta, queue_id)}")
    check_numbers(mta)
    assert not mta.logged(GIVEN_UP.pattern)


def test_mail_goes_on_while_the_journal_cannot_be_written_and_a_gap_says_so(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    elsewhere = mta.folder / "elsewhere"
    mta.config["history"] = {"directory": str(elsewhere)}
    (elsewhere / "node").mkdir(parents=True)  # where a file has to be
    mta.start()
    mta.wait_log(GIVEN_UP.pattern)
    mta.submit("user@remote.example")
    sink.wait_for_one_to("user@remote.example")
    mta.wait_until_empty()
    assert "the journal cannot be written: " in mta.command("status", check=False).stdout
    (elsewhere / "node").rmdir()

    def gaps():
        return [line for file in elsewhere.glob("*.jsonl") for line in file.read_text().splitlines() if "journal.gap" in line]
    wait_until(gaps, 20, "a line that names what is missing")
    wait_until(lambda: "the journal cannot be written" not in mta.command("status", check=False).stdout, 10, "the problem to be gone")


def test_mail_waits_outside_while_a_required_journal_cannot_be_written(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    elsewhere = mta.folder / "elsewhere"
    mta.config["history"] = {"directory": str(elsewhere), "required": True}
    (elsewhere / "node").mkdir(parents=True)  # where a file has to be
    mta.start()
    mta.wait_log(GIVEN_UP.pattern)
    refusal = "452 4.3.0 The journal of mail cannot be written; try again later"
    with mta.client() as c:
        wait_until(lambda: c.say("MAIL FROM:<sender@test.example>") == refusal or not c.say("RSET").startswith("250"), 10, "MAIL to be rejected")
    done = mta.sendmail("-f", f"{mta.user}@test.example", "user@remote.example", input="Subject: x\n\nHello.\n")
    assert done.returncode == 75 and "the journal cannot be written, try again later" in done.stderr
    status = mta.command("status", check=False).stdout
    assert re.search(r"Accepting   NO: .*the journal cannot be written", status), status
    (elsewhere / "node").rmdir()
    mta.wait_log("journal: it is written again", seconds=20)
    queue_id = mta.submit("user@remote.example")
    sink.wait_for_one_to("user@remote.example")
    wait_until(lambda: any(queue_id in file.read_text() for file in elsewhere.glob("*.jsonl")), 10, "it to be recorded")


def test_without_being_required_it_stops_no_mail_after_a_reload(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    elsewhere = mta.folder / "elsewhere"
    mta.config["history"] = {"directory": str(elsewhere), "required": True}
    (elsewhere / "node").mkdir(parents=True)
    mta.start()
    mta.wait_log(GIVEN_UP.pattern)
    mta.config["history"]["required"] = False
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: "Accepting   NO" not in mta.command("status", check=False).stdout, 10, "mail to be accepted")
    mta.submit("user@remote.example")
    sink.wait_for_one_to("user@remote.example")
