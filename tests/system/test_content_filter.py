"""A content filter behind the queue: all mail goes through it, is told where it came from, and goes its way when it is back."""
import re

import pytest

from harness.content_filter import EXTENSIONS, ContentFilter
from harness.dkim import Keys
from harness.sink import drop
from harness.watch import wait_until


def configure(mta, next_hop):
    for each in ("listen.relay", "listen.submission", "submit"):
        mta.config[each]["content_filter"] = next_hop


@pytest.fixture
def filtered(mta, block, remote):
    """(mta, filter, sink): all mail goes through the filter; that for remote.example then goes to the sink."""
    back = block.port()
    mta.config["listen.filtered"] = {"addresses": [f"{mta.address}:{back}"], "service": "submission", "auth": False, "tls": "no",
                                     "submission_networks": ["127.0.0.0/8"], "xforward_networks": ["127.0.0.0/8"]}
    made = ContentFilter(block.host(20), block.port(), (mta.address, back))
    configure(mta, f"[{made.address}]:{made.port}")
    sink = remote()
    mta.route("remote.example", sink)
    yield mta, made, sink
    made.stop()


def test_mail_goes_through_it_and_then_its_way(filtered):
    mta, filter, sink = filtered
    mta.aliases.write_text("staff: other, someone@remote.example\n")
    mta.config["automatic_bcc"] = {"always": [f"{mta.user}@test.example"]}
    mta.start()
    mta.submit("staff@test.example")
    [delivered] = mta.wait_mailbox(1, user="other")
    assert "X-Filtered: yes" in delivered
    [elsewhere] = sink.wait_for(1)
    assert elsewhere.recipients == ["someone@remote.example"] and elsewhere.header("X-Filtered") == "yes"
    mta.wait_mailbox(1)
    mta.wait_until_empty()
    [(sender, recipients, _)] = filter.seen
    assert (sender, recipients) == ("sender@test.example", ["staff@test.example"]), "aliases and copies come afterwards"
    assert len(mta.mailbox()) == 1, "one copy"


def test_programs_mail_goes_through_it(filtered):
    mta, filter, _ = filtered
    mta.start()
    assert mta.sendmail("other@test.example").returncode == 0
    [delivered] = mta.wait_mailbox(1, user="other")
    assert "X-Filtered: yes" in delivered
    [told] = filter.said("XFORWARD")
    assert "NAME=localhost ADDR=127.0.0.1 " in told and told.endswith("SOURCE=LOCAL")


def test_it_is_told_where_mail_came_from(filtered):
    mta, filter, _ = filtered
    mta.start()
    first = mta.submit("other@test.example")
    mta.wait_mailbox(1, user="other")
    [told] = filter.said("XFORWARD")
    assert re.fullmatch(rf"XFORWARD NAME=localhost ADDR=127\.\d+\.\d+\.\d+ PORT=\d+ PROTO=ESMTP HELO=client\.example IDENT={first} SOURCE=REMOTE",
                        told), told


@pytest.mark.parametrize("extensions", [EXTENSIONS[:-1], ("SIZE 1000000",), EXTENSIONS], ids=["pipelining", "plain", "refused"])
def test_filters_that_do_not_want_to_know(filtered, extensions):
    """They do not offer XFORWARD, or answer 502 to it, as this one does."""
    mta, filter, _ = filtered
    filter.extensions = extensions
    mta.start()
    mta.submit("other@test.example")
    mta.wait_mailbox(1, user="other")
    assert len(filter.said("XFORWARD")) == (1 if extensions == EXTENSIONS else 0)


def test_mail_waits_while_it_is_away(filtered):
    mta, filter, _ = filtered
    filter.stop()
    mta.start()
    id = mta.submit("other@test.example")
    mta.wait_log(rf"{id}: to=<other@test\.example>.*status=deferred.*Connection refused")
    mta.restart()
    filter.start()
    mta.flush()
    mta.wait_mailbox(1, user="other")


def test_a_filter_that_breaks_off_gets_it_again(filtered):
    mta, filter, _ = filtered
    filter.well_behaved()
    filter.at("content", filter.note_envelope)
    filter.at("dot", drop, times=1)
    filter.at("dot", filter.give_back)
    mta.start()
    mta.submit("other@test.example")
    [delivered] = mta.wait_mailbox(1, user="other")
    assert "X-Filtered: yes" in delivered


