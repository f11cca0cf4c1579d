"""Access rules: the replies of Debian's Postfix with the same restrictions and tables, tables of every kind, and
`postrider try --client`, which shows which rule decides."""
import json
import random
import socketserver
import sqlite3
import threading
from contextlib import closing

import pytest
from dnslib import TXT

from harness.client import Client, message
from harness.policy import PolicyServer
from harness.postfix import Postfix
from harness.watch import wait_until
from test_import_postfix import postfix, take_over  # noqa: F401 (a fixture)

SESSIONS = 500

CIDR = """192.0.2.0/28 REJECT 5.7.2 not from this network
192.0.2.16/28 DUNNO
198.51.100.7 OK
198.51.100.0/24 450 4.7.9 come back
2001:db8:1::/48 REJECT
203.0.113.9 users_only
"""
CLIENTS = """spam.example REJECT
mail.good.example OK
unknown DEFER_IF_PERMIT no name
203.0.113 DEFER_IF_REJECT
"""
HELOS = """/^localhost$/ 550 5.7.1 that is me
/\\.(dyn)\\./ REJECT dynamic: $1
/^(warn)\\./ WARN about ${1}
"""
SENDERS = """bad@far.example REJECT 5.1.1 no such sender
far.example DUNNO
blocked.example 554 blocked
number@odd.example 550
text@odd.example 521 5.3.2 closed
defer@odd.example DEFER 4.3.0 not now
both@odd.example defer_if_permit, reject_non_fqdn_sender
strict@odd.example users_only
<> DUNNO
discard@odd.example DISCARD
hold@odd.example HOLD
prepend@odd.example PREPEND X-Sender: odd
filter@odd.example FILTER smtp:[127.0.0.1]:9
nobody@ REJECT
"""
RECIPIENTS = """/^abuse@/ OK
/^closed\\+?/ REJECT closed
/^(later)@/ 451 4.2.1 ${1} is not there
if /^within/
if !/^within-not/
/@local/ REJECT within
ENDIF
endif ignored
"""
SIMPLE = """plus+x@local.example REJECT this extension
plus@local.example DUNNO
list@local.example users_only
relay.example REJECT 5.1.2 domain
"""
MAIN = {
    "compatibility_level": "3.6", "myhostname": "gate.example", "mydestination": "local.example", "local_recipient_maps": "",
    "alias_maps": "", "mynetworks": "192.0.2.200/32", "relay_domains": "relay.example", "recipient_delimiter": "+",
    "smtpd_authorized_xclient_hosts": "127.0.0.0/8", "smtpd_error_sleep_time": "0", "smtpd_soft_error_limit": "1000",
    "smtpd_hard_error_limit": "1000", "smtpd_junk_command_limit": "1000", "smtpd_client_connection_count_limit": "1000",
    "smtpd_restriction_classes": "users_only",
    "users_only": "permit_mynetworks, permit_sasl_authenticated, check_helo_access inline:{ {trusted.example = OK} }, reject",
    "smtpd_client_restrictions": "permit_mynetworks, check_client_access cidr:@DIR@/cidr, check_client_access texthash:@DIR@/clients, "
                                 "warn_if_reject reject_unknown_client_hostname",
    "smtpd_helo_restrictions": "check_helo_access regexp:@DIR@/helos, reject_invalid_helo_hostname, reject_non_fqdn_helo_hostname",
    "smtpd_sender_restrictions": "check_sender_access texthash:@DIR@/senders, reject_non_fqdn_sender, "
                                 "check_sender_access unionmap:{inline:{both@merged.example=OK}, inline:{one@merged.example=REJECT}, "
                                 "regexp:{{/^rule@/ REJECT 5.1.3 by rule}, {if /^none/}, {/./ REJECT}, {endif}}}, "
                                 "check_sender_access pipemap:{inline:{chained@merged.example=step, lost@merged.example=x}, "
                                 "regexp:{{/^step$$/ REJECT 5.1.4 at the end}}}",
    "smtpd_relay_restrictions": "permit_mynetworks, permit_sasl_authenticated, reject_unauth_destination",
    "smtpd_recipient_restrictions": "check_recipient_access regexp:@DIR@/recipients, check_recipient_access texthash:@DIR@/simple, "
                                    "reject_unauth_destination, permit",
    "smtpd_data_restrictions": "reject_multi_recipient_bounce",
}
ADDRESSES = ["192.0.2.3", "192.0.2.20", "192.0.2.200", "198.51.100.7", "198.51.100.8", "203.0.113.9", "203.0.113.10",
             "IPV6:2001:db8:1::5", "IPV6:2001:db8:2::5"]
