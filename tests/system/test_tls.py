"""TLS at the door: STARTTLS and implicit, by clients that others wrote."""
import re
import smtplib
import ssl
import subprocess

import pytest

from harness.certificates import make_certificate
from harness.client import Client, message
from harness.watch import wait_until


@pytest.fixture
def secure(mta, remote):
    """(mta, sink): STARTTLS offered on the relay port, required on submission, implicit on a port of its own."""
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.config["listen.submission"]["tls"] = "require"
    mta.implicit_port = mta.block.port()
    mta.config["listen.submissions"] = {"addresses": [f"{mta.address}:{mta.implicit_port}"], "service": "submission",
                                        "tls": "implicit", "submission_networks": ["127.0.0.0/8"]}
    mta.config["master"]["heartbeat_interval"] = "200ms"
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    return mta, sink


def trusting():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def starttls(mta, port=None, context=None, name=None, source=None):
    c = mta.client(port, source=source)
    assert c.say("STARTTLS").startswith("220 2.0.0")
    c.socket = (context or trusting()).wrap_socket(c.socket, server_hostname=name)
    return c


def common_name(c):
    """Of the certificate the server showed."""
    text = subprocess.run(["openssl", "x509", "-inform", "DER", "-noout", "-subject", "-fingerprint"],
                          input=c.socket.getpeercert(True), capture_output=True, check=True).stdout.decode()
    return re.search(r"CN = (\S+)", text)[1], text


@pytest.mark.smoke
def test_a_message_under_starttls(secure):
    mta, sink = secure
    with smtplib.SMTP(mta.address, mta.relay_port, timeout=20) as s:
        s.starttls(context=trusting())
        s.sendmail("a@test.example", ["user@remote.example"], message("under tls"))
    got = sink.wait_for(1)[0]
    assert re.search(rb"\(using TLSv1\.3 with cipher TLS_AES_256_GCM_SHA384 \(256/256 bits\)\)\r\n\tby \S+ \(Postrider\) with "
                     rb"ESMTPS id ", got.content)
    mta.wait_log(r"smtpd\[\d+\]: Anonymous TLS connection established from localhost\[127\S+\]: TLSv1\.3 with cipher "
                 r"TLS_AES_256_GCM_SHA384 \(256/256 bits\)$")
    mta.wait_log(r"disconnect from \S+ ehlo=2 starttls=1 mail=1 rcpt=1 data=1 quit=1 commands=7")


def test_a_message_under_implicit_tls(secure):
    mta, sink = secure
    with smtplib.SMTP_SSL(mta.address, mta.implicit_port, timeout=20, context=trusting()) as s:
        s.sendmail("a@test.example", ["user@remote.example"], message("implicit"))
        assert not s.has_extn("starttls")
    sink.wait_for(1)
    log = "\n".join(mta.log())
    assert log.index("connect from localhost") < log.index("Anonymous TLS connection established")


def test_submission_requires_tls(secure):
    mta, _ = secure
    with mta.client(mta.submission_port) as c:
        assert c.say("MAIL FROM:<a@test.example>").startswith("530 5.7.0 Must issue a STARTTLS command first")
    with starttls(mta, mta.submission_port) as c:
        assert c.say("EHLO client.example").startswith("250")
        assert c.say("MAIL FROM:<a@test.example>").startswith("250")


