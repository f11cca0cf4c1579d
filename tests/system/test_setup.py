"""`postrider setup DOMAIN`, as somebody follows it who has just installed the package: what it prints is published in a name
server, and then --check has nothing to complain about. Each thing that is missing or different is named."""
import json
import re
import stat

import pytest
from dnslib import QTYPE, RR, TXT

HOST, DOMAIN, ADDRESS = "mta.test.example", "test.example", "192.0.2.1"


@pytest.fixture
def host(mta, names, remote):
    """A host that is fit to send mail, in a DNS that knows nothing of the domain yet."""
    mta.use_names(names)
    names.address_of(HOST, ADDRESS)
    names.pointer(ADDRESS, HOST)
    names.name_server("org", "ns.org")
    names.validates = True
    mta.names, mta.sink = names, remote()
    mta.write_config()
    return mta


def set_up(mta, *options, domain=DOMAIN, test_host=None):
    return mta.run("postrider", "setup", domain, *options, "--test-host", test_host or f"[{mta.sink.address}]:{mta.sink.port}",
                   "-c", mta.file)


def replace(names, name, kind, *texts):
    names.records.pop((name, kind), None)
    for text in texts:
        names.add(name, kind, TXT(text))


def complaints(done):
    return re.findall(r"^bad   (.*)$", done.stdout, re.M)


def test_what_is_printed_is_what_check_wants(host):
    host.config["local"]["domains"] = [DOMAIN, HOST]
    host.write_config()
    done = set_up(host)
    assert done.returncode == 0, done.stdout + done.stderr
    key = host.folder / "dkim" / f"postrider.{DOMAIN}.pem"
    assert f"; DKIM key: {key} (generated)\n" in done.stdout
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and "PRIVATE KEY" in key.read_text()
    types = [(str(rr.rname).rstrip("."), QTYPE[rr.rtype]) for rr in RR.fromZone(done.stdout)]  # all of it is a zone file
    assert types == [(DOMAIN, "TXT"), (HOST, "TXT"), (f"postrider._domainkey.{DOMAIN}", "TXT"), (f"_dmarc.{DOMAIN}", "TXT"),
                     (DOMAIN, "MX"), (f"_mta-sts.{DOMAIN}", "TXT"), (f"_smtp._tls.{DOMAIN}", "TXT"),
                     (f"bounces.{DOMAIN}", "MX"), (f"bounces.{DOMAIN}", "TXT")]
    # once more: the same key
    before = key.read_bytes()
    again = set_up(host)
    assert key.read_bytes() == before and again.stdout == done.stdout.replace("(generated)", "(existing)")
    # nothing is published yet
    checked = set_up(host, "--check")
    assert checked.returncode == 1
    assert complaints(checked) == [f"TXT {DOMAIN}: missing", f"TXT {HOST}: missing", f"TXT postrider._domainkey.{DOMAIN}: missing",
                                   f"TXT _dmarc.{DOMAIN}: missing", f"MX {DOMAIN}: missing"]
    assert checked.stdout.endswith("result: 5 to be fixed\n")
    host.names.publish(done.stdout)
    checked = set_up(host, "--check")
    assert checked.returncode == 0 and not complaints(checked), checked.stdout
    assert checked.stdout.endswith(f"result: ready to send mail for {DOMAIN}\n")


def test_what_is_missing_or_different_is_named(host):
    host.names.publish(set_up(host).stdout)
    published = {name: data for (name, kind), data in host.names.records.items() if kind == "TXT"}
    for name, texts, complaint in [
            (f"_dmarc.{DOMAIN}", [], "missing"),
            (f"_dmarc.{DOMAIN}", ["v=DMARC1; p=reject"], None),
            (f"postrider._domainkey.{DOMAIN}", ["v=DKIM1; k=rsa; p=AAAA"], "different: another key is published"),
            (DOMAIN, ["v=spf1 mx -all"], f'different: "v=spf1 mx -all" lacks "a:{HOST}"'),
            (DOMAIN, ["v=spf1 -all", "v=spf1 +all"], "different: there are 2 such records, and only one is allowed"),
            (f"_mta-sts.{DOMAIN}", [], None)]:
        replace(host.names, name, "TXT", *texts)
        checked = set_up(host, "--check")
        assert complaints(checked) == ([f"TXT {name}: {complaint}"] if complaint else []), (name, texts, checked.stdout)
        assert checked.returncode == (1 if complaint else 0)
        host.names.records[(name, "TXT")] = published[name]
    host.names.fails(f"_smtp._tls.{DOMAIN}", "servfail")
    [complaint] = complaints(set_up(host, "--check"))
    assert complaint.startswith(f"TXT _smtp._tls.{DOMAIN}: the lookup failed: no name server gave an answer")


