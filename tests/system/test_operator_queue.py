"""The operator's commands on a running MTA: looking at the queue, and changing it."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from harness.watch import wait_until


@pytest.fixture
def deferring(relaying):
    """(mta, sink): the sink puts every recipient off."""
    mta, sink = relaying
    sink.at("rcpt", "450 4.2.0 Not now")
    return mta, sink


def waiting(mta, *addresses, sender="sender@test.example"):
    ids = [mta.submit(a, sender=sender) for a in addresses]
    for each in ids:
        mta.wait_log(f"{each}: .* status=deferred")
        wait_until(lambda: message(mta, each)["recipients"][0]["state"] == "retrying", 15, f"{each} to be put off")
    return ids


def message(mta, queue_id):
    return json.loads(mta.command("message", "show", queue_id, "--json").stdout)


def fails(mta, status, *arguments, **options):
    done = mta.command(*arguments, check=False, **options)
    assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.stderr.startswith("postrider: ")
    return done.stderr


def test_the_status_page(deferring):
    mta, sink = deferring
    mta.wait_log("spool: loaded")
    mta.wait_log(r"/master\[\d+\]: ready")
    page = mta.command("status").stdout
    assert re.search(r"^Accepting   yes$", page, re.M) and re.search(r"^Delivering  yes$", page, re.M)
    assert re.search(r"^Queue       0 messages$", page, re.M)
    [old] = waiting(mta, "user@remote.example")
    page = mta.command("status").stdout
    assert re.search(rf"^Queue       1 message; the oldest arrived \d+ s ago \({old}\)$", page, re.M)
    assert "1 retrying" in page
    mta.command("pause", "all", "--reason", "moving house")
    page = mta.command("status").stdout
    assert re.search(r"^Delivering  NO: .*moving house", page, re.M)
    assert re.search(r"^Paused      everything by \S+, \d+ s ago: moving house$", page, re.M)
    facts = mta.status()
    assert facts["running"] and facts["queue"]["messages"] == 1 and facts["queue"]["oldest"]["id"] == old
    assert {"queue-manager", "router"} <= {p["process"].split()[0] for p in facts["processes"]}


def test_links_and_queues(relaying):
    mta, sink = relaying
    sink.stop()
    link = f"[{sink.address}]:{sink.port}"
    mta.submit("user@remote.example")
    wait_until(lambda: "Connection refused" in mta.command("link", "list").stdout, 15, "the link to have failed")
    [facts] = [json.loads(l) for l in mta.command("link", "list", "--json").stdout.splitlines()]
    assert facts["link"] == link and facts["deliveries"] == 1 and facts["state"] in ("glitch", "retry")
    assert link in mta.command("status").stdout
    shown = mta.command("link", "show", link).stdout
    assert re.search(rf"^Link +{re.escape(link)}$", shown, re.M) and re.search(r"^Failures +\d+ in a row, for \d+ (s|min)", shown, re.M)
    assert re.search(r"^remote\.example +", shown, re.M)
    assert re.search(r"^remote\.example .* 1 ", mta.command("queue", "list").stdout, re.M)
    assert re.search(r"^Queue +remote\.example$", mta.command("queue", "show", "remote.example").stdout, re.M)
    assert json.loads(mta.command("queue", "show", "remote.example", "--json").stdout)["link"] == link
    assert "no link" in fails(mta, 1, "link", "show", "nowhere")
    assert "no queue" in fails(mta, 1, "queue", "show", "nowhere.example")


def test_the_history_of_every_attempt(deferring):
    mta, sink = deferring
    [queue_id] = waiting(mta, ["one@remote.example", "two@remote.example"])
    wait_until(lambda: message(mta, queue_id)["recipients"][0]["tries"] >= 2, 20, "a second try")
    shown = mta.command("message", "show", queue_id).stdout
    for recipient in ("one", "two"):
        part = shown.split(f"Recipient <{recipient}@remote.example>")[1].split("\nRecipient")[0]
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*deferred", part)
        assert f"[{sink.address}]:{sink.port}" in part and "at rcpt" in part.lower()
        assert "450 4.2.0 Not now" in part
    attempt = message(mta, queue_id)["recipients"][0]["attempts"][0]
    assert attempt["outcome"] == "deferred" and attempt["code"] == 450
    assert attempt["tls"] == "none" and "TLS none" in shown


def test_listing_and_cat(deferring):
    mta, sink = deferring
    first, second = waiting(mta, "one@remote.example", "two@remote.example")
    listed = mta.command("message", "list").stdout
    assert listed.splitlines()[-1] == "2 messages"
    assert f"{first}  retrying" in listed and "two@remote.example (retrying" in listed and "Not now" in listed
    assert [json.loads(l)["id"] for l in mta.command("message", "list", "recipient=two@*", "--json").stdout.splitlines()] == [second]
    part = mta.command("message", "list", "--limit", "1").stdout
    assert part.splitlines()[-1] == f"1 message; there may be more: continue with --start-after {first}" and second not in part
    assert second not in mta.command("message", "list", first).stdout
    cat = mta.command("message", "cat", first).stdout
    assert "Subject: test" in cat and cat.rstrip().endswith("Hello.")
    header = mta.command("message", "cat", first, "--header").stdout
    assert "Subject: test" in header and "Hello." not in header
    fails(mta, 1, "message", "list", "sender=nobody@*")
    fails(mta, 64, "message", "list", "shape=round")
    fails(mta, 64, "message", "list", "--limit", "x")
    fails(mta, 1, "message", "show", "0123456789ABCD")
    fails(mta, 1, "message", "cat", "0123456789ABCD")


def test_lists_in_order_and_in_parts(deferring):
    mta, sink = deferring
    ids = waiting(mta, *[f"user{n}@remote.example" for n in range(5)])

    def listed(*words):
        return [json.loads(l)["id"] for l in mta.command("message", "list", *words, "--json").stdout.splitlines()]
    assert listed() == listed("--sort", "oldest") == ids
    assert listed("--sort", "newest") == ids[::-1]
    assert sorted(listed("--sort", "largest")) == sorted(listed("--sort", "next")) == ids
    parts, last = [], []
    while part := listed("--limit", "2", *last):
        parts.append(part)
        last = ["--start-after", part[-1]]
    assert parts == [ids[0:2], ids[2:4], ids[4:]]
    mta.command("message", "remove", ids[2])
    assert listed("--start-after", ids[2]) == ids[3:], "ids are in order, even of what has gone"
    assert mta.command("message", "list", "--count").stdout == "4\n"
    assert json.loads(mta.command("message", "list", "recipient=user[01]@*", "recipient=user0@*", "--count", "--json").stdout) == {"count": 1}
    fails(mta, 64, "message", "list", ids[0], "--sort", "newest")
    fails(mta, 64, "message", "list", "--sort", "prettiest")
    fails(mta, 1, "message", "list", "--sort", "largest", "--start-after", "0123456789ABCD")


def test_messages_by_what_they_say_of_themselves(deferring):
    mta, sink = deferring
    for address, subject in (("one@remote.example", "=?utf-8?Q?Gr=C3=BC=C3=9Fe?= from here"), ("two@remote.example", "Invoice 17")):
        queue_id = mta.submit(address, subject)
        mta.wait_log(f"{queue_id}: .* status=deferred")
    [one] = [json.loads(l) for l in mta.command("message", "list", "subject=grü", "--json").stdout.splitlines()]
    assert one["subject"] == "Grüße from here" and one["recipients"][0]["address"] == "one@remote.example"
    assert '"Invoice 17"' in mta.command("message", "list").stdout
    assert mta.command("message", "list", f"message-id={one['message_id']}", "--count").stdout == "1\n"
    assert mta.command("message", "list", f"submitter={one['submitter']}", "--count").stdout == "2\n"
    assert mta.command("message", "list", "subject=invoice", "--count").stdout == "1\n"
    fails(mta, 1, "message", "list", "pool=bulk")
    shown = mta.command("message", "show", one["id"]).stdout
    assert re.search(r"^Subject +", shown, re.M) and one["message_id"] in shown


def test_status_has_a_line_for_all_that_waits(deferring):
    mta, sink = deferring
    waiting(mta, *[f"user{n}@remote.example" for n in range(3)])
    [line] = [l for l in json.loads(mta.command("status", "--json").stdout)["queue"]["links"] if l["waiting"]]
    assert line["waiting"] == 3 and line["due"] == 0 and "450 4.2.0 Not now" in line["waiting_for"]
    page = mta.command("status").stdout
    assert re.search(r"ready +0 +3 +3 .*Not now", page), page


def test_changes_by_id_filter_and_standard_input(deferring):
    mta, sink = deferring
    ids = waiting(mta, *[f"user{n}@remote.example" for n in range(4)])
    done = mta.command("message", "hold", "recipient=user0@*", "recipient=user1@*", "--dry-run")
    assert done.stdout == "2 messages would be held; nothing was changed\n"
    assert mta.command("message", "hold", ids[0], ids[1], "--reason", "look first").stdout == "2 messages held\n"
    assert "look first" in mta.command("message", "show", ids[0]).stdout
    assert mta.command("message", "hold", "-", input=f"{ids[2]}\n").stdout == "1 message held\n"
    fails(mta, 2, "message", "hold", ids[0])
    facts = json.loads(mta.command("message", "release", ids[2], "--json").stdout)
    assert facts["changed"] == 1 and facts["matched"] == 1 and facts["dry_run"] is False
    assert mta.command("message", "remove", "state=held", "--reason", "spam").stdout == "2 messages removed\n"
    assert mta.queued_ids() == {ids[2], ids[3]}
    assert mta.command("message", "priority", "bulk", ids[3]).stdout == "1 message moved to the lane bulk\n"
    assert message(mta, ids[3])["lane"] == "bulk"
    sink.well_behaved()
    assert "tried now" in mta.command("message", "retry", "all").stdout
    mta.wait_until_empty()


def test_what_makes_no_sense_changes_nothing(deferring):
    mta, sink = deferring
    [queue_id] = waiting(mta, "user@remote.example")
    fails(mta, 64, "message", "remove")
    fails(mta, 64, "message", "remove", queue_id, "all")
    fails(mta, 64, "message", "remove", "-", input="")
    fails(mta, 64, "message", "remove", "shape=round")
    fails(mta, 64, "message", "remove", "all", "--force")
    fails(mta, 64, "message", "priority", "fastest", "all")
    for nonsense in ("nowhere:at:all", "foo", "mx", "[]", "[192.0.2.1]:x", "192.0.2.1", "host.example:0"):
        assert "not a valid next hop" in fails(mta, 64, "message", "reroute", nonsense, queue_id)
    assert "would loop" in fails(mta, 64, "message", "reroute", f"[{mta.address}]:{mta.relay_port}", queue_id)
    fails(mta, 64, "message", "requeue", queue_id, "--policy", "nonesuch")
    fails(mta, 1, "message", "remove", "sender=nobody@*")
    fails(mta, 1, "message", "remove", "0123456789ABCD")
    fails(mta, 64, "pause", "world")
    fails(mta, 64, "pause", "link")
    fails(mta, 64, "pause", "all", "of-it")
    for scope in ("link", "queue", "pool"):
        assert "there is no" in fails(mta, 1, "force", scope, "nowhere")
        assert "is not paused" in fails(mta, 2, "resume", scope, "nowhere")
    assert "no link" in fails(mta, 1, "pause", "link", "nowhere")
    assert "no pool" in fails(mta, 1, "pause", "pool", "nowhere")
    assert "named after its domain" in fails(mta, 64, "pause", "queue", "no domain")
    fails(mta, 2, "resume", "all")
    assert json.loads(mta.command("status", "--json").stdout)["queue"]["pauses"] == []
    fails(mta, 64, "explain")
    assert mta.queued_ids() == {queue_id}


def test_a_place_may_be_paused_before_its_mail_comes(relaying):
    """A domain may be any; a link is one there is mail for, or one that a route leads to."""
    mta, sink = relaying
    link = f"[{sink.address}]:{sink.port}"
    note = "; there is no mail for it now\n"
    assert mta.command("pause", "link", link).stdout == f"link {link} is paused{note}"
    assert mta.command("pause", "queue", "Other.Example").stdout == f"queue Other.Example is paused{note}"
    assert "paused already" in fails(mta, 2, "pause", "queue", "other.example")
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: message(mta, queue_id)["recipients"][0]["state"] == "paused", 15, "it to wait for the link")
    assert mta.command("resume", "link", link).stdout == f"link {link} is resumed\n"
    sink.wait_for(1)


def test_rerouted_to_what_a_route_says(mta, remote):
    here, there = remote(), remote()
    here.stop()
    mta.route("remote.example", here)
    mta.route("spare", there)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(f"{queue_id}: .*status=deferred")
    assert mta.command("message", "reroute", "spare", queue_id).stdout == "1 message rerouted to spare\n"
    there.wait_for(1)


def test_the_tries_of_a_link_are_shown_with_its_mail(relaying):
    """A connection refused is the link's failure, no attempt of the message: it is shown as that."""
    mta, sink = relaying
    sink.stop()
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: len(message(mta, queue_id)["recipients"][0]["link_failures"]) >= 2, 20, "two failed tries")
    [recipient] = message(mta, queue_id)["recipients"]
    assert recipient["attempts"] == []
    assert recipient["link_failures"][0]["phase"] == "connecting"
    shown = mta.command("message", "show", queue_id).stdout
    assert "failed attempts of its link since it arrived, not counted against it:" in shown
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*  at connecting\n +connect to .*Connection refused", shown)
    link = mta.command("link", "show", f"[{sink.address}]:{sink.port}").stdout
    assert re.search(r"^Failed +\d{4}-.*at connecting: connect to .*Connection refused", link, re.M)
    mta.restart()
    wait_until(lambda: mta.command("message", "show", queue_id, check=False).returncode == 0, 15, "it to be read")
    wait_until(lambda: len(message(mta, queue_id)["recipients"][0].get("link_failures", [])) >= 2, 15, "the tries after a restart")


