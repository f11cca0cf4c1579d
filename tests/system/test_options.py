"""Every option of every command does what its usage says. The options are taken from the programs themselves, so that
one that is added and not tried here fails a test."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.journal import Journal
from harness.mta import BUILD
from harness.watch import wait_until

SOURCE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def busy(of_the_module):
    """An MTA that accepts and delivers nothing outwards: what is queued stays where a test put it."""
    mta, mta.sink = of_the_module
    (mta.folder / "passwords").touch(mode=0o600)
    mta.config["auth"] = {"passwords": str(mta.folder / "passwords")}
    mta.config["listen.submission"]["auth"] = False
    (mta.folder / "postfix").mkdir()
    (mta.folder / "journal.toml").write_text(f'[spool]\ndirectory = "{mta.folder}/journal"\n')
    journal = Journal(mta.folder / "journal/history")
    for _ in range(2):
        journal.message("ann@remote.example", deferrals=1)
    journal.publish()
    journal.message("bob@remote.example", outcome="deferred", finish=False)
    journal.write("config.reloaded")
    (mta.folder / "postfix/main.cf").write_text("myhostname = mail.options.example\n")
    mta.config["retry.patient"] = {"kind": "fixed", "interval": "9m"}
    mta.start()
    mta.command("pause", "all")
    return mta


def row(command, option, *words, status=0, out="", err="", input=None, then=None):
    """{id} in a word: a message of the test's own. `then`: called with (mta, id, finished process)."""
    name = f"{command} {option}".strip().replace(" ", "_")
    return pytest.param(command, option, words, status, out, err, input, then, id=name)


def facts(mta, queue_id):
    done = mta.command("message", "show", queue_id, "--json", check=False)
    return json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 else None


def shows(pattern):
    def look(mta, queue_id, _):
        said = mta.command("message", "show", queue_id).stdout
        assert re.search(pattern, said), said
    return look


def unchanged(mta, queue_id, done):
    held = re.search(r"^State +held", mta.command("message", "show", queue_id).stdout, re.M)
    assert bool(held) == ("release" in done.args)


def gone(mta, queue_id, _):
    assert queue_id not in mta.queued_ids()


def is_json(mta, queue_id, done):
    for line in done.stdout.splitlines():
        json.loads(line)
    assert done.stdout


def made(name, pattern):
    def look(mta, _, __):
        assert re.search(pattern, (mta.folder / name).read_text())
    return look


def run_elsewhere(mta, queue_id, words):
    return [str(word).format(id=queue_id, folder=mta.folder, file=mta.file, source=SOURCE, sink=f"{mta.sink.address}:{mta.sink.port}")
            for word in words]


