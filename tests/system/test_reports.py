"""What senders are told: reports as programs read them (Python's strict parser, flufl.bounce) and as RFC 3461 rules."""
import email
import email.policy
import re

import pytest

from harness.sink import only

bounce = pytest.importorskip("flufl.bounce")


def read(text):
    """The parts of a report; every defect of its MIME form is an error."""
    octets = text.encode("utf-8", "surrogateescape").replace(b"\n", b"\r\n")
    whole = email.message_from_bytes(octets, policy=email.policy.strict)
    for part in whole.walk():
        for value in part.values():
            str(value)
        assert not part.defects, part.defects
    assert whole.get_content_type() == "multipart/report" and whole.get_param("report-type") == "delivery-status"
    assert whole["Auto-Submitted"] == "auto-replied" and "Return-Path" in whole and whole["Return-Path"] == "<>"
    human, status, returned = whole.iter_parts()
    assert status.get_content_type() == "message/delivery-status"
    of_message, *of_recipients = status.get_payload()
    return whole, human.get_content(), of_message, of_recipients, returned


def test_only_what_failed_is_listed(relaying):
    mta, sink = relaying
    sink.at("rcpt", only("bad", "550 5.1.1 No such user"))
    queue_id = mta.submit(["bad@remote.example", "good@remote.example", "fine@remote.example"], "mixed",
                          sender=f"{mta.user}@test.example", mail_parameters=" RET=FULL ENVID=one+2Btwo",
                          rcpt_parameters=" NOTIFY=FAILURE ORCPT=rfc822;first+2Bhand@remote.example")
    text = mta.wait_mailbox(1)[0]
    whole, human, of_message, of_recipients, returned = read(text)
    assert whole["From"].addresses[0].addr_spec == "MAILER-DAEMON@test.example"
    assert whole["To"].addresses[0].addr_spec == f"{mta.user}@test.example"
    assert of_message["Reporting-MTA"] == "dns; mta.test.example"
    assert of_message["Original-Envelope-Id"] == "one+two"
    assert of_message["X-Postrider-Queue-ID"] == queue_id
    assert len(of_recipients) == 1
    failed = of_recipients[0]
    assert failed["Final-Recipient"] == "rfc822; bad@remote.example"
    assert failed["Original-Recipient"] == "rfc822;first+hand@remote.example"
    assert (failed["Action"], failed["Status"]) == ("failed", "5.1.1")
    assert failed["Diagnostic-Code"] == "smtp; 550 5.1.1 No such user"
    assert failed["Last-Attempt-Date"] and of_message["Arrival-Date"]
    assert "<bad@remote.example>" in human and "good@remote.example" not in human
    assert returned.get_content_type() == "message/rfc822"
    assert returned.get_content()["Subject"] == "mixed"
    temporary, permanent = bounce.all_failures(email.message_from_string(text))
    assert permanent == {b"first+hand@remote.example"} and not temporary
    assert len(mta.mailbox()) == 1
    mta.wait_until_empty()
    assert len(sink.messages) == 1


def test_ret_hdrs_and_size_limit_what_comes_back(mta, remote):
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["bounce"] = {"dsn_full_content_limit": "10KiB"}
    mta.start()
    me = f"{mta.user}@test.example"
    mta.submit("user@remote.example", "short", me, body="The body. h\u00f6i", mail_parameters=" BODY=8BITMIME RET=HDRS")
    mta.submit("user@remote.example", "long", me, body="The body.\r\n" * 2000)
    mta.submit("user@remote.example", "whole", me, body="The body. h\u00f6i", mail_parameters=" BODY=8BITMIME")
    for text in mta.wait_mailbox(3):
        *_, returned = read(text)
        if "Subject: whole" in text:
            assert returned.get_content_type() == "message/rfc822" and "h\u00f6i" in text
        else:
            assert returned.get_content_type() == "text/rfc822-headers" and "The body." not in text


@pytest.mark.parametrize("notify, told", [("NEVER", False), ("SUCCESS", False), ("DELAY", False),
                                          ("FAILURE", True), ("SUCCESS,FAILURE", True)])
def test_notify_decides_about_failures(relaying, notify, told):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit("user@remote.example", "x", f"{mta.user}@test.example", rcpt_parameters=f" NOTIFY={notify}")
    mta.wait_until_empty()
    assert len(mta.mailbox()) == told


