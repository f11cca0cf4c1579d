"""The journal's events about clients, duplicates and waiting mail: what was refused, to whom and why; bounded, and counted beyond."""
import base64
import json
import re
import threading
import time

from harness.watch import wait_until
from test_auth import plain, submission, users  # noqa: F401: a fixture
from test_idempotency import outbox, queued, say  # noqa: F401: a fixture
from test_idempotency import start as start_with_keys
from test_journal import check_books, check_numbers, events, journal, types_of, wait_types
from test_milter import filters  # noqa: F401: a fixture


def of_type(mta, kind):
    return [e for e in journal(mta).values() if e["type"] == kind]


def wait_of_type(mta, kind, count=1):
    wait_until(lambda: len(of_type(mta, kind)) >= count, 15, lambda: f"{count} of {kind}, there are {of_type(mta, kind)}")
    return of_type(mta, kind)


def history(mta, *words):
    return mta.command("history", "--events", *words).stdout


def test_a_refused_recipient_is_found_by_client_and_reply(relaying):
    mta, sink = relaying
    with mta.client() as c:
        c.say("MAIL FROM:<ann@test.example>")
        assert c.say("RCPT TO:<nobody@test.example>").startswith("550 5.1.1")
    event, = wait_of_type(mta, "session.rejected")
    assert event["client"]["address"] == "127.0.0.1" and event["listener"] == "relay" and event["helo"] == "client.example"
    assert (event["sender"], event["recipient"]) == ("ann@test.example", "nobody@test.example")
    assert (event["stage"], event["code"], event["status"]) == ("rcpt", 550, "5.1.1") and "User unknown" in event["text"]
    assert not {"id", "log_id", "rule", "sampled"} & set(event)
    for words in (["type=session.rejected"], ["client=127.0.0.1"], ["type=rejected", "code=550"], ["recipient=nobody@test.example"]):
        assert "session.rejected" in history(mta, *words), words
    assert mta.command("history", "client=192.0.2.77", check=False).returncode == 1
    assert '"session.rejected"' in mta.command("journal", "cat").stdout


def test_hostile_bytes_are_safe_and_bounded(users):
    mta, sink = users
    mta.start()
    odd = b"a\"b\\\n\r\x01\x1b[2J\xff\xc3("
    with submission(mta) as c:
        assert c.say("AUTH PLAIN " + base64.b64encode(b"\0" + odd + b"\0guess").decode())[0] == "5"
        assert c.say("AUTH PLAIN " + base64.b64encode(b"\0" + b"x" * 400 + b"\0guess").decode())[0] == "5"
    with mta.client() as c:
        c.say("MAIL FROM:<ann@test.example>")
        assert c.say(f'RCPT TO:<"a\\"b<>{"x" * 40}"@test.example>')[0] == "5"
    wait_of_type(mta, "session.rejected")
    users_of = [e["auth"]["user"] for e in wait_of_type(mta, "auth.failed", 2)]
    assert users_of[0].startswith('a"b') and users_of[1] == "x" * 400
    for file in (mta.spool / "history").glob("*.jsonl"):
        for line in file.read_bytes().splitlines():
            json.loads(line.decode())
            assert len(line) < 16384 and not re.search(rb"[\x00-\x1f]", line)
    check_numbers(mta)


