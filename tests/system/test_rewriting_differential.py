"""Generic maps, masquerading and rules for content: the same messages into Postrider and into Debian's Postfix, with the same tables
and rules, and what a remote server gets of them. What differs, and why, is in DIFFERS."""
import re

import pytest

from harness.client import message
from harness.ports import Block
from harness.side_by_side import Homes, Ours, Theirs, remove, traversable
from harness.sink import Sink
from harness.watch import wait_until

pytestmark = pytest.mark.needs("root", "mounts")

GENERIC = """\
ann@test.example a.smith@example.com
bob bob@example.com
@lan.example @example.com
@all.example everyone@example.com
peer@remote.example friend@partner.example
carol@test.example carol
"""
RULES = {"header": "/^X-Internal:/ IGNORE\n/^X-Old: (.*)/ REPLACE X-New: $1\n/^Subject:/ PREPEND X-Before: yes\n/^X-Gone:/ STRIP\n",
         "mime": "/^Content-(Description|Language|ID|Length):/ IGNORE\n/^Mime-Version: 1.0 .old./ REPLACE MIME-Version: 1.0\n"
                 "/^X-Part: (.*)/ REPLACE X-Part-Of: $1\n", "nested": "/^X-Internal:/ IGNORE\n",
         "body": "/^internal line$/ IGNORE\n/^old (.*)/ REPLACE new $1\n/^here$/ PREPEND before\n"}
PARTS = ("--b\r\nContent-Type: text/plain\r\nContent-Description: x\r\nX-Part: 1\r\n\r\ninternal line\r\nold words\r\nhere\r\n--b\r\n"
         "Content-Type: message/rfc822\r\n\r\nSubject: inner\r\nX-Internal: y\r\n\r\nold inner\r\n--b--")
MIXED = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"
# Fields of MIME in the message's own header and in that of an attached one, with others that look like them.
OF_MIME = "Content-Description: x\r\nContent-Language: en\r\nContent-ID: <x@y>\r\nX-Part: 2\r\n"
OWN_AND_NESTED = ("--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n" + OF_MIME +
                  "Content-Disposition: inline\r\n\r\nold inner\r\n--b--")
SIGNED = "MIME-Version: 1.0 (old)\r\nContent-Type: multipart/signed; boundary=b\r\nContent-Transfer-Encoding: base64\r\n"

# Header fields whose addresses each system rewrites; each in a message of its own.
FIELDS = {
    "plain": "Cc: ann@test.example",
    "upper": "Cc: ANN@TEST.EXAMPLE",
    "angle": "Cc: Ann <ann@test.example>",
    "quoted name": 'Cc: "Smith, Ann" <ann@test.example>',
    "comment": "Cc: ann@test.example (Ann)",
    "list": "Cc: ann@test.example, x@remote.example, bob@test.example",
    "group": "Cc: Friends: ann@test.example, bob@test.example;",
    "folded": "Cc: ann@test.example,\r\n bob@test.example",
    "encoded": "Cc: =?utf-8?Q?J=C3=B6rg?= <ann@test.example>",
    "extension": "Cc: ann+lists@test.example",
    "domain": "Cc: user@lan.example",
    "domain, extension": "Cc: user+x@lan.example",
    "domain to one": "Cc: user@all.example",
    "below the domain": "Cc: user@host.lan.example",
    "other": "Cc: user@remote.example",
    "result without domain": "Cc: carol@test.example",
    "literal": "Cc: ann@[192.0.2.1]",
    "quoted local part": 'Cc: "ann"@test.example',
    "no comma": "Cc: ann@test.example bob@test.example",
    "not closed": "Cc: <ann@test.example, bob@test.example",
    "group of nobody": "Cc: undisclosed-recipients:;",
    **{name: f"{name}: ann@test.example" for name in
       ("Sender", "Reply-To", "Errors-To", "Return-Receipt-To", "Disposition-Notification-To", "Mail-Followup-To",
        "Apparently-To", "Resent-From", "Resent-Sender", "Resent-To", "Resent-Cc", "Resent-Reply-To", "X-Other", "Delivered-To")},
}
MASQUERADED = {
    "below": "Cc: ann@host.test.example",
    "far below": "Cc: ann@a.b.test.example",
    "itself": "Cc: ann@test.example",
    "exception": "Cc: root@host.test.example",
    "kept": "Cc: ann@x.lab.test.example",
    "kept itself": "Cc: ann@lab.test.example",
    "not below": "Cc: ann@hosttest.example",
    "upper": "Cc: Ann@HOST.Test.Example",
    "sender": "Reply-To: ann@host.test.example",
}
# {(where, case): why}: what is not the same on purpose.
DIFFERS = {
    ("generic", "no comma"): "Postfix repairs a field that is no list of addresses; here it stays as it is",
    ("generic", "not closed"): "likewise",
    ("canonical", "no comma"): "likewise",
    ("canonical", "not closed"): "likewise",
    ("sender_canonical", "not closed"): "likewise",
    ("recipient_canonical", "no comma"): "likewise",
    ("recipient_canonical", "not closed"): "likewise",
    ("sender_canonical", "quoted local part"): "Postfix writes each field with addresses again; here one that no table changes stays",
}


