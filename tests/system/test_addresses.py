"""Classes of addresses through SMTP, in and out: what is taken at RCPT, what it becomes, where it goes."""
import contextlib
import json
import re
import shutil
import socketserver
import sqlite3
import threading

import pytest

from harness.client import message
from harness.watch import wait_until


def table(mta, name, text):
    path = mta.folder / name
    path.write_text(text)
    return f"text:{path}"


def hop(sink):
    return f"[{sink.address}]:{sink.port}"


def test_every_class(mta, remote):
    sink, boxes, gate, relay, special = remote(), remote(), remote(), remote(), remote()
    mta.route("remote.example", sink)
    mta.route("inner.example", gate)
    mta.aliases.write_text(f"team: {mta.user}, other, member@remote.example, :include:{mta.folder}/more\n"
                           "owner-team: other\n")
    (mta.folder / "more").write_text(f"# more members\n{mta.user}, included@remote.example\nanother@remote.example\n")
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [table(
        mta, "virtual", f"info@lists.example {mta.user}, two@remote.example\nchain@lists.example info@lists.example\n"
        "kept@remote.example kept@remote.example copy@remote.example\n")]}
    mta.config["virtual_mailbox"] = {"domains": ["boxes.example"], "deliver": hop(boxes), "recipients": [table(
        mta, "mailboxes", "ann@boxes.example yes\n")]}
    mta.config["relay"] = {"domains": ["inner.example"], "networks": [], "recipients": [table(
        mta, "inner", "known@inner.example yes\n")]}
    mta.config["canonical"] = {"sender": [table(mta, "senders", "private@remote.example public@remote.example\n")],
                               "recipient": [table(mta, "recipients", f"old@test.example {mta.user}@test.example\n")]}
    mta.config["relocated"] = {"tables": [table(mta, "relocated", "gone@test.example gone@new.example\n")]}
    mta.config["transport"] = {"tables": [table(
        mta, "transport", f"known@inner.example smtp:{hop(special)}\nclosed@boxes.example error:5.2.1 closed\n")]}
    mta.config["sender_relay"] = {"tables": [table(mta, "relays", f"public@remote.example {hop(relay)}\n")]}
    mta.start()

    with mta.client() as c:  # a stranger
        assert c.say("MAIL FROM:<stranger@remote.example>").startswith("250")
        rejected = "Recipient address rejected: "
        for address, reply in {
                f"{mta.user}+x@test.example": "250", "team@test.example": "250", "old@test.example": "250",
                "info@lists.example": "250", "chain+x@lists.example": "250", "ann+x@boxes.example": "250",
                "known@inner.example": "250",
                "nobody@test.example": f"550 5.1.1 <nobody@test.example>: {rejected}User unknown in local recipient table",
                "nobody@lists.example": f"550 5.1.1 <nobody@lists.example>: {rejected}User unknown in virtual alias table",
                "nobody@boxes.example": f"550 5.1.1 <nobody@boxes.example>: {rejected}User unknown in virtual mailbox table",
                "nobody@inner.example": f"550 5.1.1 <nobody@inner.example>: {rejected}User unknown in relay recipient table",
                "gone@test.example": f"550 5.1.6 <gone@test.example>: {rejected}User has moved to gone@new.example",
                "x@elsewhere.example": "554 5.7.1 <x@elsewhere.example>: Relay access denied"}.items():
            assert c.say(f"RCPT TO:<{address}>").startswith(reply), address

    queue_id = mta.submit(["team@test.example", "chain@lists.example", "old@test.example", "ann+x@boxes.example",
                           "known@inner.example"], "every class", sender="private@remote.example")
    for address in ("member", "included", "another", "two"):
        sink.wait_for_one_to(f"{address}@remote.example")
    assert boxes.wait_for_one_to("ann+x@boxes.example").sender == "public@remote.example"
    assert special.wait_for_one_to("known@inner.example").sender == "public@remote.example"
    assert sink.to("two@remote.example")[0].sender == "public@remote.example"
    assert sink.to("member@remote.example")[0].sender == "owner-team@test.example"
    for user in (mta.user, "other"):
        assert len(mta.wait_mailbox(1, user)) == 1
    mta.wait_log(rf"{queue_id}: to=<known@inner.example>, .*status=sent")
    mta.wait_until_empty()
    assert len(mta.mailbox()) == len(mta.mailbox("other")) == 1  # each had several ways to it
    assert [len(s.messages) for s in (boxes, special, gate, relay)] == [1, 1, 0, 0]

    mta.submit(["kept@remote.example", "x@elsewhere.example"], "out", sender="private@remote.example",
               port=mta.submission_port)
    sink.wait_for_one_to("kept@remote.example"), sink.wait_for_one_to("copy@remote.example")
    assert relay.wait_for_one_to("x@elsewhere.example").sender == "public@remote.example"
    mta.wait_until_empty()


