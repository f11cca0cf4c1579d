"""The suppression list: kept by commands, filled by refusals, and what becomes of mail for those on it."""
import email
import email.policy
import json

from harness import fake_clock
from harness.filters import answers
from harness.sink import only
from harness.unpacked import Service, environment, tree
from harness.watch import wait_until


def listed(mta, *words):
    return [json.loads(line) for line in mta.command("suppress", "list", *words, "--json").stdout.splitlines()]


def report_of(mta, count=1):
    """The newest report in the sender's mailbox: (the part about the first recipient, the human text)."""
    text = mta.wait_mailbox(count)[-1]
    whole = email.message_from_bytes(text.encode().replace(b"\n", b"\r\n"), policy=email.policy.strict)
    human, status, _ = whole.iter_parts()
    return status.get_payload()[1], human.get_content()


def refused_at_rcpt(mta, recipient, sender="sender@test.example"):
    with mta.client() as c:
        c.say(f"MAIL FROM:<{sender}>")
        return c.say(f"RCPT TO:<{recipient}>")


def wait_refused(mta, recipient, **options):
    return wait_until(lambda: (lambda r: r if r.startswith("550 5.7.1") else None)(refused_at_rcpt(mta, recipient, **options)), 10,
                      f"{recipient} to be refused")


def test_a_program_learns_at_once_that_its_recipient_is_suppressed(relaying):
    """If nobody else gets the message. Otherwise the others get it, and a report says what was not sent."""
    mta, sink = relaying
    mta.command("suppress", "add", "ann@remote.example", "bob@remote.example", "--reason", "asked for it")
    mta.command("suppress", "add", "carl@remote.example", "--sender", "news.example")
    wait_refused(mta, "ann@remote.example")
    me = f"{mta.user}@test.example"

    def refused(*words):
        tried = mta.sendmail("-f", *words)
        assert tried.returncode == 77 and "asked for it" in tried.stderr, (tried.returncode, tried.stderr)
        return tried.stderr
    assert "Ann@remote.example" in refused(me, "Ann@remote.example")
    assert "1 more" in refused(me, "ann@remote.example", "bob@remote.example")
    assert mta.sendmail("-f", "x@news.example", "carl@remote.example").returncode == 77
    assert mta.queue() == [] and sink.messages == [], "nothing of them was accepted"
    mta.wait_log(r"submission by uid=\d+ refused: carl@remote.example")

    assert mta.sendmail("-f", me, "carl@remote.example").returncode == 0, "only news.example's mail to him is suppressed"
    assert mta.sendmail("-f", me, "ann@remote.example", "dora@remote.example").returncode == 0
    assert {r for m in sink.wait_for(2) for r in m.recipients} == {"carl@remote.example", "dora@remote.example"}
    about, _ = report_of(mta)
    assert about["Final-Recipient"] == "rfc822; ann@remote.example" and about["Status"] == "5.7.1"


