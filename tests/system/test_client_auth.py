"""AUTH towards next hops: accounts from a file, mechanisms, wrong passwords, tokens by command."""
import base64
import http.server
import json
import os
import re
import shutil
import threading
import urllib.parse

import pytest

from harness.certificates import make_certificate
from harness.filters import Dovecot, DovecotSubmission
from harness.mta import Mta
from harness.ports import Block
from harness.watch import wait_until
from test_auth import add_user
from test_links import links
from test_try import GOOD, WAITS, attempt, of, one, ready


def accounts(mta, *lines):
    """The file of our accounts at next hops."""
    file = mta.folder / "credentials"
    file.write_text("".join(f"{line}\n" for line in lines))
    file.chmod(0o600)
    mta.config["smtp_client"] |= {"credentials": str(file), "workers": 1}
    return file


def status(mta):
    return mta.command("status").stdout


@pytest.fixture
def relay(folder, remote):
    """Another Postrider, at whose submission port ann with the password "secret" may send, under TLS; it passes mail for
    remote.example on to relay.sink. Not started."""
    (folder / "relay").mkdir()
    one = Mta(folder / "relay", Block())
    certificate, key = make_certificate(one.folder, "mta.test.example")
    one.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    one.config["auth"] = {"passwords": str(one.folder / "passwords"), "failure_delay": "0s"}
    one.config["listen.submission"].update(tls="require", submission_networks=[])
    one.sink = remote()
    one.route("remote.example", one.sink)
    one.write_config()
    add_user(one, "ann", "secret")
    one.at = f"[{one.address}]:{one.submission_port}"
    yield one
    one.kill_everything()


def by_relay(mta, relay, **route):
    mta.config['route."remote.example"'] = {"next_hop": relay.at, **route}


@pytest.mark.smoke
@pytest.mark.parametrize("mechanism", [None, "SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN", "LOGIN"])
def test_our_own_server_knows_us(mta, relay, mechanism):
    relay.start()
    by_relay(mta, relay, **({"auth": [mechanism]} if mechanism else {}))
    accounts(mta, f"{relay.at} ann:secret")
    mta.start()
    mta.submit("user@remote.example")
    relay.sink.wait_for_one_to("user@remote.example")
    mechanism = mechanism or "SCRAM-SHA-256-PLUS"
    relay.wait_log(rf"sasl_method={mechanism}, sasl_username=ann$")
    mta.wait_log(rf"authenticated to .* as ann at .* \({mechanism}\)$")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256-PLUS", "PLAIN", "LOGIN"])
@pytest.mark.parametrize("password, outcome", [("secret", GOOD), ("wrongword", WAITS)])
def test_a_try_shows_as_whom_and_what_came_of_it(mta, relay, mechanism, password, outcome):
    relay.start()
    by_relay(mta, relay, auth=[mechanism])
    accounts(mta, f"{relay.at} ann:{password}")
    mta.start()
    done = ready(mta, "-v", "user@remote.example")
    assert f"C: AUTH {mechanism}" in done.stdout, "the conversation is there, and"
    for shown in (password, *(base64.b64encode(each.encode()).decode() for each in (password, f"\0ann\0{password}"))):
        assert shown not in done.stdout + done.stderr
    mta.restart()  # what was refused is not asked again at once
    steps = attempt(mta, "user@remote.example", status=outcome)
    step, result = one(steps, "auth"), one(steps, "result")
    assert step["text"].startswith("as ann at ") and f"({mechanism}): " in step["text"]
    assert step["finding"] == ("good" if outcome == GOOD else "temporary") and step["code"] == (235 if outcome == GOOD else 535)
    assert bool(of(steps, "rcpt")) == (outcome == GOOD) and ("credentials" in result["advice"]) == (outcome != GOOD)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "PLAIN", "LOGIN"])
def test_dovecot_knows_us(mta, relay, mechanism):
    service = Dovecot(relay.folder, "ann:{PLAIN}se=cr,et", failure_delay="0s")
    try:
        relay.config["auth"] = {"dovecot": str(service.path), "mechanisms": ["SCRAM-SHA-256", "PLAIN", "LOGIN"]}
        relay.start()
        by_relay(mta, relay, auth=[mechanism])
        accounts(mta, f"{relay.at} ann:se=cr,et")
        mta.start()
        mta.submit("user@remote.example")
        relay.sink.wait_for_one_to("user@remote.example")
        relay.wait_log(rf"sasl_method={mechanism}, sasl_username=ann$")
    finally:
        service.stop()


