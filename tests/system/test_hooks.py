"""Hooks: the events of the journal at web servers and commands, in order, at least once, whatever fails meanwhile."""
import pytest

from harness.hooks import Endpoint, Receiver, make_secret
from harness.watch import wait_until
from test_journal import journal


@pytest.fixture
def secret(mta):
    mta.secret = mta.folder / "secret"
    mta.secrets = make_secret(mta.secret)
    return mta.secret


@pytest.fixture
def endpoint(block):
    made = []

    def make(**options):
        made.append(Endpoint(block.host(20 + len(made)), block.port(), **options))
        return made[-1]
    yield make
    for each in made:
        each.stop()


@pytest.fixture
def receiver(mta, secret, block):
    made = []

    def make(*arguments):
        made.append(Receiver(block.host(40 + len(made)), block.port(), secret, *arguments))
        return made[-1]
    yield make
    for each in made:
        each.stop()


@pytest.fixture
def running(mta, remote):
    """(mta, sink): delivers to remote.example; not started. Hooks retry soon."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.hook = lambda name, target, **more: mta.config.__setitem__(f"hook.{name}", {
        "url": target if isinstance(target, str) else target.url, "secret_file": str(mta.folder / "secret"), "retry": ["1s"], **more})
    return mta, sink


def wait_journal(mta, queue_id, kind="message.finished"):
    wait_until(lambda: any(e.get("id") == queue_id and e["type"] == kind for e in journal(mta).values()), 15,
               lambda: f"{kind} of {queue_id} in the journal")


def wait_all(mta, endpoint, *types):
    """Until the endpoint has accepted every event of the journal (of these types); returns their numbers."""
    def expected():
        return [n for n, e in journal(mta).items() if not types or e["type"] in types]
    wait_until(lambda: expected() and endpoint.accepted()[-1:] == expected()[-1:], 20,
               lambda: f"{expected()} to be accepted; {endpoint.accepted()} were\n{mta.last_words()}")
    return expected()


def test_the_receiver_of_the_manual_gets_what_happens(running, receiver):
    mta, sink = running
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "250 2.1.5 Ok")
    receiver = receiver()
    mta.hook("shop", f"http://{receiver.address}:{receiver.port}/mail", events=["message.*"])
    mta.start()
    ids = {mta.submit("ann@remote.example"): "delivered", mta.submit("nobody@remote.example"): "bounced"}
    for queue_id in ids:
        wait_journal(mta, queue_id)
    expected = wait_until(lambda: [n for n, e in journal(mta).items() if e["type"].startswith("message.")], 10, "events")
    wait_until(lambda: receiver.events and receiver.events[-1]["seq"] >= expected[-1], 20,
               lambda: f"{expected}; received {receiver.events}\n{mta.last_words()}")
    lines = journal(mta)
    for event in receiver.events:
        of_journal = lines[event["seq"]]
        assert {k: v for k, v in event.items() if k not in ("event_type", "webhook_id")} == of_journal
        assert event["webhook_id"] == f"{event['node']}.{event['seq']}"
    assert [e["seq"] for e in receiver.events][:len(expected)] == expected
    for queue_id, name in ids.items():
        assert name in [e["event_type"] for e in receiver.events if e.get("id") == queue_id]
        assert "queued" in [e["event_type"] for e in receiver.events if e.get("id") == queue_id]


def test_a_receiver_that_was_down_gets_everything_in_order(running, receiver):
    mta, sink = running
    receiver = receiver()
    mta.hook("shop", f"http://{receiver.address}:{receiver.port}/")
    mta.start()
    first = mta.submit("ann@remote.example")
    wait_journal(mta, first)
    wait_until(lambda: [e for e in receiver.events if e.get("id") == first and e["type"] == "message.finished"], 20, "the first message")
    receiver.stop()
    for n in range(3):
        wait_journal(mta, mta.submit(f"user{n}@remote.example"))
    mta.wait_log(r"hook shop: event \d+ not accepted: .*; next attempt in \d+ s")
    wait_until(lambda: "hook shop: does not accept events since" in mta.command("status", check=False).stdout, 20, "status to name it")
    receiver.start()
    expected = list(journal(mta))
    wait_until(lambda: [e["seq"] for e in receiver.events][-1] >= expected[-1], 20, lambda: f"{expected}; {receiver.events}")
    numbers = [e["seq"] for e in receiver.events]
    begin = expected.index(numbers[0])
    assert numbers[:len(expected) - begin] == expected[begin:]
    mta.wait_log(r"hook shop: accepts events again")
    wait_until(lambda: "hook shop" not in mta.command("status", check=False).stdout, 20, "the problem to be gone")