NAMES = ["a.spam.example", "mail.good.example", "plain.example", "[UNAVAILABLE]"]
GREETINGS = ["mail.far.example", "localhost", "x.dyn.example", "warn.example", "incomplete", "a..b", "[192.0.2.3]", "[192.0.2]",
             "192.0.2.3", "trusted.example"]
FROM = ["ann@far.example", "bad@far.example", "x@sub.blocked.example", "number@odd.example", "text@odd.example", "defer@odd.example",
        "both@odd.example", "strict@odd.example", "", "discard@odd.example", "hold@odd.example", "prepend@odd.example",
        "filter@odd.example", "nobody@plain.example", "x@incomplete", "one@merged.example", "both@merged.example", "rule@merged.example",
        "chained@merged.example", "lost@merged.example"]
TO = ["ann@local.example", "abuse@local.example", "closed@local.example", "closed+x@local.example", "later@local.example",
      "within@local.example", "within-not@local.example", "plus@local.example", "plus+x@local.example", "list@local.example", "x@relay.example", "x@sub.relay.example", "x@else.example",
      "abuse@else.example"]


def dialogue(client, said):
    """The replies to one session, as a stranger that XCLIENT describes."""
    name, address, helo, sender, recipients = said
    replies = [client.say(f"XCLIENT NAME={name} ADDR={address}").partition("\n")[0][:3], client.say(f"EHLO {helo}")[:3],
               client.say(f"MAIL FROM:<{sender}>")]
    for recipient in recipients:
        replies.append(client.say(f"RCPT TO:<{recipient}>"))
        if replies[-1][:3] in ("421", "521"):  # and the connection is closed
            return [*replies, client.closed_by_peer()]
    if any(reply.startswith("250") for reply in replies[3:]):
        data = client.say("DATA")
        replies.append(data if data[0] != "3" else "354")
        if data[0] == "3":
            client.send(b"Subject: x\r\n\r\nx\r\n.\r\n")
            replies.append(client.reply()[:9])  # without the queue id
    return replies


def sessions():
    draw = random.Random(20)
    # A client of ours, whose bare sender is completed, but only for the envelope.
    bare = ("plain.example", "192.0.2.200", "mail.far.example", "bare", ["ann@local.example", "abuse@local.example", "x@else.example"])
    drawn = [(draw.choice(NAMES), draw.choice(ADDRESSES), draw.choice(GREETINGS), draw.choice(FROM), draw.sample(TO, 3))
             for _ in range(SESSIONS - 1)]
    # After a DISCARD, Postfix accepts the next recipients of a message whose first one is deferred for the client's name.
    return [bare, *(("plain.example" if said[3] == "discard@odd.example" and said[0] == "[UNAVAILABLE]" else said[0], *said[1:])
                    for said in drawn)]


