"""Tables in databases: real servers out of their packages, mail and commands that look up keys there, and what happens
while a server is away, slow or refuses."""
import re
import time
import urllib.request

import pytest

from harness.databases import PASSWORD, Mariadb, Postgres, Slapd
from harness.watch import wait_until

ALIASES = ["create table aliases (address varchar(200), target varchar(200))",
           "insert into aliases values ('info@lists.example', 'someone@test.example'), ('all@lists.example', 'someone@test.example'), "
           "('all@lists.example', 'other@test.example'), ('o''hara@lists.example', 'other@test.example')"]
ENTRIES = """dn: uid=ann,dc=example
objectClass: inetOrgPerson
cn: Ann
sn: A
uid: ann
mail: info@lists.example
mail: o'hara@lists.example
description: someone@test.example

dn: uid=bob,dc=example
objectClass: inetOrgPerson
cn: Bob (the (second))
sn: B
uid: bob
mail: bob@lists.example
description: other@test.example

dn: cn=everyone,dc=example
objectClass: groupOfNames
objectClass: extensibleObject
cn: everyone
mail: all@lists.example
member: uid=ann,dc=example
member: uid=bob,dc=example
member: cn=everyone,dc=example

dn: cn=outer,dc=example
objectClass: groupOfNames
objectClass: extensibleObject
cn: outer
mail: outer@lists.example
mail;lang-en: english@lists.example
member: cn=everyone,dc=example
member: uid=gone,dc=example

dn: cn=odd,dc=example
objectClass: extensibleObject
objectClass: person
cn: odd
sn: O
mail: odd@lists.example
labeledURI: ldap:///dc=example??sub?(mail=*)
"""


class Kind:
    """A kind of database: its server, and the file of a table that asks it."""

    def __init__(self, name, start, table):
        self.name, self.start, self.table = name, start, table


SQL = "hosts = {0.address}:{0.port}\nuser = mail\npassword = " + PASSWORD + "\ndbname = mail\n"
KINDS = {
    "mysql": Kind("mysql", lambda address, port: Mariadb(address, port, *ALIASES),
                  SQL + "query = SELECT target FROM aliases\n  WHERE address = '%s'\n"),
    "pgsql": Kind("pgsql", lambda address, port: Postgres(address, port, *ALIASES),
                  SQL + "query = SELECT target FROM aliases WHERE address = '%s' ORDER BY target DESC\n"),
    "ldap": Kind("ldap", lambda address, port: Slapd(address, port, ENTRIES),
                 "server_host = ldap://{0.address}:{0.port}\nversion = 3\nbind_dn = cn=admin,dc=example\nbind_pw = " + PASSWORD +
                 "\nsearch_base = dc=example\nquery_filter = (mail=%s)\nresult_attribute = description\nspecial_result_attribute = member\n"),
}


@pytest.fixture(params=list(KINDS))
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def server(kind, mta, block):
    started = kind.start(mta.address, block.port())
    yield started
    started.thaw()
    started.remove()


def write_table(mta, kind, server, name="aliases.cf", more=""):
    file = mta.folder / name
    file.write_text(kind.table.format(server) + "timeout = 2\n" + more)
    file.chmod(0o600)
    mta.config["master"]["heartbeat_interval"] = "200ms"  # as often it looks whether the file has changed
    return f"{kind.name}:{file}"


@pytest.fixture
def table(mta, kind, server):
    """A running MTA whose virtual aliases are in the database."""
    named = write_table(mta, kind, server)
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [named]}
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.block.port()}"]}
    mta.start()
    return named


def query(mta, table, key):
    return mta.command("map", "--query", key, table, check=False)


def value(mta, table, key):
    done = query(mta, table, key)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return sorted(done.stdout.strip().split(",")) if done.returncode == 0 else None


def test_mail_goes_where_the_database_says(mta, table):
    mta.submit("info@lists.example", "to one")
    mta.submit("ALL@Lists.Example", "to both")
    assert len(mta.wait_mailbox(2)) == 2 and len(mta.wait_mailbox(1, user="other")) == 1
    with mta.client(mta.relay_port) as c:
        c.say("MAIL FROM:<a@remote.example>")
        assert "550 5.1.1" in c.say("RCPT TO:<nobody@lists.example>")
        assert "250" in c.say("RCPT TO:<info@lists.example>")
    assert value(mta, table, "all@lists.example") == ["other@test.example", "someone@test.example"]
    assert value(mta, table, "o'hara@lists.example") in (["other@test.example"], ["someone@test.example"])
    for key in ("nobody@lists.example", "*", "'", "x' OR '1'='1", "*)(mail=*", "\\"):
        assert value(mta, table, key) is None, key
    assert "good" in mta.command("map", "--check", table).stdout
    assert PASSWORD not in mta.log_file.read_text() + mta.command("status").stdout + mta.command("status", "--json").stdout
    for pid in mta.all_pids():
        assert PASSWORD not in open(f"/proc/{pid}/cmdline").read() + open(f"/proc/{pid}/environ").read()


