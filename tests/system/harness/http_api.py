"""A client of the API over HTTP, as an application would have one. Every answer must be as /openapi.json describes it."""
import http.client
import json
import socket
import ssl
from types import SimpleNamespace
from urllib.parse import urlencode

from .openapi import Description
from .watch import wait_until

OWN = object()  # the token that was made last for this purpose


class Api:
    def __init__(self, mta):
        self.mta, self.tokens, self.described = mta, {}, None
        if "http" not in mta.config:
            mta.config["http"] = {"listen": [f"{mta.address}:{mta.block.port()}"]}
        self.host, port = mta.config["http"]["listen"][0].split(":")
        self.port = int(port)

    def wait_until_ready(self):
        """Until the spool has been read: for the queue, and for idempotency keys."""
        wait_until(lambda: self.get("/readyz")[0] == 200, 20, "the spool to be read")
        wait_until(lambda: self.mta.logged("idempotency keys: all messages in the spool have been read"), 20, "the keys to be known")

    def allow(self, name, *options, valid=True):
        """Makes a token, and waits until it is in force."""
        token = self.mta.command("token", "add", name, *options).stdout.strip()
        assert token.startswith("prt_"), token
        self.tokens[name] = token
        if valid:
            wait_until(lambda: self.request("GET", "/v1/status", token=token).status != 401, 20, "the token to be in force")
        return token

    def wait_for_tokens(self, count):
        """Until so many are in force: the file is looked at when a request comes."""
        wait_until(lambda: self.exchange("GET", "/v1/status") and self.mta.logged(f"tokens: {count} in force"), 20, "the tokens to be in force")

    def description(self):
        if not self.described:
            answer = self.exchange("GET", "/openapi.json", token=None)
            assert answer.status == 200, answer.body
            self.described = Description(answer.json)
        return self.described

    def connection(self, source=None):
        arguments = dict(timeout=30, source_address=(source, 0) if source else None)
        if certificate := self.mta.config["http"].get("certificate"):
            return http.client.HTTPSConnection(self.host, self.port, context=ssl.create_default_context(cafile=str(certificate)), **arguments)
        return http.client.HTTPConnection(self.host, self.port, **arguments)

    def request(self, method, path, *arguments, **options):
        answer = self.exchange(method, path, *arguments, **options)
        self.description().check(method, path, answer)
        return answer

    def exchange(self, method, path, body=None, token=OWN, type=None, headers=(), source=None):
        if isinstance(body, dict):
            body, type = json.dumps(body), "application/json"
        fields = dict(headers)
        if token is OWN:
            token = next(iter(self.tokens.values()), None)
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if type:
            fields["Content-Type"] = type
        connection = self.connection(source)
        try:
            connection.putrequest(method, path, skip_host="Host" in fields)
            if body is not None:
                body = body.encode() if isinstance(body, str) else body
                fields["Content-Length"] = len(body)
            elif method == "POST":
                fields["Content-Length"] = 0
            for name, value in fields.items():
                connection.putheader(name, str(value))
            connection.endheaders()
            if body:
                try:
                    connection.send(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # answered before all of it was sent
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        kind = answer.headers.get_content_type()
        return SimpleNamespace(status=answer.status, headers=answer.headers, body=text, type=kind,
                               json=json.loads(text) if kind in ("application/json", "application/problem+json") else None)

    def get(self, path, **options):
        answer = self.request("GET", path, **options)
        return answer.status, answer.body

    def json(self, path, **options):
        answer = self.request("GET", path, **options)
        assert answer.status == 200, answer.body
        return answer.json

    def hook(self):
        """The first one, once the events process has read its configuration."""
        return wait_until(lambda: self.json("/v1/hooks")["hooks"], 20, "the hooks to be known")[0]

    def submit(self, content, sender, to, key=None, headers=(), **options):
        query = urlencode([("from", sender)] + [("to", each) for each in ([to] if isinstance(to, str) else to)])
        fields = dict(headers)
        if key:
            fields["Idempotency-Key"] = key
        return self.request("POST", f"/v1/messages?{query}", content, type="message/rfc822", headers=fields, **options)

    def raw(self, text):
        """All that is said to these bytes until the connection is closed."""
        with socket.create_connection((self.host, self.port), timeout=30) as s:
            said = b""
            try:
                s.sendall(text.encode("latin-1") if isinstance(text, str) else text)
                while piece := s.recv(65536):
                    said += piece
            except (BrokenPipeError, ConnectionResetError):
                pass
            return said
