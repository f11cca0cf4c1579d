"""The control socket: looking at the queue and changing it, as `postrider` and other programs do."""
import json

import pytest

from harness.doors import knock
from harness.watch import wait_until


def ask(mta, op, **fields):
    """(answer lines, error, code)."""
    with knock(mta.spool / "run" / "control") as s:
        s.sendall(json.dumps({"version": 1, "op": op, **fields}).encode() + b"\n")
        lines, file = [], s.makefile("r")
        while True:
            line = json.loads(file.readline())
            if line.get("done"):
                return lines, line.get("error"), line.get("code")
            lines.append(line)


def one(mta, op, **fields):
    """The answer's one line. The queue hears of a message only after its sender did: so the question waits for it."""
    if "id" in fields:
        wait_until(lambda: not (ask(mta, op, **fields)[1] or "").startswith("there is no message"), 15,
                   lambda: f"the queue to know {fields['id']}")
    lines, error, _ = ask(mta, op, **fields)
    assert error is None, error
    return lines[0] if lines else None


def code(mta, op, **fields):
    return ask(mta, op, **fields)[2]


def blocked(mta, queue_id):
    return one(mta, "explain", id=queue_id)["blocked_by"]


def states(mta, queue_id):
    """Of its recipients; none as long as the queue-manager has not heard of it."""
    lines, error, _ = ask(mta, "message", id=queue_id)
    return [] if error else [r["state"] for r in lines[0]["recipients"]]


def waits(mta, queue_id, state):
    wait_until(lambda: state in states(mta, queue_id), 15,
               lambda: f"{queue_id} to be {state}: {one(mta, 'message', id=queue_id)}")


def test_pauses_outlive_a_restart(relaying):
    mta, sink = relaying
    link = f"[{sink.address}]:{sink.port}"
    assert code(mta, "pause", scope="queue", name="remote.example", reason="moving") is None
    queue_id = mta.submit("user@remote.example")
    waits(mta, queue_id, "paused")
    assert code(mta, "pause", scope="queue", name="remote.example") == "already"
    mta.kill_everything()
    mta.start()
    waits(mta, queue_id, "paused")
    gates = {g["gate"]: g for g in one(mta, "explain", id=queue_id)["gates"]}
    assert blocked(mta, queue_id) == "pause" and "moving" in gates["pause"]["origin"] and gates["pause"]["by"]
    status = one(mta, "status")
    assert status["pauses"][0]["name"] == "remote.example" and status["states"]["paused"] == 1
    assert code(mta, "pause", scope="everything", reason="all of it") is None
    assert one(mta, "status")["delivering_reason"].endswith("all of it")
    assert code(mta, "resume", scope="everything") is None
    assert code(mta, "resume", scope="everything") == "already"
    assert code(mta, "resume", scope="queue", name="remote.example") is None
    sink.wait_for(1)
    mta.wait_until_empty()
    assert code(mta, "pause", scope="link", name=link) is None
    second = mta.submit("user@remote.example")
    waits(mta, second, "paused")
    assert one(mta, "link", link=link)["paused"]
    assert code(mta, "resume", scope="link", name=link) is None
    mta.wait_until_empty()


def test_hold_release_remove_survive_and_say_who(relaying):
    mta, sink = relaying
    sink.at("rcpt", "450 4.2.0 Not now")
    ids = [mta.submit(f"user{n}@remote.example", sender=f"s{n}@test.example") for n in range(3)]
    for each in ids:
        waits(mta, each, "retrying")
    assert one(mta, "hold", ids=ids[:2], reason="look first")["changed"] == 2
    assert code(mta, "hold", ids=ids[:1]) == "already"
    mta.kill_everything()
    mta.start()
    held = wait_until(lambda: (lambda m: m if len(m) == 2 else None)(ask(mta, "messages", filter=["state=held"])[0]), 15, "two held")
    assert {m["id"] for m in held} == set(ids[:2])
    shown = one(mta, "message", id=ids[0])
    assert shown["held_reason"] == "look first" and shown["held_by"]
    assert shown["recipients"][0]["attempts"][0]["outcome"] == "deferred"
    assert blocked(mta, ids[0]) == "hold"
    assert code(mta, "remove", filter=["sender=nobody@*"]) == "no-match"
    counted = one(mta, "remove", filter=["sender=s1@*", "state=held"], dry_run=True)
    assert counted["matched"] == 1 and counted["changed"] == 0
    assert len(mta.queued_ids()) == 3
    assert one(mta, "remove", filter=["sender=s1@*"], reason="spam")["changed"] == 1
    assert mta.queued_ids() == {ids[0], ids[2]}
    assert mta.logged(rf"{ids[1]}: remove by \S+: spam")
    sink.well_behaved()
    assert one(mta, "release", ids=[ids[0]])["changed"] == 1
    mta.wait_until_empty()
    assert len(sink.messages) == 2


