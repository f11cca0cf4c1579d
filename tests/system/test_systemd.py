"""Under systemd: what the service tells it, sockets it hands down, the unit files themselves. What systemd would do is
done by the test (a notify socket) and by systemd's own tools; systemd itself need not run."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.mta import BUILD, Mta, kill
from harness.unpacked import environment, tree
from harness.watch import wait_until

SOURCE = Path(__file__).resolve().parents[2]


class NotifySocket:
    """As systemd has it: what the service says, word by word."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.words = []

    def hear(self, seconds=0.0):
        self.socket.settimeout(seconds or 0.001)
        try:
            while True:
                self.words += self.socket.recv(65536).decode().splitlines()
        except TimeoutError:
            pass
        return self.words

    def wait(self, pattern, seconds=20):
        """The first word that matches, from here on."""
        def heard():
            for number, word in enumerate(self.hear()):
                if re.search(pattern, word):
                    del self.words[:number + 1]
                    return word
            return None
        return wait_until(heard, seconds, lambda: f"systemd to be told {pattern!r}; it heard {self.words}")

    def silent_for(self, seconds):
        self.hear()
        self.words.clear()
        return not self.hear(seconds)


@pytest.fixture
def systemd(folder, mta):
    place = Path(tempfile.mkdtemp(prefix="postrider-notify-"))  # a socket's path is short
    told = NotifySocket(place)
    mta.prefix = ["env", f"NOTIFY_SOCKET={told.path}"]
    yield told
    shutil.rmtree(place)


def test_the_life_of_the_service_is_told(mta, remote, systemd):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["master"].update(heartbeat_interval="100ms")
    mta.config["queue"].update(retry_interval="1h", glitch_interval="1h")
    mta.start()
    assert systemd.wait("^STATUS=starting").startswith("STATUS=starting")
    systemd.wait("^READY=1$")
    systemd.wait("^STATUS=running: 0 messages queued$")
    mta.command("pause", "all")
    systemd.wait("^STATUS=running: 0 messages queued; delivering nothing: ")
    mta.submit("ann@remote.example")
    systemd.wait("^STATUS=running: 1 message queued; delivering nothing")
    mta.command("resume", "all")
    systemd.wait("^STATUS=running: 0 messages queued$")

    mta.config["smtpd"]["recipients"] = 77
    mta.write_config()
    mta.command("reload")
    systemd.wait("^RELOADING=1$")
    assert int(systemd.wait("^MONOTONIC_USEC=").split("=")[1]) > 0
    systemd.wait("^READY=1$")

    victim = mta.kill("router")
    systemd.wait("^STATUS=running: .*not running: router")
    mta.wait_for_role("router", other_than=[victim])
    systemd.wait("^STATUS=running: 0 messages queued$")

    assert mta.stop() == 0
    systemd.wait("^STOPPING=1$")
    assert int(systemd.wait("^EXTEND_TIMEOUT_USEC=").split("=")[1]) >= 5_000_000  # master.stop_timeout
    systemd.wait("^STATUS=stopping: waiting for ")


def test_the_watchdog_hears_masters_loop_and_master_its_children(mta, systemd):
    mta.prefix += ["WATCHDOG_USEC=400000"]
    mta.config["master"].update(heartbeat_interval="100ms", heartbeat_timeout="1s")
    mta.start()
    systemd.wait("^WATCHDOG=1$")
    master = mta.process.pid
    kill(master, signal.SIGSTOP)
    try:
        assert systemd.silent_for(1.2), "the watchdog was fed by somebody else than the loop"
    finally:
        kill(master, signal.SIGCONT)
    systemd.wait("^WATCHDOG=1$")

    hanging = mta.wait_for_role("categorizer")[0]
    kill(hanging, signal.SIGSTOP)
    mta.wait_log(rf"categorizer \(pid {hanging}\) has not answered for 1 s: killed")
    mta.wait_for_role("categorizer", other_than=[hanging])
    systemd.wait("^STATUS=running: 0 messages queued$")
    systemd.wait("^WATCHDOG=1$")  # systemd had no part in it


# -- sockets

def activated(mta, names, addresses):
    """Started by the first connection."""
    mta.can_speak = False
    mta.prefix = ["systemd-socket-activate", *(word for each in addresses for word in ("-l", each)), f"--fdname={':'.join(names)}"]