def test_a_wrong_password_waits_is_shown_and_can_be_mended(mta, relay):
    relay.start()
    by_relay(mta, relay, connections=10)
    mta.config["queue"] |= {"glitch_interval": "1s", "link_down_after": "0s", "initial_connections_route": 10, "drain_target": "10ms"}
    accounts(mta, f"{relay.at} ann:wrongword")
    mta.start()
    waiting = [mta.submit("user@remote.example", f"number {n}") for n in range(20)]
    mta.wait_log(rf"({'|'.join(waiting)}): .*status=deferred \(host .* said: 535 5.7.8 .*in reply to AUTH command")
    mta.wait_log("was refused recently and is not tried again immediately", count=2)
    assert len(relay.log()) and len([l for l in relay.log() if "authentication failed" in l]) == 1, "the server was shown it once"
    assert "credentials refused: ann at" in status(mta)
    [link] = [each for each in links(mta).values() if each["link"] == relay.at]
    assert "535 5.7.8" in json.dumps(link) or "was refused recently" in json.dumps(link), link
    assert not relay.sink.messages and "status=bounced" not in "\n".join(mta.log())

    accounts(mta, f"{relay.at} ann:secret")
    mta.command("reload")
    relay.sink.wait_for(20, 30)
    mta.wait_until_empty()
    wait_until(lambda: "credentials refused" not in status(mta), 10, "the trouble to be over")
    for place in (mta, relay):
        assert not re.search("wrongword|secret", "\n".join(place.log())), "no password in a log"


def test_refused_credentials_give_mail_back_where_a_route_says_so(mta, relay):
    relay.start()
    by_relay(mta, relay, auth_failure="return")
    accounts(mta, f"{relay.at} ann:wrongword")
    mta.start()
    mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    text = mta.wait_mailbox(1)[0]
    assert "535 5.7.8" in text and "Action: failed" in text, text
    assert len([l for l in relay.log() if "authentication failed" in l]) == 1
    mta.wait_until_empty()


def test_without_tls_no_password_is_shown(mta, remote):
    sink = remote()
    sink.extensions.append("AUTH PLAIN LOGIN")
    mta.route("remote.example", sink)
    accounts(mta, f"{sink.address} ann:secret")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred .*offers reveal the password, and there is no TLS")
    assert not any(c.startswith(("AUTH", "MAIL")) for _, c in sink.commands)
    sink.at("unknown", lambda session, line: "235 2.7.0 Ok" if line.startswith("AUTH PLAIN AGFubgBzZWNyZXQ=") else None)
    mta.config['route."remote.example"']["auth_without_tls"] = True
    mta.write_config()
    mta.command("reload")
    sink.wait_for_one_to("user@remote.example")