WHY = "because of the test"
POSTRIDER = [
    row("", "-c", "status", "-c", "{folder}/none.toml", status=78, err="none.toml: No such file or directory"),
    row("", "--config", "check", "--config={file}", out=": good"),
    row("", "--json", "status", "-c", "{file}", "--json", then=is_json),
    row("", "-h", "-h", out="usage: postrider COMMAND"),
    row("", "--help", "message", "hold", "--help", out="usage: postrider message hold"),
    row("", "--version", "--version", out=r"^postrider \d+\.\d+"),
    row("status", "--brief", "status", "--brief", "-c", "{file}", out=r"\Ahealthy; \d+ messages? queued\n\Z"),
    row("status", "--ready", "status", "--ready", "-c", "{file}", out=r"\Aready; \d+ messages? queued\n\Z"),
    row("top", "--interval", "top", "--interval", "0", status=64, err="--interval needs 1 to 3600 seconds"),
    row("queue ages", "--by-sender", "queue", "ages", "--by-sender", "id={id}", "-c", "{file}", out="^ +test.example +1  1  0 "),
    row("queue ages", "--limit", "queue", "ages", "--limit", "1", "-c", "{file}", out="^ +remote.example +\\d"),
    row("message list", "--limit", "message", "list", "-c", "{file}", "--limit", "1", out="{id}|message"),
    row("message resend", "--to", "message", "resend", "{id}", "--to", "ann@remote.example", "-c", "{file}", status=1, err="still queued"),
    row("message cat", "--header", "message", "cat", "{id}", "--header", "-c", "{file}", out="^Subject: options",
        then=lambda mta, i, done: (None, ) if "Hello." not in done.stdout else pytest.fail(done.stdout)),
    *(row(f"message {verb}", "--reason", "message", verb, *more, "{id}", "--reason", WHY, "-c", "{file}", then=then) for verb, more, then in [
        ("hold", [], shows(WHY)), ("release", [], None), ("remove", [], gone), ("expire", [], None), ("retry", [], None),
        ("requeue", [], None), ("reroute", ["[127.0.0.9]:9"], None), ("priority", ["bulk"], None), ("schedule", ["2h"], shows("scheduled"))]),
    *(row(f"message {verb}", "--dry-run", "message", verb, *more, "{id}", "--dry-run", "-c", "{file}", out=r"1 message|would", then=unchanged)
      for verb, more in [("hold", []), ("release", []), ("remove", []), ("expire", []), ("retry", []), ("requeue", []),
                         ("reroute", ["[127.0.0.9]:9"]), ("priority", ["bulk"]), ("schedule", ["2h"])]),
    row("message expire", "--after", "message", "expire", "{id}", "--after", "9d", "-c", "{file}", out="1 message set to expire after 9d"),
    row("message move", "--to", "message", "move", "{id}", "--to", "nowhere", "-c", "{file}", status=64, err='no node "nowhere"'),
    row("message move", "--cancel", "message", "move", "{id}", "--cancel", "-c", "{file}", status=2, err="is not being moved"),
    row("message move", "--in-doubt", "message", "move", "{id}", "--cancel", "--in-doubt", "-c", "{file}", status=2, err="is not being moved"),
    row("message move", "--reason", "message", "move", "{id}", "--cancel", "--reason", WHY, "-c", "{file}", status=2, err="is not being moved"),
    row("message move", "--dry-run", "message", "move", "{id}", "--to", "nowhere", "--dry-run", "-c", "{file}", status=64, err='no node "nowhere"'),
    row("spool import", "--again", "spool", "import", "--again", "{id}", "-c", "{file}", status=66, err="No such file"),
    row("drain", "--to", "drain", "--to", "nowhere", "-c", "{file}", status=64, err='no node "nowhere"'),
    row("drain", "--rate", "drain", "--to", "nowhere", "--rate", "fast", "-c", "{file}", status=64, err="such as 500/s"),
    row("drain", "--reason", "drain", "--to", "nowhere", "--reason", WHY, "-c", "{file}", status=64, err='no node "nowhere"'),
    row("drain", "--wait", "drain", "--wait", "-c", "{file}", out="is not being drained"),
    row("drain", "--cancel", "drain", "--cancel", "-c", "{file}", status=2, err="is not being drained"),
    row("message requeue", "--policy", "message", "requeue", "{id}", "--policy", "patient", "-c", "{file}", then=shows("patient")),
    row("pause", "--reason", "pause", "queue", "other.example", "--reason", WHY, "-c", "{file}",
        then=lambda mta, i, done: None if WHY in mta.command("status").stdout else pytest.fail("not in status")),
    row("resume", "--reason", "resume", "queue", "other.example", "--reason", WHY, "-c", "{file}"),
    row("force", "--reason", "force", "queue", "remote.example", "--reason", WHY, "-c", "{file}"),
    row("history", "--attempts", "history", "ann@remote.example", "--attempts", "-c", "{folder}/journal.toml", out="451 4.7.1 try later"),
    row("history", "--events", "history", "ann@remote.example", "--events", "-c", "{folder}/journal.toml", out="message.accepted"),
    row("history", "--follow", "history", "--follow", "--attempts", "-c", "{folder}/journal.toml", status=64, err="--follow prints events"),
    row("history", "--check", "history", "--check", "-c", "{folder}/journal.toml", status=74, err="spool .*: list incoming: No such file"),
    row("history", "--limit", "history", "ann@remote.example", "--limit", "1", "-c", "{folder}/journal.toml", err="only the newest 1"),
    row("history", "--summary", "history", "--summary", "by=class", "-c", "{folder}/journal.toml", out="^ +2 +0 +2 +0 +rate$"),
    row("history", "--all", "history", "bob@remote.example", "--all", "-c", "{folder}/journal.toml", out="bob@remote.example"),
    row("journal verify", "--all", "journal", "verify", "--all", "-c", "{folder}/journal.toml", out="^10 events, numbers 1 to 10"),
    row("journal cat", "--start-at", "journal", "cat", "--start-at", "7", "-c", "{folder}/journal.toml", out=r'^\{"v":1,"seq":7,'),
    row("journal cat", "--follow", "journal", "cat", "--follow", "--all", "-c", "{folder}/journal.toml", status=64, err="--follow prints only"),
    row("journal cat", "--all", "journal", "cat", "--all", "-c", "{folder}/journal.toml", out=r'^\{"v":1,"seq":10,'),
    row("try", "--from", "try", "ann@remote.example", "--from", "bob@test.example", "-v", "-c", "{file}", out="MAIL FROM:<bob@test.example>"),
    row("try", "--host", "try", "ann@elsewhere.example", "--host", "{sink}", "-v", "-c", "{file}", out="EHLO mta.test.example"),
    row("try", "--all", "try", "ann@remote.example", "--all", "-c", "{file}", out="250"),
    row("verify", "--forget", "verify", "ann@remote.example", "--forget", "-c", "{file}", out="was not remembered"),
    row("try", "-v", "try", "ann@remote.example", "-v", "-c", "{file}", out="EHLO mta.test.example"),
    row("token add", "--scope", "token", "add", "t1", "--scope", "read,submit", "-c", "{file}", out="^prt_[A-Za-z0-9_-]{43}$",
        then=made("spool/http/tokens", '"name":"t1".*"scopes":\\["read","submit"\\]')),
    row("token add", "--submitter", "token", "add", "t2", "--scope", "submit", "--submitter", "shop", "-c", "{file}", out="^prt_",
        then=made("spool/http/tokens", '"name":"t2".*"submitter":"shop"')),
    row("token add", "--sender-domain", "token", "add", "t3", "--scope", "submit", "--sender-domain", "a.example,B.example", "-c", "{file}", out="^prt_",
        then=made("spool/http/tokens", '"name":"t3".*"sender_domains":\\["a.example","b.example"\\]')),
    row("token add", "--network", "token", "add", "t4", "--scope", "read", "--network", "192.0.2.0/33", "-c", "{file}", status=64, err="is not a network"),
    row("token add", "--expires", "token", "add", "t5", "--scope", "read", "--expires", "soon", "-c", "{file}", status=64, err="expected a span such as 90d"),
    row("token add", "--rate", "token", "add", "t6", "--scope", "read", "--rate", "fast", "-c", "{file}", status=64, err="such as 100/s"),
    row("token add", "--json", "token", "add", "t7", "--scope", "read", "--json", "-c", "{file}", out='"token":"prt_', then=is_json),
    row("token list", "--json", "token", "list", "--json", "-c", "{file}", out='"name":"t1"', then=is_json),
    row("token show", "--json", "token", "show", "t1", "--json", "-c", "{file}", out='"scopes":\\["read","submit"\\]', then=is_json),
    row("token remove", "--json", "token", "remove", "t2", "--json", "-c", "{file}", out='"removed":true', then=is_json),
    row("passwd", "--addresses", "passwd", "ann", "--addresses", "a@b.example", "-c", "{file}", input="secret-word-1\n",
        then=made("passwords", "^ann:.*a@b.example")),
    row("passwd", "--remove", "passwd", "ann", "--remove", "-c", "{file}",
        then=lambda mta, i, done: None if "ann" not in (mta.folder / "passwords").read_text() else pytest.fail("still there")),
    row("activate", "--dry-run", "activate", "--dry-run", "--root", "{folder}/root", out="sendmail",
        then=lambda mta, i, done: None if not list((mta.folder / "root").rglob("*sendmail")) else pytest.fail("linked")),
    row("activate", "--root", "activate", "--root", "{folder}/root",
        then=lambda mta, i, done: None if list((mta.folder / "root").rglob("sendmail")) else pytest.fail("not linked")),
    row("deactivate", "--dry-run", "deactivate", "--dry-run", "--root", "{folder}/root", out="sendmail",
        then=lambda mta, i, done: None if list((mta.folder / "root").rglob("sendmail")) else pytest.fail("unlinked")),
    row("deactivate", "--root", "deactivate", "--root", "{folder}/root",
        then=lambda mta, i, done: None if not list((mta.folder / "root").rglob("sendmail")) else pytest.fail("linked")),
    row("dkim-key", "--file", "dkim-key", "test.example", "s1", "--file", "{folder}/one.pem", out="k=rsa", then=made("one.pem", "PRIVATE KEY")),
    row("dkim-key", "--ed25519", "dkim-key", "test.example", "s2", "--ed25519", "--file", "{folder}/two.pem", out="k=ed25519"),
    row("dkim-key", "--bits", "dkim-key", "test.example", "s3", "--bits", "1024", "--file", "{folder}/three.pem", out="k=rsa",
        then=lambda mta, i, done: None if len(done.stdout) < 700 else pytest.fail(done.stdout)),
    row("import-postfix", "-o", "import-postfix", "{folder}/postfix", "-o", "{folder}/imported.toml", err="imported 1,",
        then=made("imported.toml", 'hostname = "mail.options.example"')),
    row("simulate", "--world", "simulate", "--world", "{source}/conf/scenario.toml", "--until", "30m", "--json", "-c", "{file}", then=is_json),
    row("simulate", "--seed", "simulate", "--world", "{source}/conf/scenario.toml", "--until", "30m", "--seed", "77", "-c", "{file}", out="77"),
    row("simulate", "--from-log", "simulate", "--from-log", "{source}/tests/fuzz/corpus/mail_log/postfix", "--json", "-c", "{file}", then=is_json),
    row("simulate", "--print-scenario", "simulate", "--from-log", "{source}/tests/fuzz/corpus/mail_log/postfix", "--print-scenario", "-c", "{file}",
        out=r"\[traffic\."),
    row("simulate", "--until", "simulate", "--world", "{source}/conf/scenario.toml", "--until", "soon", "-c", "{file}", status=64, err="--until"),
]


