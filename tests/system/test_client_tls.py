"""TLS towards other servers: how much of it mail needs, and what happens where it cannot be had."""
import pytest

from harness.certificates import make_certificate
from harness.client import message
from harness.sink import drop, raw
from harness.watch import wait_until
from test_control import states
from test_links import links


@pytest.fixture
def to_host(mta, remote, names, folder):
    """to_host(level, certificate's name) → sink, the only host of remote.example: host.example."""
    def make(level, name="host.example", certificate=True):
        mta.use_names(names)
        sink = remote(certificate=make_certificate(folder, name) if certificate else None)
        names.address_of("host.example", sink.address)
        mta.config['route."remote.example"'] = {"next_hop": f"[host.example]:{sink.port}", "tls": level}
        (folder / "authorities").write_text((folder / f"{name}.pem").read_text() if certificate else "")
        mta.config["smtp_client"]["tls_ca_file"] = str(folder / "authorities") if certificate else ""
        return sink
    return make


def waits_for(mta, queue_id, reason):
    mta.wait_log(rf"{queue_id}: .*status=deferred \(.*{reason}")
    assert states(mta, queue_id) == ["retrying"]


def test_mail_goes_by_tls_where_it_is_offered(mta, to_host):
    sink = to_host("may", name="somebody.else.example")
    mta.start()
    mta.submit("user@remote.example")
    [got] = sink.wait_for(1)
    assert got.tls == "TLSv1.3"
    mta.wait_log(r"Untrusted TLS connection established to host.example\[.*\]:\d+: TLSv1.3 with cipher")


def test_a_handshake_that_fails_is_followed_by_plain_text_once(mta, to_host):
    sink = to_host("may")
    sink.at("starttls", raw(b"220 Go\r\nthis is not TLS\r\n"), times=1)
    sink.at("starttls", drop, times=1)
    mta.start()
    for subject in ("one", "two"):
        mta.restart()  # with it goes the connection
        mta.submit("user@remote.example", subject)
        assert sink.wait_for_one_to("user@remote.example").tls is None
        sink.messages.clear()
        mta.wait_log("trying again in plain text")
        mta.forget_the_log()
    mta.restart()
    mta.submit("user@remote.example", "three")
    assert sink.wait_for_one_to("user@remote.example").tls, "each connection tries anew"


def test_required_tls_is_never_replaced_by_plain_text(mta, to_host, folder):
    sink = to_host("encrypt", certificate=False)
    mta.start()
    waiting = mta.submit("user@remote.example")
    waits_for(mta, waiting, r"TLS is required, but was not offered by host host.example")
    assert not sink.messages and not any(c.startswith("MAIL") for _, c in sink.commands)
    assert [each["state"] for each in links(mta).values() if each["link"] != "local"] == ["glitch"], "the hop is its route's alone"
    wait_until(lambda: "TLS is required, but was not offered by host" in mta.command("status").stdout, 15, "status to say why")
    sink.use_certificate(make_certificate(folder, "host.example"))
    assert sink.wait_for_one_to("user@remote.example").tls


@pytest.mark.parametrize("behaviour", [drop, raw(b"220 Go\r\nnonsense\r\n"), "454 4.7.0 Not now", raw(b"220 Go\r\n250 PIPELINING\r\n")],
                         ids=["cut off", "not TLS", "refused", "plain text behind"])
def test_starttls_gone_wrong_is_tried_again(mta, to_host, behaviour):
    sink = to_host("encrypt")
    sink.at("starttls", behaviour, times=1)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    assert sink.wait_for_one_to("user@remote.example").tls
    assert all(m.tls for m in sink.messages)


def test_a_certificate_must_prove_the_name_of_the_host(mta, to_host, folder):
    sink = to_host("verify", name="somebody.else.example")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    waits_for(mta, queue_id, "does not prove that it is host.example: hostname mismatch")
    assert not sink.messages
    sink.use_certificate(make_certificate(folder, "host.example"))
    (folder / "authorities").write_text((folder / "host.example.pem").read_text())
    mta.command("reload")
    assert sink.wait_for_one_to("user@remote.example").tls
    mta.wait_log(r"Verified TLS connection established to host.example")


