"""Addresses and content as others see them: generic tables and rules on the way out, masquerading on the way in."""
import contextlib
import re
import socketserver
import threading

import pytest

from harness.client import message
from harness.watch import wait_until


def table(mta, name, text):
    path = mta.folder / name
    path.write_text(text)
    return f"text:{path}"


def body(received):
    return received.content.decode().split("\r\n\r\n", 1)[1]


@pytest.mark.smoke
def test_generic_addresses_on_the_way_out(mta, remote):
    """Envelope and header are rewritten for those who get it over SMTP; routes, the log, the queue and reports have the addresses
    as they were."""
    sink, plain = remote(), remote()
    mta.route("remote.example", sink)
    mta.route("plain.example", plain)
    mta.config['route."plain.example"']["generic_tables"] = []
    mta.config["generic"] = {"tables": [table(mta, "generic", f"""\
{mta.user}@test.example a.smith@example.com
other bob@example.com
@lan.example @example.com
peer@remote.example friend@partner.example
""")]}
    mta.start()
    extra = ('Cc: "other, (really)" <other@test.example>, Staff: root@lan.example (root (admin)),\r\n\tpeer@remote.example;\r\n'
             f"Reply-To: <{mta.user}+x@test.example>\r\nX-From: {mta.user}@test.example\r\n")
    content = message("out", f"From {mta.user}@test.example", f"Ann <{mta.user}@test.example>",
                      "peer@remote.example", extra)
    with mta.client(mta.submission_port) as c:
        assert c.deliver(f"{mta.user}@test.example", ["peer@remote.example", "x@remote.example", "y@plain.example", "other@test.example"],
                         content).startswith("250")
    queue_id = mta.wait_log(r"([0-9A-F]{14}): to=<peer@remote.example>, .*status=sent")[1]
    seen = sink.messages[0]
    assert seen.sender == "a.smith@example.com"
    assert sorted(seen.recipients) == ["friend@partner.example", "x@remote.example"]
    assert seen.header("From") == "Ann <a.smith@example.com>"
    assert seen.header("To") == "friend@partner.example"
    assert seen.header("Cc") == '"other, (really)" <bob@example.com>, Staff: root@example.com (root (admin)),\tfriend@partner.example;'
    assert seen.header("Reply-To") == "<a.smith@example.com>"
    assert seen.header("X-From") == f"{mta.user}@test.example" and body(seen) == f"From {mta.user}@test.example\r\n"
    # Elsewhere nothing has changed.
    unchanged = plain.wait_for_one_to("y@plain.example")
    assert unchanged.sender == f"{mta.user}@test.example" and unchanged.header("From") == f"Ann <{mta.user}@test.example>"
    assert f"From: Ann <{mta.user}@test.example>" in mta.wait_mailbox(1, "other")[0]
    mta.wait_log(rf"{queue_id}: to=<x@remote.example>, .*status=sent")
    assert not mta.logged("a\\.smith@example")
    # A failure is reported to the sender as it was, about the recipient as it was.
    sink.at("rcpt", "550 5.1.1 No such user", times=1)
    mta.submit("peer@remote.example", "refused", sender=f"{mta.user}@test.example", port=mta.submission_port)
    report = mta.wait_mailbox(1)[0]
    assert "Final-Recipient: rfc822; peer@remote.example" in report and "friend@partner.example" not in report
    mta.wait_until_empty()


