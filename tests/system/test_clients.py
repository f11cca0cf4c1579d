"""Mail programs that others wrote, as their users set them up: port 587 with STARTTLS, port 465, a certificate they
verify, a user and a password; or by way of sendmail."""
import email
import email.policy
import json
import os
import smtplib
import ssl
import subprocess
from email.message import EmailMessage

import pytest

from harness.certificates import make_certificate
from harness.client import message
from harness.unpacked import tree
from harness.watch import wait_until
from test_auth import add_user


@pytest.fixture
def provider(mta, remote):
    """(mta, sink): ann with password "secret" may send by submission (STARTTLS) and submissions (implicit TLS)."""
    mta.certificate, key = make_certificate(mta.folder, "mta.test.example", ["mta.test.example", mta.address])
    mta.config["tls"] = {"certificates": [str(mta.certificate)], "keys": [str(key)]}
    mta.config["auth"] = {"passwords": str(mta.folder / "passwords"), "failure_delay": "0s"}
    mta.config["listen.submission"].update(tls="require", submission_networks=[])
    mta.implicit_port = mta.block.port()
    mta.config["listen.submissions"] = {"addresses": [f"{mta.address}:{mta.implicit_port}"], "service": "submission",
                                        "tls": "implicit"}
    sink = remote()
    mta.route("remote.example", sink)
    mta.write_config()
    add_user(mta, "ann", "secret")
    mta.start()
    return mta, sink


def run(mta, *command, input=None, status=0, **environment):
    """The program in a home of its own, with our sendmail in reach; fails unless it ends with that status."""
    home = mta.folder / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run([str(word) for word in command], input=input, capture_output=True, text=True, timeout=60, cwd=home,
                          env={"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8",
                               **{f"GIT_{who}_{what}": said for who in ("AUTHOR", "COMMITTER")
                                  for what, said in (("NAME", "Ann"), ("EMAIL", "ann@test.example"))},
                               "POSTRIDER_CONFIG": str(mta.file),
                               **environment}, **({} if input is not None else {"stdin": subprocess.DEVNULL}))
    assert (done.returncode == 0) == (status == 0), f"{command[0]}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def letter(mta, subject):
    file = mta.folder / f"{subject.replace(' ', '-')}.eml"
    file.write_text(message(subject, sender="ann@test.example"), newline="")
    return file


def by(sink, subject, seconds=15):
    """The message of that subject, once it is at the sink."""
    return wait_until(lambda: [m for m in list(sink.messages) if m.header("Subject") == subject], seconds, f"{subject!r} at the sink")[0]


# -- over SMTP

@pytest.mark.parametrize("door", ["STARTTLS", "implicit TLS"])
def test_msmtp(provider, door):
    mta, sink = provider
    implicit = door == "implicit TLS"

    def send(subject, auth, password="secret", status=0, trust=None):
        settings = mta.folder / "msmtprc"
        settings.write_text(f"""
account default
host {mta.address}
port {mta.implicit_port if implicit else mta.submission_port}
tls on
tls_starttls {'off' if implicit else 'on'}
tls_trust_file {trust or mta.certificate}
auth {auth}
user ann
password {password}
from ann@test.example
logfile -
""")
        settings.chmod(0o600)
        return run(mta, "msmtp", f"--file={settings}", "--", "user@remote.example", input=message(subject), status=status)
    for auth in ("plain", "login", "scram-sha-256", "on"):
        send(f"msmtp {auth}", auth)
        assert by(sink, f"msmtp {auth}").sender == "ann@test.example"
    refused = send("msmtp wrong", "on", "wrong", status=1)
    assert "535 5.7.8" in refused.stderr
    stranger, _ = make_certificate(mta.folder, "stranger.example")
    assert "certificate" in send("msmtp stranger", "on", trust=stranger, status=1).stderr
    assert len(sink.messages) == 4


@pytest.mark.parametrize("door", ["STARTTLS", "implicit TLS"])
def test_curl(provider, door):
    mta, sink = provider
    where = ([f"smtps://{mta.address}:{mta.implicit_port}"] if door == "implicit TLS" else
             ["--ssl-reqd", f"smtp://{mta.address}:{mta.submission_port}"])
    curl = ["curl", "-sS", "--max-time", "20", "--cacert", mta.certificate, "--mail-from", "ann@test.example",
            "--mail-rcpt", "user@remote.example", "--mail-rcpt", "second@remote.example", *where]
    run(mta, *curl, "-u", "ann:secret", "-T", letter(mta, "by curl"))
    assert by(sink, "by curl").recipients == ["user@remote.example", "second@remote.example"]
    run(mta, *curl, "-u", "ann:secret", "-F", "=(;type=multipart/alternative", "-F", "=Plain.;type=text/plain", "-F", "=Rich, <b>bold</b>.;type=text/html",
        "-F", "=)", "-F", "file=@/etc/hostname;encoder=base64", "-H", "Subject: made by curl", "-H", "From: <ann@test.example>")
    assert "multipart/alternative" in by(sink, "made by curl").text
    assert run(mta, *curl, "-u", "ann:wrong", "-T", letter(mta, "never"), status=67).returncode == 67  # login denied
    assert run(mta, *curl, "-T", letter(mta, "never"), status=55).returncode != 0
    assert len(sink.messages) == 2


