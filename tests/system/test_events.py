"""The events process: it seals, indexes and removes the journal's segments, and nothing depends on it."""
import json
import signal
from datetime import datetime, timedelta, timezone

import pytest

from harness.journal import Journal
from harness.watch import wait_until


@pytest.fixture
def recorded(mta):
    """An MTA whose spool has a journal of three segments, written just now; it is not started yet."""
    mta.journal = Journal(mta.spool / "history", start=datetime.now(timezone.utc) - timedelta(minutes=2))
    mta.ids = []
    for _ in range(3):
        mta.journal.rotate()
        mta.ids += [mta.journal.message("bob@remote.example", f"r{n}@many.example", deferrals=1) for n in range(200)]
    mta.journal.publish()
    mta.segments = sorted(file.stem for file in mta.journal.folder.glob("*.jsonl"))
    mta.write_config()
    return mta


def files(mta, suffix):
    return {file.name.split(".")[0] for file in mta.journal.folder.glob(f"*{suffix}")}


def wait_kept(mta):
    """Until all segments but the newest are sealed and indexed."""
    def kept():
        *older, _ = sorted(files(mta, ".jsonl") | files(mta, ".jsonl.zst"))
        return set(older) <= files(mta, ".index") and not set(older) & files(mta, ".jsonl")
    wait_until(kept, 30, lambda: f"sealed and indexed segments: {sorted(f.name for f in mta.journal.folder.iterdir())}\n{mta.last_words()}")


def found(mta, *words):
    done = mta.command("history", *words, "--limit", "1000", "--json", check=False)
    assert done.returncode in (0, 1) and "no index" not in done.stderr, done.stderr
    return [json.loads(line)["id"] for line in done.stdout.splitlines()]


def test_segments_are_sealed_and_indexed(recorded):
    mta = recorded
    before = mta.command("journal", "cat").stdout
    mta.start()
    wait_kept(mta)
    assert mta.command("journal", "cat").stdout.startswith(before)
    assert set(mta.segments[:2]) <= files(mta, ".frames")
    assert found(mta, "bob@remote.example") == mta.ids[::-1]
    assert found(mta, "r7@many.example") == [mta.ids[407], mta.ids[207], mta.ids[7]]
    assert found(mta, mta.ids[11]) == [mta.ids[11]] and found(mta, "nobody@remote.example") == []
    assert mta.command("journal", "verify").returncode == 0
    status = json.loads(mta.command("journal", "status", "--json").stdout)
    assert status["sealed"] >= 2
    events = next(p for p in json.loads(mta.command("status", "--json").stdout)["processes"] if p.get("role") == "events")
    assert events["confinement"]
    mta.wait_log(r"events\[\d+\]: journal: segment indexed first=1 events=1200")


def test_killed_at_any_point_it_begins_again(recorded):
    mta = recorded
    mta.expects_crashes = True
    mta.start()
    for _ in range(3):
        [pid] = mta.pids("events")
        mta.kill("events", signal.SIGKILL)
        mta.wait_for_role("events", other_than=[pid])
    wait_kept(mta)
    assert len(found(mta, "bob@remote.example")) == 600
    assert mta.command("journal", "verify").returncode == 0


def test_mail_flows_while_it_hangs(recorded, remote):
    mta, sink = recorded, remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.kill("events", signal.SIGSTOP)
    mta.submit("ann@remote.example")
    sink.wait_for_one_to("ann@remote.example")
    mta.kill("events", signal.SIGCONT)
    wait_kept(mta)


def test_what_is_too_old_is_removed(recorded):
    mta = recorded
    mta.config["history"] = {"keep": "1m"}
    mta.start()
    wait_until(lambda: not set(mta.segments[:2]) & (files(mta, ".jsonl.zst") | files(mta, ".index") | files(mta, ".frames")), 30,
               "old segments to be removed")
    mta.wait_log(r"journal: segment removed first=1 size=\d+")
    assert mta.command("journal", "verify").returncode == 0
    assert files(mta, ".jsonl")  # the newest is not removed, however old


def test_what_is_too_large_is_removed(recorded):
    mta = recorded
    mta.start()
    wait_kept(mta)
    mta.config["history"] = {"size": "100KiB"}
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: mta.segments[0] not in files(mta, ".jsonl.zst"), 30, "the oldest segment to be removed")


def test_without_a_journal_it_does_not_run(mta):
    mta.config["history"] = {"enabled": False}
    mta.start()
    assert not mta.pids("events")
    assert not (mta.spool / "history").exists()
    mta.config["history"] = {"enabled": True, "directory": str(mta.folder / "elsewhere")}
    mta.restart()
    wait_until(lambda: mta.pids("events"), 10, "events to be started")
    wait_until((mta.folder / "elsewhere/index.secret").exists, 10, "it to find the directory")


def test_a_disk_that_fails_is_reported_and_tried_again(recorded):
    mta = recorded
    blocked = mta.journal.folder / f"{mta.segments[0]}.jsonl.zst.new"
    blocked.mkdir()
    mta.start()
    wait_until(lambda: "it is recorded, but not compressed, indexed or removed" in mta.command("status", check=False).stdout, 20,
               lambda: mta.command("status", check=False).stdout)
    assert len(mta.command("history", "bob@remote.example", "--limit", "1000", "--json").stdout.splitlines()) == 600
    blocked.rmdir()
    mta.command("reload")  # otherwise after a minute
    wait_kept(mta)
    wait_until(lambda: "not compressed" not in mta.command("status", check=False).stdout, 10, "the problem to be gone")
