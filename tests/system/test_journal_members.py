"""What the journal has only if it is asked for: header fields, and the dialogue of attempts that fail."""
import base64
import json

import pytest

from harness.watch import wait_until
from test_client_auth import accounts, by_relay, relay  # noqa: F401: a fixture
from test_erase import everything
from test_journal import events, journal


def found(mta, *words):
    return {json.loads(line)["id"] for line in mta.command("history", *words, "--json", check=False).stdout.splitlines()}


@pytest.fixture
def sink(mta, remote):
    sink = remote()
    sink.at("rcpt", lambda session, argument: f"550 5.1.1 {argument[3:]}: no such user" if "obody" in argument
            else "450 4.2.1 Later" if "later" in argument else "250 2.1.5 Ok")
    mta.route("remote.example", sink)
    return sink


def test_header_fields_are_in_every_event_of_the_message_and_found(mta, sink):
    mta.config["history"] = {"headers": ["Subject", "List-Id"]}
    mta.start()
    invoice = mta.submit(["user@remote.example", "nobody@remote.example"], "=?utf-8?q?Invoice_4711_f=C3=BCr_Dich?=",
                         extra="List-Id: <bills.test.example>\r\nX-Other: private\r\nSubject: second\r\n")
    plain = mta.submit("user@remote.example", "Invoice 4712")
    done = mta.sendmail("-f", f"{mta.user}@test.example", "user@remote.example", input='Subject: from\n a "program" \x1b[2J\n\nSubject: body\n')
    assert done.returncode == 0, done.stderr
    mta.wait_until_empty()
    wait_until(lambda: sum(e["type"] == "message.finished" for e in journal(mta).values()) >= 3, 15, "all to be recorded")
    expected = {"subject": "Invoice 4711 für Dich", "list-id": "<bills.test.example>"}
    of_invoice = events(mta, invoice)
    assert {e["type"] for e in of_invoice} >= {"message.accepted", "message.failed", "message.delivered", "message.finished"}
    assert all(e["headers"] == expected for e in of_invoice if e["type"] != "message.report_sent"), of_invoice
    assert found(mta, "header.Subject=invoice 4712") == {plain}
    assert found(mta, "header.subject=Invoice*", "type=message.failed") == {invoice}
    assert found(mta, "header.list-id=<bills.test.example>") == {invoice}
    local, = (e for e in journal(mta).values() if e["type"] == "message.accepted" and e["source"] == "local")
    assert local["headers"]["subject"].startswith('from a "program"') and "\x1b" not in local["headers"]["subject"]
    assert "private" not in everything(mta) and "second" not in everything(mta) and "body" not in json.dumps(local["headers"])


def test_nothing_of_it_is_recorded_by_default(mta, sink):
    mta.start()
    queue_id = mta.submit(["user@remote.example", "nobody@remote.example"], "secret subject")
    mta.wait_until_empty()
    wait_until(lambda: any(e["type"] == "message.finished" and e["id"] == queue_id for e in journal(mta).values()), 15, "it to be recorded")
    assert "secret subject" not in everything(mta) and '"dialogue"' not in everything(mta)


def test_fields_with_addresses_and_what_is_no_name_are_refused(mta):
    for names, problem in ((["From"], '"From": addresses are in the journal as sender and recipients'),
                           (["Resent-To"], "in a header field they could not be hashed"),
                           (["Sub ject"], "is not the name of a header field"), ([""], "is not the name of a header field"),
                           ([f"X-{n}" for n in range(11)], "too many fields: expected at most 10")):
        mta.config["history"] = {"headers": names}
        mta.write_config()
        done = mta.command("check", check=False)
        assert done.returncode == 78 and problem in done.stdout + done.stderr, (names, done.stdout, done.stderr)


