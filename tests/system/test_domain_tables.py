"""Domains in tables: whose mail is taken, and where it goes, as a database or a file says; what happens while it does not
answer; and the same as Debian's Postfix says."""
import contextlib
import re
import sqlite3

import pytest

from harness.client import Client
from harness.databases import PASSWORD, Mariadb
from harness.postfix import Postfix
from harness.watch import wait_until
from test_import_postfix import postfix, take_over  # noqa: F401 (a fixture)

DATABASE = ["create table domains (name varchar(200), active int)", "create table boxes (address varchar(200))",
            "insert into domains values ('boxes.example', 1), ('new.example', 1), ('old.example', 0)",
            "insert into boxes values ('ann@boxes.example'), ('bob@new.example')"]
SQL = "hosts = {0.address}:{0.port}\nuser = mail\npassword = " + PASSWORD + "\ndbname = mail\ntimeout = 2\nquery = {1}\n"
AWAY = "Temporary lookup failure"


def rcpt(mta, *recipients, port=None):
    with mta.client(port or mta.relay_port) as c:
        c.say("MAIL FROM:<a@remote.example>")
        return [c.say(f"RCPT TO:<{each}>") for each in recipients]


def hop(sink):
    return f"[{sink.address}]:{sink.port}"


@pytest.fixture
def database(mta, block):
    server = Mariadb(mta.address, block.port(), *DATABASE)
    yield server
    server.remove()


def query(mta, server, name, text):
    file = mta.folder / name
    file.write_text(SQL.format(server, text))
    file.chmod(0o600)
    return f"mysql:{file}"


@pytest.fixture
def hosting(mta, database, remote):
    """A host whose domains and mailboxes are in a database, as hosting panels have them."""
    mta.boxes, mta.outside = remote(), remote()
    mta.route("remote.example", mta.outside)
    domains = query(mta, database, "domains.cf", "SELECT name FROM domains WHERE name = '%s' AND active = 1")
    boxes = query(mta, database, "boxes.cf", "SELECT 1 FROM boxes WHERE address = '%s'")
    mta.config["virtual_mailbox"] = {"domain_tables": [domains], "recipients": [boxes], "deliver": hop(mta.boxes)}
    mta.config["relay"] = {"networks": []}
    mta.start()
    return domains


def test_a_database_says_whose_mail_is_taken(mta, hosting):
    rejected = "Recipient address rejected: User unknown in virtual mailbox table"
    for address, reply in {"ann@boxes.example": "250", "Bob@New.Example": "250",
                           "nobody@boxes.example": f"550 5.1.1 <nobody@boxes.example>: {rejected}",
                           "ann@old.example": "554 5.7.1 <ann@old.example>: Relay access denied",
                           "ann@sub.boxes.example": "554 5.7.1 <ann@sub.boxes.example>: Relay access denied",
                           "x' OR '1'='1@else.example": "501",
                           f"{mta.user}@test.example": "250"}.items():
        [said] = rcpt(mta, address)
        assert said.startswith(reply), (address, said)
    mta.submit("ann@boxes.example", "in")
    assert mta.boxes.wait_for_one_to("ann@boxes.example")
    mta.submit("someone@remote.example", "out", port=mta.submission_port)
    mta.outside.wait_for_one_to("someone@remote.example")
    mta.sendmail("bob@new.example")
    mta.boxes.wait_for_one_to("bob@new.example")
    mta.wait_until_empty()
    assert mta.outside.to("ann@boxes.example") == []
    said = mta.command("check")
    assert said.returncode == 0, said


def test_mail_waits_while_the_database_is_away_and_is_never_returned(mta, hosting, database):
    """451 for clients from elsewhere, whatever the domain; mail of our own waits in the queue; names decide without it."""
    mta.submit("ann@boxes.example", "before")
    mta.boxes.wait_for_one_to("ann@boxes.example")
    database.stop()
    said = rcpt(mta, "ann@other.example", "bob@boxes2.example", f"{mta.user}@test.example")
    assert said[0] == f"451 4.3.0 <ann@other.example>: {AWAY}"
    assert said[1] == f"451 4.3.0 <bob@boxes2.example>: {AWAY}"
    assert said[2].startswith("250")
    mta.wait_log(r"the class of domain other.example is not known: table mysql:")
    mta.wait_log(r"NOQUEUE: reject: RCPT from .*: 451 4\.3\.0 <ann@other\.example>: Temporary lookup failure; ")
    wait_until(lambda: hosting in mta.command("status", check=False).stdout, 10, "status names the table")
    # Who may relay is not rejected: the mail waits until it is known where it goes.
    here = mta.submit("bob@new.example", "later", port=mta.submission_port)
    there = mta.submit("later@remote.example", "out", port=mta.submission_port)
    for queue_id in (here, there):
        mta.wait_log(rf"{queue_id}: .*status=deferred \(.*table mysql:")
    assert mta.outside.messages == [] and len(mta.boxes.messages) == 1
    database.begin()
    mta.wait_log(rf"table {re.escape(hosting)}: answers again", seconds=60)
    mta.boxes.wait_for_one_to("bob@new.example", seconds=60)
    mta.outside.wait_for_one_to("later@remote.example", seconds=60)
    mta.wait_until_empty()
    assert "status=bounced" not in mta.log_file.read_text()
    wait_until(lambda: rcpt(mta, "ann@other.example") == ["554 5.7.1 <ann@other.example>: Relay access denied"], 60,
               "it is known that the domain is not ours")