@pytest.mark.smoke
def test_clients_of_other_make(secure):
    mta, sink = secure
    letter = mta.folder / "letter"
    letter.write_text(message("by curl"))
    curl = ["curl", "-sS", "--insecure", "--max-time", "20", "--mail-from", "a@test.example",
            "--mail-rcpt", "user@remote.example", "-T", letter]
    subprocess.run([*curl, "--ssl-reqd", f"smtp://{mta.address}:{mta.relay_port}"], check=True)
    subprocess.run([*curl, f"smtps://{mta.address}:{mta.implicit_port}"], check=True)
    for options in (["--tls", "--server", f"{mta.address}:{mta.relay_port}"],
                    ["--tlsc", "--server", f"{mta.address}:{mta.implicit_port}"]):
        done = subprocess.run(["swaks", "--timeout", "20", "--from", "a@test.example", "--to", "user@remote.example",
                               "--body", "by swaks", *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    sink.wait_for(4)


# -- what must not happen

def test_plain_text_behind_starttls_is_never_obeyed(secure):
    mta, _ = secure
    with mta.client() as c:
        c.send(b"STARTTLS\r\nMAIL FROM:<evil@remote.example>\r\n")
        assert c.reply().startswith("554 5.5.0")
        assert c.closed_by_peer() == b""
    mta.wait_log("improper command pipelining after STARTTLS from")


def test_nothing_is_left_of_what_was_said_before_tls(secure):
    mta, _ = secure
    with mta.client() as c:
        c.say("MAIL FROM:<a@test.example>")
        c.say("RCPT TO:<user@remote.example>")
        assert c.say("STARTTLS").startswith("220")
        c.socket = trusting().wrap_socket(c.socket)
        assert c.say("DATA").startswith("503")
        assert c.say("MAIL FROM:<a@test.example>").startswith("503 5.5.1 Error: send HELO/EHLO first")
    assert not mta.spool_files()


@pytest.mark.parametrize("how", ["notify", "cut"])
def test_an_end_inside_data_drops_the_message(secure, how):
    mta, sink = secure
    c = starttls(mta)
    c.say("EHLO client.example")
    c.say("MAIL FROM:<a@test.example>")
    c.say("RCPT TO:<user@remote.example>")
    c.say("DATA")
    c.send(message("cut short").encode() + b"half a line")
    if how == "notify":
        try:
            c.socket.unwrap()
        except (ssl.SSLError, OSError):
            pass
    c.close()
    mta.wait_log(r"lost connection after DATA \(\d+ bytes\) from")
    wait_until(lambda: not mta.spool_files(), 10, "the half message to be gone")
    assert sink.connections == 0


def test_plain_text_after_tls_ends_the_session(secure):
    mta, _ = secure
    c = mta.client()
    c.say("STARTTLS")
    raw = c.socket.dup()
    c.socket = trusting().wrap_socket(c.socket)
    c.say("EHLO client.example")
    raw.send(b"MAIL FROM:<evil@remote.example>\r\n")
    mta.wait_log("SSL_read error from")
    mta.wait_log("lost connection after EHLO from")
    raw.close()
    c.close()


@pytest.mark.parametrize("hello", [b"EHLO client.example\r\n", b"GET / HTTP/1.0\r\n\r\n", bytes(range(256)), b"\x16\x03\x01\xff\xff" * 50])
def test_what_is_no_tls_at_an_implicit_port(secure, hello):
    mta, _ = secure
    with Client(mta.address, mta.implicit_port, greet=False) as c:
        c.send(hello)
        assert not c.closed_by_peer().startswith(b"220")
    mta.wait_log(r"SSL_accept error from \S+: \S+")
    mta.submit("user@remote.example")


def test_a_handshake_that_does_not_end(mta):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)], "handshake_timeout": "1s"}
    mta.start()
    with mta.client() as c:
        c.say("STARTTLS")
        assert c.closed_by_peer() == b""
    mta.wait_log("SSL_accept error from .*: timeout")
    mta.wait_log("lost connection after STARTTLS from")