def test_an_entry_for_mail_in_one_lane(relaying):
    """A program learns at once that its mail is concerned. Over SMTP the header tells, and the sender gets a report."""
    mta, sink = relaying
    mta.command("suppress", "add", "ann@remote.example", "--lane", "bulk", "--reason", "no newsletters")
    mta.command("suppress", "add", "bob@remote.example", "--pool", "news")
    assert [(e["recipient"], e["sender"], e["pool"], e["lane"]) for e in listed(mta)] == [
        ("ann@remote.example", "", "", "bulk"), ("bob@remote.example", "", "news", "")]
    assert [e["recipient"] for e in listed(mta, "lane=bulk")] == ["ann@remote.example"]
    table = mta.command("suppress", "list").stdout
    assert "lane bulk" in table and "pool news" in table
    for words, status in ((("ann@remote.example",), 1), (("ann@remote.example", "--lane", "bulk"), 0),
                          (("bob@remote.example", "--pool", "news"), 0), (("bob@remote.example", "--lane", "bulk"), 1)):
        assert mta.command("suppress", "check", *words, check=False).returncode == status, words

    me = f"{mta.user}@test.example"
    newsletter = "X-Postrider-Lane: bulk\nSubject: news\n\nbuy\n"
    wait_until(lambda: mta.sendmail("-f", me, "ann@remote.example", input=newsletter).returncode == 77, 10, "a refusal")
    assert mta.queue() == [] and sink.messages == []
    assert mta.sendmail("-f", me, "ann@remote.example").returncode == 0, "in another lane she gets mail"
    sink.wait_for_one_to("ann@remote.example")

    with mta.client() as c:
        assert c.deliver(me, ["ann@remote.example", "carl@remote.example"], newsletter).startswith("250"), \
            "the lane is not known at RCPT"
    sink.wait_for_one_to("carl@remote.example")
    about, _ = report_of(mta)
    assert about["Final-Recipient"] == "rfc822; ann@remote.example" and "no newsletters" in str(about["Diagnostic-Code"])
    assert sum("ann@remote.example" in m.recipients for m in sink.messages) == 1

    # Mail that waits is returned when an entry for its lane is added; other mail still waits.
    assert mta.command("suppress", "remove", "ann@remote.example", "--lane", "bulk").returncode == 0
    mta.command("pause", "everything")
    assert mta.sendmail("-f", me, "dora@remote.example", input=newsletter).returncode == 0
    assert mta.sendmail("-f", me, "dora@remote.example").returncode == 0
    wait_until(lambda: len(mta.queue()) == 2, 10, "both to wait")
    mta.command("suppress", "add", "dora@remote.example", "--lane", "bulk")
    wait_until(lambda: [entry[2] for entry in mta.queue()].count(me) == 1, 10, "the newsletter to be returned")
    mta.command("resume", "everything")
    sink.wait_for_one_to("dora@remote.example")
    about, _ = report_of(mta, 2)
    assert about["Final-Recipient"] == "rfc822; dora@remote.example"


def test_the_operators_list(relaying):
    mta, sink = relaying
    assert refused_at_rcpt(mta, "ann@remote.example").startswith("250")
    mta.command("suppress", "add", "Ann@REMOTE.example", "--reason", "asked for it", "--for", "30d")
    mta.command("suppress", "add", "@whole.example", "b\u00fccher.example")
    mta.command("suppress", "add", "bob@remote.example", "--sender", "news.example")
    found = {(e["recipient"], e["sender"]): e for e in listed(mta)}
    assert set(found) == {("ann@remote.example", ""), ("@whole.example", ""), ("@xn--bcher-kva.example", ""),
                          ("bob@remote.example", "news.example")}
    ann = found["ann@remote.example", ""]
    assert ann["reason"] == "asked for it" and ann["expires"] - ann["added"] in range(30 * 86400 - 5, 30 * 86400 + 5)
    assert not ann["automatic"] and ann["added_by"]
    assert [e["recipient"] for e in listed(mta, "domain=whole.example")] == ["@whole.example"]
    assert "4 on the list; 0 added by rejections today" in mta.command("status").stdout

    # At RCPT, while somebody else may go there.
    assert "asked for it" in wait_refused(mta, "ann@remote.example")
    assert "asked for it" in wait_refused(mta, "ANN@remote.example")
    assert wait_refused(mta, "anybody@whole.example")
    assert wait_refused(mta, "bob@remote.example", sender="x@news.example")
    assert refused_at_rcpt(mta, "bob@remote.example").startswith("250")
    assert refused_at_rcpt(mta, "ann+more@remote.example").startswith("250")
    assert mta.command("suppress", "check", "ann@remote.example").stdout.count("ann@remote.example") == 1
    assert mta.command("suppress", "check", "carl@remote.example", check=False).returncode == 1
    assert mta.command("suppress", "check", "bob@remote.example", check=False).returncode == 1
    assert mta.command("suppress", "check", "bob@remote.example", "--sender", "x@news.example").returncode == 0

    # What makes no sense is said; what is not there, too; a dry run changes nothing.
    assert mta.command("suppress", "add", "no address", check=False).returncode not in (0, 1)
    assert "postmaster" in mta.command("suppress", "add", "postmaster@test.example", check=False).stderr
    assert mta.command("suppress", "remove", "nobody@remote.example", check=False).returncode == 1
    mta.command("suppress", "remove", "all", "--dry-run")
    assert len(listed(mta)) == 4

    # It outlives a restart, and a kill at any time after the command was done.
    mta.command("suppress", "add", "carl@remote.example")
    mta.kill("queue-manager")
    mta.stop()
    mta.start()
    assert len(listed(mta)) == 5
    assert wait_refused(mta, "carl@remote.example")

    mta.command("suppress", "remove", "ann@remote.example")
    wait_until(lambda: refused_at_rcpt(mta, "ann@remote.example").startswith("250"), 10, "ann to be taken again")
    mta.submit("ann@remote.example")
    sink.wait_for_one_to("ann@remote.example")
    mta.command("suppress", "remove", "all")
    assert listed(mta) == []


