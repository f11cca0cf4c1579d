"""The long run behind `scripts/soak power`: the power is cut under load, on ext4, xfs and btrfs, and what the disk has by
then must be enough. Each round has clients send for some seconds, cuts the power at a random moment (harness/cut_disk.py),
starts the MTA again on what is left, and balances the books (harness/filled_mail.py): every message with a 250 from before
the cut is delivered or reported, nothing else is, and every byte is the one that was sent; the journal accounts for all of it
(postrider history --check). Deliveries that come a second
time are counted: of finished messages ("repeats", and how long before the cut the message was finished) those of the last
quarter of a second (libspool/FORMAT.md, index/finished), with a little more for the result to be known; of messages with
another recipient still waiting, what the kernel has not yet written. "Known as finished" is what index/finished spared.

  power_cut.py [ROUNDS [SEED]] [--reused-files N] [--kill] [--without-syncs] [--on ext4,xfs,btrfs]

--kill: kill -9 of a random daemon instead. --without-syncs: the MTA's syncs do nothing, so that messages must be lost: it
proves that the run detects it. Takes seconds per round; needs root.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import struct
import sys
import time
import traceback
import zlib
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.cut_disk import KINDS, CutDisk, SlowWriteBack  # noqa: E402
from harness.filled_mail import NAME, Books, Clients  # noqa: E402
from harness.mta import BUILD, Mta  # noqa: E402
from harness.network import enter_own_network  # noqa: E402
from harness.own_mounts import enter_own_mounts  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.sink import Sink, address_in, only  # noqa: E402
from harness.watch import wait_until  # noqa: E402

KILLED = ["smtpd", "queue-manager", "smtp-client", "all"]


class Greylist:
    """Defers each recipient once or twice, or until `healthy`."""

    def __init__(self):
        self.healthy, self.attempts = False, collections.Counter()

    def __call__(self, session, argument):
        address = address_in(argument)
        self.attempts[address] += 1
        patience = (1, 2, float("inf"))[zlib.crc32(address.encode()) % 3]
        return None if self.healthy or self.attempts[address] > patience else "451 4.7.1 Greylisted"


@dataclass
class Figures:
    """A row of the table."""
    kind: str
    rounds: int = 0
    promised: int = 0
    lost: int = 0
    repeats: int = 0
    longest: float = 0
    partly: int = 0
    reports: int = 0
    spared: int = 0
    incomplete: int = 0

    HEAD = ("file system", "rounds", "promised", "lost", "repeats", "longest before the cut", "of unfinished messages", "reports",
            "known as finished", "set aside as incomplete")

    def cells(self):
        return (self.kind, self.rounds, self.promised, self.lost, self.repeats, f"{self.longest:.2f} s", self.partly, self.reports,
                self.spared, self.incomplete)


class Run:
    """All rounds on one file system."""

    def __init__(self, folder, kind, options, say):
        self.folder, self.kind, self.options, self.say = folder / kind, kind, options, say
        self.die, self.books, self.figures = random.Random(f"{options.seed} {kind}"), Books(), Figures(kind)
        self.folder.mkdir(parents=True)
        self.block = Block()
        self.sink, self.slow, self.reports = (Sink(self.block.host(10 + n), self.block.port()) for n in range(3))
        self.greylist = Greylist()
        self.sink.at("rcpt", only("-fail@", "550 5.1.1 No such user"))
        self.slow.at("rcpt", self.greylist)
        self.mta = Mta(self.folder, self.block)
        if options.without_syncs:
            self.mta.wrap(LD_PRELOAD=str(next(Path("/usr/lib").glob("*/libeatmydata.so"))))
        for domain, sink in (("remote.example", self.sink), ("second.example", self.sink), ("slow.example", self.slow),
                             ("reports.example", self.reports)):
            self.mta.route(domain, sink)
        self.mta.config["master"].update(restart_delay="50ms", restart_delay_limit="1s")
        if options.reused_files is not None:
            self.mta.config["spool"]["reused_files"] = options.reused_files
        self.disk, self.set_aside = None, set()

    @property
    def sinks(self):
        return self.sink, self.slow, self.reports

    def all_rounds(self):
        """Whether all is well."""
        try:
            self.disk = CutDisk(self.folder, self.kind, self.mta.spool)
            self.mta.start()
            for number in range(self.options.rounds):
                if not self.round(number):
                    return False
            return True
        finally:
            self.mta.kill_everything()
            for sink in self.sinks:
                sink.stop()
            if self.disk:
                self.disk.close()

    def round(self, number):
        begun = time.monotonic()
        self.greylist.healthy = False
        self.mta.forget_the_log()
        clients = Clients(self.mta, number, self.options.seed)
        time.sleep(self.die.uniform(1.5, 6))
        if self.options.kill:
            cut = self.kill(clients)
            self.books.enter(clients, clients.promised())
        else:
            cut = self.disk.cut()
            self.mta.kill_everything()
            self.end_load(clients)
            self.books.enter(clients, clients.promised(cut))
            self.disk.power_on()
        self.books.take(*self.sinks)
        power_on = time.monotonic()
        self.greylist.healthy = True
        if not self.options.kill:
            self.mta.start()
        not_empty = self.settle()
        return self.balance(number, begun, cut, power_on, not_empty)

    def kill(self, clients):
        what = self.die.choice(KILLED)
        cut = time.monotonic()
        if what == "all":
            self.mta.kill_everything()
            self.mta.start()
        else:
            self.mta.kill(what)
        time.sleep(self.die.uniform(0.2, 2))
        self.end_load(clients)
        self.say(f"{self.kind}: kill -9 {what}")
        return cut

    def end_load(self, clients):
        clients.stop()
        if not self.options.kill:
            wait_until(lambda: not any(sink.open for sink in self.sinks), 20, "the sinks to notice")

    def settle(self):
        """Until everything is delivered and the queue is empty; "": it is."""
        end, seen_empty = time.monotonic() + 90, 0
        while time.monotonic() < end:
            self.mta.run("sendmail", "-C", self.mta.file, "-q")
            queue = self.mta.spool_files() or self.mta.queue()
            self.books.take(*self.sinks)
            if not queue:
                seen_empty += 1
                if seen_empty >= (2 if not self.books.missing() else 20):
                    return ""
            else:
                seen_empty = 0
            time.sleep(0.25)
        return f"after 90 s the queue has still {queue[:10]}"

    def balance(self, number, begun, cut, power_on, not_empty):
        books, figures = self.books, self.figures
        lost = books.missing()
        done, partly, reports = books.repeats(cut)
        twice = books.twice_between(books.served, begun, cut) + books.twice_between(books.reported, begun, cut)
        if not self.options.kill:  # the agents that were not killed may come to know of it later
            twice += books.twice_between(books.served, power_on, float("inf"))
        incomplete, damaged = self.newly_set_aside()
        spared = len(self.mta.logged("was finished before the machine stopped"))
        figures.rounds += 1
        figures.promised += len(books.promises)
        figures.lost += len(lost)
        figures.repeats += len(done)
        figures.longest = max([figures.longest, *(each.first for each in done)])
        figures.partly += len(partly)
        figures.reports += len(reports)
        figures.spared += spared
        figures.incomplete += len(incomplete)
        self.say(f"{self.kind}, round {number + 1}: {len(books.promises)} promised, {len(lost)} lost, {len(done)} delivered again "
                 f"(longest {max([0, *(each.first for each in done)]):.2f} s), {len(partly)} of unfinished messages, "
                 f"{len(reports)} reports, {spared} known as finished, {len(incomplete)} incomplete")
        account = [f"{recipient} is lost" for recipient in lost]
        account += [f"{what}: {text}" for what, text, _ in books.wrong]
        account += [f"{recipient} was served twice, and no cut was between" for recipient in twice]
        account += [f"set aside as damaged: {path.relative_to(self.mta.spool)}: {why}" for path, why in damaged]
        account += [not_empty] if not_empty else []
        account += self.journal_imbalances()
        account += self.mta.crashes() + self.mta.denied()
        if account:
            self.tell(number, account, lost, cut)
            return False
        books.new_round()
        return True

    def journal_imbalances(self):
        """What the journal does not account for, together with the spool."""
        checked = self.mta.run("postrider", "history", "-c", self.mta.file, "--check", seconds=120)
        return [] if checked.returncode == 0 else [f"journal: {line}" for line in (checked.stdout + checked.stderr).splitlines()]

    def newly_set_aside(self):
        """(never completed, damaged): files set aside since this was asked last."""
        place = self.mta.spool / "quarantine"
        found = {p for p in [*place.rglob("*"), *(self.mta.spool / "bad").rglob("*")] if p.is_file() and p.suffix != ".why"}
        new, self.set_aside = found - self.set_aside, found
        damaged = [p for p in sorted(new) if p.parent != place / "incomplete"]
        return new - set(damaged), [(p, why_of(p)) for p in damaged]

    # -- what went wrong

    def tell(self, number, account, lost, cut):
        """An account that can be read, and what somebody needs to find the cause."""
        self.say(f"{self.kind}, round {number + 1}: {len(account)} things are wrong:")
        print("\n".join(f"  {line}" for line in account[:12]), flush=True)
        evidence = self.folder / f"evidence-{number + 1}"
        evidence.mkdir()
        (evidence / "account").write_text("\n".join(account) + "\n")
        for n, (what, _, content) in enumerate(self.books.wrong):
            (evidence / f"{n}-{what}").write_bytes(content)
        (evidence / "log").write_text("\n".join(self.mta.log()) + "\n")
        self.mta.kill_everything()
        if self.options.kill:
            shutil.copytree(self.mta.spool, evidence / "spool", ignore=lambda *_: ["run", "reserve"])
        else:
            self.disk.look_back()
        names = dict.fromkeys(NAME.match(recipient)[0] for recipient in lost)
        for name in list(names)[:3]:
            self.tell_of(name, cut)
        print(f"  {evidence} has all of them and the log" +
              ("" if self.options.kill else f"; {self.disk.outer_image}, mounted with -o loop, has the disk at the cut as at-the-cut"), flush=True)

    def tell_of(self, name, cut):
        """Where a lost message is on the disk, and what the log has about it."""
        promise = self.books.promises[name]
        print(f"  -- {name}: promised {cut - promise.at:.3f} s before the cut as {promise.queue_id}")
        print("".join(f"     {line}\n" for line in self.mta.log() if promise.queue_id in line), end="")
        number = struct.pack("<Q", int(promise.queue_id, 16))
        for path in sorted(p for p in self.mta.spool.rglob("*") if p.is_file()):
            octets = path.read_bytes()
            if name.encode() + b"-" in octets or name.encode() + b" " in octets or number in octets:
                print(f"     {path.relative_to(self.mta.spool)}: {len(octets)} bytes, the id at {octets.find(number)}, the name first at "
                      f"{octets.find(name.encode())}; begins {octets[:24].hex(' ', 8)}")


def why_of(path):
    try:
        return path.with_name(path.name + ".why").read_text().strip()
    except OSError:
        return "without a reason"


def print_table(rows):
    rows = [Figures.HEAD, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(Figures.HEAD))]
    for row in rows:
        print("  ".join(cell.ljust(width) if n == 0 else cell.rjust(width) for n, (cell, width) in enumerate(zip(row, widths))))


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/soak power")
    parser.add_argument("rounds", nargs="?", type=int, default=10, help="on each file system")
    parser.add_argument("seed", nargs="?", type=int, default=random.randrange(10**6))
    parser.add_argument("--reused-files", type=int, metavar="N", help="spool.reused_files; 0: a new file for every message")
    parser.add_argument("--kill", action="store_true", help="kill -9 of a random daemon in place of the power cut")
    parser.add_argument("--without-syncs", action="store_true", help="the MTA's syncs do nothing: must report loss")
    parser.add_argument("--on", default=",".join(KINDS), metavar="KINDS", help="file systems, separated by commas")
    options = parser.parse_args()
    options.on = options.on.split(",")
    if unknown := set(options.on) - set(KINDS):
        parser.error(f"--on: {', '.join(unknown)} is not one of {', '.join(KINDS)}")
    return options


def main():
    options, begun = arguments(), time.monotonic()
    if not enter_own_mounts() or not enter_own_network():
        sys.exit("power: needs root (mounts, loop devices)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = BUILD / "system-tests" / f"power-{options.seed}-{os.getpid()}"
    folder.mkdir(parents=True)

    def say(text):
        print(f"{time.monotonic() - begun:8.1f} s  {text}", flush=True)
    say(f"seed {options.seed}, {options.rounds} rounds on each of {', '.join(options.on)}, in {folder}")
    rows, well = [], True
    with SlowWriteBack():
        for kind in options.on:
            run = Run(folder, kind, options, say)
            rows.append(run.figures)
            try:
                well &= run.all_rounds()
            except AssertionError:
                traceback.print_exc()
                print(run.mta.last_words(), flush=True)
                well = False
    print_table([row.cells() for row in rows])
    if well:
        shutil.rmtree(folder)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
