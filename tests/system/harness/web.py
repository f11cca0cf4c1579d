"""A web server over TLS (Python's http.server) that serves what tests put into it and records what it is asked.

    web = Web(address, 443, certificate)
    web.put("/.well-known/mta-sts.txt", "version: STSv1\\n…")
    web.put("/x", status=301, headers={"Location": "https://…"})
    web.requests        [("GET", "host.example", "/x", headers, body) …]
"""
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .watch import wait_until


class Web:
    def __init__(self, address, port, certificate):
        self.pages, self.requests = {}, []
        self.use_certificate(certificate)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                self.request.settimeout(10)
                self.request = owner.context.wrap_socket(self.request, server_side=True)
                super().setup()

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.requests.append((self.command, self.headers["Host"], self.path, dict(self.headers), body))
                status, headers, content = owner.pages.get(self.path, (404, {"Content-Type": "text/plain"}, b"not here"))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            do_GET = do_POST = serve

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # a client that does not believe us

        self.server = Server((address, port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def use_certificate(self, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.context = context

    def put(self, path, text="", status=200, kind="text/plain", headers=None):
        content = text if isinstance(text, bytes) else text.encode()
        self.pages[path] = (status, {"Content-Type": kind, **(headers or {})}, content)

    def wait_for(self, count, seconds=15):
        wait_until(lambda: len(self.requests) >= count, seconds, lambda: f"{count} requests; there are {self.requests}")
        return self.requests

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
