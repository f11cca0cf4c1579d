"""A node of which only the API's /v1/transfer exists, and that answers as a test says."""
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeNode:
    def __init__(self, address, answer):
        """`answer(subject)`: a status; 200 takes the message. It may block."""
        self.asked, self.taken, self.answer = [], [], answer
        self.bodies = []  # of the requests
        self.ended = threading.Event()  # for answers that wait
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                content = self.rfile.read(int(self.headers["Content-Length"]))
                found = re.search(rb"^Subject: ([^\r\n]*)", content, re.MULTILINE)
                subject = found[1].decode() if found else ""
                node.asked.append(subject)
                node.bodies.append(content)
                status = node.answer(subject)
                body = b'{"detail": "as the test says"}'
                if status == 200:
                    node.taken.append(subject)
                    body = b'{"id": "%011X"}' % ((1 << 40) + len(node.taken))
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # it has waited no longer

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

        self.server = Server((address, 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://{self.server.server_address[0]}:{self.server.server_address[1]}"

    def silence(self, subject):
        self.ended.wait()
        return 503

    def end(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
