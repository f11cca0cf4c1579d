"""Reports of every kind, from the running MTA, as programs nobody here wrote understand them: Sisimai, flufl.bounce,
Mail::DeliveryStatus::BounceParser and Python's strict parser. And what must never come of a report: another one."""
import email
import email.policy
import json
import re
import signal
import subprocess

import pytest

from harness.sink import only

flufl = pytest.importorskip("flufl.bounce")

SISIMAI = r"""use Sisimai; local $/; my $octets = <STDIN>;
my $found = Sisimai->make(\$octets, delivered => 1, vacation => 0) // [];
print JSON->new->encode([map { {recipient => $_->recipient->address, reason => $_->reason, action => $_->action,
  status => $_->deliverystatus, host => $_->rhost, addresser => $_->addresser->address} } @$found]);"""
BOUNCE_PARSER = r"""use Mail::DeliveryStatus::BounceParser; local $/; my $octets = <STDIN>;
my $found = Mail::DeliveryStatus::BounceParser->new($octets);
print join "\n", map { join " ", $_->get("email"), $_->get("std_reason"), $_->get("action") } $found->reports;"""


def perl(program, text, *modules):
    done = subprocess.run(["perl", *modules, "-e", program], input=octets_of(text), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def sisimai(text):
    return json.loads(perl(SISIMAI, text, "-MJSON::PP", "-e", "*JSON::new = sub { JSON::PP->new };"))


def octets_of(text):
    return text.encode("utf-8", "surrogateescape").replace(b"\n", b"\r\n")


def read(text):
    """(whole, human text, fields of the message, [fields of each recipient], returned part); defects are errors."""
    whole = email.message_from_bytes(octets_of(text), policy=email.policy.strict)
    for part in whole.walk():
        for value in part.values():
            str(value)
        assert not part.defects, part.defects
    assert whole.get_content_type() == "multipart/report" and whole.get_param("report-type") == "delivery-status"
    assert whole["Auto-Submitted"] == "auto-replied" and whole["Return-Path"] == "<>"
    human, status, returned = whole.iter_parts()
    payload = status.get_payload()
    of_message, *of_recipients = payload if isinstance(payload, list) else blocks(payload)
    return whole, human.get_content(), of_message, of_recipients, returned


def blocks(text):
    """Of a message/global-delivery-status, which Python takes for a text."""
    return [email.message_from_string(each.strip() + "\n\n", policy=email.policy.strict) for each in re.split(r"\r?\n\r?\n", text.strip())]


def reports(mta, count, user=None):
    return [(text, *read(text)) for text in mta.wait_mailbox(count, user, seconds=25)]


def told(mta, count):
    """{address: (action, class of the status)} over all reports in the mailbox."""
    out = {}
    for _, _, _, _, of_recipients, _ in reports(mta, count):
        for each in of_recipients:
            out[each["Final-Recipient"].split("; ")[1]] = (each["Action"], each["Status"][0])
    return out


def test_aliases_and_lists_are_reported_as_the_rfc_says(mta, remote):
    """RFC 3461, 5.2.7: one address passes SUCCESS on, several are `expanded` without it, a list has `delivered`."""
    sink, silent = remote(), remote(extensions=("PIPELINING",))
    sink.at("rcpt", only("gone@", "550 5.1.1 No such user"))
    mta.route("remote.example", sink)
    mta.route("silent.example", silent)
    mta.aliases.write_text("one: first@silent.example\nseveral: second@remote.example, third@silent.example\n"
                           "list: fourth@remote.example, gone@remote.example\nowner-list: other\n")
    mta.start()
    me = f"{mta.user}@test.example"
    for name, parameters in (("one", ""), ("several", " ORCPT=rfc822;all+2Bof@test.example"), ("list", " ORCPT=rfc822;the-list@test.example")):
        mta.submit(f"{name}@test.example", name, me, rcpt_parameters=" NOTIFY=SUCCESS,FAILURE" + parameters,
                   mail_parameters=f" RET=HDRS ENVID={name}")
    mta.wait_until_empty()
    assert told(mta, 3) == {"first@silent.example": ("relayed", "2"), "several@test.example": ("expanded", "2"),
                            "list@test.example": ("delivered", "2")}
    for _, _, _, of_message, [one], _ in reports(mta, 3):
        name = of_message["Original-Envelope-Id"]
        assert one.get("Original-Recipient") == {"one": "rfc822;one@test.example", "several": "rfc822;all+of@test.example",
                                                 "list": "rfc822;the-list@test.example"}[name]
    # What went on: of the alias without SUCCESS, with what its sender wrote; of the list as mail of its own.
    sent = {m.recipients[0]: str(m.arguments) for m in sink.messages}
    assert "NOTIFY=FAILURE " in sent["second@remote.example"] and "ORCPT=rfc822;all+2Bof@test.example" in sent["second@remote.example"]
    assert "ENVID=several" in sent["second@remote.example"] and "RET=HDRS" in sent["second@remote.example"]
    assert not re.search("NOTIFY|ORCPT|ENVID|RET=", sent["fourth@remote.example"])
    # The list's owner is told of its dead member, and the whole message, whatever its writer wanted.
    [(text, _, human, of_message, [failed], returned)] = reports(mta, 1, "other")
    assert failed["Final-Recipient"] == "rfc822; gone@remote.example" and "Original-Recipient" not in failed
    assert "Original-Envelope-Id" not in of_message and returned.get_content_type() == "message/rfc822"
    assert flufl.all_failures(email.message_from_string(text))[1] == {b"gone@remote.example"}


def test_what_is_owed_outlives_a_crash(mta, remote):
    """A success that could not be reported yet is reported after a crash; the message is not delivered again."""
    sink = remote(extensions=("PIPELINING",))
    sink.at("rcpt", only("later@", "451 4.3.0 Not yet"))
    mta.route("remote.example", sink)
    mta.aliases.write_text("several: other, later@remote.example\n")
    mta.start()
    mta.kill("bounce", signal.SIGSTOP)  # asked for reports, and never writes one
    me = f"{mta.user}@test.example"
    queue_id = mta.submit(["user@remote.example", "several@test.example"], "owed", me, rcpt_parameters=" NOTIFY=SUCCESS")
    mta.wait_log(rf"{queue_id}: to=<user@remote.example>.*status=sent")
    mta.wait_log(rf"{queue_id}: to=<other@test.example>.*status=sent")
    mta.wait_log(rf"{queue_id}: to=<later@remote.example>.*status=deferred", count=3)  # what came before is written
    mta.kill_everything()
    sink.well_behaved()
    mta.start()
    mta.wait_until_empty()
    assert sorted(r for m in sink.messages for r in m.recipients) == ["later@remote.example", "user@remote.example"]
    assert len(mta.mailbox("other")) == 1
    assert told(mta, 2) == {"user@remote.example": ("relayed", "2"), "several@test.example": ("expanded", "2")}


REPLIES = {"unknown": ("550 5.1.1 <unknown@remote.example>: Recipient address rejected: User unknown", "userunknown"),
           "full": ("552 5.2.2 Mailbox full", "mailboxfull"),
           "moved": ("551 5.1.6 User has moved", "hasmoved"),
           "blocked": ("554 5.7.1 Service unavailable; client host blocked using zen.spamhaus.org", "blocked"),
           "policy": ("550 5.7.1 Message rejected due to spam content", "spamdetected")}


def test_failures_are_understood_by_other_programs(relaying):
    mta, sink = relaying
    sink.at("rcpt", lambda session, argument: REPLIES[argument.split("@")[0].split("<")[1]][0])
    me = f"{mta.user}@test.example"
    for name in REPLIES:
        mta.submit(f"{name}@remote.example", name, me, body="The text.", extra="X-Own: 1\r\n")
    seen = set()
    for text, whole, human, of_message, [failed], returned in reports(mta, len(REPLIES)):
        name = failed["Final-Recipient"].split("; ")[1].split("@")[0]
        reply, reason = REPLIES[name]
        seen.add(name)
        assert failed["Diagnostic-Code"] == f"smtp; {reply}" and failed["Remote-MTA"].startswith("dns; ")
        [found] = sisimai(text)
        assert found["recipient"] == f"{name}@remote.example" and found["action"] == "failed", found
        assert found["status"] == reply[4:9] and found["addresser"] == me, found
        assert found["reason"] == reason, found
        assert flufl.all_failures(email.message_from_string(text))[1] == {f"{name}@remote.example".encode()}
        assert f"{name}@remote.example" in perl(BOUNCE_PARSER, text)
        if name == "full":  # of what comes back to a full mailbox only the header's most important fields
            assert returned.get_content_type() == "text/rfc822-headers"
            assert "Subject: full" in text and "X-Own" not in text and "The text." not in text
        else:
            assert returned.get_content_type() == "message/rfc822" and "The text." in text
    assert seen == set(REPLIES)


def test_all_that_failed_in_one_pass_is_one_report(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.submit([f"user{n}@remote.example" for n in range(20)], "many", f"{mta.user}@test.example")
    [(text, _, human, _, failed, _)] = reports(mta, 1)
    assert len(failed) == 20 and {each["Action"] for each in failed} == {"failed"}
    assert len(sisimai(text)) == 20
    assert len(flufl.all_failures(email.message_from_string(text))[1]) == 20
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 1


def test_utf8_in_a_returned_header_has_utf8_types(relaying):
    mta, sink = relaying
    sink.at("rcpt", "550 5.1.1 No such user")
    letter = ("From: <someone@test.example>\r\nTo: <user@remote.example>\r\nSubject: Grüße {}\r\nMIME-Version: 1.0\r\n"
              "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nÜber alles.\r\n")
    for parameters in (" BODY=8BITMIME SMTPUTF8", " BODY=8BITMIME SMTPUTF8 RET=HDRS"):
        mta.submit("user@remote.example", sender=f"{mta.user}@test.example", mail_parameters=parameters, content=letter.format(parameters))
    types = set()
    for text, *_ in [(t,) for t in mta.wait_mailbox(2)]:
        whole = email.message_from_bytes(octets_of(text), policy=email.policy.default)
        _, status, returned = whole.iter_parts()
        assert status.get_content_type() == "message/delivery-status"  # nothing in it is beyond ASCII
        types.add(returned.get_content_type())
        assert "Grüße" in text
    assert types == {"message/global", "message/global-headers"}


def test_reports_never_loop(mta, remote):
    """A bounce to an address that bounces, to a list whose owner bounces, to itself: each ends, in bad/."""
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.aliases.write_text("list: a@remote.example, b@remote.example\nowner-list: c@remote.example\n"
                           "owner-owner-list: list\nloop: loop@remote.example, list\nowner-loop: loop\n")
    mta.config["bounce"] = {"postmaster_copy": ["failed", "delayed", "undeliverable"]}
    mta.config["local"]["postmaster"] = "nobody@remote.example"  # the copies bounce, too
    mta.start()
    senders = ["", "who@remote.example", "list@test.example", "owner-list@test.example", "loop@test.example",
               "postmaster@test.example", "MAILER-DAEMON@test.example"]
    for sender in senders:
        for recipient in ("list@test.example", "loop@test.example", "user@remote.example", "postmaster@test.example"):
            mta.submit(recipient, "x", sender)
    mta.wait_until_empty(seconds=60)
    made = mta.logged(r"(sender non-delivery|postmaster) notification: ([0-9A-F]+)")
    assert made and not sink.messages and not mta.mailbox()
    # Nothing was made of a report.
    log = "\n".join(mta.log())
    for each in made:
        assert not re.search(rf"{each[2]}: sender ", log), each[0]
    kept = [p for p in (mta.spool / "bad").iterdir() if p.suffix != ".why"]
    assert kept and all((p.parent / (p.name + ".why")).read_text().strip() for p in kept)


def test_copies_for_the_postmaster(mta, remote):
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["local"]["postmaster"] = "other"
    mta.config["bounce"] = {"postmaster_copy": ["failed", "undeliverable"]}
    mta.start()
    mta.submit("user@remote.example", "told", f"{mta.user}@test.example", body="Secret text.")
    [(_, _, _, _, [failed], returned)] = reports(mta, 1)
    assert returned.get_content_type() == "message/rfc822"
    [(text, whole, _, of_message, [same], returned)] = reports(mta, 1, "other")
    assert whole["Subject"].startswith("Copy for the postmaster: ") and "Secret text." not in text
    assert of_message["X-Postrider-Sender"] == f"rfc822; {mta.user}@test.example"
    assert same["Final-Recipient"] == failed["Final-Recipient"]
    mta.submit("user@remote.example", "lost", "nobody@remote.example")
    mta.wait_until_empty()  # its report failed: that is told, too
    copies = [read(t) for t in mta.mailbox("other")]
    assert [c[3][0]["Final-Recipient"] for c in copies].count("rfc822; nobody@remote.example") == 1
    assert len(copies) == 3


# ---- sendmail -bv and -v

def test_bv_tells_what_would_become_of_an_address(mta, remote):
    sink = remote()
    sink.at("rcpt", only("bad@", "550 5.1.1 No such user"), )
    mta.route("remote.example", sink)
    mta.config['route."gone.example"'] = {"next_hop": f"[{mta.address}]:1"}
    mta.aliases.write_text(f"several: {mta.user}, fine@remote.example\nrobot: |/usr/bin/robot\n")
    mta.start()
    done = mta.sendmail("-bv", "-f", f"{mta.user}@test.example", "good@remote.example,bad@remote.example", "other@test.example",
                        "several@test.example", "nobody@test.example", "user@gone.example", "robot@test.example", input="")
    assert done.returncode == 0 and f"Mail Delivery Status Report will be mailed to <{mta.user}@test.example>" in done.stdout
    mta.wait_until_empty(seconds=30)
    said, found = {}, mta.mailbox()
    for text in found:
        whole, human, _, of_recipients, returned = read(text)
        assert whole["Subject"] == "Mail Delivery Status Report"
        for each in of_recipients:
            said[each["Final-Recipient"].split("; ")[1]] = (each["Action"], each["Status"][0])
    assert said == {"good@remote.example": ("deliverable", "2"), "bad@remote.example": ("undeliverable", "5"),
                    "other@test.example": ("deliverable", "2"), "several@test.example": ("expanded", "2"),
                    f"{mta.user}@test.example": ("deliverable", "2"), "fine@remote.example": ("deliverable", "2"),
                    "nobody@test.example": ("undeliverable", "5"), "user@gone.example": ("undeliverable", "4"),
                    "robot@test.example": ("deliverable", "2")}
    assert any('to the command "/usr/bin/robot"' in " ".join(text.split()) for text in found)
    assert not sink.messages and not mta.mailbox("other")  # nobody got anything
    assert mta.logged(r"to=<good@remote.example>, .* status=deliverable \(") and mta.logged(r"to=<bad@remote.example>, .* status=undeliverable \(")
    for address, place in (("other", "mailbox of other"), ("robot", 'command "/usr/bin/robot"')):
        assert mta.logged(rf"local\[\d+\]: \w+: to=<{address}@test.example>, relay=none, .*dsn=2.1.5, status=deliverable \(.*{place}")


def test_v_tells_what_the_first_try_came_to(mta, remote):
    sink = remote()
    sink.at("rcpt", only("later@", "451 4.3.0 Not yet"))
    mta.route("remote.example", sink)
    mta.start()
    me = f"{mta.user}@test.example"
    done = mta.sendmail("-v", "-f", me, "good@remote.example", "other@test.example", "later@remote.example")
    assert done.returncode == 0 and "Mail Delivery Status Report will be mailed" in done.stdout
    queue_id = re.search("queued as ([0-9A-F]+)", done.stdout)[1]
    mta.wait_log(rf"{queue_id}: to=<later@remote.example>.*status=deferred", count=3)
    sink.well_behaved()
    mta.wait_until_empty()
    said = [(r["Final-Recipient"].split("; ")[1], r["Action"]) for text in mta.mailbox() for r in read(text)[3]]
    assert sorted(said) == [("good@remote.example", "relayed"), ("later@remote.example", "delayed"),
                            ("later@remote.example", "relayed"), ("other@test.example", "delivered")]
    assert len(sink.messages) == 2 and len(mta.mailbox("other")) == 1


# ---- while a system is moved

def test_soft_bounce_loses_nothing_and_is_seen(mta, remote):
    sink = remote()
    sink.at("rcpt", only("bad@", "550 5.1.1 No such user"))
    mta.route("remote.example", sink)
    mta.config["bounce"] = {"soft_bounce": True}
    mta.config["queue"].update(expiry="3s", delay_notice="0s")
    mta.start()
    assert mta.logged("bounce.soft_bounce is on: ")
    assert "soft_bounce is on" in mta.command("status").stdout
    with mta.client() as c:
        assert c.say("MAIL FROM:<x@test.example>").startswith("250")
        assert c.say("RCPT TO:<nobody-here@test.example>").startswith("450 4.1.1")
        assert c.say("QUIT").startswith("221")
    queue_id = mta.submit(["bad@remote.example", "good@remote.example"], "kept", f"{mta.user}@test.example")
    mta.aliases.write_text("team: friend@remote.example, gone\n")
    list_id = re.search("queued as (.*)", mta.sendmail("-v", "team").stdout)[1]
    local_id = re.search("queued as (.*)", mta.sendmail("-v", "-f", "", "nobody-here@test.example").stdout)[1]
    mta.wait_log(rf"{queue_id}: to=<good@remote.example>.*status=sent")
    # Older than any mail may become, and still here.
    mta.wait_log(rf"{queue_id}: to=<bad@remote.example>.* delay=([3-9]|\d\d)\b.*status=deferred \(host .* said: 550 5.1.1 No such user")
    mta.wait_log(rf"{local_id}: to=<nobody-here@test.example>.*dsn=4.1.1, status=deferred")
    # A list's members go on without the one that is not there.
    mta.wait_log(rf"{list_id}: to=<friend@remote.example>.*status=sent")
    mta.wait_log(rf"{list_id}: to=<gone@test.example>.*dsn=4.1.1, status=deferred", count=2)
    assert not mta.mailbox()
    assert {queue_id, local_id, list_id} <= mta.queued_ids()
    assert sum("friend@remote.example" in each.recipients for each in sink.messages) == 1
    mta.aliases.write_text("gone: other@remote.example\n")
    sink.wait_for_one_to("other@remote.example")
    mta.config["bounce"] = {}
    mta.config["queue"].update(expiry="1h")
    mta.write_config()
    mta.command("reload")
    mta.wait_log("bounce.soft_bounce is off again")
    assert "soft_bounce is on" not in mta.command("status").stdout
    assert "bad@remote.example" in mta.wait_mailbox(1)[0]
    mta.wait_until_empty()


def test_dry_bounce_tells_nobody_and_is_seen(mta, remote):
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["bounce"] = {"withhold_reports": True}
    mta.start()
    assert "withhold_reports is on" in mta.command("status").stdout
    mta.submit("user@remote.example", "dry", f"{mta.user}@test.example")
    mta.wait_until_empty()
    assert not mta.mailbox()
    [kept] = [p for p in (mta.spool / "bad").iterdir() if p.suffix == ".eml"]
    assert f"to <{mta.user}@test.example>, not sent" in (kept.parent / (kept.name + ".why")).read_text()
    whole = email.message_from_bytes(kept.read_bytes(), policy=email.policy.strict)
    assert whole.get_content_type() == "multipart/report" and str(whole["To"]) == f"{mta.user}@test.example"


# ---- texts of the operator

def test_a_broken_text_is_named_and_the_built_in_one_stands_in(mta, remote):
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    texts = mta.folder / "texts"
    texts.mkdir()
    (texts / "failed.txt").write_bytes(b"Subject: caf\xe9\n\n{recipients}\n")
    (texts / "delayed.txt").write_text("Subject: late\n\n{sendre}: {recipients}\n")
    mta.config["bounce"] = {"templates": str(texts)}
    mta.start()
    named = (rf"{texts}/failed.txt is not UTF-8: the built-in text is used",
             rf"{texts}/delayed.txt:3: \{{sendre\}} is not a known placeholder and is left unchanged")
    checked = mta.command("check")
    for each in named:
        mta.wait_log(each)
        assert re.search("warning: " + each, checked.stderr)
    mta.submit("user@remote.example", "x", f"{mta.user}@test.example")
    [(_, whole, human, *_)] = reports(mta, 1)
    assert whole["Subject"] == "Undelivered Mail Returned to Sender" and "could not be delivered" in human
    (texts / "failed.txt").write_text("Subject: So geht es nicht\n\n{recipients}\n")
    mta.forget_the_log()
    mta.command("reload")
    mta.wait_log(named[1])
    mta.submit("user@remote.example", "x", f"{mta.user}@test.example")
    assert "So geht es nicht" in mta.wait_mailbox(2)[1]
