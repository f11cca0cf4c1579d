"""Hooks: the events of the journal at web servers and commands, in order, at least once, whatever fails meanwhile."""
import json
import re
import shutil
import threading
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from harness.certificates import make_authority, make_certificate
from harness.hooks import EXAMPLES, NODE_MODULES, Endpoint, Receiver, make_secret
from harness.journal import NODE, Journal
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


def listed(mta):
    return [json.loads(line) for line in mta.command("hook", "list", "--json", check=False).stdout.splitlines()]


def configured(mta):
    return sum(section.startswith("hook.") for section in mta.config)


@pytest.fixture
def running(mta, remote):
    """(mta, sink): delivers to remote.example; not started. Hooks retry soon; a start waits for them, because a new one begins
    with the events that come after it has been read."""
    sink = remote()
    start = mta.start

    def start_with_hooks(*words, **options):
        start(*words, **options)
        wait_until(lambda: all(hook["next"] > 0 for hook in listed(mta)) and len(listed(mta)) == configured(mta), 20,
                   lambda: f"the hooks to be read\n{mta.last_words()}")
    mta.start = start_with_hooks
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


def test_requests_are_signed_as_standard_webhooks_describes(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    mta.hook("shop", endpoint, headers=["X-Tenant: shop"])
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_all(mta, endpoint)
    for request in endpoint.requests:
        assert request.is_signed_with(mta.secrets) and request.path == "/hook"
        assert request.headers["Content-Type"] == "application/json" and request.headers["X-Tenant"] == "shop"
        assert request.headers["User-Agent"] == "Postrider"
    # A second secret, and then the first one is removed: changes of the file are applied without a reload.
    old = mta.secrets
    both = make_secret(secret, 2)
    mta.wait_log(r"secret: changed and applied")
    wait_journal(mta, mta.submit("bob@remote.example"))
    wait_all(mta, endpoint)
    assert endpoint.requests[-1].is_signed_with(both) and not endpoint.requests[-1].is_signed_with(old)


def test_over_tls_the_server_is_verified(running, endpoint, block, secret):
    mta, sink = running
    authority = make_authority(mta.folder, "hooks authority")
    address = block.host(20)
    good = endpoint(certificate=make_certificate(mta.folder, "good", names=[address], issuer=authority))
    bad = endpoint(certificate=make_certificate(mta.folder, "bad", names=["other.example"], issuer=authority))
    mta.config["smtp_client"]["tls_ca_file"] = str(authority[0])
    mta.hook("good", good.url.replace("http:", "https:"))
    mta.hook("bad", bad.url.replace("http:", "https:"))
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_all(mta, good)
    mta.wait_log(r"hook bad: event \d+ not accepted: .*(SSL|certificate)")
    assert not bad.requests


def test_events_are_selected(running, endpoint, secret):
    mta, sink = running
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "250 2.1.5 Ok")
    failures, ann = endpoint(), endpoint()
    mta.hook("failures", failures, events=["message.failed", "suppression.*"])
    mta.hook("ann", ann, filter=["recipient=ann@*", "type=delivered", "type=accepted"])
    mta.start()
    for name in ("ann", "nobody", "bob"):
        wait_journal(mta, mta.submit(f"{name}@remote.example", sender="someone@test.example"))
    mta.command("suppress", "add", "carl@remote.example")
    failures.wait_for(2)
    assert [r.body["type"] for r in failures.requests] == ["message.failed", "suppression.added"]
    assert failures.requests[0].body["recipient"] == "nobody@remote.example"
    ann.wait_for(2)
    assert [r.body["type"] for r in ann.requests] == ["message.accepted", "message.delivered"]
    listed = {h["hook"]: h for h in map(json.loads, mta.command("hook", "list", "--json").stdout.splitlines())}
    wait_until(lambda: all(json.loads(l)["behind"] == 0 for l in mta.command("hook", "list", "--json").stdout.splitlines()), 10,
               "the hooks to have read everything")
    assert listed["ann"]["target"] == ann.url and listed["failures"]["pushed"] == 2