@pytest.mark.parametrize("command, option, words, status, out, err, input, then", POSTRIDER)
def test_postrider(busy, command, option, words, status, out, err, input, then):
    (busy.folder / "root/usr/sbin").mkdir(parents=True, exist_ok=True)
    (busy.folder / "root/usr/bin").mkdir(parents=True, exist_ok=True)
    (busy.folder / "root/usr/lib").mkdir(parents=True, exist_ok=True)
    queue_id = busy.submit("ann@remote.example", subject="options")
    given = run_elsewhere(busy, queue_id, words)
    if command == "message release":
        busy.command("message", "hold", queue_id)
    if command == "resume":
        busy.command("pause", "queue", "other.example", check=False)  # may be so already
    if option == "--remove":
        busy.run("postrider", "passwd", "ann", "-c", busy.file, input="secret-word-1\n", check=True)
    if command in ("token list", "token show", "token remove"):
        for token in ("t1", "t2"):
            busy.command("token", "add", token, "--scope", "read,submit", check=False)  # may be there already
    if command == "deactivate":
        busy.command("activate", "--root", str(busy.folder / "root"))
    done = busy.run("postrider", *given, input=input, seconds=60)
    assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert re.search(out.format(id=queue_id) if "{id}" in out else out, done.stdout, re.M), done.stdout + done.stderr
    assert re.search(err, done.stderr), done.stderr
    if then:
        then(busy, queue_id, done)