def test_aliases_in_tables(mta, remote, folder):
    """Compiled, or in a database: asked behind the files."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.aliases.write_text("both: first@remote.example\n")
    large = folder / "large"
    large.write_text("".join(f"user{n} member{n}@remote.example\n" for n in range(2000)) +
                     "both never@remote.example\nTeam user7, user8, staff\n")
    mta.command("map", large)
    with contextlib.closing(sqlite3.connect(folder / "aliases.sqlite")) as database, database:
        database.execute("CREATE TABLE alias (name TEXT, target TEXT)")
        database.execute("INSERT INTO alias VALUES ('staff', 'boss@remote.example, user9')")
    mta.config["table.staff"] = {"kind": "sqlite", "database": str(folder / "aliases.sqlite"),
                                 "query": "SELECT target FROM alias WHERE name = ?"}
    mta.config["local"]["alias_tables"] = [f"lmdb:{large}", "table:staff"]
    mta.start()
    mta.submit(["both@test.example", "team+x@test.example"], "many")
    for name in ("first", "member7", "member8", "member9", "boss"):
        sink.wait_for_one_to(f"{name}@remote.example")
    mta.wait_until_empty()
    assert sum(len(m.recipients) for m in sink.messages) == 5
    with mta.client() as c:
        assert c.say("MAIL FROM:<a@remote.example>").startswith("250")
        assert c.say("RCPT TO:<staff@test.example>").startswith("250")
        assert c.say("RCPT TO:<user2000@test.example>").startswith("550 5.1.1 ")
        assert c.say("QUIT").startswith("221")


class SlowTable(socketserver.ThreadingTCPServer):
    """By Postfix's tcp_table(5): every key leads to one address, once it may say so."""
    allow_reuse_address = daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            with contextlib.suppress(ConnectionError):
                for _ in self.rfile:
                    self.server.asked.set()
                    self.server.may_answer.wait(30)
                    self.wfile.write(b"200 member@remote.example\n")

    def __init__(self, address):
        super().__init__(address, self.Handler)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


def test_mail_that_waits_for_a_table_outlives_a_reload(mta, remote, block):
    sink = remote()
    mta.route("remote.example", sink)
    with SlowTable((mta.address, block.port())) as server:
        mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [f"tcp:{mta.address}:{server.server_address[1]}"]}
        mta.start()
        assert mta.sendmail("-f", "a@remote.example", "info@lists.example").returncode == 0
        assert server.asked.wait(15)
        mta.command("reload")
        mta.wait_log("generation 2")
        server.may_answer.set()
        sink.wait_for_one_to("member@remote.example")
        mta.wait_until_empty()
        server.shutdown()


