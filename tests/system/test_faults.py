"""Calls that fail at every place of every daemon (EMFILE, ENOMEM, EIO): mail that was accepted before, meanwhile or afterwards
is delivered or returned, nobody waits for ever, and nobody is restarted by hand.

A few cases here; all of them in scripts/soak faults (POSTRIDER_FAULTS_ALL=1).
"""
import os
import subprocess
import threading
import time

import pytest

from harness.client import Closed, message
from harness.faults import ERRORS, EVERY, Faults
from harness.sink import only
from harness.watch import wait_until

DAEMONS = ("smtpd", "pickup", "categorizer", "router", "queue-manager", "smtp-client", "local", "bounce", "events")
# Where something has been wrong, or where much could be.
CHOSEN = [("smtpd", "open", "EMFILE"), ("smtpd", "accept", "EMFILE"), ("pickup", "open", "EMFILE"), ("pickup", "unlink", "EIO"),
          ("categorizer", "open", "EMFILE"), ("queue-manager", "open", "EMFILE"), ("queue-manager", "write", "EIO"),
          ("queue-manager", "sync", "EIO"), ("queue-manager", "read", "EIO"), ("smtp-client", "open", "EMFILE"),
          ("bounce", "open", "EMFILE"), ("bounce", "sync", "EIO")]
ALL = [(d, kind, error) for d in DAEMONS for kind, errors in ERRORS.items() for error in errors]
CASES = ALL if os.environ.get("POSTRIDER_FAULTS_ALL") else CHOSEN
# (whose calls wait, which, who is killed meanwhile)
HELD_CHOSEN = [("queue-manager", "sync", "categorizer"), ("queue-manager", "write", "categorizer"),
               ("queue-manager", "sync", "smtp-client"), ("queue-manager", "unlink", "smtp-client"),
               ("queue-manager", "sync", "bounce"), ("bounce", "sync", "queue-manager"),
               ("smtpd", "sync", "queue-manager"), ("pickup", "sync", "queue-manager")]
HELD_ALL = [(held, kind, killed) for held in ("queue-manager", "smtpd", "pickup", "bounce", "smtp-client", "local", "categorizer")
            for kind in ("sync", "write", "unlink", "rename", "read", "open")
            for killed in ("queue-manager", "categorizer", "router", "smtp-client", "local", "bounce", "smtpd", "pickup")
            if held != killed]
HELD = HELD_ALL if os.environ.get("POSTRIDER_FAULTS_ALL") else HELD_CHOSEN