def unfolded(header):
    """{name: [value]}, white space and line breaks made one blank; what each system adds is left out."""
    out = {}
    for line in re.sub(r"\r\n[ \t]+", " ", header).split("\r\n"):
        name, _, value = line.partition(":")
        value = re.sub(r"\s+", " ", value).strip()
        out.setdefault(name.lower(), []).append(re.sub(r" ?([,;:]) ?", r"\1", value))
    for name in ("received", "date", "message-id", "from", "to", "resent-date", "resent-message-id"):
        out.pop(name, None)
    if out.get("resent-from") == ["sender@test.example"]:
        del out["resent-from"]
    return out


class Place:
    """One system with a remote server behind it."""

    def __init__(self, kind, block, ours, theirs, files):
        self.folder = traversable("postrider-rewriting-")
        self.sink = Sink(block.host(10), block.port())
        for name, text in files.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o644)
        words = {"folder": self.folder}

        def fill(settings):
            return {key: value.format(**words) if isinstance(value, str) else [each.format(**words) for each in value]
                    if isinstance(value, list) else value for key, value in settings.items()}
        self.system = kind(self.folder, block, Homes(self.folder, ("ann", "bob", "carol")), {"remote.example": self.sink})
        self.system.configure({section: fill(keys) for section, keys in ours.items()},
                              {"disable_dns_lookups": "yes", "smtpd_error_sleep_time": "0s", **fill(theirs)})
        self.system.start()

    def seen(self, case, sender, content, recipients=("x@remote.example",)):
        """(sender, recipients, header, body) as the remote server gets it."""
        with self.system.client() as c:
            reply = c.deliver(sender, list(recipients), content)
            assert reply.startswith("250"), (self.system.name, case, reply)

        def there():
            with self.sink.lock:
                return [m for m in self.sink.messages if f"Message-ID: <{case.replace(' ', '.')}@" in m.text]
        got = wait_until(there, 30, lambda: f"{case} from {self.system.name}\n{self.system.last_words()}")[0]
        header, _, body = got.content.decode("utf-8", "replace").partition("\r\n\r\n")
        return got.sender, sorted(got.recipients), unfolded(header), body

    def close(self):
        self.system.stop()
        self.sink.stop()
        remove(self.folder)


def compare(where, ours, theirs, files, cases):
    """`cases`: {name: (sender, content, recipients)}."""
    results = []
    for kind in (Ours, Theirs):
        block = Block()
        place = Place(kind, block, ours, theirs, files)
        try:
            results.append({name: place.seen(name, *case) for name, case in cases.items()})
        finally:
            place.close()
    wrong = {name: (results[0][name], results[1][name]) for name in cases
             if (results[0][name] != results[1][name]) != ((where, name) in DIFFERS)}
    assert not wrong, "\n".join(f"{where}, {name}:\n  Postrider {a}\n  Postfix   {b}" for name, (a, b) in wrong.items())
    return results


def of_fields(fields):
    return {name: ("sender@test.example", message(name, "Hello.", "author@remote.example", extra=text + "\r\n"))
            for name, text in fields.items()}