def test_batches_have_one_form_and_an_identifier_of_their_own(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: "hang" if not endpoint.requests else 200
    mta.hook("shop", endpoint, batch=50, timeout="2s")
    mta.start()
    mta.submit("first@remote.example")
    endpoint.wait_for(1)
    for n in range(4):
        wait_journal(mta, mta.submit(f"user{n}@remote.example"))
    first, *_ = endpoint.requests
    expected = wait_all(mta, endpoint)
    again = endpoint.requests[1]
    assert (again.id, again.numbers) == (first.id, first.numbers)  # what has come meanwhile is not added
    assert [r.body["type"] for r in endpoint.requests] == ["batch"] * len(endpoint.requests)
    for request in endpoint.requests:
        node = request.events[0]["node"]
        assert request.id == f"{node}.{request.numbers[0]}-{request.numbers[-1]}" and request.is_signed_with(mta.secrets)
    assert len(endpoint.requests[2].numbers) > 4
    assert endpoint.accepted() == expected[expected.index(first.numbers[0]):]


def test_an_endpoint_that_is_gone_is_switched_off(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: (410, {}, "moved away")
    mta.hook("shop", endpoint)
    mta.start()
    mta.submit("first@remote.example")
    mta.wait_log(r"hook shop: switched off: the endpoint answered 410: moved away")
    wait_until(lambda: "hook shop: switched off" in mta.command("status", check=False).stdout, 10, "status to name it")
    wait_journal(mta, mta.submit("ann@remote.example"))
    mta.restart()
    wait_until(lambda: re.search(r"^shop +off ", mta.command("hook", "list").stdout, re.M), 10, "the cursor to be read")
    assert len(endpoint.requests) == 1
    endpoint.answer = lambda request: 200
    mta.command("hook", "resume", "shop")
    expected = wait_all(mta, endpoint)
    assert endpoint.accepted() == expected[expected.index(endpoint.requests[0].numbers[0]):]


def test_retry_after_is_respected(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: (429, {"Retry-After": "3"}) if not endpoint.requests else 200
    mta.hook("shop", endpoint)
    mta.start()
    mta.submit("first@remote.example")
    endpoint.wait_for(2)
    refused, again = endpoint.requests[:2]
    assert refused.id == again.id
    assert int(again.headers["webhook-timestamp"]) - int(refused.headers["webhook-timestamp"]) >= 3
    assert again.headers["webhook-signature"] != refused.headers["webhook-signature"]
    mta.wait_log(r"not accepted: 429; next attempt in 3 s")


def test_an_answer_that_is_not_whole_or_leads_elsewhere_is_a_failure(running, endpoint, secret):
    mta, sink = running
    endpoint, elsewhere = endpoint(), endpoint()
    answers = ["close", (302, {"Location": elsewhere.url}), 500, (200, {}, "x" * 100_000)]
    endpoint.answer = lambda request: answers[len(endpoint.requests)] if len(endpoint.requests) < len(answers) else 200
    mta.hook("shop", endpoint)
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_until(lambda: len(endpoint.requests) > len(answers), 20, lambda: f"{len(answers) + 1} requests\n{mta.last_words()}")
    assert len({r.id for r in endpoint.requests[:4]}) == 1  # a long answer counts by its status
    assert endpoint.requests[4].id != endpoint.requests[3].id and not elsewhere.requests


def test_413_halves_the_batch(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: 503 if len(endpoint.requests) < 1 else 413 if len(request.numbers) > 2 else 200
    mta.hook("shop", endpoint, batch=100, retry=["2s"])
    mta.start()
    wait_until(lambda: mta.command("hook", "pause", "shop", check=False).returncode == 0, 10, "the hook to have read its cursor")
    wait_journal(mta, mta.submit([f"user{n}@remote.example" for n in range(5)]))
    mta.command("hook", "resume", "shop")
    expected = wait_all(mta, endpoint)
    accepted = endpoint.accepted()
    assert accepted == expected[expected.index(accepted[0]):]
    assert any(r.answer == 413 for r in endpoint.requests)
    assert "dead" not in {p.name for p in (mta.spool / "history").iterdir()}


def test_an_event_that_is_refused_is_given_up_after_three_tries(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: (422, {}, "no thanks") if "poison" in str(request.body) else 200
    mta.hook("shop", endpoint, events=["message.delivered"])
    mta.start()
    for name in ("ann", "poison", "bob"):
        wait_journal(mta, mta.submit(f"{name}@remote.example"))
    wait_until(lambda: any("bob@" in str(r.body) for r in endpoint.requests), 20, "the event after it")
    refused = [r for r in endpoint.requests if "poison" in str(r.body)]
    assert len(refused) == 3 and len({r.id for r in refused}) == 1
    mta.wait_log(rf"hook shop: event {refused[0].numbers[0]} moved to dead/shop\.jsonl: refused 3 times: 422: no thanks")
    [letter] = [json.loads(line) for line in mta.command("hook", "dead", "shop", "--json").stdout.splitlines()]
    assert letter["event"] == refused[0].body and letter["reason"] == "refused 3 times: 422: no thanks"
    assert "poison@remote.example" in mta.command("hook", "dead", "shop").stdout
    endpoint.answer = lambda request: 200
    mta.command("hook", "replay", "shop", "--start-at", str(letter["event"]["seq"]))
    wait_until(lambda: any("poison" in str(r.body) and r.answer == 200 for r in endpoint.requests), 20, "the replay")


def test_if_the_next_event_is_refused_too_the_endpoint_is_at_fault(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: 400
    mta.hook("shop", endpoint, events=["message.*"])
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    mta.wait_log(r"hook shop: paused: the endpoint refused events \d+ and \d+: 400")
    assert "paused" in mta.command("hook", "list").stdout
    first = endpoint.requests[0].numbers[0]
    endpoint.answer = lambda request: 200
    mta.command("hook", "resume", "shop")
    expected = wait_all(mta, endpoint, *{e["type"] for e in journal(mta).values() if e["type"].startswith("message.")})
    assert endpoint.accepted() == expected[expected.index(first):]  # nothing is left out


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_endpoint_that_is_not_ours_pauses_the_hook(running, endpoint, secret, status):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: status
    mta.hook("shop", endpoint)
    mta.start()
    mta.submit("first@remote.example")
    mta.wait_log(rf"hook shop: paused: the endpoint answered {status}")
    wait_until(lambda: f"hook shop: paused: the endpoint answered {status}" in mta.command("status", check=False).stdout, 10,
               "status to name it")
    assert len(endpoint.requests) == 1
    done = mta.command("hook", "pause", "shop", check=False)
    assert done.returncode == 2 and "does not send already" in done.stderr


def test_killed_at_any_point_nothing_is_lost(running, endpoint, secret):
    mta, sink = running
    mta.expects_crashes = True
    endpoint = endpoint()
    mta.hook("shop", endpoint)
    mta.config["master"]["restart_delay"] = "100ms"
    mta.start()
    for n in range(6):
        mta.submit(f"user{n}@remote.example")
        seen = len(endpoint.requests)
        wait_until(lambda: len(endpoint.requests) > seen, 20, "something to be pushed")
        [pid] = mta.pids("events")
        mta.kill("events")
        mta.wait_for_role("events", other_than=[pid])
    wait_journal(mta, mta.submit("last@remote.example"))
    expected = wait_all(mta, endpoint)
    accepted = endpoint.accepted()
    assert sorted(set(accepted)) == expected[expected.index(accepted[0]):]
    assert [n for i, n in enumerate(accepted) if n not in accepted[:i]] == sorted(set(accepted))  # in order, but for repeats
    identifiers = {}
    for request in endpoint.requests:
        assert identifiers.setdefault(request.numbers[0], request.id) == request.id


def test_an_endpoint_that_hangs_delays_no_other(running, endpoint, secret):
    mta, sink = running
    slow, quick = endpoint(), endpoint()
    slow.answer = lambda request: "hang"
    mta.hook("slow", slow, timeout="60s")
    mta.hook("quick", quick)
    mta.start()
    mta.submit("first@remote.example")
    slow.wait_for(1)
    for n in range(5):
        wait_journal(mta, mta.submit(f"user{n}@remote.example"))
    wait_all(mta, quick)
    assert len(slow.requests) == 1
    assert mta.stop() == 0  # nor a stop


def test_a_test_event(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    mta.hook("shop", endpoint)
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_all(mta, endpoint)
    mta.command("hook", "pause", "shop")
    done = mta.command("hook", "test", "shop")
    assert done.stdout == "hook shop: the test event is accepted: 200\n"
    request = endpoint.requests[-1]
    assert request.body["type"] == "hook.test" and request.body["hook"] == "shop" and request.is_signed_with(mta.secrets)
    endpoint.answer = lambda request: (401, {}, "wrong secret")
    done = mta.command("hook", "test", "shop", "--json", check=False)
    assert done.returncode == 1 and json.loads(done.stdout)["answer"] == "401: wrong secret"
    assert mta.command("hook", "test", "other", check=False).returncode == 1


def test_events_are_skipped_and_replayed(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: 500
    mta.hook("shop", endpoint, retry=["1h"])
    mta.start()
    mta.submit("first@remote.example")
    [first] = endpoint.wait_for(1)
    wait_journal(mta, mta.submit("ann@remote.example"))
    assert "failing" in mta.command("hook", "list").stdout
    endpoint.answer = lambda request: 200
    done = mta.command("hook", "skip", "shop")
    assert f"skips event {first.numbers[0]}" in done.stdout
    expected = wait_all(mta, endpoint)
    assert first.numbers[0] not in endpoint.accepted()
    assert "skipped by root" in mta.command("hook", "dead", "shop").stdout
    mta.command("hook", "pause", "shop")
    wait_journal(mta, mta.submit("bob@remote.example"))
    wait_until(lambda: json.loads(mta.command("hook", "list", "--json").stdout)["behind"] > 0, 10, "it to be behind")
    assert json.loads(mta.command("hook", "skip", "shop", "--all", "--json").stdout)["skipped"] > 0
    mta.command("hook", "resume", "shop")
    assert not any("bob@" in str(r.body) for r in endpoint.requests)
    done = mta.command("hook", "replay", "shop", "--start-at", "999999999", check=False)
    assert done.returncode == 64 and "expected the number of an event, from 1 to" in done.stderr
    assert mta.command("hook", "replay", "shop", check=False).returncode == 64
    seen = len(endpoint.requests)
    mta.command("hook", "replay", "shop", "--start-at", "1")
    wait_until(lambda: any("bob@" in str(r.body) for r in endpoint.requests), 20, "everything again")
    again = [n for r in endpoint.requests[seen:] for n in r.numbers]
    assert again[:len(expected)] == list(journal(mta))[:len(expected)]


def test_what_was_removed_before_it_was_sent_is_reported(mta, endpoint, secret, remote):
    events = Journal(mta.spool / "history", start=datetime.now(timezone.utc) - timedelta(hours=2))
    for _ in range(3):
        events.rotate()
        events.message("bob@remote.example")
    events.publish()
    cursors = mta.spool / "history/cursors"
    cursors.mkdir()
    for name in ("patient", "hasty"):
        (cursors / name).write_text('{"v":1,"next":2,"state":"delivering"}\n')
    patient, hasty = endpoint(), endpoint()
    patient.answer = lambda request: 500 if request.numbers[0] == 2 and len(patient.requests) < 3 else 200
    mta.config["history"] = {"keep": "1m"}
    mta.config["hook.patient"] = {"url": patient.url, "secret_file": str(secret), "retry": ["1s"], "hold": "1d"}
    mta.start()
    wait_all(mta, patient)
    assert sorted(set(patient.accepted())) == list(journal(mta))[1:] or patient.accepted()[0] == 2
    mta.wait_log(r"journal: segment removed first=1 ")  # what it has got is no longer held
    mta.config["hook.hasty"] = {"url": hasty.url, "secret_file": str(secret), "hold": "0s"}
    mta.write_config()
    mta.command("reload")
    hasty.wait_for(1)
    gap = hasty.requests[0].body
    assert gap["type"] == "hook.gap" and gap["from"] == 2 and gap["seq"] == gap["to"] >= 3 and gap["why"]
    assert hasty.requests[0].id == f"{gap['node']}.{gap['to']}"
    wait_all(mta, hasty)
    named = [range(r.body["from"], r.body["to"] + 1) for r in hasty.requests if r.body["type"].endswith(".gap") and "from" in r.body]
    seen = {*hasty.accepted()}.union(*named)
    assert seen == {*range(2, max(seen) + 1)}, "numbers are missing without a word"


def test_a_damaged_cursor_pauses_the_hook(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    (mta.spool / "history/cursors").mkdir(parents=True)
    (mta.spool / "history/cursors/shop").write_text("{torn")
    mta.hook("shop", endpoint)
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_until(lambda: "cursors/shop is damaged" in mta.command("status", check=False).stdout, 10, "status to name it")
    assert not endpoint.requests
    mta.command("hook", "replay", "shop", "--start-at", "1")
    mta.command("hook", "resume", "shop")
    assert wait_all(mta, endpoint) == endpoint.accepted()


SINK = """#!/usr/bin/python3
import json, os, sys
with open({log!r}, "a") as log:
    for line in sys.stdin:
        event = json.loads(line)
        print(os.getpid(), event["seq"], file=log, flush=True)
        {more}
        print(event["seq"], flush=True)
"""


@pytest.fixture
def command(mta):
    """A sink that writes what it gets to a file: command(what it does before each acknowledgement)."""
    mta.received = mta.folder / "received"
    mta.received.touch()

    def make(more="pass"):
        file = mta.folder / "sink"
        file.write_text(SINK.format(log=str(mta.received), more=more))
        file.chmod(0o755)
        return [str(file)]
    return make


def received(mta):
    return [tuple(map(int, line.split())) for line in mta.received.read_text().splitlines()]


def test_a_command_gets_events_as_lines(running, command):
    mta, sink = running
    mta.config["hook.kafka"] = {"command": command(), "retry": ["1s"]}
    mta.start()
    for n in range(3):
        wait_journal(mta, mta.submit(f"user{n}@remote.example"))
    wait_until(lambda: received(mta) and received(mta)[-1][1] >= max(journal(mta)), 20, lambda: f"{received(mta)}\n{mta.last_words()}")
    assert len({pid for pid, _ in received(mta)}) == 1
    numbers = [n for _, n in received(mta)]
    assert numbers == list(journal(mta))[list(journal(mta)).index(numbers[0]):]
    done = mta.command("hook", "test", "kafka", check=False)
    assert done.returncode == 64 and "postrider journal cat | " in done.stderr
    mta.stop()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid, _ in received(mta)), 10, "the command to end")


def test_a_command_that_ends_is_started_again(running, command):
    mta, sink = running
    # Before it acknowledges every fifth event for the first time.
    mta.config["hook.kafka"] = {"command": command(
        "sys.exit(1) if event['seq'] % 5 == 0 and open(log.name).read().count(f' {event[\"seq\"]}\\n') == 1 else None"), "retry": ["1s"]}
    mta.start()
    for n in range(3):
        wait_journal(mta, mta.submit(f"user{n}@remote.example"))
    wait_until(lambda: received(mta) and received(mta)[-1][1] >= max(journal(mta)), 30, lambda: f"{received(mta)}\n{mta.last_words()}")
    mta.wait_log(r"hook kafka: event \d+ not accepted: the command has ended; next attempt in \d+ s")
    numbers = [n for _, n in received(mta)]
    assert len({pid for pid, _ in received(mta)}) > 1 and sorted(set(numbers)) == list(range(numbers[0], max(numbers) + 1))


def test_a_command_that_acknowledges_nothing_is_replaced(running, command):
    mta, sink = running
    mta.config["hook.kafka"] = {"command": command("import time; time.sleep(0 if len(open(log.name).readlines()) > 1 else 600)"),
                                "timeout": "1s", "retry": ["1s"]}
    mta.start()
    mta.submit("first@remote.example")
    wait_until(lambda: len({pid for pid, _ in received(mta)}) > 1, 20, lambda: mta.last_words())
    mta.wait_log(r"the command acknowledged nothing for 1 s")
    first = received(mta)[0][0]
    wait_until(lambda: not Path(f"/proc/{first}").exists(), 10, "the first one to be killed")


@pytest.mark.parametrize("section, message", [
    ({"url": "https://x.example/"}, 'required key "secret_file" is missing'),
    ({"url": "http://x.example/", "secret_file": "secret"}, "http:// to another host sends addresses in plain text"),
    ({"url": "ftp://x.example/", "secret_file": "secret"}, 'does not begin with "https://" or "http://"'),
    ({"url": "https://me:word@x.example/", "secret_file": "secret"}, "has a user name or password"),
    ({"url": "not an address", "secret_file": "secret"}, "has characters that must be encoded"),
    ({}, 'required key "url" or "command" is missing'),
    ({"command": ["/bin/cat"], "url": "https://x.example/", "secret_file": "secret"}, "either url or command, not both"),
    ({"command": ["cat"]}, "expected the absolute path of a program"),
    ({"command": ["/bin/cat"], "headers": ["A: b"]}, "headers: only allowed with url"),
    ({"command": ["/bin/cat"], "events": ["mesage.failed"]}, '"mesage.failed" matches no event: expected "*"'),
    ({"command": ["/bin/cat"], "events": []}, "events: the list is empty"),
    ({"command": ["/bin/cat"], "filter": ["colour=red"]}, '"colour=red" is not a word for the history: expected id='),
    ({"command": ["/bin/cat"], "filter": ["since=2d"]}, "there are no limits of time"),
    ({"command": ["/bin/cat"], "batch": 5000}, "5000 is out of range: expected 0 to 1000"),
    ({"command": ["/bin/cat"], "retry": ["never"]}, '"never" is not a valid wait'),
    ({"url": "https://x.example/", "secret_file": "secret", "headers": ["webhook-id: 1"]}, "this field is set by the hook itself"),
    ({"url": "https://x.example/", "secret_file": "secret", "headers": ["no colon"]}, "is not a header field"),
    ({"url": "https://x.example/", "secret_file": "word"}, 'word: line 1: expected a secret that begins with "whsec_"'),
    ({"url": "https://x.example/", "secret_file": "absent"}, "absent"),
    ({"command": ["/bin/cat"], "evnts": ["*"]}, "unknown key hook.shop.evnts: did you mean events?"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_mistakes_in_the_configuration(mta, secret, section, message):
    (mta.folder / "word").write_text("word\n")
    (mta.folder / "word").chmod(0o600)
    mta.config["hook.shop"] = section or {"batch": 1}
    mta.write_config()
    done = mta.command("check", check=False)
    assert done.returncode == 78 and message in done.stderr, done.stderr


def test_names_and_numbers_of_hooks_are_limited(mta):
    mta.config['hook."a b"'] = {"command": ["/bin/cat"]}
    mta.config |= {f"hook.h{n}": {"command": ["/bin/cat"]} for n in range(17)}
    mta.write_config()
    done = mta.command("check", check=False)
    assert done.returncode == 78 and "not a valid hook name" in done.stderr and "too many hooks: expected at most 16" in done.stderr


def test_without_hooks_or_without_a_journal(mta):
    mta.start()
    assert mta.command("hook", "list").stdout == "no hooks are configured\n"
    done = mta.command("hook", "dead", "shop", check=False)
    assert done.returncode == 1 and 'there is no hook "shop"' in done.stderr
    mta.config["history"] = {"enabled": False}
    mta.restart()
    done = mta.command("hook", "list", check=False)
    assert done.returncode == 69 and "history.enabled is false" in done.stderr
    mta.stop()
    mta.config["history"] = {}
    mta.write_config()
    done = mta.command("hook", "list", check=False)
    assert done.returncode == 3 and "not running" in done.stderr


def test_hooks_come_and_go_with_a_reload(running, endpoint, secret):
    mta, sink = running
    first, second = endpoint(), endpoint()
    mta.hook("shop", first)
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_all(mta, first)
    mta.hook("shop", second)
    mta.write_config()
    mta.command("reload")
    wait_journal(mta, mta.submit("bob@remote.example"))
    wait_all(mta, second)
    assert second.accepted()[0] == first.accepted()[-1] + 1
    seen = len(second.requests)
    del mta.config["hook.shop"]
    mta.write_config()
    mta.command("reload")
    assert mta.command("hook", "list").stdout == "no hooks are configured\n"
    wait_journal(mta, mta.submit("carl@remote.example"))
    mta.hook("shop", second)
    mta.write_config()
    mta.command("reload")
    wait_all(mta, second)  # its cursor has been kept
    assert any("carl@" in str(r.body) for r in second.requests[seen:])


def test_names_of_servers_are_looked_up(running, block, secret):
    mta, sink = running
    here = Endpoint("127.0.0.1", block.port())
    mta.hook("shop", f"http://localhost:{here.port}/hook")
    mta.hook("lost", "https://no-such-host.invalid/")
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    wait_all(mta, here)
    mta.wait_log(r"hook lost: event \d+ not accepted: .*[Rr]esolv")
    here.stop()


def test_memory_is_bounded(mta, endpoint, secret):
    events = Journal(mta.spool / "history", start=datetime.now(timezone.utc) - timedelta(hours=1))
    events.rotate()
    line = json.dumps({"node": NODE, "time": events.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "type": "message.delivered",
                       "text": "x" * 500}, separators=(",", ":"))[1:]
    with open(events.file, "w") as out:
        out.writelines(f'{{"v":1,"seq":{n},{line}\n' for n in range(1, 60_001))
    events.next = 60_001
    events.rotate()
    events.write("message.delivered")
    events.publish()
    endpoint = endpoint()
    seen = threading.Semaphore(0)
    endpoint.answer = lambda request: seen.release() or ("hang" if len(request.numbers) > 1 and request.path == "/slow" else 200)
    (mta.spool / "history/cursors").mkdir()
    for n in range(12):
        (mta.spool / f"history/cursors/h{n}").write_text('{"v":1,"next":1,"state":"delivering"}\n')
        mta.config[f"hook.h{n}"] = {"url": f"http://{endpoint.address}:{endpoint.port}/{'slow' if n % 2 else 'quick'}",
                                    "secret_file": str(secret), "batch": 1000, "timeout": "5m"}
    mta.start()

    def listed():
        return [json.loads(each) for each in mta.command("hook", "list", "--json").stdout.splitlines()]
    wait_until(lambda: all(h["behind"] == 0 for h in listed() if int(h["hook"][1:]) % 2 == 0), 60, lambda: f"{listed()}")
    status = Path(f"/proc/{mta.pids('events')[0]}/status").read_text()
    most = int(status.split("VmHWM:")[1].split()[0]) // 1024
    print(f"events with 12 hooks and 60,000 events: {most} MB at most")
    assert most <= 64


def test_metrics(running, endpoint, secret, block):
    mta, sink = running
    endpoint = endpoint()
    endpoint.answer = lambda request: 500 if len(endpoint.requests) < 1 else 200
    port = block.port()
    mta.config["metrics"] = {"listen": [f"{mta.address}:{port}"]}
    mta.hook("shop", endpoint)
    mta.start()
    wait_journal(mta, mta.submit("ann@remote.example"))
    expected = wait_all(mta, endpoint)

    def page():
        return urllib.request.urlopen(f"http://{mta.address}:{port}/metrics", timeout=10).read().decode()
    accepted = len(expected) - expected.index(endpoint.accepted()[0])
    wait_until(lambda: f'postrider_hook_events_total{{hook="shop"}} {accepted}\n' in page(), 15, page)
    text = page()
    for name, value in (("failures_total", 1), ("dead_total", 0), ("lag_events", 0), ("working", 1)):
        assert f'postrider_hook_{name}{{hook="shop"}} {value}\n' in text, text


@pytest.mark.needs("standardwebhooks")
def test_a_receiver_with_the_package_of_standard_webhooks(running, receiver):
    mta, sink = running
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else "250 2.1.5 Ok")
    program = mta.folder / "webhook-receiver.mjs"
    shutil.copy(EXAMPLES / "webhook-receiver.mjs", program)
    (mta.folder / "node_modules").symlink_to(NODE_MODULES)
    receiver = receiver(["node", program])
    mta.hook("one", f"http://{receiver.address}:{receiver.port}/")
    mta.hook("many", f"http://{receiver.address}:{receiver.port}/", batch=10, events=["message.failed"])
    mta.start()
    for name in ("ann", "nobody"):
        wait_journal(mta, mta.submit(f"{name}@remote.example", sender="someone@test.example"))
    last = max(journal(mta))
    wait_until(lambda: any(e["seq"] >= last for e in receiver.events), 20, lambda: f"{last}: {receiver.events}\n{mta.last_words()}")
    assert {"messageSent", "messageFailed", "unknown"} == {e["event"] for e in receiver.events}
    for name in ("one", "many"):
        assert [h for h in map(json.loads, mta.command("hook", "list", "--json").stdout.splitlines()) if h["hook"] == name][0]["failed"] == 0


def test_an_orderly_stop_awaits_the_answer(running, endpoint, secret):
    mta, sink = running
    endpoint = endpoint()
    begun, answered = threading.Event(), threading.Event()
    endpoint.answer = lambda request: begun.set() or answered.wait(10) and 200
    mta.hook("shop", endpoint)
    mta.start()
    mta.submit("ann@remote.example")
    assert begun.wait(15)
    stopping = threading.Thread(target=mta.stop)
    stopping.start()
    mta.wait_log("terminating on signal 15")
    answered.set()
    stopping.join(20)
    mta.start()
    wait_journal(mta, mta.submit("bob@remote.example"))
    wait_all(mta, endpoint)
    accepted = endpoint.accepted()
    assert accepted == sorted(set(accepted))