def test_pause_resume_and_force(relaying):
    mta, sink = relaying
    shown = mta.command("pause", "queue", "remote.example", "--reason", "their move").stdout
    assert shown == "queue remote.example is paused; there is no mail for it now\n"
    assert "paused already" in fails(mta, 2, "pause", "queue", "remote.example")
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: message(mta, queue_id)["recipients"][0]["state"] == "paused", 15, "it to wait for the pause")
    why = mta.command("explain", queue_id).stdout
    assert re.search(r"=> pause +closed", why) and "their move" in why
    assert "earliest next attempt: when the pause is resumed\n" in why and '"postrider resume queue remote.example"' in why
    by_root = "queue remote.example is paused by root: their move"
    for listing in (["message", "list"], ["message", "show", queue_id], ["queue", "list"], ["link", "list"]):
        assert by_root in mta.command(*listing).stdout, listing
    assert [(entry[0], entry[4]) for entry in mta.queue()] == [(queue_id, [f"({by_root})"])]
    assert mta.command("force", "queue", "remote.example").stdout == f"queue remote.example will be tried when it is resumed: {by_root}\n"
    assert "1 of them only after \"postrider resume\"" in mta.command("message", "retry", queue_id).stdout
    # a recipient's address is no queue, though it looks like one with a pool
    assert "is not a queue" in fails(mta, 64, "pause", "queue", "user@remote.example")
    mta.restart()
    wait_until(lambda: "their move" in mta.command("status").stdout, 15, "the pause after a restart")
    wait_until(lambda: message(mta, queue_id)["recipients"][0]["state"] == "paused", 15, "the message after a restart")
    assert mta.command("resume", "queue", "remote.example").stdout == "queue remote.example is resumed\n"
    sink.wait_for(1)
    mta.wait_until_empty()
    sink.at("rcpt", "450 4.2.0 Not now", times=1)
    mta.config["queue"]["glitch_interval"] = "1h"
    mta.write_config()
    mta.command("reload")
    waiting(mta, "user@remote.example")
    [held] = [entry[0] for entry in mta.queue()]
    mta.command("message", "hold", held)
    assert f"{held} is held: release it first" in fails(mta, 2, "message", "retry", held)
    assert f"{held} is already held" in fails(mta, 2, "message", "hold", held)
    assert "earliest next attempt: when it is released\n" in mta.command("explain", held).stdout
    mta.command("message", "release", held)
    assert f"{held} is not held" in fails(mta, 2, "message", "release", held)
    assert mta.command("force", "all").stdout == "everything is tried now\n"
    sink.wait_for(2)


