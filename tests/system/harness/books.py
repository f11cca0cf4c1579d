"""The books: every acknowledged recipient is delivered, reported to its sender, or still queued. Never nothing."""
import re
import threading
from collections import Counter

from .client import Client, message

TOKEN = re.compile(r"\btoken-([a-z0-9-]+)\b")


class Load:
    """Clients that send until told to stop (or `count` messages each), and write down what was acknowledged."""

    def __init__(self, mta, domain="remote.example", clients=4, count=None, size=1500, port=None, recipients=1):
        self.mta, self.domain, self.count, self.size, self.recipients = mta, domain, count, size, recipients
        self.port = port or mta.relay_port
        self.acknowledged, self.unsure, self.refused = set(), set(), 0
        self.lock, self.halt = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(clients)]
        for t in self.threads:
            t.start()

    def run(self, me):
        sent, client = 0, None
        while not self.halt.is_set() and (self.count is None or sent < self.count):
            token = f"{me}-{sent}"
            sent += 1
            handed_over = False
            try:
                if client is None:
                    client = Client(self.mta.address, self.port, timeout=20)
                    client.say("EHLO load.example")
                recipients = [f"token-{token}-{r}@{self.domain}" for r in range(self.recipients)]
                text = message(f"token-{token}", "x" * self.size, "sender@test.example", recipients[0])
                handed_over = True
                reply = client.deliver("sender@test.example", recipients, text)
                with self.lock:
                    if reply.startswith("250"):
                        self.acknowledged.update(f"{token}-{r}" for r in range(self.recipients))
                    else:
                        self.refused += 1
                        client.close()
                        client = None
            except Exception:
                # Cut off: perhaps it was taken, perhaps not. Nothing was promised.
                if handed_over:
                    with self.lock:
                        self.unsure.update(f"{token}-{r}" for r in range(self.recipients))
                if client:
                    client.close()
                client = None
                self.halt.wait(0.02)
        if client:
            client.close()

    def so_far(self):
        with self.lock:
            return len(self.acknowledged)

    def stop(self):
        self.halt.set()
        self.join()

    def join(self, seconds=60):
        for t in self.threads:
            t.join(seconds)
            assert not t.is_alive(), "a client hangs"


def delivered(*sinks):
    """How often each recipient was delivered."""
    count = Counter()
    for sink in sinks:
        with sink.lock:
            for m in sink.messages:
                count.update(found[1] for found in (TOKEN.match(r.split("@")[0]) for r in m.recipients) if found)
    return count


def reported(reports):
    """Recipients named as failed in these NDR texts."""
    count = Counter()
    for text in reports:
        count.update(TOKEN.findall(" ".join(re.findall(r"^Final-Recipient:.*$", text, re.M | re.I))))
    return count


def balance(load, sinks, reports=(), queued=(), duplicates_at_most=0):
    """accepted = delivered + reported + queued, and nothing was delivered that nobody sent."""
    done, told = delivered(*sinks), reported(reports)
    accounted = set(done) | set(told) | set(queued)
    lost = load.acknowledged - accounted
    invented = accounted - load.acknowledged - load.unsure
    twice = sum(n - 1 for n in done.values())
    assert not lost, f"{len(lost)} of {len(load.acknowledged)} acknowledged recipients are lost: {sorted(lost)[:10]}"
    assert not invented, f"delivered though never sent: {sorted(invented)[:10]}"
    assert twice <= duplicates_at_most, f"{twice} duplicates, at most {duplicates_at_most} were to be expected"
    return twice
