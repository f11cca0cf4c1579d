"""kill -9 of every daemon under load, restarts, and the books afterwards."""
import json
import re
import signal
import threading

import pytest

from harness.books import Load, balance, delivered
from harness.mta import ROLES, kill
from harness.watch import wait_until


@pytest.fixture
def busy(mta, remote):
    """The MTA under load: (mta, sink, load)."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["master"].update(restart_delay="50ms")
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.block.port()}"]}
    mta.config["http"] = {"enabled": True}
    mta.start()
    load = Load(mta, clients=4)
    yield mta, sink, load
    load.halt.set()


def settled(mta, sink, load, twice):
    load.stop()
    mta.wait_until_empty(40)
    assert load.so_far() > 20
    assert balance(load, [sink], duplicates_at_most=twice) <= twice


@pytest.mark.smoke
@pytest.mark.parametrize("role", [r for r in ROLES if r != "master"])
def test_kill_under_load(busy, role):
    """Three times the daemon dies; it is back soon, service goes on, nothing acknowledged is lost."""
    mta, sink, load = busy
    for _ in range(3):
        there = len(sink.messages)
        wait_until(lambda: len(sink.messages) > there + 20, 20, lambda: f"mail to flow\n{mta.last_words()}")
        before = mta.pids(role)
        killed = mta.kill(role)
        mta.wait_for_role(role, 10, other_than=before)
        wait_until(lambda: killed not in mta.pids(role), 5, "the old one to be gone")
    there = len(sink.messages)
    wait_until(lambda: len(sink.messages) > there + 20, 20, lambda: f"mail to flow again\n{mta.last_words()}")
    # In flight at a death may be sent twice: connections of the link times deliveries handed to each.
    settled(mta, sink, load, twice=3 * 100 if role in ("smtp-client", "queue-manager") else 0)


def test_kill_of_master_under_load(busy):
    """The workers finish and leave; a new start takes over."""
    mta, sink, load = busy
    wait_until(lambda: len(sink.messages) > 20, 20, "mail to flow")
    mta.kill("master")
    load.stop()
    wait_until(lambda: not mta.all_pids(), 20, "the orphans to leave")
    mta.process.wait()
    mta.process = None
    mta.start()
    mta.wait_until_empty(30)
    balance(load, [sink], duplicates_at_most=100)


def test_everything_killed_at_once(busy):
    """As a power cut does it to the processes, three times."""
    mta, sink, load = busy
    for _ in range(3):
        there = len(sink.messages)
        wait_until(lambda: len(sink.messages) > there + 20, 20, lambda: f"mail to flow\n{mta.last_words()}")
        mta.kill_everything()
        mta.start()
    settled(mta, sink, load, twice=3 * 100)


@pytest.mark.smoke
def test_restart_with_queued_mail(mta, remote):
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.start()
    load = Load(mta, clients=2, count=50)
    load.join()
    assert load.so_far() == 100
    assert mta.stop() == 0
    assert len(mta.spool_files()) == 100
    mta.start()
    assert len(mta.queued_ids()) == 100
    sink.start()
    mta.flush()
    mta.wait_until_empty(30)
    balance(load, [sink])


def test_stop_under_load_is_orderly(busy):
    """What was acknowledged is in the spool or delivered; nothing is sent twice by an orderly restart."""
    mta, sink, load = busy
    for _ in range(2):
        there = len(sink.messages)
        wait_until(lambda: len(sink.messages) > there + 20, 20, "mail to flow")
        assert mta.stop() == 0
        mta.start()
    settled(mta, sink, load, twice=0)


def test_reload_drops_no_session(busy):
    mta, sink, load = busy
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        for _ in range(3):
            there = len(sink.messages)
            mta.command("reload")
            wait_until(lambda: len(sink.messages) > there + 20, 20, "mail to flow")
        assert c.say("RCPT TO:<token-x-y-0@remote.example>").startswith("250")
        c.say("QUIT")
    managers = mta.pids("queue-manager")
    assert len(managers) == 1
    assert not load.unsure and not load.refused, "no client noticed"
    settled(mta, sink, load, twice=0)


def test_reload_takes_new_settings(relaying, remote):
    mta, sink = relaying
    other = remote()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.route("remote.example", other)
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: mta.submit("user@remote.example") and other.messages, 10, "mail to take the new route", step=0.2)


def test_reload_with_a_broken_file_changes_nothing(relaying):
    mta, sink = relaying
    mta.file.write_text(mta.file.read_text() + "\n[smtpd]\nworker = 3\n")
    done = mta.command("reload", check=False)
    assert done.returncode != 0 and "postrider.toml:" in done.stderr + done.stdout
    mta.submit("user@remote.example")
    sink.wait_for(1)


def test_reload_says_what_a_confined_process_cannot_reach(mta):
    """Each process was confined when it started: bounce could never read its texts at another place."""
    first, second = mta.folder / "texts", mta.folder / "other-texts"
    for folder in (first, first / "below", second):
        folder.mkdir()
    mta.config["bounce"] = {"templates": str(first)}
    mta.start()
    wait_until(lambda: re.search(r"bounce +\d+ +running +.*(files|Landlock)", mta.command("status").stdout), 15,
               "status to say how bounce is confined")
    mta.config["bounce"]["templates"] = str(first / "below")
    mta.write_config()
    mta.command("reload")
    mta.config["bounce"]["templates"] = str(second)
    mta.write_config()
    done = mta.command("reload", check=False)
    assert done.returncode != 0 and f"the running bounce has no access to {second}: access rights of a process" in done.stdout + done.stderr
    mta.wait_log("reload refused, the previous configuration stays in force: .* are set when it starts: this requires \"postrider stop\"")
    mta.restart()
    mta.command("reload")


@pytest.mark.parametrize("role", [r for r in ROLES if r not in ("master",)])
def test_a_daemon_that_hangs_is_replaced(mta, remote, role):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["master"].update(heartbeat_interval="200ms", heartbeat_timeout="1s")
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.block.port()}"]}
    mta.config["http"] = {"enabled": True}
    mta.start()
    before = mta.pids(role)
    mta.kill(role, signal.SIGSTOP)
    mta.wait_for_role(role, 10, other_than=before)
    mta.submit("user@remote.example")
    sink.wait_for(1)


def test_mail_that_needs_no_lookup_does_not_wait_for_the_categorizer(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["master"].update(heartbeat_timeout="1m")
    mta.start()
    mta.submit("user@remote.example")  # then the list of suppressions has been read, too
    sink.wait_for(1)
    mta.kill("categorizer", signal.SIGSTOP)
    mta.submit(["user@remote.example", "other@remote.example"])
    assert sink.wait_for(2)[1].recipients == ["user@remote.example", "other@remote.example"]
    mta.kill("categorizer", signal.SIGCONT)
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)


def test_a_daemon_that_keeps_dying_is_restarted_ever_more_slowly(relaying):
    mta, sink = relaying
    died = []
    for _ in range(7):
        died += [mta.wait_for_role("router", other_than=died)[0]]
        kill(died[-1], signal.SIGKILL)
    mta.wait_for_role("router", other_than=died)
    waits = [int(found) for line in mta.log() for found in re.findall(r"router will be restarted in (\d+) ms", line)]
    assert len(waits) >= 3 and all(after == 2 * before for before, after in zip(waits, waits[1:])), waits
    mta.submit("user@remote.example")
    sink.wait_for(1, 30)


def test_ndr_survives_kills_of_bounce(mta, remote):
    """The report exists once or twice, never zero times."""
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["master"].update(restart_delay="50ms")
    mta.aliases.write_text(f"sender: {mta.user}\n")  # the load's sender
    mta.start()
    load = Load(mta, clients=2, count=30)
    stop = threading.Event()

    def killer():
        while not stop.is_set():
            for pid in mta.pids("bounce"):
                kill(pid, signal.SIGKILL)
            stop.wait(0.3)
    thread = threading.Thread(target=killer, daemon=True)
    thread.start()
    load.join()
    stop.set()
    thread.join()
    mta.wait_until_empty(40)
    balance(load, [sink], reports=mta.mailbox())


def test_killed_while_a_message_arrives(relaying):
    """Before the 250 nothing was promised: after the kill the client sends again, and the message exists once."""
    mta, sink = relaying
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.say("RCPT TO:<user@remote.example>")
        c.say("DATA")
        c.send(b"Subject: half\r\n\r\nhalf a line")
        for pid in mta.pids("smtpd"):
            kill(pid, signal.SIGKILL)
        assert b"250" not in c.closed_by_peer()
    wait_until(mta.answers, 10, "smtpd to be back")
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_until_empty()
    assert len(sink.messages) == 1


def test_second_start_is_refused_while_one_runs(relaying):
    mta, sink = relaying
    done = mta.run("postrider", "run", "-c", mta.file)
    assert done.returncode != 0
    assert "already" in (done.stderr + done.stdout).lower() or "running" in (done.stderr + done.stdout).lower()
    assert len(mta.pids("queue-manager")) == 1
    mta.submit("user@remote.example")
    sink.wait_for(1)


def test_start_beside_a_message_that_was_never_handed_over(mta, remote):
    """smtpd said 250 and its queue-manager has gone: the new one of its place waits for it, and the message is delivered."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 1
    mta.start()
    mta.kill("queue-manager", signal.SIGSTOP)
    mta.submit("user@remote.example")
    mta.kill("master")
    for pid in mta.pids("queue-manager"):
        kill(pid, signal.SIGKILL)
    mta.process.wait()
    mta.output.close()
    mta.process = None
    mta.start()
    sink.wait_for(1)


def test_start_beside_an_orphan_that_has_a_client(mta, remote):
    """An smtpd whose master was killed finishes the message it is being given. The new one of its place waits for that
    and nothing is given up; the message that was finished is delivered, too."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 1
    mta.start()
    orphan = mta.pids("smtpd")[0]
    with mta.client() as c:
        c.say("MAIL FROM:<sender@test.example>")
        c.say("RCPT TO:<user@remote.example>")
        assert c.say("DATA").startswith("354")
        c.send(b"Subject: half\r\n\r\n")
        mta.kill("master")
        mta.process.wait()
        mta.output.close()
        mta.process = None
        mta.start(wait=False)
        mta.wait_log(r"smtpd/0: waiting for .* of the previous master", 20)
        assert orphan in mta.pids("smtpd")
        assert c.say(".").startswith("250")
        c.say("QUIT")
    wait_until(mta.answers, 30, lambda: f"the MTA to serve\n{mta.last_words()}")
    sink.wait_for(1)
    assert not mta.logged("exits as soon as it is started"), mta.last_words()
    assert not any("waiting for" in json.dumps(p) for p in mta.status()["processes"])