def test_expire_requeue_and_reroute(mta, remote):
    here, there = remote(), remote()
    here.stop()
    mta.route("remote.example", here)
    mta.start()
    first = mta.submit("one@remote.example", sender=f"{mta.user}@test.example")
    second = mta.submit("two@remote.example")
    wait_until(lambda: "refused" in mta.command("link", "list").stdout, 15, "the link to have failed")
    assert mta.command("message", "expire", first, "--reason", "too late").stdout == "1 message expired\n"
    assert "Action: failed" in mta.wait_mailbox(1)[0]
    assert mta.command("message", "requeue", second).stdout == "1 message requeued\n"
    wait_until(lambda: message(mta, second)["recipients"][0]["link"], 15, "a link again")
    # by its domain a message is found wherever it goes, so what was ordered of a domain can be taken back
    of_the_domain = "domain=remote.example"
    assert mta.command("message", "reroute", "nowhere.example", of_the_domain).stdout == "1 message rerouted to nowhere.example\n"
    assert mta.command("message", "reroute", "back", of_the_domain).stdout == "1 message returned to the usual route\n"
    target = f"[{there.address}]:{there.port}"
    assert mta.command("message", "reroute", target, second).stdout == f"1 message rerouted to {target}\n"
    there.wait_for(1)
    mta.wait_until_empty()


