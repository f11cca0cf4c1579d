"""Messages are moved from one node to another: with their state, and each exactly once, whatever dies on the way."""
import json
import os
import re
import signal
import struct
import threading
from pathlib import Path

import pytest

from harness.nodes import Nodes
from harness.watch import wait_until
from test_kill_points import compiled_in
from test_metrics import wait_figures

ROOT = Path(__file__).resolve().parents[2]
POINTS = sorted({name for path in (ROOT / "daemons").rglob("*.cpp")
                 for name in re.findall(r'CRASH_POINT\("([^"]+)"\)', path.read_text())
                 if "transfer" in name} | {"pickup.before_sync", "pickup.after_sync"})


@pytest.fixture
def nodes(folder):
    made = Nodes(folder)
    yield made
    made.end()


@pytest.fixture
def pair(nodes, remote):
    """(mx1, mx2, sink): both run, and mx1 may move messages to mx2; mail for remote.example goes to the sink."""
    sink = remote()
    mx2 = nodes.add("mx2", start=False)
    mx2.route("remote.example", sink)
    mx2.start()
    nodes.invite("mx2")
    mx1 = nodes.add("mx1", start=False)
    mx1.route("remote.example", sink)
    nodes.introduce("mx1", to="mx2")
    mx1.start()
    nodes.wait_for_keys("mx1")
    return mx1, mx2, sink


def shown(node, id):
    return json.loads(node.command("message", "show", id, "--json").stdout)


def queued(node):
    return node.status()["queue"]["messages"]


def moved(mx1, ids):
    """What became of these: their ids on the other node."""
    return [mx1.wait_log(f"{id}: moved to node mx2 as ([0-9A-F]+)")[1] for id in ids]


def test_a_message_goes_with_its_state(pair):
    mx1, mx2, sink = pair
    sink.at("rcpt", lambda session, argument: "451 4.3.0 Later" if "slow@" in argument else None)
    id = mx1.submit(["quick@remote.example", "slow@remote.example"], subject="two", extra="X-Test: yes\r\n")
    mx1.wait_log(f"{id}: to=<slow@remote.example>.*status=deferred")
    mx1.command("message", "hold", id, "--reason", "to be looked at")
    before = shown(mx1, id)
    mx1.command("message", "move", id, "--to", "mx2", "--reason", "maintenance")
    there, = moved(mx1, [id])
    mx1.wait_until_empty()
    after = shown(mx2, there)
    for member in ("arrival", "expiry", "sender", "held_reason", "policy", "size", "client", "submitter"):
        assert after[member] == before[member], member
    by_address = {r["address"]: r for r in after["recipients"]}
    assert by_address["quick@remote.example"]["state"] == "finished"
    slow = {r["address"]: r for r in before["recipients"]}["slow@remote.example"]
    assert by_address["slow@remote.example"]["attempts"] == slow["attempts"]
    assert by_address["slow@remote.example"]["tries"] == slow["tries"] > 0
    sink.well_behaved()
    mx2.command("message", "release", there)
    mx2.wait_until_empty()
    assert sorted(r for m in sink.messages for r in m.recipients) == ["quick@remote.example", "slow@remote.example"]
    assert all(m.header("X-Test") == "yes" for m in sink.messages)
    out, = [json.loads(l) for l in mx1.command("journal", "cat", "--all").stdout.splitlines() if "transferred_out" in l]
    assert out["transfer"] == {"node": "mx2", "id": there} and out["why"] == "maintenance"
    came = [json.loads(l) for l in mx2.command("journal", "cat", "--all").stdout.splitlines() if there in l]
    assert came[0]["source"] == "transfer" and came[1]["transfer"] == {"node": "mx1", "id": id}
    for node in (mx1, mx2):
        assert json.loads(node.command("history", "--check", "--json").stdout)["imbalances"] == []


def test_a_scheduled_message_keeps_its_time_and_its_key(pair, nodes):
    mx1, mx2, sink = pair
    field = "X-Postrider-Send-At: 2h\r\nIdempotency-Key: order-1\r\n"
    done = mx1.sendmail("-i", "user@remote.example", input=field.replace("\r", "") + "Subject: later\n\nx\n")
    assert done.returncode == 0, done.stderr
    id, = mx1.queued_ids()
    before = shown(mx1, id)
    assert before["state"] == "scheduled"
    mx1.command("message", "move", id, "--to", "mx2")
    there, = moved(mx1, [id])
    after = shown(mx2, there)
    assert after["state"] == "scheduled"
    assert after["recipients"][0]["next_attempt"] == before["recipients"][0]["next_attempt"]
    again = mx2.sendmail("-i", "user@remote.example", input=field.replace("\r", "") + "Subject: later\n\nx\n")
    assert again.returncode == 0 and queued(mx2) == 1, "mx2 knows the key"


