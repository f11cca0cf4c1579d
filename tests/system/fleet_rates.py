"""The run behind `scripts/soak fleet-rates`: how near three nodes keep a rate that they share, by the clock of the server that
they deliver to, and what it costs. The first node has more mail than the whole rate, the second a third of the rate, the
third a twentieth.

  fleet_rates.py [SECONDS [RATE]]
"""
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.client import message  # noqa: E402
from harness.fleet import Redis  # noqa: E402
from harness.nodes import Nodes  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.sink import Sink  # noqa: E402
from harness.watch import wait_until  # noqa: E402

NAMES = ("mx1", "mx2", "mx3")


def submit(node, count, rate=None, until=None):
    """Messages over one connection, as many a second as `rate` says, or as fast as they are taken."""
    start = time.monotonic()
    name = node.config["mta"]["node"]
    with node.client() as c:
        for n in range(count):
            if until and time.monotonic() > until:
                return
            if rate:
                time.sleep(max(0, start + n / rate - time.monotonic()))
            reply = c.deliver(f"{name}@test.example", ["x@remote.example"],
                              message("test", "Hello.", "sender@test.example", "x@remote.example", ""))
            assert reply.startswith("250 2.0.0 Ok: queued as "), reply
        c.say("QUIT")


def calls(redis):
    """Scripts that the store has run."""
    text = redis.ask("INFO", "commandstats")
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in text.splitlines() if line.startswith("cmdstat_evalsha:"))


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rate = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    block = Block()
    redis, sink = Redis(block.host(200), block.port()), Sink(block.host(10), block.port())
    with tempfile.TemporaryDirectory(prefix="postrider-fleet-") as folder:
        nodes = Nodes(Path(folder))
        try:
            all = []
            for name in NAMES:
                node = nodes.add(name, start=False)
                node.route("remote.example", sink)
                node.config['route."remote.example"'] |= {"messages_per_second": rate, "share_rates": True}
                node.config["fleet"] = {"store": redis.url}
                all.append(node.start())
            for node in all:
                node.wait_log(r"postfix/fleet\[\d+\]: store .*: present")
            first, second, third = all
            first.command("pause", "all")
            submit(first, rate * (seconds + 15))
            end = time.monotonic() + seconds + 10
            loads = [threading.Thread(target=submit, args=(node, 10**9, rate * part, end), daemon=True)
                     for node, part in ((second, 1 / 3), (third, 1 / 20))]
            for each in loads:
                each.start()
            first.command("resume", "all")
            wait_until(lambda: len(sink.messages) > 3 * rate, 60, "the first messages")
            begin, before = time.monotonic(), calls(redis)
            time.sleep(seconds)
            after = calls(redis)
            heartbeats = (seconds / 5 + 2 * seconds) * len(NAMES)  # and looks at the suppression list
            came = [each for each in sink.messages if begin <= each.at < begin + seconds]
            print(f"{len(came)} messages in {seconds} s, of {rate * seconds}: {100 * len(came) / (rate * seconds) - 100:+.2f} %")
            for name in NAMES:
                print(f"  {name}: {sum(each.sender.startswith(name) for each in came)}")
            per_second = [0] * seconds
            for each in came:
                per_second[int(each.at - begin)] += 1
            print(f"in one second {min(per_second)} to {max(per_second)}")
            print(f"calls of the store for tokens: {(after - before - heartbeats) / len(came):.3f} per message, "
                  f"{(after - before - heartbeats) / seconds:.1f} a second")
            for each in loads:
                each.join()
        finally:
            nodes.end()
            sink.stop()
            redis.remove()


if __name__ == "__main__":
    main()