def test_generic_maps():
    cases = of_fields(FIELDS)
    for name, sender, recipients in (("sender", "ann@test.example", ["x@remote.example"]),
                                     ("sender with extension", "ann+x@test.example", ["x@remote.example"]),
                                     ("sender of a domain", "user@lan.example", ["x@remote.example"]),
                                     ("recipient", "y@remote.example", ["peer@remote.example", "x@remote.example"]),
                                     ("null sender", "", ["x@remote.example"])):
        cases[name] = (sender, message(name, "Hello.", "author@remote.example"), recipients)
    found = compare("generic", {"generic": {"tables": ["text:{folder}/generic"]}}, {"smtp_generic_maps": "texthash:{folder}/generic"},
                    {"generic": GENERIC}, cases)[0]
    assert found["plain"][2]["cc"] == ["a.smith@example.com"] and found["sender"][0] == "a.smith@example.com"


CANONICAL = GENERIC + "sender@test.example a.person@example.com\nx@remote.example y@remote.example\n"


@pytest.mark.parametrize("kind", ["canonical", "sender_canonical", "recipient_canonical"])
def test_canonical_maps(kind):
    cases = of_fields(FIELDS)
    where = {"canonical": ("sender", "recipient", "header_sender", "header_recipient"),
             "sender_canonical": ("sender", "header_sender"), "recipient_canonical": ("recipient", "header_recipient")}[kind]
    compare(kind, {"canonical": {key: ["text:{folder}/canonical"] for key in where} | {"header_origins": ["local"]}},
            {f"{kind}_maps": "texthash:{folder}/canonical", "local_header_rewrite_clients": "permit_mynetworks"},
            {"canonical": CANONICAL}, cases)


def test_canonical_maps_one_after_the_other():
    """Those of senders and recipients, then those of both; each until nothing changes."""
    files = {"senders": "ann@test.example one@test.example\none@test.example two@test.example\ncarol@test.example Carol@test.example\n",
             "recipients": "x@remote.example y@remote.example\ny@remote.example z@remote.example\nann@test.example ann@remote.example\n",
             "both": "two@test.example shown@example.com\nshown@example.com final+x@example.com\nfinal@example.com end@example.com\n"
                     "z@remote.example last@remote.example\nonly@test.example ann@test.example\n@lan.example @net.example\n"
                     "user@net.example user@org.example\n"}
    cases = of_fields({name: f"{field}: {address}" for field in ("Cc", "Reply-To")
                       for name, address in ((f"{field} {local}", f"{local}@{domain}") for local, domain in (
                           ("ann", "test.example"), ("one", "test.example"), ("only", "test.example"), ("carol", "test.example"),
                           ("x", "remote.example"), ("user", "lan.example"), ("other", "lan.example"), ("ann+y", "test.example")))})
    for sender in ("ann@test.example", "only@test.example", "carol@test.example", "ann+y@test.example", "user@lan.example"):
        cases[f"from {sender}"] = (sender, message(f"from {sender}", "Hello.", "author@remote.example"))
    theirs = {"sender_canonical_maps": "texthash:{folder}/senders", "recipient_canonical_maps": "texthash:{folder}/recipients",
              "canonical_maps": "texthash:{folder}/both", "local_header_rewrite_clients": "permit_mynetworks"}
    tables = {key: [f"text:{{folder}}/{file}"] for key, file in (("sender", "senders"), ("header_sender", "senders"),
                                                                ("recipient", "recipients"), ("header_recipient", "recipients"),
                                                                ("common", "both"))}
    found = compare("canonical chain", {"canonical": tables | {"repeat": True, "header_origins": ["local"]}}, theirs, files, cases)[0]
    assert found["from ann@test.example"][:2] == ("end+x@example.com", ["last@remote.example"])