def test_a_server_that_offers_nothing_gets_nothing_unless_told_otherwise(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    accounts(mta, f"{sink.address}:{sink.port} ann:secret", "other.example bob:other")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred .*there is an account, but AUTH was not offered")
    assert not sink.messages
    mta.config['route."remote.example"']["auth"] = ["no"]
    mta.write_config()
    mta.command("reload")
    sink.wait_for_one_to("user@remote.example")


def test_a_file_that_others_can_read_is_refused(mta, remote):
    file = accounts(mta, "relay.example ann:secret")
    mta.start()
    file.chmod(0o644)
    done = mta.command("reload", check=False)
    assert done.returncode != 0 and f'"chmod 600 {file}" fixes this' in done.stdout + done.stderr
    file.chmod(0o600)
    mta.command("reload")
    file.write_text("relay.example secret\n")
    done = mta.command("reload", check=False)
    assert done.returncode != 0 and f"{file}: line 1: neither USER:PASSWORD nor USER |COMMAND" in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr


class XOAuth2:
    """For a Sink: takes the tokens that are good."""

    def __init__(self, sink, *good):
        self.good, self.seen = set(good), []
        sink.extensions.append("AUTH XOAUTH2")
        sink.at("unknown", self)

    def __call__(self, session, line):
        command, _, response = line.partition(" XOAUTH2")
        assert command == "AUTH", line
        if not response:  # it was too long for one line
            session.send(b"334 \r\n")
            response = session.line().decode()
        user, bearer = base64.b64decode(response).decode().split("\1")[:2]
        assert user == "user=ann@example.com"
        self.seen.append(bearer.removeprefix("auth=Bearer "))
        if self.seen[-1] in self.good:
            return "235 2.7.0 Accepted"
        session.send(b"334 " + base64.b64encode(b'{"status":"401"}') + b"\r\n")
        assert session.line() == b""
        return "535 5.7.8 Token expired"


@pytest.fixture
def tokens(mta, remote):
    """(sink, XOAuth2, file of the token, file of the runs): the account's command prints what is in the file."""
    sink = remote()
    token, runs = mta.folder / "token", mta.folder / "runs"
    command = mta.folder / "make-token"
    command.write_text(f"#!/bin/sh\necho \"$1 $HOME $SECRET\" >> {runs}\ncat {token}\n")
    command.chmod(0o755)
    mta.config['route."remote.example"'] = {"next_hop": f"[{sink.address}]:{sink.port}", "auth_without_tls": True}
    mta.config["queue"] |= {"connection_idle_timeout": "0s", "messages_per_connection": 1}
    accounts(mta, f"{sink.address}:{sink.port} ann@example.com |{command} 'for ann'")
    return sink, XOAuth2(sink, "first-token"), token, runs


def test_a_token_is_made_when_needed_kept_and_made_anew_when_refused(mta, tokens):
    sink, server, token, runs = tokens
    token.write_text("first-token\n")
    os.environ["SECRET"] = "of our environment"
    mta.start()
    for n in range(3):
        mta.submit("user@remote.example", f"number {n}")
        sink.wait_for(n + 1)
    assert set(server.seen) == {"first-token"}
    assert runs.read_text().splitlines() == ["for ann  "], "once, and with a clean environment"
    server.good = {"second-token" + "x" * 1000}
    token.write_text("second-token" + "x" * 1000 + "\n3600\n")
    mta.submit("user@remote.example", "with a new one")
    sink.wait_for(4)
    mta.wait_log("trying again with a new token")
    assert len(runs.read_text().splitlines()) == 2
    assert not any("status=deferred" in line for line in mta.log())
    assert not any("first-token" in line or "second-token" in line for line in mta.log())


@pytest.mark.parametrize("script, why", [("exit 3", "it ended with status 3"), ("true", "it printed nothing"),
                                         ("echo no token here", "its first line is not a token"),
                                         ("yes", "it printed more than 16384 bytes"), ("kill -9 $$", "it was ended by signal 9")])
def test_a_command_that_fails_defers_the_mail(mta, tokens, script, why):
    sink, server, token, _ = tokens
    accounts(mta, f"{sink.address} ann@example.com |{script}")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred \(no token for ann@example.com at {sink.address}: its command: {why}")
    assert not server.seen
    accounts(mta, f"{sink.address} ann@example.com |echo first-token")
    mta.command("reload")
    sink.wait_for(1)


def test_a_token_that_is_refused_when_new_is_tried_once(mta, tokens):
    sink, server, token, runs = tokens
    token.write_text("bad-token\n")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf'{queue_id}: .*status=deferred .*535 5.7.8 Token expired .*before that: {{"status":"401"}}')
    assert server.seen == ["bad-token"]
    assert "credentials refused" in status(mta)


# -- Dovecot's submission server

class Introspection:
    """Who knows at `url` + token whose it is."""

    def __init__(self, address, **good):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                user = good.get(asked["token"][0])
                body = json.dumps({"active": True, "email": user} if user else {"active": False}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.url = f"http://{address}:{self.server.server_port}/?token="
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def submission_server(mta, remote, block, folder):
    """submission_server(account's line without the host, auth=[…]) → (sink it relays to, the server)."""
    running = []

    def start(account, mechanism):
        sink, address, port = remote(), block.host(30), block.port()
        known = Introspection(block.host(31), good_token="ann@example.com")
        running.append(known)
        server = DovecotSubmission(folder, address, port, sink, "ann@example.com:{PLAIN}secret", introspection=known.url)
        running.append(server)
        mta.config['route."remote.example"'] = {"next_hop": f"[{address}]:{port}", "auth": [mechanism], "auth_without_tls": True}
        accounts(mta, f"{address} {account}")
        mta.start()
        return sink, server
    yield start
    for each in reversed(running):
        each.stop()
        if isinstance(each, DovecotSubmission):
            shutil.rmtree(each.place)


@pytest.mark.needs("root", "mounts")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "PLAIN", "LOGIN", "XOAUTH2", "OAUTHBEARER"])
@pytest.mark.parametrize("good", [True, False], ids=["known", "refused"])
def test_dovecot_submission(mta, submission_server, mechanism, good):
    if "OAUTH" in mechanism:
        account = f"ann@example.com |echo {'good_token' if good else 'bad_token'}"
    else:
        account = f"ann@example.com:{'secret' if good else 'wrongword'}"
    sink, server = submission_server(account, mechanism)
    queue_id = mta.submit("user@remote.example")
    if good:
        sink.wait_for_one_to("user@remote.example")
        mta.wait_log(rf"authenticated to .* as ann@example.com at .* \({mechanism}\)")
        return
    mta.wait_log(rf"{queue_id}: .*status=deferred \(host .* said: 535 5.7.8 .*in reply to AUTH command")
    assert "credentials refused" in status(mta), server.said()
    assert not sink.messages