def test_only_nodes_may_send_messages(pair, nodes):
    _, mx2, _ = pair
    api = nodes.apis["mx2"]
    type = "application/vnd.postrider.message"
    node = nodes.tokens["mx2"]
    other = mx2.command("token", "add", "shop", "--scope", "submit,operate,remove,admin").stdout.strip()
    wait_until(lambda: api.exchange("GET", "/v1/status", token=other).status != 401, 20, "the token to be in force")
    assert api.request("POST", "/v1/transfer", b"x", token=other, type=type).status == 403
    assert api.request("POST", "/v1/transfer", b"x", token=None, type=type).status == 401
    for wrong in (b"", b"abc", b"\0\0\0\0", struct.pack("<I", 10) + b"short", struct.pack("<I", 4) + b"junkcontent"):
        answer = api.request("POST", "/v1/transfer", wrong, token=node, type=type)
        assert answer.status == 422, (wrong, answer.body)
    assert api.request("POST", "/v1/transfer", b"x", token=node, type="message/rfc822").status == 415
    assert queued(mx2) == 0


def test_what_is_in_doubt_waits_and_is_asked_about_again(pair):
    mx1, mx2, sink = pair
    mx1.metrics_port = mx1.block.port()
    mx1.config["metrics"] = {"listen": [f"{mx1.address}:{mx1.metrics_port}"]}
    mx1.restart()
    mx1.command("pause", "all")
    id = mx1.submit("user@remote.example", subject="doubtful")
    mx2.kill("http", signal.SIGSTOP)  # stopped: it takes the connection and says nothing
    mx1.command("message", "move", id, "--to", "mx2")
    wait_until(lambda: any("in doubt" in reason for entry in mx1.queue() for reason in entry[4]), 20, "mailq to say so")
    assert "in doubt" in mx1.command("explain", id).stdout
    assert any("may have" in p for p in mx1.status()["queue"]["problems"])
    wait_figures(mx1, lambda f: f("postrider_transfers_in_doubt") == 1)
    for change in (["release"], ["remove"], ["retry"], ["hold"], ["move", "--to", "mx2"], ["move", "--cancel"]):
        refused = mx1.command("message", change[0], id, *change[1:], check=False)
        assert refused.returncode != 0, change
    mx1.command("resume", "all")
    mx1.restart()  # it is still so
    wait_until(lambda: "in doubt" in mx1.command("explain", id, check=False).stdout, 20, "explain to say so again")
    for pid in mx2.pids("http"):
        os.kill(pid, signal.SIGCONT)
    moved(mx1, [id])
    mx1.wait_until_empty()
    mx2.wait_until_empty()
    assert [m.header("Subject") for m in sink.messages] == ["doubtful"]


def test_a_refused_message_stays_and_is_delivered(pair, nodes):
    mx1, mx2, sink = pair
    mx1.command("pause", "all")
    id = mx1.submit("user@remote.example", subject="stays")
    (mx1.folder / "mx2.token").write_text("prt_wrong\n")
    mx1.command("reload")
    mx1.command("message", "move", id, "--to", "mx2")
    mx1.wait_log(f"{id}: not moved to node mx2 yet: 401")
    wait_until(lambda: mx1.command("message", "move", id, "--cancel", check=False).returncode == 0, 20, "an attempt to end")
    mx1.command("resume", "all")
    mx1.wait_until_empty()
    assert [m.header("Subject") for m in sink.messages] == ["stays"]
    refused = mx1.command("message", "move", id, "--to", "nowhere", check=False)
    assert refused.returncode != 0 and 'no node "nowhere"' in refused.stderr


@pytest.mark.smoke
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_every_step(nodes, remote, point):
    if not compiled_in():
        pytest.skip("kill points are not compiled in")
    victim = "mx2" if point.startswith(("pickup.", "http.")) else "mx1"
    sink = remote()
    record = nodes.folder / "hits"
    mx2 = nodes.add("mx2", start=False)
    mx1 = nodes.add("mx1", start=False)
    for node in (mx1, mx2):
        node.route("remote.example", sink)
        node.config["master"].update(restart_delay="50ms")
    nodes.all[victim].wrap(POSTRIDER_KILL_POINT=f"{point}:2", POSTRIDER_KILL_RECORD=str(record))
    nodes.all[victim].expects_crashes = True
    mx2.start()
    nodes.invite("mx2")
    nodes.introduce("mx1", to="mx2")
    mx1.start()
    mx1.command("pause", "all")
    ids = [mx1.submit("user@remote.example", subject=f"token-{n}") for n in range(6)]
    mx1.command("message", "move", *ids, "--to", "mx2", check=False)
    mx1.command("message", "move", "all", "--to", "mx2", check=False)
    wait_until(record.exists, 20, f"{point} to be passed")
    wait_until(lambda: move_all(mx1), 60, lambda: f"the messages to be moved\n{mx1.last_words()}")
    mx2.wait_until_empty(30)
    assert sorted(m.header("Subject") for m in sink.messages) == [f"token-{n}" for n in range(6)]


def move_all(mx1):
    """What the command has not reached because a daemon died, it reaches now."""
    if not mx1.spool_files():
        return True
    mx1.command("message", "move", "all", "--to", "mx2", check=False)
    return False


