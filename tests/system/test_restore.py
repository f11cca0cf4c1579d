"""What an operator removes can be brought back for a while; and much is not removed without a question."""
import pytest

from harness.watch import wait_until
from test_control import one

USAGE = 64


@pytest.fixture
def waiting(mta, remote):
    """(mta, sink, put): the sink takes nothing for now; put(n) leaves n messages waiting and returns their ids."""
    sink = remote()
    sink.at("mail", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.start()

    def put(n):
        ids = [mta.submit("user@remote.example", subject=f"number {i}") for i in range(n)]
        wait_until(lambda: set(ids) <= set(mta.queued_ids()), 15, "them to wait")
        return ids
    return mta, sink, put


def removed_files(mta):
    return {path.name for path in (mta.spool / "removed").iterdir()}


def test_what_was_removed_is_delivered_after_all(waiting):
    mta, sink, put = waiting
    first, second = put(2)
    assert mta.command("message", "remove", "all").stdout == "2 messages removed\n"
    mta.wait_until_empty()
    wait_until(lambda: removed_files(mta) == {first, second}, 15, "both to be put away")
    wait_until(lambda: "2 messages can still be restored" in mta.command("status").stdout, 15, "status to say so")
    mta.restart()
    assert mta.queued_ids() == set()
    sink.well_behaved()
    assert mta.command("message", "restore", first).stdout == "1 message restored\n"
    sink.wait_for_one_to("user@remote.example")
    assert sink.messages[0].header("Subject") == "number 0"
    mta.wait_log(rf"{first}: restored by ")
    mta.wait_until_empty()
    again = mta.command("message", "restore", first, check=False)
    assert again.returncode != 0 and f"{first} is not among the removed messages" in again.stderr
    assert mta.command("message", "restore", "all").stdout == "1 message restored\n"
    sink.wait_for(2)
    mta.wait_until_empty()
    assert removed_files(mta) == set()


def test_what_was_just_removed_can_be_restored_at_once(waiting):
    mta, sink, put = waiting
    first, second = put(2)
    mta.wait_log("all messages in the spool have been read")
    mta.command("message", "remove", first)
    assert mta.command("message", "restore", first).stdout == "1 message restored\n"
    mta.command("message", "remove", "all")
    assert mta.command("message", "restore", "all").stdout == "2 messages restored\n"
    sink.well_behaved()
    mta.flush()
    sink.wait_for(2)


def test_who_has_it_does_not_get_it_again_when_it_is_restored(mta, remote):
    sink = remote()
    sink.at("rcpt", lambda session, argument: "450 4.2.0 Not now" if "slow" in argument else "250 2.1.5 Ok")
    mta.route("remote.example", sink)
    mta.start()
    queue_id = mta.submit(["quick@remote.example", "slow@remote.example"])
    mta.wait_log(rf"{queue_id}: to=<slow@remote\.example>, .*status=deferred")
    mta.command("message", "remove", queue_id)
    wait_until(lambda: removed_files(mta) == {queue_id}, 15, "it to be put away")
    sink.well_behaved()
    mta.command("message", "restore", queue_id)
    sink.wait_for_one_to("slow@remote.example")
    mta.wait_until_empty()
    assert len(sink.to("quick@remote.example")) == 1


@pytest.mark.parametrize("how", ["--permanently", "removed_age"])
def test_what_is_removed_for_good_frees_its_space_at_once(waiting, how):
    mta, _, put = waiting
    if how == "removed_age":
        mta.config["spool"]["removed_age"] = "0s"
        mta.write_config()
        mta.command("reload")
    queue_id, = put(1)
    mta.command("message", "remove", *([how] if how.startswith("--") else []), queue_id)
    wait_until(lambda: not list((mta.spool / "messages").glob(f"*/{queue_id}")), 15, "its file to go")
    assert removed_files(mta) == set()


def test_what_was_removed_goes_when_its_time_or_room_is_over(waiting):
    mta, _, put = waiting
    mta.config["spool"]["removed_size"] = "10KiB"
    mta.write_config()
    mta.command("reload")
    ids = put(5)  # a block of the disk each, at least
    for queue_id in ids:
        mta.command("message", "remove", queue_id)
    wait_until(lambda: removed_files(mta) and removed_files(mta) <= set(ids[3:]), 15, lambda: f"the oldest to go: {removed_files(mta)}")
    mta.config["spool"]["removed_age"] = "0s"
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: mta.command("reload") and not removed_files(mta), 15, "the rest to go")


def test_many_are_not_removed_without_a_question(waiting):
    mta, _, put = waiting
    ids = put(101)
    refused = mta.command("message", "remove", "sender=*", check=False)
    assert refused.returncode == USAGE and refused.stderr == "postrider: 101 messages would be removed: to confirm, repeat the command with --yes\n"
    assert mta.queued_ids() == set(ids)
    assert mta.command("message", "remove", "--dry-run", "all").stdout == "101 messages would be removed; nothing was changed\n"
    assert mta.command("message", "remove", *ids[:1]).stdout == "1 message removed\n"
    assert mta.command("message", "remove", "all").stdout == "100 messages removed\n", "a hundred need no question"
    wait_until(lambda: len(removed_files(mta)) == 101, 15, "all of them to be put away")
    assert mta.command("message", "restore", "all").stdout == "101 messages restored\n"
    assert mta.command("message", "remove", "--yes", "all").stdout == "101 messages removed\n"
    mta.wait_until_empty()
