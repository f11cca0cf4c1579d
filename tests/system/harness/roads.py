"""The roads of mail through a system, and how long a probe takes on each while somebody else misbehaves:

  SMTP in    from connecting to the 250
  sendmail   from starting sendmail to the arrival at a remote server
  local      from the 250 to the recipient's mailbox
  remote     from the 250 to the remote server
  bounce     from the 250 of mail that a remote server refuses to the report at its sender's
  listing    mailq, from start to end
"""
import re
import statistics
import threading
import time

from .client import message

ROADS = ("SMTP in", "sendmail", "local", "remote", "bounce", "listing")
TOKEN = re.compile(r"\bprobe-([a-z]+-\d+)\b")


class Roads:
    """Probes on all roads, one after the other on each, at least `gap` seconds apart, until stop()."""

    def __init__(self, system, arrivals, gap=1.0):
        self.system, self.arrivals, self.gap = system, arrivals, gap
        self.begun, self.took, self.wrong = {}, {road: [] for road in ROADS}, []
        self.early = set()  # arrived before their 250 was heard
        self.halt, self.done, self.lock = threading.Event(), threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.drive, args=(walk,), daemon=True)
                        for walk in (self.remote, self.local, self.bounce, self.sendmail, self.listing)]
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        for thread in (*self.threads, self.watcher):
            thread.start()

    def drive(self, walk):
        number = 0
        while not self.halt.is_set():
            begun = time.monotonic()
            try:
                walk(number)
            except Exception as why:
                with self.lock:
                    self.wrong.append(f"{walk.__name__}: {why!r}")
            number += 1
            self.halt.wait(max(0.05, self.gap - (time.monotonic() - begun)))

    # -- the roads

    def set_out(self, road, token):
        with self.lock:
            self.begun[token] = (road, time.monotonic())

    def send(self, token, sender, recipient):
        """Over SMTP; the time until its 250 is one measurement, the way from there on another."""
        begun = time.monotonic()
        entry = object()
        with self.lock:
            self.begun[entry] = ("SMTP in", begun)
        try:
            with self.system.client(timeout=300) as c:
                reply = c.deliver(sender, [recipient], message(f"probe-{token}", "A probe.", sender, recipient))
                c.say("QUIT")
        finally:
            with self.lock:
                del self.begun[entry]
                self.took["SMTP in"].append(time.monotonic() - begun)
        if not reply.startswith("250"):
            raise AssertionError(reply)

    def remote(self, n):
        self.send_and_follow("remote", f"remote-{n}", "sender@remote.example", f"probe-remote-{n}@remote.example")

    def local(self, n):
        self.send_and_follow("local", f"local-{n}", "sender@remote.example", "probe@test.example")

    def bounce(self, n):
        self.send_and_follow("bounce", f"bounce-{n}", "reports@remote.example", f"probe-bounce-{n}@refusing.example")

    def send_and_follow(self, road, token, sender, recipient):
        self.send(token, sender, recipient)
        self.set_out(road, token)

    def sendmail(self, n):
        token = f"sendmail-{n}"
        self.set_out("sendmail", token)
        done = self.system.sendmail("-i", "-f", "sender@remote.example", f"probe-{token}@remote.example",
                                    input=f"Subject: probe-{token}\n\nA probe.\n")
        if done.returncode != 0:
            raise AssertionError(f"sendmail: {done.returncode} {done.stderr}")

    def listing(self, n):
        begun = time.monotonic()
        entry = object()
        with self.lock:
            self.begun[entry] = ("listing", begun)
        done = self.system.listing()
        with self.lock:
            del self.begun[entry]
            self.took["listing"].append(time.monotonic() - begun)
        if done.returncode != 0:
            raise AssertionError(f"mailq: {done.returncode} {done.stderr}")

    # -- the ends

    def watch(self):
        while True:
            tokens = set()
            for text in self.arrivals():
                tokens.update(TOKEN.findall(text))
            now = time.monotonic()
            with self.lock:
                for token in tokens:
                    if token in self.begun:
                        road, begun = self.begun.pop(token)
                        self.took[road].append(now - begun)
                    else:
                        self.early.add(token)
                for token in list(self.early & set(map(str, self.begun))):
                    road, _ = self.begun.pop(token)
                    self.took[road].append(0.0)
                    self.early.discard(token)
            if self.halt.is_set() and self.done.is_set():
                return
            time.sleep(0.01)

    def stop(self, grace=5.0):
        """No further probes; those under way have so many seconds more."""
        self.halt.set()
        end = time.monotonic() + grace
        while self.begun and time.monotonic() < end:
            time.sleep(0.02)
        self.done.set()
        return self

    def result(self):
        """{road: (median, worst, how many have not arrived)}; a probe that has not arrived counts with its age."""
        now, found = time.monotonic(), {}
        with self.lock:
            for road in ROADS:
                open_ones = [now - begun for r, begun in self.begun.values() if r == road]
                all_of_them = self.took[road] + open_ones
                found[road] = (statistics.median(all_of_them), max(all_of_them), len(open_ones)) if all_of_them else None
        return found


def in_words(one):
    if one is None:
        return "-"
    median, worst, missing = one
    return f"{worst:.2f}" if not missing else f">{worst:.0f} ({missing} waiting)"