def test_python(provider):
    mta, sink = provider
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann <ann@test.example>", "Grüße <user@remote.example>", "by Python, schön"
    mail["Bcc"] = "hidden@remote.example"
    mail.set_content("Grüße aus Python.\n.\n..\nFrom here on.\n" + "x" * 900 + "\n", cte="8bit")
    mail.add_attachment(bytes(range(256)) * 100, maintype="application", subtype="octet-stream", filename="bytes")
    trusting = ssl.create_default_context(cafile=mta.certificate)
    with smtplib.SMTP(mta.address, mta.submission_port, local_hostname="client.example", timeout=20) as s:
        s.starttls(context=trusting)
        with pytest.raises(smtplib.SMTPAuthenticationError) as refused:
            s.login("ann", "wrong")
        assert refused.value.smtp_code == 535
        s.login("ann", "secret")
        assert s.send_message(mail) == {}
        refused = s.sendmail("ann@test.example", ["user@remote.example", "nobody@test.example"], message("one is unknown"))
        assert list(refused) == ["nobody@test.example"] and refused["nobody@test.example"][0] == 550
    with smtplib.SMTP_SSL(mta.address, mta.implicit_port, local_hostname="client.example", timeout=20, context=trusting) as s:
        s.login("ann", "secret")
        for n in range(3):  # several in one session
            s.sendmail("ann@test.example", ["user@remote.example"], message(f"implicit {n}"))
    sent = by(sink, "by Python, =?utf-8?q?sch=C3=B6n?=")
    assert set(sent.recipients) == {"user@remote.example", "hidden@remote.example"} and "hidden" not in sent.text
    arrived = email.message_from_bytes(sent.content, policy=email.policy.default)
    assert arrived.get_body().get_content().replace("\r\n", "\n") == mail.get_body().get_content()
    assert next(arrived.iter_attachments()).get_content() == bytes(range(256)) * 100
    sink.wait_for(5)


def test_python_and_addresses_in_utf8(provider):
    mta, sink = provider
    sink.extensions += ["SMTPUTF8"]
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "ann@test.example", "jörg@remote.example", "to Jörg"
    mail.set_content("Grüße.\n", cte="8bit")
    with smtplib.SMTP(mta.address, mta.submission_port, local_hostname="client.example", timeout=20) as s:
        s.starttls(context=ssl.create_default_context(cafile=mta.certificate))
        s.login("ann", "secret")
        assert s.send_message(mail) == {}
    got = by(sink, "to Jörg")
    assert got.recipients == ["jörg@remote.example"] and got.arguments["mail"].endswith(" SMTPUTF8")


NODEMAILER = """
const nodemailer = require("nodemailer"), fs = require("fs");
const given = JSON.parse(process.argv[1]);
const transport = nodemailer.createTransport({
    host: given.host, port: given.port, secure: given.secure, pool: true, maxConnections: 3, maxMessages: 4,
    requireTLS: true, auth: {user: "ann", pass: given.password, method: given.method},
    tls: {ca: fs.readFileSync(given.certificate)}});
const one = n => transport.sendMail({
    from: "Ann <ann@test.example>", to: "user@remote.example", bcc: "hidden@remote.example", subject: `${given.method} ${n}`,
    text: "Hello.\\n.\\nGrüße.", html: "<p>Hello.</p>", attachments: [{filename: "a.txt", content: "x".repeat(5000)}]});
Promise.all([...Array(given.count).keys()].map(one)).then(
    all => { console.log(JSON.stringify(all.map(i => i.response))); transport.close(); },
    why => { console.log(why.responseCode, why.message); transport.close(); process.exit(1); });
"""


@pytest.mark.parametrize("door", ["STARTTLS", "implicit TLS"])
def test_nodemailer_and_its_pool(provider, door):
    mta, sink = provider

    def send(method, count, password="secret", status=0):
        secure = door == "implicit TLS"
        given = {"host": mta.address, "port": mta.implicit_port if secure else mta.submission_port, "secure": secure,
                 "certificate": str(mta.certificate), "method": method, "count": count, "password": password}
        return run(mta, "node", "-e", NODEMAILER, json.dumps(given), status=status, NODE_PATH=str(tree("node-nodemailer") / "usr/share/nodejs"))
    for method in ("PLAIN", "LOGIN"):
        said = json.loads(send(method, 10).stdout)
        assert len(said) == 10 and all(s.startswith("250 2.0.0 Ok: queued as ") for s in said)
    sink.wait_for(20)
    assert all(set(m.recipients) == {"user@remote.example", "hidden@remote.example"} and "hidden" not in m.text for m in sink.messages)
    mta.wait_log(r"disconnect from \S+ ehlo=\d .*auth=1 mail=4 rcpt=8 data=4 ")
    assert send("PLAIN", 1, "wrong", status=1).stdout.startswith("535 ")


