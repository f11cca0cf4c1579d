"""The API over HTTPS: with a certificate of its own, which can be renewed without interrupting anybody."""
import shutil
import socket
import ssl
import subprocess

import pytest

from harness.certificates import make_certificate
from harness.http_api import Api
from harness.watch import wait_until
from test_http_api import MESSAGE


@pytest.fixture
def api(mta, block):
    certificate, key = make_certificate(mta.folder, "api.test", ["api.test", mta.address], days=60)
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "certificate": str(certificate), "key": str(key)}
    return Api(mta)


def started(mta, api):
    mta.start()
    api.allow("shop", "--scope", "read,submit")
    api.wait_until_ready()


def handshake(api, *options):
    """openssl(1)'s report of it."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"{api.host}:{api.port}", "-brief", *options], input=b"", capture_output=True,
                          timeout=30)
    return done.stderr.decode()


def test_messages_are_submitted_over_https(mta, api):
    started(mta, api)
    assert api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").status == 202
    [delivered] = mta.wait_mailbox(1, user="other")
    assert "Subject: order 4711" in delivered
    command = ["curl", "-sS", "--cacert", mta.config["http"]["certificate"], "-H", f"Authorization: Bearer {api.tokens['shop']}"]
    asked = subprocess.run([*command, f"https://{api.host}:{api.port}/v1/status"], capture_output=True, text=True, timeout=30)
    assert '"accepting":true' in asked.stdout.replace(" ", ""), asked


def test_nothing_is_served_in_plain_text_there(mta, api):
    started(mta, api)
    assert b"200" not in api.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    over_socket = subprocess.run(["curl", "-sS", "--unix-socket", "http.sock", "http://localhost/healthz"], cwd=mta.spool / "run",
                                 capture_output=True, text=True, timeout=30)
    assert over_socket.stdout == "healthy\n", over_socket


def test_versions(mta, api):
    started(mta, api)
    assert "TLSv1.3" in handshake(api) and "TLSv1.2" in handshake(api, "-tls1_2")
    assert "CONNECTION ESTABLISHED" not in handshake(api, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    mta.config["tls"] = {"minimum_version": "1.3"}
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: "CONNECTION ESTABLISHED" not in handshake(api, "-tls1_2"), 20, "TLS 1.2 to be refused")
    assert "TLSv1.3" in handshake(api)


def serial(api):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((api.host, api.port), timeout=30) as plain, context.wrap_socket(plain) as client:
        return client.getpeercert(binary_form=True)


def test_a_renewed_certificate_interrupts_nobody(mta, api):
    started(mta, api)
    follower = api.connection()
    follower.request("GET", "/v1/events?type=message.accepted", headers={"Authorization": f"Bearer {api.tokens['shop']}",
                                                                        "Accept": "text/event-stream"})
    events = follower.getresponse()
    assert events.status == 200
    former = serial(api)
    make_certificate(mta.folder, "api.test", ["api.test", mta.address], days=60)
    mta.command("reload")
    wait_until(lambda: serial(api) != former, 20, "the new certificate to be used")
    assert api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").status == 202
    line = events.readline()
    while line and not line.startswith(b"data:"):
        line = events.readline()
    assert b"message.accepted" in line


def test_a_certificate_that_cannot_be_used_changes_nothing(mta, api):
    started(mta, api)
    former = serial(api)
    _, other = make_certificate(mta.folder, "other.test")
    shutil.copyfile(other, mta.config["http"]["key"])
    failed = mta.command("reload", check=False)
    assert failed.returncode != 0 and "api.test.key" in failed.stdout + failed.stderr
    assert serial(api) == former
    checked = mta.command("check", check=False)
    assert checked.returncode != 0 and "http.certificate: " in checked.stdout + checked.stderr


def test_addresses_of_the_network_need_a_certificate(mta, api):
    mta.config["http"]["listen"] = ["192.0.2.1:9587"]
    mta.write_config()
    assert mta.command("check", check=False).returncode == 0
    del mta.config["http"]["certificate"], mta.config["http"]["key"]
    mta.write_config()
    refused = mta.command("check", check=False)
    assert refused.returncode != 0 and "192.0.2.1:9587 is not an address of loopback" in refused.stdout + refused.stderr
    assert "http.certificate" in refused.stdout + refused.stderr
    mta.config["http"] = {"listen": ["127.0.0.1:9587"], "key": "api.test.key"}
    mta.write_config()
    refused = mta.command("check", check=False)
    assert refused.returncode != 0 and "http.certificate is not set: set both, or none of them" in refused.stdout + refused.stderr
