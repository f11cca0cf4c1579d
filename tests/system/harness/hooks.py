"""What hooks push to: the receiver that is installed as an example, and a web server that answers as a test says."""
import base64
import hashlib
import hmac
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .watch import wait_until

NODE_MODULES = Path("/usr/local/share/postrider-tests/node_modules")  # scripts/install-dependencies
EXAMPLES = Path(__file__).resolve().parents[3] / "conf/examples"


def make_secret(file, count=1):
    """Writes a file of secrets; returns their bytes."""
    secrets = [os.urandom(32) for _ in range(count)]
    file.write_text("".join(f"whsec_{base64.b64encode(each).decode()}\n" for each in secrets))
    file.chmod(0o600)
    return secrets


class Receiver:
    """conf/examples/webhook-receiver.py (or .mjs) as a process of its own; `events` is what it has printed."""

    def __init__(self, address, port, secret_file, command=None):
        self.address, self.port, self.secret_file = address, port, secret_file
        self.command = command or [sys.executable, EXAMPLES / "webhook-receiver.py"]
        self.events, self.process = [], None
        self.start()

    def start(self):
        self.process = subprocess.Popen([*self.command, self.address, str(self.port), self.secret_file], stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True)
        self.reader.start()
        wait_until(self.listens, 15, "the receiver to listen")

    def read(self, pipe):
        for line in pipe:
            self.events.append(json.loads(line))

    def listens(self):
        assert self.process.poll() is None, "the receiver has ended"
        try:
            socket.create_connection((self.address, self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(10)

    def wait_for(self, count, seconds=20):
        wait_until(lambda: len(self.events) >= count, seconds, lambda: f"{count} events; there are {self.events}")
        return self.events


class Request:
    def __init__(self, headers, body):
        self.id, self.headers, self.text = headers["webhook-id"], headers, body
        self.body = json.loads(body)
        self.events = self.body["data"] if self.body["type"] == "batch" else [self.body]
        self.numbers = [e.get("seq") for e in self.events]

    def is_signed_with(self, secrets):
        """Each secret has its signature, in their order."""
        signed = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.text
        return self.headers["webhook-signature"] == " ".join(
            "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode() for secret in secrets)


class Endpoint:
    """Answers POST as answer(request) says: a status, (status, {header}), or (status, {header}, body); "hang" never answers
    before release(), "close" ends the connection in the middle of the answer."""

    def __init__(self, address, port, certificate=None):
        self.address, self.port, self.requests, self.lock = address, port, [], threading.Lock()
        self.answer, self.released, owner = (lambda request: 200), threading.Event(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = Request(dict(self.headers.items()), self.rfile.read(int(self.headers["Content-Length"])))
                request.path = self.path
                with owner.lock:
                    said = owner.answer(request)
                    request.answer = said
                    owner.requests.append(request)
                if said == "hang":
                    owner.released.wait(60)
                    self.close_connection = True
                    return
                if said == "close":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                    self.close_connection = True
                    return
                status, headers, text = (*said, {}, "")[:3] if isinstance(said, tuple) else (said, {}, "")
                if isinstance(said, tuple) and len(said) == 2:
                    text = ""
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # a client that has gone

        self.server = Server((address, port), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://{self.address}:{self.port}/hook"

    def accepted(self):
        """The numbers of events that were accepted, in their order."""
        with self.lock:
            return [n for r in self.requests for n in r.numbers
                    if (r.answer[0] if isinstance(r.answer, tuple) else r.answer) in (200, 204)]

    def wait_for(self, count, seconds=20):
        wait_until(lambda: len(self.requests) >= count, seconds,
                   lambda: f"{count} requests; there are {[(r.id, r.numbers, r.answer) for r in self.requests]}")
        return self.requests

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