def test_a_node_is_emptied_into_two_others(nodes, remote):
    sink = remote()
    sink.at("rcpt", lambda session, argument: "451 4.3.0 Later" if "waits@" in argument else None)
    for name in ("mx2", "mx3", "mx1"):
        node = nodes.add(name, start=False)
        node.route("remote.example", sink)
        if name == "mx1":
            nodes.introduce("mx1", to="mx2")
            nodes.introduce("mx1", to="mx3")
        node.start()
        if name != "mx1":
            nodes.invite(name)
    mx1, mx2, mx3 = (nodes.all[n] for n in ("mx1", "mx2", "mx3"))
    waiting = [mx1.submit("waits@remote.example", subject=f"token-waits-{n}") for n in range(20)]
    held = mx1.submit("waits@remote.example", subject="token-held")
    mx1.command("message", "hold", held, "--reason", "look at it")
    later = mx1.sendmail("-i", "user@remote.example", input="X-Postrider-Send-At: 2h\nSubject: token-later\n\nx\n")
    assert later.returncode == 0, later.stderr
    mx1.wait_log("status=deferred", count=20)
    with mx1.client() as before:
        mx1.command("drain", "--to", "mx2,mx3", "--rate", "500/s", "--reason", "new disk")
        wait_until(lambda: nodes.apis["mx1"].exchange("GET", "/readyz", token=None).status == 503, 20, "mx1 to be not ready")
        assert before.reply().startswith("421 4.3.2 ")
    with mx1.client(greet=True, hello=False) as c:
        assert c.banner == "421 4.3.2 mta.test.example Error: this server takes no mail now, use another one", c.banner
    assert mx1.sendmail("-i", "user@remote.example").returncode == 75
    mx1.kill("queue-manager")  # it continues
    wait_until(lambda: mx1.command("drain", check=False).returncode == 0, 20, "the queue-manager to be there again")
    done = mx1.command("drain", "--wait", seconds=60)
    assert "drained: moved" in done.stdout, done.stdout
    mx1.wait_until_empty()
    state = json.loads(mx1.command("drain", "--json").stdout)
    assert state["finished"] and state["left"] == 0 and state["reason"] == "new disk"
    moved_to = {each["node"]: each["moved"] for each in state["to"]}
    assert sum(moved_to.values()) >= 20 and all(count > 0 for count in moved_to.values()), moved_to
    assert queued(mx2) + queued(mx3) == 22
    states = [json.loads(line)["state"] for node in (mx2, mx3) for line in node.command("message", "list", "--json").stdout.splitlines()]
    assert states.count("held") == 1 and states.count("scheduled") == 1, states
    mx1.command("drain", "--cancel")
    wait_until(lambda: nodes.apis["mx1"].exchange("GET", "/readyz", token=None).status == 200, 20, "mx1 to be ready")
    sink.well_behaved()
    for node in (mx2, mx3):
        node.command("message", "release", "state=held", check=False)
        node.flush()
    wait_until(lambda: len(sink.messages) >= len(waiting) + 1, 30, "the messages to arrive")
    for node in (mx2, mx3):
        node.command("message", "schedule", "now", "state=scheduled", check=False)
        node.wait_until_empty(30)
    assert sorted(m.header("Subject") for m in sink.messages) == sorted(
        [f"token-waits-{n}" for n in range(20)] + ["token-held", "token-later"])


def test_a_node_is_drained_under_load_while_everything_is_killed(nodes, remote):
    """What clients were told is taken is delivered exactly once, whichever process dies while it is moved."""
    sink = remote()
    for name in ("mx2", "mx1"):
        node = nodes.add(name, start=False)
        node.route("remote.example", sink)
        node.config["master"].update(restart_delay="50ms")
        node.expects_crashes = True
        if name == "mx1":
            nodes.introduce("mx1", to="mx2")
        node.start()
        if name == "mx2":
            nodes.invite("mx2")
    mx1, mx2 = nodes.all["mx1"], nodes.all["mx2"]
    for node in (mx1, mx2):
        node.command("pause", "all")  # so that nothing is in flight when a process is killed
    taken = []

    def load():
        for n in range(150):
            try:
                mx1.submit("user@remote.example", subject=f"token-{n}")
                taken.append(f"token-{n}")
            except Exception:
                pass
    sender = threading.Thread(target=load)
    sender.start()
    wait_until(lambda: len(taken) >= 30, 30, "some load")
    mx1.command("drain", "--to", "mx2")
    sender.join()
    for role, node in (("transfer", mx1), ("queue-manager", mx1), ("http", mx2), ("pickup", mx2), ("queue-manager", mx2), ("transfer", mx1)):
        before = queued_or_none(mx2)
        node.kill(role)
        wait_until(lambda: queued_or_none(mx2) != before or not mx1.spool_files(), 60, "the drain to go on")
    wait_until(lambda: not mx1.spool_files(), 90, lambda: f"mx1 to be empty\n{mx1.last_words()}")
    wait_until(lambda: mx2.command("resume", "all", check=False).returncode == 0, 20, "mx2 to deliver")
    mx2.wait_until_empty(60)
    assert sorted(m.header("Subject") for m in sink.messages) == sorted(taken)


def queued_or_none(node):
    try:
        return queued(node)
    except Exception:
        return None
