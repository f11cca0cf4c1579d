"""Clients that show a certificate: what it permits, what is logged and recorded, and what is rejected."""
import re
import subprocess

import pytest

from harness import fake_clock
from harness.certificates import make_authority, make_certificate
from harness.client import message
from harness.policy import PolicyServer
from harness.watch import wait_until
from test_control import one
from test_tls import starttls, trusting


def fingerprint(certificate):
    text = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-fingerprint", "-sha256"], check=True,
                          capture_output=True, text=True).stdout
    return text.strip().partition("=")[2]


def key_fingerprint(certificate):
    key = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True, capture_output=True).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, check=True, capture_output=True).stdout
    digest = subprocess.run(["openssl", "dgst", "-sha256", "-hex"], input=der, check=True, capture_output=True, text=False).stdout
    plain = digest.decode().split("= ")[-1].strip().upper()
    return ":".join(plain[n:n + 2] for n in range(0, 64, 2))


@pytest.fixture
def asking(mta, remote):
    """An MTA that knows no client by its address, and asks all for certificates; listed(…) writes the table."""
    sink = remote()
    mta.route("remote.example", sink)
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    table = mta.folder / "clients"
    table.write_text("")
    mta.config["relay"] = {"networks": ["192.0.2.0/24"], "client_certificates": [f"text:{table}"]}
    mta.config["listen.relay"]["client_certificates"] = True
    mta.sink = sink
    mta.listed = lambda *lines: table.write_text("".join(f"{line}\n" for line in lines))
    return mta


def connected(mta, certificate=None):
    context = trusting()
    if certificate:
        context.load_cert_chain(*certificate)
    c = starttls(mta, context=context)
    return c, c.say("EHLO client.example")


def rcpt(mta, certificate=None, recipient="user@remote.example"):
    c, hello = connected(mta, certificate)
    with c:
        assert hello.startswith("250"), hello
        assert c.say("MAIL FROM:<ann@client.example>").startswith("250")
        return c.say(f"RCPT TO:<{recipient}>")


def test_a_listed_certificate_permits_relaying_and_names_its_client(asking):
    mine, renewed = make_certificate(asking.folder, "mine.example"), make_certificate(asking.folder, "renewed.example")
    asking.listed(f"{fingerprint(mine[0])} shop", f"{key_fingerprint(renewed[0])} shop")
    asking.start()
    for certificate in (mine, renewed):
        c, _ = connected(asking, certificate)
        with c:
            reply = c.deliver("ann@client.example", ["user@remote.example"], message("by certificate"))
            assert reply.startswith("250 2.0.0 Ok: queued as"), reply
    got = asking.sink.wait_for(2)
    assert re.search(r'\(Client CN "mine\.example", Issuer "mine\.example" \(not verified\)\)', got[0].text), got[0].text
    queue_id = reply.split()[-1]
    asking.wait_log(rf"{queue_id}: client=\S+, ccert_fingerprint={fingerprint(renewed[0])}$")
    asking.wait_log(rf": subject_CN=mine\.example, issuer_CN=mine\.example, fingerprint={fingerprint(mine[0])}, "
                    rf"pkey_fingerprint={key_fingerprint(mine[0])}: self-signed certificate$")
    asking.wait_until_empty()
    done = asking.command("history", "submitter=cert:shop", "--json")
    assert queue_id in done.stdout, done.stdout


def test_without_or_with_another_certificate_relaying_is_denied_and_the_log_says_why(asking):
    mine, other = make_certificate(asking.folder, "mine.example"), make_certificate(asking.folder, "other.example")
    asking.listed(f"{fingerprint(mine[0])} shop")
    asking.start()
    denied = "554 5.7.1 <user@remote.example>: Relay access denied"
    assert rcpt(asking) == denied
    asking.wait_log(r"client certificate of \S+ does not permit relaying: it has shown none")
    asking.wait_log(r"NOQUEUE: reject: RCPT from \S+: 554 5\.7\.1 <user@remote\.example>: Relay access denied")
    assert rcpt(asking, other) == denied
    asking.wait_log(rf"does not permit relaying: relay\.client_certificates lists neither {fingerprint(other[0])} nor its key, "
                    + key_fingerprint(other[0]))
    assert rcpt(asking, mine).startswith("250")
    assert rcpt(asking, recipient=f"{asking.user}@test.example").startswith("250"), "our own domains are for all"
    asking.listed("")
    wait_until(lambda: rcpt(asking, mine) == denied, 15, "the certificate to be no longer listed")


