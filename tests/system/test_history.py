"""postrider history and postrider journal, on journals written by the tests: no daemon runs."""
import json
import os
import select
import subprocess

import pytest

from harness.journal import Journal
from harness.mta import BUILD
from harness.watch import wait_until

PROGRAM = BUILD / "daemons/postrider/postrider"


class Place:
    """A configuration whose spool has only a journal."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "postrider.toml"
        self.journal = Journal(folder / "spool/history")
        self.file.write_text(f'[spool]\ndirectory = "{folder}/spool"\n')

    def run(self, *words, **options):
        return subprocess.run([PROGRAM, *words, "-c", self.file], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "TZ": "UTC"}, **options)

    def start(self, *words):
        return subprocess.Popen([PROGRAM, *words, "-c", self.file], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "TZ": "UTC"})

    def found(self, *words):
        """The messages that the words find, newest first."""
        done = self.run("history", *words, "--json")
        assert done.returncode in (0, 1), done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def three(place):
    """Three messages in two segments, the last one still queued."""
    journal = place.journal
    place.failed = journal.message("bob@remote.example", "carl@other.example", outcome="failed")
    place.delivered = journal.message("bob@remote.example", deferrals=2, sender="news@list.example", submitter="uid:7")
    journal.rotate()
    place.waiting = journal.message("dora@remote.example", outcome="deferred", deferrals=1, meta={"campaign": "spring"})
    journal.write("link.failed", link="mx.remote.example", why="Connection timed out")
    journal.publish()
    return place


def test_one_line_for_each_message_the_newest_first(three):
    done = three.run("history", "bob@remote.example")
    assert done.returncode == 0
    assert done.stderr == "postrider: 1 of 2 segments of the journal have no index yet and were read through\n"
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["Time", "Id", "From", "To", "Outcome", "Reply"]
    assert three.delivered in lines[1] and " delivered  250 2.0.0 Ok" in lines[1] and "2026-11-20 12:00:00" in lines[1]
    assert three.failed in lines[2] and "bob@remote.example +1  failed" in lines[2]
    assert len(lines) == 3


@pytest.mark.parametrize("words, which", [
    (["dora@remote.example"], "waiting"), (["meta.campaign=spring"], "waiting"), (["domain=other.example"], "failed"),
    (["<2@shop.example>"], "delivered"), (["2@shop.example"], "delivered"), (["class=rate", "sender=@list.example"], "delivered"),
    (["type=failed", "code=5xx", "carl@*"], "failed"), (["submitter=uid:*"], "delivered"), (["type=message.deferred", "link=mx.remote.example", "sender=ann@*"], "waiting"),
])
def test_words_select_messages(three, words, which):
    assert [m["id"] for m in three.found(*words)] == [getattr(three, which)]


def test_an_id_shows_everything_about_a_message(three):
    [message] = three.found(three.delivered, "--events")
    assert message["outcome"] == "delivered" and message["finished"] and message["size"] == 1234
    assert message["recipients"] == [{"recipient": "bob@remote.example", "outcome": "delivered", "time": message["events"][3]["time"],
                                      "link": "mx.remote.example", "reply": "250 2.0.0 Ok", "attempts": 3}]
    assert [e["type"] for e in message["events"]] == ["message.accepted", "message.deferred", "message.deferred", "message.delivered",
                                                      "message.finished"]
    attempts = three.run("history", three.delivered, "--attempts").stdout
    assert attempts.count("451 4.7.1 try later") == 2 and "mx.remote.example[192.0.2.1]" in attempts
    events = three.run("history", three.delivered, "--events").stdout
    assert events.count("message.") == 5


def test_events_that_belong_to_no_message_are_found_too(three):
    done = three.run("history", "type=link.*")
    assert "link.failed" in done.stdout and "Connection timed out" in done.stdout
    assert three.found("type=link.failed")[0]["link"] == "mx.remote.example"


def test_time_and_limit(three):
    assert len(three.found("since=2026-11-20")) == 4
    assert three.found("since=2026-11-20T12:00:01Z") == [] and three.found("until=2026-11-20") == []
    assert [m["id"] for m in three.found("type=message.*", "--limit", "1")] == [three.waiting]
    limited = three.run("history", "type=message.*", "--limit", "1")
    assert "only the newest 1 are shown" in limited.stderr


def test_nothing_found_is_exit_status_1(three):
    done = three.run("history", "nobody@remote.example")
    assert (done.returncode, done.stdout) == (1, "nothing in the journal matches\n")
    done = three.run("history", "nobody@remote.example", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert three.run("history", "--summary", "class", "domain=nowhere.example").returncode == 1


@pytest.mark.parametrize("words, expected", [
    (["bob"], '"bob" is not a word for the history: expected id=, message-id='), (["colour=red"], '"colour=red" is not a word'),
    (["domain="], "domain= needs a value"), (["since=yesterday"], "expected a duration such as 2d"), ([], "what is to be found"),
    (["a@b.example", "--limit", "0"], "--limit needs a number from 1 to 100000"),
    (["a@b.example", "--summary", "by=colour"], "expected by=class, by=link"),
    (["a@b.example", "--follow", "--attempts"], "--follow"),
    (["a@b.example", "--follow", "--all"], "--follow"),
])
def test_what_makes_no_sense_is_refused(three, words, expected):
    done = three.run("history", *words)
    assert done.returncode == 64 and expected in done.stderr and done.stdout == ""


def test_a_summary_counts_events(three):
    done = three.run("history", "domain=remote.example", "--summary", "by=class", "--json")
    groups = {g["class"]: g for g in json.loads(done.stdout)["groups"]}
    assert groups["rate"]["deferred"] == 3 and groups["recipient"]["failed"] == 1
    text = three.run("history", "type=message.*", "--summary", "by=link").stdout.splitlines()
    assert text[0].split() == ["Events", "Delivered", "Deferred", "Failed", "link"]
    assert any(line.split() == ["5", "1", "3", "1", "mx.remote.example"] for line in text)


def test_only_what_is_on_stable_storage_is_shown(place):
    first = place.journal.message("bob@remote.example")
    place.journal.publish()
    place.journal.message("bob@remote.example")
    assert [m["id"] for m in place.found("bob@remote.example")] == [first]
    assert len(place.found("bob@remote.example", "--all")) == 2
    (place.journal.folder / "synced").unlink()
    assert place.found("bob@remote.example") == []
    assert place.run("journal", "verify", "--all").returncode == 0
    assert len(place.run("journal", "cat", "--all").stdout.splitlines()) == 6


def test_there_is_no_journal(tmp_path):
    (tmp_path / "postrider.toml").write_text(f'[spool]\ndirectory = "{tmp_path}"\n')
    done = subprocess.run([PROGRAM, "history", "a@b.example", "-c", tmp_path / "postrider.toml"], capture_output=True, text=True)
    assert done.returncode == 1 and f"there is no journal in {tmp_path}/history" in done.stderr


def test_another_directory(three, tmp_path):
    three.journal.folder.rename(tmp_path / "elsewhere")
    three.file.write_text(f'[history]\ndirectory = "{tmp_path}/elsewhere"\n')
    assert len(three.found("bob@remote.example")) == 2


def test_status_and_cat(three):
    status = json.loads(three.run("journal", "status", "--json").stdout)
    assert status["first"] == 1 and status["published"] == three.journal.next - 1 and status["segments"] == 2
    assert status["sealed"] == 0 and status["since"] == "2026-11-20T12:00:00.000000Z"
    text = three.run("journal", "status").stdout
    assert f"1 to {three.journal.next - 1}, since 2026-11-20 12:00:00" in text
    lines = [json.loads(line) for line in three.run("journal", "cat").stdout.splitlines()]
    assert [e["seq"] for e in lines] == list(range(1, three.journal.next))
    assert [json.loads(l)["seq"] for l in three.run("journal", "cat", "--start-at", "8").stdout.splitlines()] == list(range(8, three.journal.next))
    assert three.run("journal", "cat", "--start-at", "soon").returncode == 64
    assert three.run("journal", "cat", "--follow", "--all").returncode == 64


@pytest.mark.parametrize("words", [["journal", "cat", "--start-at", "100", "--follow"], ["history", "type=message.*", "--json", "--follow"]])
def test_follow(three, words):
    journal = three.journal
    while journal.next < 100:
        journal.write("config.reloaded")
    journal.publish()
    process = three.start(*words)
    try:
        while not select.select([process.stdout], [], [], 0.1)[0]:  # a history follows from where the journal ends at its start
            journal.message("eve@remote.example")
            journal.publish()
        last = journal.next - 1
        journal.rotate()
        journal.message("eve@remote.example", outcome="failed")
        journal.publish()
        seen = [json.loads(process.stdout.readline())["seq"]]
        while seen[-1] < journal.next - 1:
            seen.append(json.loads(process.stdout.readline())["seq"])
        assert seen == list(range(seen[0], journal.next)) and seen[0] <= last
    finally:
        process.kill()
        process.communicate()


def test_follow_ends_when_nobody_reads(three):
    process = three.start("journal", "cat", "--follow")
    process.stdout.readline()
    process.stdout.close()
    wait_until(lambda: process.poll() is not None, 10, "the command to end")


def test_damage_is_named_and_the_rest_is_found(three):
    [first, second] = sorted(three.journal.folder.glob("*.jsonl"))
    lines = first.read_text().splitlines(keepends=True)
    first.write_text("".join([*lines[:2], "\0garbage\n", *lines[3:]]))
    done = three.run("journal", "verify")
    assert done.returncode == 65
    assert f"{first} at byte" in done.stdout and "a line is not an event: ?garbage" in done.stdout
    assert "events 3 to 3 are missing, and no journal.gap names them" in done.stdout
    assert json.loads(three.run("journal", "verify", "--json").stdout)["missing"] == [{"from": 3, "to": 3}]
    found = three.run("history", "bob@remote.example")
    assert found.returncode == 0 and three.delivered in found.stdout and three.failed in found.stdout
    assert f"{first} at byte" in found.stderr and "postrider journal verify" in found.stderr
    assert three.run("journal", "cat").returncode == 65


def test_numbers_that_a_gap_names_are_not_missed(place):
    journal = place.journal
    journal.message("bob@remote.example")
    missing = (journal.next, journal.next + 65_535)
    journal.next = missing[1] + 1
    journal.rotate()
    journal.write("journal.gap", why="unclean stop", **{"from": missing[0], "to": missing[1]})
    journal.publish()
    done = place.run("journal", "verify")
    assert done.returncode == 0, done.stdout
    assert "1 range of missing numbers, 0 of them not named" in done.stdout


def test_after_a_failed_sync_the_newer_file_counts(place):
    journal = place.journal
    journal.write("message.delivered", id="0C5A0000001010", recipient="bob@remote.example", text="old")
    journal.write("message.delivered", id="0C5A0000002010", recipient="bob@remote.example", text="old")
    journal.next = 2
    journal.rotate()
    journal.write("message.delivered", id="0C5A0000002010", recipient="bob@remote.example", text="new")
    journal.publish()
    assert [(m["id"], m["recipients"][0]["reply"]) for m in place.found("bob@remote.example")] == [
        ("0C5A0000002010", "new"), ("0C5A0000001010", "old")]
    assert place.run("journal", "verify").returncode == 0
