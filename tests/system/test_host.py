"""The host around the MTA: descriptors, clocks, memory, odd starts; the commands."""
import errno
import glob
import json
import os
import re
import subprocess
import time

import pytest

from harness import fake_clock
from harness.books import Load, balance
from harness.client import Client
from harness.trouble import Injection
from harness.watch import wait_until


@pytest.mark.smoke
@pytest.mark.parametrize("text, message", [
    ("[smtpd]\nworker = 3\n", r"postrider\.toml:2:1: .*worker.*workers"),
    ("[smtpd]\nworkers = \"many\"\n", r"postrider\.toml:2:\d+: "),
    ("[queue]\nglitch_interval = \"soon\"\n", r"postrider\.toml:2:\d+: .*soon"),
    ("[smptd]\nworkers = 3\n", r"postrider\.toml:1:\d+: .*smtpd"),
    ("[smtpd\n", r"postrider\.toml:1:\d+: "),
], ids=["unknown key", "wrong type", "bad duration", "unknown section", "no TOML"])
def test_configuration_is_refused_before_anything_starts(mta, text, message):
    mta.file.write_text(text)
    for verb in ("check", "run", "start"):
        done = mta.run("postrider", verb, "-c", mta.file)
        assert done.returncode != 0
        assert re.search(message, done.stderr + done.stdout), done.stderr + done.stdout
    assert not mta.all_pids()


def test_missing_configuration(mta):
    done = mta.run("postrider", "check", "-c", mta.folder / "none.toml")
    assert done.returncode != 0 and "none.toml" in done.stderr


@pytest.mark.smoke
def test_check_accepts_what_runs(mta):
    mta.write_config()
    assert mta.run("postrider", "check", "-c", mta.file).returncode == 0


def test_status_tells_every_process(relaying):
    mta, sink = relaying
    facts = mta.status()
    text = json.dumps(facts)
    for role in ("smtpd", "pickup", "categorizer", "router", "queue-manager", "smtp-client", "local", "bounce"):
        assert role in text
        assert any(str(pid) in text for pid in mta.pids(role)), role