class Probes:
    """Mail by five roads: SMTP to another host, to a mailbox, to where it fails (the sender gets a report), sendmail, and SMTP to
    an alias."""
    roads = 5

    def __init__(self, mta, sink):
        self.mta, self.sink, self.accepted, self.number = mta, sink, set(), 0
        self.lock = threading.Lock()

    def smtp(self, recipient, token, timeout):
        """Accepted, or what was said instead."""
        try:
            with self.mta.client(timeout=timeout) as c:
                reply = c.deliver("sender@test.example", [recipient], message(token))
        except (OSError, Closed, AssertionError) as error:
            return repr(error)
        return True if reply.startswith("250") else reply

    def sendmail(self, token, timeout):
        try:
            done = self.mta.sendmail("-f", "sender@test.example", "user@remote.example", input=f"Subject: {token}\n\nx\n", seconds=timeout)
        except subprocess.TimeoutExpired:
            return "no answer"
        return True if done.returncode == 0 else f"{done.returncode} {done.stderr}"

    def road(self, n, token, timeout):
        if n == 3:
            return self.sendmail(token, timeout)
        return self.smtp({0: "user@remote.example", 1: "other@test.example", 2: "fails@remote.example",
                          4: "team@test.example"}[n], token, timeout)

    def send(self, n, timeout=4):
        with self.lock:
            self.number += 1
            token = f"token-{self.number}-{n}-end"
        said = self.road(n, token, timeout)
        if said is True:
            with self.lock:
                self.accepted.add(token)
        return said

    def side_by_side(self):
        threads = [threading.Thread(target=self.send, args=(n,), daemon=True) for n in range(self.roads)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(6)

    def missing(self):
        """What was accepted and is neither delivered nor returned."""
        everything = "".join([m.text for m in self.sink.messages] + self.mta.mailbox("other") + self.mta.mailbox())
        with self.lock:
            return sorted(t for t in self.accepted if everything.count(f"Subject: {t}") < (2 if t.endswith("-4-end") else 1))

    def twice(self):
        """What has been delivered more often than it has recipients."""
        everything = "".join([m.text for m in self.sink.messages] + self.mta.mailbox("other"))
        with self.lock:
            return sorted(t for t in self.accepted if everything.count(f"Subject: {t}") > (2 if t.endswith("-4-end") else 1))


@pytest.fixture
def probed(mta, remote):
    """(start, probes, faults): the MTA, whose daemons can be made to fail."""
    sink = remote()
    sink.at("rcpt", only("fails@", "550 5.1.1 No such user"))
    mta.route("remote.example", sink)
    mta.aliases.write_text(f"sender: {mta.user}\npostmaster: {mta.user}\nteam: user@remote.example, other\n")
    mta.config["smtpd"]["workers"] = 1
    mta.config["smtp_client"]["workers"] = 1
    mta.config["master"].update(restart_delay="50ms", restart_delay_limit="1s")
    faults = Faults(mta)
    mta.start()
    return mta, Probes(mta, sink), faults


def one_case(mta, probes, faults, role, kind, error, skip=0, count=EVERY):
    """None, or what is wrong."""
    probes.send(0)
    faults.begin(role, kind, error, skip, count)
    probes.side_by_side()
    failed = faults.failed(role, kind)
    faults.end(role)
    return all_ends_well(mta, probes, f"after {failed} failures")


def all_ends_well(mta, probes, when):
    """None, or what is wrong."""
    for n in range(probes.roads):
        said = []
        try:
            wait_until(lambda: said.append(probes.send(n)) or said[-1] is True, 30, "mail to be taken again", step=0.2)
        except AssertionError:
            return f"{when} road {n} is closed: {said[-1]}"
    try:
        wait_until(lambda: not probes.missing() and not mta.spool_files(), 45, "all to end")
    except AssertionError:
        return f"{when} {probes.missing()} are missing, queued: {mta.queue()}"
    crashes = mta.crashes()
    if crashes:
        return f"a daemon crashed: {crashes}"
    return None


@pytest.mark.needs("root")
@pytest.mark.parametrize("part", range(4 if CASES is CHOSEN else 16))
def test_calls_that_fail(probed, part):
    mta, probes, faults = probed
    cases = CASES[part::4 if CASES is CHOSEN else 16]
    wrong = []
    for role, kind, error in cases:
        begun = time.monotonic()
        said = one_case(mta, probes, faults, role, kind, error)
        print(f"{role:14} {kind:10} {error:7} {faults.failed(role, kind):6} failed of {faults.calls(role, kind):6} "
              f"{time.monotonic() - begun:5.1f} s  {said or 'well'}", flush=True)
        if said:
            wrong.append((role, kind, error, said))
            mta.kill_everything()
            mta.forget_the_log()
            probes.accepted.clear()
            mta.start()
    assert not wrong, wrong


def one_case_of_held(mta, probes, faults, role, kind, killed):
    """None, or what is wrong: while calls of one process wait, another ends and is started again."""
    probes.send(0)
    faults.hold(role, kind)
    waiting = [threading.Thread(target=probes.send, args=(n, 20), daemon=True) for n in range(probes.roads)]
    for each in waiting:
        each.start()
    try:
        wait_until(lambda: faults.failed(role, kind), 3, "a call to wait")
    except AssertionError:
        pass  # it makes none of them
    before = mta.pids(killed)
    mta.kill(killed)
    mta.wait_for_role(killed, other_than=before)
    faults.end(role)
    for each in waiting:
        each.join(25)
    wrong = all_ends_well(mta, probes, "after the wait")
    at_work = killed in ("smtp-client", "local", "queue-manager")  # a delivery whose result is lost is made again
    if wrong is None and not at_work and probes.twice():
        return f"delivered twice: {probes.twice()}"
    probes.accepted.clear()
    return wrong


@pytest.mark.needs("root")
@pytest.mark.parametrize("part", range(2 if HELD is HELD_CHOSEN else 16))
def test_a_process_ends_while_calls_of_another_wait(probed, part):
    mta, probes, faults = probed
    wrong = []
    for role, kind, killed in HELD[part::2 if HELD is HELD_CHOSEN else 16]:
        begun = time.monotonic()
        said = one_case_of_held(mta, probes, faults, role, kind, killed)
        print(f"{role:14} {kind:10} {killed:14} {faults.failed(role, kind):6} waited {time.monotonic() - begun:5.1f} s  "
              f"{said or 'well'}", flush=True)
        if said:
            wrong.append((role, kind, killed, said))
            mta.kill_everything()
            mta.forget_the_log()
            probes.accepted.clear()
            mta.start()
    assert not wrong, wrong