def test_after_acceptance_the_sender_is_told(relaying):
    """Behind an alias, and of programs on this host: the others get it, the report says why one did not."""
    mta, sink = relaying
    mta.aliases.write_text("team: ann@remote.example, bob@remote.example\n")
    mta.command("reload")
    mta.command("suppress", "add", "ann@remote.example", "--reason", "asked for it")
    me = f"{mta.user}@test.example"
    queue_id = mta.submit("team@test.example", sender=me)
    failed, human = report_of(mta)
    assert failed["Final-Recipient"] == "rfc822; ann@remote.example"
    assert (failed["Action"], failed["Status"]) == ("failed", "5.7.1")
    assert "asked for it" in human
    sink.wait_for_one_to("bob@remote.example")
    mta.wait_log(rf"{queue_id}: to=<ann@remote.example>.*relay=none.*dsn=5.7.1.*status=bounced.*suppression list")
    assert mta.sendmail("-f", me, "ann@remote.example", "elsa@remote.example").returncode == 0
    failed, _ = report_of(mta, 2)
    assert failed["Status"] == "5.7.1"
    # A report to somebody suppressed is kept, not sent.
    sink.at("rcpt", only("carl", "550 5.1.1 No such user"))
    mta.command("suppress", "add", "dora@remote.example")
    mta.submit("carl@remote.example", sender="dora@remote.example")
    wait_until(lambda: list((mta.spool / "bad").iterdir()), 15, "the report to be kept in bad/")
    mta.wait_until_empty()
    assert not [m for m in sink.messages if "ann@remote.example" in m.recipients or "dora@remote.example" in m.recipients]


def test_waiting_mail_is_reported(relaying):
    mta, sink = relaying
    sink.at("rcpt", "450 4.2.0 Not now")
    mta.config["queue"].update(retry_interval="1h", retry_interval_after="1h", glitch_interval="1h")
    mta.stop()
    mta.start()
    me = f"{mta.user}@test.example"
    first = mta.submit(["ann@remote.example", "bob@remote.example"], sender=me)
    held = mta.submit("ann@remote.example", sender=me)
    mta.wait_log(f"{first}: .* status=deferred", count=2)
    mta.wait_log(f"{held}: .* status=deferred")
    wait_until(lambda: json.loads(mta.command("message", "show", held, "--json").stdout)["recipients"][0]["state"] == "retrying", 10, "it to wait")
    mta.command("message", "hold", held)
    mta.command("suppress", "add", "ann@remote.example", "--reason", "gone")
    failed, human = report_of(mta)
    assert failed["Final-Recipient"] == "rfc822; ann@remote.example" and failed["Status"] == "5.7.1" and "gone" in human
    wait_until(lambda: mta.queued_ids() == {first, held}, 15, "the report to be gone, bob's and what is held to wait on")
    explained = json.loads(mta.command("explain", held, "--json").stdout.splitlines()[0])
    assert "suppression" in [g["gate"] for g in explained["gates"]]
    mta.command("message", "release", held)
    mta.command("message", "retry", held)
    assert report_of(mta, 2)[0]["Status"] == "5.7.1"
    wait_until(lambda: mta.queued_ids() == {first}, 15, "the released one to be gone")
    # Put there while nobody looked: found before the first try after a restart.
    mta.command("suppress", "add", "bob@remote.example")
    report_of(mta, 3)
    mta.wait_until_empty()