def test_a_changed_table_changes_nothing_for_mail_that_was_here(mta, remote):
    """Killed between expansion and delivery; then every table says something else."""
    sink, relay, newcomer = remote(), remote(), remote()
    for place in (sink, relay):
        place.at("mail", "451 4.3.0 Not now")
    mta.route("remote.example", sink)
    mta.aliases.write_text(f"team: {mta.user}, first@remote.example\n")
    mta.config["virtual_alias"] = {"tables": [table(mta, "virtual", "info@test.example second@remote.example\n")]}
    mta.config["transport"] = {"tables": [table(mta, "transport", f"third@elsewhere.example {hop(relay)}\n")]}
    mta.start()
    queue_id = mta.submit(["team@test.example", "info@test.example", "third@elsewhere.example"], "before",
                          port=mta.submission_port)
    for address in ("first@remote.example", "second@remote.example", "third@elsewhere.example"):
        mta.wait_log(rf"{queue_id}: to=<{address}>, .*status=deferred")
    mta.wait_mailbox(1)
    mta.kill_everything()
    mta.aliases.write_text("team: other, new-first@remote.example\n")
    table(mta, "virtual", "info@test.example new-second@remote.example\n")
    table(mta, "transport", f"third@elsewhere.example {hop(newcomer)}\n")
    for place in (sink, relay):
        place.well_behaved()
    mta.start()
    mta.flush()
    sink.wait_for_one_to("first@remote.example"), sink.wait_for_one_to("second@remote.example")
    relay.wait_for_one_to("third@elsewhere.example")
    mta.wait_until_empty()
    assert len(sink.messages) == 2 or len(sink.messages) == 1 and len(sink.messages[0].recipients) == 2
    assert newcomer.messages == [] and mta.mailbox("other") == [] and len(mta.mailbox()) == 1
    mta.submit(["team@test.example"], "after")
    sink.wait_for_one_to("new-first@remote.example")
    mta.wait_mailbox(1, "other")