def test_above_the_rate_the_rest_is_counted_and_no_client_waits(mta, remote):
    mta.config["history"] = {"door_events_per_second": 5}
    mta.config["smtpd"]["error_delay"] = "0s"
    mta.start()

    def guess(n):
        for _ in range(5):
            with mta.client() as c:
                c.say("MAIL FROM:<ann@test.example>")
                for k in range(8):
                    assert c.say(f"RCPT TO:<nobody{n}.{k}@test.example>")[0] == "5"

    threads = [threading.Thread(target=guess, args=(n,)) for n in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    refused = 3 * 5 * 8

    def counted():
        gaps = [e for e in of_type(mta, "journal.gap") if "count" in e]  # also what came before the queue-manager was connected
        return sum(1 + e.get("sampled", 0) for e in of_type(mta, "session.rejected")) + sum(e["count"] for e in gaps)

    wait_until(lambda: counted() == refused, 20, lambda: f"{refused} to be counted: {counted()}")
    assert len(of_type(mta, "session.rejected")) < refused


def test_failed_authentications_and_limits(users):
    mta, sink = users
    mta.config["auth"]["failures_per_network"] = 2
    mta.config["smtpd"]["user_messages_per_hour"] = 1
    mta.start()
    with submission(mta) as c:
        assert c.say("AUTH PLAIN " + plain("ann", "secret")).startswith("235")
        assert c.say("MAIL FROM:<ann@test.example>").startswith("250")
        c.say("RSET")
        assert c.say("MAIL FROM:<ann@test.example>").startswith("450")
    with submission(mta) as c:
        for _ in range(2):
            assert c.say("AUTH PLAIN " + plain("ann", "guess-wrong")).startswith("535")
    with submission(mta) as c:
        assert c.say("AUTH PLAIN " + plain("ann", "secret")).startswith("421")
    failed = wait_of_type(mta, "auth.failed", 2)
    assert failed[0]["auth"] == {"user": "ann", "mechanism": "PLAIN"} and failed[0]["code"] == 535
    assert failed[0]["listener"] == "submission" and failed[0]["client"]["address"]
    hit = wait_of_type(mta, "limit.hit", 2)
    assert {e["limit"] for e in hit} == {"user_messages_per_hour", "auth.failures_per_network"}
    assert next(e for e in hit if e["code"] == 450)["auth"]["user"] == "ann"
    everything = "".join(file.read_text() for file in (mta.spool / "history").glob("*.jsonl"))
    assert "guess-wrong" not in everything and plain("ann", "guess-wrong") not in everything


def test_a_filter_that_rejects_is_named(mta, filters):
    milter = filters("guard")
    milter.replies["R"] = b"y550 5.7.1 not here\0"
    mta.start()
    with mta.client() as c:
        c.say("MAIL FROM:<ann@test.example>")
        assert c.say(f"RCPT TO:<{mta.user}@test.example>") == "550 5.7.1 not here"
    event, = wait_of_type(mta, "milter.rejected")
    assert event["rule"] == "milter guard" and event["text"] == "not here" and event["stage"] == "rcpt"


def test_a_duplicate_names_the_first_message_on_both_roads(outbox):
    mta, sink = outbox
    start_with_keys(mta)
    first = queued(say(mta, "order-1"))
    assert queued(say(mta, "order-1")) == first
    event, = wait_of_type(mta, "message.duplicate")
    assert event["id"] == first != event["log_id"] and event["idempotency_key"] == "order-1"
    assert event["sender"] == "sender@test.example" and event["recipient"] == "user@remote.example"
    assert event["client"]["address"] == "127.0.0.1" and event["listener"]
    for _ in range(2):
        mta.sendmail("user@remote.example", input="Idempotency-Key: order-2\nSubject: test\n\nHello.\n")
    local = wait_of_type(mta, "message.duplicate", 2)[1]
    assert local["idempotency_key"] == "order-2" and "client" not in local
    assert "message.duplicate" in history(mta, "key=order-1")
    mta.wait_until_empty()
    check_books(mta, [first, local["id"]])


def test_a_link_whose_mail_waits_is_told_once_for_each_change(relaying):
    mta, sink = relaying
    sink.at("ehlo", "421 4.3.2 Not now")
    ids = [mta.submit("user@remote.example") for _ in range(3)]
    mta.wait_log(r"link=.* state=retry", seconds=60)
    mta.wait_log(r"link=.* state=(glitch|retry)", seconds=60, count=4)
    waiting = wait_of_type(mta, "message.waiting", 2)
    links = [e for e in waiting if "link" in e]
    assert [e["state"] for e in links] == ["glitch", "retry"] and "Not now" in links[0]["text"]
    assert len(of_type(mta, "link.failed")) > len(links)
    sink.well_behaved()
    mta.flush()
    mta.wait_until_empty()
    for queue_id in ids:
        wait_until(lambda: types_of(mta, queue_id)[-1:] == ["finished"], 15, "the end to be recorded")
    backed_off = [e for q in ids for e in events(mta, q, "message.delivered") if e.get("waited", {}).get("link", 0) > 0]
    assert backed_off, [events(mta, q, "message.delivered") for q in ids]


def test_an_attempt_says_which_way_it_went_and_where_the_time_went(relaying):
    mta, sink = relaying
    sink.at("rcpt", "450 4.2.1 Later")
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: "deferred" in types_of(mta, queue_id), 15, "an attempt")
    deferred = events(mta, queue_id, "message.deferred")[0]
    assert deferred["queue"] == "remote.example" and deferred["route"] == "remote.example" and "waited" not in deferred
    assert set(deferred.get("took", {})) <= {"queue", "dns", "connect", "tls", "session", "data"}
    mta.command("pause", "all")
    mta.flush()  # due from now on
    begun = time.monotonic()
    sink.well_behaved()
    wait_until(lambda: time.monotonic() > begun + 2.5, 15, "the pause to be long enough")
    mta.command("resume", "all")
    mta.wait_until_empty()
    delivered, finished = wait_last(mta, queue_id)
    assert delivered["waited"]["pause"] >= 1, delivered
    assert finished["waited"] == delivered["waited"] and finished["total"] > delivered["waited"]["pause"] - 1, "whole seconds"


