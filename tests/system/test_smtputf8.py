"""Addresses and header fields in UTF-8 (RFC 6531, 6532, 6533), and ETRN: through the whole system."""
import email

import pytest

UTF8 = ("PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES", "DSN", "SMTPUTF8")
BUECHER, PUNY = "bücher.example", "xn--bcher-kva.example"
PLAIN = "Subject: plain\n\nx\n"


@pytest.mark.smoke
def test_it_is_passed_on_where_the_next_system_takes_it(mta, remote):
    sink = remote(extensions=UTF8)
    mta.route(BUECHER, sink)
    mta.start()
    mta.submit(f"jörg@{BUECHER}", "Grüße", "zoë@test.example", mail_parameters=" SMTPUTF8 BODY=8BITMIME",
               rcpt_parameters=f" ORCPT=utf-8;JÖRG@{BUECHER}")
    got = sink.wait_for(1)[0]
    assert got.sender == "zoë@test.example" and got.recipients == [f"jörg@{BUECHER}"]
    assert got.arguments["mail"].endswith(" SMTPUTF8")
    assert f"ORCPT=utf-8;JÖRG@{BUECHER}" in got.arguments[f"rcpt jörg@{BUECHER}"]
    assert got.header("Subject") == "Grüße"
    assert " with UTF8SMTP id " in got.header("Received")
    mta.wait_log(rf"smtp\[\d+\]: \w+: to=<jörg@{BUECHER}>, .*status=sent")
    mta.wait_until_empty()


def test_what_needs_no_utf8_goes_anywhere(mta, remote):
    """A domain has a form in ASCII, for the name servers and for a system without SMTPUTF8."""
    sink = remote()
    mta.route(PUNY, sink)
    mta.start()
    mta.submit(f"joe@{BUECHER}", sender=f"ann@{BUECHER}", mail_parameters=" SMTPUTF8", content=PLAIN)
    got = sink.wait_for(1)[0]
    assert (got.sender, got.recipients) == (f"ann@{PUNY}", [f"joe@{PUNY}"])
    assert "SMTPUTF8" not in got.arguments["mail"]
    mta.wait_until_empty()


@pytest.mark.parametrize("recipient, content, status, kind",
                         [(f"jörg@{BUECHER}", PLAIN, "5.6.7", "message/rfc822"),
                          (f"joe@{BUECHER}", "Subject: Grüße\n\nx\n", "5.6.9", "message/global")],
                         ids=["address", "header"])
def test_what_cannot_be_said_comes_back(mta, remote, recipient, content, status, kind):
    sink = remote()  # without SMTPUTF8
    mta.route(BUECHER, sink)
    mta.start()
    mta.submit(recipient, sender=f"{mta.user}@test.example", mail_parameters=" SMTPUTF8 BODY=8BITMIME", content=content)
    text = mta.wait_mailbox(1)[0]
    whole = email.message_from_string(text)
    assert whole.get_content_type() == "multipart/report"
    human, report, returned = whole.get_payload()
    assert report.get_content_type() == "message/global-delivery-status"
    assert returned.get_content_type() == kind  # as its own header is (RFC 6532, 3.7)
    assert f"\nFinal-Recipient: utf-8; {recipient}\n" in text
    assert f"\nStatus: {status}\n" in text
    assert "SMTPUTF8 was not offered by host" in " ".join(text.split())
    mta.wait_until_empty()
    assert not sink.messages


def test_a_sender_without_smtputf8_gets_a_report_in_ascii(mta, remote):
    """An alias leads beyond ASCII; who wrote to it knows nothing of that."""
    sink = remote()
    mta.aliases.write_text(f"list: jörg@{BUECHER}\n")
    mta.route(BUECHER, sink)
    mta.start()
    mta.submit("list@test.example", "plain", f"{mta.user}@test.example")
    text = mta.wait_mailbox(1)[0]
    assert "\nContent-Type: message/delivery-status\n" in text and "message/global" not in text
    assert "\nFinal-Recipient: utf-8; j\\x{F6}rg@b\\x{FC}cher.example\n" in text
    mta.wait_until_empty()


