"""The long run behind `scripts/soak conservation`: honest and hostile mail on every road while daemons are killed, stopped
and reloaded. Every round the books are balanced: each 250 and each exit 0 has ended in a delivery, in a report, or in an
entry of the listing. And nothing grows: files in every directory of the spool, memory and descriptors of every daemon
are measured when all is quiet, and must be in the last third of the run what they were in the first.

  conservation.py [MINUTES [SEED]]
"""
import collections
import os
import random
import re
import shutil
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.books import Load, delivered, reported  # noqa: E402
from harness.client import Client, message  # noqa: E402
from harness.mta import BUILD, ROLES, Mta, program_of  # noqa: E402
from harness.network import enter_own_network  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.sink import Sink, drop, reset  # noqa: E402
from harness.watch import wait_until  # noqa: E402

ROUND = 30  # seconds of load
MEMBERS = [f"member{n}@remote.example" for n in range(50)]
BAD_AT_MOST = 2000  # files that bad/ may keep of null-sender mail that failed


class Submissions:
    """Programs of this host that call sendmail, and lists, and local mail; like Load, they write down what was taken."""

    def __init__(self, mta, round_number):
        self.mta, self.round = mta, round_number
        self.taken, self.halt = {}, threading.Event()
        self.threads = [threading.Thread(target=self.run, args=walk, daemon=True) for walk in (
            ("sendmail", self.by_sendmail), ("local", self.to_mailbox), ("list", self.to_list), ("bounce", self.to_nobody))]
        for thread in self.threads:
            thread.start()

    def run(self, kind, walk):
        number = 0
        while not self.halt.is_set():
            token = f"{kind}-{self.round}-{number}"
            number += 1
            try:
                if walk(token):
                    self.taken[token] = kind
            except Exception:
                pass  # cut off: nothing was promised
            self.halt.wait(0.1)

    def by_sendmail(self, token):
        done = self.mta.sendmail("-i", "-f", "sender@test.example", f"{token}@remote.example", input=f"Subject: {token}\n\nHello.\n")
        return done.returncode == 0

    def over_smtp(self, token, sender, recipient):
        with Client(self.mta.address, self.mta.relay_port, timeout=20) as c:
            c.say("EHLO load.example")
            return c.deliver(sender, [recipient], message(token, "Hello.", sender or "nobody", recipient)).startswith("250")

    def to_mailbox(self, token):
        return self.over_smtp(token, "sender@test.example", f"{self.mta.user}@test.example")

    def to_list(self, token):
        return self.over_smtp(token, "sender@test.example", "everybody@test.example")

    def to_nobody(self, token):
        """Refused by the remote server: its sender, at the other, is to read so."""
        return self.over_smtp(token, "reports@remote.example", f"refuse-{token}@remote.example")

    def stop(self):
        self.halt.set()
        for thread in self.threads:
            thread.join(60)


class Hostile:
    """Null senders that fail, sessions that break off at every stage, noise, long lines, too many recipients."""

    def __init__(self, mta, seed):
        self.mta, self.die, self.halt = mta, random.Random(seed), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        kinds = (self.null_sender, self.breaks_off, self.noise, self.many_recipients, self.long_line)
        while not self.halt.is_set():
            try:
                with Client(self.mta.address, self.mta.relay_port, timeout=20) as c:
                    c.say("EHLO hostile.example")
                    self.die.choice(kinds)(c)
            except Exception:
                pass
            self.halt.wait(0.05)

    def null_sender(self, c):
        c.deliver("", [f"refuse{self.die.random()}@remote.example"], message("nobody reads this", "x" * 2000, "nobody"))

    def breaks_off(self, c):
        for line in ("MAIL FROM:<x@hostile.example>", f"RCPT TO:<{self.mta.user}@test.example>", "DATA")[:self.die.randint(1, 3)]:
            c.say(line)
        c.send(b"Subject: half\r\n\r\n" + b"x" * self.die.randint(0, 300_000))

    def noise(self, c):
        c.send(self.die.randbytes(20_000) + b"\r\n")
        c.reply()

    def many_recipients(self, c):
        c.say("MAIL FROM:<x@hostile.example>")
        c.send(b"".join(b"RCPT TO:<nobody%d@test.example>\r\n" % n for n in range(2000)))
        c.reply()

    def long_line(self, c):
        c.deliver("x@hostile.example", [f"{self.mta.user}@test.example"], b"Subject: long\r\n\r\n" + b"y" * 500_000 + b"\r\n")

    def stop(self):
        self.halt.set()
        self.thread.join(60)


def fault(die, mta, sink, say):
    what = die.choice(["kill"] * 4 + ["everything", "stop", "reload", "sink", "sink"])
    if what == "kill":
        role = die.choice([r for r in ROLES if r not in ("master", "metrics", "http")])
        say(f"kill -9 {role}")
        mta.kill(role)
    elif what == "everything":
        say("kill -9 everything")
        mta.kill_everything()
        mta.start()
    elif what == "stop":
        say("stop, start")
        mta.restart()
    elif what == "reload":
        say("reload")
        mta.command("reload", check=False)
    else:
        stage = die.choice(["connect", "mail", "rcpt", "data", "dot"])
        say(f"the remote server misbehaves at {stage}")
        sink.at(stage, die.choice(["451 4.3.0 Later", drop, reset]), times=die.randrange(1, 20))


