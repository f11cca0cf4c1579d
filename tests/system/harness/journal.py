"""Writes journals as the queue-manager does, for the tests of what reads them."""
import json
import struct
from datetime import datetime, timedelta, timezone
from pathlib import Path

NODE = "6b7d2f60-0a4e-4f2c-9a53-6f0d3a4b5c6d"
FIRST = datetime(2026, 11, 20, 12, 0, tzinfo=timezone.utc)


class Journal:
    def __init__(self, folder, first=1, start=FIRST):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.next, self.now, self.file, self.messages = first, start, None, 0
        (self.folder / "node").write_text(NODE + "\n")

    def rotate(self):
        """The next event begins a new segment."""
        self.file = self.folder / f"{self.next:020}.jsonl"
        self.file.touch()

    def write(self, kind, **fields):
        if self.file is None:
            self.rotate()
        event = {"v": 1, "seq": self.next, "node": NODE, "time": self.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "type": kind}
        event |= {k: v for k, v in fields.items() if v not in (None, "", [])}
        with open(self.file, "a") as out:
            out.write(json.dumps(event, separators=(",", ":")) + "\n")
        self.next += 1
        self.now += timedelta(milliseconds=10)
        return event

    def publish(self, number=None):
        (self.folder / "synced").write_bytes(b"PRSYNCED" + struct.pack("<Q", self.next - 1 if number is None else number))

    def message(self, *recipients, sender="ann@shop.example", submitter="sasl:shop", outcome="delivered", deferrals=0, finish=True,
                **more):
        """A message's whole life; returns its id."""
        self.messages += 1
        id = f"{0xC5A0000000000 + self.messages * 4096 + 0x10:014X}"
        common = {"id": id, "message_id": f"<{self.messages}@shop.example>", "sender": sender, "submitter": submitter, **more}
        self.write("message.accepted", **common, source="smtp", size=1234, recipients=list(recipients), recipients_total=len(recipients))
        for recipient in recipients:
            domain = recipient.split("@")[1]
            place = {"recipient": recipient, "queue": domain, "link": f"mx.{domain}",
                     "remote": {"host": f"mx.{domain}", "address": "192.0.2.1", "port": 25}}
            for attempt in range(1, deferrals + 1):
                self.write("message.deferred", **common, **place, attempt=attempt, code=451, status="4.7.1", text="try later", **{"class": "rate"})
            reply = {"delivered": {"code": 250, "status": "2.0.0", "text": "Ok"},
                     "failed": {"code": 550, "status": "5.1.1", "text": "No such user", "class": "recipient", "by": "remote"}}.get(outcome)
            if reply:
                self.write(f"message.{outcome}", **common, **place, attempt=deferrals + 1, **reply)
        if finish and outcome != "deferred":
            self.write("message.finished", **common, counts={outcome: len(recipients)})
        return id
