"""Certificates that we show to servers: which mail shows which, and what is reported of those that cannot be used."""
import re
import shutil

import pytest

from harness.certificates import make_certificate
from harness.watch import wait_until
from test_control import states


@pytest.fixture
def partner(mta, remote, folder):
    """A server that lets in clients only with one of two certificates, and the two: (sink, one, two)."""
    sink = remote()
    one, two = make_certificate(folder, "one.example"), make_certificate(folder, "two.example")
    sink.use_certificate(make_certificate(folder, "sink.example"), clients=[one[0], two[0]])
    mta.config['route."remote.example"'] = {"next_hop": f"[{sink.address}]:{sink.port}", "tls": "encrypt"}
    mta.config["smtp_client"]["workers"] = 1
    return sink, one, two


def shown(certificate):
    return {"tls_certificates": [str(certificate[0])], "tls_keys": [str(certificate[1])]}


def test_a_server_gets_the_certificate_it_requests(mta, partner):
    sink, one, _ = partner
    mta.config["smtp_client"].update(shown(one))
    mta.start()
    mta.submit("user@remote.example")
    assert sink.wait_for_one_to("user@remote.example").client == "one.example"


def test_mail_waits_and_says_why_where_the_certificate_is_missing(mta, partner):
    sink, one, _ = partner
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred \(.*certificate required")
    assert states(mta, queue_id) == ["retrying"] and not sink.messages
    done = mta.command("try", "user@remote.example", check=False)
    assert "the server requested our certificate, and there is none (smtp_client.tls_certificates)" in done.stdout
    mta.config["smtp_client"].update(shown(one))
    mta.write_config()
    mta.command("reload")
    mta.flush()
    assert sink.wait_for_one_to("user@remote.example").client == "one.example"
    done = mta.command("try", "user@remote.example")
    assert "the server requested our certificate and got it" in done.stdout


@pytest.mark.parametrize("connections", [1, None])
def test_routes_to_one_server_show_their_own(mta, partner, connections):
    """Whatever is open or can be resumed, each domain's mail goes with the certificate of its route."""
    sink, one, two = partner
    mta.config["smtp_client"].update(shown(one))
    hop = {"next_hop": f"[{sink.address}]:{sink.port}", "tls": "encrypt"}
    if connections:
        mta.config['route."remote.example"']["connections"] = hop["connections"] = connections
    mta.config['route."other.example"'] = hop | shown(two)
    mta.start()
    for n in range(6):
        mta.submit(f"user{n}@{('remote', 'other')[n % 2]}.example")
    sink.wait_for(6)
    assert {(m.recipients[0].partition("@")[2], m.client) for m in sink.messages} == {
        ("remote.example", "one.example"), ("other.example", "two.example")}


def test_a_route_may_show_none(mta, partner, remote, folder):
    sink, one, _ = partner
    mta.config["smtp_client"].update(shown(one))
    mta.config['route."remote.example"']["tls_certificates"] = []
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred \(.*certificate required")


def test_a_renewed_certificate_is_used_without_a_reload(mta, partner, folder):
    sink, one, two = partner
    mine = folder / "mine.pem", folder / "mine.key"
    for old, new in zip(one, mine):
        shutil.copy(old, new)
    mta.config["smtp_client"].update(shown(mine))
    mta.config["queue"]["connection_idle_timeout"] = "0s"
    mta.config["master"]["heartbeat_interval"] = "200ms"
    mta.start()
    mta.submit("before@remote.example")
    assert sink.wait_for_one_to("before@remote.example").client == "one.example"
    for old, new in zip(two, mine):
        shutil.copy(old, new)
    wait_until(lambda: mta.logged(f"{mine[0]}: changed and applied") and mta.logged(f"{mine[1]}: changed and applied"), 15,
               "the renewed certificate to be in use")
    mta.submit("after@remote.example")
    assert sink.wait_for_one_to("after@remote.example").client == "two.example"


def test_files_that_cannot_be_used_are_named(mta, partner, folder):
    _, one, two = partner
    routes = 'route."remote.example"'
    for certificate, key, says in (
            (folder / "none.pem", one[1], r"none\.pem: No such file or directory"),
            (one[0], two[1], r"one\.example\.pem: the private key is not that of the certificate: .* \(the key is in \S+two"),
            (one[1], one[1], r"one\.example\.key: contains no usable certificate")):
        for section in ("smtp_client", routes):
            mta.config[section].update(shown((certificate, key)))
            mta.write_config()
            done = mta.command("check", check=False)
            assert done.returncode != 0 and re.search(
                rf"{re.escape(str(mta.file))}:\d+:\d+: {re.escape(section)}\.tls_\w+: \S*{says}", done.stderr), done.stderr
            for name in ("tls_certificates", "tls_keys"):
                del mta.config[section][name]
    mta.config["smtp_client"]["tls_certificates"] = [str(one[0]), str(two[0])]
    mta.config["smtp_client"]["tls_keys"] = [str(one[1]), str(two[1])]
    mta.write_config()
    assert "have keys of the same kind" in mta.command("check", check=False).stderr
    mta.start(wait=False)
    assert mta.process.wait(20) != 0
    mta.process = None
    assert "have keys of the same kind" in (mta.folder / "output").read_text()


def test_one_that_expires_is_reported(mta, partner):
    _, one, _ = partner
    mta.config['route."remote.example"'].update(shown(one))
    mta.start()
    assert re.search(r"one\.example\.pem: the certificate expires in", mta.command("check").stderr)
    wait_until(lambda: "one.example.pem: the certificate expires in" in mta.command("status").stdout, 15, "status to say so")