def test_what_the_host_lacks_is_named(host, block):
    host.names.records.pop((f"1.2.0.192.in-addr.arpa", "PTR"))
    host.names.validates = False
    nobody = f"[{host.address}]:{block.port()}"
    done = set_up(host, test_host=nobody)
    assert done.returncode == 1
    assert f"; bad   reverse name: {ADDRESS} has no PTR record: many sites reject its mail\n" in done.stdout
    assert re.search(rf"; bad   port 25: {re.escape(host.address)}\[.*\]:\d+: .*refused", done.stdout), done.stdout
    assert "; note  DNSSEC: not used: the name server does not validate (no AD bit)\n" in done.stdout
    host.names.pointer(ADDRESS, "elsewhere.example")
    host.names.records.pop((HOST, "A"))
    done = set_up(host)
    assert f"; bad   address: {HOST} has no A and no AAAA record\n" in done.stdout
    # unless told otherwise it asks a host that accepts connections from any address
    host.names.mx("gmail.com", (5, "mx.gmail.example"))
    done = host.run("postrider", "setup", DOMAIN, "-c", host.file)
    assert "; bad   port 25: not tried: mx.gmail.example: it has no address\n" in done.stdout
    host.config['route."*"'] = {"next_hop": "[relay.example.net]:587"}
    host.write_config()
    done = host.run("postrider", "setup", DOMAIN, "-c", host.file)
    assert "; note  port 25: not tried: all mail goes to [relay.example.net]:587 by the configuration\n" in done.stdout


def test_mail_is_signed_by_what_is_printed(host):
    """The lines for postrider.toml, as they are printed, and a message from the domain."""
    lines = re.findall(r"^;     (\S.*)$", set_up(host, "--selector", "s2026").stdout.split("MTA-STS, at")[0], re.M)
    assert lines[0] == f'[dkim."{DOMAIN}"]', lines
    host.route("remote.example", host.sink)
    host.start()
    with open(host.file, "a") as file:
        file.write("\n".join(lines) + "\n")
    host.command("reload")
    host.sendmail("-f", f"ann@{DOMAIN}", "bob@remote.example", input=f"From: ann@{DOMAIN}\nSubject: signed\n\nHello.\n")
    signature = host.sink.wait_for_one_to("bob@remote.example").header("DKIM-Signature")
    assert f"d={DOMAIN};" in signature and "s=s2026;" in signature
    # the configured key is taken from now on, and there is nothing to be added
    facts = json.loads(set_up(host, "--json").stdout)
    assert [(k["selector"], k["configured"], k["generated"]) for k in facts["keys"]] == [("s2026", True, False)]
    assert {r["type"] for r in facts["records"]} == {"TXT", "MX"} and len(facts["records"]) == 9
    assert [f["grade"] for f in facts["host_findings"][:4]] == ["ok"] * 4 and facts["record_findings"] == []
    assert "Mail is signed when" not in set_up(host).stdout


def test_check_makes_nothing(host):
    checked = set_up(host, "--check")
    assert checked.returncode == 1 and "DKIM: no key exists for test.example" in complaints(checked)
    assert f"      Run: postrider setup {DOMAIN}\n" in checked.stdout
    assert not (host.folder / "dkim").exists()


@pytest.mark.parametrize("words, error", [
    (["no domain"], '"no domain" is not a domain'),
    (["test.example", "--selector", "a b"], "--selector a b: not a valid selector"),
    (["test.example", "--test-host", "a b"], "--test-host a b: expected HOST, HOST:PORT or [ADDRESS]:PORT"),
], ids=["domain", "selector", "test-host"])
def test_wrong_use(host, words, error):
    done = host.run("postrider", "setup", *words, "-c", host.file)
    assert done.returncode == 64 and done.stderr == f"postrider: {error}\n" and done.stdout == ""


def test_a_key_that_cannot_be_read(host):
    (host.folder / "dkim").write_text("not a directory")
    done = set_up(host)
    assert done.returncode == 66 and "Not a directory" in done.stderr and done.stdout == ""
    (host.folder / "dkim").unlink()
    (host.folder / "dkim").mkdir()
    (host.folder / f"dkim/postrider.{DOMAIN}.pem").write_text("not a key")
    done = set_up(host)
    assert done.returncode == 65 and f"postrider.{DOMAIN}.pem" in done.stderr
    assert (host.folder / f"dkim/postrider.{DOMAIN}.pem").read_text() == "not a key"