def files_by_directory(spool):
    """{directory, without the two digits messages are sorted by: files}"""
    count = collections.Counter()
    for here, _, names in os.walk(spool):
        count[re.sub(r"/[0-9A-F]{2}$", "", os.path.relpath(here, spool))] += len(names)
    return count


def measure(mta):
    """{what: how much}: files of each directory, memory (kB) and descriptors of each role."""
    found = {f"files {where}": n for where, n in files_by_directory(mta.spool).items() if where != "history"}  # by size and age
    for pid in mta.all_pids():
        role = program_of(pid)
        if role not in ROLES:
            continue
        try:
            memory = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
            descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        except (OSError, TypeError):
            continue
        found[f"kB {role}"] = max(memory, found.get(f"kB {role}", 0))
        found[f"descriptors {role}"] = max(descriptors, found.get(f"descriptors {role}", 0))
    return found


def balance(load, submissions, sink, mailbox):
    """What was taken and is nowhere; the listing is empty by now."""
    texts = [m.text for m in sink.messages]
    done, told = delivered(sink), reported(texts)
    lost = [token for token in load.acknowledged if token not in done and token not in told]
    subjects = collections.Counter()
    for text, recipients in [*((m.text, len(m.recipients)) for m in sink.messages), *((text, 1) for text in mailbox)]:
        for token in set(re.findall(r"\b(?:sendmail|local|list|bounce)-\d+-\d+\b", text)):
            subjects[token] += recipients
    for token, kind in submissions.taken.items():
        if subjects[token] < (len(MEMBERS) if kind == "list" else 1):
            lost.append(f"{token} ({subjects[token]})")
    return lost


def empty_mailbox(mta):
    texts = mta.mailbox()
    shutil.rmtree(mta.folder / "mail" / mta.user, ignore_errors=True)
    return texts


def grown(samples):
    """What is larger in the last third than in the first, beyond what may be."""
    third = max(1, len(samples) // 3)
    found = []
    for what in sorted({name for sample in samples for name in sample}):
        first, last = (max(s.get(what, 0) for s in part) for part in (samples[:third], samples[-third:]))
        allowed = {"kB": first * 1.25 + 8192, "descriptors": first + 8}.get(what.split()[0], first + 16)
        if what.startswith("files bad"):
            allowed = BAD_AT_MOST
        if last > allowed:
            found.append(f"{what}: {first} at first, {last} at last, {allowed:.0f} allowed")
    return found


def main():
    minutes, seed = float((sys.argv[1:2] or [60])[0]), int((sys.argv[2:3] or [random.randrange(10**6)])[0])
    enter_own_network()
    die, begun = random.Random(seed), time.monotonic()
    folder = BUILD / "system-tests" / f"conservation-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def say(text):
        print(f"{time.monotonic() - begun:8.1f} s  {text}", flush=True)
    say(f"seed {seed}, {minutes:g} minutes, in {folder}")
    block = Block()
    sink = Sink(block.host(10), block.port())
    mta = Mta(folder, block)
    mta.aliases.write_text(f"everybody: {', '.join(MEMBERS)}\n")
    mta.route("remote.example", sink)
    mta.config["master"].update(restart_delay="50ms", restart_delay_limit="1s")
    mta.config["spool"]["reused_files"] = 16  # their number is reached in the first round
    mta.start()
    samples, total, number = [], 0, 0
    try:
        while time.monotonic() - begun < minutes * 60:
            number += 1
            refuse_some(sink)
            running = (Load(mta, clients=3), Submissions(mta, number), Hostile(mta, die.random()))
            end = time.monotonic() + ROUND
            while time.monotonic() < end:
                time.sleep(die.uniform(0.5, 4))
                fault(die, mta, sink, say)
            for each in running:
                each.stop()
            refuse_some(sink)
            wait_until(lambda: mta.answers(), 60, mta.last_words)
            drain(mta)
            lost = balance(running[0], running[1], sink, empty_mailbox(mta))
            assert not lost, f"{len(lost)} were acknowledged and are nowhere: {lost[:10]}"
            checked = mta.command("history", "--check", check=False, seconds=120)
            assert checked.returncode == 0, checked.stdout
            assert not mta.crashes(), mta.crashes()
            count = running[0].so_far() + len(running[1].taken)
            total += count
            samples.append(measure(mta))
            say(f"round {number}: {count} acknowledged, all accounted for; " +
                ", ".join(f"{what} {n}" for what, n in sorted(samples[-1].items()) if n and what.startswith(("files", "kB"))))
            with sink.lock:
                sink.messages.clear()
                sink.commands.clear()
        growing = grown(samples)
        assert not growing, "it grows:\n" + "\n".join(growing)
        say(f"{total} acknowledged in {number} rounds, none lost; nothing has grown")
    except AssertionError:
        print(mta.last_words()[-6000:])
        raise
    finally:
        mta.kill_everything()
        sink.stop()
    shutil.rmtree(folder)


def refuse_some(sink):
    """Well-behaved from here on, but for those it does not know."""
    sink.well_behaved()
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "<refuse" in argument else None)


def drain(mta):
    """Until nothing is listed, or on disk as a message."""
    def gone():
        mta.flush()
        return not mta.spool_files() and not mta.queue()
    wait_until(gone, 180, lambda: f"all to be delivered or reported: {mta.queue()[:5]}\n{mta.last_words()[-3000:]}", step=0.5)


if __name__ == "__main__":
    main()
