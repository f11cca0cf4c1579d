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


def note(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def drop_caches():
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError as error:
        note(f"caches stay warm: {error}")


def wait_until(what, seconds, name):
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return time.monotonic()
        if time.monotonic() > end:
            raise TimeoutError(f"{name} within {seconds} s")
        time.sleep(0.02)


def timed(function):
    begun = time.monotonic()
    found = function()
    return time.monotonic() - begun, found


def private(mta, group):
    return sum(measure.memory_of(p, "Private") for p in mta.queue_manager(group))


def kill_all(mta, group):
    for pid in group.pids():
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    mta.process.wait()


class Run:
    """One MTA with its spool filled; each restart is with cold caches and a sink that counts."""

    def __init__(self, bench, mta, messages):
        self.bench, self.mta, self.messages = bench, mta, messages
        self.group = measure.Group(mta.name.lower())
        self.out = {}

    def ask(self, *words):
        return subprocess.run([self.mta.programs / "postrider", *words[:2], "-c", self.mta.config, *words[2:]],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

    def facts(self):
        try:
            return json.loads(self.ask("status", "--json"))["queue"] or {}
        except subprocess.CalledProcessError:
            return {}

    def restart(self, name, stop):
        """Stops, drops the caches, starts: seconds to the first message at the sink, and to everything loaded."""
        stop()
        sink = load.Sink(*SINK)
        try:
            drop_caches()
            begun = time.monotonic()
            self.mta.start(self.group)
            first = wait_until(sink.messages, 60, f"{name}: a first delivery") - begun
            self.out[f"{name}: first delivery s"] = first
            if self.mta.name == "Postrider":
                loaded = wait_until(lambda: self.facts().get("loading") is False, 900, f"{name}: everything loaded")
                self.out[f"{name}: fully loaded s"] = loaded - begun
            note(f"{self.mta.name}: " + ", ".join(f"{k} {v:.3g}" for k, v in self.out.items() if k.startswith(name)))
        finally:
            sink.stop()

    def look(self):
        queued = self.mta.queued()
        if self.mta.name == "Postrider":
            self.out["status s"], _ = timed(self.facts)
            self.out["link list s"], _ = timed(lambda: self.ask("link", "list"))
            self.out["queue-manager MB"] = private(self.mta, self.group) / 1e6
            self.out["bytes/message"] = (private(self.mta, self.group) - self.empty) / max(1, queued)
        self.out["listing s"], listed = timed(self.mta.list_queue)
        self.out["listed"] = listed

    def drain(self):
        sink = load.Sink(*SINK)
        try:
            begun = time.monotonic()
            wanted = min(self.mta.queued(), self.messages // 5)
            self.mta.flush()
            done = load.wait_until_received([sink], wanted, 600)
            self.out["drained/s"] = wanted / (done - begun)
        finally:
            sink.stop()

    def finish(self):
        self.mta.stop(self.group)
        self.group.close()


def postrider(bench, mta, messages):
    place = bench.disk.fresh()
    mta.configure(place, {"*": SINK})
    run = Run(bench, mta, messages)
    try:
        mta.start(run.group)
        time.sleep(1)
        run.empty = private(mta, run.group)
        mta.stop(run.group)
        owner = {"user": "postrider", "group": "postrider"} if os.geteuid() == 0 else {}

        def fill(count, due_percent):
            subprocess.run([bench.options.build / "tests/bench/fill-spool", mta.spool, str(count), str(due_percent)],
                           check=True, **owner)

        def after(stop):
            stop()
            fill(DUE, 100)
        took, _ = timed(lambda: fill(messages, 0))
        note(f"{messages} messages written in {took:.0f} s")
        run.restart("cold start", lambda: fill(DUE, 100))
        run.restart("clean restart", lambda: after(lambda: mta.stop(run.group)))
        run.restart("after kill -9", lambda: after(lambda: kill_all(mta, run.group)))
        run.look()
        run.drain()
        return run.out
    except Exception:
        print(mta.last_words(), file=sys.stderr)
        raise
    finally:
        run.finish()


def postfix(bench, mta, messages):
    """Postfix has no way in but its own: the messages come by SMTP while the sink is down."""
    place = bench.disk.fresh()
    mta.configure(place, {"*": SINK})
    run = Run(bench, mta, messages)
    try:
        mta.start(run.group)
        took, _ = timed(lambda: load.source(mta.address, mta.port, messages, size=1024).wait())
        note(f"Postfix: {messages} messages taken in {took:.0f} s")
        wait_until(mta.everything_deferred, 1800, "everything deferred")
        run.out["queue-manager MB"] = sum(measure.memory_of(p) for p in mta.queue_manager(run.group)) / 1e6

        def stop_and_make_due():
            os.kill(int((SPOOL / "pid/master.pid").read_text()), 15)
            wait_until(lambda: not run.group.pids() or mta.process.poll() is not None, 20, "Postfix to end")
            kill_all(mta, run.group)
            past = time.time() - 10
            for here, _, names in os.walk(SPOOL / "deferred"):
                for name in names:
                    os.utime(os.path.join(here, name), (past, past))
        run.restart("clean restart", stop_and_make_due)
        run.look()
        run.drain()
        return run.out
    except Exception:
        print(mta.last_words(), file=sys.stderr)
        raise
    finally:
        run.finish()


def print_table(results):
    rows = dict.fromkeys(k for found in results.values() for k in found)
    print(f"\n{'':34}" + "".join(f"{name:>24}" for name in results))
    for row in rows:
        print(f"{row:34}" + "".join(f"{found[row]:>24.4g}" if row in found else f"{'-':>24}" for found in results.values()))