def test_sockets_are_taken_from_systemd(mta):
    relay, submission = f"{mta.address}:{mta.relay_port}", f"{mta.address}:{mta.submission_port}"
    activated(mta, ["relay", "submission"], [relay, submission])
    mta.start()
    mta.wait_log("daemon started -- version .*, 2 listening sockets from systemd")
    mta.submit(f"{mta.user}@test.example")
    mta.submit(f"{mta.user}@test.example", port=mta.submission_port)
    mta.wait_mailbox(2)
    # Dropped by a reload and wanted again: systemd's socket is still there, and nobody else could bind it.
    kept = mta.config.pop("listen.submission")
    mta.write_config()
    mta.command("reload")
    mta.config["listen.submission"] = kept
    mta.write_config()
    mta.command("reload")
    mta.submit(f"{mta.user}@test.example", port=mta.submission_port)
    mta.wait_mailbox(3)


def test_a_socket_for_nobody_is_refused(mta):
    relay, submission = f"{mta.address}:{mta.relay_port}", f"{mta.address}:{mta.submission_port}"
    activated(mta, ["relay", "submissoin"], [relay, submission])
    mta.start(wait=False)
    wait_until(lambda: "as 4." in (mta.folder / "output").read_text(), 15, "systemd-socket-activate to listen")
    socket.create_connection((mta.address, mta.relay_port)).close()
    assert mta.process.wait(20) == 78
    assert re.search(rf'systemd passed a socket at {re.escape(submission)} with the name "submissoin", but there is no '
                     r"\[listen.submissoin\] \(there is: relay, submission\): set FileDescriptorName=", mta.last_words())


# -- the files

@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What `meson install` puts below a root directory of ours, with the programs replaced by small ones."""
    place = tmp_path_factory.mktemp("root")
    plan = json.loads((BUILD / "meson-info" / "intro-install_plan.json").read_text())
    options = {each["name"]: each["value"] for each in json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())}
    prefix = options["prefix"]
    for files in plan.values():
        for source, facts in files.items():
            target = facts["destination"]
            for name in ("prefix", "sbindir", "bindir", "libexecdir", "sysconfdir", "datadir", "mandir"):
                value = options.get(name, "")
                target = target.replace("{%s}" % name, value if value.startswith("/") else f"{prefix}/{value}")
            target = place / target.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if "daemons" in source:
                shutil.copy("/bin/true", target)
            elif Path(source).is_file():
                shutil.copy(source, target)
    return place, prefix


def unit_files(root):
    place, prefix = root
    folder = place / prefix.lstrip("/") / "lib/systemd/system"
    return folder, sorted(folder.glob("postrider*"))


def test_units_are_good(installed):
    folder, units = unit_files(installed)
    assert [u.name for u in units] == ["postrider-relay.socket", "postrider-submission.socket", "postrider-submissions.socket",
                                       "postrider.service"]
    service = (folder / "postrider.service").read_text()
    program = installed[0] / re.search(r"^ExecStart=/(\S+)", service, re.M)[1]
    assert program.exists(), "what the unit starts is what is installed"
    copies = folder.parent / "checked"
    copies.mkdir()
    for unit in units:  # verify wants programs that exist
        (copies / unit.name).write_text(unit.read_text().replace(f"=/{program.relative_to(installed[0])}", "=/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *(str(copies / u.name) for u in units)],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=40", "--no-pager", folder / "postrider.service"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_exit_statuses_that_no_restart_mends(installed):
    folder, _ = unit_files(installed)
    service = (folder / "postrider.service").read_text()
    assert set(re.search(r"^RestartPreventExitStatus=(.*)", service, re.M)[1].split()) >= {"64", "66", "67", "77", "78"}


@pytest.mark.needs("root", "strace")
def test_the_unit_leaves_what_the_daemons_need(block, installed):
    """Started as root, held to the unit's capabilities, and every system call they made is one it allows."""
    folder, _ = unit_files(installed)
    service = (folder / "postrider.service").read_text()
    wanted = re.search(r"^CapabilityBoundingSet=(.*)", service, re.M)[1].lower().replace("cap_", "").split()
    allowed = system_calls(re.search(r"^SystemCallFilter=(.*)", service, re.M)[1].split())
    place = Path(tempfile.mkdtemp(prefix="postrider-unit-"))
    place.chmod(0o755)
    mta = Mta(place, block)
    mta.user = "games"
    mta.config["mta"].update(multi_user=True, user="nobody", drop_group="nogroup", admin_group="nogroup")
    mta.config["local"].update(users=[], minimum_uid=2)
    (place / "mail").mkdir()
    (place / "mail").chmod(0o1777)
    trace = place / "trace"
    caps = ",".join(["-all", *(f"+{each}" for each in wanted)])
    mta.prefix = ["setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}", "strace", "-f", "-qq", "-o", str(trace)]
    mta.can_speak = True
    try:
        mta.start()
        assert mta.sendmail("games", input="Subject: by the unit\n\nHello.\n").returncode == 0
        mta.submit("games@test.example")
        wait_until(lambda: len(list((place / "mail" / "games" / "new").glob("*"))) == 2 if (place / "mail/games/new").is_dir() else False,
                   20, lambda: f"two messages\n{mta.last_words()}")
        mta.command("reload")
        assert mta.command("stop").returncode == 0
        mta.process.wait(20)
        assert "Operation not permitted" not in "\n".join(mta.log())
    finally:
        mta.kill_everything()
    used = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(errors="replace"), re.M))
    assert used and not used - allowed, sorted(used - allowed)
    shutil.rmtree(place)