def test_check_looks_into_the_file_of_accounts(mta):
    file = accounts(mta, "relay.example:587 ann:secret")
    mta.write_config()
    assert mta.command("check").returncode == 0
    file.write_text("relay.example:587 ann:secret\nrelay.example ann\n")
    done = mta.command("check", check=False)
    assert done.returncode != 0
    assert re.search(r"postrider\.toml:\d+:\d+: smtp_client\.credentials: \S+/credentials: line 2: neither USER:PASSWORD nor "
                     r"USER \|COMMAND", done.stderr), done.stderr
    file.write_text("relay.example:587 ann:secret\n")
    file.chmod(0o644)
    done = mta.command("check", check=False)
    assert done.returncode != 0 and re.search(r'credentials: \S+ contains secrets .*"chmod 600 \S+" fixes this', done.stderr)


def test_two_senders_have_two_accounts_at_one_host(mta, relay):
    """A next hop says as whom we go there; what has no account waits, and goes as nobody else."""
    add_user(relay, "ben", "also secret")
    relay.start()
    relays = mta.folder / "sender_relay"
    relays.write_text("".join(f"{who}@test.example {who}@{relay.at}\n" for who in ("ann", "ben", "carl")))
    mta.config["sender_relay"] = {"tables": [f"text:{relays}"]}
    accounts(mta, f"{relay.at} ann:secret", f"{relay.at} ben:also secret")
    mta.start()
    for who in ("ben", "ann", "carl", "ben"):
        mta.submit(f"{who}s@remote.example", sender=f"{who}@test.example")
    for who in ("ann", "ben"):
        relay.sink.wait_for_one_to(f"{who}s@remote.example")
        relay.wait_log(rf"sasl_username={who}$")
        mta.wait_log(rf"authenticated to .* as {who} at ")
    where = relay.at.strip("[").replace("]", "")
    mta.wait_log(rf"status=deferred .*smtp_client\.credentials has no account carl at {re.escape(where)}")
    assert not relay.logged(r"sasl_username=carl") and not mta.logged(r"to=<carls@.*status=sent")
    assert links(mta).keys() >= {f"{who}@{relay.at}" for who in ("ann", "ben", "carl")}
    # Mended while the mail waits.
    add_user(relay, "carl", "third")
    relay.command("reload")
    accounts(mta, f"{relay.at} ann:secret", f"{relay.at} ben:also secret", f"{relay.at} carl:third")
    mta.command("reload")
    mta.command("force", "all")
    relay.sink.wait_for_one_to("carls@remote.example")
    relay.wait_log(r"sasl_username=carl$")