@pytest.fixture
def tables(mta, remote, folder):
    """Every class has domains in a table: compiled, in a database in a file, of patterns, in a text file."""
    mta.gate, mta.boxes, mta.other = remote(), remote(), remote()
    for domain in ("relayed.example", ".relayed.example"):
        mta.route(domain, mta.gate)
    (folder / "local").write_text("more.example anything\n")
    mta.command("map", folder / "local")
    with contextlib.closing(sqlite3.connect(folder / "domains.sqlite")) as made, made:
        made.execute("CREATE TABLE domains (name TEXT)")
        made.execute("INSERT INTO domains VALUES ('boxes.example')")
    (folder / "lists").write_text("/^lists[0-9]\\.example$/ yes\n")
    (folder / "virtual").write_text(f"all@lists7.example {mta.user}\n")
    (folder / "relayed").write_text("relayed.example yes\n")
    mta.config["table.boxes"] = {"kind": "sqlite", "database": str(folder / "domains.sqlite"),
                                 "query": "SELECT name FROM domains WHERE name = ?"}
    mta.config["local"]["domain_tables"] = [f"lmdb:{folder}/local"]
    mta.config["virtual_alias"] = {"domain_tables": [f"regexp:{folder}/lists"], "tables": [f"text:{folder}/virtual"]}
    mta.config["virtual_mailbox"] = {"domain_tables": ["table:boxes"], "deliver": hop(mta.boxes)}
    mta.config["relay"] = {"domain_tables": [f"text:{folder}/relayed"], "parent_domains": True, "networks": []}
    mta.start()
    return mta


def test_tables_of_every_kind_for_every_class(tables, folder):
    mta = tables
    for address, reply in {f"{mta.user}@more.example": "250", "nobody@more.example": "550 5.1.1 ", "all@lists7.example": "250",
                           "else@lists7.example": "550 5.1.1 ", "x@lists.example": "554 5.7.1 ", "ann@boxes.example": "250",
                           "x@relayed.example": "250", "x@deep.sub.relayed.example": "250",
                           "x@else.example": "554 5.7.1 <x@else.example>: Relay access denied"}.items():
        [said] = rcpt(mta, address)
        assert said.startswith(reply), (address, said)
    mta.submit([f"{mta.user}@more.example", "all@lists7.example", "ann@boxes.example", "x@relayed.example", "x@sub.relayed.example"], "all")
    mta.boxes.wait_for_one_to("ann@boxes.example")
    mta.gate.wait_for_one_to("x@relayed.example"), mta.gate.wait_for_one_to("x@sub.relayed.example")
    mta.wait_mailbox(1)
    mta.wait_until_empty()
    # A file that changes is read again, without a reload.
    (folder / "relayed").write_text("else.example yes\n")
    mta.command("map", folder / "local")
    wait_until(lambda: rcpt(mta, "x@else.example")[0].startswith("250"), 20, "the file to be read again")
    assert rcpt(mta, "x@relayed.example")[0].startswith("554 5.7.1 ")
    assert "good" in mta.command("map", "--check").stdout


def test_reload_adds_and_removes_tables(mta, folder):
    (folder / "relayed").write_text("relayed.example yes\n")
    (folder / "local").write_text("more.example yes\n")  # in a directory that smtpd may read
    mta.config["local"]["domain_tables"] = [f"text:{folder}/local"]
    mta.config["relay"] = {"networks": []}
    mta.start()
    assert rcpt(mta, "x@relayed.example")[0].startswith("554 5.7.1 ")
    mta.config["relay"]["domain_tables"] = [f"text:{folder}/relayed"]
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: rcpt(mta, "x@relayed.example")[0].startswith("250"), 20, "the table in force")
    assert rcpt(mta, "x@sub.relayed.example")[0].startswith("554 5.7.1 ")
    (folder / "relayed").write_text(".relayed.example yes\n")
    wait_until(lambda: rcpt(mta, "x@sub.relayed.example")[0].startswith("250"), 20, "the file to be read again")
    with mta.client() as c:  # of before
        c.say("MAIL FROM:<a@remote.example>")
        del mta.config["relay"]["domain_tables"], mta.config["local"]["domain_tables"]
        mta.write_config()
        mta.command("reload")
        wait_until(lambda: rcpt(mta, "x@sub.relayed.example")[0].startswith("554 5.7.1 "), 20, "no table")
        assert c.say("RCPT TO:<x@sub.relayed.example>") == f"451 4.3.0 <x@sub.relayed.example>: {AWAY}"


