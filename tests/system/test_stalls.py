"""Deliveries that do not move: what waits behind them goes another way, what an operator removes is not delivered, and
what trickles is ended."""
import threading

import pytest


@pytest.fixture
def gate():
    """An event that behaviours of the sink wait for; open in the end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def slow_remote(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    return sink


def waiting(gate, reached):
    def behave_until(session, argument):
        reached.set()
        gate.wait(60)
    return behave_until


def test_one_stalled_connection_holds_nobody_else_up(mta, slow_remote, gate):
    """One of sixty messages waits for its reply; with it only what was pipelined behind it."""
    count = threading.Lock(), []

    def stall_once(session, argument):
        with count[0]:
            count[1].append(session.number)
            mine = len(count[1]) == 20
        if mine:
            gate.wait(60)
    slow_remote.at("dot", stall_once)
    mta.start()
    for n in range(60):
        mta.submit("user@remote.example", subject=f"number {n}")
    slow_remote.wait_for(58, 30)
    gate.set()
    slow_remote.wait_for(60, 30)
    mta.wait_until_empty()
    assert len({m.header("Subject") for m in slow_remote.messages}) == 60 == len(slow_remote.messages)


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
def test_what_is_removed_in_flight_is_not_delivered(mta, slow_remote, gate, stage):
    reached = threading.Event()
    slow_remote.at(stage, waiting(gate, reached), times=1)
    mta.start()
    queue_id = mta.submit("user@remote.example", subject="removed")
    assert reached.wait(20)
    done = mta.command("message", "remove", queue_id)
    assert done.stdout == "1 message removed\n"
    gate.set()
    mta.submit("user@remote.example", subject="kept")
    slow_remote.wait_for(1)
    mta.wait_until_empty()
    assert [m.header("Subject") for m in slow_remote.messages] == ["kept"]
    mta.wait_log(rf"{queue_id}: remove by ")


def test_what_cannot_be_stopped_any_more_is_not_said_to_be_removed(mta, slow_remote, gate):
    reached = threading.Event()
    slow_remote.at("dot", waiting(gate, reached), times=1)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    assert reached.wait(20)
    done = mta.command("message", "remove", queue_id, check=False)
    assert done.returncode == 2 and f"{queue_id} is being delivered now and can no longer be stopped" in done.stderr, done
    gate.set()
    slow_remote.wait_for(1)
    mta.wait_log(rf"{queue_id}: to=<user@remote.example>, .*status=sent")
    mta.wait_until_empty()


def test_a_server_that_takes_little_at_a_time_is_left(mta, slow_remote, gate):
    def trickle(session, argument):
        while session.socket.recv(4096) and not gate.wait(0.05):
            pass
    slow_remote.at("content", trickle, times=1)
    mta.config["smtp_client"] = {"block_timeout": "1s", "minimum_rate": "4MiB"}
    mta.start()
    queue_id = mta.submit("user@remote.example", body="A line of the letter, as long as lines are.\n" * 400_000)
    mta.wait_log(rf"{queue_id}: to=<user@remote.example>, .*status=deferred \(\S+ accepts the message too slowly: \d+ bytes in \d+ s\)", 30)
    assert slow_remote.messages == []