def test_addresses_as_people_write_them_and_what_is_none(mta, remote):
    """The forms that Postfix takes in its tables lead where they mean; what is no address goes nowhere, and waits until
    somebody has mended it."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.aliases.write_text(f'''good: Other <other>, (he (too)) <{mta.user}>, "One, the first" <one@remote.example>,
    friends: two@remote.example, "three"@REMOTE.EXAMPLE.;
inject: "x@remote.example> NOTIFY=NEVER"
open: "never closed
''')
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [table(
        mta, "virtual", "v@lists.example Four <four@remote.example>\nbad@lists.example x@remote.example> NOTIFY=NEVER\n")]}
    mta.start()
    mta.submit(["good@test.example", "v@lists.example"])
    for name in ("one", "two", "three", "four"):
        assert sink.wait_for_one_to(f"{name}@{'REMOTE.EXAMPLE' if name == 'three' else 'remote.example'}")
    mta.wait_mailbox(1), mta.wait_mailbox(1, "other")
    mta.wait_until_empty()

    queue_id = mta.submit(["inject@test.example", "open@test.example", "bad@lists.example"])
    for address, why in {"inject@test.example": r'alias inject: line 3: "".*" is not a valid address: bad domain',
                         "open@test.example": r'alias open: line 4: .*quoted string is not closed',
                         "bad@lists.example": r'text:.*/virtual: invalid value for <bad@lists.example>: ".*" is not a valid address'}.items():
        mta.wait_log(rf"{queue_id}: to=<{address}>, .*dsn=4.3.5, status=deferred \({why}")
    mta.wait_log(rf"warning: {mta.aliases}, line 4: .*quoted string is not closed")
    assert not any("x@" in one for message in sink.messages for one in message.recipients) and len(mta.mailbox()) == 1
    # A file that is written anew is believed when it has rested for a second.
    mta.aliases.write_text(f"inject: five@remote.example\nopen: {mta.user}\n")
    (mta.folder / "virtual").write_text("bad@lists.example six@remote.example\n")
    mta.wait_log(rf"{mta.aliases}: 2 aliases"), mta.wait_log(r"virtual.*1 ")
    mta.flush()
    sink.wait_for_one_to("five@remote.example"), sink.wait_for_one_to("six@remote.example")
    mta.wait_mailbox(2)
    mta.wait_until_empty()


def test_a_bad_member_keeps_nobody_else_waiting(mta, remote):
    """The good members get their mail at once, and once: also when the list is looked up again, after a crash, and when it
    is mended. Who failed is reported once."""
    sink = remote()
    mta.route("remote.example", sink)
    text = f"team: {mta.user}, one@remote.example, gone, {{}}, two@remote.example\nowner-team: boss@remote.example\n"
    mta.aliases.write_text(text.format("foo@@remote.example"))
    mta.start()
    queue_id = mta.submit("team@test.example", sender="writer@remote.example")
    why = 'alias team: line 1: "foo@@remote.example" is not a valid address: domain expected after @'
    mta.wait_log(rf"{queue_id}: to=<team@test.example>, .*dsn=4.3.5, status=deferred \({re.escape(why)}")
    for name in ("one", "two", "boss"):
        sink.wait_for_one_to(f"{name}@remote.example")
    mta.wait_mailbox(1)
    (entry,) = mta.queue()
    assert entry[3] == ["team@test.example"] and any(why in reason for reason in entry[4])
    assert why in mta.command("explain", queue_id).stdout
    mta.kill("queue-manager")
    mta.wait_log(rf"{queue_id}: to=<team@test.example>, .*status=deferred", count=2)
    mta.aliases.write_text(text.format("three@remote.example"))
    mta.wait_log(rf"{mta.aliases}: 2 aliases", count=2)
    mta.flush()
    passed_on = sink.wait_for_one_to("three@remote.example")
    assert passed_on.sender == "owner-team@test.example"
    mta.wait_until_empty()
    assert sorted(to for message in sink.messages for to in message.recipients) == [
        f"{name}@remote.example" for name in ("boss", "one", "three", "two")]
    assert len(mta.mailbox()) == 1


@pytest.mark.needs("root", "mounts")
def test_a_default_alias_file_that_has_gone_is_known_after_a_restart(mta):
    """/etc/aliases need not be there; once it has been, its mail waits when it is gone, also for another categorizer."""
    etc = mta.folder / "etc"
    shutil.copytree("/etc", etc, symlinks=True, ignore_dangling_symlinks=True)
    (etc / "aliases").unlink(missing_ok=True)
    mta.prefix = ["unshare", "--mount", "sh", "-ec", f'mount --bind {etc} /etc; exec "$@"', "sh"]
    del mta.config["local"]["aliases"]

    def answer():
        with mta.client() as c:
            c.say("MAIL FROM:<stranger@remote.example>")
            return c.say("RCPT TO:<team@test.example>")

    def answered(start):
        return wait_until(lambda: answer().startswith(start), 15, mta.last_words)

    mta.start()
    assert answered("550 5.1.1")
    (etc / "aliases").write_text(f"team: {mta.user}\n")
    assert answered("250")
    mta.stop()
    (etc / "aliases").unlink()
    mta.start()
    assert answered("450")
    mta.wait_log(r"warning: /etc/aliases: No such file or directory: mail for users of this system waits until it exists again, even if empty")
    assert "/etc/aliases" in mta.command("status").stdout


def test_check_looks_addresses_over(mta):
    """check, map --check and newaliases name what they find in alias files, in what those include, and in tables."""
    more = mta.folder / "more"
    more.write_text(f"{mta.user}\n\"open\n")
    mta.aliases.write_text(f"team: :include:{more}\nodd: a@@b\n")
    virtual = table(mta, "virtual", "good@lists.example a@b.example\nbad@lists.example x@b.example> NOTIFY=NEVER\n")
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [virtual]}
    mta.write_config()
    aliases = (f'{mta.aliases}, line 2: "a@@b" is not a valid address: domain expected after @',
               f'{more}, line 2: ""open" is not a valid address: quoted string is not closed')
    of_table = 'line 2: bad@lists.example: "x@b.example> NOTIFY=NEVER" is not a valid address: expected a comma'
    checked = mta.command("check")
    assert checked.returncode == 0
    warnings = checked.stderr.splitlines()
    for each in (*aliases, f"{mta.folder}/virtual, {of_table}"):
        assert f"postrider: warning: {each}" in warnings
    assert set(json.loads(mta.command("check", "--json").stdout)["warnings"]) == {
        line.removeprefix("postrider: warning: ") for line in warnings}
    looked = mta.command("map", "--check", check=False)
    assert looked.returncode == 65
    assert looked.stderr.splitlines() == [f"postrider: {each}" for each in (*aliases, f"table {virtual}, {of_table}")]
    assert mta.command("map", "--check", virtual, check=False).stderr == f"postrider: table {virtual}, {of_table}\n"
    assert mta.run("newaliases", "-C", mta.file).stderr.splitlines() == [
        "newaliases: warning: " + each.replace(", line 2", ":2") for each in aliases]


def test_what_cannot_be_looked_up_waits(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    more = mta.folder / "more"
    mta.aliases.write_text(f"# everybody\nteam: {mta.user}, first@remote.example,\n  :include:{more}\n")
    more.write_text("member@remote.example\n")
    more.chmod(0o666)
    mta.start()
    queue_id = mta.submit("team@test.example")
    # The others get it; what the file was meant for waits.
    mta.wait_log(rf"{queue_id}: to=<team@test.example>, .*dsn=4.3.0, status=deferred "
                 rf"\(alias team: line 2: :include:{more}: writable by others")
    mta.wait_mailbox(1)
    sink.wait_for_one_to("first@remote.example")
    for words in (("message", "list"), ("message", "show", queue_id), ("explain", queue_id)):
        shown = wait_until(lambda: (lambda s: s if "writable by others" in s else None)(mta.command(*words).stdout), 10,
                           lambda: f"{' '.join(words)} to say why it waits: {mta.command(*words).stdout}")
        assert "no answer" not in shown
    assert any("writable by others" in reason for entry in mta.queue() for reason in entry[4])
    more.unlink()
    mta.restart()
    mta.wait_log(rf"{queue_id}: to=<team@test.example>, .*dsn=4.3.0, status=deferred \(alias team: line 2: :include:{more}: No such file")
    more.write_text("member@remote.example\n")
    mta.flush()
    sink.wait_for_one_to("member@remote.example")
    mta.wait_until_empty()
    assert len(mta.mailbox()) == 1 and len(sink.wait_for(2)) == 2, "nobody gets it twice"


def test_an_alias_file_that_disappears_makes_mail_wait(mta):
    mta.aliases.write_text(f"team: {mta.user}\n")
    mta.start()
    away = mta.folder / "away"
    mta.aliases.rename(away)
    mta.kill("categorizer")  # the new one need not wait for ten seconds to believe it
    mta.wait_log(rf"warning: {mta.aliases}: No such file or directory: mail for users of this system waits until it exists again, even if empty")
    with mta.client() as c:
        c.say("MAIL FROM:<stranger@remote.example>")
        for name in ("team", "nobody"):
            assert c.say(f"RCPT TO:<{name}@test.example>").startswith("45")
    wait_until(lambda: f"{mta.aliases}: No such file" in mta.command("status", "--json").stdout, 15, "status to tell of it")
    away.rename(mta.aliases)
    with mta.client() as c:
        c.say("MAIL FROM:<stranger@remote.example>")
        wait_until(lambda: c.say("RCPT TO:<team@test.example>").startswith("250"), 15, mta.last_words)
        assert c.say("RCPT TO:<nobody@test.example>").startswith("550 5.1.1")
    wait_until(lambda: f"{mta.aliases}" not in mta.command("status", "--json").stdout, 15, "status to tell no more of it")