def test_mail_waits_while_the_database_is_away(mta, table, server):
    mta.submit("info@lists.example", "first")
    mta.wait_mailbox(1)
    server.stop()
    with mta.client(mta.relay_port) as c:
        c.say("MAIL FROM:<a@remote.example>")
        assert "450 4.3.0" in c.say("RCPT TO:<all@lists.example>")
    mta.sendmail("all@lists.example")
    mta.wait_log(rf"warning: table {re.escape(table)}: database \S*{server.port}: ")
    mta.wait_log(rf"warning: table {re.escape(table)}: .*; mail that depends on it waits until it answers")
    wait_until(lambda: table in mta.command("status", check=False).stdout, 10, "status names the table")
    assert len(mta.mailbox()) == 1
    server.begin()
    mta.wait_mailbox(1, user="other", seconds=40)
    mta.wait_log(rf"table {re.escape(table)}: database \S+ works again")
    assert not mta.logged("status=bounced")


def test_a_frozen_database_harms_only_its_own_table(mta, kind, server):
    named = write_table(mta, kind, server)
    mta.config["relay"] = {"domains": ["lists.example"], "recipients": [named]}
    mta.config["virtual_mailbox"] = {"domains": ["boxes.example"], "deliver": f"maildir:{mta.folder}/mail/{{user}}",
                                     "recipients": [f"text:{mta.folder}/boxes"]}
    (mta.folder / "boxes").write_text("someone@boxes.example x\n")
    mta.start()
    assert value(mta, named, "info@lists.example")
    server.freeze()
    done = query(mta, named, "all@lists.example")
    assert done.returncode == 75 and re.search(r"no (answer|connection) (in time|within)", done.stderr), done.stderr
    with mta.client(mta.relay_port) as c:
        c.say("MAIL FROM:<a@remote.example>")
        assert "450 4.3.0" in c.say("RCPT TO:<all@lists.example>")
        assert "250" in c.say("RCPT TO:<someone@boxes.example>")
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)
    server.thaw()
    def answers():
        with mta.client(mta.relay_port) as c:
            c.say("MAIL FROM:<a@remote.example>")
            return "250" in c.say("RCPT TO:<all@lists.example>")
    wait_until(answers, 60, "the database to be asked again")


def test_a_changed_file_takes_effect_and_a_broken_one_does_not(mta, table, kind, server):
    assert value(mta, table, "info@lists.example") == ["someone@test.example"]
    write_table(mta, kind, server, more="result_format = x-%s\n")
    wait_until(lambda: value(mta, table, "info@lists.example") == ["x-someone@test.example"], 20, "the new format")
    write_table(mta, kind, server, more="result_format = %x\n")
    mta.wait_log(rf"warning: table {re.escape(table)}: line \d+: result_format: \"%x\" is not a placeholder.*; it continues as it was before")
    assert value(mta, table, "info@lists.example") == ["x-someone@test.example"]
    assert "result_format" in mta.command("status", check=False).stdout
    done = mta.command("check", check=False)
    assert f"table {table}: line" in done.stderr and "result_format" in done.stderr


def test_limits_and_domains(mta, table, kind, server):
    write_table(mta, kind, server, more="expansion_limit = 1\ndomain = lists.example\n")
    def limited():
        done = query(mta, table, "all@lists.example")
        return done.returncode == 75 and "expansion_limit" in done.stderr
    wait_until(limited, 20, "the limit")
    assert value(mta, table, "info@lists.example") == ["someone@test.example"]  # one key's fault is not the table's
    assert value(mta, table, "lists.example") is None and value(mta, table, "info@other.example") is None
    server.stop()
    assert mta.command("map", "--check", table, check=False).returncode != 0  # the key it asks for is in one of the domains


