"""Nodes that do not answer, refuse or fail; and messages that two commands want to move at once."""
import json
import signal
import subprocess
import threading

import pytest

from harness.fake_node import FakeNode
from harness.mta import BUILD
from harness.nodes import Nodes
from harness.sink import silence
from harness.watch import wait_until


class Cluster:
    """mx1, which may move messages to the nodes mx2 and mx3 that are not real."""

    def __init__(self, folder, sink):
        self.nodes = Nodes(folder)
        self.mx1 = self.nodes.add("mx1", start=False)
        self.mx2, self.mx3 = (FakeNode(self.mx1.address, lambda subject: 200) for _ in range(2))
        for name, node in (("mx2", self.mx2), ("mx3", self.mx3)):
            file = self.mx1.folder / f"{name}.token"
            file.write_text("prt_any\n")
            file.chmod(0o600)
            self.mx1.config[f"node.{name}"] = {"url": node.url, "token_file": str(file), "timeout": "60s"}
        self.mx1.route("remote.example", sink)
        self.mx1.start()

    def drain(self):
        return json.loads(self.mx1.command("drain", "--json").stdout)

    def end(self):
        for node in (self.mx2, self.mx3):
            node.end()
        self.nodes.end()


@pytest.fixture
def cluster(folder, remote):
    made = Cluster(folder, remote())
    made.mx1.command("pause", "all")
    yield made
    made.end()


def test_two_moves_at_once_are_one(folder, remote):
    sink = remote()
    in_flight = threading.Event()

    def hang(session, argument):
        in_flight.set()
        silence(session, argument)
    sink.at("rcpt", hang)
    cluster = Cluster(folder, sink)
    try:
        mx1 = cluster.mx1
        id = mx1.submit("user@remote.example", subject="one")
        assert in_flight.wait(20)
        mx1.kill("smtp-client", signal.SIGSTOP)  # so that both wait for the same end of the delivery
        results = {}

        def move(node):
            results[node] = mx1.command("message", "move", id, "--to", node, check=False)
        threads = [threading.Thread(target=move, args=(node,)) for node in ("mx2", "mx3")]
        for thread in threads:
            thread.start()
        for _ in range(3):
            mx1.status()
        mx1.kill("smtp-client", signal.SIGCONT)
        for thread in threads:
            thread.join()
        mx1.wait_until_empty()
        outputs = [(r.returncode, r.stdout, r.stderr) for r in results.values()]
        assert sorted(r.returncode == 0 for r in results.values()) == [False, True], outputs
        assert sorted(cluster.mx2.asked + cluster.mx3.asked) == ["one"]
    finally:
        cluster.end()


def test_a_node_that_does_not_answer_keeps_no_other_waiting(cluster):
    mx1, mx2, mx3 = cluster.mx1, cluster.mx2, cluster.mx3
    mx2.answer = mx2.silence
    lost = [mx1.submit("user@remote.example", subject=f"lost-{n}") for n in range(24)]
    found = mx1.submit("user@remote.example", subject="found")
    mx1.command("message", "move", *lost, "--to", "mx2")
    wait_until(lambda: mx2.asked, 20, "mx2 to be asked")
    mx1.kill("transfer")  # what was under way is in doubt
    count = len(mx2.asked)
    wait_until(lambda: len(mx2.asked) > count, 20, "mx2 to be asked again")
    mx1.command("message", "move", found, "--to", "mx3")
    wait_until(lambda: mx3.taken == ["found"], 20, "mx3 to get its message")
    assert len(mx2.asked) <= 8, "few at a time, until it takes one"


def test_a_node_that_is_no_longer_configured(cluster):
    """What it may have waits, and the status says for what; what it never had stays here."""
    mx1, mx2 = cluster.mx1, cluster.mx2
    mx2.answer = mx2.silence
    ids = [mx1.submit("user@remote.example", subject=f"token-{n}") for n in range(6)]
    mx1.command("message", "move", *ids, "--to", "mx2")
    wait_until(lambda: len(mx2.asked) == 2, 20, "mx2 to be asked")
    for name in ("mx2", "mx3"):
        del mx1.config[f"node.{name}"]
    mx1.write_config()
    mx1.command("reload", check=False)  # transfer ends when it has its answers
    mx1.wait_log('stays here, not moved to node mx2: there is no node "mx2" in the configuration', count=4)
    mx2.ended.set()
    wait_until(lambda: any("2 messages may have" in p and "no section" in p for p in mx1.status()["queue"]["problems"]), 20,
               "the status to say so")
    for id in ids:
        mx1.command("message", "move", "--cancel", "--in-doubt", id, check=False)
    wait_until(lambda: not mx1.status()["queue"]["problems"], 20, "the end of the problem")
    mx1.command("resume", "all")
    mx1.wait_until_empty()


def test_a_command_moves_so_many_and_no_more(cluster):
    """What waits for a node is held in memory and not delivered: a drain moves a whole queue, a few at a time."""
    mx1 = cluster.mx1
    cluster.mx2.answer = cluster.mx2.silence
    mx1.stop()
    subprocess.run([BUILD / "tests/bench/fill-spool", mx1.spool, "10400", "0"], check=True)
    mx1.start(spool=False)
    mx1.wait_log("spool: loaded: 10400 messages", 60)
    done = json.loads(mx1.command("message", "move", "all", "--to", "mx2", "--json", check=False, seconds=120).stdout)
    assert done["matched"] == 10400 and done["changed"] in range(10_000, 10_400), done
    assert any("postrider drain" in each["why"] for each in done["not_changed"]), done
    assert mx1.status()["queue"]["messages"] == 10400


