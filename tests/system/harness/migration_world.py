"""A world of its own for one system and one Postfix configuration: every address is here, every name is answered, every
server that mail may go to takes it; /etc/postfix is the configuration. Sessions are run in it, and what was replied and where
mail went is written down.

    unshare --net --mount --pid --fork --kill-child --mount-proc python3 -m harness.migration_world postfix|postrider FOLDER

FOLDER: etc-postfix/ (the configuration), world.json (sessions, users, zones of DNS lists, places mail may go to); result.json is
written there. Needs root; nothing of it is seen outside."""
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dnslib import QTYPE, RR, A, DNSRecord

from .certificates import make_certificate
from .client import Client, Closed, stuffed
from .migration_files import MAILNAME, SERVER
from .migration_sessions import LISTED, NAMED, content
from .names import Names
from .sink import Sink
from .unpacked import tree
from .watch import wait_until

EVERYBODY = "192.0.2.10"  # where all names are
AT_ONCE = 6
MOST_SILENT = 6  # sessions without an answer: then it is the system
SILENCE, LONGEST_WAIT = 2, 30  # seconds
WITHOUT_CHECKING = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one for all: with the certificates of all authorities each takes 60 ms
WITHOUT_CHECKING.check_hostname, WITHOUT_CHECKING.verify_mode = False, ssl.CERT_NONE
PEOPLE = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"


def sh(script, **options):
    subprocess.run(["sh", "-ec", script], check=True, **options)


def every_address_is_here():
    """In this network namespace; Postfix wants to see its own at an interface."""
    sh(f"ip link set lo up; ip address add {SERVER}/32 dev lo; ip route add local default dev lo")


class AnyName(Names):
    """Every name has an address and takes mail, but for those in "invalid"; DNS lists list one client."""

    def __init__(self, address, port, zones):
        self.zones, self.given = tuple(zones), {}
        super().__init__(address, port)
        for client, name in ((NAMED, "client.example"), (LISTED, "listed.client.example"), ("198.51.100.66", "bad.client.example")):
            self.pointer(client, name)
            self.address_of(name, client)

    def answer(self, query, over_tcp):
        """As before, if it was asked before: most of the time went into this."""
        key = query[2:], over_tcp
        if key not in self.given:
            self.given[key] = self.new_answer(query, over_tcp)
        given = self.given[key]
        return given if given is None else query[:2] + given[2:]

    def new_answer(self, query, over_tcp):
        request = DNSRecord.parse(query)
        name, kind = str(request.q.qname).lower().rstrip("."), QTYPE[request.q.qtype]
        listed = name.endswith(self.zones) if self.zones else False
        known = any((name, each) in self.records for each in ("A", "PTR", "MX"))
        if listed or name.endswith((".arpa", "invalid")) or known or kind not in ("A", "MX"):
            if listed and kind == "A" and name.startswith(".".join(reversed(LISTED.split("."))) + "."):
                reply = request.reply()
                reply.add_answer(RR(name, QTYPE.A, rdata=A("127.0.0.2"), ttl=60))
                return reply.pack()
            if not (listed or name.endswith((".arpa", "invalid")) or known):
                return request.reply().pack()  # there is the name, but nothing of this kind
            return super().answer(query, over_tcp)
        if kind == "MX" and not name.startswith("mx."):
            self.mx(name, (10, f"mx.{name}"))
        elif kind == "MX":
            return request.reply().pack()
        self.address_of(name, EVERYBODY)
        return super().answer(query, over_tcp)


class DovecotWhoKnowsNobody:
    """The server that smtpd asks who somebody is: everybody is refused."""

    def __init__(self, path):
        import socket
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        path.chmod(0o666)
        self.socket.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        for number in range(10**9):
            connection, _ = self.socket.accept()
            threading.Thread(target=self.talk, args=(connection, number), daemon=True).start()

    def talk(self, connection, number):
        connection.sendall(f"VERSION\t1\t1\nMECH\tPLAIN\tplaintext\nMECH\tLOGIN\tplaintext\nSPID\t1\nCUID\t{number + 1}\nCOOKIE\t{number:032x}\nDONE\n".encode())
        for line in connection.makefile():
            if line.startswith("AUTH\t"):
                connection.sendall(f"FAIL\t{line.split(chr(9))[1]}\n".encode())


