"""The run behind `scripts/soak hooks`: how many events a second one hook pushes to a server that answers at once. A journal of
so many events is there before the MTA starts; the server is a process of its own that reads requests and answers 200.

  hook_speed.py [EVENTS [BATCH]]
"""
import asyncio
import json
import os
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from multiprocessing import Process, Queue
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.hooks import make_secret  # noqa: E402
from harness.journal import Journal, NODE  # noqa: E402
from harness.mta import Mta  # noqa: E402
from harness.network import enter_own_network  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.watch import wait_until  # noqa: E402


class Quick(asyncio.Protocol):
    """Reads requests with a length and answers 200; says when the first came, and how many bytes and requests since."""
    first, requests, bytes = 0.0, 0, 0

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.buffer) < end + 4 + length:
                if b"expect: 100-continue" in head and len(self.buffer) == end + 4:
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            self.buffer = self.buffer[end + 4 + length:]
            Quick.first = Quick.first or time.monotonic()
            Quick.requests, Quick.bytes = Quick.requests + 1, Quick.bytes + length
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def serve(address, port, figures):
    async def run():
        loop = asyncio.get_running_loop()
        await loop.create_server(Quick, address, port)
        while True:
            await asyncio.sleep(0.05)
            while not figures.empty():
                figures.get()
            figures.put((Quick.first, Quick.requests, Quick.bytes))
    asyncio.run(run())


def fill(folder, count):
    """Events of the usual size, half an hour old."""
    events = Journal(folder, start=datetime.now(timezone.utc) - timedelta(minutes=30))
    events.rotate()
    line = json.dumps({"node": NODE, "time": events.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "type": "message.delivered",
                       "id": "0C5A0000001010", "message_id": "<0123456789abcdef@shop.example>", "sender": "bounce+7@shop.example",
                       "recipient": "user4711@domain.example", "submitter": "sasl:shop", "queue": "domain.example", "link": "mx.domain.example",
                       "attempt": 1, "remote": {"host": "mx.domain.example", "address": "192.0.2.7", "port": 25}, "code": 250,
                       "status": "2.0.0", "text": "Ok: queued as 4XyZ12abcd", "took": {"connect": 7, "session": 12}}, separators=(",", ":"))[1:]
    with open(events.file, "w") as out:
        out.writelines(f'{{"v":1,"seq":{n},{line}\n' for n in range(1, count + 1))
    events.next = count + 1
    events.publish()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    batch = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    if not enter_own_network():
        sys.exit("hook_speed: needs root (a network of its own)")
    with tempfile.TemporaryDirectory(prefix="postrider-hooks-") as folder:
        block = Block()
        mta = Mta(Path(folder), block)
        address, port, figures = block.host(20), block.port(), Queue()
        server = Process(target=serve, args=(address, port, figures), daemon=True)
        server.start()
        fill(mta.spool / "history", count)
        (mta.spool / "history/cursors").mkdir()
        (mta.spool / "history/cursors/h").write_text('{"v":1,"next":1,"state":"delivering"}\n')
        make_secret(Path(folder) / "secret")
        mta.config["hook.h"] = {"url": f"http://{address}:{port}/", "secret_file": f"{folder}/secret", "batch": batch,
                                "events": ["message.delivered"]}
        try:
            mta.start()
            cursor = mta.spool / "history/cursors/h"
            wait_until(lambda: json.loads(cursor.read_text())["next"] > count, 600, "all events to be accepted")
            last = time.monotonic()
            pid = mta.pids("events")[0]
            times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            cpu = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
            first, requests, size = figures.get(timeout=10)
            took = last - first
            print(f"{count} events in {requests} requests of {batch}, {size >> 20} MB: {took:.1f} s, {count / took:,.0f} events/s, "
                  f"{cpu / count * 1e6:.1f} µs of CPU time each in the events process")
        finally:
            mta.stop()
            server.kill()


if __name__ == "__main__":
    main()