def test_what_it_rejects_is_returned_and_the_report_is_not_filtered(filtered):
    mta, filter, _ = filtered
    filter.well_behaved()
    filter.at("dot", "554 5.7.0 Reject, infected")
    mta.start()
    mta.submit("other@test.example", sender=f"{mta.user}@test.example")
    [report] = mta.wait_mailbox(1)
    assert "554 5.7.0 Reject, infected" in report and "X-Filtered" not in report
    mta.wait_until_empty()
    assert mta.mailbox("other") == []


def test_it_moves_with_the_configuration(filtered, block):
    """What is queued follows: the next hop is not kept with the message."""
    mta, filter, _ = filtered
    filter.stop()
    mta.start()
    id = mta.submit("other@test.example")
    mta.wait_log(rf"{id}: .*status=deferred")
    moved = ContentFilter(block.host(21), block.port(), filter.back)
    configure(mta, f"[{moved.address}]:{moved.port}")
    mta.restart()
    [delivered] = mta.wait_mailbox(1, user="other")
    assert "X-Filtered: yes" in delivered and len(moved.seen) == 1
    moved.stop()


def test_what_the_sender_asked_for_goes_through_it(filtered):
    mta, filter, sink = filtered
    sink.at("rcpt", "451 4.3.0 Later")
    mta.config["retry.slow"] = {"kind": "steps", "steps": ["1h"]}
    mta.start()
    mta.wait_log("idempotency keys: all messages in the spool have been read")
    before = mta.submit("someone@remote.example", port=mta.submission_port,
                        extra="X-Postrider-Lane: bulk\r\nX-Postrider-Policy: slow\r\nX-Postrider-Expires: 2h\r\nX-Postrider-Meta-Order: 4711\r\n"
                              "Idempotency-Key: order-4711\r\n")
    mta.wait_log("451 4.3.0 Later")
    [after] = mta.queued_ids()
    shown = mta.command("message", "show", after).stdout
    assert after != before and re.search(r"Lane +bulk", shown) and re.search(r"Policy +slow", shown), shown
    assert "Idempotency-Key" not in filter.seen[0][2], "or it would be a duplicate of itself"
    sink.well_behaved()
    mta.flush()
    [delivered] = sink.wait_for(1)
    assert "X-Postrider" not in delivered.text
    accepted = ["history", "meta.order=4711", "type=message.accepted", "--json"]
    wait_until(lambda: len(mta.command(*accepted, check=False).stdout.splitlines()) == 2, 15, "both to be in the journal")


def test_it_is_signed_afterwards(filtered, names):
    mta, filter, sink = filtered
    mta.write_config()
    mta.config['dkim."test.example"'] = {"keys": [Keys(mta, names).make("test.example", "one")]}
    mta.start()
    mta.submit("someone@remote.example", port=mta.submission_port)
    [delivered] = sink.wait_for(1)
    assert "DKIM-Signature" not in filter.seen[0][2] and delivered.text.count("DKIM-Signature:") == 1


def test_verification_does_not_stop_at_it(filtered):
    mta, filter, _ = filtered
    mta.start()
    assert mta.sendmail("-bv", "-f", f"{mta.user}@test.example", "other@test.example", input="").returncode == 0
    [report] = mta.wait_mailbox(1)
    assert "is delivered on this system" in report and filter.connections == 0


@pytest.mark.parametrize("value, says", [
    ("[{address}]:{relay_port}", "is this system itself (listen.relay), not a filter: mail sent there would loop"),
    ("amavis", 'is neither a host in brackets, such as "[127.0.0.1]:10024", nor the name of a [route]')])
def test_what_is_no_filter(filtered, value, says):
    mta, _, _ = filtered
    mta.config["submit"]["content_filter"] = value.format(address=mta.address, relay_port=mta.relay_port)
    mta.write_config()
    checked = mta.command("check", check=False)
    assert checked.returncode != 0 and f"submit.content_filter: " in checked.stderr and says in checked.stderr, checked


def test_a_filter_that_nothing_can_take_mail_back_from(filtered):
    mta, filter, _ = filtered
    mta.config["listen.filtered"]["content_filter"] = mta.config["submit"]["content_filter"]
    mta.write_config()
    assert "a listener without content_filter has to take it back" in mta.command("check").stderr


def test_a_route_can_name_it(filtered):
    mta, filter, _ = filtered
    mta.config['route."scanner"'] = {"next_hop": f"[{filter.address}]:{filter.port}", "connections": 1}
    configure(mta, "scanner")
    mta.start()
    for _ in range(5):
        mta.submit("other@test.example")
    assert all("X-Filtered" in each for each in mta.wait_mailbox(5, user="other")) and filter.most_at_once == 1