# -- sendmail: what it accepts, and what becomes of it

def queued(mta, mark):
    """The one message whose sender, recipient or subject has that mark."""
    for entry in mta.queue():
        if any(mark in word for word in (entry[2], *entry[3])):
            return entry
    return None


NO_EFFECT = [*(f"-{letter}" for letter in "Gnmx"), "-Ac", "-Am", "-Lx", "-U", "-Xfile", "-c", "-em", "-h3", "-pESMTP:host", "-oem", "-odb", "-om", "-n"]
SENDMAIL = [
    ("-B", ["-B", "8BITMIME", "x@remote.example"], 0), ("-B", ["-B", "9BIT", "x@remote.example"], 64),
    ("-C", ["x@remote.example"], 0),
    ("-F", ["-F", "Ann Other", "x@remote.example"], 0),
    ("-I", ["-I"], 0),
    ("-N", ["-N", "never", "x@remote.example"], 0), ("-N", ["-N", "sometimes", "x@remote.example"], 64),
    ("-O", ["-O", "smtputf8=yes", "x@remote.example"], 0), ("-O", ["-O", "requiretls=perhaps", "x@remote.example"], 64),
    ("-R", ["-R", "hdrs", "x@remote.example"], 0), ("-R", ["-R", "some", "x@remote.example"], 64),
    ("-V", ["-V", "envelope-1", "x@remote.example"], 0), ("-V", ["-V", "two words", "x@remote.example"], 64),
    ("-b", ["-bp"], 0), ("-b", ["-bi"], 0), ("-b", ["-bm", "x@remote.example"], 0), ("-b", ["-bz"], 64),
    ("-f", ["-f", "marked@test.example", "x@remote.example"], 0), ("-r", ["-r", "marked@test.example", "x@remote.example"], 0),
    ("-i", ["-i", "x@remote.example"], 0), ("-o", ["-oi", "x@remote.example"], 0),
    ("-q", ["-q"], 0), ("-q", ["-q30m"], 0),
    ("-t", ["-t"], 0),
    ("-v", ["-v", "x@remote.example"], 0),
    *((option[:2], [option, "x@remote.example"], 0) for option in NO_EFFECT),
    ("unknown", ["-Z", "x@remote.example"], 64), ("none", [], 64),
]


