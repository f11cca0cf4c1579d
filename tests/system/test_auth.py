"""AUTH: users, mechanisms, guessers, and clients that others wrote."""
import base64
import hashlib
import hmac
import os
import smtplib
import socket
import subprocess
import threading
import time

import pytest

from harness.certificates import make_certificate
from harness.client import message
from harness.watch import wait_until
from test_metrics import metered, wait_figures
from test_tls import starttls, trusting


def add_user(mta, user, password, *options):
    done = mta.command("passwd", user, *options, input=password + "\n", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def users(mta, remote):
    """(mta, sink): ann with password "secret" may authenticate on the submission port, under TLS."""
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.config["auth"] = {"passwords": str(mta.folder / "passwords"), "failure_delay": "0s"}
    mta.config["listen.submission"].update(tls="require", submission_networks=[])
    mta.config["master"]["heartbeat_interval"] = "200ms"
    sink = remote()
    mta.route("remote.example", sink)
    mta.write_config()
    add_user(mta, "ann", "secret")
    return mta, sink


def plain(user, password):
    return base64.b64encode(f"\0{user}\0{password}".encode()).decode()


def submission(mta, **options):
    c = starttls(mta, mta.submission_port, **options)
    assert c.say("EHLO client.example").startswith("250")
    return c


def scram(c, user, password, binding=None):
    """A client of our own: RFC 5802 by hand. Returns the last reply."""
    name = "SCRAM-SHA-256-PLUS" if binding else "SCRAM-SHA-256"
    gs2 = "p=tls-server-end-point,," if binding else "n,,"
    first = f"n={user},r={base64.b64encode(os.urandom(12)).decode()}"
    encode = lambda b: base64.b64encode(b).decode()
    reply = c.say(f"AUTH {name} {encode((gs2 + first).encode())}")
    if not reply.startswith("334 "):
        return reply
    server_first = base64.b64decode(reply[4:]).decode()
    fields = dict(f.split("=", 1) for f in server_first.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    mac = lambda key, text: hmac.digest(key, text, "sha256")
    client_key = mac(salted, b"Client Key")
    final = f"c={encode(gs2.encode() + (binding or b''))},r={fields['r']}"
    said = f"{first},{server_first},{final}".encode()
    signature = mac(hashlib.sha256(client_key).digest(), said)
    proof = bytes(a ^ b for a, b in zip(client_key, signature))
    reply = c.say(encode(f"{final},p={encode(proof)}".encode()))
    if not reply.startswith("334 "):
        return reply
    assert base64.b64decode(reply[4:]) == b"v=" + base64.b64encode(mac(mac(salted, b"Server Key"), said)), "the server proves itself"
    return c.say("")


@pytest.mark.smoke
def test_who_authenticates_may_send_to_anywhere(users):
    mta, sink = users
    mta.start()
    for mechanism in ("plain", "login"):
        with smtplib.SMTP(mta.address, mta.submission_port, timeout=20) as s:
            s.starttls(context=trusting())
            s.ehlo()
            s.user, s.password = "ann", "secret"
            s.auth(mechanism, getattr(s, f"auth_{mechanism}"))
            s.sendmail("ann@test.example", ["user@remote.example"], message(f"by {mechanism}"))
    got = sink.wait_for(2)
    assert all(b" with ESMTPSA id " in m.content for m in got)
    mta.wait_log(r"smtpd\[\d+\]: [0-9A-F]+: client=localhost\[127\S+\], sasl_method=PLAIN, sasl_username=ann$")
    mta.wait_log(r"disconnect from \S+ ehlo=2 starttls=1 auth=1 mail=1 ")
    with submission(mta) as c:
        assert c.say("MAIL FROM:<ann@test.example>").startswith("530 5.7.0")


def test_never_in_plain_text(users):
    mta, _ = users
    mta.start()
    with mta.client(mta.submission_port) as c:
        assert "AUTH" not in c.say("EHLO client.example")
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("530 5.7.0")
    with mta.client() as c:
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("502 5.5.1")


def test_plain_text_where_it_is_allowed(users):
    mta, _ = users
    mta.config["listen.submission"].update(tls="no", auth_without_tls=True)
    mta.start()
    with mta.client(mta.submission_port) as c:
        reply = c.say("EHLO client.example")
        assert "250-AUTH SCRAM-SHA-256 PLAIN LOGIN" in reply, reply
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("235 2.7.0")


def test_scram(users):
    mta, sink = users
    mta.start()
    with submission(mta) as c:
        assert scram(c, "ann", "secret").startswith("235 2.7.0")
        assert c.deliver("ann@test.example", ["user@remote.example"], message("by scram")).startswith("250")
    with submission(mta) as c:
        certificate = c.socket.getpeercert(True)
        assert scram(c, "ann", "secret", binding=hashlib.sha256(certificate).digest()).startswith("235 2.7.0")
    for user, password in (("ann", "Secret"), ("nobody", "secret")):
        with submission(mta) as c:
            assert scram(c, user, password).startswith("535 5.7.8")
    with submission(mta) as c:
        assert scram(c, "ann", "secret", binding=b"x" * 32).startswith("535 5.7.8")
    sink.wait_for(1)


@pytest.mark.smoke
def test_clients_of_other_make(users):
    mta, sink = users
    mta.start()
    letter = mta.folder / "letter"
    letter.write_text(message("by curl"))
    for mechanism in ("PLAIN", "LOGIN"):  # no SCRAM in this curl
        done = subprocess.run(["curl", "-sS", "--insecure", "--ssl-reqd", "--max-time", "20", "-u", "ann:secret", "--login-options",
                               f"AUTH={mechanism}", "--mail-from", "ann@test.example", "--mail-rcpt", "user@remote.example", "-T",
                               letter, f"smtp://{mta.address}:{mta.submission_port}"], capture_output=True, text=True)
        assert done.returncode == 0, (mechanism, done.stderr)
    for mechanism in ("PLAIN", "LOGIN"):
        done = subprocess.run(["swaks", "--timeout", "20", "--tls", "--server", f"{mta.address}:{mta.submission_port}", "--auth",
                               mechanism, "--auth-user", "ann", "--auth-password", "secret", "--from", "ann@test.example",
                               "--to", "user@remote.example"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    sink.wait_for(4)


def test_names_and_passwords_however_they_are_typed(users):
    """SASLprep, where GNU's SASL library is the other side: composed or not, with whichever blank."""
    mta, _ = users
    add_user(mta, "jo\u0308rg", "pa\u00df\u00a0wo\u0308rter")
    assert "j\u00f6rg:" in (mta.folder / "passwords").read_text()
    mta.start()

    def enters(mechanism, user, password):
        return subprocess.run(["gsasl", "--smtp", "--no-cb", "--x509-ca-file=", f"--mechanism={mechanism}", f"--authentication-id={user}",
                               f"--password={password}", mta.address, str(mta.submission_port)],
                              input="\n", capture_output=True, text=True, timeout=30, env=dict(os.environ, LC_ALL="C.UTF-8"))

    for mechanism in ("SCRAM-SHA-256", "PLAIN", "LOGIN"):
        for user, password in (("j\u00f6rg", "pa\u00df w\u00f6rter"), ("jo\u0308rg", "pa\u00df\u00a0wo\u0308rter")):
            done = enters(mechanism, user, password)
            assert done.returncode == 0, (mechanism, done.stdout + done.stderr)
        assert enters(mechanism, "j\u00f6rg", "pass w\u00f6rter").returncode != 0
    assert mta.command("passwd", "jo\u0308rg", "--remove").stdout.endswith("j\u00f6rg is removed\n")


def test_wrong_passwords_are_logged_and_counted(users):
    mta, _ = users
    mta.config["auth"]["failures_per_network"] = 4
    mta.start()
    for user, password in (("ann", "wrong"), ("nobody", "secret"), ("ann", ""), ("ann", "secre")):
        with submission(mta) as c:
            assert c.say(f"AUTH PLAIN {plain(user, password)}") == "535 5.7.8 Error: authentication failed"
    mta.wait_log(r"warning: localhost\[127\.\S+\]: SASL PLAIN authentication failed: authentication failure, sasl_username=nobody$")
    assert not any("secre" in l.replace("secret", "") for l in mta.log()), "no password in the log"


LOCKED_OUT = ("421 4.7.0 mta.test.example Error: too many failed authentications of this user from your network, "
              "try again in 10 min")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM"])
def test_one_users_wrong_passwords_lock_out_nobody_else(users, block, mechanism):
    """Webmail on this host: one of its users has forgotten the password, all come from the same address."""
    mta, _ = users
    add_user(mta, "bob", "secret too")
    mta.config["auth"]["failures_per_network"] = 3
    mta.config["smtpd"]["workers"] = 1
    mta.start()

    def tries(user, password, **options):
        with submission(mta, **options) as c:
            return scram(c, user, password) if mechanism == "SCRAM" else c.say(f"AUTH PLAIN {plain(user, password)}")
    for _ in range(2):
        assert tries("ann", "wrong").startswith("535")
    assert tries("ann", "secret").startswith("235"), "a right one clears the count"
    for _ in range(2):
        assert tries("ann", "wrong").startswith("535")
    assert tries("Ann", "wrong").startswith("535"), "however the name is written"
    assert tries("ann", "secret") == LOCKED_OUT
    assert tries("ann", "wrong") == LOCKED_OUT, "the same whatever the password"
    assert tries("bob", "secret too").startswith("235")
    assert tries("ann", "secret", source=block.host(77)).startswith("235"), "from elsewhere"
    assert len(mta.logged(r"warning: user Ann from 127\.\S+ is locked out: 3 failed authentications within 10 min "
                          r'\(auth\.failures_per_network\); "postrider reload" lifts it')) == 1
    for n in range(36):
        if n % 3 == 0:
            c = submission(mta)
        reply = c.say(f"AUTH PLAIN {plain(f'user{n}', 'x')}")
        assert reply.startswith("535"), "this host is never locked out as a whole"
        if n % 3 == 2:
            c.close()
    assert tries("bob", "secret too").startswith("235")
    mta.command("reload")
    wait_until(lambda: tries("ann", "secret").startswith("235"), 15, "the lock-out to be lifted")


def test_a_network_is_locked_out_as_a_whole_unless_it_is_exempt(users, metered):
    mta, _ = users
    mta.config["auth"] |= {"failures_per_network": 1, "lockout_exempt": ["198.51.100.0/24"]}
    mta.config["smtpd"]["workers"] = 1
    mta.config["listen.submission"]["xclient_networks"] = ["127.0.0.0/8"]
    mta.start()

    def tries(address, user, password):
        with submission(mta) as c:
            assert c.say(f"XCLIENT ADDR={address}").startswith("220")
            c.say("EHLO client.example")
            return c.say(f"AUTH PLAIN {plain(user, password)}")
    for address, then in (("192.0.2.7", "421 4.7.0 mta.test.example Error: too many failed authentications from your network"),
                          ("198.51.100.7", "235")):
        for n in range(10):
            assert tries(address, f"user{n}", "x").startswith("535")
        assert tries(address, "ann", "secret").startswith(then)
    assert len(mta.logged(r"warning: every user from 192\.0\.2\.7 is locked out")) == 1
    figures = wait_figures(mta, lambda f: f("postrider_smtpd_lockouts_total", scope="user") == 20)
    assert figures("postrider_smtpd_lockouts_total", scope="network") == 1


def test_a_slow_refusal_holds_nobody_up(users):
    mta, _ = users
    mta.config["auth"]["failure_delay"] = "3s"
    mta.config["smtpd"]["workers"] = 1
    mta.start()
    with submission(mta) as guesser, submission(mta) as honest:
        before = time.monotonic()
        guesser.send(f"AUTH PLAIN {plain('ann', 'wrong')}\r\n".encode())
        assert honest.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("235")
        assert guesser.reply().startswith("535")
        assert time.monotonic() - before >= 3


@pytest.mark.parametrize("lines, reply", [
    (["AUTH PLAIN ***"], "501 5.5.2"), (["AUTH PLAIN"], "334"), (["AUTH LOGIN", "*"], "501 5.7.0"), (["AUTH LOGIN", "not base64"], "501 5.5.2"),
    (["AUTH NTLM"], "504 5.5.4"), (["AUTH PLAIN " + plain("ann", "x\0y")], "501 5.5.2"), (["AUTH PLAIN", "x" * 12300], "500 5.5.2"),
    (["AUTH SCRAM-SHA-256 " + base64.b64encode(b"n,,n=ann,r=x").decode(), "YQ=="], "535 5.7.8"),
    (["AUTH SCRAM-SHA-256 YQ=="], "501 5.5.2"), (["AUTH PLAIN " + base64.b64encode(b"bob\0ann\0secret").decode()], "535 5.7.8"),
])
def test_odd_exchanges(users, lines, reply):
    mta, _ = users
    mta.start()
    with submission(mta) as c:
        for line in lines:
            answer = c.say(line)
        assert answer.startswith(reply), answer
        if reply != "334":
            assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("235"), "the session is in step"


def test_users_come_and_go_without_a_reload(users):
    mta, _ = users
    mta.start()
    add_user(mta, "bob", "hidden")
    mode = os.stat(mta.folder / "passwords").st_mode & 0o777
    assert mode == 0o600 and "hidden" not in (mta.folder / "passwords").read_text()

    def may(user, password):
        with submission(mta) as c:
            return c.say(f"AUTH PLAIN {plain(user, password)}").startswith("235")
    from harness.watch import wait_until
    wait_until(lambda: may("bob", "hidden"), 10, "bob to be known")
    assert mta.command("passwd", "bob", "--remove").stdout == f"{mta.folder}/passwords: bob is removed\n"
    wait_until(lambda: not may("bob", "hidden"), 10, "bob to be gone")
    assert may("ann", "secret")


def test_senders_are_the_users_own(users):
    mta, _ = users
    mta.config["auth"]["sender_match"] = True
    mta.write_config()
    add_user(mta, "bob@shop.example", "secret")
    add_user(mta, "bob@shop.example", "", "--addresses", "sales@shop.example,@lists.example")
    mta.start()
    for user, sender, reply in (("ann", "ann@test.example", "250"), ("ann", "Ann@localhost", "250"), ("ann", "", "250"),
                                ("ann", "bob@test.example",
                                 "553 5.7.1 <bob@test.example>: Sender address rejected: not owned by user ann"), ("ann", "ann@remote.example", "553 5.7.1"),
                                ("bob@shop.example", "bob@shop.example", "250"), ("bob@shop.example", "sales@shop.example", "250"),
                                ("bob@shop.example", "x@lists.example", "250"), ("bob@shop.example", "ann@shop.example", "553 5.7.1")):
        with submission(mta) as c:
            assert c.say(f"AUTH PLAIN {plain(user, 'secret')}").startswith("235")
            assert c.say(f"MAIL FROM:<{sender}>").startswith(reply), (user, sender)


# -- Dovecot's protocol, by a voice that says what Dovecot says

class Dovecot:
    def __init__(self, path, hangs=False):
        self.asked, self.hangs = [], hangs
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        if self.hangs:
            return peer.close()
        peer.sendall(b"VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nMECH\tLOGIN\tplaintext\nSPID\t1\nCUID\t1\nCOOKIE\t00\nDONE\n")
        for line in peer.makefile():
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "AUTH":
                self.asked.append(fields)
                response = [f[5:] for f in fields if f.startswith("resp=")]
                if not response:
                    peer.sendall(b"CONT\t1\t\n")
                    continue
                fields = ["CONT", "1", response[0]]
            if fields[0] == "CONT":
                good = base64.b64decode(fields[2]) == b"\0ann\0secret"
                peer.sendall(b"OK\t1\tuser=ann\n" if good else b"FAIL\t1\tuser=ann\treason=no such luck\n")


@pytest.fixture
def dovecot(users, request):
    mta, _ = users
    path = mta.folder / "auth-client"
    mta.config["auth"] = {"dovecot": str(path), "mechanisms": ["PLAIN", "LOGIN"], "failure_delay": "0s"}
    folder = os.open(mta.folder, os.O_PATH)  # socket paths are short
    server = Dovecot(f"/proc/self/fd/{folder}/auth-client", **getattr(request, "param", {}))
    mta.config["auth"]["dovecot"] = os.path.relpath(path, mta.folder)
    yield mta, server
    server.listener.close()
    os.close(folder)


def test_dovecot_decides(dovecot):
    mta, server = dovecot
    mta.start()
    with submission(mta) as c:
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("235")
    with submission(mta) as c:
        assert c.say("AUTH PLAIN") == "334 "
        assert c.say(plain("ann", "secret")).startswith("235")
    with submission(mta) as c:
        assert c.say(f"AUTH PLAIN {plain('ann', 'wrong')}").startswith("535 5.7.8")
    mta.wait_log("SASL PLAIN authentication failed: no such luck, sasl_username=ann")
    assert "secured" in server.asked[0] and any(f.startswith("rip=127.") for f in server.asked[0])


@pytest.mark.parametrize("dovecot", [{"hangs": True}], indirect=True)
def test_dovecot_is_away(dovecot):
    mta, server = dovecot
    mta.start()
    with submission(mta) as c:
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}") == "454 4.7.0 Temporary authentication failure"
        server.listener.close()
    with submission(mta) as c:
        assert c.say(f"AUTH PLAIN {plain('ann', 'secret')}").startswith("454 4.7.0")
