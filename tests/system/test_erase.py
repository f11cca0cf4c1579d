"""What the journal must not name: addresses that are hashed, and one that is erased."""
import json
import re

import pytest

from harness.watch import wait_until
from test_journal import journal

USAGE = 64


def everything(mta):
    """All bytes of the journal that can be read as text, sealed or not."""
    done = mta.command("journal", "cat", "--all", seconds=60)
    return done.stdout


@pytest.fixture
def sink(mta, remote):
    sink = remote()
    sink.at("rcpt", lambda session, argument: f"550 5.1.1 {argument[3:]}: no such user" if "obody" in argument else "250 2.1.5 Ok")
    mta.route("remote.example", sink)
    return sink


def test_hashed_addresses_are_found_and_not_read(mta, sink):
    mta.config["history"] = {"addresses": "hashed"}
    mta.start()
    queue_id = mta.submit(["user@remote.example", "Nobody@remote.example"], "one", sender="someone@test.example")
    mta.wait_until_empty()
    wait_until(lambda: any(e["type"] == "message.finished" for e in journal(mta).values()), 15, "it to be recorded")
    text = everything(mta)
    for name in ("user@", "obody@", "someone@"):
        assert name not in text
    failed = next(e for e in journal(mta).values() if e["type"] == "message.failed")
    assert re.fullmatch(r"#[0-9a-f]{32}@remote\.example", failed["recipient"])
    assert failed["recipient"] in failed["text"] and ": no such user" in failed["text"]
    for word in ("user@remote.example", "nobody@remote.example", "sender=someone@test.example", "domain=remote.example"):
        found = json.loads(mta.command("history", word, "--json").stdout)
        assert found["id"] == queue_id
    assert mta.command("history", "other@remote.example", check=False).returncode == 1
    mta.kill("queue-manager")  # what it does not know any longer is not written twice, though hashed
    other = mta.submit("user@remote.example", "two")
    mta.wait_until_empty()
    wait_until(lambda: sum(e["type"] == "message.finished" and e["id"] == other for e in journal(mta).values()), 15, "the other")
    assert sum(e["type"] == "message.failed" for e in journal(mta).values()) == 1
    books = mta.command("history", "--check", check=False)
    assert books.returncode == 0, books.stdout + books.stderr
    # In the clear again: both forms are found.
    mta.config["history"] = {}
    mta.restart()
    third = mta.submit("user@remote.example", "three")
    mta.wait_until_empty()
    wait_until(lambda: third in mta.command("history", "user@remote.example").stdout, 15, "the third")
    shown = mta.command("history", "user@remote.example").stdout
    assert queue_id in shown and other in shown


def test_books_of_waiting_mail_with_hashed_addresses(mta, sink):
    sink.well_behaved()
    sink.at("rcpt", lambda session, argument: "450 4.2.0 Not now" if "slow" in argument else "250 2.1.5 Ok")
    mta.config["history"] = {"addresses": "hashed"}
    mta.start()
    queue_id = mta.submit(["quick@remote.example", "slow@remote.example"])
    mta.wait_log(rf"{queue_id}: to=<slow@remote\.example>, .*status=deferred")
    books = mta.command("history", "--check", check=False)
    assert books.returncode == 0, books.stdout + books.stderr