@pytest.mark.parametrize("option, words, status", SENDMAIL, ids=[" ".join(w).replace("/", "-") or "nothing" for _, w, _ in SENDMAIL])
def test_sendmail(busy, option, words, status):
    text = "From: ann@test.example\nTo: x@remote.example\nSubject: by sendmail\n\none\n.\ntwo\n"
    before = busy.queued_ids()
    done = busy.sendmail(*words, input=text)
    assert done.returncode == status, (done.stdout, done.stderr)
    if status == 0 and any("@" in word for word in words) or option == "-t":
        wait_until(lambda: busy.queued_ids() - before, 15, "the message to be queued")
        [queue_id] = busy.queued_ids() - before
        content = busy.command("message", "cat", queue_id).stdout
        assert ("two" in content) == (option in ("-i", "-o") and words[0] in ("-i", "-oi")), content
        sender = queued(busy, "marked") if "marked@test.example" in words else None
        assert sender is None or sender[2] == "marked@test.example"
        busy.command("message", "remove", queue_id)
    elif status != 0:
        assert done.stderr and busy.queued_ids() == before


# -- Postfix's names

POSTFIX = [
    ("postqueue", "-p", ["-p"], 0, "Queue ID|empty"), ("postqueue", "-j", ["-j"], 0, '"queue_id"'), ("postqueue", "-f", ["-f"], 0, ""),
    ("postqueue", "-i", ["-i", "{id}"], 0, ""), ("postqueue", "-s", ["-s", "remote.example"], 0, ""), ("postqueue", "-v", ["-v", "-p"], 0, "{id}"),
    ("postqueue", "-i", ["-i", "no-id"], 69, ""), ("postqueue", "-c", ["-c", "{folder}", "-p"], 0, "{id}"),
    ("postsuper", "-h", ["-h", "{id}"], 0, ""), ("postsuper", "-H", ["-H", "{id}"], 0, ""), ("postsuper", "-r", ["-r", "{id}"], 0, ""),
    ("postsuper", "-e", ["-e", "{id}"], 0, ""), ("postsuper", "-f", ["-f", "{id}"], 0, ""), ("postsuper", "-d", ["-d", "{id}"], 0, ""),
    *(("postsuper", option, [option], 0, "") for option in ("-p", "-s", "-S")), ("postsuper", "-v", ["-v", "-h", "{id}"], 0, ""),
    ("postsuper", "-c", ["-c", "{folder}", "-h", "{id}"], 0, ""),
    ("postcat", "-q", ["-q", "{id}"], 0, "Hello"), ("postcat", "-b", ["-b", "-q", "{id}"], 0, "^Hello"), ("postcat", "-h", ["-h", "-q", "{id}"], 0, "^Subject"),
    ("postcat", "-e", ["-e", "-q", "{id}"], 0, "ann@remote.example"), ("postcat", "-v", ["-v", "-q", "{id}"], 0, "Hello"),
    ("postconf", "-h", ["-h", "queue_directory"], 0, "^/.*spool$"), ("postconf", "-H", ["-H", "queue_directory"], 0, "^queue_directory$"),
    ("postcat", "-c", ["-c", "{folder}", "-q", "{id}"], 0, "Hello"),
    *(("postcat", option, [option, "-q", "{id}"], 0, "Hello") for option in ("-d", "-n", "-o", "-r", "-s")),
    *(("postconf", option, [option, "queue_directory"], 0, "^queue_directory = /") for option in
      ("-d", "-n", "-B", "-E", "-f", "-o", "-p", "-q", "-r", "-v", "-x")), ("postconf", "-C", ["-C", "builtin", "queue_directory"], 0, "^queue_directory = /"),
    ("postconf", "-a", ["-a"], 0, "^dovecot$"), ("postconf", "-A", ["-A"], 0, "^$"), ("postconf", "-l", ["-l"], 0, "^fcntl$"),
    ("postconf", "-m", ["-m"], 0, "^lmdb$"),
    *(("postconf", option, [option, "relayhost"], 1, "^$") for option in ("-b", "-e", "-F", "-M", "-P", "-t", "-T", "-X", "-#")),
    ("postconf", "-c", ["-c", "{folder}", "-h", "queue_directory"], 0, "^/.*spool$"),
    *((name, "unknown", ["-Z"], 69 if name == "postqueue" else 1, "") for name in ("postqueue", "postsuper", "postcat", "postconf")),
]