def test_generic_and_try_ask_the_tables(tables, remote, folder):
    mta, sink = tables, remote()
    mta.route("remote.example", sink)
    (folder / "generic").write_text(f"{mta.user} known@outside.example\n")
    mta.config["generic"] = {"tables": [f"text:{folder}/generic"]}
    mta.config["relay"]["networks"] = ["127.0.0.0/8"]
    mta.config["access.all"] = {"recipient": ["permit_mynetworks", "permit_auth_destination", "reject"]}
    mta.stop()
    mta.start()
    mta.submit("x@remote.example", "as others see it", sender=f"{mta.user}@more.example")
    assert sink.wait_for_one_to("x@remote.example").sender == "known@outside.example"
    ask = ("try", "--client", "198.51.100.7", "--name", "x.example", "--from", "a@b.example", "--to")
    for address, code, result in (("x@sub.relayed.example", 0, "accepted"), ("ann@boxes.example", 0, "accepted"),
                                  ("x@else.example", 67, "554 5.7.1 <x@else.example>: Relay access denied")):
        said = mta.command(*ask, address, check=False)
        assert (said.returncode, said.stdout.splitlines()[-1]) == (code, f"result     {result}"), said
    mta.config["table.boxes"]["database"] = str(folder / "missing.sqlite")
    mta.write_config()
    said = mta.command(*ask, "ann@boxes.example", check=False)
    assert said.stdout.splitlines()[-1] == f"result     451 4.3.0 <ann@boxes.example>: {AWAY}", said


MAIN = {"myhostname": "mx.local.example", "mydestination": "local.example, hash:@DIR@/local", "local_recipient_maps": "",
        "alias_maps": "", "mynetworks": "192.0.2.200/32", "virtual_mailbox_domains": "btree:@DIR@/boxes, named.example",
        "virtual_mailbox_maps": "hash:@DIR@/mailboxes", "virtual_alias_maps": "hash:@DIR@/virtual",
        "virtual_transport": "lmtp:inet:127.0.0.1:9", "relay_domains": "hash:@DIR@/relayed, regexp:@DIR@/patterns",
        "smtpd_relay_restrictions": "permit_mynetworks, reject_unauth_destination"}
FILES = {"local": "more.example x\n", "boxes": "boxes.example x\n", "mailboxes": "ann@boxes.example x\n@named.example x\n",
         "virtual": "lists.example x\nall@lists.example ann@boxes.example\n", "relayed": "relayed.example x\n.dotted.example x\n",
         "patterns": "/^pattern[0-9]\\.example$/ x\n"}
NAMES = ["local", "more", "boxes", "named", "lists", "relayed", "dotted", "pattern1", "pattern", "else"]


@pytest.mark.needs("root", "mounts")
def test_the_same_domains_are_taken_as_by_postfix(mta, block, postfix):  # noqa: F811
    imported = postfix("".join(f"{name} = {value}\n" for name, value in MAIN.items()), **FILES)
    place = f"{mta.folder}/postfix"
    assert imported["virtual_alias"]["domain_tables"] == [f"text:{place}/virtual"]
    assert imported["relay"]["domain_tables"] == [f"text:{place}/relayed", f"regexp:{place}/patterns"]
    theirs = mta.folder / "theirs"
    theirs.mkdir()
    maps = "".join(f"postmap {'btree' if name == 'boxes' else 'hash'}:{place}/{name}\n" for name in FILES if name != "patterns")
    server = Postfix(theirs, block.host(77), block.port(), prepare=maps,
                     **{name: value.replace("@DIR@", place) for name, value in MAIN.items()}, queue_minfree="0")
    try:
        take_over(mta, imported)
        different = []
        for domain in [f"{sub}{name}.example" for name in NAMES for sub in ("", "sub.", "a.b.")]:
            for user in ("ann", "all", "nobody"):
                command = f"RCPT TO:<{user}@{domain}>"
                with Client(server.address, server.port) as c:
                    c.say("EHLO x.example"), c.say("MAIL FROM:<a@remote.example>")
                    expected = c.say(command)
                with mta.client(mta.relay_port) as c:
                    c.say("MAIL FROM:<a@remote.example>")
                    if (said := c.say(command)) != expected:
                        different.append(f"{command}\n  Postfix   {expected}\n  Postrider {said}")
        assert not different, f"{len(different)}:\n" + "\n".join(different[:12])
    finally:
        server.stop()