@pytest.mark.needs("root", "mounts")
def test_replies_are_those_of_postfix(mta, block, postfix):  # noqa: F811
    """500 sessions, drawn from the tables' own keys: every reply is the one that Postfix gives."""
    files = {"cidr": CIDR, "clients": CLIENTS, "helos": HELOS, "senders": SENDERS, "recipients": RECIPIENTS, "simple": SIMPLE}
    imported = postfix("".join(f"{name} = {value}\n" for name, value in MAIN.items()), **files)
    assert imported["access"]["postfix"]["sender"][0] == f"check_sender_access text:{mta.folder}/postfix/senders"
    assert imported["access_class"]["users_only"]["rules"][:2] == ["permit_mynetworks", "permit_sasl_authenticated"]
    [undecided] = imported.pop("undecided")  # no listener takes mail back from it
    assert undecided.startswith("main.cf:19 smtpd_sender_restrictions: check_sender_access ")
    theirs = mta.folder / "theirs"
    theirs.mkdir()
    place = str(mta.folder / "postfix")
    server = Postfix(theirs, block.host(77), block.port(),
                     **{name: value.replace("@DIR@", place) for name, value in MAIN.items()}, queue_minfree="0", inet_protocols="all")
    try:
        take_over(mta, imported)
        different = []
        for said in sessions():
            with Client(server.address, server.port) as c:
                c.say("EHLO proxy.example")
                expected = dialogue(c, said)
            with mta.client(mta.relay_port) as c:
                replies = dialogue(c, said)
            if replies != expected:
                different.append(f"{said}\n  Postfix   {expected}\n  Postrider {replies}")
        assert not different, f"{len(different)} of {SESSIONS}:\n" + "\n".join(different[:12])
    finally:
        server.stop()


class Map(socketserver.BaseRequestHandler):
    """A socket map: every key that begins with "sock" is rejected."""
    def length(self, stream):
        digits = b""
        while (byte := stream.read(1)) not in (b":", b""):  # nothing: the client has gone
            digits += byte
        return digits

    def handle(self):
        stream = self.request.makefile("rb")
        while length := self.length(stream):
            if not length.isdigit():
                return
            key = stream.read(int(length) + 1)[:-1].decode().partition(" ")[2]
            said = "OK REJECT by the map" if key.startswith("sock") else "NOTFOUND "
            self.request.sendall(f"{len(said)}:{said},".encode())


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@pytest.fixture
def guarded(mta, tmp_path):
    """Rules with a table of each kind, for clients that are all strangers."""
    (tmp_path / "senders").write_text("text@x.example REJECT by the text\n")
    (tmp_path / "many").write_text("lmdb@x.example REJECT by the file\n")
    assert mta.run("postrider", "map", tmp_path / "many").returncode == 0
    (tmp_path / "patterns").write_text("/^reg(.*)@/ REJECT by the pattern $1\n")
    (tmp_path / "networks").write_text("127.0.0.0/8 DUNNO\n")
    with closing(sqlite3.connect(tmp_path / "base")) as base:
        base.execute("CREATE TABLE t (k, v)")
        base.execute("INSERT INTO t VALUES ('sql@x.example', 'REJECT by the database')")
        base.commit()
    server = Server(str(tmp_path / "socket"), Map)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.config["table.base"] = {"kind": "sqlite", "database": str(tmp_path / "base"), "query": "SELECT v FROM t WHERE k = ?"}
    mta.config["table.few"] = {"kind": "entries", "entries": ["few@x.example REJECT by the entry"]}
    tables = [f"text:{tmp_path}/senders", f"lmdb:{tmp_path}/many", f"regexp:{tmp_path}/patterns", "table:base", "table:few",
              f"socketmap:unix:{tmp_path}/socket:m"]
    mta.config["access.strangers"] = {"client": [f"check_client_access cidr:{tmp_path}/networks"],
                                      "sender": [f"check_sender_access {table}" for table in tables]}
    yield mta
    server.shutdown()
    server.server_close()


def rcpt(mta, sender, recipient=None):
    with mta.client() as c:
        assert c.say(f"MAIL FROM:<{sender}>").startswith("250")
        return c.say(f"RCPT TO:<{recipient or mta.user + '@test.example'}>")


