"""What somebody gets who takes over a daemon: attacker's code (tests/attacker) stands in that daemon's place, with its
user, its orders and tokens, under its own confinement. What it can reach is what the table in postrider-master(8) says,
and nothing else."""
import grp
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.http_api import Api
from harness.mta import BUILD, ROLES, Mta
from harness.watch import wait_until

pytestmark = pytest.mark.needs("root", "confinement")
SERVICE, GROUP = "nobody", "nogroup"  # any user without rights does for one
OPERATORS, OWNER = "staff", "games"
SERVERS = {"queue-manager": ("submission", "delivery", "categorize", "route", "report", "transfer", "fleet", "key-records", "verification", "control"), "fleet": ("key-claims",), "pickup": ("relayed-submission",),
           "categorizer": ("recipient_check",), "router": ("tls-results",), "local": ("user_files",), "metrics": ("figures", "metrics-text"), "events": ("control",)}
PLACES = ("bad", "drop", "index", "quarantine", "quarantine/incomplete", "state/categorizer", "state/clients", "state/idempotency", "state/mta-sts", "state/verified", "suppression", "history")
WRITERS = ("smtpd", "pickup", "bounce")  # have a directory below incoming/


def table():
    """{daemon: [cells]} of the manual."""
    page = (Path(__file__).parents[2] / "man" / "postrider-master.8").read_text()
    rows = re.findall(r"^\.It (\S+) Ta (.*)$", page, re.M)
    return {daemon: [cell.strip() for cell in cells.split(" Ta ")] for daemon, cells in rows}


TABLE = table()


class Attacker:
    """The process that stands in a daemon's place."""

    def __init__(self, mta, role):
        self.mta, self.role = mta, role
        program = mta.programs / role
        program.unlink()
        shutil.copy2(BUILD / "tests" / "attacker" / "attacker", program)
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(mta.folder / "attacker"))
        os.chmod(mta.folder / "attacker", 0o777)
        self.door.listen()
        self.door.settimeout(30)

    def begin(self):
        """The first of the role's workers; the others wait for orders that never come."""
        self.talks = []
        while True:
            self.talk = self.door.accept()[0]
            self.talks.append(self.talk)
            self.talk.settimeout(30)
            self.lines = self.talk.makefile("r")
            role, self.instance, self.pid = self.lines.readline().split()
            if role == self.role:
                break
        self.own = f"incoming/{int(self.instance):02X}"
        return self

    def does(self, *words):
        self.talk.sendall(("\t".join(map(str, words)) + "\n").encode())
        answer = self.lines.readline()
        assert answer, f"{self.role} ended at {words}\n{self.mta.last_words()}"
        return answer.rstrip("\n")

    def end(self):
        for each in (self.door, *getattr(self, "talks", [])):
            each.close()