def test_a_table_that_fails_makes_mail_wait_and_only_that(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.route("plain.example", sink)
    mta.config['route."plain.example"']["generic_tables"] = []
    bad = mta.folder / "generic"
    bad.write_text("ann@test.example <x@@y>\n")
    mta.config["generic"] = {"tables": [f"text:{bad}"]}
    mta.start()
    queue_id = mta.submit("a@remote.example", "waits", sender="ann@test.example", port=mta.submission_port)
    mta.wait_log(rf"{queue_id}: to=<a@remote.example>, .*dsn=4\.3\.0, status=deferred "
                 r"\(addresses cannot be rewritten: text:.*generic: invalid value for <ann@test\.example>: ")
    mta.submit("b@remote.example", "flows", sender="bob@test.example", port=mta.submission_port)
    mta.submit("c@plain.example", "flows", sender="ann@test.example", port=mta.submission_port)
    sink.wait_for_one_to("b@remote.example"), sink.wait_for_one_to("c@plain.example")
    assert not sink.to("a@remote.example")
    assert not mta.logged("state=(glitch|retry)")  # nothing is wrong with the queue
    bad.write_text("ann@test.example a.smith@example.com\n")
    wait_until(lambda: (mta.flush(), sink.to("a@remote.example"))[1], 15, mta.last_words)
    assert sink.to("a@remote.example")[0].sender == "a.smith@example.com"
    mta.wait_until_empty()


class HeldTable(socketserver.ThreadingTCPServer):
    """By Postfix's tcp_table(5): answers once it may."""
    allow_reuse_address = daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            with contextlib.suppress(ConnectionError):
                for line in self.rfile:
                    self.server.asked.set()
                    self.server.may_answer.wait(30)
                    self.wfile.write(b"200 a.smith@example.com\n" if b"ann@" in line else b"500 none\n")

    def __init__(self, address):
        super().__init__(address, self.Handler)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


def test_others_do_not_wait_for_a_slow_table(mta, remote, block):
    sink, plain = remote(), remote()
    mta.route("remote.example", sink)
    mta.route("plain.example", plain)
    mta.config['route."plain.example"']["generic_tables"] = []
    mta.config["smtp_client"]["workers"] = 1
    with HeldTable((mta.address, block.port())) as server:
        mta.config["generic"] = {"tables": [f"tcp:{mta.address}:{server.server_address[1]}"]}
        mta.start()
        mta.submit("a@remote.example", "held", sender="ann@test.example", port=mta.submission_port)
        assert server.asked.wait(15)
        mta.submit("c@plain.example", "flows", sender="ann@test.example", port=mta.submission_port)
        plain.wait_for_one_to("c@plain.example")
        assert not sink.messages
        mta.command("reload")
        mta.wait_log("generation 2")
        server.may_answer.set()
        assert sink.wait_for_one_to("a@remote.example").sender == "a.smith@example.com"
        mta.wait_until_empty()
        server.shutdown()


def test_generic_tables_come_and_go_with_a_reload(mta, remote):
    """The directory of the first one must be known at the start, as that of access tables."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["generic"] = {"tables": [table(mta, "empty", "")]}
    mta.start()
    mta.submit("a@remote.example", "before", sender="ann@test.example", port=mta.submission_port)
    assert sink.wait_for_one_to("a@remote.example").sender == "ann@test.example"
    mta.config["generic"] = {"tables": [table(mta, "generic", "ann a.smith@example.com\n")], "propagate_extension": True}
    mta.write_config()
    mta.command("reload")
    mta.wait_log("generation 2")
    mta.submit("b@remote.example", "with", sender="ann+x@test.example", port=mta.submission_port)
    assert sink.wait_for_one_to("b@remote.example").sender == "a.smith+x@example.com"
    del mta.config["generic"]
    mta.write_config()
    mta.command("reload")
    mta.wait_log("generation 3")
    mta.submit("c@remote.example", "without", sender="ann@test.example", port=mta.submission_port)
    assert sink.wait_for_one_to("c@remote.example").sender == "ann@test.example"


def test_a_large_message_and_one_in_many_pieces(mta, remote):
    """Headers of several reads, bodies that are not in memory, more addresses than are rewritten."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["generic"] = {"tables": [table(mta, "generic", "@lan.example @example.com\n")]}
    mta.config["smtpd"]["message_size"] = 64 << 20
    mta.start()
    text = "".join(f"line {n}\r\n" for n in range(200_000))
    to = "".join(f"\r\n user{n}@lan.example," for n in range(9_000)) + "\r\n last@lan.example"
    mta.submit("a@remote.example", "large", body=text, extra=f"Cc:{to}\r\n", port=mta.submission_port)
    seen = sink.wait_for_one_to("a@remote.example", 60)
    assert b"@lan.example" not in seen.content and seen.content.count(b"@example.com") == 9_001
    assert body(seen) == text + "\r\n"
    fields = "".join(f"To: a{n}@lan.example, b{n}@lan.example, c{n}@lan.example\r\n" for n in range(4_500))
    mta.submit("b@remote.example", "fields", extra=fields, port=mta.submission_port)
    seen = sink.wait_for_one_to("b@remote.example", 60)
    assert seen.content.count(b"@example.com") == 9_996 and seen.content.count(b"@lan.example") == 3_504
    mta.wait_log(r"addresses in the header are not rewritten: the header has fields that are too long, or too many addresses")


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["smtp", "sendmail"])
def test_canonical_tables_for_the_header(mta, remote, way):
    """What is stored has the other addresses, so mailboxes here show them as well; masquerading comes behind them."""
    sink = remote()
    mta.route("remote.example", sink)
    shown = table(mta, "shown", "root@host.test.example ann@host.test.example\n")
    known = table(mta, "known", "@old.example @new.example\n")
    mta.config["canonical"] = {"header_sender": [shown, known], "header_recipient": [known]}
    mta.config["masquerade"] = {"domains": ["test.example"], "classes": ["header_sender"]}
    mta.start()
    content = message("shown", "root@host.test.example", "Cron <root@host.test.example>", "a@remote.example",
                      "Cc: root@host.test.example,\r\n (Carol) carol@old.example\r\nReply-To: b@old.example\r\n")
    recipients = ["a@remote.example", f"{mta.user}@test.example"]
    if way == "smtp":
        with mta.client(mta.submission_port) as c:
            assert c.deliver("root@host.test.example", recipients, content).startswith("250")
    else:
        assert mta.sendmail("-f", "root@host.test.example", *recipients, input=content.replace("\r\n", "\n")).returncode == 0
    seen = sink.wait_for_one_to("a@remote.example")
    assert seen.sender == "root@host.test.example" and seen.header("From") == "Cron <ann@test.example>"
    assert seen.header("Cc") == "root@host.test.example, (Carol) carol@new.example"
    assert seen.header("Reply-To") == "b@new.example"
    assert "From: Cron <ann@test.example>" in mta.wait_mailbox(1)[0]