def test_tables_of_every_kind_in_their_order(guarded, tmp_path):
    guarded.start()
    for sender, why in (("text", "by the text"), ("lmdb", "by the file"), ("regular", "by the pattern ular"), ("sql", "by the database"),
                        ("few", "by the entry"), ("sock", "by the map")):
        assert rcpt(guarded, f"{sender}@x.example") == f"554 5.7.1 <{sender}@x.example>: Sender address rejected: {why}"
    assert rcpt(guarded, "good@x.example").startswith("250")
    guarded.wait_log(r"NOQUEUE: reject: RCPT from \S+: 554 5\.7\.1 <sql@x\.example>: Sender address rejected: by the database; "
                     r"from=<sql@x\.example> to=<\S+> proto=ESMTP helo=<client\.example>")
    # A table that changes is read again, one that is gone rejects for now, and mail that does not need it passes.
    (tmp_path / "networks").write_text("127.0.0.0/8 REJECT closed\n")
    wait_until(lambda: "closed" in rcpt(guarded, "good@x.example"), 15, lambda: "the changed table")
    (tmp_path / "networks").write_text("127.0.0.0/8 DUNNO\n")
    wait_until(lambda: rcpt(guarded, "good@x.example").startswith("250"), 15, lambda: "the table as it was")
    said = guarded.run("postrider", "check", "-c", guarded.file)
    assert said.returncode == 0, said.stderr
    (tmp_path / "senders").write_text("text@x.example FILTER scan:[127.0.0.1]:10024\n")
    said = guarded.run("postrider", "map", "-c", guarded.file, "--check")
    assert said.returncode == 65 and 'there is no [route."scan"]' in said.stderr, said.stderr


def test_several_tables_as_one(guarded, tmp_path):
    """Some of which are files, one a database, one rules in the configuration: smtpd may read only what its tables need."""
    guarded.config["table.rules"] = {"kind": "regexp", "rules": ["if /@x\\.example$/", "/^rule(.*)@/ REJECT by rule $1", "endif"]}
    guarded.config["table.all"] = {"kind": "union", "tables": [f"text:{tmp_path}/senders", "table:base", "patterns:rules"]}
    guarded.config["table.names"] = {"kind": "entries", "entries": ["chain@x.example sql@x.example"]}
    guarded.config["table.steps"] = {"kind": "chain", "tables": ["table:names", "table:base"]}
    guarded.config["access.strangers"] = {"sender": ["check_sender_access table:all", "check_sender_access table:steps"]}
    guarded.start()
    for sender, why in (("text", "by the text"), ("sql", "by the database"), ("rules", "by rule s"), ("chain", "by the database")):
        assert rcpt(guarded, f"{sender}@x.example") == f"554 5.7.1 <{sender}@x.example>: Sender address rejected: {why}"
    assert rcpt(guarded, "good@x.example").startswith("250")
    asked = guarded.run("postrider", "map", "-c", guarded.file, "--query", "chain@x.example", "table:steps")
    assert asked.stdout == "REJECT by the database\n", asked
    assert guarded.run("postrider", "map", "-c", guarded.file, "--check").returncode == 0
    (tmp_path / "base").rename(tmp_path / "away")
    wait_until(lambda: rcpt(guarded, "other@x.example").startswith("451 4.3.5"), 15, lambda: "the database to be missed")


def test_a_bare_recipient_is_in_the_origin(guarded):
    """With a rule that allows no relaying to anybody, not even to clients that may relay."""
    guarded.config["relay"]["networks"] = ["127.0.0.0/8"]
    guarded.config["access.strangers"]["recipient"] = ["reject_unauth_destination"]
    guarded.config["mta"]["origin"] = "elsewhere.example"
    guarded.start()
    for recipient in ("ann", "ann@elsewhere.example"):
        assert rcpt(guarded, "good@x.example", recipient) == f"554 5.7.1 <{recipient}>: Relay access denied"
    assert rcpt(guarded, "good@x.example", "postmaster").startswith("250")
    assert rcpt(guarded, "good@x.example").startswith("250")


