#!/usr/bin/python3
"""Receives events of Postrider's hooks (postrider-hook(7)), checks their signatures, and prints each event once, as a
line of JSON with the name that Anymail has for it. Needs nothing but Python.

    webhook-receiver.py ADDRESS PORT SECRET_FILE
"""
import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANYMAIL = {"message.accepted": "queued", "message.deferred": "deferred", "message.delivered": "delivered",
           "message.expired": "bounced", "message.suppressed": "rejected", "message.discarded": "failed",
           "message.removed": "failed"}
SECRETS = [base64.b64decode(line.strip().removeprefix("whsec_")) for line in open(sys.argv[3]) if line.startswith("whsec_")]
seen = set()  # a real receiver keeps this where it keeps the events


def is_genuine(fields, body):
    """Signed by the sender with one of our secrets, within the last five minutes."""
    moment = fields.get("webhook-timestamp", "")
    if not moment.isdigit() or abs(time.time() - int(moment)) > 300:
        return False
    signed = f"{fields.get('webhook-id')}.{moment}.".encode() + body
    expected = ["v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in SECRETS]
    given = fields.get("webhook-signature", "").split()
    return any(hmac.compare_digest(one, other) for one in given for other in expected)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        genuine = is_genuine(self.headers, body)
        if genuine:
            event = json.loads(body)
            for each in event["data"] if event["type"] == "batch" else [event]:
                self.take(each)
        self.send_response(204 if genuine else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def take(self, event):
        """Events come at least once: node and seq tell whether one is known."""
        key = (event["node"], event.get("seq"))
        if key in seen and "seq" in event:
            return
        seen.add(key)
        name = ANYMAIL.get(event["type"], "unknown")
        if event["type"] == "message.failed":
            name = "bounced" if event.get("by") == "remote" else "failed"
        print(json.dumps({"event_type": name, "webhook_id": self.headers["webhook-id"], **event}), flush=True)

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Receiver).serve_forever()
