"""Messages filled with their own name, clients that send them and write down what was promised, and the books over what
came of them. A name tells all about its message (kind, round, client, number), so what arrives is compared, byte for
byte, with what was sent, and one byte of another message shows."""
import random
import re
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from .client import Client

# Kind: how many of a hundred; its recipients. Those of slow.example are deferred for a while, those named fail are refused.
KINDS = {
    "plain": (38, ["-1@remote.example"]),
    "two": (12, ["-1@remote.example", "-2@remote.example"]),
    "apart": (8, ["-1@remote.example", "-2@second.example"]),
    "half": (6, ["-1@remote.example", "-2@slow.example"]),
    "slow": (12, ["-1@slow.example"]),
    "fail": (6, ["-fail@remote.example"]),
    "halffail": (4, ["-1@remote.example", "-fail@remote.example"]),
    "large": (6, ["-1@remote.example"]),
    "edge": (8, ["-1@remote.example"]),
}
NAME = re.compile(r"pc-[a-z]+-\d+-\d+-\d+")
TRACE = re.compile(rb"(?:Received: [^\r\n]*\r\n(?:[ \t][^\r\n]*\r\n)*)+")


def kind_of(name):
    return name.split("-")[1]


def recipients_of(name):
    return [name + rest for rest in KINDS[kind_of(name)][1]]


def sender_of(name):
    return f"{name}-back@reports.example"


def content_of(name):
    """Every line has the name in it. Small enough for a reused file (32 KiB, with header and envelope), or about as large as
    one ("edge"), or larger."""
    die = random.Random(name)
    size = {"large": lambda: die.randrange(33_000, 120_000), "edge": lambda: die.randrange(31_500, 32_800)}.get(
        kind_of(name), lambda: int(2 ** die.uniform(7, 14.5)))()
    head = (f"From: {sender_of(name)}\r\nTo: {', '.join(recipients_of(name))}\r\nSubject: {name}\r\nMessage-ID: <{name}@test.example>\r\n"
            f"Date: Fri, 20 Nov 2026 16:00:00 +0000\r\n\r\n")
    line = (f"{name} " * 4)[:-1]
    lines = max(1, (size - len(head)) // (len(line) + 8))
    return (head + "".join(f"{line} {n:05}\r\n" for n in range(lines))).encode()


@dataclass
class Promise:
    at: float
    queue_id: str


@dataclass
class Clients:
    """They send until told to stop. `promises`: what got a 250, and when; `sent`: what may have arrived."""
    mta: object
    round: int
    seed: int
    count: int = 6
    promises: dict = field(default_factory=dict)
    sent: set = field(default_factory=set)
    refused: int = 0

    def __post_init__(self):
        self.lock, self.halt = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(self.count)]
        for thread in self.threads:
            thread.start()

    def run(self, me):
        die, number, client = random.Random(f"{self.seed} {self.round} {me}"), 0, None
        while not self.halt.is_set():
            kind = die.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
            name = f"pc-{kind}-{self.round}-{me}-{number}"
            number += 1
            try:
                if client is None:
                    client = Client(self.mta.address, self.mta.relay_port, timeout=20)
                    client.say("EHLO load.example")
                with self.lock:
                    self.sent.add(name)
                reply = client.deliver(sender_of(name), recipients_of(name), content_of(name))
                if not reply.startswith("250"):
                    self.refused += 1
                    raise OSError(reply)
                with self.lock:
                    self.promises[name] = Promise(time.monotonic(), reply.split()[-1])
            except Exception:  # cut off or refused: nothing was promised
                if client:
                    client.close()
                client = None
                self.halt.wait(0.02)
            self.halt.wait(die.uniform(0, 0.01))
        if client:
            client.close()

    def promised(self, until=float("inf")):
        with self.lock:
            return {name: promise for name, promise in self.promises.items() if promise.at <= until}

    def stop(self):
        self.halt.set()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a client hangs"


@dataclass
class Repeat:
    recipient: str
    first: float  # seconds between the delivery that was known and the cut