def test_a_table_with_one_value_for_all(guarded, block):
    """static: of rules, of recipients, and at the command line; its value is not a file to be read."""
    guarded.config["access.strangers"]["helo"] = ["check_helo_access static:DUNNO"]
    guarded.config["access.strangers"]["recipient"] = ["check_recipient_access static:few"]
    guarded.config["access_class.few"] = {"rules": ["reject_non_fqdn_sender"]}
    guarded.config["virtual_mailbox"] = {"domains": ["v.example"], "recipients": ["static:/etc/passwd"], "deliver": f"lmtp:[{block.host(44)}]:24"}
    guarded.start()
    assert rcpt(guarded, "good@x.example", "anybody@v.example").startswith("250")
    assert rcpt(guarded, "good@x", "anybody@v.example").startswith("504 5.5.2 <good@x>: Sender address rejected")
    asked = guarded.run("postrider", "map", "--query", "anybody@v.example", "static:/etc/passwd")
    assert asked.stdout == "/etc/passwd\n", asked
    said = guarded.run("postrider", "map", "-c", guarded.file, "--check")
    assert said.returncode == 0, said


def test_what_tables_do_with_messages(guarded, tmp_path, block):
    policy = PolicyServer(block.host(40), block.port())
    try:
        user = f"{guarded.user}@test.example"
        (tmp_path / "senders").write_text(f"hold@x.example HOLD see ticket 7\nother@x.example REDIRECT {user}\n"
                                          "mark@x.example PREPEND X-Seen: by a table\ngone@x.example DISCARD\n")
        guarded.config["policy.grey"] = {"address": f"inet:{policy.address}:{policy.port}", "stage": "mail"}
        guarded.config["access.strangers"]["recipient"] = ["check_policy_service grey"]
        policy.answer = lambda question: "DEFER_IF_PERMIT 4.2.0 Greylisted" if question["sender"] == "grey@x.example" else "DUNNO"
        guarded.start()
        assert rcpt(guarded, "grey@x.example") == f"450 4.2.0 <{user}>: Recipient address rejected: Greylisted"
        assert [each["protocol_state"] for each in policy.questions] == ["RCPT"]
        for sender in ("hold", "gone", "mark"):
            guarded.submit(user, sender, sender=f"{sender}@x.example", port=guarded.relay_port)
        held = json.loads(guarded.run("postrider", "message", "list", "-c", guarded.file, "--json").stdout.splitlines()[0])
        assert held["state"] == "held"
        assert "see ticket 7" in guarded.run("postrider", "message", "show", "-c", guarded.file, held["id"]).stdout
        received = guarded.wait_mailbox(1)[0]
        assert "X-Seen: by a table" in received
        guarded.wait_log(r": discard: RCPT from \S+: <gone@x\.example>: Sender address triggers DISCARD action; from=<gone@x\.example> ")
    finally:
        policy.stop()


def test_dns_and_lists_in_it(guarded, names, block):
    guarded.use_names(names)
    guarded.config["access.strangers"] = {"sender": ["reject_unknown_sender_domain"], "client": ["reject_rbl_client bl.example=127.0.0.[2..4]"]}
    listed, odd = block.host(61), block.host(62)
    for address, answer in ((listed, "127.0.0.3"), (odd, "127.0.0.9")):
        name = ".".join(reversed(address.split("."))) + ".bl.example"
        names.address_of(name, answer)
        names.add(name, "TXT", TXT("listed for a test"))
    names.mx("far.example", (10, "mx.far.example"))
    names.null_mx("none.example")
    names.fails("broken.example", "servfail")
    guarded.start()

    def reply(sender, source=None):
        with guarded.client(source=source) as c:
            c.say(f"MAIL FROM:<{sender}>")
            return c.say(f"RCPT TO:<{guarded.user}@test.example>")
    assert reply("a@far.example").startswith("250")
    assert reply("a@missing.example") == "450 4.1.8 <a@missing.example>: Sender address rejected: Domain not found"
    assert reply("a@broken.example") == "450 4.1.8 <a@broken.example>: Sender address rejected: Domain not found"
    assert reply("a@none.example") == ("550 5.7.27 <a@none.example>: Sender address rejected: Domain none.example does not accept mail "
                                       "(nullMX)")
    assert reply("a@far.example", listed) == (f"554 5.7.1 Service unavailable; Client host [{listed}] blocked using bl.example; "
                                              "listed for a test")
    assert reply("a@far.example", odd).startswith("250")