def test_an_outage_does_not_concern_domains_that_the_table_excludes(mta, kind, server):
    named = write_table(mta, kind, server, more="domain = lists.example\n")
    mta.config["virtual_mailbox"] = {"domains": ["lists.example", "boxes.example"], "deliver": f"maildir:{mta.folder}/mail/{{user}}",
                                     "recipients": [named, f"text:{mta.folder}/boxes"]}
    (mta.folder / "boxes").write_text("someone@boxes.example x\n")
    mta.start()
    server.stop()
    with mta.client(mta.relay_port) as c:
        c.say("MAIL FROM:<a@remote.example>")
        for n in range(5):
            assert "450 4.3.0" in c.say(f"RCPT TO:<info{n}@lists.example>")
            assert "250" in c.say("RCPT TO:<someone@boxes.example>")
    mta.wait_log(rf"warning: table {re.escape(named)}: .*; mail that depends on it waits until it answers")
    assert named in mta.command("status", check=False).stdout
    server.begin()
    wait_until(lambda: query(mta, named, "info@lists.example").returncode == 0, 20, "the database to answer")
    wait_until(lambda: named not in mta.command("status", check=False).stdout, 20, "status to be in order")


def test_a_database_as_a_part_of_other_tables(mta, kind, server):
    """Of a union that decides where mail goes, and of chains that do that and that smtpd asks about senders: what smtpd may
    read and connect to is what these tables need."""
    named = write_table(mta, kind, server)
    (mta.folder / "more").write_text("info@lists.example other@test.example\n")
    mta.config["table.all"] = {"kind": "union", "tables": [named, f"text:{mta.folder}/more"]}
    mta.config["table.names"] = {"kind": "entries", "entries": ["info@boxes.example info@lists.example", "none@boxes.example nobody@lists.example"]}
    mta.config["table.steps"] = {"kind": "chain", "tables": ["table:names", named]}
    mta.config["table.verdicts"] = {"kind": "entries", "entries": ["someone@test.example REJECT by the database"]}
    mta.config["table.guard"] = {"kind": "chain", "tables": [named, "table:verdicts"]}
    mta.config["virtual_alias"] = {"domains": ["lists.example", "boxes.example"], "tables": ["table:all", "table:steps"]}
    mta.config["access.guard"] = {"listeners": ["relay"], "sender": ["check_sender_access table:guard"]}
    mta.start()

    def said(sender, recipient):
        with mta.client(mta.relay_port) as c:
            c.say(f"MAIL FROM:<{sender}>")
            return c.say(f"RCPT TO:<{recipient}>")
    assert said("info@lists.example", "info@boxes.example") == "554 5.7.1 <info@lists.example>: Sender address rejected: by the database"
    for recipient, reply in (("info@lists.example", "250"), ("info@boxes.example", "250"), ("none@boxes.example", "550 5.1.1"),
                             ("nobody@lists.example", "550 5.1.1")):
        assert said("a@remote.example", recipient).startswith(reply), recipient
    mta.submit("info@lists.example", "to both")
    assert mta.wait_mailbox(1) and mta.wait_mailbox(1, user="other")
    mta.submit("info@boxes.example", "by two tables")
    assert len(mta.wait_mailbox(2)) == 2 and value(mta, "table:steps", "info@boxes.example") == ["someone@test.example"]
    server.stop()  # what nobody has asked yet is not known, though the text is there
    (mta.folder / "more").write_text("fresh@lists.example other@test.example\n")
    assert said("new@remote.example", "someone@test.example").startswith("451 4.3.5 ")
    assert query(mta, "table:all", "fresh@lists.example").returncode == 75
    server.begin()
    wait_until(lambda: said("newer@remote.example", "someone@test.example").startswith("250"), 60, "the database to be asked again")
    wait_until(lambda: value(mta, "table:all", "fresh@lists.example") == ["other@test.example"], 30, "the text beside it")


def test_without_the_package_lookups_fail_at_once(mta):
    program = mta.programs / "maps"
    kept = program.rename(mta.folder / "maps")
    file = mta.folder / "aliases.cf"
    file.write_text("query = select 1\n")
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [f"mysql:{file}"]}
    mta.start()
    assert "install the package postrider-maps" in mta.command("check", check=False).stderr
    began = time.monotonic()
    done = query(mta, f"mysql:{file}", "info@lists.example")
    assert done.returncode == 75 and "postrider-maps" in done.stderr and time.monotonic() - began < 10, done
    with mta.client(mta.relay_port) as c:
        c.say("MAIL FROM:<a@remote.example>")
        assert "450 4.3.0" in c.say("RCPT TO:<info@lists.example>")
    kept.rename(program)
    mta.command("reload")
    wait_until(lambda: "127.0.0.1" in query(mta, f"mysql:{file}", "info@lists.example").stderr or
               "localhost" in query(mta, f"mysql:{file}", "info@lists.example").stderr, 20, "maps to be asked")
    section = mta.config.pop("virtual_alias")
    mta.write_config()
    mta.command("reload")
    assert not (mta.spool / "run/private/maps").exists() and not any(each["process"] == "maps" for each in mta.status()["processes"])
    mta.config["virtual_alias"] = section
    mta.write_config()
    mta.command("reload")
    assert "no answer" not in query(mta, f"mysql:{file}", "info@lists.example").stderr and (mta.spool / "run/private/maps").exists()


