"""The books of `scripts/soak power` (harness/filled_mail.py) detect what they are kept for."""
import pytest
from harness.filled_mail import Books, Promise, content_of, recipients_of, sender_of
from harness.sink import Received

NAME, OTHER = "pc-apart-0-1-7", "pc-plain-0-2-9"
TRACE = b"Received: from load.example by mta.test.example with ESMTP id 0ABC\r\n\tfor <x>; Fri, 20 Nov 2026 16:00:00 +0000\r\n"


def arrived(name, recipient, at=10.0, content=None):
    return Received(sender_of(name), [recipient], TRACE + (content or content_of(name)), 1, None, at=at)


def report(name, recipient, at=10.0, content=None):
    text = f"Final-Recipient: rfc822; {recipient}\r\n\r\n".encode()
    return Received("", [sender_of(name)], TRACE + text + (content or content_of(name)), 1, None, at=at)


@pytest.fixture
def books():
    one = Books()
    one.sent |= {NAME, OTHER, "pc-fail-0-0-0", "pc-half-0-0-0"}
    one.promises[NAME] = Promise(9.0, "0ABC")
    return one


def what_is_wrong(books):
    return [what for what, _, _ in books.wrong]


def test_all_is_well(books):
    for recipient in recipients_of(NAME):
        books.take_one(arrived(NAME, recipient))
    assert not books.wrong and not books.missing()
    assert not books.twice_between(books.served, 0, 20)


def test_a_recipient_is_lost(books):
    one, other = recipients_of(NAME)
    books.take_one(arrived(NAME, other))
    assert books.missing() == [one]


@pytest.mark.parametrize("damage", [
    lambda content: content[:-7] + b"X" + content[-6:],
    lambda content: content[:-100] + bytes(100),
    lambda content: content[:-100],
    lambda content: content + content_of(OTHER)[-100:],
    lambda content: content_of(OTHER),
], ids=["one byte", "zeros at the end", "cut short", "the end of another message", "another message"])
def test_a_content_that_was_not_sent(books, damage):
    books.take_one(arrived(NAME, recipients_of(NAME)[0], content=damage(content_of(NAME))))
    assert what_is_wrong(books) == ["content"]


def test_an_envelope_of_two_messages(books):
    books.take_one(arrived(NAME, recipients_of(OTHER)[0]))
    assert what_is_wrong(books) == ["envelope"]


def test_another_queue_id_than_promised(books):
    books.promises[NAME] = Promise(9.0, "0DEF")
    books.take_one(arrived(NAME, recipients_of(NAME)[0]))
    assert what_is_wrong(books) == ["content"]


def test_mail_that_nobody_sent(books):
    books.take_one(arrived("pc-plain-5-5-5", "pc-plain-5-5-5-1@remote.example"))
    assert what_is_wrong(books) == ["invented"]


def test_reports(books):
    name = "pc-fail-0-0-0"
    books.promises[name] = Promise(9.0, "0AAA")
    assert recipients_of(name)[0] in books.missing()
    books.take_one(report(name, recipients_of(name)[0]))
    assert recipients_of(name)[0] not in books.missing() and not books.wrong
    books.take_one(report(name, recipients_of(name)[0], content=content_of(name)[:40]))
    books.take_one(report(NAME, recipients_of(NAME)[0]))
    assert what_is_wrong(books) == ["report", "report"]


def test_repeats_are_measured_from_the_end_of_the_message(books):
    one, other = recipients_of(NAME)
    for recipient, at in ((one, 10.0), (other, 11.0), (one, 13.0)):
        books.take_one(arrived(NAME, recipient, at))
    half = recipients_of("pc-half-0-0-0")[0]
    for at in (5.0, 13.0):
        books.take_one(arrived("pc-half-0-0-0", half, at))
    done, partly, reports = books.repeats(cut=12.0)
    assert [(each.recipient, each.first) for each in done] == [(one, 1.0)]
    assert [(each.recipient, each.first) for each in partly] == [(half, 7.0)]
    assert not reports
    assert not books.twice_between(books.served, 0, 12) and not books.twice_between(books.served, 12, 20)
    assert set(books.twice_between(books.served, 0, 20)) == {one, half}