def test_expire_reports_and_lanes_change(relaying):
    mta, sink = relaying
    sink.stop()
    queue_id = mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    waits(mta, queue_id, "retrying")
    assert one(mta, "reprioritise", ids=[queue_id], lane="bulk")["changed"] == 1
    assert code(mta, "reprioritise", ids=[queue_id], lane="bulk") == "already"
    assert code(mta, "reprioritise", ids=[queue_id], lane="fastest") == "bad-request"
    assert one(mta, "message", id=queue_id)["lane"] == "bulk"
    assert one(mta, "expire", filter=["lane=bulk", "domain=remote.*"], reason="too late")["changed"] == 1
    assert "Action: failed" in mta.wait_mailbox(1)[0]
    mta.wait_until_empty()


def test_reroute_and_back(mta, remote):
    here, there = remote(), remote()
    here.stop()
    mta.route("remote.example", here)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    waits(mta, queue_id, "retrying")
    assert code(mta, "reroute", ids=[queue_id], to="nowhere:at:all") == "bad-request"
    assert code(mta, "reroute", ids=[queue_id], to=f"[{mta.address}]:{mta.relay_port}") == "bad-request"
    assert one(mta, "reroute", filter=["all"], to=f"[{there.address}]:{there.port}", reason="it is down")["changed"] == 1
    there.wait_for(1)
    mta.wait_until_empty()
    assert mta.logged(rf"{queue_id}: to=<user@remote\.example>, .*relay=\S*\[{there.address}\]:{there.port}, .*status=sent")


def test_requeue_finds_the_changed_alias(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    assert code(mta, "pause", scope="everything") is None
    queue_id = mta.submit("other@test.example")
    waits(mta, queue_id, "paused")
    mta.aliases.write_text("other: user@remote.example\n")
    mta.command("reload")
    assert one(mta, "requeue", ids=[queue_id])["changed"] == 1
    assert code(mta, "resume", scope="everything") is None
    sink.wait_for(1)
    mta.wait_until_empty()


def test_force_and_what_is_not_there(relaying):
    mta, sink = relaying
    sink.at("rcpt", "450 4.2.0 Not now", times=3)
    queue_id = mta.submit("user@remote.example")
    waits(mta, queue_id, "retrying")
    assert blocked(mta, queue_id) == "retry"
    assert one(mta, "force", ids=[queue_id])["changed"] == 1
    mta.wait_until_empty()
    assert code(mta, "force", scope="link", name="nowhere") == "unknown"
    assert code(mta, "message", id="0123456789ABCD") == "unknown"
    assert code(mta, "hold", ids=["0123456789ABCD"]) == "unknown"
    assert code(mta, "link", link="nowhere") == "unknown"
    assert code(mta, "queue", queue="nowhere") == "unknown"
    assert code(mta, "dance") == "bad-request"
    assert code(mta, "remove") == "bad-request"
    assert code(mta, "remove", filter=["shape=round"]) == "bad-request"
    assert code(mta, "pause", scope="world", name="x") == "bad-request"


def test_damaged_pauses(relaying):
    mta, sink = relaying
    assert code(mta, "pause", scope="queue", name="x.example") is None
    mta.stop()
    (mta.spool / "pauses").write_bytes(b"rubbish")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    waits(mta, queue_id, "paused")
    assert "damaged" in one(mta, "status")["delivering_reason"]
    assert code(mta, "resume", scope="everything") is None
    mta.wait_until_empty()


def test_listing_streams_many(relaying):
    mta, sink = relaying
    assert code(mta, "pause", scope="everything") is None
    ids = {mta.submit([f"u{n}@remote.example" for n in range(20)]) for _ in range(10)}
    lines, error, _ = ask(mta, "messages")
    assert error is None and {m["id"] for m in lines} == ids
    assert len(ask(mta, "messages", limit=3)[0]) == 3
    assert {m["id"] for m in ask(mta, "messages", filter=["recipient=u7@*"])[0]} == ids
    assert one(mta, "status")["oldest"]["id"] == min(ids)
    assert one(mta, "remove", filter=["all"])["changed"] == 10
    mta.wait_until_empty()