def test_domains_without_a_dot():
    """append_dot_mydomain, and what import-postfix makes of it."""
    cases = of_fields({"plain": "Cc: ann@host", "sender field": "Reply-To: ann@host", "complete": "Cc: ann@host.test.example",
                       "literal": "Cc: ann@[192.0.2.1]", "upper": "Cc: ann@HOST", "phrase": 'Cc: "A, B" <ann+x@host>, bob@other'})
    for sender, recipients in (("ann@host", ["x@remote.example"]), ("a@test.example", ["x@remote"]), ("", ["x@remote", "y@remote.example"])):
        name = f"from {sender} to {recipients[0]}"
        cases[name] = (sender, message(name, "Hello.", "author@remote.example"), recipients)
    tables = dict.fromkeys(("sender", "recipient", "header_sender", "header_recipient"), ["patterns:dots"])
    found = compare("append_dot_mydomain",
                    {"table.dots": {"kind": "regexp", "rules": [r"/^(.*)@([^@.\[\]]+)$/ $1@$2.example"]},
                     "canonical": tables | {"repeat": True, "header_origins": ["local"]}},
                    {"append_dot_mydomain": "yes", "mydomain": "example", "local_header_rewrite_clients": "permit_mynetworks"}, {}, cases)[0]
    assert found["plain"][2]["cc"] == ["ann@host.example"] and found["from ann@host to x@remote.example"][0] == "ann@host.example"


@pytest.mark.parametrize("classes", [None, "envelope_sender", "header_sender", "header_recipient"])
def test_masquerading(classes):
    cases = of_fields(MASQUERADED)
    cases["envelope"] = ("ann@host.test.example", message("envelope", "Hello.", "author@remote.example"))
    ours = {"domains": ["!lab.test.example", "test.example"], "exceptions": ["root"], "header_origins": ["local"]}
    theirs = {"masquerade_domains": "!lab.test.example test.example", "masquerade_exceptions": "root",
              "local_header_rewrite_clients": "permit_mynetworks"}
    if classes:
        ours["classes"], theirs["masquerade_classes"] = [classes], classes
    compare(f"masquerade {classes}", {"masquerade": ours}, theirs, {}, cases)


def test_rules_on_the_way_out():
    cases = {"plain": ("a@test.example", message("plain", "internal line\r\nold words\r\nhere", "author@remote.example",
                                                 extra="X-Internal: x\r\n y\r\nX-Old: a\r\nX-Gone: b\r\nX-Kept: c\r\n")),
             "parts": ("a@test.example", message("parts", PARTS, "author@remote.example", extra=MIXED)),
             "own and nested": ("a@test.example", message("own and nested", OWN_AND_NESTED, "author@remote.example",
                                                          extra=MIXED + OF_MIME)),
             "signed": ("a@test.example", message("signed", PARTS, "author@remote.example", extra=SIGNED))}
    compare("out", {"smtp_client": {f"{prefix}checks": text.splitlines() for prefix, text in
                                    (("header_", RULES["header"]), ("mime_header_", RULES["mime"]), ("nested_header_", RULES["nested"]),
                                     ("body_", RULES["body"]))}},
            {"smtp_header_checks": "regexp:{folder}/header", "smtp_mime_header_checks": "regexp:{folder}/mime",
             "smtp_nested_header_checks": "regexp:{folder}/nested", "smtp_body_checks": "regexp:{folder}/body"}, RULES, cases)


def test_rules_on_the_way_in():
    cases = {"plain": ("a@test.example", message("plain", "internal line\r\nold words\r\nhere", "author@remote.example",
                                                 extra="X-Internal: x\r\n y\r\nX-Old: a\r\nX-Gone: b\r\nX-Kept: c\r\n")),
             "parts": ("a@test.example", message("parts", PARTS, "author@remote.example", extra=MIXED)),
             "own and nested": ("a@test.example", message("own and nested", OWN_AND_NESTED, "author@remote.example",
                                                          extra=MIXED + OF_MIME)),
             "signed": ("a@test.example", message("signed", PARTS, "author@remote.example", extra=SIGNED))}
    compare("in", {"content": {f"{prefix}checks": text.splitlines() for prefix, text in
                               (("header_", RULES["header"]), ("mime_header_", RULES["mime"]), ("nested_header_", RULES["nested"]),
                                ("body_", RULES["body"]))}},
            {"header_checks": "regexp:{folder}/header", "mime_header_checks": "regexp:{folder}/mime",
             "nested_header_checks": "regexp:{folder}/nested", "body_checks": "regexp:{folder}/body"}, RULES, cases)