@pytest.mark.parametrize("addresses", ["clear", "hashed"])
def test_an_address_is_erased(mta, sink, addresses):
    mta.config["history"] = {"addresses": addresses, "keep_failed": "1d"}
    mta.start()
    gone = mta.submit("nobody@remote.example", "gone", sender="someone@test.example")
    both = mta.submit(["nobody@remote.example", "user@remote.example"], "both", sender="someone@test.example")
    other = mta.submit("user@remote.example", "other", sender="someone@test.example")
    kept = mta.spool / "failed"
    mta.wait_until_empty()
    wait_until(lambda: {p.name for p in kept.iterdir()} == {gone, both}, 15, "both to be kept")
    assert gone in mta.command("history", "nobody@remote.example").stdout
    before = [json.loads(line) for line in everything(mta).splitlines()]
    said = mta.command("history", "erase", "NOBODY@remote.example", seconds=60).stdout
    pattern = r"NOBODY@remote\.example is erased: (\d+) events in 1 segment of the journal, 0 that hooks gave up, 2 kept messages of failed mail\n"
    assert re.fullmatch(pattern, said), said
    assert list(kept.iterdir()) == []
    assert mta.command("history", "nobody@remote.example", check=False).returncode == 1
    after = [json.loads(line) for line in everything(mta).splitlines()]
    assert "nobody" not in json.dumps(after)
    assert [e["seq"] for e in after[:len(before)]] == [e["seq"] for e in before]
    tombstones = [e for e in after if e.get("erased")]
    assert len(tombstones) == int(re.match(pattern, said)[1]) >= 4
    for each in tombstones:
        assert list(each) == ["v", "seq", "node", "time", "type", "id", "erased"]
    untouched = {e["seq"]: e for e in before}
    assert all(untouched[e["seq"]] == e for e in after if e["seq"] in untouched and not e.get("erased"))
    assert [e for e in after if e["type"] == "journal.erased"][0]["who"]
    assert not list((mta.spool / "history").glob("erasing*"))
    assert not mta.logged("nobody.*address erased|address erased.*nobody")
    assert other in mta.command("history", "user@remote.example").stdout
    assert mta.command("journal", "verify").returncode == 0
    books = mta.command("history", "--check", check=False)
    assert books.returncode == 0, books.stdout + books.stderr
    assert "erased" in mta.command("journal", "cat").stdout
    again = json.loads(mta.command("history", "erase", "nobody@remote.example", "--json", seconds=60).stdout)
    assert again == {"version": 1, "address": "nobody@remote.example", "events": 0, "segments": 0, "given_up": 0, "kept_messages": 0}
    # The index is made again, and does not know the address.
    wait_until(lambda: "have no index yet" not in mta.command("history", "user@remote.example").stderr, 60, "the index")
    assert mta.command("history", "nobody@remote.example", check=False).returncode == 1


def test_an_erasure_is_finished_after_a_kill(mta, sink):
    mta.start()
    for n in range(3):
        mta.submit("nobody@remote.example", f"number {n}")
    mta.wait_until_empty()
    pid = mta.kill("events")
    process = mta.command("history", "erase", "nobody@remote.example", check=False, seconds=60)
    for _ in range(2):
        mta.kill("events")
    if process.returncode != 0:  # it was not there at that moment; nothing was promised
        process = mta.command("history", "erase", "nobody@remote.example", seconds=60)
    assert pid and process.returncode == 0
    assert mta.command("history", "nobody@remote.example", check=False).returncode == 1
    assert mta.command("journal", "verify").returncode == 0
    books = mta.command("history", "--check", check=False)
    assert books.returncode == 0, books.stdout + books.stderr


def test_what_was_asked_for_is_done_at_the_next_start(mta, sink):
    mta.start()
    mta.submit("nobody@remote.example")
    mta.wait_until_empty()
    wait_until(lambda: any(e["type"] == "message.finished" for e in journal(mta).values()), 15, "it to be recorded")
    last = max(journal(mta))
    mta.stop()
    (mta.spool / "history/erasing").write_text(json.dumps({"v": 1, "requests": [
        {"address": "nobody@remote.example", "through": last, "next": 0, "events": 0, "segments": 0, "given_up": 0}]}) + "\n")
    mta.start()
    mta.submit("user@remote.example")  # begins the next segment
    mta.wait_log(r"journal: address erased through=\d+")
    assert "nobody" not in everything(mta)
    assert not (mta.spool / "history/erasing").exists()


def test_what_cannot_be_erased_is_said(mta, sink):
    mta.start()
    for wrong in ("nobody", "a b@x", ""):
        done = mta.command("history", "erase", wrong, check=False)
        assert done.returncode == USAGE and "is not an address such as" in done.stderr
    mta.stop()
    done = mta.command("history", "erase", "a@b.example", check=False)
    assert done.returncode == 3 and "it is not running" in done.stderr
