"""The road of a message: in by SMTP or sendmail, out by SMTP or into a mailbox."""
import re

import pytest

from harness.client import message

pytestmark = pytest.mark.smoke


def test_relayed_to_the_next_hop(relaying):
    mta, sink = relaying
    queue_id = mta.submit("user@remote.example", "over the hills")
    m = sink.wait_for_one_to("user@remote.example")
    assert m.sender == "sender@test.example"
    assert m.header("Subject") == "over the hills"
    assert re.search(rf"by mta\.test\.example .*with ESMTP id {queue_id}", m.header("Received"))
    assert m.text.endswith("\r\n\r\nHello.\r\n")
    mta.wait_until_empty()
    assert mta.queue() == []


def test_content_arrives_byte_for_byte(relaying):
    mta, sink = relaying
    body = "..two dots\r\n.\u00fc one\r\n" + "x" * 998 + "\r\n\r\n\r\ntrailing blank lines\r\n\r\n"
    content = message("exactly", body, extra="MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                      "Content-Transfer-Encoding: 8bit\r\n").removesuffix("\r\n")
    mta.submit("user@remote.example", content=content.encode(), mail_parameters=" BODY=8BITMIME")
    m = sink.wait_for_one_to("user@remote.example")
    assert m.content.split(b"\r\n\r\n", 1)[1] == body.encode()


def test_log_tells_the_story_as_postfix_does(relaying):
    mta, sink = relaying
    queue_id = mta.submit("user@remote.example", "story")
    mta.wait_log(rf"postfix/qmgr\[\d+\]: {queue_id}: removed")
    wanted = [rf"postfix/smtpd\[\d+\]: connect from \S+\[127\.\d+\.\d+\.\d+\]",
              rf"postfix/smtpd\[\d+\]: {queue_id}: client=\S+\[127\.",
              rf"postfix/cleanup\[\d+\]: {queue_id}: message-id=<story@test\.example>",
              rf"postfix/qmgr\[\d+\]: {queue_id}: from=<sender@test\.example>, size=\d+, nrcpt=1 \(queue active\)",
              rf"postfix/smtp\[\d+\]: {queue_id}: to=<user@remote\.example>, relay=\S+\[{re.escape(sink.address)}\]:{sink.port}, "
              rf"delay=[\d.]+, delays=[\d.]+/[\d.]+/[\d.]+/[\d.]+, dsn=2\.0\.0, status=sent \(250 2\.0\.0 Taken\)",
              rf"postfix/smtpd\[\d+\]: disconnect from \S+\[127\S+\] ehlo=1 mail=1 rcpt=1 data=1 quit=1 commands=5"]
    for line in wanted:
        mta.wait_log(line, 5)


def test_several_recipients_travel_together(relaying):
    mta, sink = relaying
    mta.submit([f"user{n}@remote.example" for n in range(20)])
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(sink.messages) == 1
    assert sorted(sink.messages[0].recipients) == sorted(f"user{n}@remote.example" for n in range(20))


def test_into_a_maildir(mta):
    mta.start()
    mta.submit(f"{mta.user}@test.example", "for you")
    text = mta.wait_mailbox(1)[0]
    assert text.startswith("Return-Path: <sender@test.example>")
    assert "Delivered-To:" in text and "Subject: for you" in text
    mta.wait_until_empty()
    mta.wait_log(rf"postfix/local\[\d+\]: [0-9A-F]+: to=<{mta.user}@test\.example>, relay=local, .*status=sent")


def test_into_an_mbox(mta):
    mta.config["local"]["mailbox"] = f"mbox:{mta.folder}/mail/{{user}}"
    (mta.folder / "mail").mkdir()
    mta.start()
    mta.submit(f"{mta.user}@test.example", "first", body="From here on\nall is quoted")
    mta.submit(f"{mta.user}@test.example", "second")
    mta.wait_until_empty()
    text = (mta.folder / "mail" / mta.user).read_text()
    assert len(re.findall(r"^From sender@test\.example ", text, re.M)) == 2
    assert "\n>From here on\n" in text


def test_from_sendmail(relaying):
    mta, sink = relaying
    done = mta.sendmail("-i", "-f", "me@test.example", "-FMe", "user@remote.example", input="Subject: by hand\n\n.\nstill here\n")
    assert (done.returncode, done.stderr) == (0, "")
    m = sink.wait_for_one_to("user@remote.example")
    assert m.sender == "me@test.example"
    assert m.text.endswith("\r\n\r\n.\r\nstill here\r\n")
    assert m.header("Message-ID") and m.header("Date") and "Me" in m.header("From")


def test_sendmail_reads_recipients_from_the_header(relaying):
    mta, sink = relaying
    text = "From: a@test.example\nTo: One <one@remote.example>,\n two@remote.example\nBcc: three@remote.example\nSubject: t\n\nx\n"
    assert mta.sendmail("-t", "-oi", input=text).returncode == 0
    m = sink.wait_for_one_to("three@remote.example")
    assert sorted(m.recipients) == ["one@remote.example", "three@remote.example", "two@remote.example"]
    assert m.header("Bcc") is None


def test_sendmail_while_nothing_runs_goes_out_later(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.stop()
    done = mta.sendmail("user@remote.example")
    assert done.returncode == 0, done.stderr
    mta.start()
    sink.wait_for_one_to("user@remote.example")


def test_aliases_lead_to_people(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.aliases.write_text(f"team: {mta.user}, far@remote.example, other\nagain: team, {mta.user}\nloop: loop2\nloop2: loop, {mta.user}\n"
                           f"postmaster: {mta.user}\n")
    mta.start()
    mta.submit("again@test.example", "to all")
    m = sink.wait_for_one_to("far@remote.example")
    mta.wait_until_empty()
    assert len(sink.messages) == 1 and m.recipients == ["far@remote.example"]
    assert len(mta.mailbox()) == 1 and len(mta.mailbox("other")) == 1
    mta.submit("loop@test.example")
    mta.wait_mailbox(2)
    mta.submit("postmaster@test.example")
    mta.wait_mailbox(3)


def test_a_session_is_reused(relaying):
    mta, sink = relaying
    for n in range(10):
        mta.submit(f"user{n}@remote.example")
    sink.wait_for(10)
    assert sink.connections < 10


def test_mailq_shows_what_waits_and_why(mta, remote):
    sink = remote()
    sink.at("mail", "451 4.3.0 Come back later")
    mta.route("remote.example", sink)
    mta.config["queue"]["glitch_interval"] = "1h"
    mta.start()
    assert mta.run("mailq", "-C", mta.file).stdout.strip() == "Mail queue is empty"
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    entry, = mta.queue()
    assert entry[0] == queue_id and entry[2] == "sender@test.example" and entry[3] == ["user@remote.example"]
    assert "451 4.3.0 Come back later" in " ".join(entry[4])
    text = mta.run("mailq", "-C", mta.file).stdout
    assert text.startswith("-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------")
    assert re.search(r"^-- \d+ Kbytes in 1 Request\.$", text.strip().splitlines()[-1])