def test_where_an_address_would_go(mta, remote, names):
    mta.use_names(names)
    mta.aliases.write_text("list: someone, far@elsewhere.example\nrobot: |/usr/bin/robot -v\nfile: /srv/mail/kept\n")
    mta.config['route."store.example"'] = {"next_hop": "lmtp:/run/none/lmtp"}
    sink = remote()
    mta.route("remote.example", sink)
    names.mx("elsewhere.example", (10, "mx.elsewhere.example"))
    names.address_of("mx.elsewhere.example", sink.address)
    mta.start()
    shown = mta.command("explain", "user@remote.example").stdout
    assert "<user@remote.example>: remote" in shown and f"{sink.address} port {sink.port}" in shown
    roads = [json.loads(l) for l in mta.command("explain", "list@test.example", "--json").stdout.splitlines()]
    assert {r["disposition"] for r in roads} == {"local", "remote"}
    [far] = [r for r in roads if r["disposition"] == "remote"]
    assert far["address"] == "far@elsewhere.example" and far["kind"] == "mx"
    assert far["hosts"] == [{"name": "mx.elsewhere.example", "port": 25, "preference": 10}]
    nobody = json.loads(mta.command("explain", "nobody@test.example", "--json").stdout)
    assert nobody["disposition"] == "failed" and nobody["status"].startswith("5.1.1")
    for address, line in (("robot@test.example", "  command     /usr/bin/robot -v"), ("file@test.example", "  delivered to /srv/mail/kept"),
                          ("user@store.example", "  host          the socket /run/none/lmtp")):
        assert line in mta.command("explain", address).stdout.splitlines()
    missing = json.loads(mta.command("explain", "x@nowhere.example", "--json").stdout)
    assert missing["disposition"] == "remote" and missing["kind"] in ("permanent", "temporary") and missing["text"]
    fails(mta, 64, "explain", "<@>")
    assert not sink.messages and not mta.spool_files(), "nothing is sent"


