"""8-bit content on its way to a server without 8BITMIME: re-encoded part by part, so that Python's email package finds in
it what it found before; or sent back with a reason. And for Postfix's smtp-sink, which can be told to offer none."""
import email
import email.policy
import random

import pytest

from harness.client import message
from harness.filters import answers
from harness.unpacked import Service, environment, tree

SEVEN_BIT = ("PIPELINING", "ENHANCEDSTATUSCODES", "SIZE 104857600", "DSN")
ENCODED = {"7bit", "quoted-printable", "base64"}


def submit(mta, content, sender="ann@test.example", recipient="joe@remote.example"):
    with mta.client() as c:
        for command in (f"MAIL FROM:<{sender}> BODY=8BITMIME", f"RCPT TO:<{recipient}>"):
            assert c.say(command).startswith("250")
        assert c.say("DATA").startswith("354")
        stuffed = b"\r\n".join(b"." + line if line.startswith(b".") else line for line in content.split(b"\r\n"))
        c.send(stuffed + (b".\r\n" if stuffed.endswith(b"\r\n") else b"\r\n.\r\n"))
        reply = c.reply()
        assert reply.startswith("250 2.0.0"), reply


def meaning(content):
    """The structure and what each part says when it is decoded."""
    def of(part):
        if part.is_multipart():
            return part.get_content_type(), [of(p) for p in part.get_payload()]
        # A line end at the end of the whole is added on the way where there is none.
        return part.get_content_type(), part.get_filename(), part.get_payload(decode=True).rstrip(b"\r\n").replace(b"\r\n", b"\n")
    return of(email.message_from_bytes(content, policy=email.policy.compat32))


def leaf(chance):
    """A part of one thing: header and body."""
    kind = chance.choice(["text/plain; charset=utf-8", "text/html; charset=iso-8859-1", "application/octet-stream", "image/x-odd",
                          None])
    encoding = chance.choice([None, "8bit", "8Bit (as it is)", "binary"])
    header = b"" if kind is None else f"Content-Type: {kind}\r\n".encode()
    header += b"" if encoding is None else f"Content-Transfer-Encoding: {encoding}\r\n".encode()
    words = [b"word", "Grüße".encode(), "日本語".encode(), b"\xff\xfe", b"=", b" ", b"  ", b"\t", b".", b"--", b"From ", b"\r\n",
             b"\r\n\r\n", b"x" * 90, b"-- ", "é".encode() * 300]
    return header + b"\r\n" + b"".join(chance.choice(words) for _ in range(chance.randrange(40)))


def part(chance, depth):
    form = chance.random()
    if depth == 0 or form < 0.4:
        return leaf(chance)
    if form < 0.55:
        label = b"Content-Transfer-Encoding: 8bit\r\n" if chance.random() < 0.5 else b""
        return b"Content-Type: message/rfc822\r\n" + label + b"\r\nSubject: inside\r\nMIME-Version: 1.0\r\n" + part(chance, depth - 1)
    boundary = f"b{chance.randrange(10**9)}"
    inner = b"".join(b"--" + boundary.encode() + b"\r\n" + part(chance, depth - 1) + b"\r\n" for _ in range(chance.randrange(1, 4)))
    kind = chance.choice(["mixed", "alternative", "related"])
    label = b"Content-Transfer-Encoding: 8bit\r\n" if chance.random() < 0.5 else b""
    return (f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"\r\n'.encode() + label + b"\r\npreamble\r\n" + inner +
            b"--" + boundary.encode() + b"--\r\nepilogue\r\n")


@pytest.mark.smoke
def test_what_is_decoded_is_what_was_sent(mta, remote):
    sink = remote(extensions=SEVEN_BIT)
    mta.route("remote.example", sink)
    mta.start()
    chance = random.Random(20261122)
    sent = {}
    for number in range(150):
        header = f"From: ann@test.example\r\nSubject: {number}\r\nMIME-Version: 1.0\r\n".encode()
        sent[str(number)] = header + part(chance, 3)
        submit(mta, sent[str(number)])
    for got in sink.wait_for(len(sent), 60):
        original = sent[got.header("Subject")]
        assert got.content.isascii() and "BODY=" not in got.arguments["mail"]
        assert max(len(line) for line in got.content.split(b"\r\n")) <= 998
        assert meaning(got.content) == meaning(original), got.header("Subject")
        for each in email.message_from_bytes(got.content).walk():
            assert each.get("Content-Transfer-Encoding", "7bit").lower() in ENCODED or original.isascii()
    mta.wait_until_empty()


def test_seven_bits_are_left_alone_and_so_is_everything_where_8bitmime_is_offered(mta, remote):
    plain, able = remote(extensions=SEVEN_BIT), remote()
    mta.route("remote.example", plain)
    mta.route("able.example", able)
    mta.start()
    letter = message("x", "only = ASCII \r\n", "ann@test.example", extra="Content-Transfer-Encoding: 8bit\r\n").encode()
    submit(mta, letter)
    assert plain.wait_for(1)[0].content.endswith(letter)
    letter = message("x", "Grüße \r\n", "ann@test.example").encode()
    submit(mta, letter, recipient="joe@able.example")
    got = able.wait_for(1)[0]
    assert got.content.endswith(letter) and " BODY=8BITMIME" in got.arguments["mail"]


@pytest.mark.parametrize("header, why", [
    ('Content-Type: multipart/signed; boundary="x"', "a part that is signed; any change would break the signature"),
    ("Subject: Gr\xfc\xdfe", "a header field"),
    ("Content-Transfer-Encoding: base64", "a part that is marked as encoded already"),
    ('Content-Type: multipart/mixed; boundary="x"', "outside of its parts"),
], ids=["signed", "header", "base64", "malformed"])
def test_what_cannot_be_converted_comes_back_with_the_reason(mta, remote, header, why):
    sink = remote(extensions=SEVEN_BIT)
    mta.route("remote.example", sink)
    mta.start()
    content = f"From: ann@test.example\r\nMIME-Version: 1.0\r\n{header}\r\n\r\n--x\r\n\r\n--y\r\n".encode("latin-1")
    content += (b"" if "mixed" not in header else b"\r\n--x--\r\n") + b"Gr\xfc\xdfe\r\n"
    submit(mta, content, f"{mta.user}@test.example")
    report = " ".join(mta.wait_mailbox(1)[0].split())
    assert "Status: 5.6.3" in report
    assert f"cannot be converted (8-bit bytes in {why}" in report or f"cannot be converted (8-bit bytes {why}" in report
    assert not sink.messages


def test_postfix_without_8bitmime(mta, block, folder):
    """smtp-sink, told not to offer it; what came lies in its file."""
    place = tree("postfix")
    host, port = block.host(30), block.port()
    dump = folder / "dump"
    dump.mkdir()
    sink = Service([place / "usr/sbin/smtp-sink", "-8", "-D", f"{dump}/%M.", "-u", "root", f"inet:{host}:{port}", "16"], folder,
                   lambda: answers(f"inet:{host}:{port}"), environment(place))
    try:
        mta.config['route."remote.example"'] = {"next_hop": f"[{host}]:{port}"}
        mta.start()
        letter = message("x", "Grüße aus Köln = \r\n.\r\n", "ann@test.example",
                         extra="MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n").encode()
        submit(mta, letter)
        mta.wait_log(r"status=sent")
        mta.wait_until_empty()
        content = b"".join(p.read_bytes() for p in dump.iterdir()).replace(b"\r\n", b"\n")
        assert content.isascii() and b"\nGr=C3=BC=C3=9Fe aus K=C3=B6ln =3D=20\n" in content
    finally:
        sink.stop()
