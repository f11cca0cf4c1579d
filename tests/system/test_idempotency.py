"""Idempotency keys: whatever is repeated, and whoever dies meanwhile, a message goes out once."""
import re
import shutil
import signal
import threading
import time

import pytest

from harness.client import message
from harness.mta import kill
from harness.watch import wait_until
from test_auth import plain, submission, users  # noqa: F401: a fixture

KEY = "Idempotency-Key: "


@pytest.fixture
def outbox(mta, remote):
    """(mta, sink): three workers; the submission port takes mail from this host."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 3
    mta.config["master"]["restart_delay"] = "50ms"
    return mta, sink


def say(mta, key, body="Hello.", port=None, subject="test", recipients=("user@remote.example",), **options):
    """One submission over SMTP with a connection of its own; the reply to the final dot."""
    with mta.client(port or mta.submission_port) as c:
        content = message(subject, body, extra=f"{KEY}{key}\r\n").replace(
            "Message-ID: <", f"Message-ID: <{time.monotonic_ns()}.")
        return c.deliver("sender@test.example", recipients, content, **options)


def start(mta):
    """And waits until the spool has been read for keys: until then keyed mail is put off."""
    mta.start()
    mta.wait_log("idempotency keys: all messages in the spool have been read")


def queued(reply):
    found = re.fullmatch(r"250 2\.0\.0 Ok: queued as ([0-9A-F]{10,14})", reply)
    assert found, reply
    return found[1]


def taken(mta, key, **options):
    """As a client does that is not sure: again until it is told a queue id."""
    replies = []

    def attempt():
        try:
            replies.append(say(mta, key, **options))
        except OSError:
            return None
        except Exception as closed:
            replies.append(str(closed))
            return None
        assert replies[-1][0] in "24", replies
        return queued(replies[-1]) if replies[-1].startswith("250") else None
    return wait_until(attempt, 30, lambda: f"{key} to be taken: {replies[-3:]}\n{mta.last_words()}")


def subjects(sink):
    return sorted(m.header("Subject") for m in sink.messages)


@pytest.mark.smoke
def test_the_key_alone_decides(outbox, block):
    """A program that makes its message anew when it tries again: another boundary, another text, other recipients."""
    mta, sink = outbox
    careful = block.port()
    mta.config["listen.careful"] = {**mta.config["listen.submission"], "addresses": [f"{mta.address}:{careful}"],
                                    "idempotency_match": "content"}
    start(mta)
    first = queued(say(mta, "order-1"))
    for other in (dict(body="Other."), dict(subject="other"), dict(recipients=("a@remote.example", "b@remote.example"))):
        assert queued(say(mta, "order-1", **other)) == first
    mta.wait_log(rf"duplicate of {first}: not sent, because of its idempotency key order-1 \(its content is not the same\)$", count=3)
    assert queued(say(mta, "order-1")) == first
    mta.wait_log(rf"duplicate of {first}: not sent, because of its idempotency key order-1$")
    assert mta.sendmail("-oi", "user@remote.example", input=f"Subject: x\n{KEY}run-1\n\nHello.\n").returncode == 0
    for text in ("Hello.", "Hello again."):
        again = mta.sendmail("-oi", "-v", "user@remote.example", input=f"Subject: x\n{KEY}run-1\n\n{text}\n")
        assert again.returncode == 0 and "it is a duplicate of" in again.stdout, again
    # Where a listener compares the content, the same submitter's key is no help.
    assert queued(say(mta, "order-1", port=careful)) == first
    assert say(mta, "order-1", port=careful, body="Other.").startswith("554 5.6.0 Error: Idempotency-Key was used for other content")
    mta.wait_until_empty()
    assert [len(m.recipients) for m in sink.messages] == [1, 1]


@pytest.mark.smoke
def test_one_message_however_often_it_is_sent(outbox):
    mta, sink = outbox
    mta.config["idempotency"] = {"match": "content"}
    start(mta)
    first = queued(say(mta, "order-1"))
    assert all(queued(say(mta, "order-1")) == first for _ in range(6)), "on whichever worker"
    assert mta.wait_log(rf"duplicate of {first}: not sent, because of its idempotency key order-1$", count=6)
    sink.wait_for(1)
    assert sink.messages[0].header("Idempotency-Key") is None, "the key is ours"
    mta.wait_until_empty()
    assert queued(say(mta, "order-1")) == first, "also when it has been delivered"
    # What a message is: not its fields of every attempt, nor the order of recipients.
    two = ("a@remote.example", "b@remote.example")
    pair = queued(say(mta, "order-2", recipients=two))
    assert queued(say(mta, "order-2", recipients=two[::-1])) == pair
    for other in (dict(body="Other."), dict(subject="other"), dict(recipients=two), dict(rcpt_parameters=" NOTIFY=NEVER"),
                  dict(mail_parameters=" HOLDFOR=60")):
        assert say(mta, "order-1", **other) == f"554 5.6.0 Error: Idempotency-Key was used for other content, which was queued as {first}"
    assert mta.logged(r"reject: END-OF-MESSAGE .* 554 5\.6\.0 Error: Idempotency-Key was used")
    scheduled = queued(say(mta, "order-3", mail_parameters=" HOLDFOR=3600"))
    assert queued(say(mta, "order-3", mail_parameters=" HOLDFOR=3600")) == scheduled, "as the client has put it"
    # One's own, over BDAT.
    with mta.client(mta.submission_port) as c:
        content = message("test", "Hello.", extra=f"{KEY}order-1\r\n").encode()
        for line in ("MAIL FROM:<sender@test.example>", "RCPT TO:<user@remote.example>"):
            assert c.say(line).startswith("250")
        c.send(b"BDAT %d\r\n" % 20 + content[:20])
        assert c.reply().startswith("250")
        c.send(b"BDAT %d LAST\r\n" % (len(content) - 20) + content[20:])
        assert queued(c.reply()) == first
        # And two in one go: each command's reply in its place.
        assert queued(c.deliver("sender@test.example", ["user@remote.example"], content)) == first
    shown = mta.command("message", "show", scheduled).stdout
    assert re.search(r"Idempotency:?\s+order-3", shown), shown
    wait_until(lambda: mta.queued_ids() == {scheduled}, 20, "the others to be delivered")
    assert [len(m.recipients) for m in sink.messages] == [1, 2]


def test_keys_that_are_none(outbox):
    mta, sink = outbox
    start(mta)

    def refused(extra):
        with mta.client(mta.submission_port) as c:
            return c.deliver("sender@test.example", ["user@remote.example"], message("x", extra=extra))
    assert refused(KEY + "\r\n") == "554 5.6.0 Error: Idempotency-Key: the key is empty"
    assert refused(f"{KEY}a\r\nidempotency-key: a\r\n") == "554 5.6.0 Error: Idempotency-Key: there are 2 such fields, expected one"
    assert refused(f"{KEY}{'k' * 256}\r\n") == "554 5.6.0 Error: Idempotency-Key: the key is longer than 255 characters"
    assert refused(f"{KEY}two\r\n words\r\n") == "554 5.6.0 Error: Idempotency-Key: the key is not one word of printable ASCII characters"
    longest = "k" * 255
    assert queued(say(mta, longest)) == queued(say(mta, longest))
    sink.wait_for(1)
    done = mta.sendmail("user@remote.example", input=f"{KEY}\nSubject: x\n\nHello.\n")
    assert done.returncode == 65 and "the key is empty" in done.stderr, done


def test_a_stranger_has_no_keys(outbox):
    mta, sink = outbox
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.start()
    ids = {mta.submit(f"{mta.user}@test.example", extra=f"{KEY}order-1\r\n") for _ in range(2)}
    assert len(ids) == 2
    assert all("Idempotency-Key: order-1" in text for text in mta.wait_mailbox(2))


def test_whose_key_it_is(users, remote):  # noqa: F811
    mta, sink = users
    done = mta.command("passwd", "bob", input="secret\n", check=False)
    assert done.returncode == 0
    mta.config["local"]["users"] += ["ann", "bob"]
    start(mta)
    ids = {}
    for user in ("ann", "bob", "ann"):
        with submission(mta) as c:
            assert c.say(f"AUTH PLAIN {plain(user, 'secret')}").startswith("235")
            reply = c.deliver(f"{user}@test.example", ["user@remote.example"],
                              message("x", sender=f"{user}@test.example", extra=KEY + "same\r\n"))
            ids.setdefault(user, []).append(queued(reply))
    assert ids["ann"][0] == ids["ann"][1] != ids["bob"][0]
    sink.wait_for(2)
    mta.wait_until_empty()
    assert len(sink.messages) == 2


@pytest.mark.smoke
def test_programs_on_this_host(outbox):
    mta, sink = outbox
    mta.config["idempotency"] = {"match": "content"}
    start(mta)
    text = f"Subject: x\n{KEY}run-7\n\nHello.\n"

    def sent():
        assert mta.sendmail("-oi", "user@remote.example", input=text).returncode == 0
    sent()
    sink.wait_for(1)
    mta.wait_until_empty()
    first = mta.logged(r"pickup\[\d+\]: ([0-9A-F]+): uid=")[0][1]
    sent()
    mta.wait_log(rf"pickup.*duplicate of {first}: not sent")
    again = mta.sendmail("-oi", "-v", "user@remote.example", input=text)
    assert (again.returncode, again.stdout) == (0, f"sendmail: not sent: according to its idempotency key it is a duplicate of {first}\n"), again
    other = mta.sendmail("-oi", "user@remote.example", input=text + "More.\n")
    assert other.returncode == 65 and f"was used for other content, which was queued as {first}" in other.stderr, other
    # Left while nothing ran: the same file comes twice by the drop directory, and is one.
    mta.stop()
    for _ in range(2):
        assert mta.sendmail("-oi", "user@remote.example", input=f"Subject: dropped\n{KEY}run-8\n\nHello.\n").returncode == 0
    sent()
    mta.start()
    mta.wait_log("duplicate of", count=4)
    mta.wait_until_empty()
    assert subjects(sink) == ["dropped", "x"]


@pytest.mark.smoke
def test_at_the_same_time_on_many_workers(outbox):
    """Many clients with the same few keys at once: each hears 250 with one and the same id in the end."""
    mta, sink = outbox
    mta.start()
    keys = [f"key-{n}" for n in range(6)]
    heard = {key: set() for key in keys}

    def client(number):
        for n in range(len(keys)):
            key = keys[(n + number) % len(keys)]
            heard[key].add(taken(mta, key, subject=key))
    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(ids) == 1 for ids in heard.values()), heard
    sink.wait_for(len(keys))
    mta.wait_until_empty()
    assert subjects(sink) == keys


@pytest.mark.smoke
def test_processes_that_die(outbox):
    """kill -9 of workers, pickup and queue-manager under keyed load: nothing is lost, nothing goes out twice."""
    mta, sink = outbox
    mta.start()
    told = {}
    over = threading.Event()

    def client(number):
        n = 0
        while not over.is_set():
            key = f"k{number}-{n}"
            told[key] = taken(mta, key, subject=key)
            n += 1
    threads = [threading.Thread(target=client, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for role in ("smtpd", "queue-manager", "smtpd", "smtpd", "queue-manager", "smtpd"):
        before = len(told)
        wait_until(lambda: len(told) > before + 8, 20, lambda: f"keyed mail to flow\n{mta.last_words()}")
        kill(mta.wait_for_role(role)[-1], signal.SIGKILL)
    over.set()
    for thread in threads:
        thread.join()
    mta.wait_until_empty(40)
    assert set(subjects(sink)) == set(told)
    ids = [m.header("Received") for m in sink.messages]
    first = {}
    for each, received in zip(sink.messages, ids):
        first.setdefault(each.header("Subject"), set()).add(re.search(r"with \S+ id ([0-9A-F]+)", received)[1])
    assert all(ids == {told[key]} for key, ids in first.items()), "what was told is what went out, and nothing else did"
    assert not mta.crashes()


def test_everything_dies_and_the_store_is_lost(outbox):
    """The messages' files bring the keys back; while they are read nobody is told anything wrong."""
    mta, sink = outbox
    sink.at("mail", "451 4.3.0 Later")
    start(mta)
    first = {key: queued(say(mta, key)) for key in ("a", "b", "c")}
    mta.kill_everything()
    shutil.rmtree(mta.spool / "state" / "idempotency")
    mta.start()
    assert {key: taken(mta, key) for key in first} == first
    # A damaged one is put aside, and said so.
    mta.kill_everything()
    (mta.spool / "state" / "idempotency" / "data.mdb").write_bytes(b"x" * 40000)
    mta.start()
    assert {key: taken(mta, key) for key in first} == first
    assert mta.logged(r"the store of idempotency keys was moved aside as .*/data\.mdb\.damaged: .*damaged")
    sink.well_behaved()
    sink.wait_for(3)
    mta.wait_until_empty()
    assert len(sink.messages) == 3