def test_nothing_runs(mta):
    mta.write_config()
    for arguments in (["queue", "list"], ["message", "list"], ["pause", "all"], ["explain", "a@remote.example"], ["status"]):
        assert "not running" in fails(mta, 3, *arguments)


class Terminal:
    """A command on a terminal of its own, 24 lines of 100 columns."""

    def __init__(self, command):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.slave, self.before = slave, termios.tcgetattr(slave)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        self.text = ""

    def wait_for(self, what, seconds=10):
        end = time.monotonic() + seconds
        while not re.search(what, self.text):
            assert time.monotonic() < end, f"{what!r} on the terminal, it has {self.text!r}"
            if select.select([self.master], [], [], 0.2)[0]:
                self.text += os.read(self.master, 65536).decode()

    def finish(self):
        assert self.process.wait(10) == 0
        self.wait_for(r"\x1b\[\?25h\x1b\[\?1049l")
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is as it was"
        os.close(self.master)
        os.close(self.slave)


@pytest.mark.parametrize("end", ["key", "signal"])
def test_top_refreshes_and_gives_the_terminal_back(deferring, end):
    mta, sink = deferring
    screen = Terminal([mta.programs / "postrider", "top", "-c", mta.file, "--interval", "1"])
    screen.wait_for(r"\x1b\[\?1049h")
    screen.wait_for("Accepting   yes")
    waiting(mta, "user@remote.example")
    screen.wait_for("1 retrying")
    longest = max(len(re.sub(r"\x1b\[[?0-9]*[a-zA-Z]", "", l)) for l in screen.text.split("\r\n"))
    assert longest <= 100, screen.text
    if end == "key":
        os.write(screen.master, b"q")
    else:
        screen.process.send_signal(signal.SIGINT)
    screen.finish()


def test_top_needs_a_terminal(mta):
    mta.write_config()
    assert "needs a terminal" in fails(mta, 64, "top")