def test_a_failed_recipient_has_its_dialogue_and_nothing_of_others(mta, sink):
    mta.config["history"] = {"dialogue": "failures"}
    mta.start()
    content = "the words of the message"
    queue_id = mta.submit(["user@remote.example", "nobody@remote.example", "later@remote.example"], body=content)
    wait_until(lambda: {e["type"] for e in events(mta, queue_id)} >= {"message.delivered", "message.failed", "message.deferred"},
               15, lambda: f"all outcomes, there are {events(mta, queue_id)}")
    of = {e["type"]: e for e in events(mta, queue_id) if "attempt" in e}
    assert "dialogue" not in of["message.delivered"]
    failed = of["message.failed"]["dialogue"]
    assert failed[0].startswith("-- ") and failed[0].endswith(f"[{sink.address}]:{sink.port}")
    assert failed[1] == "S: 220 sink.example ESMTP" and failed[2].startswith("C: EHLO ") and failed[3].startswith("S: 250 ")
    assert failed[4].startswith("C: MAIL FROM:<sender@test.example>")
    assert [line for line in failed if "RCPT" in line] == ["C: RCPT TO:<nobody@remote.example>"]
    assert "S: 550 5.1.1 <nobody@remote.example>: no such user" in failed
    deferred = of["message.deferred"]["dialogue"]
    assert "C: RCPT TO:<later@remote.example>" in deferred and "S: 450 4.2.1 Later" in deferred
    for lines in (failed, deferred):
        assert not [line for line in lines if "user@remote" in line or content in line], lines
        assert len(lines) <= 20 and sum(len(line) for line in lines) <= 2048


def test_messages_of_one_connection_do_not_see_each_other(mta, sink):
    mta.config["history"] = {"dialogue": "failures"}
    mta.start()
    mta.command("pause", "all")
    ids = {f"nobody{n}@remote.example": mta.submit(f"nobody{n}@remote.example", sender=f"s{n}@test.example") for n in range(12)}
    mta.command("resume", "all")
    for recipient, queue_id in ids.items():
        wait_until(lambda: events(mta, queue_id, "message.failed"), 15, f"the failure of {recipient}")
        event, = events(mta, queue_id, "message.failed")
        assert f"C: RCPT TO:<{recipient}>" in event["dialogue"]
        strangers = [line for line in event["dialogue"] if "nobody" in line and recipient not in line]
        assert not strangers, strangers


def test_hashed_addresses_are_hashed_in_the_dialogue_too(mta, sink):
    mta.config["history"] = {"dialogue": "failures", "addresses": "hashed"}
    mta.start()
    queue_id = mta.submit("Nobody@remote.example", sender="someone@test.example")
    wait_until(lambda: events(mta, queue_id, "message.failed"), 15, "the failure")
    event, = events(mta, queue_id, "message.failed")
    assert f"C: RCPT TO:<{event['recipient']}>" in event["dialogue"] and "#" in event["recipient"]
    assert "obody@" not in everything(mta) and "someone@" not in everything(mta)


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_passwords_are_not_in_the_dialogue(mta, relay, mechanism):  # noqa: F811
    relay.config["smtpd"]["message_size"] = "1KiB"
    relay.start()
    by_relay(mta, relay, auth=[mechanism])
    accounts(mta, f"{relay.at} ann:secret")
    mta.config["history"] = {"dialogue": "failures"}
    mta.start()
    queue_id = mta.submit("user@remote.example", body="larger than 1 KiB\r\n" * 100)
    wait_until(lambda: events(mta, queue_id, "message.failed"), 15, "the failure")
    event, = events(mta, queue_id, "message.failed")
    assert f"C: AUTH {mechanism}" in event["dialogue"] and event["status"] == "5.3.4", event
    secrets = ["secret", base64.b64encode(b"secret").decode(), base64.b64encode(b"\0ann\0secret").decode(),
               base64.b64encode(b"ann").decode()]
    assert not [line for line in event["dialogue"] if any(secret in line for secret in secrets)], event["dialogue"]