def test_an_expired_certificate_permits_nothing(asking):
    mine = make_certificate(asking.folder, "mine.example")
    subprocess.run([*fake_clock.command("-m", "-f", "-30d"), "openssl", "req", "-x509", "-key", mine[1], "-days", "2",
                    "-subj", "/CN=mine.example", "-out", mine[0]], check=True, capture_output=True)
    asking.listed(f"{fingerprint(mine[0])} shop")
    asking.start()
    assert rcpt(asking, mine) == "554 5.7.1 <user@remote.example>: Relay access denied"
    asking.wait_log(r"client certificate of \S+ does not permit relaying: it expired on \d{4}-\d\d-\d\d")


def test_a_resumed_session_keeps_its_certificate(asking):
    mine = make_certificate(asking.folder, "mine.example")
    asking.listed(f"{fingerprint(mine[0])} shop")
    asking.start()
    context = trusting()
    context.load_cert_chain(*mine)
    with starttls(asking, context=context) as c:
        c.say("EHLO client.example")
        session = c.socket.session
    c = asking.client()
    assert c.say("STARTTLS").startswith("220")
    c.socket = context.wrap_socket(c.socket, session=session)
    with c:
        assert c.socket.session_reused
        c.say("EHLO client.example")
        c.say("MAIL FROM:<ann@client.example>")
        assert c.say("RCPT TO:<user@remote.example>").startswith("250")


def test_verified_certificates_permit_relaying_if_they_are_to(asking):
    authority = make_authority(asking.folder, "ca.example")
    mine = make_certificate(asking.folder, "mine.example", issuer=authority)
    stranger = make_certificate(asking.folder, "stranger.example")
    asking.config["tls"]["client_ca_file"] = str(authority[0])
    asking.config["relay"] |= {"client_certificates": [], "verified_client_certificates": True}
    asking.start()
    c, _ = connected(asking, mine)
    with c:
        queue_id = c.deliver("ann@client.example", ["user@remote.example"], message("verified")).split()[-1]
    asking.wait_log(r"Trusted TLS connection established from")
    assert '(Client CN "mine.example", Issuer "ca.example" (verified OK))' in asking.sink.wait_for(1)[0].text
    asking.wait_until_empty()
    assert queue_id in asking.command("history", "submitter=cert:CN=mine.example", "--json").stdout
    assert rcpt(asking, stranger).startswith("554 5.7.1")
    asking.wait_log(r"does not permit relaying: tls\.client_ca_file does not verify it: self-signed certificate")


def test_an_authority_neither_lists_its_clients_nor_names_them_as_the_table_does(asking):
    authority = make_authority(asking.folder, "ca.example")
    listed = make_certificate(asking.folder, "listed.example")
    verified = make_certificate(asking.folder, "shop", issuer=authority)
    asking.listed(f"{fingerprint(listed[0])} shop")
    asking.config["tls"]["client_ca_file"] = str(authority[0])
    asking.config["relay"]["verified_client_certificates"] = True
    asking.start()
    c, _ = connected(asking, verified)
    with c:
        queue_id = c.deliver("ann@client.example", ["user@remote.example"], message("verified")).split()[-1]
    asking.wait_until_empty()
    assert queue_id not in asking.command("history", "submitter=cert:shop", "--json", check=False).stdout
    assert queue_id in asking.command("history", "submitter=cert:CN=shop", "--json").stdout
    asking.config["access.strict"] = {"recipient": ["permit_tls_clientcerts", "reject"], "listeners": ["relay"]}
    asking.write_config()
    asking.command("reload")
    wait_until(lambda: rcpt(asking, verified).startswith("554 5.7.1"), 15, "the rule of the access list to apply")
    assert rcpt(asking, listed).startswith("250")


