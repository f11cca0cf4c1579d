"""What a sender asks for in the header, or by options of sendmail: a time, a lane, a retry policy. It is done or refused."""
import json
import time

import pytest

from harness.client import message
from harness.watch import wait_until

SOON = 3  # seconds


@pytest.fixture
def outbox(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["retry.patient"] = {"kind": "fixed", "interval": "9m"}
    mta.config["pool.news"] = {"addresses": [mta.address]}
    return mta, sink


def send(mta, fields, port=None, mail_parameters=""):
    with mta.client(port or mta.submission_port) as c:
        return c.deliver("sender@test.example", ["user@remote.example"], message("asked", "Hello.", extra=fields),
                         mail_parameters=mail_parameters)


def shown(mta, queue_id):
    return json.loads(mta.command("message", "show", queue_id, "--json").stdout)


def one_queued(mta):
    wait_until(lambda: mta.queued_ids(), 20, "a message to be queued")
    (queue_id,) = mta.queued_ids()
    return queue_id


@pytest.mark.smoke
def test_sent_at_its_time_without_the_fields(outbox):
    mta, sink = outbox
    mta.start()
    begun = time.time()
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begun + SOON + 1))
    assert send(mta, f"X-Postrider-Send-At: {at}\r\nX-Postrider-Lane: bulk\r\n").startswith("250")
    mta.submit("user@remote.example", "at once")
    sink.wait_for(1)
    assert [m.header("Subject") for m in sink.messages] == ["at once"]
    sink.wait_for(2)
    assert time.time() >= begun + SOON
    assert b"X-Postrider" not in sink.messages[1].content
    mta.wait_until_empty()


def test_what_is_asked_for_is_recorded(outbox):
    mta, _ = outbox
    mta.start()
    assert send(mta, "X-Postrider-Send-At: 2h\r\nX-Postrider-Expires: 1h\r\nX-Postrider-Lane: high\r\n"
                     "X-Postrider-Policy: patient\r\n").startswith("250")
    facts = shown(mta, one_queued(mta))
    assert (facts["lane"], facts["policy"], facts["state"]) == ("high", "patient", "scheduled"), facts
    mta.restart()
    again = shown(mta, one_queued(mta))
    assert again["expiry"] == facts["expiry"] and again["state"] == "scheduled"
    assert mta.command("message", "remove", "all").stdout == "1 message removed\n"
    assert not mta.queued_ids(), "cancelled"


@pytest.mark.parametrize("fields, parameters, complaint", [
    ("X-Postrider-Send-At: tomorrow\r\n", "", "X-Postrider-Send-At: expected a time such as 2026-12-01T08:00:00Z, or a span such as 2h, "
                                              'not "tomorrow"'),
    ("X-Postrider-Send-At: 91d\r\n", "", "X-Postrider-Send-At: more than 90 days ahead"),
    ("X-Postrider-Send-At: 1h\r\n", " HOLDFOR=60", "X-Postrider-Send-At: HOLDFOR or HOLDUNTIL was given as well"),
    ("X-Postrider-Lane: fast\r\n", "", 'X-Postrider-Lane: expected high, normal, bulk, not "fast"'),
    ("X-Postrider-Policy: none\r\n", "", 'X-Postrider-Policy: there is no retry policy "none"'),
    ("X-Postrider-Lane: bulk\r\nX-Postrider-Lane: high\r\n", "", "X-Postrider-Lane: given 2 times, expected once"),
])
def test_refused_with_the_reason(shared, fields, parameters, complaint):
    mta, _ = shared
    assert send(mta, fields, mail_parameters=parameters) == f"554 5.6.0 Error: {complaint}"
    if parameters:
        return
    done = mta.sendmail("user@remote.example", input=fields.replace("\r", "") + "Subject: x\n\nHello.\n")
    assert done.returncode == 65 and complaint in done.stderr, done


def test_a_stranger_asks_in_vain(outbox):
    mta, _ = outbox
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.start()
    mta.submit(f"{mta.user}@test.example", extra="X-Postrider-Send-At: 2h\r\nX-Postrider-Lane: nonsense\r\n")
    assert "X-Postrider" not in mta.wait_mailbox(1)[0]


@pytest.mark.parametrize("option, key, value", [
    ("holdfor=3600", "state", "scheduled"), ("holdfor=2h", "state", "scheduled"), ("holduntil=2h", "state", "scheduled"),
    ("lane=bulk", "lane", "bulk"), ("policy=patient", "policy", "patient"), ("pool=news", "pool", "news"),
])
def test_options_of_sendmail(outbox, option, key, value):
    mta, _ = outbox
    mta.start()
    mta.command("pause", "all")
    done = mta.sendmail("-O", option, "user@remote.example", input="Subject: x\n\nHello.\n")
    assert done.returncode == 0, done
    assert shown(mta, one_queued(mta))[key] == value
    done = mta.sendmail("-O", option.partition("=")[0] + "=no such thing", "user@remote.example", input="Subject: x\n\nHello.\n")
    assert done.returncode == 65 and "X-Postrider-" in done.stderr, done
    assert len(mta.queued_ids()) == 1


def test_asked_for_while_nothing_runs(outbox):
    """The drop directory carries it; what cannot be done is refused while the program still listens."""
    mta, sink = outbox
    mta.start()
    mta.stop()
    assert mta.sendmail("-O", "holdfor=2h", "user@remote.example", input="Subject: later\n\nHello.\n").returncode == 0
    assert mta.sendmail("user@remote.example", input="X-Postrider-Lane: bulk\nSubject: bulk\n\nHello.\n").returncode == 0
    done = mta.sendmail("-O", "lane=fast", "user@remote.example", input="Subject: x\n\nHello.\n")
    assert done.returncode == 65 and "expected high, normal, bulk" in done.stderr, done
    mta.start()
    sink.wait_for(1)
    assert sink.messages[0].header("Subject") == "bulk"
    assert shown(mta, one_queued(mta))["state"] == "scheduled"


def test_values_of_the_senders_own_are_in_every_event_of_the_journal(outbox):
    mta, sink = outbox
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.start()
    assert send(mta, "X-Postrider-Meta-Campaign: spring\r\nX-Postrider-Meta-Order: 4711\r\n").startswith("250")
    assert mta.sendmail("-O", "meta.campaign=autumn", "-f", f"{mta.user}@test.example", "user@remote.example",
                        input="Subject: x\n\nHello.\n").returncode == 0
    mta.wait_until_empty()

    def found(*words):
        return [json.loads(line) for line in mta.command("history", *words, "--events", "--json", check=False).stdout.splitlines()]
    wait_until(lambda: all(any(m["finished"] for m in found(f"meta.campaign={name}")) for name in ("spring", "autumn")), 20,
               "both to be in the journal")
    [message] = found("meta.campaign=spring")
    assert [e["type"] for e in message["events"]] == ["message.accepted", "message.failed", "report.sent", "message.finished"]
    assert all(e["meta"] == {"campaign": "spring", "order": "4711"} for e in message["events"])
    assert message["events"][1]["class"] == "bad-mailbox" and found("class=bad-mailbox", "meta.order=4711")
    assert send(mta, "X-Postrider-Meta-a.b: 1\r\n").startswith("554 5.6.0 Error: X-Postrider-Meta-a.b: expected at most 64 letters")