def test_canonical_tables_that_cannot_answer_defer(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["canonical"] = {"header_sender": [f"socketmap:unix:{mta.folder}/nobody:names"], "header_origins": ["authenticated", "local"]}
    mta.start()
    content = message("waits", "ann@test.example", "ann@test.example", "a@remote.example")
    with mta.client(mta.submission_port) as c:
        assert c.deliver("ann@test.example", ["a@remote.example"], content) == "451 4.3.0 Temporary lookup failure"
        assert c.say("NOOP").startswith("250")
    mta.wait_log(r"[0-9A-F]{14}: canonical tables: .*nobody")
    left = mta.sendmail("-f", "ann@test.example", "a@remote.example", input=content.replace("\r\n", "\n"))
    assert left.returncode == 75, left
    assert not sink.messages


@pytest.mark.parametrize("way", ["smtp", "sendmail"])
def test_a_slow_canonical_table_keeps_only_the_message_that_needs_it(mta, remote, block, way):
    """A reload meanwhile changes nothing for it, and a client that leaves harms no one else."""
    sink = remote()
    mta.route("remote.example", sink)
    with HeldTable((mta.address, block.port())) as server:
        mta.config["canonical"] = {"header_sender": [f"tcp:{mta.address}:{server.server_address[1]}"],
                                   "header_origins": ["submission" if way == "smtp" else "local"]}
        mta.start()
        waiting = mta.client(mta.submission_port)
        gone = mta.client(mta.submission_port)
        content = message("held", "ann@test.example", "ann@test.example", "a@remote.example")

        def send():
            if way == "smtp":
                assert waiting.deliver("ann@test.example", ["a@remote.example"], content).startswith("250")
            else:
                assert mta.sendmail("-f", "ann@test.example", "a@remote.example", input=content.replace("\r\n", "\n")).returncode == 0
        thread = threading.Thread(target=send)
        thread.start()
        assert server.asked.wait(15)
        gone.say("EHLO client.example")
        for line in ("MAIL FROM:<ann@test.example>", "RCPT TO:<a@remote.example>", "DATA"):
            gone.say(line)
        gone.socket.sendall(content.encode() + b"\r\n.\r\n")
        gone.close()
        if way == "smtp":
            with mta.client() as c:
                assert c.deliver("b@far.example", [f"{mta.user}@test.example"],
                                 message("flows", "b@far.example", "b@far.example", f"{mta.user}@test.example")).startswith("250")
            mta.wait_mailbox(1)
        mta.command("reload")
        mta.wait_log("generation 2")
        server.may_answer.set()
        thread.join(30)
        assert sink.wait_for_one_to("a@remote.example").header("From") == "a.smith@example.com"
        waiting.close()
        mta.wait_until_empty()
        server.shutdown()


def test_the_header_of_strangers_stays(mta):
    mta.config["canonical"] = {"header_sender": [table(mta, "shown", "@old.example @new.example\n")], "header_origins": ["authenticated"]}
    mta.start()
    with mta.client() as c:
        assert c.deliver("b@old.example", [f"{mta.user}@test.example"],
                         message("theirs", "b@old.example", "b@old.example", f"{mta.user}@test.example")).startswith("250")
    assert "From: b@old.example" in mta.wait_mailbox(1)[0]


@pytest.mark.parametrize("way", ["smtp", "sendmail"])
def test_masquerading(mta, remote, way):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["masquerade"] = {"domains": ["!lab.test.example", "test.example"], "exceptions": ["root"]}
    mta.start()
    content = message("shown", "ann@host.test.example", "Ann <ann@host.test.example>", "a@remote.example",
                      "Cc: root@host.test.example, bob@x.lab.test.example,\r\n (Carol) carol@a.b.test.example\r\n")
    recipients = ["a@remote.example", f"{mta.user}@test.example"]
    if way == "smtp":
        with mta.client(mta.submission_port) as c:
            assert c.deliver("ann@host.test.example", recipients, content).startswith("250")
    else:
        assert mta.sendmail("-f", "ann@host.test.example", *recipients, input=content.replace("\r\n", "\n")).returncode == 0
    seen = sink.wait_for_one_to("a@remote.example")
    assert seen.sender == "ann@test.example" and seen.header("From") == "Ann <ann@test.example>"
    assert seen.header("Cc") == "root@host.test.example, bob@x.lab.test.example, (Carol) carol@test.example"
    assert body(seen) == "ann@host.test.example\r\n"
    kept = mta.wait_mailbox(1)[0]
    assert "From: Ann <ann@test.example>" in kept


def test_masquerading_of_recipients_and_of_strangers(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["masquerade"] = {"domains": ["test.example"], "classes": ["envelope_recipient", "header_recipient"],
                                "header_origins": ["local"]}
    mta.start()
    mta.sendmail("-f", "ann@host.test.example", f"{mta.user}@host.test.example",
                 input=f"From: ann@host.test.example\nTo: {mta.user}@host.test.example\nSubject: in\n\nx\n")
    kept = mta.wait_mailbox(1)[0]
    assert f"To: {mta.user}@test.example" in kept and "From: ann@host.test.example" in kept


def test_rules_on_the_way_out(mta, remote):
    """The message that is kept, and what is delivered here, stays as it is."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtp_client"].update({
        "header_checks": ["/^X-Internal:/ IGNORE", "/^X-Old: (.*)/ REPLACE X-New: $1", "/^X-Fold: (.*)/ REPLACE X-Folded: $1", "/^Subject:/ PREPEND X-Before: yes",
                          "/^X-Noted:/ WARN look", "/^X-Gone:/ STRIP away"],
        "mime_header_checks": ["/^Content-Description:/ IGNORE"],
        "nested_header_checks": ["/^X-Internal:/ IGNORE"],
        "body_checks": ["/^internal line$/ IGNORE", "/^old (.*)/ REPLACE new $1", "/^here$/ PREPEND before"]})
    mta.start()
    text = ("--b\r\nContent-Type: text/plain\r\nContent-Description: x\r\n\r\ninternal line\r\nold words\r\nhere\r\n--b\r\n"
            "Content-Type: message/rfc822\r\n\r\nSubject: inner\r\nX-Internal: y\r\n\r\nold inner\r\n--b--")
    extra = "X-Internal: x\r\n y\r\nX-Old: a\r\nX-Noted: b\r\nX-Fold: a\r\n b\r\nX-Gone: c\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"
    queue_id = mta.submit(["a@remote.example", f"{mta.user}@test.example"], "out", body=text, extra=extra, port=mta.submission_port)
    seen = sink.wait_for_one_to("a@remote.example")
    header = seen.content.decode().split("\r\n\r\n", 1)[0]
    assert "X-Internal" not in header and "X-Old" not in header and "X-New: a\r\n" in header and "X-Folded: a\r\n b\r\n" in header and "X-Gone" not in header
    assert "X-Before: yes\r\nSubject: out\r\n" in header and "X-Noted: b" in header
    assert body(seen) == text.replace("Content-Description: x\r\n", "").replace("internal line\r\n", "").replace(
        "old words", "new words").replace("here", "before\r\nhere").replace("X-Internal: y\r\n", "").replace("old inner", "new inner") + "\r\n"
    for line in (r"replace: header X-Old: a: X-New: a", r"warning: header X-Noted: b: look", r"strip: header X-Gone: c: away",
                 r"replace: body old words: new words", r"prepend: body here: before"):
        mta.wait_log(rf"postfix/smtp\[\d+\]: {queue_id}: {line}$")
    kept = mta.wait_mailbox(1)[0]
    assert "X-Internal: x" in kept and "internal line" in kept and "X-New" not in kept
    mta.wait_until_empty()


def test_rules_for_parts_and_bodies_on_the_way_in(mta):
    mta.config["content"] = {
        "mime_header_checks": [r"/name=.*\.exe/ REJECT 5.7.9 no programs", "/^Content-Description:/ IGNORE"],
        "nested_header_checks": ["/^Subject: lottery/ DISCARD"],
        "body_checks": ["/^refuse me (.*)/ REJECT $1", "/^hold me/ HOLD", "/^change me/ REPLACE changed", "/^for other/ REDIRECT other@test.example",
                        "/^copy/ BCC other@test.example"],
        "body_checks_size": 2000}
    mta.start()

    def deliver(subject, text, extra=""):
        with mta.client() as c:
            return c.deliver("ann@remote.example", [f"{mta.user}@test.example"], message(subject, text, extra=extra))

    def part(fields, text="x"):
        return f"--b\r\n{fields}\r\n\r\n{text}\r\n--b--"
    mixed = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"
    assert deliver("program", part('Content-Disposition: attachment;\r\n filename="a.exe"'), mixed).startswith("550 5.7.9 no programs")
    mta.wait_log(r'reject: header Content-Disposition: attachment; filename="a\.exe" from .*: 5\.7\.9 no programs')
    assert deliver("plain", 'filename="a.exe"').startswith("250")  # not in a header
    mta.wait_mailbox(1)
    assert deliver("nested", part("Content-Type: message/rfc822", "Subject: lottery\r\n\r\nx"), mixed).startswith("250")
    mta.wait_log(r"discard: header Subject: lottery from")
    assert deliver("line", "a\r\nrefuse me politely").startswith("550 5.7.1 politely")
    mta.wait_log(r"reject: body refuse me politely from .*: 5\.7\.1 politely$")
    assert deliver("far", "x" * 70 + ("\r\n" + "x" * 70) * 40 + "\r\nrefuse me").startswith("250")  # beyond what is looked at
    mta.wait_mailbox(2)
    assert deliver("changed", "change me, please\r\nand keep me").startswith("250")
    assert any("\n\nchanged\nand keep me\n" in each for each in mta.wait_mailbox(3))
    described = deliver("described", part("Content-Description: x\r\nX-Kept: y"), mixed)
    assert described.startswith("250")
    text = "\n".join(mta.wait_mailbox(4))
    assert "Content-Description" not in text and "X-Kept: y" in text
    assert deliver("elsewhere", "for other").startswith("250")
    mta.wait_mailbox(1, "other")
    assert deliver("copied", "copy").startswith("250")
    mta.wait_mailbox(5), mta.wait_mailbox(2, "other")
    held = deliver("held", "hold me").split()[-1]
    wait_until(lambda: held in mta.queued_ids(), 15, mta.last_words)
    assert re.search(r"^State +held", mta.command("message", "show", held).stdout, re.M)
    done = mta.sendmail("-f", "ann@test.example", f"{mta.user}@test.example", input="Subject: x\n\nrefuse me too\n")
    assert done.returncode != 0 and "too" in done.stderr, done.stderr


def test_a_hostile_message_holds_nobody_up(mta):
    """Patterns that never end, lines without end, parts within parts: what a rule that keeps mail out could not examine does
    not get in, and everybody else's mail does."""
    mta.config["content"] = {"body_checks": ["/^(a+)+$/ REJECT", "/^(.*a.*)*b$/ REJECT"], "mime_header_checks": ["/^(x+)+$/ REJECT"],
                             "nested_header_checks": ["/^(x+)+$/ REJECT"], "body_checks_size": 1 << 30}
    mta.config["smtpd"]["workers"] = 1
    mta.config["smtpd"]["message_size"] = 64 << 20
    mta.start()
    evil = ("a" * 900 + "!\r\n") * 2_000 + "a" * 5_000_000
    deep = "".join("Content-Type: message/rfc822\r\n\r\n" for _ in range(1_000)) + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"
    with mta.client() as c:
        assert c.deliver("ann@remote.example", [f"{mta.user}@test.example"],
                         message("evil", evil)) == "451 4.3.0 message content cannot be checked now"
        assert c.deliver("ann@remote.example", [f"{mta.user}@test.example"],
                         message("deep", deep, extra="Content-Type: message/rfc822\r\n")).startswith("550 5.6.0 cannot be examined")
    mta.wait_log(r"rule /\^\(a\+\)\+\$/ takes too long")
    mta.submit(f"{mta.user}@test.example", "others")
    mta.wait_mailbox(1)


def test_explain_shows_what_others_see(mta, remote):
    mta.route("remote.example", remote())
    mta.route("plain.example", remote())
    mta.config['route."plain.example"']["generic_tables"] = []
    mta.config["masquerade"] = {"domains": ["test.example"]}
    mta.config["mta"]["origin"] = "origin.example"
    mta.config["canonical"] = {"header_sender": [table(mta, "canonical", "dora@host.test.example dora@x.test.example\n")]}
    mta.config["generic"] = {"tables": [table(mta, "generic", "carl c.jones@example.com\nann@test.example a.smith@example.com\npeer@remote.example friend@partner.example\n"
                                              "peer@plain.example friend@partner.example\n")]}
    mta.start()
    said = mta.command("explain", "peer@remote.example").stdout
    assert re.search(r"^As a recipient +friend@partner\.example$", said, re.M), said
    said = mta.command("explain", "peer@plain.example").stdout
    assert "As a recipient" not in said, said
    said = mta.command("explain", "--json", "ann@host.test.example").stdout
    assert '"as_sender":"a.smith@example.com"' in said.replace('": "', '":"'), said
    said = mta.command("explain", "carl@origin.example").stdout  # a name alone, in a domain that is not local
    assert re.search(r"^As a sender +c\.jones@example\.com$", said, re.M), said
    said = mta.command("explain", "dora@host.test.example").stdout
    assert re.search(r"^In From +dora@test\.example\nIn To +dora@test\.example\nAs a sender +dora@test\.example$", said, re.M), said