def make_world(folder, facts, lower):
    """Everything from / on is a layer over the machine's own, in memory: whatever a configuration has written is gone afterwards.
    `lower`: packages that lie below it as if they were installed."""
    scratch, root = folder / "scratch", folder / "scratch/root"
    scratch.mkdir(exist_ok=True)
    sh(f"""
        mount --make-rprivate /
        mount -t tmpfs tmpfs {scratch}
        mkdir {scratch}/upper {scratch}/work {root}
        mount -t overlay overlay -o lowerdir=/,upperdir={scratch}/upper,workdir={scratch}/work {root}
        mount --rbind /proc {root}/proc
        mount --rbind /dev {root}/dev
        mkdir -p {root}{folder}
        mount --bind {folder} {root}{folder}
        mkdir -p {root}/layers
        mount -t tmpfs tmpfs {root}/layers
    """)
    configuration = (folder / "etc-postfix").resolve()
    sh(f"mkdir {root}/layers/etc-postfix; cp -r {configuration}/. {root}/layers/etc-postfix/")
    os.chroot(root)
    os.chdir(folder)
    for top in ("etc", "var", "usr"):
        layers = [str(each / top) for each in lower if (each / top).is_dir()]
        if layers:
            sh(f"mkdir /layers/{top} /layers/{top}-work\n"
               f"mount -t overlay overlay -o lowerdir={':'.join([*layers, f'/{top}'])},upperdir=/layers/{top},workdir=/layers/{top}-work /{top}")
    sh("mkdir -p /etc/postfix; cp -r /layers/etc-postfix/. /etc/postfix/")
    every_address_is_here()
    users = facts["users"]
    names = {"postfix": 64990, "postrider": 64992, "vmail": 64999, **{user: 70000 + n for n, user in enumerate(users)}}
    Path("/etc/passwd").write_text(PEOPLE + "".join(f"{u}:x:{n}:{n}::/home/{u}:/bin/sh\n" for u, n in names.items()))
    groups = {"root": 0, "nogroup": 65534, "postdrop": 64991, "postrider-drop": 64993, "postrider-adm": 64994, "mail": 8, **names}
    Path("/etc/group").write_text("".join(f"{g}:x:{n}:\n" for g, n in groups.items()))
    Path("/etc/resolv.conf").unlink(missing_ok=True)
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.53\n")
    Path("/etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
    Path("/etc/hosts").write_text("127.0.0.1 localhost\n")
    Path("/etc/mailname").write_text(MAILNAME + "\n")
    if not Path("/etc/aliases").exists():
        Path("/etc/aliases").write_text("postmaster: root\nroot: ann\nstaff: ann, bob\n")
    sh("mount -t tmpfs tmpfs /home; mkdir -p /var/mail; chmod 1777 /var/mail\n" +
       "".join(f"mkdir /home/{u}; chown {n}:{n} /home/{u}\n" for u, n in names.items() if u in users) +
       "".join(f"mkdir -p '{each}'; chmod 1777 '{each}'\n" for each in facts["directories"] if each != "/"))


def answer_questions(facts):
    """About names, and about who somebody is."""
    AnyName("127.0.0.53", 53, facts["zones"])
    DovecotWhoKnowsNobody(Path("/var/spool/postfix/private/auth"))


def open_doors(folder, facts):
    """Servers for all mail: at every port that the configuration speaks of and does not itself listen at."""
    certificate = make_certificate(folder, "everybody.example")
    for address, port in facts["servers"]:
        try:
            Sink(address, port, certificate=certificate)
        except OSError:
            pass  # a listener of the configuration itself


# ---- the systems ----

def start_postfix(folder):
    log = folder / "log"
    sh(f"""
        postconf -F '*/*/chroot = n'
        postconf -e maillog_file={log} maillog_file_prefixes={folder} queue_directory=/var/spool/postfix data_directory=/var/lib/postfix \
            command_directory=/usr/sbin daemon_directory=/usr/lib/postfix/sbin
        echo 'pcre postfix-pcre.so dict_pcre_open' >>/etc/postfix/dynamicmaps.cf
        mkdir -p /var/spool/postfix /var/lib/postfix
        chmod 755 /var/spool/postfix
        chown postfix /var/lib/postfix /var/spool/postfix/private
        chmod 711 /var/spool/postfix/private
        for table in /etc/postfix/made-up/[0-9]*; do
            [ -f $table ] || continue
            case $(cat {folder}/aliases) in
            *" $table "*) postalias hash:$table ;;
            *) postmap hash:$table ;;
            esac
        done
        [ ! -f /etc/aliases ] || postalias hash:/etc/aliases
        postfix check
    """, stdout=open(folder / "output", "ab"), stderr=subprocess.STDOUT)
    subprocess.Popen(["/usr/lib/postfix/sbin/master", "-d"], stdin=subprocess.DEVNULL, stdout=open(folder / "output", "ab"), stderr=subprocess.STDOUT)
    return log


def start_postrider(folder):
    log, programs = folder / "log", folder / "bin"
    done = subprocess.run([programs / "postrider", "import-postfix", "/etc/postfix", "--json"], capture_output=True, text=True)
    (folder / "import.json").write_text(done.stdout)
    if not done.stdout:
        raise RuntimeError(f"import-postfix: {done.stderr.strip()[-500:]}")
    configuration = tomllib.loads(json.loads(done.stdout)["configuration"])
    configuration.pop("undecided", None)
    for section, keys in {"mta": {"multi_user": True}, "spool": {"directory": "/var/spool/postrider", "minimum_free": "1MiB", "minimum_free_inodes": 16,
                                                                 "reserve": "256KiB"},
                          "log": {"file": str(log), "syslog": False}, "dns": {"servers": ["127.0.0.53:53"]}}.items():
        configuration.setdefault(section, {}).update(keys)
    file = Path("/etc/postrider/postrider.toml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(toml(configuration))
    sh("mkdir -p /var/spool/postrider; chown postrider /var/spool/postrider; chmod 755 /etc/postrider; chmod 644 /etc/postrider/postrider.toml")
    for _ in range(20):
        checked = subprocess.run([programs / "postrider", "check", "-c", file], capture_output=True, text=True)
        if checked.returncode == 0:
            break
        why = (checked.stderr + checked.stdout).strip()
        if not finish_by_hand(configuration, why):
            raise RuntimeError(f"check: {why[-1500:]}")
        file.write_text(toml(configuration))
    subprocess.Popen([programs / "postrider", "run", "-c", file], stdin=subprocess.DEVNULL, stdout=open(folder / "output", "ab"), stderr=subprocess.STDOUT)
    # What waits when the queue-manager starts is not logged as new mail that has to wait.
    wait_until(lambda: log.exists() and ": spool: loaded: " in log.read_text(errors="replace"), 25, "the spool to be loaded")
    return log


def finish_by_hand(configuration, why):
    """What import-postfix leaves to people, as somebody would do it who has only these files. False: no idea."""
    if "virtual_mailbox.user is missing" in why:
        configuration["virtual_mailbox"] |= {"user": "vmail"}
    elif "virtual_mailbox.deliver is missing" in why:
        configuration["virtual_mailbox"] |= {"deliver": "lmtp:/run/dovecot/lmtp"}
    elif "TLS requires tls.certificates" in why:
        configuration["tls"] = configuration.get("tls", {}) | {"certificates": ["/etc/postfix/made-up/cert.pem"], "keys": ["/etc/postfix/made-up/cert.key"]}
    elif found := re.search(r"(/\S+): No such file or directory", why):
        file = Path(found[1])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        file.chmod(0o600)
    else:
        return False
    return True


def toml(tree_, path=()):
    """As text; the tables of a table in sections of their own."""
    plain = {k: v for k, v in tree_.items() if not isinstance(v, dict)}
    text = (f"[{'.'.join(json.dumps(p) for p in path)}]\n" if path else "") + "".join(f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in plain.items())
    return text + "".join(toml(v, (*path, k)) for k, v in tree_.items() if isinstance(v, dict))


# ---- sessions ----

def greets(session):
    try:
        with Client(session["host"], session["port"], timeout=5, greet=False):
            return True
    except OSError:
        return False


def run_session(s):
    """[[stage, reply], …]; the first of what ends it is the last."""
    said = []

    def note(stage, reply):
        said.append([stage, reply.replace("\n", " / ")])
        return reply
    try:
        c = Client(s["host"], s["port"], timeout=40, greet=False, source=s["client"])
        if s["wrapped"]:
            c.socket = WITHOUT_CHECKING.wrap_socket(c.socket)
        if note("greeting", c.reply())[0] != "2":
            return said
        hello = ("HELO " if s["old"] else "EHLO ") + s["hello"]
        offered = c.say(hello)
        note("hello", "250" if offered.startswith("250") else offered)
        if offered[0] != "2":
            return said
        if s["starttls"]:
            note("starttls", reply := c.say("STARTTLS"))
            if reply[0] == "2":
                c.socket = WITHOUT_CHECKING.wrap_socket(c.socket)
                c.buffer = b""
                note("hello", "250" if (reply := c.say(hello)).startswith("250") else reply)
        note("mail", c.say(f"MAIL FROM:<{s['sender']}>"))
        taken = 0
        for recipient in s["recipients"]:
            taken += note(f"rcpt {recipient}", c.say(f"RCPT TO:<{recipient}>"))[0] == "2"
        if taken and note("data", c.say("DATA"))[0] == "3":
            c.send(stuffed(content(s)))
            note("dot", c.reply())
        c.say("QUIT")
        c.close()
    except (Closed, ConnectionError, ssl.SSLError) as e:
        note("end", f"closed ({type(e).__name__})")
    except (TimeoutError, OSError) as e:
        note("end", f"nothing ({e})")
    return said


def where_mail_went(log_text):
    """{message-id: [[recipient, where, status, text], …]}"""
    ids, went = {}, {}
    for line in log_text.splitlines():
        if found := re.search(r"cleanup\[\d+\]: (\w+): message-id=<(m\d+)@try\.example>", line):
            ids[found[1]] = found[2]
        elif found := re.search(r"postfix/(\S+)\[\d+\]: (\w+): to=<([^>]*)>(?:, orig_to=<([^>]*)>)?, relay=(.*?), (?:conn_use=\d+, )?delay=.*status=(\w+) \((.*)\)$", line):
            agent, queue_id, recipient, original, relay, status, text = found.groups()
            if "forwarded as" in text or queue_id not in ids:
                continue
            if "that already have the message" in text:
                went.setdefault(ids[queue_id], []).append([(original or recipient).lower(), "", "covered", text])
                continue
            host = re.fullmatch(r"(\S+?)\[[^\]]*\]:(\d+)", relay)
            where = f"{host[1]}:{host[2]}" if host else "here" if agent in ("local", "virtual", "pipe") else relay
            went.setdefault(ids[queue_id], []).append([(original or recipient).lower(), where, status, text])
    return went


def main(system, folder):
    folder = Path(folder)
    facts = json.loads((folder / "world.json").read_text())
    result = {"replies": {}, "went": {}, "trouble": None}
    log = folder / "log"
    try:
        make_world(folder, facts, [tree("postfix-pcre")] if system == "postfix" else [])
        answer_questions(facts)
        log = (start_postfix if system == "postfix" else start_postrider)(folder)
        sessions = facts["sessions"]
        wait_until(lambda: any(greets(s) for s in sessions), 25, "a port to be open")
        open_doors(folder, facts)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            silent = 0

            def run(session):
                nonlocal silent
                said = run_session(session) if silent < MOST_SILENT else [["end", "nothing (others got no answer either)"]]
                silent += said[-1][1].startswith("nothing")
                return said
            for session, said in zip(sessions, pool.map(run, sessions), strict=True):
                result["replies"][session["number"]] = said
        if silent >= MOST_SILENT:
            raise RuntimeError("it does not answer")
        ends, size = time.monotonic() + LONGEST_WAIT, -1
        while time.monotonic() < ends and size != (size := log.stat().st_size):
            time.sleep(SILENCE)
        result["went"] = where_mail_went(log.read_text(errors="replace"))
    except Exception as e:
        said = "".join(f.read_text(errors="replace")[-1500:] for f in (folder / "output", log) if f.exists())
        result["trouble"] = f"{type(e).__name__}: {e}\n{said}"
    (folder / "result.json").write_text(json.dumps(result))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
