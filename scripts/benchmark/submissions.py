"""scripts/bench submissions: how fast mail is accepted over HTTP and over SMTP, with and without readers of the journal's events."""
import http.client
import json
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time

from . import goals, load, measure
from .backlog import note, wait_until

API = ("127.0.0.1", 8587)
PROTOCOLS = ("http", "smtp")
AT_LEAST = 0.7          # of SMTP's rate
MARK_EVERY = 0.5        # seconds between the events that the readers wait for
LONGEST_MARK = 5        # seconds until the last reader should have such an event
LONGEST_WAIT = 60       # until it must


def mark(number):
    """The address whose suppression is the event."""
    return f"mark{number}@example.org"


class Readers(threading.Thread):
    """So many followers of server-sent events. What they follow is rare: a mark is made from time to time, and each of them
    must get each of them, in order."""

    def __init__(self, token, count):
        super().__init__(daemon=True)
        self.token, self.count = token, count
        self.made, self.delays, self.failure, self.ending = [], [], None, threading.Event()
        self.selector = selectors.DefaultSelector()
        self.received = []
        for number in range(count):
            s = socket.create_connection(API, 10)
            s.sendall((f"GET /v1/events?type=suppression.added HTTP/1.1\r\nHost: {API[0]}\r\nAccept: text/event-stream\r\n"
                       f"Authorization: Bearer {token}\r\n\r\n").encode())
            first = s.recv(12)
            if first != b"HTTP/1.1 200":
                sys.exit(f"reader {number}: {first!r}")
            s.setblocking(False)
            self.received.append({"text": b"", "marks": 0})
            self.selector.register(s, selectors.EVENT_READ, self.received[-1])
        self.maker = threading.Thread(target=self.make, daemon=True)

    def __enter__(self):
        if self.count:
            self.start()
            self.maker.start()
        return self

    def __exit__(self, kind, error, trace):
        self.ending.set()
        if self.count:
            self.maker.join()
            self.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        if self.failure and not error:
            sys.exit(self.failure)

    def make(self):
        """The next mark when all have the one before."""
        while not self.ending.wait(MARK_EVERY):
            self.made.append(time.monotonic())
            ask(self.token, "POST", "/v1/suppressions", {"recipient": mark(len(self.made))})
            end = self.made[-1] + LONGEST_WAIT
            while len(self.delays) < len(self.made):
                if time.monotonic() > end:
                    got = sum(each["marks"] >= len(self.made) for each in self.received)
                    self.failure = f"{got} of {self.count} readers have got event {len(self.made)} after {LONGEST_WAIT} s"
                if self.failure:
                    return
                time.sleep(0.002)

    def run(self):
        while not self.ending.is_set() or self.maker.is_alive():
            for key, _ in self.selector.select(0.1):
                self.take(key.fileobj, key.data)

    def take(self, s, reader):
        try:
            piece = s.recv(65536)
        except BlockingIOError:
            return
        if not piece:
            self.failure = "a reader was cut off"
            self.selector.unregister(s)
            return
        reader["text"] += piece
        *events, reader["text"] = reader["text"].split(b"\n\n")
        for event in events:
            if b"event: suppression.added" not in event:
                continue  # the answer's header, and lines that keep the connection alive
            reader["marks"] += 1
            if f'"recipient":"{mark(reader["marks"])}"'.encode() not in event:
                self.failure = f"a reader expected event {reader['marks']}, and got {event!r}"
        if min(each["marks"] for each in self.received) > len(self.delays):
            self.delays.append(time.monotonic() - self.made[len(self.delays)])


def ask(token, method, path, body=None):
    connection = http.client.HTTPConnection(*API, timeout=30)
    connection.request(method, path, json.dumps(body) if body else None,
                       {"Authorization": f"Bearer {token}", **({"Content-Type": "application/json"} if body else {})})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


def settings():
    return "[http]\n" + f'listen = ["{API[0]}:{API[1]}"]\n'


