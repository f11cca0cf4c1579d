"""What one user does to their own mailbox and processes keeps nobody else's mail waiting."""
import os
import pwd
import signal
import threading
from pathlib import Path

import pytest

from harness.watch import wait_until
from test_mailbox_owners import OWNER, place, rooted  # noqa: F401

MANY = 200  # messages for the one who misbehaves
OTHER = "news"


def submit_many(mta, to, count=MANY):
    """In one session; the queue ids."""
    with mta.client() as c:
        return [c.deliver("sender@test.example", [to], f"Subject: number {n}\r\n\r\nHello.\r\n").split()[-1] for n in range(count)]


def copies(path):
    """Which of the many are in the mbox, sorted."""
    return sorted(int(line.split()[-1]) for line in path.read_text().splitlines() if line.startswith("Subject: number "))


def lock(path):
    """As a program does that lives: this test."""
    Path(f"{path}.lock").write_text(f"{os.getpid()}\n")


def test_a_locked_mailbox_holds_up_its_user_alone(mta):
    mta.config["local"].update(mailbox=f"mbox:{mta.folder}/mail/{{user}}", lock_timeout="4s")
    (mta.folder / "mail").mkdir()
    box = mta.folder / "mail" / mta.user
    lock(box)
    mta.start()
    ids = submit_many(mta, f"{mta.user}@test.example")
    mta.submit("other@test.example", "probe")
    mta.wait_log(r"to=<other@test.example>, .*status=sent")  # ten at a time for 4 s each: it would be the 201st

    # The rest waits for the mailbox, not each for a lock of its own.
    mta.wait_log(rf"to=<{mta.user}@test.example>, .*dsn=4.2.0, status=deferred \({box} is locked by another program\)")
    explained = mta.command("explain", ids[-1]).stdout
    assert "blocked by queue" in explained and f"{box} is locked by another program" in explained, explained
    wait_until(lambda: f"mail for {mta.user} waits: {box} is locked" in mta.command("status").stdout, 15, mta.last_words)
    assert len(mta.logged(r"status=deferred")) < 20
    Path(f"{box}.lock").unlink()
    mta.wait_until_empty(60)
    assert copies(box) == list(range(MANY))
    assert "waits:" not in mta.command("status").stdout


class Stopping:
    """Whatever the MTA runs as the user is stopped, as that user may do, until this ends."""

    def __init__(self, mta, user):
        self.mta = mta
        self.uid, self.stopped, self.over = pwd.getpwnam(user).pw_uid, set(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for pid in self.stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def run(self):
        while not self.over.wait(0.01):
            for pid in self.mta.all_pids():
                try:
                    if pid not in self.stopped and os.stat(f"/proc/{pid}").st_uid == self.uid:
                        os.kill(pid, signal.SIGSTOP)
                        self.stopped.add(pid)
                except (FileNotFoundError, ProcessLookupError):
                    pass


@pytest.mark.needs("root")
def test_a_user_who_stops_their_processes_stops_nobody_else(rooted, place):  # noqa: F811
    mta = rooted
    mta.config["local"].update(mailbox=f"mbox:{place}/mail/{{user}}", forward=[])
    box = place / "mail" / OWNER
    lock(box)  # so that a process is there long enough to be met
    mta.start()
    with Stopping(mta, OWNER) as stopping:
        ids = submit_many(mta, f"{OWNER}@test.example")
        wait_until(lambda: stopping.stopped, 15, mta.last_words)
        mta.submit(f"{OTHER}@test.example", "probe")
        mta.wait_log(rf"to=<{OTHER}@test.example>, .*status=sent")
        assert "queue.connections_per_user" in mta.command("explain", ids[-1]).stdout
        wait_until(lambda: len(stopping.stopped) == 2, 15, mta.last_words)
    Path(f"{box}.lock").unlink()
    mta.wait_until_empty(60)
    assert copies(box) == list(range(MANY))


def test_two_addresses_of_one_user_are_two_deliveries(mta):
    """As with Postfix: each final address has its copy; the same one twice has one."""
    mta.aliases.write_text(f"team: {mta.user}+a, {mta.user}\n")
    mta.start()
    queue_id = mta.submit([f"{mta.user}+{each}@test.example" for each in "ab"] + ["team@test.example", "TEAM@test.example"])
    mta.wait_until_empty()
    assert sorted(m.split("Delivered-To: ")[1].split("\n")[0] for m in mta.mailbox()) == [
        f"{mta.user}+a@test.example", f"{mta.user}+b@test.example", f"{mta.user}@test.example"]
    assert len(mta.logged(rf"{queue_id}: .*status=sent \(delivered to maildir\)")) == 3


def test_a_command_in_place_of_mailboxes_runs_for_each_address(mta):
    script = mta.folder / "deliver"
    script.write_text(f'#!/bin/sh\ncat > "{mta.folder}/got-$EXTENSION"\n')
    script.chmod(0o755)
    mta.config["local"]["mailbox_command"] = str(script)
    mta.start()
    mta.submit([f"{mta.user}+queue1@test.example", f"{mta.user}+queue2@test.example", f"{mta.user}@test.example"])
    mta.wait_until_empty()
    assert sorted(p.name for p in mta.folder.glob("got-*")) == ["got-", "got-queue1", "got-queue2"]


def test_a_store_that_sorts_by_address_gets_each_of_them(mta, remote):
    sink = remote()
    mta.config["local"]["deliver"] = f"[{sink.address}]:{sink.port}"
    mta.start()
    mta.submit([f"{mta.user}+lists@test.example", f"{mta.user}@test.example", f"{mta.user}@Test.Example"])
    mta.wait_until_empty()
    got = sorted(each for m in sink.messages for each in m.recipients)
    assert got == [f"{mta.user}+lists@test.example", f"{mta.user}@test.example"]