class Books:
    """What was promised and what became of it, over all rounds of a run. `wrong`: whatever no power cut excuses."""

    def __init__(self):
        self.sent, self.promises = set(), {}
        self.served, self.reported = defaultdict(list), defaultdict(list)  # recipient → when
        self.wrong = []

    def enter(self, clients, promised):
        """What clients may have sent, and what counts as promised."""
        self.sent |= clients.sent
        self.promises.update(promised)

    def take(self, *sinks):
        """Moves what the sinks have into the books."""
        for sink in sinks:
            with sink.lock:
                came, sink.messages[:] = list(sink.messages), []
            for message in came:
                self.take_one(message)

    def take_one(self, message):
        if not message.sender and message.recipients[0].endswith("@reports.example"):
            return self.take_report(message)
        names = {NAME.match(r)[0] if NAME.match(r) else r for r in [message.sender, *message.recipients]}
        name = min(names)
        if len(names) != 1 or not NAME.fullmatch(name):
            return self.note("envelope", f"of several messages: {message.sender}, {message.recipients}", message.content)
        for recipient in message.recipients:
            if recipient not in recipients_of(name):
                self.note("envelope", f"{name} has no recipient {recipient}")
            self.served[recipient].append(message.at)
        self.check_sent(name)
        expected, found = content_of(name), message.content
        trace = TRACE.match(found)
        if not trace:
            return self.note("content", f"{name}: no Received: field at its beginning", found)
        strangers = set(NAME.findall(trace[0].decode("latin-1"))) - {name}
        if strangers:
            self.note("content", f"{name}: its Received: field names {strangers}", found)
        if found[trace.end():] != expected:
            self.note("content", f"{name}: {first_difference(expected, found[trace.end():])}", found)
        promise = self.promises.get(name)
        if promise and promise.queue_id not in trace[0].decode("latin-1"):
            self.note("content", f"{name} was promised as {promise.queue_id}, and was served as {trace[0].decode('latin-1')}", found)

    def take_report(self, message):
        text = message.content.decode("latin-1")
        name = NAME.match(message.recipients[0])[0]
        self.check_sent(name)
        if set(NAME.findall(text)) != {name}:
            self.note("report", f"for {name} names {sorted(set(NAME.findall(text)))}", message.content)
        for recipient in re.findall(r"^Final-Recipient: *rfc822; *(\S+)", text, re.M | re.I):
            self.reported[recipient].append(message.at)
            if "-fail@" not in recipient:
                self.note("report", f"{recipient} was reported, though no server refused it", message.content)
        sent = content_of(name)
        if sent not in message.content and sent.partition(b"\r\n\r\n")[0] not in message.content:
            self.note("report", f"for {name} returns another content than was sent", message.content)

    def check_sent(self, name):
        if name not in self.sent:
            self.note("invented", f"{name} was never sent")

    def note(self, what, text, content=b""):
        self.wrong.append((what, text, content))

    def events(self, recipient):
        return self.reported[recipient] if "-fail@" in recipient else self.served[recipient]

    def missing(self):
        """Promised recipients that were neither delivered to nor, if refused, reported."""
        return [r for name in self.promises for r in recipients_of(name) if not self.events(r)]

    def repeats(self, cut):
        """What came again after the cut: deliveries of messages that were done with, of messages that had another recipient
        waiting, and reports (a message whose report was taken over just then asks for it again)."""
        done, partly = [], []
        for recipient, times in list(self.served.items()):
            before = [t for t in times if t <= cut]
            if not before or before == times:
                continue
            last = [max([t for t in self.events(r) if t <= cut], default=None) for r in recipients_of(NAME.match(recipient)[0])]
            if None in last:
                partly.append(Repeat(recipient, cut - before[-1]))
            else:
                done.append(Repeat(recipient, cut - max(last)))
        reports = [Repeat(recipient, max(0, cut - times[-2])) for recipient, times in self.reported.items()
                   if len(times) > 1 and times[-1] > cut]
        return done, partly, reports

    @staticmethod
    def twice_between(events, begun, ended):
        """Those of the recipients served, or reported, twice in a time without a cut."""
        return [recipient for recipient, times in events.items() if sum(begun < t <= ended for t in times) > 1]

    def new_round(self):
        """What was promised is accounted for; what was served stays known: if it comes once more, that is a repeat too."""
        self.promises.clear()


def first_difference(expected, found):
    at = next((n for n, (a, b) in enumerate(zip(expected, found)) if a != b), min(len(expected), len(found)))
    return (f"{len(found)} bytes, {len(expected)} were sent; the first that differs is {at}: {found[at:at + 60]!r} instead of "
            f"{expected[at:at + 60]!r}")