def test_people_here_may_have_such_names(mta):
    """Local users and aliases, in any normal form and case; the domain too."""
    mta.config["local"]["domains"] = ["test.example", BUECHER]
    mta.config["local"]["users"] = [mta.user, "jörg"]
    mta.aliases.write_text("Ärger: jörg\n")
    mta.start()
    with mta.client() as c:
        assert c.say("MAIL FROM:<zoë@remote.example> SMTPUTF8").startswith("250")
        for address in ("jörg@test.example", "JO\u0308RG@test.example", f"ärger@{BUECHER.upper()}", f"a\u0308RGER@{PUNY}"):
            assert c.say(f"RCPT TO:<{address}>").startswith("250"), address
        assert c.say("RCPT TO:<jürgen@test.example>").startswith("550 5.1.1 <jürgen@test.example>: Recipient address")
        assert c.say("DATA").startswith("354")
        c.send(b"Subject: one copy\r\n\r\nx\r\n.\r\n")
        assert c.reply().startswith("250")
    text = mta.wait_mailbox(1, "jörg")[0]
    assert text.startswith("Return-Path: <zoë@remote.example>\n")
    mta.wait_until_empty()
    assert len(mta.mailbox("jörg")) == 1


def test_programs_need_not_say_that_it_is_utf8(mta, remote):
    sink = remote(extensions=UTF8)
    mta.route("remote.example", sink)
    mta.start()
    for arguments, text in ((["jörg@remote.example"], "Subject: address\n\nx\n"),
                            (["user@remote.example"], "Subject: Kopfzeile schön\n\nx\n"),
                            (["-t"], "To: Jörg <jörg@remote.example>\nSubject: both\n\nx\n"),
                            (["-O", "SMTPUTF8=yes", "user@remote.example"], "Subject: parts\n\nschön\n"),
                            (["user@remote.example"], "Subject: body only\n\nschön\n"),
                            (["user@remote.example"], "Subject: none\n\nx\n")):
        done = mta.sendmail("-f", f"{mta.user}@test.example", *arguments, input=text)
        assert done.returncode == 0, done.stderr
    asked = {m.header("Subject"): "SMTPUTF8" in m.arguments["mail"] for m in sink.wait_for(6)}
    assert asked == {"address": True, "Kopfzeile schön": True, "both": True, "parts": True, "body only": False,
                     "none": False}


def test_the_name_server_is_asked_in_its_own_letters(mta, names):
    names.null_mx(PUNY)
    mta.use_names(names)
    mta.start()
    mta.submit(f"joe@{BUECHER.upper()}", sender=f"{mta.user}@test.example", mail_parameters=" SMTPUTF8", content=PLAIN)
    text = mta.wait_mailbox(1)[0]
    assert "\nStatus: 5.1.10\n" in text
    assert names.times_asked(PUNY, "MX") >= 1
    assert {name for name, kind in names.asked} == {PUNY, f"_mta-sts.{PUNY}"}
    mta.wait_until_empty()


def test_it_can_be_turned_off(mta):
    mta.config["listen.relay"]["smtputf8"] = False
    mta.start()
    with mta.client(hello=False) as c:
        assert "SMTPUTF8" not in c.say("EHLO client.example")
        assert c.say("MAIL FROM:<a@test.example> SMTPUTF8").startswith("555 5.5.4")
        assert c.say("MAIL FROM:<zoë@test.example>").startswith("550 5.6.7")
    with mta.client(mta.submission_port, hello=False) as c:
        assert "SMTPUTF8" in c.say("EHLO client.example")


def test_etrn_tries_what_waits(mta, remote):
    sink = remote()
    sink.at("mail", "451 4.3.0 Not yet")
    mta.config["queue"].update(glitch_interval="1h", retry_interval="1h")
    mta.config["listen.relay"]["etrn_networks"] = ["127.0.0.0/8"]
    mta.route("remote.example", sink)
    mta.start()
    mta.wait_log("spool: loaded")
    mta.submit("user@remote.example", "one")
    mta.wait_log(r"status=deferred")
    with mta.client() as c:
        assert c.say("ETRN elsewhere.example") == "251 2.0.0 Ok, no messages waiting for node elsewhere.example"
        mta.command("pause", "queue", "remote.example")
        assert c.say("ETRN remote.example") == \
            "458 4.3.2 Unable to queue messages for node remote.example: mail for remote.example is held back"
        mta.command("resume", "queue", "remote.example")
        sink.well_behaved()
        assert c.say("ETRN @example") == "253 2.0.0 Ok, 1 pending messages for node example started"
    sink.wait_for(1)
    mta.wait_until_empty()
    mta.wait_log(r"etrn: example from localhost\[127\.\S+\]: 1 deliveries")
