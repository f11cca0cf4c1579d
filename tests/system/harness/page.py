"""A browser without JavaScript, as far as the pages need one: it keeps its cookie, follows links and redirections, and sends
the forms that a page has. What it reads must be well-formed, and as the content security policy wants it."""
import http.client
import os
import re
import socket
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

VOID = ("input", "link", "meta")
POLICY = ("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
          "frame-ancestors 'none'; base-uri 'none'")


class Document(HTMLParser):
    """The text of a page, its links and its forms."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.texts, self.links, self.forms, self.open, self.ids, self.labelled, self.elements = [], {}, [], [], [], set(), []
        self.option, self.markup = None, markup
        self.feed(markup)
        self.close()
        assert not self.open, f"left open: {self.open}"
        assert len(self.ids) == len(set(self.ids)), self.ids
        for form in self.forms:
            for name, kind, id in form.controls:
                assert kind == "hidden" or id in self.labelled, f"{name} has no label"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        assert tag != "script" or attributes.get("src"), "a script in the page"
        assert tag != "style"
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "label":
            self.labelled.add(attributes["for"])
        if tag == "form":
            self.forms.append(SimpleNamespace(action=attributes["action"], method=attributes.get("method", "get"), fields={}, controls=[],
                                              buttons=[], choices={}))
        elif tag in ("input", "select") and self.forms:
            form = self.forms[-1]
            form.fields[attributes["name"]] = attributes.get("value") or ""
            form.controls.append((attributes["name"], attributes.get("type"), attributes.get("id")))
            self.option = attributes["name"]
        elif tag == "option":
            form = self.forms[-1]
            form.choices.setdefault(self.option, []).append(attributes["value"])
            form.fields[self.option] = form.choices[self.option][0]
        if tag not in VOID:
            self.open.append((tag, attributes))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)
        for tag, attributes in self.open:
            if tag == "a":
                self.links[data] = attributes["href"]
            if tag == "button":
                self.forms[-1].buttons.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def table(self, caption):
        """{first cell: the others} of each row."""
        body = self.markup.partition(f"<caption>{caption}</caption>")[2].partition("</table>")[0].partition("<tbody>")[2]
        rows = [[Document(cell).text for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row)] for row in body.split("<tr>")[1:]]
        return {first: rest for first, *rest in rows}

    def form(self, button):
        [found] = [form for form in self.forms if button in form.buttons]
        return found


class OverSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        folder = os.open(self.path.parent, os.O_PATH)  # the path may be longer than a socket's may be
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self.path.name}")
        finally:
            os.close(folder)


class Browser:
    def __init__(self, api, source=None, socket=None):
        """`source`: its address. `socket`: it comes through this one, as by ssh -L."""
        self.api, self.source, self.socket, self.cookies = api, source, socket, {}
        self.origin = "http://localhost" if socket else f"http://{api.host}:{api.port}"
        self.answer = self.page = None

    def request(self, method, path, body=None, headers=(), cookie=True):
        fields = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Site": "same-origin", **dict(headers)}
        if cookie and self.cookies:
            fields["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body is not None:
            fields = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin} | fields
        if self.socket:
            connection = OverSocket(self.socket)
        else:
            connection = http.client.HTTPConnection(self.api.host, self.api.port, timeout=30,
                                                    source_address=(self.source, 0) if self.source else None)
        try:
            connection.request(method, path, urlencode(body) if isinstance(body, dict) else body,
                               {name: value for name, value in fields.items() if value is not None})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        for field in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = field.partition(";")[0].partition("=")
            self.cookies[name] = value
            if not value:
                del self.cookies[name]
        return SimpleNamespace(status=answer.status, headers=answer.headers, body=text)

    def see(self, answer):
        """The page that comes of it, by redirections, too."""
        for _ in range(3):
            if answer.status != 303:
                break
            answer = self.request("GET", answer.headers["Location"])
        self.answer = answer
        assert answer.headers.get_content_type() == "text/html", (answer.status, answer.body)
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["Cache-Control"] == "no-store" and answer.headers["X-Content-Type-Options"] == "nosniff"
        self.page = Document(answer.body)
        return self.page

    def get(self, path, status=200):
        page = self.see(self.request("GET", path))
        assert self.answer.status == status, (self.answer.status, page.text)
        return page

    def follow(self, text):
        return self.get(self.page.links[text])

    def send(self, button, status=200, headers=(), **values):
        """Sends the form that has this button."""
        form = self.page.form(button)
        assert set(values) <= set(form.fields), (values, form.fields)
        fields = form.fields | values
        if form.method == "get":
            return self.get(f"{urlsplit(form.action).path}?{urlencode(fields)}", status)
        page = self.see(self.request("POST", form.action, fields, headers))
        assert self.answer.status == status, (self.answer.status, page.text)
        return page

    def log_in(self, token, status=200):
        self.get("/login")
        return self.send("Log in", status, token=token)

    def form_token(self):
        """What forms of this session must have."""
        return self.get("/places/pause?scope=everything").form("Pause").fields["form"]