def test_a_table_that_cannot_be_read_defers(asking):
    mine = make_certificate(asking.folder, "mine.example")
    asking.config["relay"]["client_certificates"] = [f"socketmap:unix:{asking.folder}/nobody:clients"]
    asking.start()
    assert rcpt(asking, mine) == "451 4.3.0 <user@remote.example>: Temporary lookup failure"


def test_a_certificate_may_be_required(asking):
    mine, other = make_certificate(asking.folder, "mine.example"), make_certificate(asking.folder, "other.example")
    asking.listed(f"{fingerprint(mine[0])} shop")
    asking.config["listen.relay"] |= {"tls": "require", "client_certificate_required": True}
    asking.start()
    for shown, why in ((None, "none was shown"), (other, "self-signed certificate")):
        c, hello = connected(asking, shown)
        with c:
            assert re.fullmatch(rf"554 5\.7\.1 <\S+>: Client certificate rejected: {why}", hello), hello
            assert c.say("MAIL FROM:<ann@client.example>").startswith("503 5.5.1")
    asking.wait_log(r"NOQUEUE: reject: HELO from \S+: 554 5\.7\.1 .*Client certificate rejected: none was shown")
    assert rcpt(asking, mine).startswith("250")


def test_access_rules_and_policy_services_see_the_certificate(asking, block):
    stolen = make_certificate(asking.folder, "stolen.example")
    asking.listed(f"{fingerprint(stolen[0])} shop")
    rules = asking.folder / "certificates"
    rules.write_text(f"{key_fingerprint(stolen[0])} REJECT stolen\n")
    policy = PolicyServer(block.host(40), block.port())
    asking.config["policy.asked"] = {"address": f"inet:{policy.address}:{policy.port}"}
    asking.config["access.strict"] = {"client": ["check_policy_service asked", f"check_ccert_access text:{rules}"]}
    asking.start()
    reply = rcpt(asking, stolen)
    policy.stop()
    assert re.fullmatch(r"554 5\.7\.1 <\S+>: Client certificate rejected: stolen", reply), reply
    asked = policy.questions[-1]
    assert asked["ccert_fingerprint"] == fingerprint(stolen[0]) and asked["ccert_subject"] == ""
    assert asked["ccert_pubkey_fingerprint"] == key_fingerprint(stolen[0])


def test_sender_rules_know_clients_by_their_certificates(asking):
    mine = make_certificate(asking.folder, "mine.example")
    asking.listed(f"{fingerprint(mine[0])} shop")
    asking.config["sender_rules"] = {"rules": ["submitter=cert:shop -> lane=bulk"]}
    asking.start()
    asking.command("pause", "all")
    c, _ = connected(asking, mine)
    with c:
        queue_id = c.deliver("ann@client.example", ["user@remote.example"], message("bulk")).split()[-1]
    assert one(asking, "message", id=queue_id)["lane"] == "bulk"


def test_try_says_what_a_certificate_permits(asking):
    asking.listed("AB:01 shop")
    asking.config["access.strict"] = {"recipient": ["permit_tls_clientcerts", "reject"], "listeners": ["relay"]}
    asking.write_config()

    def result(*words):
        said = asking.run("postrider", "try", "-c", asking.file, "--client", "198.51.100.1", "--name", "x.example", "--helo", "x.example",
                          "--from", "a@x.example", "--to", "user@remote.example", *words)
        return said.stdout.splitlines()[-1]
    assert result() == "result     554 5.7.1 <user@remote.example>: Relay access denied"
    assert result("--certificate", "AB:02") == "result     554 5.7.1 <user@remote.example>: Relay access denied"
    assert result("--certificate", "AB:01") == "result     accepted"