def test_a_drain_leaves_a_failing_node_alone(cluster):
    mx1, mx2, mx3 = cluster.mx1, cluster.mx2, cluster.mx3
    mx2.answer = lambda subject: 503
    subjects = [f"token-{n}" for n in range(60)]
    for subject in subjects:
        mx1.submit("user@remote.example", subject=subject)
    mx1.command("drain", "--to", "mx2,mx3")
    wait_until(lambda: set(subjects) == set(mx3.taken) | set(mx2.asked), 60, lambda: f"the others to go to mx3: {cluster.drain()}")
    wait_until(lambda: cluster.drain()["left"] == len(set(mx2.asked)), 20, "the rest to be in doubt")
    assert len(set(mx2.asked)) < 16 and not set(mx2.asked) & set(mx3.taken)
    mx2.answer = lambda subject: 200
    mx1.wait_until_empty(90)
    assert sorted(mx2.taken + mx3.taken) == sorted(subjects)


def test_a_refused_message_does_not_stop_the_others(cluster):
    mx1, mx2 = cluster.mx1, cluster.mx2
    mx2.answer = lambda subject: 422 if subject.startswith("bad") else 200
    good = [f"good-{n}" for n in range(30)]
    for n, subject in enumerate(good):
        if n % 10 == 0:
            mx1.submit("user@remote.example", subject=f"bad-{n}")
        mx1.submit("user@remote.example", subject=subject)
    mx1.command("drain", "--to", "mx2", "--rate", "20/s")
    wait_until(lambda: len(mx2.taken) == len(good), 20, lambda: f"the good ones to be moved: {cluster.drain()}")
    target, = cluster.drain()["to"]
    wait_until(lambda: cluster.drain()["to"][0]["failed"] == 3, 20, "the refusals to be counted")
    seen = len(mx2.asked)
    assert sorted(mx2.taken) == sorted(good) and seen == len(good) + 3, target
    wait_until(lambda: cluster.drain()["left"] == 3, 20, "the refused ones to be left")


def test_a_second_drain_moves_only_what_it_selects(cluster):
    """The first one is canceled while it is still looking through the queue."""
    mx1, mx2 = cluster.mx1, cluster.mx2
    with mx1.client() as c:
        for n in range(700):
            who = "first" if n < 697 else "second"
            assert c.deliver(f"{who}@test.example", ["user@remote.example"],
                             f"Subject: {who}-{n}\r\n\r\nx\r\n").startswith("250")
    mx1.command("drain", "--to", "mx2", "--rate", "1/s", "sender=first@test.example")
    wait_until(lambda: mx2.taken, 20, "the first drain to move something")
    mx1.command("drain", "--cancel")
    wait_until(lambda: mx1.status()["queue"]["messages"] == 700 - len(mx2.taken), 20, "the last of it to end")
    mx2.taken.clear()
    mx1.command("drain", "--to", "mx2", "sender=second@test.example")
    mx1.command("drain", "--wait", seconds=60)
    assert sorted(mx2.taken) == [f"second-{n}" for n in (697, 698, 699)]


def test_the_rate_of_a_second_drain_is_its_own(cluster):
    mx1, mx2 = cluster.mx1, cluster.mx2
    for n in range(40):
        mx1.submit("user@remote.example", subject=f"token-{n}", sender=f"{'first' if n < 38 else 'second'}@test.example")
    mx1.command("drain", "--to", "mx2", "sender=first@test.example")
    wait_until(lambda: len(mx2.taken) == 38, 20, "the first drain to move its own")
    mx1.command("drain", "--cancel")
    mx1.command("drain", "--to", "mx2", "--rate", "1/s", "sender=second@test.example")
    wait_until(lambda: len(mx2.taken) == 40, 20, "the second drain to move the others")


def test_a_move_does_not_pass_a_report_to_another_node(folder, remote):
    """An attempt that fails while it is to be stopped has its report made here, and only here."""
    sink = remote()
    asked, answer = threading.Event(), threading.Event()

    def refuse_later(session, argument):
        asked.set()
        answer.wait(30)
        return "550 5.1.1 No"
    sink.at("rcpt", refuse_later)
    cluster = Cluster(folder, sink)
    try:
        mx1 = cluster.mx1
        mx1.submit("user@remote.example", subject="fails", sender="sender@remote.example")
        id, = mx1.queued_ids()
        assert asked.wait(20)
        mx1.kill("smtp-client", signal.SIGSTOP)
        answer.set()
        results = []
        thread = threading.Thread(
            target=lambda: results.append(mx1.command("message", "move", id, "--to", "mx2", check=False)))
        thread.start()
        for _ in range(3):
            mx1.status()
        mx1.kill("bounce", signal.SIGSTOP)  # the report takes its time
        mx1.kill("smtp-client", signal.SIGCONT)
        thread.join()
        mx1.kill("bounce", signal.SIGCONT)
        assert results[0].returncode != 0 and "waits for a report" in results[0].stderr, results[0]
        assert cluster.mx2.asked == []
    finally:
        answer.set()
        cluster.end()