def test_lists_of_others_come_in(relaying, folder):
    mta, sink = relaying
    csv = folder / "bounces.csv"
    csv.write_text('status,reason,email,created\n5.1.1,"550 5.1.1 no, never",ann@remote.example,1700000000\n'
                   "5.1.1,x,no address at all,1\n5.1.1,y,BOB@remote.example,1700000000\n")
    assert mta.command("suppress", "import", folder / "is not there", check=False).returncode == 66
    done = mta.command("suppress", "import", csv, "--for", "10d", "--dry-run", check=False)
    assert done.returncode == 65 and f"{csv}:3:" in done.stderr and listed(mta) == []
    done = mta.command("suppress", "import", csv, "--for", "10d", check=False)
    assert done.returncode == 65
    assert [(e["recipient"], e["reason"]) for e in listed(mta)] == [("ann@remote.example", "550 5.1.1 no, never"), ("bob@remote.example", "y")]
    # Our own listing moves a list; many at once.
    many = "".join(f"user{n}@remote.example\n" for n in range(3000))
    assert "3000 are added to" in mta.command("suppress", "import", "-", input=many).stdout
    everything = mta.command("suppress", "list", "--json").stdout
    assert len(everything.splitlines()) == 3002
    mta.command("suppress", "remove", "all")
    mta.command("suppress", "import", "-", input=everything)
    assert mta.command("suppress", "list", "--json").stdout.count("\n") == 3002
    assert wait_refused(mta, "user2999@remote.example")
    assert len(mta.command("suppress", "list", "--limit", "5", "--json").stdout.splitlines()) == 5


def test_refusals_fill_it(mta, remote, folder, block):
    """A real refusal by Postfix's smtp-sink; the entry ends by itself."""
    address, port = str(block.host(20)), block.port()
    (folder / "sink").mkdir()
    postfix = tree("postfix")
    refusing = Service([postfix / "usr/sbin/smtp-sink", "-u", "root", "-f", "RCPT", "-B", "550 5.1.1 No such user", f"{address}:{port}", "10"],
                       folder / "sink", lambda: answers(f"inet:{address}:{port}"), environment(postfix))
    other = remote()
    other.at("rcpt", "550 5.7.1 We do not like you")
    mta.spool.mkdir()
    clock = mta.spool / "clock"  # where the queue-manager may read it
    clock.write_text("+0\n")
    mta.wrap(**fake_clock.settings(clock))
    mta.route("remote.example", other)
    mta.config['route."refusing.example"'] = {"next_hop": f"[{address}]:{port}"}
    mta.config["suppression"] = {"triggers": ["5.1.1"], "lifetime": "10d"}
    mta.start()
    me = f"{mta.user}@test.example"
    try:
        mta.submit("ann@refusing.example", sender=me)
        mta.submit("ann@remote.example", sender=me)
        mta.wait_mailbox(2)
        mta.wait_log("suppression: ann@refusing.example rejected permanently")
    finally:
        refusing.stop()
    [entry] = listed(mta)
    assert entry["recipient"] == "ann@refusing.example" and entry["automatic"] and entry["added_by"] == "queue-manager"
    assert "No such user" in entry["reply"] and entry["expires"] - entry["added"] == 10 * 86400
    assert "1 on the list; 1 added by rejections today" in mta.command("status").stdout
    assert "No such user" in wait_refused(mta, "ann@refusing.example")
    clock.write_text("+11d\n")
    mta.command("suppress", "add", "x@remote.example")  # smtpd forgets what it remembered
    wait_until(lambda: refused_at_rcpt(mta, "ann@refusing.example").startswith("250"), 10, "the entry to have ended")
    assert [e["recipient"] for e in listed(mta)] == ["x@remote.example"]


def test_a_damaged_list_is_put_aside_and_said(relaying):
    mta, sink = relaying
    mta.command("suppress", "add", "ann@remote.example")
    mta.stop()
    data = mta.spool / "suppression" / "data.mdb"
    data.write_bytes(b"\x5a" * data.stat().st_size)
    mta.start()
    wait_until(lambda: "data.mdb.damaged" in mta.command("status").stdout, 10, "status to say so")
    mta.wait_log("the suppression list was damaged")
    assert listed(mta) == []
    mta.submit("ann@remote.example")
    sink.wait_for_one_to("ann@remote.example")