def test_success_is_reported_when_asked_for(mta, remote):
    """By us where it ends or where DSN parameters end; by whom took them over otherwise."""
    silent, taking_over = remote(extensions=("PIPELINING",)), remote()
    mta.route("silent.example", silent)
    mta.route("remote.example", taking_over)
    mta.start()
    me = f"{mta.user}@test.example"
    mta.submit("other@test.example", "here", me, rcpt_parameters=" NOTIFY=SUCCESS")
    mta.submit("user@silent.example", "there", me, rcpt_parameters=" NOTIFY=SUCCESS,FAILURE")
    mta.submit("user@remote.example", "beyond", me, rcpt_parameters=" NOTIFY=SUCCESS ORCPT=rfc822;user@remote.example")
    mta.wait_until_empty()
    told = {}
    for text in mta.mailbox():
        *_, of_recipients, returned = read(text)
        assert returned.get_content_type() == "text/rfc822-headers"
        told[of_recipients[0]["Final-Recipient"]] = (of_recipients[0]["Action"], of_recipients[0]["Status"][0])
    assert told == {"rfc822; other@test.example": ("delivered", "2"), "rfc822; user@silent.example": ("relayed", "2")}
    assert any("NOTIFY=SUCCESS" in a for a in str(taking_over.messages[0].arguments).split("'"))


def test_delay_is_told_once(mta, remote):
    """After delay_notice of trying the sender hears that it is late; once, and only who wants to."""
    sink = remote()
    sink.at("mail", "451 4.3.0 Not yet")
    mta.route("remote.example", sink)
    mta.config["queue"].update(delay_notice="3s", retry_interval="1s", retry_interval_after="1s")
    mta.start()
    me = f"{mta.user}@test.example"
    mta.submit("never@remote.example", "silent", me, rcpt_parameters=" NOTIFY=FAILURE")
    queue_id = mta.submit("user@remote.example", "late", me)
    text = mta.wait_mailbox(1, seconds=20)[0]
    *_, of_message, of_recipients, returned = read(text)
    late = of_recipients[0]
    assert (late["Final-Recipient"], late["Action"], late["Status"]) == ("rfc822; user@remote.example", "delayed", "4.3.0")
    assert late["Will-Retry-Until"] and "Not yet" in late["Diagnostic-Code"]
    assert mta.logged(rf"{queue_id}: sender delay notification: [0-9A-F]+")
    tries = len(mta.logged(rf"{queue_id}: .*status=deferred"))
    mta.wait_log(rf"{queue_id}: .*status=deferred", count=tries + 4)
    sink.well_behaved()
    mta.wait_until_empty()
    assert len(sink.messages) == 2 and len(mta.mailbox()) == 1


def test_undeliverable_report_is_kept_with_its_reason(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit("user@remote.example", "x", "nobody-home@remote.example")
    mta.wait_until_empty()
    bad = mta.spool / "bad"
    kept = [p for p in bad.iterdir() if re.fullmatch("[0-9A-F]{14}", p.name)]
    assert len(kept) == 1
    reason = (bad / f"{kept[0].name}.why").read_text()
    assert "<nobody-home@remote.example>: 5.1.1 " in reason and "550 5.1.1 No such user" in reason
    assert b"multipart/report" in kept[0].read_bytes()
    assert not mta.mailbox()


def test_texts_of_the_operator(mta, remote):
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    texts = mta.folder / "texts"
    texts.mkdir()
    (texts / "failed.txt").write_text("Subject: Zur\u00fcck\n\nLieber {sender}, so ging es:\n\n{recipients}\n{nonsense}\n")
    mta.config["bounce"] = {"templates": str(texts), "display_name": "Postamt"}
    mta.start()
    mta.submit("user@remote.example", "x", f"{mta.user}@test.example")
    whole, human, *_ = read(mta.wait_mailbox(1)[0])
    assert whole["Subject"] == "Zur\u00fcck" and whole["From"].addresses[0].display_name == "Postamt"
    assert human.startswith(f"Lieber {mta.user}@test.example, so ging es:") and "<user@remote.example>: host" in human
    assert "{nonsense}" in human


def test_what_requires_tls_never_leaves_without(relaying):
    mta, sink = relaying
    mta.sendmail("-O", "requiretls=yes", "-f", f"{mta.user}@test.example", "user@remote.example", input="Subject: secret\n\nx\n")
    _, _, _, [failed], returned = read(mta.wait_mailbox(1)[0])
    assert (failed["Action"], failed["Status"]) == ("failed", "5.7.30")
    assert returned.get_content_type() == "text/rfc822-headers"
    assert not sink.messages