def system_calls(words):
    found = set()
    for word in words:
        if not word.startswith("@"):
            found.add(word)
            continue
        text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word], capture_output=True, text=True, check=True).stdout
        found |= system_calls([line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")])
    return found


@pytest.mark.needs("root")
def test_users_and_directories_are_made(installed):
    place, prefix = installed
    (place / "etc").mkdir(exist_ok=True)
    for name in ("passwd", "group", "shadow", "gshadow"):
        (place / "etc" / name).write_text("root:x:0:\n" if name == "group" else "root:x:0:0:root:/root:/bin/sh\n" if name == "passwd" else "")
    found = prefix.lstrip("/")
    for program, file in (("systemd-sysusers", "sysusers.d"), ("systemd-tmpfiles", "tmpfiles.d")):
        text = place / found / "lib" / file / "postrider.conf"
        if found != "usr":  # the tools look below /usr and /etc of the other root
            (place / "etc" / file).mkdir(exist_ok=True)
            shutil.copy(text, place / "etc" / file / "postrider.conf")
        create = ["--create"] if program == "systemd-tmpfiles" else []
        done = subprocess.run([program, *create, f"--root={place}", "postrider.conf"], capture_output=True, text=True)
        assert done.returncode == 0 and "Unknown" not in done.stderr, done.stderr
    users = {line.split(":")[0]: line.split(":") for line in (place / "etc/passwd").read_text().splitlines()}
    groups = {line.split(":")[0]: int(line.split(":")[2]) for line in (place / "etc/group").read_text().splitlines()}
    assert users["postrider"][5:] == ["/var/spool/postrider", "/usr/sbin/nologin"]
    assert {"postrider", "postrider-adm", "postrider-drop"} <= groups.keys()
    spool = (place / "var/spool/postrider").stat()
    assert (spool.st_uid, spool.st_gid) == (int(users["postrider"][2]), groups["postrider"])
    drop = (place / found / "libexec/postrider/postrider-drop").stat()
    assert (drop.st_uid, drop.st_gid, drop.st_mode & 0o7777) == (0, groups["postrider-drop"], 0o2755)


@pytest.mark.needs("root")
def test_the_log_is_rotated(mta, installed, folder):
    """Debian's logrotate over the installed file; afterwards every process writes into the new one."""
    mta.config["log"]["file"] = str(mta.log_file)
    mta.start()
    place, prefix = installed
    text = (place / "etc/logrotate.d/postrider").read_text() if (place / "etc/logrotate.d/postrider").exists() else \
        next(place.rglob("logrotate.d/postrider")).read_text()
    program = re.search(r"(\S+)/postrider logs reopen", text)[1]
    text = text.replace("/var/log/postrider.log", str(mta.log_file)).replace(f"{program}/postrider logs", f"{mta.programs}/postrider -c {mta.file} logs")
    text = text.replace("root adm", "root root")
    (folder / "rotate").write_text(text)
    os.chmod(folder / "rotate", 0o644)
    os.chmod(folder, 0o755)
    unpacked = tree("logrotate")
    program = unpacked / "usr/sbin/logrotate"
    rotate = [program, "--state", folder / "state", folder / "rotate"]
    def run(*options):
        return subprocess.run([program, *options, *rotate[1:]], capture_output=True, text=True, env=environment(unpacked))
    done = run("--debug")
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)
    done = run("--force")
    assert done.returncode == 0, done.stderr
    old = Path(f"{mta.log_file}.1")
    before = old.read_bytes()
    mta.wait_log("log re-opened")
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(2)
    mta.wait_log("smtpd.*client=")
    mta.wait_log("status=sent")
    assert old.read_bytes() == before, "somebody still writes into the old file"
    mta.stop()
    done = run("--force")  # nothing runs: nothing to reopen, and no complaint
    assert done.returncode == 0 and done.stderr == "", done.stderr