@pytest.mark.smoke
@pytest.mark.parametrize("split", ["whole", "records"])
def test_smuggling_under_tls(secure, split):
    mta, sink = secure
    for n, sequence in enumerate((b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r.\r\n", b"\r\n.\r", b"\r.\n", b"\r\n.\r\r\n", b"\r\n\0.\r\n")):
        content = (message(f"outer {n}").encode().rstrip() + sequence +
                   b"MAIL FROM:<evil@remote.example>\r\nRCPT TO:<victim@remote.example>\r\nDATA\r\nsmuggled\r\n.\r\n")
        with starttls(mta) as c:
            c.say("EHLO client.example")
            c.say("MAIL FROM:<a@test.example>")
            c.say("RCPT TO:<user@remote.example>")
            c.say("DATA")
            if split == "whole":
                c.send(content)
            else:
                for at in range(len(content)):  # a record for each byte
                    c.send(content[at:at + 1])
            c.reply()
            assert c.say("NOOP").startswith("250")
    mta.wait_until_empty()
    assert not sink.to("victim@remote.example")


# -- certificates

def test_certificates_by_name_and_renewal(mta):
    first, first_key = make_certificate(mta.folder, "first.example")
    second, second_key = make_certificate(mta.folder, "second.example", ["second.example", "*.wild.example"])
    mta.config["tls"] = {"certificates": [str(first), str(second)], "keys": [str(first_key), str(second_key)]}
    mta.config["master"]["heartbeat_interval"] = "200ms"
    mta.start()
    for name, expected in ((None, "first.example"), ("second.example", "second.example"), ("x.wild.example", "second.example"),
                           ("other.example", "first.example")):
        with starttls(mta, name=name) as c:
            assert common_name(c)[0] == expected
    with starttls(mta) as c:
        before = common_name(c)[1]
        make_certificate(mta.folder, "first.example")

        def shown():
            with starttls(mta) as again:
                return common_name(again)[1]
        wait_until(lambda: shown() != before, 15, "the renewed certificate to be in use")
        mta.wait_log(f"master.*: {first}: changed and applied")
        assert c.say("EHLO client.example").startswith("250"), "who is connected stays so"
    # A broken one is not taken over.
    first.write_text("nonsense")
    mta.wait_log("the previous certificates, passwords and credentials stay in use")
    with starttls(mta) as c:
        assert common_name(c)[0] == "first.example"
    assert f"Warning     {first}: " in mta.command("status").stdout
    mta.command("reload", check=False)  # refused: it does not make the trouble go away
    assert "stay in use" in mta.command("status").stdout
    make_certificate(mta.folder, "first.example")
    wait_until(lambda: "stay in use" not in mta.command("status").stdout, 15, "the trouble to be over")


def test_a_ticket_is_good_at_every_worker(mta):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.config["smtpd"]["workers"] = 3
    mta.start()
    context = trusting()
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # there the ticket comes with the handshake
    with starttls(mta, context=context) as c:
        session = c.socket.session
    for _ in range(8):
        c = mta.client()
        c.say("STARTTLS")
        c.socket = context.wrap_socket(c.socket, session=session)
        assert c.socket.session_reused
        c.close()


# -- OpenSSL's s_client

def s_client(mta, *options, port=None):
    """What it says of the connection, which must have gone well to the end."""
    where = ["-connect", f"{mta.address}:{port}"] if port else ["-connect", f"{mta.address}:{mta.relay_port}", "-starttls", "smtp"]
    done = subprocess.run(["openssl", "s_client", *where, "-ign_eof", "-crlf", *map(str, options)], input="QUIT\n",
                          capture_output=True, text=True, timeout=20)
    assert "221 2.0.0 Bye" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("version, cipher", [("TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"), ("TLSv1.3", "TLS_AES_256_GCM_SHA384")])
def test_s_client_verifies_us(secure, version, cipher):
    mta, _ = secure
    option = "-" + version.lower().replace("v1.", "1_")
    for port in (None, mta.implicit_port):
        said = s_client(mta, option, "-CAfile", mta.folder / "mta.test.example.pem", "-verify_return_error", "-verify_hostname", "mta.test.example", port=port)
        assert f"{version}, Cipher is {cipher}" in said and "Verification: OK" in said, said
        assert "Secure Renegotiation IS supported" in said or version == "TLSv1.3"


def test_s_client_asks_for_a_name(mta):
    pairs = [make_certificate(mta.folder, name, names) for name, names in
             (("first.example", None), ("second.example", ["second.example", "*.wild.example"]), ("third.example", None))]
    mta.config["tls"] = {"certificates": [str(c) for c, _ in pairs], "keys": [str(k) for _, k in pairs]}
    mta.start()
    for version in ("-tls1_2", "-tls1_3"):
        for name, shown in (("first.example", "first"), ("second.example", "second"), ("a.wild.example", "second"), ("third.example", "third"),
                            ("unknown.example", "first"), ("a.b.wild.example", "first")):
            assert f"subject=CN = {shown}.example" in s_client(mta, version, "-servername", name), (version, name)
        assert "subject=CN = first.example" in s_client(mta, version, "-noservername")


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_s_client_comes_back_to_any_worker(mta, version):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.config["smtpd"]["workers"] = 3
    mta.start()
    option, session = "-" + version.lower().replace("v1.", "1_"), mta.folder / "session"
    assert f"New, {version}" in s_client(mta, option, "-sess_out", session)
    former = session.read_text()
    for _ in range(9):
        assert f"Reused, {version}" in s_client(mta, option, "-sess_in", session, "-sess_out", session)
        assert session.read_text() != former or version == "TLSv1.2", "a ticket of TLS 1.3 is for one time"
        former = session.read_text()
    mta.restart()  # the keys live in memory only
    assert f"New, {version}" in s_client(mta, option, "-sess_in", session)


def test_s_client_without_what_we_speak(secure):
    mta, _ = secure
    for option in ("-tls1_1", "-tls1"):
        done = subprocess.run(["openssl", "s_client", "-connect", f"{mta.address}:{mta.relay_port}", "-starttls", "smtp", option, "-cipher",
                               "ALL:@SECLEVEL=0"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
        assert done.returncode != 0 and "Cipher is (NONE)" in done.stdout, done.stdout
    mta.wait_log(r"SSL_accept error from \S+: .*(version|protocol)", count=2)


def test_client_certificates(mta):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    own, own_key = make_certificate(mta.folder, "client.example")
    stranger, stranger_key = make_certificate(mta.folder, "stranger.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)], "client_ca_file": str(own)}
    mta.config["listen.relay"]["client_certificates"] = True
    mta.start()
    for shown, word in (((own, own_key), "Trusted"), ((stranger, stranger_key), "Untrusted"), (None, "Anonymous")):
        context = trusting()
        if shown:
            context.load_cert_chain(*shown)
        with starttls(mta, context=context) as c:
            assert c.say("EHLO client.example").startswith("250")
        mta.wait_log(f"{word} TLS connection established from")


@pytest.mark.parametrize("tls, message_text", [
    ({}, r"listen\.submission.* TLS requires tls\.certificates"),
    ({"certificates": ["/nonexistent.pem"]}, r"tls\.certificates: /nonexistent\.pem: No such file"),
])
def test_a_configuration_that_cannot_work_is_refused(mta, tls, message_text):
    mta.config["tls"] = tls
    mta.config["listen.submission"]["tls"] = "require"
    mta.write_config()
    done = mta.command("check", check=False)
    assert done.returncode != 0 and re.search(message_text, done.stdout + done.stderr), done.stdout + done.stderr


def test_authorities_that_are_none_are_refused(mta):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    (mta.folder / "authorities").write_text("not a certificate\n")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)], "client_ca_file": str(mta.folder / "authorities")}
    mta.write_config()
    done = mta.command("check", check=False)
    assert done.returncode != 0 and re.search(r"postrider\.toml:\d+:\d+: tls\.client_ca_file: \S+/authorities: "
                                              r"contains no certificate", done.stderr), done.stdout + done.stderr
    mta.config["tls"]["client_ca_file"] = str(certificate)
    mta.start()
    mta.config["tls"]["client_ca_file"] = str(mta.folder / "authorities")
    mta.write_config()
    done = mta.command("reload", check=False)
    assert done.returncode != 0 and "contains no certificate" in done.stdout + done.stderr
    assert mta.answers()


def test_an_unusable_key_is_refused_at_start(mta):
    certificate, _ = make_certificate(mta.folder, "one.example")
    _, key = make_certificate(mta.folder, "two.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.start(wait=False)
    assert mta.process.wait(20) != 0
    assert "the private key is not that of the certificate" in (mta.folder / "output").read_text()
    mta.process = None
