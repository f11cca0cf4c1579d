"""scripts/bench backlog: a spool full of messages that wait; what they cost, and how soon mail flows after a restart."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from . import load, measure
from .postfix import SPOOL

SINK = ("127.0.0.1", 2600)
DUE = 500  # messages that are due at each restart, beside those that wait for hours

# What Postrider is to keep, by row of the table: at most so much.
TARGETS = {
    "clean restart: first delivery s": 5, "clean restart: fully loaded s": 60,
    "after kill -9: first delivery s": 5, "after kill -9: fully loaded s": 60,
    "status while loading s": 1, "status s": 1, "bytes/message": 200,
    "listing: queue-manager grows MB": 4, "listing: command grows MB": 4,
}


def note(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def drop_caches():
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError as error:
        note(f"caches stay warm: {error}")


def wait_until(what, seconds, name, every=0.02):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise TimeoutError(f"{name} within {seconds} s")
        time.sleep(every)
    return time.monotonic()


def timed(function):
    begun = time.monotonic()
    found = function()
    return time.monotonic() - begun, found


class Run:
    """One MTA with its spool filled, for as long as the `with` lasts; what it shows gathers in `out`."""

    def __init__(self, bench, mta, messages):
        self.bench, self.mta, self.messages = bench, mta, messages
        self.out = {}

    def __enter__(self):
        self.mta.configure(self.bench.disk.fresh(), {"*": SINK})
        self.group = measure.Group(self.mta.name.lower())
        return self

    def __exit__(self, kind, error, trace):
        if error:
            print(self.mta.last_words(), file=sys.stderr)
        self.mta.stop(self.group)
        self.group.close()

    def say(self, text):
        note(f"{self.mta.name}: {text}")

    def show(self, begins):
        self.say(", ".join(f"{k} {v:.4g}" for k, v in self.out.items() if k.startswith(begins)))

    def start(self):
        self.mta.start(self.group)

    def kill(self):
        for pid in self.group.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.mta.process.wait()

    def private(self):
        return sum(measure.memory_of(p, "Private") for p in self.mta.queue_manager(self.group))

    def restart(self, name, stop):
        """Stops, drops the caches, starts: seconds to the first message at the sink, and to everything loaded."""
        self.say(f"{name} …")
        stop()
        with load.Sink(*SINK) as sink:
            drop_caches()
            begun = time.monotonic()
            self.start()
            first = wait_until(sink.messages, 60, f"{name}: a first delivery")
            self.out[f"{name}: first delivery s"] = first - begun
            self.after_start(name, begun)
            load.wait_until_received([sink], DUE, 120)  # a sink that went earlier would leave a link that failed
        self.show(name)

    def after_start(self, name, begun):
        pass

    def look(self):
        self.say("looking …")
        before = self.private()
        self.out["queue-manager MB"] = before / 1e6
        grown = measure.PeakMemory(self.private)
        self.out["listing s"], (self.out["listed"], peak) = timed(lambda: measure.listing(self.mta.listing_command()))
        self.out["listing: queue-manager grows MB"] = (grown.stop() - before) / 1e6
        self.out["listing: command grows MB"] = (peak - self.listing_alone) / 1e6
        self.show("listing")

    def drain(self):
        wanted = min(self.mta.queued(), self.messages // 5)
        self.say(f"draining {wanted} …")
        with load.Sink(*SINK) as sink:
            begun = time.monotonic()
            self.mta.flush()
            self.out["drained/s"] = wanted / (load.wait_until_received([sink], wanted, 600) - begun)
        self.show("drained")

    def measured(self):
        """What the MTA weighs when it has nothing to do, and what its listing does; then the rest of it."""
        self.start()
        wait_until(lambda: self.private() > 0, 20, "a queue manager")
        time.sleep(1)
        self.empty = self.private()
        _, self.listing_alone = measure.listing(self.mta.listing_command())
        took, _ = timed(self.fill)
        self.say(f"{self.messages} messages in its spool after {took:.0f} s")
        for name, stop in self.restarts().items():
            self.restart(name, stop)
        self.look()
        self.drain()
        return self.out


class PostriderRun(Run):
    """Its messages are written into its spool as it would have left them."""

    def write(self, count, due_percent):
        owner = {"user": "postrider", "group": "postrider"} if os.geteuid() == 0 else {}
        subprocess.run([self.bench.options.build / "tests/bench/fill-spool", self.mta.spool, str(count),
                        str(due_percent), str(self.bench.options.size)], check=True, **owner)

    def fill(self):
        self.mta.stop(self.group)
        self.write(self.messages, 0)

    def restarts(self):
        def after(stop):
            stop()
            self.write(DUE, 100)
        return {"cold start": lambda: self.write(DUE, 100),
                "clean restart": lambda: after(lambda: self.mta.stop(self.group)),
                "after kill -9": lambda: after(self.kill)}

    def facts(self):
        try:
            return json.loads(self.mta.ask("status", "--json"))["queue"] or {}
        except subprocess.CalledProcessError:
            return {}

    def after_start(self, name, begun):
        slowest = 0

        def loaded():
            nonlocal slowest
            took, facts = timed(self.facts)
            slowest = max(slowest, took)
            return facts.get("loading") is False
        self.out[f"{name}: fully loaded s"] = wait_until(loaded, 900, f"{name}: everything loaded", 0.1) - begun
        self.out["status while loading s"] = max(slowest, self.out.get("status while loading s", 0))

    def look(self):
        self.out["status s"], facts = timed(self.facts)
        self.out["link list s"], _ = timed(lambda: self.mta.ask("link", "list"))
        self.out["bytes/message"] = (self.private() - self.empty) / facts["messages"]
        super().look()


class PostfixRun(Run):
    """It has no way in but its own: its messages come by SMTP while the sink is down."""

    def fill(self):
        source = load.source(self.mta.address, self.mta.port, self.messages, size=self.bench.options.size, reuse=True)
        while source.poll() is None:
            time.sleep(15)
            self.say(f"{self.mta.queued()} taken")
        self.say("waiting until all are deferred …")
        wait_until(self.mta.everything_deferred, 1800, "everything deferred", 1)

    def restarts(self):
        return {"clean restart": self.stop_and_make_due}

    def stop_and_make_due(self):
        """Its schedule is the files' times: some are due, the others wait as long as Postrider's do."""
        os.kill(int((SPOOL / "pid/master.pid").read_text()), 15)
        wait_until(lambda: not self.group.pids() or self.mta.process.poll() is not None, 20, "Postfix to end")
        self.kill()
        now = time.time()
        files = [os.path.join(here, name) for here, _, names in os.walk(SPOOL / "deferred") for name in names]
        for n, file in enumerate(files):
            due = now - 10 if n % max(1, len(files) // DUE) == 0 else now + 3600
            os.utime(file, (due, due))


def run(bench, mta, messages):
    with (PostriderRun if mta.name == "Postrider" else PostfixRun)(bench, mta, messages) as one:
        return one.measured()


def print_table(results, size):
    rows = dict.fromkeys(k for found in results.values() for k in found)
    print(f"\n{f'backlog of {size}-byte messages':36}" + "".join(f"{name:>24}" for name in results) + "      Postrider's target")
    for row in rows:
        line = f"{row:36}" + "".join(f"{found[row]:>24.4g}" if row in found else f"{'-':>24}" for found in results.values())
        ours = next((found[row] for name, found in results.items() if name.startswith("Postrider") and row in found), None)
        if row in TARGETS and ours is not None:
            line += f"{f'at most {TARGETS[row]}':>16}  {'met' if ours <= TARGETS[row] else 'MISSED'}"
        print(line)