def test_a_domain_may_do_without(mta, to_host):
    sink = to_host("none")
    mta.start()
    mta.submit("user@remote.example")
    [got] = sink.wait_for(1)
    assert got.tls is None and not any(c == "STARTTLS" for _, c in sink.commands)


def test_the_next_host_may_have_what_the_first_has_not(mta, remote, names, folder):
    mta.use_names(names)
    plain, good = remote(), remote(certificate=make_certificate(folder, "good.example"))
    names.address_of("plain.example", plain.address)
    names.address_of("good.example", good.address)
    mta.config['route."remote.example"'] = {
        "next_hop": [[f"[plain.example]:{plain.port}", f"[good.example]:{good.port}"]], "tls": "encrypt"}
    mta.start()
    for n in range(4):  # equals, in whatever order
        mta.submit(f"user{n}@remote.example")
    assert all(m.tls for m in good.wait_for(4)) and not plain.messages


def test_domains_of_one_link_have_levels_of_their_own(mta, remote):
    """The strict one waits; the other's mail goes, before and after it, by the same link."""
    sink = remote()
    hop = f"[{sink.address}]:{sink.port}"
    mta.config['route."strict.example"'] = {"next_hop": hop, "tls": "encrypt"}
    mta.config['route."remote.example"'] = {"next_hop": hop}
    mta.start()
    mta.submit("before@remote.example")
    sink.wait_for_one_to("before@remote.example")
    strict = mta.submit("user@strict.example")
    waits_for(mta, strict, "TLS is required")
    mta.submit("after@remote.example")
    sink.wait_for_one_to("after@remote.example")
    assert [m.recipients for m in sink.messages] == [["before@remote.example"], ["after@remote.example"]]


def test_sessions_are_resumed(mta, to_host):
    sink = to_host("verify")
    mta.config["smtp_client"]["workers"] = 1  # each remembers its own
    mta.config["queue"]["messages_per_connection"] = 1
    mta.start()
    for n in range(2):
        mta.submit(f"user{n}@remote.example")
        sink.wait_for(n + 1)
        mta.wait_log("removed", count=n + 1)
    assert [m.tls for m in sink.messages] == ["TLSv1.3", "TLSv1.3 resumed"]
    mta.wait_log("Verified TLS connection established", count=2)


def test_what_requires_tls_goes_to_who_promises_the_same(mta, to_host):
    sink = to_host("may")
    sink.extensions.append("REQUIRETLS")
    mta.start()
    mta.sendmail("-O", "requiretls=yes", "-f", f"{mta.user}@test.example", "user@remote.example", input="Subject: secret\n\nx\n")
    [got] = sink.wait_for(1)
    assert got.tls and got.arguments["mail"].endswith(" REQUIRETLS")


def test_content_larger_than_any_buffer(mta, to_host):
    sink = to_host("encrypt")
    mta.start()
    with mta.client() as c:
        body = "".join(f"{n:07} line of a large message\r\n" for n in range(100_000))
        c.deliver("a@test.example", ["user@remote.example"], message("large", body))
    [got] = sink.wait_for(1, 60)
    assert got.tls and got.text.endswith(body + "\r\n")


def test_authorities_that_are_none_are_refused(mta, folder):
    mta.config["smtp_client"]["tls_ca_file"] = str(folder / "authorities")
    for content, why in ((None, "No such file"), ("not a certificate\n", "contains no certificate")):
        if content:
            (folder / "authorities").write_text(content)
        mta.write_config()
        done = mta.command("check", check=False)
        assert done.returncode != 0 and f"smtp_client.tls_ca_file: {folder / 'authorities'}: {why}" in done.stderr, done.stderr
