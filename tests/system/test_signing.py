"""DKIM signatures on what leaves: good in the eyes of two implementations nobody here wrote, made anew for each attempt
over what is really sent, and only where they should be."""
import os
import re

import pytest

from harness.client import message
from harness.dkim import Keys, signatures, verified_by_dkimpy, verified_by_opendkim
from harness.sink import drop

SEVEN_BIT = ("PIPELINING", "ENHANCEDSTATUSCODES", "SIZE 104857600", "DSN")


@pytest.fixture
def keys(mta, names):
    mta.write_config()
    return Keys(mta, names)


def use(mta, domain, *keys, **settings):
    mta.config[f'dkim."{domain}"'] = {"keys": list(keys), **settings}


def submit(mta, content, sender="ann@test.example", recipient="joe@remote.example", port=None, parameters=" BODY=8BITMIME"):
    with mta.client(port or mta.submission_port) as c:
        reply = c.deliver(sender, [recipient], content, parameters)
        assert reply.startswith("250 2.0.0"), reply


LETTERS = {
    "short": message("signed", "First line.\r\n\r\n..and dots.\r\n  spaces  \r\nLast.", "ann@test.example"),
    "no body": "From: ann@test.example\r\nSubject: nothing\r\n\r\n",
    "blank lines at the end": message("blank", "a\r\n \r\n\t\r\n\r\n\r\n", "ann@test.example"),
    "folded": "From: Ann\r\n <ann@test.example>\r\nTo: a@remote.example,\r\n\tb@remote.example\r\nSubject: a\r\n  b\t c \r\n\r\nx\r\n",
    "eight bits": message("eight", "Grüße, 日本語 = \r\n.\r\n", "ann@test.example",
                          extra="MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n"),
    "large": message("large", "\r\n".join(f"line {n}, und noch größer  " for n in range(60_000)) + "\r\n\r\n", "ann@test.example"),
    "long lines": message("long", "x" * 5000 + "\r\n" + "ü" * 3000, "ann@test.example"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("server", ["takes 8 bits", "takes 7 bits"])
def test_both_verifiers_find_both_signatures_good(mta, remote, keys, server):
    sink = remote() if server == "takes 8 bits" else remote(extensions=SEVEN_BIT)
    mta.route("remote.example", sink)
    use(mta, "test.example", keys.make("test.example", "rsa"), keys.make("test.example", "ed", "--ed25519"))
    mta.aliases.write_text("joe: joe@remote.example\n")
    mta.start()
    for number, (name, letter) in enumerate(LETTERS.items(), 1):
        sent_on = number % 2 == 1  # with a field that is nobody's to sign
        submit(mta, letter, recipient="joe@test.example" if sent_on else "joe@remote.example")
        got = sink.wait_for(number, 30)[-1]
        content = got.content
        assert got.header("Delivered-To") == ("joe@test.example" if sent_on else None), name
        made = signatures(content)
        assert [(s["a"], s["d"], s["s"], s["c"]) for s in made] == [
            ("rsa-sha256", "test.example", "rsa", "relaxed/relaxed"),
            ("ed25519-sha256", "test.example", "ed", "relaxed/relaxed")], name
        assert verified_by_dkimpy(content, keys) == [True, True], name
        said = verified_by_opendkim(content, keys, mta.folder)
        assert "verification (s=rsa, d=test.example, 2048-bit key) succeeded" in said, f"{name}: {said}"
        if server == "takes 7 bits":
            assert content.isascii(), name
    mta.wait_until_empty()


def test_a_change_is_noticed(mta, remote, keys):
    """Of the fields that are signed, of the body, and by one more From or Subject."""
    sink = remote()
    mta.route("remote.example", sink)
    use(mta, "test.example", keys.make("test.example", "one", "--bits", "1024"))
    mta.start()
    submit(mta, LETTERS["short"])
    content = sink.wait_for(1)[0].content
    assert verified_by_dkimpy(content, keys) == [True]
    for changed in (content.replace(b"Last.", b"Lost."), content.replace(b"Subject: signed", b"Subject: signet"),
                    b"Subject: another\r\n" + content, b"Reply-To: thief@remote.example\r\n" + content):
        assert changed != content
        assert verified_by_dkimpy(changed, keys) == [False]
    unchanged = b"Received: by somebody\r\nX-Spam: no\r\n" + content.replace(b"Last.", b"Last. \t").rstrip(b"\r\n") + b"\r\n\r\n\r\n"
    assert verified_by_dkimpy(unchanged, keys) == [True]
    assert "fail" in verified_by_opendkim(content.replace(b"Last.", b"Lost."), keys, mta.folder)


def test_only_mail_that_is_ours_is_signed(mta, remote, keys):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["relay"] = {"networks": ["127.0.0.2"], "domains": ["remote.example"]}
    use(mta, "test.example", keys.make("test.example", "s"), domains=[".sub.example", "other.example"])
    use(mta, "quiet.example", keys.make("quiet.example", "q"), sign=["reports"])
    mta.start()

    def signed(sender, content, port=None):
        before = len(sink.messages)
        submit(mta, content, sender, port=port)
        return [s["d"] for s in signatures(sink.wait_for(before + 1)[-1].content)]

    def from_(address):
        return message("x", "x", address)

    assert signed("ann@test.example", from_("Ann <ann@test.example>")) == ["test.example"]
    assert signed("", from_("ann@TEST.example")) == ["test.example"]
    assert signed("ann@remote.example", from_("ann@deep.sub.example")) == ["test.example"]
    assert signed("ann@remote.example", from_("ann@other.example")) == ["test.example"]
    assert signed("ann@remote.example", from_("ann@foreign.example")) == []
    assert signed("ann@test.example", from_("ann@foreign.example")) == ["test.example"]  # the envelope's
    assert signed("ann@quiet.example", from_("ann@quiet.example")) == []
    assert signed("ann@test.example", "From: ann@test.example\r\nFrom: b@test.example\r\nSubject: two\r\n\r\nx\r\n", mta.relay_port) == []
    # A stranger's mail, which is only passed on.
    assert signed("ann@test.example", from_("ann@test.example"), mta.relay_port) == []
    before = len(sink.messages)
    assert mta.sendmail("-i", "-f", "ann@test.example", "joe@remote.example", input="From: ann@test.example\nSubject: local\n\nx\n").returncode == 0
    assert [s["d"] for s in signatures(sink.wait_for(before + 1)[-1].content)] == ["test.example"]
    assert verified_by_dkimpy(sink.messages[-1].content, keys) == [True]


def test_reports_are_signed(mta, remote, keys):
    sink = remote()
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "nobody" in argument else None)
    mta.route("remote.example", sink)
    use(mta, "test.example", keys.make("test.example", "r"))
    mta.start()
    submit(mta, message("x", "x", "ann@remote.example"), "ann@remote.example", "nobody@remote.example")
    report = sink.wait_for_one_to("ann@remote.example")
    assert report.sender == "" and "MAILER-DAEMON@test.example" in report.header("From")
    assert verified_by_dkimpy(report.content, keys) == [True]


def test_every_attempt_is_signed_anew(mta, remote, keys):
    """Over what that server gets: the first takes 8 bits and breaks down, the second takes only 7."""
    first, second = remote(), remote(extensions=SEVEN_BIT)
    first.at("dot", drop)
    mta.route("remote.example", first)
    use(mta, "test.example", keys.make("test.example", "s"), lifetime="10d")
    mta.start()
    submit(mta, LETTERS["eight bits"])
    mta.wait_log(r"status=deferred")
    mta.route("remote.example", second)
    mta.write_config()
    mta.command("reload")
    mta.flush()
    got = second.wait_for(1)[0]
    assert got.content.isascii() and "BODY=8BITMIME" not in got.arguments["mail"]
    assert verified_by_dkimpy(got.content, keys) == [True]
    tags = signatures(got.content)[0]
    assert int(tags["x"]) - int(tags["t"]) == 10 * 86400
    assert int(re.search(r"SIZE=(\d+)", got.arguments["mail"]).group(1)) == len(got.content)


def test_a_new_key_is_taken_over_by_a_reload_and_a_bad_one_is_refused(mta, remote, keys):
    sink = remote()
    mta.route("remote.example", sink)
    use(mta, "test.example", keys.make("test.example", "old"))
    mta.start()
    submit(mta, LETTERS["short"])
    assert signatures(sink.wait_for(1)[-1].content)[0]["s"] == "old"
    use(mta, "test.example", keys.make("test.example", "new"))
    mta.write_config()
    mta.command("reload")
    submit(mta, LETTERS["short"])
    assert signatures(sink.wait_for(2)[-1].content)[0]["s"] == "new"
    assert verified_by_dkimpy(sink.messages[-1].content, keys) == [True]

    bad = mta.folder / "bad.pem"
    bad.write_text("no key\n")
    os.chmod(bad, 0o600)
    use(mta, "test.example", f"bad {bad}")
    mta.write_config()
    refused = mta.command("reload", check=False)
    assert refused.returncode != 0 and f"{bad}: contains no readable private key" in refused.stdout + refused.stderr
    checked = mta.command("check", check=False)
    assert checked.returncode != 0 and f"{bad}: contains no readable private key" in checked.stdout + checked.stderr
    submit(mta, LETTERS["short"])
    assert signatures(sink.wait_for(3)[-1].content)[0]["s"] == "new"

    seen = keys.make("test.example", "seen")
    os.chmod(seen.split(" ", 1)[1], 0o644)
    use(mta, "test.example", seen)
    mta.write_config()
    for command in ("check", "reload"):  # one as the other
        refused = mta.command(command, check=False)
        assert refused.returncode != 0 and "contains secrets and is accessible to other users (mode 0644)" in refused.stderr


def test_the_key_command(mta, keys):
    made = keys.make("test.example", "s").split(" ", 1)[1]
    assert os.stat(made).st_mode & 0o777 == 0o600
    again = mta.run("postrider", "dkim-key", "test.example", "s", "--file", made)
    assert again.returncode == 2 and "File exists" in again.stderr
    zone = mta.run("postrider", "dkim-key", "Test.Example", "e", "--ed25519", "--file", mta.folder / "e.pem", check=True).stdout
    assert re.match(r'e\._domainkey\.test\.example\. IN TXT \( "v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=" \)\n', zone)
    for odd in (["not a domain", "s"], ["test.example", "s", "--bits", "512"], ["test.example", "s", "--ed25519", "--bits", "2048"]):
        assert mta.run("postrider", "dkim-key", *odd).returncode == 64