@pytest.fixture
def directory(mta, block):
    server = Slapd(mta.address, block.port(), ENTRIES)
    named = write_table(mta, KINDS["ldap"], server)
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [named]}
    mta.start()
    yield server, named
    server.remove()


def test_groups_of_a_directory(mta, directory):
    server, named = directory
    assert value(mta, named, "outer@lists.example") == ["other@test.example", "someone@test.example"]  # a member that is gone is skipped
    write_table(mta, KINDS["ldap"], server, more="recursion_limit = 1\n")
    def refused(key, why):
        done = query(mta, named, key)
        return done.returncode == 75 and why in done.stderr
    wait_until(lambda: refused("outer@lists.example", "nested deeper than recursion_limit permits (1)"), 20, "the limit")
    assert value(mta, named, "info@lists.example") == ["someone@test.example"]
    write_table(mta, KINDS["ldap"], server, more="special_result_attribute = labeledURI\n")
    wait_until(lambda: refused("odd@lists.example", "only names of entries are followed"), 20, "the address")
    write_table(mta, KINDS["ldap"], server, more="special_result_attribute = sn\n")  # is no name
    wait_until(lambda: refused("odd@lists.example", "Invalid DN syntax"), 20, "the odd name")
    assert value(mta, named, "nobody@lists.example") is None


def test_attributes_with_options_are_those_attributes(mta, directory):
    server, named = directory
    write_table(mta, KINDS["ldap"], server, more="special_result_attribute = \nresult_attribute = mail\n")
    wait_until(lambda: value(mta, named, "outer@lists.example") == ["english@lists.example", "outer@lists.example"], 20, "both")


def test_a_query_without_a_result_set(mta, block):
    server = KINDS["pgsql"].start(mta.address, block.port())
    try:
        named = write_table(mta, KINDS["pgsql"], server, more="query = set application_name = 'x'\n")
        other = write_table(mta, KINDS["pgsql"], server, name="other.cf", more="query = set application_name = 'x'\nrequire_result_set = no\n")
        mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [named, other]}
        mta.start()
        done = query(mta, named, "info@lists.example")
        assert done.returncode == 75 and "require_result_set" in done.stderr, done
        assert value(mta, other, "info@lists.example") is None
    finally:
        server.remove()


TYPED = ["create type mood as enum ('good', 'bad')",
         "create table typed (id integer, big bigint, yes boolean, kind mood, net inet, owner uuid, since date, address varchar(200))",
         "insert into typed values (7, 7000000000, true, 'good', '192.0.2.7', '00000000-0000-0000-0000-000000000007', '2026-01-07', 'seven@test.example')",
         "create extension citext",
         "create table alike (address citext, padded char(6), goto varchar(200))",
         "insert into alike values ('Ann@Example.com', 'ann', 'ann@test.example')"]