@pytest.fixture
def place():
    """Where every user may pass."""
    made = Path(tempfile.mkdtemp(prefix="postrider-compromised-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def whole(place, block):
    """A Postrider as on a real host: master and local are root's, the others a user's of their own."""
    mta = Mta(place, block)
    (place / "mail").mkdir()
    os.chmod(place / "mail", 0o1777)
    mta.config["mta"].update(multi_user=True, user=SERVICE, drop_group=GROUP, admin_group=OPERATORS)
    mta.config["local"].update(users=[], minimum_uid=2)
    mta.config["metrics"] = {"listen": [f"{mta.address}:{block.port()}"]}
    mta.config["http"] = {"enabled": True}
    (place / "node.token").write_text("prt_secret\n")
    (place / "node.token").chmod(0o600)
    mta.config["mta"]["node"] = "this"
    (place / "unused.cf").write_text("query = SELECT 1\n")
    mta.config["access_class.unused"] = {"rules": [f"check_client_access mysql:{place}/unused.cf"]}
    mta.config["fleet"] = {"store": f"redis://{mta.address}:{block.port()}"}  # nothing listens there
    mta.config["node.other"] = {"url": f"http://{mta.address}:{block.port()}", "token_file": str(place / "node.token")}
    yield mta
    mta.kill_everything()
    assert not mta.crashes()


@pytest.fixture
def taken_over(whole):
    made = []

    def make(role):
        made.append(Attacker(whole, role))
        whole.start(wait=False)
        one = made[-1].begin()
        wait_until(lambda: whole.logged(r"/master\[\d+\]: ready"), 60, whole.last_words)
        return one
    yield make
    for each in made:
        each.end()


def ask(path, request, **who):
    """What a process of that user hears on a control socket."""
    code = ("import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);"
            "s.sendall(sys.argv[2].encode()+b'\\n');print(s.makefile().readline())")
    done = subprocess.run(["/usr/bin/python3", "-c", code, path, json.dumps(request)],
                          capture_output=True, text=True, **who)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_only_root_and_operators_give_orders(whole):
    mta = whole
    mta.start()
    status = {"version": 1, "op": "status"}
    operators = grp.getgrnam(OPERATORS).gr_gid
    for name in ("control", "master"):
        path = mta.spool / "run" / name
        assert "refused" not in ask(path, status) and "{" in ask(path, status)
        assert "{" in ask(path, status, user="daemon", group="daemon", extra_groups=[operators])
        assert "PermissionError" in ask(path, status, user=SERVICE, group=GROUP, extra_groups=[])
        assert "PermissionError" in ask(path, status, user="daemon", group="daemon", extra_groups=[])
        # In the group by mistake it may connect, and is not obeyed.
        said = json.loads(ask(path, {"version": 1, "op": "stop"}, user=SERVICE, group=GROUP, extra_groups=[operators]))
        assert said == {"done": True, "code": "not-permitted",
                        "error": "only root and members of mta.admin_group may use this socket"}
    assert mta.logged(rf"control: uid={pwd.getpwnam(SERVICE).pw_uid} refused: neither root nor an operator")
    assert mta.process.poll() is None


def test_the_api_knows_its_clients(whole, block):
    mta = whole
    mta.config["http"]["listen"] = [f"{mta.address}:{block.port()}"]
    api = Api(mta)
    mta.start()
    api.allow("reader", "--scope", "read")  # made by root, read by the service user
    tokens = (mta.spool / "http" / "tokens").stat()
    assert (tokens.st_uid, tokens.st_mode & 0o777) == (pwd.getpwnam(SERVICE).pw_uid, 0o640)
    assert api.json("/v1/status")["accepting"] is True

    def over_the_socket(**who):
        code = ("import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);"
                "s.sendall(b'GET /v1/status HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n');print(s.makefile().readline())")
        done = subprocess.run(["/usr/bin/python3", "-c", code, mta.spool / "run" / "http.sock"], capture_output=True, text=True, **who)
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]
    operators = grp.getgrnam(OPERATORS).gr_gid
    assert " 200 " in over_the_socket() and " 200 " in over_the_socket(user="daemon", group="daemon", extra_groups=[operators])
    assert "PermissionError" in over_the_socket(user="daemon", group="daemon", extra_groups=[])
    assert "PermissionError" in over_the_socket(user=SERVICE, group=GROUP, extra_groups=[])
    assert " 401 " in over_the_socket(user=SERVICE, group=GROUP, extra_groups=[operators])


def test_every_daemon_is_confined(whole):
    mta = whole
    mta.start()
    held = {p["role"]: p["confinement"] for p in json.loads(mta.command("status", "--json").stdout)["processes"] if "role" in p}
    assert set(held) == {*ROLES, "transfer", "maps", "fleet"} - {"master"}
    del held["local"]
    assert all(re.fullmatch("files, system calls(, network)?", how) for how in held.values()), held


def test_imports_are_for_operators(whole):
    mta = whole
    mta.start()
    mta.command("pause", "everything")
    queue_id = mta.submit(f"{OWNER}@test.example", "moved")
    exported = mta.folder / "exported"
    mta.command("spool", "export", queue_id, exported)
    exported.chmod(0o644)
    mta.command("message", "remove", queue_id)
    command = [mta.programs / "postrider", "spool", "import", "-c", mta.file, exported]
    operators = grp.getgrnam(OPERATORS).gr_gid
    refused = subprocess.run(command, capture_output=True, text=True, user=SERVICE, group=GROUP, extra_groups=[operators])
    assert refused.returncode == 77 and "only root and members of mta.admin_group may import" in refused.stderr
    taken = subprocess.run(command, capture_output=True, text=True, user="daemon", group="daemon", extra_groups=[operators])
    assert taken.returncode == 0, taken.stderr
    mta.command("resume", "everything")
    assert "Subject: moved" in mta.wait_mailbox(1, user=OWNER)[0]


def reaches(mta, attacker):
    """The row of the table that a taken-over daemon proves."""
    spool = mta.spool
    own = attacker.role in WRITERS and attacker.does("create", spool / attacker.own / "FORGED") == "ok"
    created = {p: attacker.does("create", spool / p / "FORGED") == "ok" for p in (*PLACES, "incoming/3F", "messages/a0")}
    message = spool / "messages/a0/SECRET"
    read, written = attacker.does("read", message) == "ok", attacker.does("write", message) == "ok"
    assert written == created["messages/a0"] == created["incoming/3F"]
    mail = "changes" if written else "reads" if read else ""
    if own:
        mail = f"{mail}, writes its own".strip(", ")
    elsewhere = ["everything"] if all(created.values()) else [p for p in PLACES if created[p]]
    if {p for p in PLACES if p.startswith("state/")} <= set(elsewhere):
        elsewhere = [p for p in elsewhere if not p.startswith("state/")] + ["state"]
    network = attacker.does("udp") == "ok"
    servers = []
    for server, conversations in SERVERS.items():
        path = spool / "run" / "private" / server
        if server == attacker.role:
            continue
        welcome = [c for c in conversations if attacker.does("hello", path, c, attacker.role, attacker.instance, server) == "welcome"]
        servers += [server] if welcome else []
    return [mail or "none", ", ".join(sorted(elsewhere)) or "none", "yes" if network else "no", ", ".join(sorted(servers)) or "none"]


@pytest.mark.parametrize("role", [r for r in TABLE if r not in ("master", "local")])
def test_a_daemon_taken_over_reaches_what_the_manual_says(whole, taken_over, remote, role):
    mta = whole
    attacker = taken_over(role)
    spool = mta.spool
    # Others' files, of the same user.
    uid, gid = pwd.getpwnam(SERVICE).pw_uid, grp.getgrnam(GROUP).gr_gid
    secret = spool / "messages/a0/SECRET"
    for directory in ("incoming/3F", "state/mta-sts"):
        (spool / directory).mkdir(exist_ok=True, mode=0o700)
        os.chown(spool / directory, uid, gid)
    for file in (secret, spool / "incoming/3F/OTHER", mta.folder / "elsewhere"):
        file.write_text("secret")
        os.chown(file, uid, gid)
        file.chmod(0o600)
    assert reaches(mta, attacker) == TABLE[role]

    # Nobody gives orders through it, nor passes for somebody else.
    run = spool / "run"
    for name in ("control", "master"):
        assert attacker.does("connect", run / name) == "EACCES"
        if role != "queue-manager":  # whose directory the spool is
            assert attacker.does("listen", run / name) != "ok" and (run / name).exists()
    if role != "pickup":
        said = attacker.does("import", run / "submit", f"{OWNER}@test.example", OWNER, f"|touch {mta.folder}/mail/owned")
        assert said == "77 only root and members of mta.admin_group may import messages"
    for server, conversations in SERVERS.items():
        for other in (r for r in TABLE if r not in ("master", role)):
            for conversation in conversations:
                if server != role:
                    assert attacker.does("hello", run / "private" / server, conversation, other, attacker.instance, server) != "welcome"
        if server != role:  # nor for another process of its own role
            assert all(attacker.does("hello", run / "private" / server, c, role, int(attacker.instance) + 1, server) != "welcome"
                       for c in conversations)

    # Its neighbours are of its user, and safe from it.
    for neighbour in mta.all_pids():
        if neighbour != int(attacker.pid):
            for means in ("kill", "own", "trace"):
                assert attacker.does(means, neighbour) == "EPERM", (means, neighbour)
            for file in ("mem", "environ", "maps"):
                assert attacker.does("read", f"/proc/{neighbour}/{file}") == "EACCES"
    assert attacker.does("kill", 0) == "EPERM" and attacker.does("kill", -1) == "EPERM"
    assert attacker.does("kill", attacker.pid) == "ok"

    # No programs, no other processes, no ways around what holds it.
    assert attacker.does("execute", "/bin/true") == "EPERM"
    assert attacker.does("fork") == "EPERM"
    assert attacker.does("namespace") == "EPERM"
    for call in ("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "io_uring_setup", "process_vm_readv", "kcmp",
                 "pidfd_open", "setns", "mount", "umount2", "pivot_root", "chroot", "fsopen", "open_tree", "kexec_load",
                 "init_module", "open_by_handle_at", "ptrace", "setuid", "mknod", "shmget", "vfork"):
        assert attacker.does("call", call) == "EPERM", call
    assert attacker.does("call", "clone3") == "ENOSYS"

    # Files by means that are not open(2), and others' files.
    assert attacker.does("chmod", secret) == "EPERM" and attacker.does("truncate", secret) == "EPERM"
    assert attacker.does("empty", secret) != "ok" and secret.read_text() == "secret"
    elsewhere = attacker.does("read", mta.folder / "elsewhere")
    assert elsewhere == ("ok" if role == "categorizer" else "EACCES")
    assert attacker.does("write", mta.folder / "elsewhere") == "EACCES"
    assert attacker.does("create", "/tmp/postrider-was-here") == "EACCES"
    if role != "queue-manager":
        assert attacker.does("unlink", secret) == "EACCES"

    # The network.
    sink = remote()
    assert attacker.does("tcp", sink.address, sink.port) == ("ok" if TABLE[role][2] == "yes" else "EPERM")
    for family, kind, protocol in ((socket.AF_PACKET, socket.SOCK_RAW, 0), (socket.AF_INET, socket.SOCK_RAW, 1),
                                   (socket.AF_NETLINK, socket.SOCK_RAW, 9), (38, socket.SOCK_SEQPACKET, 0)):
        assert attacker.does("socket", family, kind, protocol) == "EPERM"


@pytest.mark.parametrize("role", ["smtpd", "bounce"])
def test_a_writer_taken_over_does_not_say_who_serves_its_mail(whole, taken_over, role):
    mta = whole
    attacker = taken_over(role)
    queue_id = attacker.does("forge", f"{OWNER}@test.example", OWNER, f"|touch {mta.folder}/mail/owned")
    assert re.fullmatch("[0-9A-F]{14}", queue_id), queue_id
    refused = rf"recipient {OWNER}@test\.example has a fate, which its writer may not set"
    mta.wait_log(rf"{queue_id}.*{refused}")
    assert not (mta.folder / "mail" / "owned").exists() and not mta.mailbox(OWNER)
    # Nor by a queue-manager that finds it (if the first one did not come so far): it is put aside, though its writer lives.
    mta.kill("queue-manager")
    mta.wait_log(rf"fatal: (spool: incoming/\S*{queue_id}(\.reused)? is damaged \(envelope: {refused}\)|{queue_id}: found damaged when .*): moved to quarantine/")
    wait_until((mta.spool / "quarantine" / queue_id).exists, 15, "it to be there")
    assert not (mta.folder / "mail" / "owned").exists() and not mta.mailbox(OWNER)
