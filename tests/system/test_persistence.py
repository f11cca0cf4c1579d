"""What was decided about a recipient stays decided: over stops and kills, and whatever tables say by then."""
import struct

import pytest

from harness.faults import Faults
from harness.sink import only, silence
from harness.watch import wait_until


def table(mta, name, text):
    place = mta.folder / name
    place.write_text(text)
    return f"text:{place}"


@pytest.mark.parametrize("end", ("stop", "kill"))
def test_who_failed_without_a_try_is_reported_once_and_never_served(mta, remote, names, end):
    """Unknown here, NXDOMAIN, null MX, error:, suppressed while it waited; one more waits, so the file stays."""
    sink = remote()
    sink.at("rcpt", "450 4.2.0 Not now")
    mta.route("remote.example", sink)
    mta.use_names(names)
    names.null_mx("nomail.example")
    mta.config["transport"] = {"tables": [table(mta, "transport", "closed@boxes.example error:5.2.1 mailbox closed\n")]}
    mta.config["queue"].update(retry_interval="1h", retry_interval_after="1h", glitch_interval="1h")
    mta.start()
    me = f"{mta.user}@test.example"
    failing = {"nosuch@test.example": "5.1.1", "x@nodomain.example": "5.1.2", "n@nomail.example": "5.1.10",
               "closed@boxes.example": "5.2.1"}
    assert mta.sendmail("-f", me, *failing, "listed@remote.example", "waits@remote.example").returncode == 0
    queue_id = mta.wait_log(r"([0-9A-F]{10,}): to=<waits@remote.example>.*status=deferred")[1]
    for address, status in failing.items():
        mta.wait_log(rf"{queue_id}: to=<{address}>.*relay=none.*dsn={status}.*status=bounced")
    mta.wait_log(rf"{queue_id}: to=<listed@remote.example>.*status=deferred")
    mta.command("suppress", "add", "listed@remote.example", "--reason", "asked for it")
    mta.wait_log(rf"{queue_id}: to=<listed@remote.example>.*relay=none.*dsn=5.7.1.*status=bounced")

    def told():
        return [a for a in (*failing, "listed@remote.example") if any(f"rfc822; {a}" in report for report in mta.mailbox())]
    wait_until(lambda: len(told()) == 5, 15, lambda: f"five failures to be reported: {told()}\n{mta.last_words()}")
    wait_until(lambda: [e[3] for e in mta.queue()] == [["waits@remote.example"]], 15,
               lambda: f"the listing to name who is left: {mta.queue()}")
    shown = mta.command("message", "show", queue_id).stdout
    assert "mailbox closed" in shown and "asked for it" in shown
    reports = len(mta.mailbox())

    if end == "stop":
        mta.stop()
    else:
        mta.kill_everything()
    # By now all of them could be served.
    mta.forget_the_log()
    mta.aliases.write_text("nosuch: found@remote.example\n")
    table(mta, "transport", "")
    for domain in ("nodomain.example", "nomail.example", "boxes.example"):
        mta.route(domain, sink)
    sink.well_behaved()
    mta.start()
    mta.wait_log("spool: loaded")  # a flush is for what the queue-manager knows
    mta.command("suppress", "remove", "listed@remote.example")
    mta.flush()
    mta.wait_until_empty()
    assert [m.recipients for m in sink.messages] == [["waits@remote.example"]]
    assert not mta.logged("status=bounced")
    assert len(mta.mailbox()) == reports


def has_records(place):
    """Does the file say anything beside envelope and content (libspool/FORMAT.md)? Not in a reused file."""
    if place.suffix == ".reused":
        return False
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        return False  # it is just being moved
    envelope, length, _, content, size = struct.unpack_from("<QIIQQ", data, 24)
    return len(data) > max(envelope + length, content + size)


@pytest.mark.parametrize("found", ("refusing", "closed", "silent"))
def test_a_changed_table_sends_waiting_mail_to_nobody_new(mta, remote, found):
    """Plain remote recipients; killed with their mail deferred, with no server to talk to, or in the first attempt."""
    sink = remote()
    if found == "refusing":
        sink.at("mail", "451 4.3.0 Not now")
    if found == "silent":
        sink.at("data", silence)
    mta.route("remote.example", sink)
    if found == "closed":
        sink.stop()
    mta.config["virtual_alias"] = {"tables": [table(mta, "virtual", "")]}
    mta.start()
    queue_id = mta.submit(["first@remote.example", "second@remote.example"])
    if found != "silent":
        mta.wait_log("state=glitch" if found == "closed" else rf"{queue_id}: to=<second@remote.example>.*status=deferred")
    wait_until(lambda: any(has_records(place) for place in mta.spool_files()), 10, "the recipients to be written down")
    mta.kill_everything()
    table(mta, "virtual", "first@remote.example new@remote.example\nsecond@remote.example other@remote.example\n")
    if found == "closed":
        sink.start()
    sink.well_behaved()
    mta.start()
    mta.flush()
    mta.wait_until_empty()
    served = [m.recipients for m in sink.messages]
    assert sorted(sum(served, [])) == ["first@remote.example", "second@remote.example"]
    mta.submit("first@remote.example")
    sink.wait_for_one_to("new@remote.example")


def test_an_expansion_that_is_being_written_is_not_found_out_again(mta, remote):
    """The categorizer ends while its answer is on its way to the disk, and the alias changes: the first answer counts."""
    faults = Faults(mta)
    sink = remote()
    sink.at("rcpt", only("later@", "450 4.2.0 Not now"))
    mta.route("remote.example", sink)
    mta.aliases.write_text("team: now@remote.example, later@remote.example\n")
    mta.config["queue"].update(retry_interval="1h", retry_interval_after="1h", glitch_interval="1h")
    mta.config["history"] = {"enabled": False}
    mta.start()
    faults.hold("queue-manager", "sync")
    queue_id = mta.submit("team@test.example")
    wait_until(lambda: faults.failed("queue-manager", "sync"), 15, "the expansion to be written")
    mta.aliases.write_text("team: stranger@remote.example\n")
    before = mta.pids("categorizer")
    mta.kill("categorizer")
    mta.wait_for_role("categorizer", other_than=before)
    wait_until(lambda: mta.command("explain", "x@remote.example", check=False).returncode == 0, 15, "the categorizer to answer")
    faults.end("queue-manager")
    mta.wait_log(rf"{queue_id}: to=<later@remote.example>.*status=deferred")
    sink.wait_for_one_to("now@remote.example")
    mta.kill_everything()
    sink.well_behaved()
    mta.start()
    mta.wait_log("spool: loaded")
    mta.flush()
    mta.wait_until_empty()
    assert sorted(r for m in sink.messages for r in m.recipients) == ["later@remote.example", "now@remote.example"]


def test_an_expansion_that_could_not_be_synced_loses_nobody(mta, remote):
    faults = Faults(mta)
    sink = remote()
    mta.route("remote.example", sink)
    mta.aliases.write_text("team: ann@remote.example, bob@remote.example\n")
    mta.config["history"] = {"enabled": False}
    mta.start()
    faults.begin("queue-manager", "sync", "EIO", count=1)
    queue_id = mta.submit("team@test.example")
    mta.wait_log(f"{queue_id}: its recipients could not be determined yet: cannot be recorded")
    wait_until(lambda: "cannot be recorded" in mta.command("explain", queue_id).stdout, 15, "the queue to know")
    mta.flush()
    mta.wait_until_empty()
    assert sorted(r for m in sink.messages for r in m.recipients) == ["ann@remote.example", "bob@remote.example"]
