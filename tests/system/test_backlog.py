"""A spool full of mail that waits: what each message costs, and that a listing of all of it passes through."""
import re
import subprocess
from pathlib import Path

import pytest

from harness.mta import BUILD
from harness.watch import wait_until

MESSAGES = 150_000


def private_bytes(pid):
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * sum(int(n) for n in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", rollup, re.M))


@pytest.fixture
def backlog(mta):
    """The MTA at rest, its spool full of messages that wait for hours; what its queue-manager weighed before."""
    # No rung is longer than these, and what waits in the spool never longer than a rung.
    mta.config["queue"].update(retry_interval="8h", retry_interval_after="8h")
    mta.start()
    alone = private_bytes(mta.pids("queue-manager")[0])
    mta.stop()
    subprocess.run([BUILD / "tests/bench/fill-spool", mta.spool, str(MESSAGES), "0"], check=True)
    mta.start(spool=False)
    mta.wait_log(rf"spool: loaded: {MESSAGES} messages", 120)
    mta.wait_log("idempotency keys: all messages in the spool have been read", 60)
    return mta, alone


def test_what_a_queued_message_costs(backlog):
    """At most 200 bytes in the whole process: the engine's, the spool side's, and what the allocator loses between
    them. Then they are all listed, through both commands, and it has not grown by more than one batch needs."""
    mta, alone = backlog
    [queue_manager] = mta.pids("queue-manager")
    wait_until(lambda: private_bytes(queue_manager) - alone <= 200 * MESSAGES, 15,  # what loading took besides is given back by a thread
               lambda: f"at most 200 bytes for each, not {(private_bytes(queue_manager) - alone) / MESSAGES}")
    loaded = private_bytes(queue_manager)
    assert mta.status()["queue"]["messages"] == MESSAGES
    for listed in (mta.run("mailq", "-C", mta.file, seconds=120), mta.command("message", "list", seconds=120)):
        count = len(re.findall(r"@d\d+\.example", listed.stdout))
        assert count == MESSAGES  # of the number alone: pytest would spend half an hour on showing the text
    assert private_bytes(queue_manager) - loaded < 20 * MESSAGES


def test_what_is_due_next_is_read_first(mta, remote):
    """A stop in good order with thousands waiting for hours and one message for a moment: the next start reads that one
    first, delivers it once, and finds all the others where they were."""
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.config["queue"].update(retry_interval="8h", retry_interval_after="8h")
    mta.spool.mkdir()
    subprocess.run([BUILD / "tests/bench/fill-spool", mta.spool, "5000", "0"], check=True)
    mta.start()
    mta.wait_log("spool: loaded: 5000 messages", 60)
    assert not mta.logged("are read first"), "there was no stop before"
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    assert mta.stop() == 0
    assert (mta.spool / "index/snapshot").exists()
    waiting = {file.name for file in mta.spool_files()}
    assert len(waiting) == 5001
    sink.start()
    mta.forget_the_log()
    mta.start()
    sink.wait_for(1)
    mta.wait_log(r"messages that were due next at the last stop are read first: 1000 messages")
    mta.wait_log(r"spool: loaded: 500[01] messages", 60)
    mta.wait_log(rf"{queue_id}: removed")
    wait_until(lambda: {file.name for file in mta.spool_files()} == waiting - {queue_id}, 10, "the others to be left alone")
    assert mta.status()["queue"]["messages"] == 5000
    assert not (mta.spool / "index/snapshot").exists()
    assert len(sink.messages) == 1
    mta.kill_everything()  # leaves no snapshot: the next start reads in any order
    mta.forget_the_log()
    mta.start()
    mta.wait_log(r"spool: loaded: 5000 messages", 60)
    assert not mta.logged("are read first")