def wait_last(mta, queue_id):
    wait_until(lambda: types_of(mta, queue_id)[-1:] == ["finished"], 15, lambda: str(types_of(mta, queue_id)))
    return events(mta, queue_id)[-2:]


def test_a_damaged_message_that_a_start_puts_aside_is_removed_in_the_journal_too(relaying):
    mta, sink = relaying
    sink.at("mail", "450 4.2.0 Not now")
    good, damaged = (mta.submit("user@remote.example") for _ in range(2))
    wait_until(lambda: all("deferred" in types_of(mta, q) for q in (good, damaged)), 15, "attempts")
    mta.stop()
    file, = mta.spool.glob(f"messages/**/{damaged}")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xff
    file.write_bytes(content)
    mta.expects_crashes = True  # a line of severity critical
    mta.start()
    removed = wait_types(mta, damaged, "accepted", "deferred", "removed")[-1]
    assert removed["who"] == "queue-manager" and removed["why"]
    sink.well_behaved()
    mta.flush()
    mta.wait_until_empty()
    wait_until(lambda: types_of(mta, good)[-1:] == ["finished"], 15, "the other one to be delivered")
    check_books(mta, [good, damaged])


def test_an_address_that_is_only_verified_comes_to_an_end_whatever_happens(relaying):
    mta, sink = relaying
    sink.at("rcpt", lambda session, argument: "450 4.2.1 Later" if "slow" in argument else "550 5.1.1 No" if "no" in argument else "250 2.1.5 Ok")
    mta.sendmail("-bv", "-f", f"{mta.user}@test.example", "slow@remote.example", "no@remote.example", "yes@remote.example", f"{mta.user}@test.example")
    mta.wait_until_empty()
    accepted = next(e for e in journal(mta).values() if e["type"] == "message.accepted" and e["source"] == "local")
    wait_until(lambda: types_of(mta, accepted["id"])[-1:] == ["finished"], 15, lambda: str(types_of(mta, accepted["id"])))
    ends = {e["recipient"]: e["type"] for e in events(mta, accepted["id"], "message.delivered", "message.failed", "message.expired", "message.discarded")}
    assert set(ends) == {"slow@remote.example", "no@remote.example", "yes@remote.example", f"{mta.user}@test.example"}, ends
    assert sum(events(mta, accepted["id"], "message.finished")[0]["counts"].values()) == 4
    check_books(mta, [accepted["id"]])


def test_the_rule_that_reads_a_reply_is_named(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["reply_overrides"] = ["550 at RCPT is temporary"]
    mta.start()
    sink.at("rcpt", "550 5.1.1 Not yet")
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: "deferred" in types_of(mta, queue_id), 15, "an attempt")
    deferred = events(mta, queue_id, "message.deferred")[0]
    assert deferred["rule"] == "550 at RCPT is temporary" and (deferred["code"], deferred["status"]) == (550, "4.1.1")
    sink.well_behaved()
    mta.flush()
    mta.wait_until_empty()
