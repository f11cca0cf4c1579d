"""A rate that all nodes of a fleet share, with a real Redis: three nodes with unequal load deliver to one server, whose
own clock counts. Bounds are wide: the exact figure is measured by scripts/soak fleet-rates."""
import signal

import pytest

from harness.client import message
from harness.watch import wait_until
from test_fleet import BACK, PRESENT, away, fleet, nodes, problems, store, wait_states  # noqa: F401

NAMES = ("mx1", "mx2", "mx3")
RATE = 20


def submit(node, count, name):
    """Messages over one connection; the id of the last."""
    with node.client() as c:
        for n in range(count):
            reply = c.deliver("sender@test.example", ["x@remote.example"], message(f"{name}-{n}", "Hello.", "sender@test.example", "x@remote.example", ""))
            assert reply.startswith("250 2.0.0 Ok: queued as "), reply
        c.say("QUIT")
    return reply.split()[-1]


@pytest.fixture
def three(nodes, store, remote):  # noqa: F811
    """(nodes, redis, sink): all follow the store, and nothing is delivered yet."""
    redis, sink = store(), remote()
    all = []
    for name in NAMES:
        node = nodes.add(name, start=False)
        node.route("remote.example", sink)
        node.config['route."remote.example"'] |= {"messages_per_second": RATE, "share_rates": True}
        node.config["fleet"] = {"store": redis.url}
        all.append(node.start())
    for node in all:
        node.wait_log(PRESENT)
        wait_states(node, dict.fromkeys(NAMES, "present"))
        node.command("pause", "all")
    return all, redis, sink


def resume(all):
    for node in all:
        node.command("resume", "all")


def times(sink):
    return sorted(each.at for each in sink.messages)