@pytest.mark.parametrize("command, option, words, status, out", POSTFIX, ids=[f"{c} {' '.join(w)}" for c, _, w, _, _ in POSTFIX])
def test_postfix_commands(busy, command, option, words, status, out):
    queue_id = busy.submit("ann@remote.example", subject="options")
    given = run_elsewhere(busy, queue_id, words)
    done = subprocess.run([busy.programs / command, *given], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={"POSTRIDER_CONFIG": str(busy.file), "PATH": "/usr/bin:/bin"}, timeout=30)
    assert done.returncode == status, (done.stdout, done.stderr)
    assert re.search(out.format(id=queue_id), done.stdout, re.M), done.stdout
    if status:
        assert re.search("usage: |invalid|queue id|are in postrider.toml", done.stderr, re.I), done.stderr
    if command == "postsuper" and option == "-d":
        gone(busy, queue_id, done)
    if command == "postsuper" and option == "-h":
        assert [e for e in busy.queue() if e[0] == queue_id][0][1] == "!"


# -- wrong use is the same everywhere

@pytest.mark.parametrize("words, status", [
    (["dance"], 64), (["status", "--dance"], 64), (["status", "now"], 64), (["message"], 64), (["message", "dance"], 64),
    (["queue", "show"], 64), (["message", "show", "0A0A0A0A0A0A10"], 1), (["message", "hold", "0A0A0A0A0A0A10"], 1),
    (["message", "show", "no-id"], 64), (["message", "hold", "colour=red"], 64), (["link", "show", "no-such-link"], 1),
    (["queue", "show", "no-such.example"], 1), (["message", "reroute", "nonsense", "all"], 64), (["message", "priority", "urgent", "all"], 64),
    (["pause", "planet", "mars"], 64), (["message", "requeue", "0A0A0A0A0A0A10", "--policy", "no-such"], 64),
], ids=lambda words: " ".join(words) if isinstance(words, list) else str(words))
def test_wrong_use(busy, words, status):
    done = busy.run("postrider", *words, "-c", busy.file)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("postrider: ") and done.stdout == ""


# -- nothing is forgotten

def options_of_postrider():
    program = BUILD / "daemons/postrider/postrider"
    script = (BUILD / "conf/postrider").read_text()  # made from the table of verbs
    for name, options in re.findall(r"^        '([a-z -]+)'\) options='([^']*)'", script, re.M):
        yield from ((name, option) for option in options.split())
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    yield from (("", option) for option in re.findall(r"(?<![\w-])(--?[a-z]+)", help_text.split("\n\n")[-2]))


def options_of_the_others():
    letters = re.search(r'letters\[\] =\s*"([^"]+)"', (SOURCE / "daemons/sendmail/options.cpp").read_text())[1]
    yield from (("sendmail", f"-{letter}") for letter in letters if letter.isalpha())
    table = (SOURCE / "daemons/postfix-commands/command.cpp").read_text()
    for command, letters in re.findall(r'Program\{"(\w+)", "\+([^"]+)"', table):
        yield from ((command, f"-{letter}") for letter in letters if letter != ":")


def tried_elsewhere(command, option):
    """In a file of tests of its own: both are words there."""
    words = [f'"{word}"' for word in (*command.split(), option)]
    return any(all(word in text for word in words) for text in (
        file.read_text() for file in Path(__file__).parent.glob("test_*.py") if file.name != Path(__file__).name))


def test_every_option_is_tried():
    tried = {*(each.values[:2] for each in POSTRIDER), *(("sendmail", option) for option, *_ in SENDMAIL),
             *((command, option) for command, option, *_ in POSTFIX)}
    every = {*options_of_postrider(), *options_of_the_others()}
    assert len(every) > 150
    missing = sorted(each for each in every - tried if not tried_elsewhere(*each))
    assert not missing, f"no test tries {missing}"
