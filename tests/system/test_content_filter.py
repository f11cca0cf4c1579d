"""A content filter behind the queue: all mail goes through it, is told where it came from, and goes its way when it is back."""
import os
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
    mta.config["listen.filtered"] = {"addresses": [f"{mta.address}:{back}"], "service": "filtered", "tls": "no",
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


def stranger(mta):
    """Mail of clients on the relay listener is that of strangers; so is what they write into headers."""
    mta.config["relay"] = {"networks": []}


def test_mail_of_strangers_stays_mail_of_strangers(filtered, names):
    """What comes back from the filter's address is not the filter's: no signature for who forges our address, no pool, no key."""
    mta, filter, sink = filtered
    stranger(mta)
    mta.aliases.write_text("abroad: someone@remote.example\n")
    mta.write_config()
    mta.config['dkim."test.example"'] = {"keys": [Keys(mta, names).make("test.example", "one")]}
    mta.start()
    mta.wait_log("idempotency keys: all messages in the spool have been read")
    forged = "X-Postrider-Lane: high\r\nX-Postrider-Source: listener=submission submitter=sasl:ann user=ann\r\nIdempotency-Key: 1\r\n"
    first = mta.submit("abroad@test.example", sender="ceo@test.example", extra=forged)
    mta.submit("abroad@test.example", sender="ceo@test.example", extra=forged)
    for delivered in sink.wait_for(2):
        assert "DKIM-Signature" not in delivered.text and "X-Postrider" not in delivered.text
        assert delivered.header("Idempotency-Key") == "1", "it is their own text"
    accepted = mta.logged(r"client=localhost\[127")
    assert len(accepted) == 4 and first, accepted


def test_it_comes_back_as_whose_it_was(filtered):
    """Rules that limit others do not concern it, and its submitter is the one who sent it."""
    mta, filter, sink = filtered
    sink.at("rcpt", "451 4.3.0 Later")
    mta.config["sender_rules"] = {"rules": [f"submitter=uid:{os.getuid()} -> lane=bulk", "listener=filtered -> lanes=normal"]}
    mta.start()
    assert mta.sendmail("someone@remote.example").returncode == 0
    mta.wait_log("451 4.3.0 Later")
    [after] = mta.queued_ids()
    shown = mta.command("message", "show", after).stdout
    assert re.search(r"Lane +bulk", shown) and re.search(r"Submitter +uid:", shown), shown
    assert filter.seen and "X-Postrider-Source: submitter=uid:" in filter.seen[0][2]


def test_what_waits_for_it_cannot_be_sent_around_it(filtered, block):
    mta, filter, _ = filtered
    filter.stop()
    mta.start()
    id = mta.submit("other@test.example")
    mta.wait_log(rf"{id}: .*status=deferred")
    done = mta.command("message", "reroute", f"[{block.host(99)}]:25", id, check=False)
    assert "goes through the content filter" in done.stdout + done.stderr, done


def test_queued_mail_is_for_the_former_filter_until_the_next_start(filtered, block):
    """After a reload it still goes there as mail for a filter: with what the sender asked for."""
    mta, filter, _ = filtered
    filter.stop()
    mta.start()
    id = mta.submit("other@test.example", port=mta.submission_port, extra="X-Postrider-Meta-Order: 7\r\n")
    mta.wait_log(rf"{id}: .*status=deferred")
    configure(mta, f"[{block.host(21)}]:{block.port()}")
    mta.write_config()
    mta.command("reload")
    filter.start()
    mta.flush()
    mta.wait_mailbox(1, user="other")
    assert "X-Postrider-Meta-order: 7" in filter.seen[0][2] and filter.said("XFORWARD")


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
    checked = mta.command("check", check=False)
    assert checked.returncode != 0 and "mail that comes back from a content filter would go to one again" in checked.stderr
    del mta.config["listen.filtered"]
    mta.write_config()
    assert 'no listener has service = "filtered"' in mta.command("check").stderr


def test_only_filters_send_mail_there(filtered):
    mta, filter, _ = filtered
    mta.config["listen.filtered"]["submission_networks"] = ["192.0.2.1"]
    mta.start()
    with mta.client(filter.back[1]) as c:
        assert c.say("MAIL FROM:<a@b.example>") == "550 5.7.1 Access denied: only content filters send mail here"


def test_a_route_can_name_it(filtered):
    mta, filter, _ = filtered
    mta.config['route."scanner"'] = {"next_hop": f"[{filter.address}]:{filter.port}", "connections": 1}
    configure(mta, "scanner")
    mta.start()
    for _ in range(5):
        mta.submit("other@test.example")
    assert all("X-Filtered" in each for each in mta.wait_mailbox(5, user="other")) and filter.most_at_once == 1


# --- FILTER: rules that choose the filter of a message

@pytest.fixture
def chosen(filtered, block):
    """(mta, usual, special): rules choose the special one; all other mail goes through the usual one. Both give mail back."""
    mta, usual, _ = filtered
    special = ContentFilter(block.host(22), block.port(), usual.back)
    yield mta, usual, special
    special.stop()


def senders(mta, tmp_path, lines):
    (tmp_path / "senders").write_text(lines)
    mta.config["access.strangers"] = {"listeners": ["relay"], "sender": [f"check_sender_access text:{tmp_path}/senders"]}


def test_a_table_chooses_the_filter(chosen, tmp_path):
    """And mail that is back goes to none, whatever the table says of it."""
    mta, usual, special = chosen
    there = f"[{special.address}]:{special.port}"
    senders(mta, tmp_path, f"special@test.example FILTER smtp:{there}\n")
    mta.config["access.back"] = {"listeners": ["filtered"], "sender": mta.config["access.strangers"]["sender"]}
    mta.config["automatic_bcc"] = {"always": [f"{mta.user}@test.example"]}
    mta.start()
    mta.submit("other@test.example", sender="special@test.example", port=mta.relay_port)
    [delivered] = mta.wait_mailbox(1, user="other")
    assert delivered.count("X-Filtered: yes") == 1
    mta.wait_mailbox(1)
    mta.wait_log(r"filter: RCPT from \S+: <special@test\.example>: Sender address triggers FILTER smtp:\S+; from=<special@test\.example> ")
    mta.submit("other@test.example", port=mta.relay_port)
    mta.wait_mailbox(2, user="other")
    mta.wait_mailbox(2)
    mta.wait_until_empty()
    assert [each[0] for each in special.seen] == ["special@test.example"] and [each[0] for each in usual.seen] == ["sender@test.example"]
    assert len(mta.mailbox()) == 2, "one copy each"


def test_the_last_rule_chooses_and_the_message_keeps_it(chosen, tmp_path):
    """The filter is away; the configuration changes; the message waits for its own. A route limits its connections."""
    mta, usual, special = chosen
    mta.config['route."scan"'] = {"next_hop": "[192.0.2.1]:25", "connections": 1}
    senders(mta, tmp_path, "sender@test.example FILTER smtp:[192.0.2.7]:25\n")
    mta.config["content"] = {"header_checks": [rf"/^Subject: special/ FILTER Scan:[{special.address}]:{special.port}"]}
    special.stop()
    mta.start()
    id = mta.submit("other@test.example", port=mta.relay_port, subject="special")
    mta.wait_log(rf"{id}: filter: header Subject: special from ")
    mta.wait_log(rf"{id}: to=<other@test\.example>.*status=deferred.*Connection refused")
    shown = mta.command("message", "show", id).stdout
    assert f"scan:[{special.address}]:{special.port}" in shown and re.search(r"Filter +scan:\[", shown), shown
    done = mta.command("message", "reroute", "[192.0.2.9]:25", id, check=False)
    assert "goes through the content filter scan:" in done.stdout + done.stderr, done
    del mta.config["content"]
    mta.restart()
    special.start()
    mta.flush()
    [delivered] = mta.wait_mailbox(1, user="other")
    assert delivered.count("X-Filtered: yes") == 1 and len(special.seen) == 1 and usual.seen == []
    assert special.said("XFORWARD")[0].endswith("SOURCE=REMOTE")


def test_other_mail_to_the_same_server_is_not_for_a_filter(chosen, tmp_path, remote):
    mta, _, _ = chosen
    sink = remote()
    senders(mta, tmp_path, f"special@test.example FILTER smtp:[{sink.address}]:{sink.port}\n")
    (tmp_path / "transport").write_text(f"else.example smtp:[{sink.address}]:{sink.port}\n")
    mta.config["transport"] = {"tables": [f"text:{tmp_path}/transport"]}
    del mta.config["listen.relay"]["content_filter"]
    mta.start()
    for sender in ("special", "sender"):
        mta.submit("x@else.example", sender=f"{sender}@test.example", port=mta.relay_port)
    sink.wait_for(2)
    assert {m.sender: m.header("X-Postrider-Source") is not None for m in sink.messages} == {
        "special@test.example": True, "sender@test.example": False}


def test_a_rule_for_programs_mail(chosen):
    mta, usual, special = chosen
    for each in ("listen.relay", "listen.submission", "submit"):
        del mta.config[each]["content_filter"]
    mta.config["content"] = {"body_checks": [rf"/^scan me/ FILTER [{special.address}]:{special.port}"]}
    mta.start()
    assert mta.sendmail("other@test.example", input="Subject: x\n\nscan me\n").returncode == 0
    mta.wait_mailbox(1, user="other")
    assert mta.sendmail("other@test.example", input="Subject: x\n\nnot me\n").returncode == 0
    mta.wait_mailbox(2, user="other")
    assert len(special.seen) == 1 and usual.seen == []
    assert special.said("XFORWARD")[0].endswith("SOURCE=LOCAL")


def test_rules_name_filters_that_there_are(chosen):
    mta, _, _ = chosen
    for rule, says in ((f"/x/ FILTER smtp:[{mta.address}]:{mta.relay_port}", "content.header_checks: "),
                       ("/x/ FILTER scan:", '"scan" is neither a host in brackets'),
                       ("/x/ FILTER smtp:scan.example", "FILTER: expected a host in brackets, such as smtp:[127.0.0.1]:10024")):
        mta.config["content"] = {"header_checks": [rule]}
        mta.write_config()
        checked = mta.command("check", check=False)
        assert checked.returncode != 0 and says in checked.stderr, checked


def test_a_trial_names_the_filter(chosen, tmp_path):
    mta, _, special = chosen
    senders(mta, tmp_path, f"special@test.example FILTER [{special.address}]:{special.port}\n")
    mta.start()
    said = mta.command("try", "--client", "192.0.2.9", "--name", "far.example", "--from", "special@test.example", "--to", "other@test.example", check=False)
    assert f"through the content filter [{special.address}]:{special.port}" in said.stdout, said