def test_a_store_that_cannot_be_had_puts_keyed_mail_off(outbox):
    mta, sink = outbox
    mta.config["idempotency"] = {"maximum_store": "1MiB"}
    start(mta)
    queued(say(mta, "before"))
    # Full: as many keys as fit, each as long as may be.
    reply, n = "250", 0
    with mta.client(mta.submission_port) as c:
        while reply.startswith("250") and n < 6000:
            n += 1
            content = message("x", extra=f"{KEY}{n:0255}\r\n")
            assert c.send(b"MAIL FROM:<sender@test.example>\r\nRCPT TO:<user@remote.example>\r\nDATA\r\n") is None
            replies = [c.reply() for _ in range(3)]
            assert replies[2].startswith("354"), replies
            c.send(content.encode() + b".\r\n")
            reply = c.reply()
    assert reply == "451 4.3.0 Error: Idempotency-Key cannot be looked up now, try again later"
    assert n > 500
    assert mta.wait_log(r"mail with an Idempotency-Key is rejected temporarily: .*it has reached its maximum size")
    assert queued(say(mta, "before")), "what is known is answered"
    with mta.client(mta.submission_port) as c:
        assert c.deliver("sender@test.example", ["user@remote.example"], message("plain")).startswith("250"), "other mail goes on"


def test_turned_off_the_field_is_text(outbox):
    mta, sink = outbox
    mta.config["idempotency"] = {"enabled": False}
    mta.start()
    assert queued(say(mta, "k")) != queued(say(mta, "k"))
    sink.wait_for(2)
    assert all(m.header("Idempotency-Key") == "k" for m in sink.messages)
    assert not (mta.spool / "state" / "idempotency" / "data.mdb").exists()