def test_start_and_stop_in_the_background(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.write_config()
    done = subprocess.run([mta.programs / "postrider", "start", "-c", mta.file], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, text=True)
    assert done.returncode == 0, done.stdout
    try:
        assert mta.submit("user@remote.example")
        sink.wait_for(1)
    finally:
        done = mta.run("postrider", "stop", "-c", mta.file)
    assert done.returncode == 0
    wait_until(lambda: not mta.all_pids(), 10, "everything to be gone")


def test_descriptors_run_out(mta, remote):
    """EMFILE in smtpd: it pauses or says 421, it does not spin, and serves again. What is queued goes out meanwhile, and
    the operator's commands answer: other processes have descriptors of their own."""
    mta.config["smtpd"]["workers"] = 1
    sink, later = remote(), remote()
    later.stop()
    mta.route("remote.example", sink)
    mta.route("later.example", later)
    mta.start()
    mta.submit("user@later.example")
    mta.wait_log("status=deferred")
    smtpd = mta.wait_for_role("smtpd")[0]
    have = len(os.listdir(f"/proc/{smtpd}/fd"))
    subprocess.run(["prlimit", "--pid", str(smtpd), f"--nofile={have + 8}:"], check=True)
    import socket
    crowd = []
    for _ in range(40):
        s = socket.socket()
        s.settimeout(1)
        s.connect((mta.address, mta.relay_port))
        crowd.append(s)
    before = cpu_ticks(smtpd)
    time.sleep(1)  # the observation itself: is the CPU idle meanwhile?
    assert cpu_ticks(smtpd) - before < os.sysconf("SC_CLK_TCK") // 2, "it spins"
    later.start()
    mta.flush()
    later.wait_for(1)
    assert mta.status() and mta.queue() == []
    for s in crowd:
        s.close()
    subprocess.run(["prlimit", "--pid", str(smtpd), f"--nofile={have + 500}:"], check=True)
    wait_until(mta.answers, 15, "smtpd to serve again")
    assert mta.pids("smtpd") == [smtpd], "it is the same process"
    mta.submit("user@remote.example")
    sink.wait_for(1)


@pytest.mark.needs("strace")
@pytest.mark.parametrize("error", ["ENFILE", "ENOMEM"])
def test_kernel_has_no_means_for_connections(relaying, error):
    """Whatever the kernel runs out of: a pause and a line, not a death and not a spin."""
    mta, sink = relaying
    pids = mta.pids("smtpd")
    injections = [Injection(pid, f"error={error}", "accept4") for pid in pids]
    try:
        with Client(mta.address, mta.relay_port, greet=False):
            mta.wait_log(rf"cannot accept connections: {re.escape(os.strerror(getattr(errno, error)))}")
    finally:
        for injection in injections:
            injection.end()
    assert mta.pids("smtpd") == pids
    mta.submit("user@remote.example")
    sink.wait_for(1)


def test_no_descriptors_for_going_out(mta, remote):
    """EMFILE in smtp-client: the mail waits, no try is counted, and goes out when there are descriptors again."""
    mta.config["smtp_client"]["workers"] = 1
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    client = mta.wait_for_role("smtp-client")[0]
    taken = set(map(int, os.listdir(f"/proc/{client}/fd")))
    have = next(number for number in range(10_000) if number not in taken)  # the next one it would get
    subprocess.run(["prlimit", "--pid", str(client), f"--nofile={have}:"], check=True)
    queue_id = mta.submit("user@remote.example")
    mta.wait_log("Too many open files: deliveries wait until this host has enough resources")
    subprocess.run(["prlimit", "--pid", str(client), f"--nofile={have + 500}:"], check=True)
    sink.wait_for(1)
    mta.wait_until_empty()
    assert mta.logged(rf"{queue_id}: .*status=sent") and not mta.logged("status=deferred")


def cpu_ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_idle_means_idle(relaying):
    """No wake-ups without reason, and under 40 MB of private memory in all."""
    mta, sink = relaying
    mta.submit("user@remote.example")
    mta.wait_until_empty()
    wait_until(lambda: not sink.open, 10, "the connection to be given up")
    pids = mta.all_pids()
    private = 0
    for pid in pids:
        for line in open(f"/proc/{pid}/smaps_rollup"):
            if line.startswith(("Private_Clean:", "Private_Dirty:")):
                private += int(line.split()[1])
    if "asan" not in str(mta.programs) and not os.environ.get("ASAN_OPTIONS"):
        assert private < 40 * 1024, f"{private} KiB"

    def switches():
        total = 0
        for pid in pids:
            for line in open(f"/proc/{pid}/status"):
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
        return total
    before = switches()
    time.sleep(3)  # the observation itself
    assert (switches() - before) / 3 < 10, "wake-ups per second, over all processes"


@pytest.mark.parametrize("closed", ["0", "1", "2", "012"])
def test_started_with_closed_descriptors(mta, remote, closed):
    sink = remote()
    mta.route("remote.example", sink)
    mta.prefix = ["sh", "-c", 'shift; exec "$@" ' + " ".join(f"{n}{'<' if n == '0' else '>'}&-" for n in closed), "sh", "x"]
    mta.can_speak = "1" not in closed
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()


def test_hostile_environment_of_a_local_user(relaying):
    mta, sink = relaying
    environment = {"PATH": "/nonexistent", "IFS": "/", "TZ": "../../../etc/passwd", "LANG": "x" * 5000, "POSTRIDER_CONFIG": "/nonexistent",
                   "MAIL_CONFIG": "/nonexistent", "TMPDIR": "/nonexistent", "HOME": "/nonexistent"}
    done = subprocess.run([mta.programs / "sendmail", "-C", mta.file, "user@remote.example"], input=b"Subject: x\n\nx\n",
                          env=environment, capture_output=True, timeout=20)
    assert done.returncode == 0, done.stderr
    sink.wait_for(1)


@pytest.mark.parametrize("name", ["", "a/b/c", "x" * 3000, "\x1b[31m"])
def test_odd_names_for_sendmail(relaying, name):
    """Whatever argv[0] is, it is sendmail; and it never crashes."""
    mta, sink = relaying
    done = subprocess.run([name, "-C", str(mta.file), "user@remote.example"], executable=str(mta.programs / "sendmail"),
                          input=b"Subject: x\n\nx\n", capture_output=True, timeout=20)
    assert done.returncode == 0, done.stderr
    sink.wait_for(1)


@pytest.mark.parametrize("arguments, status", [([], 64), (["--no-such"], 64), (["-Z", "a@b.example"], 64), (["-t"], 65),
                                               (["-bz"], 64), (["a b@"], 65)], ids=str)
def test_exit_codes_of_sendmail(relaying, arguments, status):
    mta, sink = relaying
    assert mta.sendmail(*arguments).returncode in (status, 64, 65)


def test_sendmail_without_a_spool_gives_up_at_once(mta):
    """No socket, no drop directory: 75 with one clear line."""
    mta.write_config()
    begun = time.monotonic()
    done = mta.sendmail("user@remote.example")
    assert done.returncode == 75 and len(done.stderr.splitlines()) == 1
    assert time.monotonic() - begun < 5


def test_nothing_listens_in_the_log(relaying):
    """Control characters from outside never reach the log."""
    mta, sink = relaying
    with mta.client(hello=False) as c:
        c.send(b"EHLO \x1b[31mred\x07\r\n")
        c.reply()
    mta.submit("user@remote.example", "plain")
    mta.wait_log("message-id=<plain@test.example>")
    text = mta.log_file.read_bytes()
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_log_is_reopened_after_rotation(relaying):
    mta, sink = relaying
    mta.submit("user@remote.example")
    mta.wait_log("status=sent")
    rotated = mta.folder / "log.1"
    os.rename(mta.log_file, rotated)
    mta.process.send_signal(1)
    wait_until(lambda: mta.log_file.exists(), 10, "the new log file")
    wait_until(lambda: not writers_of(rotated), 10, lambda: f"processes {writers_of(rotated)} to leave the old log file")
    mta.submit("user@remote.example")
    mta.wait_log("status=sent")


def writers_of(file):
    """The processes that have this file open."""
    inode = os.stat(file).st_ino
    found = set()
    for descriptor in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.stat(descriptor).st_ino == inode and os.path.realpath(descriptor) == str(file):
                found.add(int(descriptor.split("/")[2]))
        except OSError:  # the process or the descriptor is gone meanwhile
            pass
    return found


@pytest.mark.parametrize("step", ["+1y", "-1y", "-5s"])
def test_clock_steps(mta, remote, folder, step):
    """Ids stay unique, nothing expires without an attempt after the step, nothing is hidden by a backward step."""
    seconds = {"+1y": 31_536_000, "-1y": -31_536_000, "-5s": -5}[step]
    clock = folder / "clock"
    clock.write_text("+0\n")
    mta.wrap(**fake_clock.settings(clock))
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.config["queue"].update(retry_interval="1s", retry_interval_after="1s")
    mta.start()
    ids = [mta.submit("user@remote.example") for _ in range(3)]
    mta.wait_log("status=deferred", count=3)
    clock.write_text(f"{seconds:+d}\n")
    ids += [mta.submit("user@remote.example") for _ in range(3)]
    assert len(set(ids)) == 6 and ids == sorted(ids, key=lambda i: int(i, 16)), "unique, and in order of acceptance"
    assert mta.queued_ids() == set(ids)
    sink.start()
    sink.wait_for(6, 20)
    assert not mta.logged("status=expired")


def test_large_messages_do_not_fill_memory(relaying):
    mta, sink = relaying
    body = ("x" * 76 + "\r\n") * 250_000  # 19.5 MB
    mta.submit("user@remote.example", body=body)
    m = sink.wait_for_one_to("user@remote.example", 30)
    assert len(m.content) > len(body)
    for role in ("smtpd", "smtp-client", "queue-manager"):
        peak = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{mta.wait_for_role(role)[0]}/status").read())[1])
        if not os.environ.get("ASAN_OPTIONS"):
            assert peak < 60_000, f"{role} grew to {peak} KiB"