def one_run(bench, mta, group, protocol, token, messages):
    place = API if protocol == "http" else (mta.address, mta.port)
    options = bench.options
    command = [options.build / "tests/bench/submission-source", "-s", str(options.connections), "-m", str(messages),
               "-l", str(options.size), "-t", token, protocol, f"{place[0]}:{place[1]}"]
    cpu = group.cpu_seconds()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{protocol}: {done.stderr}{mta.last_words()}")
    return {"submissions/s": messages / float(done.stdout), "CPU ms/message": (group.cpu_seconds() - cpu) / messages * 1000}


def stage(bench, mta, group, token, readers):
    """Runs in pairs, each of which begins with the other protocol than the one before it."""
    options, runs = bench.options, {protocol: [] for protocol in PROTOCOLS}
    with Readers(token, readers) as following:
        for n in range(options.runs):
            steal = goals.Steal()
            for protocol in PROTOCOLS if n % 2 == 0 else reversed(PROTOCOLS):
                found = one_run(bench, mta, group, protocol, token, options.submissions)
                runs[protocol].append(found)
                note(f"{readers} readers, {protocol} run {n + 1}: " + ", ".join(f"{k} {v:.4g}" for k, v in found.items()))
            if steal.share() > goals.STEAL_LIMIT:
                bench.disturbed.append(f"{readers} readers, pair {n + 1}: the host took {steal.share():.0%} of the processors' time")
    marks = following.delays
    if readers and not marks:
        sys.exit("the readers have got nothing; take more messages")
    return {"readers": readers, "runs": runs, "events": len(marks),
            "event to last reader ms": {"median": statistics.median(marks) * 1000, "longest": max(marks) * 1000} if marks else None}


def run(bench, mta):
    mta.configure(bench.disk.fresh(), {"*": ("127.0.0.1", 2600)})
    with mta.config.open("a") as config:
        config.write(settings())
    group = measure.Group(mta.name.lower())
    try:
        mta.start(group)
        token = mta.ask("token", "add", "bench", "--scope", "read,submit,suppress").strip()
        load.wait_for_port(mta.address, mta.port)
        wait_until(lambda: ask(token, "GET", "/readyz")[0] == 200, 60, "the API to be ready")
        mta.ask("pause", "everything")
        for protocol in PROTOCOLS:
            one_run(bench, mta, group, protocol, token, bench.options.submissions // 5)  # warm
        return [stage(bench, mta, group, token, readers) for readers in sorted({0, bench.options.readers})]
    except BaseException:
        print(mta.last_words(), file=sys.stderr)
        raise
    finally:
        mta.stop(group)
        group.close()


def print_table(stages, options):
    """Ratios are medians of those of the pairs: what disturbs a pair disturbs both of its runs."""
    print(f"\n{options.submissions} messages of {options.size} bytes over {options.connections} connections, held; {options.runs} pairs")
    print(f"{'':34}{'HTTP':>10}{'SMTP':>10}{'ratio':>8}   of the pairs")
    short = []
    for each in stages:
        for row in each["runs"]["http"][0]:
            of = {protocol: [found[row] for found in each["runs"][protocol]] for protocol in PROTOCOLS}
            ratios = [a / b for a, b in zip(of["http"], of["smtp"])]
            line = f"{each['readers']:>4} readers: {row:20}" + "".join(f"{statistics.median(of[p]):>10.4g}" for p in PROTOCOLS)
            line += f"{statistics.median(ratios):>8.2f}   " + " ".join(f"{ratio:.2f}" for ratio in ratios)
            if row == "submissions/s" and statistics.median(ratios) < AT_LEAST:
                short.append(f"{each['readers']} readers: {statistics.median(ratios):.2f}, asked ≥ {AT_LEAST}")
            print(line)
        if delay := each["event to last reader ms"]:
            print(f"{'':5}{each['events']} events, each to {each['readers']} readers: the last one had it after "
                  f"{delay['median']:.0f} ms (median), {delay['longest']:.0f} ms (longest)")
            if delay["longest"] > LONGEST_MARK * 1000:
                short.append(f"an event took {delay['longest']:.0f} ms to the last reader")
    return short