def test_try_shows_which_rule_decides(guarded, tmp_path):
    guarded.config["access.strangers"]["recipient"] = ["check_policy_service grey"]
    guarded.config["policy.grey"] = {"address": "unix:/no/such/socket"}
    guarded.write_config()
    ask = ("postrider", "try", "-c", guarded.file, "--client", "192.0.2.9", "--name", "mail.x.example", "--helo", "mail.x.example", "--to",
           f"{guarded.user}@test.example", "--from")
    said = guarded.run(*ask, "sock@x.example")
    assert said.returncode == 67, said
    lines = said.stdout.splitlines()
    assert lines[0] == "session    mail.x.example[192.0.2.9], may relay"
    assert lines[1].startswith(f"client     check_client_access cidr:{tmp_path}/networks")
    assert lines[-1] == "result     554 5.7.1 <sock@x.example>: Sender address rejected: by the map"
    assert any("sock@x.example: REJECT by the map" in line for line in lines)
    said = guarded.run(*ask, "good@x.example")
    assert said.returncode == 0 and "policy service grey was not asked" in said.stdout, said
    assert said.stdout.splitlines()[-1] == "result     accepted"
    facts = json.loads(guarded.run(*ask, "sql@x.example", "--json").stdout)
    assert facts["result"].endswith("by the database") and facts["rules"][-1]["found"] == "sql@x.example: REJECT by the database"
    # Relay control, which no rule overrules; and command lines that make no sense.
    said = guarded.run("postrider", "try", "-c", guarded.file, "--client", "198.51.100.1", "--name", "x.example", "--from", "a@x.example", "--to", "b@else.example")
    assert said.stdout.splitlines()[-1] == "result     554 5.7.1 <b@else.example>: Relay access denied"
    for wrong in (("--client", "nonsense"), ("--client", "192.0.2.1", "--to", "nobody"), ("--helo", "x", "a@b.example"), ()):
        assert guarded.run("postrider", "try", "-c", guarded.file, *wrong).returncode == 64, wrong


def test_try_as_somebody_who_is_logged_in_or_uses_tls(guarded):
    guarded.config["access.strangers"] = {"client": ["reject_plaintext_session"],
                                          "recipient": ["permit_sasl_authenticated", "reject"], "listeners": ["relay"]}
    guarded.write_config()

    def result(*words):
        said = guarded.run("postrider", "try", "-c", guarded.file, "--client", "198.51.100.1", "--name", "x.example", "--helo", "x.example",
                           "--from", "a@x.example", "--to", f"{guarded.user}@test.example", *words)
        return (said.stdout or said.stderr).splitlines()[-1]
    assert result() == "result     450 4.7.1 Session encryption is required"
    assert result("--tls").startswith("result     554 5.7.1 ")
    assert result("--tls", "--user", "ann") == "result     accepted"
    assert result("--tls", "--user", "ann", "--listener", "relay") == "result     accepted"
    assert result("--listener", "submission") .startswith("postrider: listen.submission has no access rules and tests no clients: ")
    assert result("--listener", "none") == "postrider: there is no [listen.none]"