def test_git_send_email_over_smtp(provider):
    mta, sink = provider
    patches = patches_of(mta)
    for encryption, port in (("tls", mta.submission_port), ("ssl", mta.implicit_port)):
        run(mta, "git", "send-email", "--quiet", "--confirm=never", "--suppress-cc=all", "--from=ann@test.example", "--to=user@remote.example",
            f"--smtp-server={mta.address}", f"--smtp-server-port={port}", f"--smtp-encryption={encryption}", "--smtp-user=ann",
            "--smtp-pass=secret", f"--smtp-ssl-cert-path={mta.certificate}", "--smtp-domain=client.example", *patches)
    sink.wait_for(4)
    assert [m.header("Subject") for m in sink.messages].count("[PATCH 2/2] second") == 2


# -- by way of sendmail

def patches_of(mta):
    """Two patches of a repository of their own."""
    place = mta.folder / "repository"
    place.mkdir()
    git = ["git", "-C", place, "-c", "user.name=Ann", "-c", "user.email=ann@test.example"]
    run(mta, *git, "init", "--quiet")
    for name in ("first", "second"):
        (place / name).write_text(".\n..\nFrom the start\n")
        run(mta, *git, "add", ".")
        run(mta, *git, "commit", "--quiet", "-m", name)
    run(mta, *git, "format-patch", "--quiet", "--root", "-o", mta.folder / "patches")
    return sorted((mta.folder / "patches").iterdir())


def test_git_send_email_by_sendmail(provider):
    mta, sink = provider
    run(mta, "git", "send-email", "--quiet", "--confirm=never", "--suppress-cc=all", "--from=Ann <ann@test.example>", "--envelope-sender=auto",
        "--to=user@remote.example", "--cc=Second <second@remote.example>", f"--sendmail-cmd={mta.programs}/sendmail", *patches_of(mta))
    first = by(sink, "[PATCH 1/2] first")
    assert first.sender == "ann@test.example" and set(first.recipients) == {"user@remote.example", "second@remote.example"}
    assert by(sink, "[PATCH 2/2] second").header("In-Reply-To") == first.header("Message-ID")
    assert "\r\n+.\r\n+..\r\n+From the start\r\n" in first.text


def test_mutt(provider):
    mta, sink = provider
    attached = mta.folder / "attached.bin"
    attached.write_bytes(bytes(range(256)) * 50)
    run(mta, "mutt", "-n", "-F", "/dev/null", "-e", f'set sendmail="{mta.programs}/sendmail -oem -oi"', "-e", "set from=ann@test.example use_from=yes "
        "use_envelope_from=yes copy=no", "-s", "by mutt", "-b", "hidden@remote.example", "-c", "second@remote.example", "-a", attached, "--",
        "user@remote.example", input="Hello.\n.\nFrom mutt.\nGrüße.\n")
    sent = by(sink, "by mutt")
    assert sent.sender == "ann@test.example"
    assert set(sent.recipients) == {"user@remote.example", "second@remote.example", "hidden@remote.example"}
    assert "hidden" not in sent.text and "\r\n.\r\n" in sent.text


def test_s_nail(provider):
    mta, sink = provider
    nail = ["s-nail", "-:/", "-S", "v15-compat", "-S", "ttycharset=utf-8", "-S", "nosave"]
    run(mta, *nail, "-S", f"mta={mta.programs}/sendmail", "-S", "from=ann@test.example", "-r", "ann@test.example", "-s", "by s-nail",
        "-b", "hidden@remote.example", "user@remote.example", input="Hello.\n.\nFrom s-nail.\nGrüße.\n")
    sent = by(sink, "by s-nail")
    assert sent.sender == "ann@test.example" and set(sent.recipients) == {"user@remote.example", "hidden@remote.example"}
    assert "hidden" not in sent.text
    # It compares the certificate's names only, and we are known here by an address.
    for n, where in enumerate((f"submission://ann:secret@{mta.address}:{mta.submission_port}", f"smtps://ann:secret@{mta.address}:{mta.implicit_port}")):
        for auth in ("plain", "login"):
            run(mta, *nail, "-S", f"mta={where}", "-S", f"smtp-auth={auth}", "-S", "tls-verify=ignore", *(["-S", "smtp-use-starttls"] if n == 0 else []),
                "-S", "from=ann@test.example", "-S", "hostname=client.example",
                "-s", f"s-nail {n} {auth}", "user@remote.example", input="Hello.\n")
            by(sink, f"s-nail {n} {auth}")
