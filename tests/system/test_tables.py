"""Lookup tables by `postrider map` and our postmap and postalias, against Debian's own postmap: the same files, the same
servers, the same answers. No mail system needs to run."""
import os
import socketserver
import sqlite3
import subprocess
import threading
from contextlib import closing, contextmanager

import pytest

from harness import unpacked

KEYS = ["bob@example.com", "BOB@Example.Com", "ann", "@example.com", "nobody", "news-request@lists.example", "x@inner.example",
        "boss@inner.example", "192.0.2.9", "192.0.3.1", "10.1.2.3", "2001:db8::1", "::1", '"odd name"@example.com', "a%b c",
        "50%", "long"]


class Theirs:
    """Postfix's postmap with its plug-ins, out of their packages."""

    def __init__(self, folder):
        self.folder = folder / "their-postfix"
        self.folder.mkdir()
        places = {name: unpacked.tree(name) for name in ("postfix", "postfix-lmdb", "postfix-pcre", "postfix-sqlite")}
        self.program = places["postfix"] / "usr/sbin/postmap"
        self.environment = dict(os.environ, LD_LIBRARY_PATH=":".join(
            unpacked.environment(place)["LD_LIBRARY_PATH"] for place in places.values()))
        (self.folder / "main.cf").write_text(
            f"compatibility_level=3.6\nqueue_directory={self.folder}/queue\nmyhostname=mta.test.example\nmail_owner=daemon\n"
            f"setgid_group=utmp\nmeta_directory={self.folder}\nshlib_directory={self.folder}\n")
        (self.folder / "master.cf").write_text("")
        plugin = "{0} {1}/usr/lib/postfix/postfix-{0}.so dict_{0}_open{2}\n"
        (self.folder / "dynamicmaps.cf").write_text(
            plugin.format("lmdb", places["postfix-lmdb"], " mkmap_lmdb_open") + plugin.format("pcre", places["postfix-pcre"], "") +
            plugin.format("sqlite", places["postfix-sqlite"], ""))

    def postmap(self, *arguments, **more):
        return subprocess.run([self.program, "-c", self.folder, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              env=self.environment, **more)

    def says(self, table, key):
        done = self.postmap("-q", key, table)
        assert "fatal" not in done.stderr, done.stderr
        return done.stdout.rstrip("\n") if done.returncode == 0 else None


@pytest.fixture
def theirs(tmp_path):
    return Theirs(tmp_path)


def ours(mta, table, key):
    done = mta.run("postrider", "map", "-c", mta.file, "--query", key, table)
    assert done.returncode in (0, 1) and done.stderr == "", done.stderr
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


def same_answers(mta, theirs, our_table, their_table, found):
    """Of every key; `found` of them at least, so that silence on both sides is no success."""
    answers = {key: ours(mta, our_table, key) for key in KEYS}
    assert answers == {key: theirs.says(their_table, key) for key in KEYS}
    assert sum(value is not None for value in answers.values()) >= found, answers


TEXT = ("# people\nBob@Example.com  one,\n two\n\n@example.com\tcatch all \nann a\nann again\n alone? no: continued\n"
        '"odd name"@example.com strange\nlong ' + "x" * 5000 + "\n50% half\n")
RULES = ("/^(.*)-request@(lists)\\.example$/ owner-$1@${2}.$(2).$$1\n!/@/ bare\nif /@inner\\.example$/\n# nested\nif !/^boss@/\n"
         "/^(.)(z)?/ [$1]\nendif\n/^boss/ the boss\nendif\n/^BOB@/ any case\n")
NETWORKS = "192.0.2.9 one\n192.0.2.0/24 net\n!10.0.0.0/8 not ten\n2001:db8::/32 six\n0.0.0.0/0 rest\n::/0 rest of six\n"


def test_files_say_what_they_say_to_postfix(mta, theirs, tmp_path):
    mta.write_config()
    for name, text in (("text", TEXT), ("rules", RULES), ("networks", NETWORKS)):
        (tmp_path / name).write_text(text)
    same_answers(mta, theirs, f"text:{tmp_path}/text", f"texthash:{tmp_path}/text", 7)
    same_answers(mta, theirs, f"regexp:{tmp_path}/rules", f"pcre:{tmp_path}/rules", 7)
    same_answers(mta, theirs, f"cidr:{tmp_path}/networks", f"cidr:{tmp_path}/networks", 5)

    # What either has compiled, both read.
    made = mta.run("postrider", "map", tmp_path / "text")
    assert made.returncode == 0 and made.stdout == f"{tmp_path}/text.lmdb: 6 entries\n"
    assert f"{tmp_path}/text:7: ann is listed twice; the first entry is used" in made.stderr
    same_answers(mta, theirs, f"lmdb:{tmp_path}/text", f"lmdb:{tmp_path}/text", 7)
    (tmp_path / "text.lmdb").unlink()
    assert theirs.postmap(f"lmdb:{tmp_path}/text").returncode == 0
    same_answers(mta, theirs, f"lmdb:{tmp_path}/text", f"lmdb:{tmp_path}/text", 7)
    # The text of a compiled one that has lost it, as import-postfix says.
    (tmp_path / "again").write_text(mta.run("postmap", "-s", f"lmdb:{tmp_path}/text").stdout)
    assert mta.run("postmap", f"lmdb:{tmp_path}/again").returncode == 0
    same_answers(mta, theirs, f"lmdb:{tmp_path}/again", f"lmdb:{tmp_path}/text", 7)


def test_a_database_says_what_it_says_to_postfix(mta, theirs, tmp_path):
    with sqlite3.connect(tmp_path / "users.sqlite") as database:
        database.executescript("CREATE TABLE aliases(address TEXT, target TEXT, more TEXT);"
                               "INSERT INTO aliases VALUES('bob@example.com','one',''),('bob@example.com','two','three'),"
                               "('ann',NULL,'only'),('a%b c','odd',''),('long','','');")
    (tmp_path / "users.cf").write_text(f"dbpath={tmp_path}/users.sqlite\n"
                                       "query=SELECT target, more FROM aliases WHERE address='%s'\n")
    mta.config["table.users"] = {"kind": "sqlite", "database": str(tmp_path / "users.sqlite"),
                                 "query": "SELECT target, more FROM aliases WHERE address = ?"}
    mta.write_config()
    same_answers(mta, theirs, "table:users", f"sqlite:{tmp_path}/users.cf", 3)


def test_a_new_address_is_known_before_its_mail_is_returned(mta, tmp_path):
    """Though the answer that there is no such address would be kept for an hour."""
    with sqlite3.connect(tmp_path / "base") as database:
        database.executescript("CREATE TABLE t (k, v); INSERT INTO t VALUES ('old@lists.example', 'someone@test.example')")
    mta.config["table.base"] = {"kind": "sqlite", "database": str(tmp_path / "base"), "query": "SELECT v FROM t WHERE k = ?", "cache": "1h"}
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": ["table:base"]}
    (mta.folder / "aliases").write_text("team: new@lists.example\n")
    mta.config["local"]["aliases"] = [str(mta.folder / "aliases")]
    mta.start()
    mta.submit("team@test.example", "too early")
    mta.wait_log(r"to=<new@lists\.example>.*status=bounced")
    with sqlite3.connect(tmp_path / "base") as database:
        database.execute("INSERT INTO t VALUES ('new@lists.example', 'someone@test.example')")
    queue_id = mta.submit("team@test.example", "in time")
    mta.wait_log(rf"{queue_id}: to=.*status=(sent|bounced)")
    assert "Subject: in time" in str(mta.wait_mailbox(1)[0])


VALUES = {"bob@example.com": "one, two", "ann": "a", "a%b c": "100% of it"}


class Asked(socketserver.StreamRequestHandler):
    """Both protocols; which one, the server knows."""

    def handle(self):
        while self.answer():
            self.wfile.flush()

    def answer(self):
        if not self.server.netstrings:
            line = self.rfile.readline()
            if not line:
                return False
            key = unquoted(line[4:].rstrip(b"\n")).decode()
            value = VALUES.get(key)
            if key == "nobody":
                return self.wfile.write(b"400 the%20database%20is%20down\n")
            return self.wfile.write(b"500 no\n" if value is None else b"200 " + value.replace("%", "%25").replace(" ", "%20").encode() + b"\n")
        length = b""
        while (byte := self.rfile.read(1)) not in (b":", b""):
            length += byte
        if not length:
            return False
        name, key = self.rfile.read(int(length)).decode().split(" ", 1)
        assert self.rfile.read(1) == b"," and name == "people"
        value = "TEMP the database is down" if key == "nobody" else f"OK {VALUES[key]}" if key in VALUES else "NOTFOUND "
        return self.wfile.write(f"{len(value)}:{value},".encode())


def unquoted(text):
    out = bytearray()
    while text:
        if text.startswith(b"%"):
            out.append(int(text[1:3], 16))
            text = text[3:]
        else:
            out.append(text[0])
            text = text[1:]
    return bytes(out)


@contextmanager
def serving(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Tcp(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address = True, True


class Local(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def test_services_say_what_they_say_to_postfix(mta, theirs, tmp_path, monkeypatch):
    mta.config["table.people"] = {"kind": "socketmap", "address": f"unix:{tmp_path}/s", "map": "people", "timeout": "5s"}
    mta.write_config()
    monkeypatch.setitem(globals(), "KEYS", [key for key in KEYS if key not in ("nobody", "BOB@Example.Com")])
    with serving(Tcp(("127.0.0.1", 0), Asked)) as tcp, serving(Local(f"{tmp_path}/s", Asked)) as local, \
            serving(Tcp(("127.0.0.1", 0), Asked)) as inet:
        tcp.netstrings, local.netstrings, inet.netstrings = False, True, True
        table = f"tcp:127.0.0.1:{tcp.server_address[1]}"
        same_answers(mta, theirs, table, table, 3)
        same_answers(mta, theirs, f"socketmap:unix:{tmp_path}/s:people", f"socketmap:unix:{tmp_path}/s:people", 3)
        table = f"socketmap:inet:127.0.0.1:{inet.server_address[1]}:people"
        same_answers(mta, theirs, table, table, 3)
        assert ours(mta, "table:people", "ann") == "a"
        for table, said in ((f"tcp:127.0.0.1:{tcp.server_address[1]}", "400 the database is down"), ("table:people", "TEMP the database is down")):
            later = mta.run("postrider", "map", "-c", mta.file, "--query", "nobody", table)
            assert later.returncode == 75 and later.stderr == f"postrider: table {table}: nobody: it answered: {said}\n"
    gone = mta.run("postrider", "map", "--query", "ann", f"tcp:127.0.0.1:{tcp.server_address[1]}")
    assert gone.returncode == 75 and "cannot be reached: connection refused" in gone.stderr


def test_postmap_as_scripts_call_it(mta, theirs, tmp_path):
    """The same commands with theirs and with ours, each on files of its own."""
    mta.write_config()
    steps = [(["lmdb:{}/v"], None), (["-q", "bob@EXAMPLE.com", "lmdb:{}/v"], None), (["-q", "nobody", "lmdb:{}/v"], None),
             (["-s", "lmdb:{}/v"], None), (["-q", "-", "lmdb:{}/v"], "ann\nnobody\nbob@example.com\n"), (["-i", "lmdb:{}/v"], "new one\nann x\n"),
             (["-ir", "lmdb:{}/v"], "New two\n"), (["-s", "lmdb:{}/v"], None), (["-d", "ann", "lmdb:{}/v"], None),
             (["-d", "ann", "lmdb:{}/v"], None), (["-d", "-", "lmdb:{}/v"], "new\nnobody\n"), (["-s", "lmdb:{}/v"], None), (["-o", "-w", "lmdb:{}/v"], None),
             (["-q", "ann", "texthash:{}/v"], None), (["-s", "texthash:{}/v"], None), (["-q", "bob@x", "pcre:{}/r", "texthash:{}/v"], None),
             (["-q", "ann", "lmdb:{}/none"], None), (["lmdb:{}/none"], None), (["-q", "ann"], None), ([], None), (["-Z"], None),
             (["texthash:{}/v"], None), (["nosuch:{}/v"], None)]
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        (folder / "v").write_text("Bob@example.com one, two\nann a\nann b\n")
        (folder / "r").write_text("/^(.*)@x$/ $1\n")
    for words, given in steps:
        results = []
        for folder, run in zip(folders, (lambda *w, **m: mta.run("postmap", "-c", mta.file, *w, **m), theirs.postmap)):
            done = run(*[word.format(folder) for word in words], input=given or "")
            lines = done.stdout.splitlines()
            results.append((done.returncode != 0, sorted(lines) if "-s" in words else lines, done.returncode != 0 and "fatal" in done.stderr))
        assert results[0] == results[1], words

    v = tmp_path / "a" / "v"
    warned = mta.run("postmap", f"hash:{v}")
    assert warned.returncode == 0 and warned.stderr == f"postmap: warning: {v}, line 3: ann is listed twice; the first entry is used\n"
    assert mta.run("postmap", "-q", "ann", v).stdout == mta.run("postmap", "-q", "ann", f"btree:{v}").stdout == "a\n"
    for letter in ("-f", "-n", "-N", "-o", "-p", "-u", "-U", "-v"):  # taken, and without effect
        assert mta.run("postmap", letter, "-q", "ann", v).stdout == "a\n", letter
    assert mta.run("postmap", "-i", "-r", f"hash:{v}", input="ann b\n").returncode == 0
    assert mta.run("postmap", "-q", "ann", f"lmdb:{v}").stdout == "b\n"
    for letter in ("-F", "-b", "-m"):
        assert f"{letter} is not supported" in mta.run("postmap", letter, "-q", "x", f"hash:{v}").stderr
    (tmp_path / "odd.toml").write_text("no = such\n")
    assert mta.run("postmap", "-c", tmp_path / "odd.toml", "-q", "x", "table:x").returncode == 1
    assert mta.run("postmap", "-h", "-q", "x", f"hash:{v}").stderr == (
        "postmap: fatal: -h is not supported: it queries tables in a way that Postrider never does\n")
    assert mta.run("postmap", "-q", "x", "sqlite:/x").stderr == (
        'postmap: fatal: "sqlite:/x": table type sqlite is not supported; write "table:NAME" and a section [table.NAME] with kind = "sqlite"\n')


def test_postalias_looks_aliases_over(mta, tmp_path):
    file = tmp_path / "aliases"
    (tmp_path / "list").write_text("ann\nx@@y\n")
    file.write_text(f'root: ann, "|/usr/bin/prog -x", :include:{tmp_path}/list, \\bob\nodd\nlist: a\n')
    looked = mta.run("postalias", f"hash:{file}")
    assert looked.returncode == 0 and looked.stderr == (
        f'postalias: warning: {file}, line 2: expected "name: target"\n'
        f'postalias: warning: {tmp_path}/list, line 2: "x@@y" is not a valid address: domain expected after @\n')
    assert mta.run("postalias", "-q", "ROOT", file).stdout == f"ann, |/usr/bin/prog -x, :include:{tmp_path}/list, \\bob\n"
    for letter in ("-f", "-n", "-N", "-o", "-p", "-u", "-v"):  # taken, and without effect
        assert mta.run("postalias", letter, "-q", "list", file).stdout == "a\n", letter
    assert mta.run("postalias", "-q", "nobody", file).returncode == 1
    assert mta.run("postalias", "-s", file).stdout.splitlines()[0] == "list\ta"
    assert mta.run("postalias", tmp_path / "none").returncode == 1
    assert mta.run("postalias").returncode == 1
    for words in (["-d", "root"], ["-i"], ["-r"]):
        assert "edit the file itself" in mta.run("postalias", *words, file).stderr


def test_values_of_every_kind_of_table_are_looked_over(mta, tmp_path):
    """By check and by map --check; a service can only be asked whether it answers."""
    values = "good@lists.example a@b.example\nbad@lists.example x@@y\n"
    (tmp_path / "virtual").write_text(values)
    assert mta.run("postrider", "map", "-c", mta.file, tmp_path / "virtual").returncode == 0
    (tmp_path / "rules").write_text("/^(.*)@old\\.example$/ $1@new.example\n/^(.*)@odd\\.example$/ $1@@new.example\n")
    (tmp_path / "networks").write_text("10.0.0.0/8 someone@b.example\n192.0.2.0/24 x@@y\n")
    (tmp_path / "transports").write_text("/^(.*)\\.in\\.example$/ smtp:[$1.hub.example]:25\n/\\.out\\.example$/ hold:\n")
    database = tmp_path / "database"
    with closing(sqlite3.connect(database)) as made:
        made.executescript("CREATE TABLE v (k TEXT, a TEXT); INSERT INTO v VALUES ('ok@lists.example', 'a@b.example'), "
                           "('sql@lists.example', 'x@@y')")
    mta.config["table.sql"] = {"kind": "sqlite", "database": str(database), "query": "SELECT a FROM v WHERE k = ?"}
    mta.config["table.few"] = {"kind": "entries", "entries": ["few@lists.example x@@y"]}
    odd = {f"lmdb:{tmp_path}/virtual": ": bad@lists.example: ", f"regexp:{tmp_path}/rules": ", line 2: ",
           f"cidr:{tmp_path}/networks": ", line 2: ", "table:sql": ": sql@lists.example: ", "table:few": ", line 1: few@lists.example: "}
    service = f"socketmap:unix:{tmp_path}/nobody:x"
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [*odd, service]}
    mta.config["transport"] = {"tables": [f"regexp:{tmp_path}/transports"]}
    mta.write_config()
    warned = mta.command("check").stderr.splitlines()
    looked = mta.run("postrider", "map", "-c", mta.file, "--check")
    assert looked.returncode == 65
    for table, place in odd.items():
        assert [l for l in warned if l.startswith(f"postrider: warning: {table}{place}") and "is not a valid address" in l], (table, warned)
        assert [l for l in looked.stderr.splitlines() if l.startswith(f"postrider: table {table}{place}")], (table, looked.stderr)
    assert sum("is not a valid address" in l for l in warned) == len(odd)
    hold = f'regexp:{tmp_path}/transports, line 2: "hold:" is not a valid next hop: mail for it waits'
    assert f"postrider: warning: {hold}" in warned and f"postrider: table {hold}" in looked.stderr
    assert not [l for l in warned if "nobody" in l] and f"table {service}: " in looked.stderr  # check asks no service
    # Fixed: how many were checked.
    for file, text in (("virtual", "x@@y"), ("networks", "x@@y"), ("rules", "@@"), ("transports", "hold:")):
        (tmp_path / file).write_text((tmp_path / file).read_text().replace(text, {"x@@y": "x@y.example", "@@": "@"}.get(text, "smtp:")))
    assert mta.run("postrider", "map", "-c", mta.file, tmp_path / "virtual").returncode == 0
    with closing(sqlite3.connect(database)) as mended:
        mended.execute("UPDATE v SET a = 'x@y.example'")
        mended.commit()
    mta.config["table.few"]["entries"] = ["few@lists.example x@y.example"]
    mta.write_config()
    looked = mta.run("postrider", "map", "-c", mta.file, "--check").stdout.splitlines()
    for table in odd:
        assert f"{table}: good ({1 if table == 'table:few' else 2} value{'' if table == 'table:few' else 's'} checked)" in looked
    assert f"regexp:{tmp_path}/transports: good (2 values checked)" in looked
    assert "is no " not in mta.command("check").stderr


def test_map_says_what_is_wrong(mta, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good").write_text("a b\n")
    (tmp_path / "bad").write_text("a b\nalone\n")
    mta.config["table.few"] = {"kind": "entries", "entries": ["a b"]}
    mta.write_config()

    def run(*words):
        return mta.run("postrider", "map", "-c", mta.file, *words)

    assert run("--check").stdout == "table:few: good\n"
    assert run("--check", "text:good", "table:few").stdout == f"text:{tmp_path}/good: good\ntable:few: good\n"
    checked = run("--check", "text:bad", "lmdb:good", "table:none")
    assert checked.returncode == 65 and checked.stderr == (
        f'postrider: table text:{tmp_path}/bad, line 2: expected "key value", not "alone" alone; skipped\n'
        f"postrider: table lmdb:{tmp_path}/good: No such file or directory\n"
        "postrider: table table:none: there is no [table.none] in the configuration\n")
    assert run("--query", "a", "table:few", "text:good", "--json").stdout == '{"key":"a","table":"table:few","value":"b","version":1}\n'
    assert run("--query", "x", "table:few").returncode == 1
    assert run("--query", "x", "hash:/x").returncode == 75
    assert run("--query", "x").returncode == run().returncode == run("--check", "--query", "x").returncode == 64
    assert run("missing").returncode == 1
    assert run("good").stdout == "good.lmdb: 1 entry\n"