def most_in(sink, seconds):
    """The most messages that came within any such time."""
    all, first, most = times(sink), 0, 0
    for last, at in enumerate(all):
        while at - all[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def took(sink):
    all = times(sink)
    return all[-1] - all[0]


def test_three_nodes_keep_one_rate(three):
    all, redis, sink = three
    ids = [submit(node, count, node.config["mta"]["node"]) for node, count in zip(all, (120, 80, 40))]
    resume(all)
    wait_until(lambda: len(sink.messages) > 10, 20, "the first messages")
    shown = all[0].command("explain", ids[0]).stdout
    assert "the rate limit that all nodes of the fleet share is reached for now" in shown, shown
    sink.wait_for(240, 120)
    assert len({each.header("Subject") for each in sink.messages}) == 240
    # Each by itself would need 6 s, and come to 60 a second. The limit, and one batch:
    assert took(sink) > 240 / RATE - 2.5, took(sink)
    assert most_in(sink, 5) <= 5 * RATE + 2 * RATE, most_in(sink, 5)
    for node in all:
        node.wait_until_empty()


def test_one_node_alone_has_the_whole_rate(three):
    all, redis, sink = three
    submit(all[0], 120, "mx1")
    resume(all)
    sink.wait_for(120, 60)
    assert took(sink) > 120 / RATE - 2.5
    # A third of the rate would be 18 s.
    assert took(sink) < 15, took(sink)


def test_the_rate_is_divided_while_the_store_is_away(three):
    all, redis, sink = three
    redis.kill()
    for node in all:
        away(node)
        wait_until(lambda: "it keeps to 1/3 of shared rates" in problems(node), 10, lambda: problems(node))
        assert "it keeps to 1/3 of shared rates" in fleet(node)["effect"]
    id = submit(all[0], 60, "mx1")
    submit(all[1], 20, "mx2")
    submit(all[2], 20, "mx3")
    resume(all)
    wait_until(lambda: len(sink.messages) > 5, 20, "the first messages")
    shown = all[0].command("explain", id).stdout
    assert "this node's part of the rate limit that all nodes of the fleet share, 1/3," in shown, shown
    sink.wait_for(80, 60)
    assert most_in(sink, 3) <= 3 * RATE + 3, most_in(sink, 3)  # all three together
    own = sorted(each.at for each in sink.messages if each.header("Subject").startswith("mx1"))
    assert own[-1] - own[0] > (len(own) - 1) / (RATE / 3) - 0.5, own

    redis.begin()  # empty
    for node in all:
        node.wait_log(BACK, seconds=90)
        wait_states(node, dict.fromkeys(NAMES, "present"), 30)
    sink.wait_for(100, 60)
    before = len(sink.messages)
    for node in all:
        node.command("pause", "all")
    for node, count in zip(all, (60, 40, 20)):
        submit(node, count, "again")
    resume(all)
    sink.wait_for(before + 120, 60)
    again = times(sink)[before:]
    assert again[-1] - again[0] > 120 / RATE - 2.5


@pytest.mark.parametrize("victim", ["fleet", "queue-manager"])
def test_a_process_that_dies_delivers_no_faster(three, victim):
    all, redis, sink = three
    all[0].expects_crashes = True
    for node, count in zip(all, (120, 80, 40)):
        submit(node, count, node.config["mta"]["node"])
    resume(all)
    wait_until(lambda: len(sink.messages) > 30, 20, "the first messages")
    all[0].kill(victim, signal.SIGKILL)
    sink.wait_for(240, 120)
    for node in all:
        node.wait_until_empty()
    assert len({each.header("Subject") for each in sink.messages}) == 240
    assert took(sink) > 240 / RATE - 3.5, took(sink)
    assert most_in(sink, 5) <= 5 * RATE + 3 * RATE, most_in(sink, 5)


def test_a_store_that_loses_its_data_under_load(three):
    all, redis, sink = three
    for node, count in zip(all, (120, 80, 40)):
        submit(node, count, node.config["mta"]["node"])
    resume(all)
    for count in (40, 80, 120):
        sink.wait_for(count, 60)
        redis.ask("FLUSHALL")
    sink.wait_for(240, 120)
    assert took(sink) > 240 / RATE - 2.5, took(sink)
    assert most_in(sink, 5) <= 5 * RATE + 2 * RATE, most_in(sink, 5)


def test_what_the_store_holds_is_not_trusted(three):
    """Somebody else has written into it: a moment in the far future, and text."""
    all, redis, sink = three
    submit(all[0], 120, "mx1")
    resume(all)
    sink.wait_for(10, 30)
    key = next(each for each in redis.ask("KEYS", "postrider:rate:*"))
    for name in (key, "postrider:rates"):
        for value in ("9999999999999999 20000", "9999999999999999 9999999999999999", "9999999999999999", "nonsense", "-5 -5",
                      "1e300 1", "nan", "0 0"):
            before = len(sink.messages)
            redis.ask("SET", name, value)
            wait_until(lambda: len(sink.messages) >= min(before + 5, 120), 30, f"mail after {value}")
    sink.wait_for(120, 60)
    assert most_in(sink, 5) <= 5 * RATE + 3 * RATE, most_in(sink, 5)
    redis.ask("DEL", key)
    redis.ask("HSET", key, "a", "list")  # calls fail, but the store works
    submit(all[0], 20, "again")
    sink.wait_for(140, 60)
    again = times(sink)[120:]
    assert again[-1] - again[0] > 20 / (RATE / 3) - 1.5, again[-1] - again[0]


def test_a_fleet_process_that_dies_while_the_store_is_away_keeps_the_nodes_part(three):
    all, redis, sink = three
    all[0].expects_crashes = True
    redis.kill()
    away(all[0])
    wait_until(lambda: "it keeps to 1/3 of shared rates" in problems(all[0]), 10, lambda: problems(all[0]))
    all[0].kill("fleet", signal.SIGKILL)
    wait_until(lambda: "it keeps to its part of shared rates" in problems(all[0]), 60, lambda: problems(all[0]))
    id = submit(all[0], 40, "mx1")
    resume(all)
    wait_until(lambda: len(sink.messages) > 2, 20, "the first messages")
    shown = all[0].command("explain", id).stdout
    assert "this node's part of the rate limit that all nodes of the fleet share, 1/3," in shown, shown
    sink.wait_for(40, 60)
    assert took(sink) > 40 / (RATE / 3) - 1.5, took(sink)


def test_a_pause_of_the_store_of_a_second_is_no_outage(three):
    """Calls for tokens come many a second: those of one pause are late one after the other."""
    all, redis, sink = three
    for node, count in zip(all, (120, 80, 40)):
        submit(node, count, node.config["mta"]["node"])
    resume(all)
    wait_until(lambda: len(sink.messages) > 30, 20, "the first messages")
    redis.ask("EVAL", "local start = os.clock() while os.clock() - start < 1.2 do end", "0")
    sink.wait_for(240, 120)
    for node in all:
        assert not [line for line in node.log() if ": away: " in line]
    assert took(sink) > 240 / RATE - 3.5, took(sink)