TYPED_QUERIES = [
    ("SELECT address FROM typed WHERE id = '%u'", "7@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE id = %u", "7@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE id = '%u'", "8@lists.example", None),
    ("SELECT address FROM typed WHERE big = '%u'", "7000000000@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE id IN ('%u', 8) AND big > '%u'", "7@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE id BETWEEN '%u' AND '%u'", "7@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE yes = '%u'", "true@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE kind = '%u'", "good@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE net = '%s'", "192.0.2.7", "seven@test.example"),
    ("SELECT address FROM typed WHERE net << '%s'", "192.0.2.0/24", "seven@test.example"),
    ("SELECT address FROM typed WHERE owner = '%s'", "00000000-0000-0000-0000-000000000007", "seven@test.example"),
    ("SELECT address FROM typed WHERE since = '%s'", "2026-01-07", "seven@test.example"),
    ("SELECT '%u' || '@test.example'", "ann@lists.example", "ann@test.example"),
    ("SELECT concat('%u', '@', 'test.example')", "ann@lists.example", "ann@test.example"),
    ("SELECT concat('%u', id, '@', '%d') FROM typed WHERE id = '%u' AND '%d' = ANY(ARRAY['lists.example'])", "7@lists.example",
     "77@lists.example"),
    ("SELECT address FROM typed WHERE id = '%u' AND format('%%s', '%d') = 'lists.example'", "7@lists.example", "seven@test.example"),
    ("SELECT address FROM typed WHERE coalesce(NULLIF('%u', ''), 'x') = '7'", "7@lists.example", "seven@test.example"),
    ("SELECT CASE WHEN '%d' = 'lists.example' THEN '%u' END", "ann@lists.example", "ann"),
    # Columns that could be compared with a text, but with another result: before and after parameters without a type.
    ("SELECT goto FROM alike WHERE address = '%s' OR address::text = concat('@', '%d')", "ann@example.com", "ann@test.example"),
    ("SELECT goto FROM alike WHERE address::text = concat('@', '%d') OR address = '%s'", "ann@example.com", "ann@test.example"),
    ("SELECT goto FROM alike WHERE padded = '%u   ' AND concat('%d') <> ''", "ann@example.com", "ann@test.example"),
    ("SELECT goto FROM alike WHERE concat('%d') <> '' AND padded = '%u   '", "ann@example.com", "ann@test.example"),
]


def test_parameters_have_the_types_that_texts_in_quotes_have(mta, block):
    server = Postgres(mta.address, block.port(), *TYPED)
    try:
        tables = [write_table(mta, KINDS["pgsql"], server, name=f"typed{number}.cf", more=f"query = {text}\n")
                  for number, (text, _, _) in enumerate(TYPED_QUERIES)]
        mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": tables}
        mta.start()
        for table, (text, key, result) in zip(tables, TYPED_QUERIES):
            for _ in range(2):  # on the same connection, too
                assert value(mta, table, key) == (result and [result]), text
        done = query(mta, tables[0], "ann@lists.example")
        assert done.returncode == 75 and "invalid input syntax for type integer" in done.stderr, done
        assert value(mta, tables[0], "7@lists.example") == ["seven@test.example"]
    finally:
        server.remove()


def test_a_base_that_is_missing_is_no_answer(mta, block):
    """Of a directory: the entries may be there, where they were not looked for."""
    server = Slapd(mta.address, block.port(), ENTRIES)
    try:
        named = write_table(mta, KINDS["ldap"], server, more="search_base = ou=gone,dc=example\n")
        mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [named]}
        mta.start()
        done = query(mta, named, "info@lists.example")
        assert done.returncode == 75 and "No such object" in done.stderr, done
    finally:
        server.remove()


def test_a_wrong_password_is_named_and_not_shown(mta, table, kind, server):
    file = mta.folder / "aliases.cf"
    file.write_text(file.read_text().replace(PASSWORD, "another-secret"))
    def refused():
        return query(mta, table, f"{len(mta.log_file.read_text())}@lists.example").returncode == 75
    wait_until(refused, 20, "the refusal")
    mta.wait_log(rf"warning: table {re.escape(table)}: database \S+: .*(Access denied|password authentication failed|Invalid credentials)")
    assert "another-secret" not in mta.log_file.read_text()


def test_metrics_count_by_table(mta, table):
    assert value(mta, table, "info@lists.example") and value(mta, table, "nobody@lists.example") is None
    def counted():
        with urllib.request.urlopen(f"http://{mta.config['metrics']['listen'][0]}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return (f'postrider_table_lookups_total{{table="{table}",result="found"}} 1' in text and
                f'postrider_table_lookups_total{{table="{table}",result="missing"}} 1' in text and
                f'postrider_table_lookup_seconds_total{{table="{table}"}}' in text)
    wait_until(counted, 15, "the counts")


def test_addresses_for_others_from_a_database(mta, remote, kind, server):
    """While it is away, mail waits: no original address leaves in the meantime."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["generic"] = {"tables": [write_table(mta, kind, server)]}
    mta.start()
    mta.submit("user@remote.example", sender="o'hara@lists.example")
    sink.wait_for(1)
    server.freeze()
    queue_id = mta.submit("user@remote.example", sender="info@lists.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote.example>.*status=deferred", 30)
    server.thaw()

    def delivered():  # the table is asked again when its pause is over
        mta.command("message", "retry", queue_id, check=False)
        return len(sink.messages) == 2
    wait_until(delivered, 30, "the second message")
    assert all(m.sender.endswith("@test.example") for m in sink.messages), [m.sender for m in sink.messages]
