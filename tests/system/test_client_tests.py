"""Tests of unknown clients before they may send mail, and the memory of those that passed ([client_tests])."""
import contextlib
import json
import re
import signal
import socket

import pytest

from harness.client import Client
from harness.watch import wait_until
from test_policy import guarded, reversed_name  # noqa: F401
from test_proxy import proxy

LONG = "1m"  # no client of these tests waits for that


@pytest.fixture
def screened(guarded):  # noqa: F811
    """Clients must wait for their greeting; every client of the tests is a stranger, unless it comes from 127.0.0.1."""
    guarded.config["relay"] = {"networks": ["127.0.0.1"]}
    guarded.config["smtpd"].update({"greeting_delay": "200ms", "workers": 1})
    guarded.config["client_tests"] = {"enabled": True}
    return guarded


def connect(mta, source=None, **options):
    return Client(mta.address, mta.relay_port, source=source or mta.block.host(60), **options)


def lists(mta, names, **weights):
    """[dns_list] sections by the first label of their zone; a negative weight vouches for a client."""
    mta.use_names(names)
    for zone, weight in weights.items():
        mta.config[f'dns_list."{zone}.example"'] = {"weight": abs(weight), "allow": weight < 0}


def rcpt(client, mta, user=None):
    client.say("EHLO client.example")
    assert client.say("MAIL FROM:<a@remote.example>").startswith("250")
    return client.say(f"RCPT TO:<{user or mta.user}@test.example>")


def reload(mta):
    mta.write_config()
    mta.command("reload")


def pass_tests(mta, source=None):
    """Until its address is remembered."""
    with connect(mta, source) as c:
        assert c.banner.count("\n") == 1, c.banner
    mta.wait_log(rf"postscreen\[\d+\]: PASS NEW \[{re.escape(source or mta.block.host(60))}\]")


# -- the pause

@pytest.mark.smoke
def test_a_client_that_waits_is_remembered_and_goes_straight_in(screened):
    screened.start()
    with connect(screened) as c:
        first, last = c.banner.split("\n")
        assert first.startswith("220-") and last.startswith("220 ") and first[4:] == last[4:]
        assert rcpt(c, screened).startswith("250")
    screened.wait_log(r"postfix/postscreen\[\d+\]: PASS NEW \[127\.[\d.]+\]:\d+$")
    screened.config["smtpd"]["greeting_delay"] = LONG
    reload(screened)
    with connect(screened) as c:
        assert c.banner.startswith("220 ") and rcpt(c, screened).startswith("250")
    screened.wait_log(r"postfix/postscreen\[\d+\]: PASS OLD \[127\.[\d.]+\]:\d+$")


@pytest.mark.smoke
def test_a_client_that_talks_before_its_greeting_is_dropped_each_time(screened):
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.start()
    for _ in range(2):
        with connect(screened, greet=False) as c:
            c.send(b"EHLO hasty.example\r\nMAIL FROM:<a@b.example>\r\n")
            assert re.search("(^|\n)521 5.5.1 Protocol error$", c.reply())
            assert c.closed_by_peer() == b""
    screened.wait_log(r"postscreen\[\d+\]: PREGREET 45 after \S+ from \[127\.[\d.]+\]:\d+: EHLO hasty\.example", count=2)
    screened.wait_log(r"disconnect from \S+ commands=0/0", count=2)


def test_a_client_whose_bytes_come_during_the_pause(screened):
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.start()
    with connect(screened, greet=False) as c:
        assert c.socket.recv(4) == b"220-"
        c.send(b"EHLO hasty.example\r\n")
        assert c.closed_by_peer().endswith(b"\r\n521 5.5.1 Protocol error\r\n")
    screened.wait_log(r"PREGREET 20 after ")


def test_early_talk_enforced_and_ignored(screened):
    screened.config["client_tests"]["early_talk_action"] = "enforce"
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.start()
    for action, code in (("enforce", "550 5.5.1 Protocol error"), ("ignore", "250")):
        screened.config["client_tests"]["early_talk_action"] = action
        reload(screened)
        with connect(screened, greet=False) as c:
            c.send(b"EHLO hasty.example\r\n")
            assert c.reply().split("\n")[-1].startswith("220 ")
            assert c.reply().startswith("250")
            assert c.say("MAIL FROM:<a@remote.example>").startswith("250")
            assert c.say(f"RCPT TO:<{screened.user}@test.example>").startswith(code)
            assert c.say("RCPT TO:<postmaster@test.example>").startswith("250")
    screened.wait_log(r"NOQUEUE: reject: RCPT from \S+: 550 5\.5\.1 Protocol error; from=<a@remote\.example> "
                      rf"to=<{screened.user}@test\.example> proto=ESMTP helo=<hasty\.example>")
    assert not screened.logged("PASS")


def test_a_client_that_hangs_up_during_the_pause(screened):
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.start()
    connect(screened, greet=False).close()
    screened.wait_log(r"postscreen\[\d+\]: HANGUP after \S+ from \[127\.[\d.]+\]:\d+ in tests before SMTP handshake")
    screened.wait_log(r"disconnect from ")
    with connect(screened, greet=False) as c:
        assert c.socket.recv(4) == b"220-"
        screened.stop()
        assert b"\n421 4.3.2 " in c.closed_by_peer()


def test_those_who_wait_are_limited_and_the_remembered_do_not_wait(screened, block):
    screened.start()
    known = block.host(61)
    pass_tests(screened, known)
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.config["client_tests"]["maximum_waiting"] = 2
    reload(screened)
    with contextlib.ExitStack() as stack:
        for n in range(2):
            waiting = stack.enter_context(connect(screened, block.host(62 + n), greet=False))
            assert waiting.socket.recv(4) == b"220-"
        with connect(screened, block.host(64)) as c:
            assert c.banner.startswith("421 4.3.2 ")
        screened.wait_log(r"NOQUEUE: reject: CONNECT from \[\S+\]:\d+: all screening ports busy")
        with connect(screened, known) as c:
            assert rcpt(c, screened).startswith("250")
    screened.wait_log("HANGUP", count=2)
    with connect(screened, block.host(64), greet=False) as c: # there is room again
        assert c.socket.recv(4) == b"220-"


def test_own_networks_and_users_are_not_delayed(screened):
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.start()
    for source, port in (("127.0.0.1", screened.relay_port), (screened.block.host(60), screened.submission_port)):
        with Client(screened.address, port, source=source) as c:
            assert c.banner.startswith("220 ")
    assert not screened.logged("postscreen")


def test_without_tests_nothing_is_kept(screened):
    screened.config["client_tests"]["enabled"] = False
    screened.start()
    with connect(screened) as c:
        assert c.banner.startswith("220 ")
    assert not screened.logged("postscreen")
    assert not any((screened.spool / "state/clients").iterdir())


# -- permanent lists

def test_clients_that_are_always_admitted_or_never(screened, block):
    clients = screened.folder / "clients"
    clients.write_text(f"{block.host(61)} permit\n{block.host(62)} reject\n{block.host(63)} dunno\n")
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.config["client_tests"].update(
        {"tables": [f"cidr:{clients}"], "allowed_networks": [block.host(64)],
         "denied_networks": [block.host(63), block.host(64), block.host(65)]})
    screened.start()
    for n, listed in ((61, "ALLOW"), (62, "DENY"), (63, "DENY"), (64, "ALLOW"), (65, "DENY")):
        with connect(screened, block.host(n)) as c:
            if listed == "ALLOW":
                assert rcpt(c, screened).startswith("250")
            else:
                assert c.banner == "521 5.3.2 Service currently unavailable" and c.closed_by_peer() == b""
        screened.wait_log(rf"postscreen\[\d+\]: {listed}LISTED \[{re.escape(block.host(n))}\]:\d+")
    screened.config["client_tests"]["denied_action"] = "enforce"
    reload(screened)
    with connect(screened, block.host(65)) as c:
        assert rcpt(c, screened) == "550 5.3.2 Service currently unavailable"
        assert c.say("RCPT TO:<postmaster@test.example>").startswith("250")
    screened.config["client_tests"]["denied_action"] = "ignore"
    reload(screened)
    with connect(screened, block.host(65), greet=False) as c:
        assert c.socket.recv(4) == b"220-"


# -- DNS lists

def test_weights_of_lists_and_what_follows(screened, names, block):
    lists(screened, names, bad=2, worse=2, good=-2)
    screened.config["smtpd"]["dns_list_threshold"] = 3
    named = {block.host(61): (["bad"], 0), block.host(62): (["bad", "worse"], 4), block.host(63): (["bad", "worse", "good"], 0)}
    for address, (zones, _) in named.items():
        for zone in zones:
            names.address_of(reversed_name(address, f"{zone}.example"), "127.0.0.2")
    screened.start()
    for address, (zones, rank) in named.items():
        with connect(screened, address) as c:
            reply = rcpt(c, screened)
            if not rank:
                assert reply.startswith("250"), address
                screened.wait_log(rf"PASS NEW \[{re.escape(address)}\]")
                continue
            assert re.fullmatch(rf"550 5\.7\.1 Service unavailable; client \[{re.escape(address)}\] blocked using (bad|worse)\.example, "
                                r"(bad|worse)\.example", reply)
            assert c.say("RCPT TO:<postmaster@test.example>").startswith("250")
            screened.wait_log(rf"postscreen\[\d+\]: DNSBL rank {rank} for \[{re.escape(address)}\]:\d+$")
            screened.wait_log(r"NOQUEUE: reject: RCPT from \S+: 550 5\.7\.1 Service unavailable; client \[")
    screened.config["client_tests"]["dns_list_action"] = "drop"
    reload(screened)
    with connect(screened, block.host(62)) as c:
        assert re.search(r"\n521 5\.7\.1 Service unavailable; client ", c.banner) and c.closed_by_peer() == b""


def test_a_client_that_was_listed_is_looked_up_again(screened, names, block):
    lists(screened, names, bad=1)
    screened.config["smtpd"]["greeting_delay"] = "0s"
    names.address_of(reversed_name(block.host(61), "bad.example"), "127.0.0.2", ttl=0)
    screened.config["dns"].update({"minimum_ttl": "0s"})
    screened.start()
    with connect(screened, block.host(61)) as c:
        assert c.banner.startswith("220 ") # there is no pause, and nothing is announced
        assert rcpt(c, screened).startswith("550 5.7.1")
    names.records.clear()
    with connect(screened, block.host(61)) as c:
        assert rcpt(c, screened).startswith("250")
    screened.wait_log("PASS NEW")


def test_lists_of_good_clients_spare_them_the_pause(screened, names, block):
    lists(screened, names, bad=1, good=-3)
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.config["client_tests"]["dns_list_allow_threshold"] = 2
    for zone in ("bad", "good"):
        names.address_of(reversed_name(block.host(61), f"{zone}.example"), "127.0.0.2")
    screened.start()
    with connect(screened, block.host(61)) as c:
        assert rcpt(c, screened).startswith("250")
    screened.wait_log("PASS NEW")


def test_lists_that_are_silent_cost_a_moment_and_one_line(screened, names, block):
    lists(screened, names, silent=5, bad=1)
    screened.config["client_tests"]["dns_list_timeout"] = "300ms"
    screened.config["smtpd"]["greeting_delay"] = "0s"
    names.fails(reversed_name(block.host(61), "silent.example"), "timeout")
    names.fails(reversed_name(block.host(62), "silent.example"), "timeout")
    names.address_of(reversed_name(block.host(62), "bad.example"), "127.0.0.2")
    screened.start()
    with connect(screened, block.host(61)) as c:
        assert rcpt(c, screened).startswith("250")
    with connect(screened, block.host(62)) as c:
        assert rcpt(c, screened).startswith("550")
    screened.wait_log("warning: DNS list silent.example: no answer within client_tests.dns_list_timeout; it does not count")
    with connect(screened, block.host(63)) as c:
        assert rcpt(c, screened).startswith("250")
    screened.wait_log("DNS list silent.example answers again")
    assert len(lines_of(screened, "warning: DNS list silent.example")) == 1


# -- the memory

def remembered(mta, source=None):
    """The client goes straight in; else it would wait longer than the test."""
    with connect(mta, source, greet=False) as c:
        return c.socket.recv(4) == b"220 "


def lines_of(mta, words):
    return [line for line in mta.log() if words in line]


def worker_of(line):
    return int(re.search(r"postscreen\[(\d+)\]", line)[1]) % 256


def test_workers_share_the_memory(screened):
    screened.config["smtpd"]["workers"] = 2
    screened.start()
    pass_tests(screened)
    first = worker_of(lines_of(screened, "PASS NEW")[0])
    screened.config["smtpd"]["greeting_delay"] = LONG
    reload(screened)

    def by_the_other():
        remembered(screened) # not yet, if it has not been written
        return any(worker_of(line) != first for line in lines_of(screened, "PASS OLD"))
    wait_until(by_the_other)


def test_the_memory_survives_a_restart(screened):
    screened.start()
    pass_tests(screened)
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.write_config()
    screened.restart()
    wait_until(lambda: remembered(screened)) # once the memory is open
    screened.kill("smtpd", signal.SIGKILL)

    def remembered_again():
        with contextlib.suppress(OSError):
            return remembered(screened)
    wait_until(remembered_again)
    assert len(lines_of(screened, "PASS NEW")) == 1


def test_a_damaged_memory_is_replaced_and_mail_flows(screened):
    screened.start()
    pass_tests(screened)
    screened.stop()
    (screened.spool / "state/clients/data.mdb").write_bytes(b"no database" * 10_000)
    screened.start()
    screened.wait_log(r"error: the memory of clients was moved aside as \S+/state/clients/data\.mdb\.damaged and a new one is created")
    with connect(screened) as c:
        assert c.banner.startswith("220-") and rcpt(c, screened).startswith("250")
    screened.wait_log("PASS NEW", count=2)
    with connect(screened) as c:
        assert c.banner.startswith("220 ")


def test_without_a_usable_memory_mail_flows(screened):
    screened.start()
    screened.stop()
    memory = screened.spool / "state/clients"
    for file in memory.iterdir():
        file.unlink()
    (memory / "data.mdb").mkdir()
    screened.start()
    for _ in range(2):
        with connect(screened) as c:
            assert rcpt(c, screened).startswith("250")
    screened.wait_log("PASS NEW")
    screened.wait_log("error: clients that pass the tests are not all remembered: ")
    wait_until(lambda: "clients that pass the tests are not all remembered" in screened.command("status", check=False).stdout)


# -- tests during the session

@pytest.fixture
def deep(screened):
    """No pause; a client that fails is dropped."""
    screened.config["smtpd"]["greeting_delay"] = "0s"
    screened.config["client_tests"].update(
        {"pipelining_action": "drop", "non_smtp_action": "drop", "bare_newline_action": "drop"})
    return screened


def test_who_passes_during_the_session_goes_on_in_it_and_is_remembered(deep):
    deep.start()
    with connect(deep) as c:
        assert "PIPELINING" not in c.say("EHLO client.example")
        assert c.deliver("a@remote.example", [f"{deep.user}@test.example"], "Subject: x\n\nHello.\n").startswith("250")
    deep.wait_mailbox(1)
    deep.wait_log(r"PASS NEW \[127")
    with connect(deep) as c:
        assert "PIPELINING" in c.say("EHLO client.example")
    deep.wait_log(r"PASS OLD \[127")


@pytest.mark.parametrize("sent, line", [
    (b"MAIL FROM:<a@remote.example>\r\nRCPT TO:<x@test.example>\r\n",
     r"COMMAND PIPELINING from \[127[\d.]+\]:\d+ after EHLO: RCPT TO:<x@test\.example>"),
    (b"Subject: hello\r\n", r"NON-SMTP COMMAND from \[127[\d.]+\]:\d+ after EHLO: Subject: hello"),
    (b"NOOP\n", r"BARE NEWLINE from \[127[\d.]+\]:\d+ after EHLO"),
], ids=["pipelining", "non_smtp", "bare_newline"])
def test_who_breaks_the_rules_during_the_session_is_dropped_or_rejected(deep, sent, line):
    deep.start()
    with connect(deep) as c:
        c.say("EHLO client.example")
        c.send(sent)
        assert c.closed_by_peer() == b"521 5.5.1 Protocol error\r\n"
    deep.wait_log(rf"postscreen\[\d+\]: {line}")
    for key in ("pipelining_action", "non_smtp_action", "bare_newline_action"):
        deep.config["client_tests"][key] = "enforce"
    reload(deep)
    with connect(deep) as c:
        c.say("EHLO client.example")
        c.send(sent)
        for _ in range(sent.count(b"\n")):
            c.reply()
        c.say("RSET")
        assert rcpt(c, deep) == "550 5.5.1 Protocol error"
    assert not deep.logged("PASS")


def test_a_request_of_http_is_one_of_another_protocol(deep):
    deep.start()
    with connect(deep) as c:
        c.send(b"GET / HTTP/1.1\r\n")
        assert c.closed_by_peer().startswith(b"500 5.5.1 ")
    deep.wait_log(r"NON-SMTP COMMAND from \[127[\d.]+\]:\d+ after CONNECT: GET / HTTP/1\.1")


def test_a_client_that_leaves_before_its_first_recipient(deep):
    deep.start()
    with connect(deep) as c:
        c.say("EHLO client.example")
    deep.wait_log(r"HANGUP after \S+ from \[127[\d.]+\]:\d+ in tests after SMTP handshake")
    with connect(deep) as c:
        assert c.say("QUIT").startswith("221")
    assert len(lines_of(deep, "HANGUP")) == 1


# -- clients behind others

def test_the_client_that_a_proxy_names_counts(screened, names, block):
    screened.config["listen.relay"].update(xclient_networks=["127.0.0.1"], xforward_networks=["127.0.0.1"])
    lists(screened, names, bad=1)
    names.address_of(reversed_name("203.0.113.66", "bad.example"), "127.0.0.2")
    screened.config["smtpd"]["greeting_delay"] = LONG
    screened.config["client_tests"]["denied_networks"] = ["203.0.113.9"]
    screened.start()
    with proxy(screened) as c: # the proxy does not wait, and has waited for its client
        assert c.say("XCLIENT ADDR=203.0.113.66 NAME=[UNAVAILABLE]").startswith("220")
        assert rcpt(c, screened).startswith("550 5.7.1 Service unavailable; client [203.0.113.66]")
        assert c.say("XCLIENT ADDR=203.0.113.7 NAME=[UNAVAILABLE]").startswith(("503", "220"))
    with proxy(screened) as c:
        assert c.say("XCLIENT ADDR=203.0.113.7 NAME=[UNAVAILABLE]").startswith("220")
        assert rcpt(c, screened).startswith("250")
    screened.wait_log(r"PASS NEW \[203\.0\.113\.7\]")
    with proxy(screened) as c:
        assert c.say("XCLIENT ADDR=203.0.113.9 NAME=[UNAVAILABLE]") == "521 5.3.2 Service currently unavailable"


def test_the_client_that_a_balancer_names_counts(screened):
    screened.config["listen.relay"]["proxy_networks"] = ["127.0.0.0/8"]
    screened.start(wait=False) # the harness sends no header
    screened.wait_log("spool: loaded: ")

    def through_the_balancer(address):
        c = connect(screened, greet=False)
        c.send(f"PROXY TCP4 {address} 198.51.100.1 4711 25\r\n".encode())
        return c
    with through_the_balancer("203.0.113.7") as c:
        assert c.reply().startswith("220-")
    screened.wait_log(r"PASS NEW \[203\.0\.113\.7\]:4711")
    screened.config["smtpd"]["greeting_delay"] = LONG
    reload(screened)
    with through_the_balancer("203.0.113.7") as c:
        assert c.reply().startswith("220 ")
    with through_the_balancer("203.0.113.8") as c:
        assert c.socket.recv(4) == b"220-"
        c.socket.shutdown(socket.SHUT_RDWR)
    screened.wait_log(r"HANGUP after \S+ from \[203\.0\.113\.8\]:4711")


# -- `postrider try --client`

def test_try_shows_what_a_client_meets_before_its_session(screened, names, block):
    lists(screened, names, bad=2, worse=2, good=-3)
    clients = screened.folder / "clients"
    clients.write_text(f"{block.host(61)} permit\n{block.host(62)} reject\n")
    screened.config["smtpd"].update({"dns_list_threshold": 3, "greeting_delay": "2s"})
    screened.config["client_tests"].update({"tables": [f"cidr:{clients}"], "dns_list_allow_threshold": 2, "pipelining_action": "enforce"})
    for n, zones in ((63, ["bad", "worse"]), (64, ["good"])):
        for zone in zones:
            names.address_of(reversed_name(block.host(n), f"{zone}.example"), "127.0.0.2")
    names.fails(reversed_name(block.host(65), "bad.example"), "servfail")
    screened.write_config()

    def tried(address, *words):
        said = screened.run("postrider", "try", "-c", screened.file, "--client", address, "--name", "x.example", "--from", "a@x.example",
                            "--to", f"{screened.user}@test.example", *words)
        lines = said.stdout.splitlines()
        return [line[11:] for line in lines[1:-1]], lines[-1][11:], said.returncode
    table = f"cidr:{clients}"
    assert tried(block.host(61)) == ([f"{table}: permit  => not tested"], "accepted", 0)
    denied = "521 5.3.2 Service currently unavailable"
    assert tried(block.host(62)) == ([f"{table}: reject  => {denied}"], denied, 67)
    door, result, status = tried(block.host(63))
    assert sorted(door[1:4]) == ["DNS list bad.example: 127.0.0.2; weight 2", "DNS list good.example: not listed; vouches with 3",
                                 "DNS list worse.example: 127.0.0.2; weight 2"]
    assert door[0] == f"{table}: no entry" and door[4:] == [f"sum of the DNS lists: 4, threshold 3  => {result}"] and status == 67
    assert re.fullmatch(rf"550 5\.7\.1 Service unavailable; client \[{re.escape(block.host(63))}\] blocked using (bad|worse)\.example, \S+", result)
    assert tried(block.host(64))[0][-1] == "other tests: not made: client_tests.dns_list_allow_threshold"
    door, result, status = tried(block.host(65))
    assert any(line.startswith("DNS list bad.example: no answer: ") for line in door) and (result, status) == ("accepted", 0)
    assert door[-2:] == ["it must wait 2s for its greeting  => else: 521 5.5.1 Protocol error",
                         "it must not send commands ahead  => else: 550 5.5.1 Protocol error"]
    assert tried("127.0.0.1")[0] == tried(block.host(63), "--user", "ann")[0] == []  # not tested
    asked = json.loads(screened.run("postrider", "try", "-c", screened.file, "--client", block.host(62), "--name", "x.example", "--json").stdout)
    assert asked["door"] == [{"test": table, "found": "reject", "result": denied}] and asked["result"] == denied
    # Without tests, the lists are asked at its recipients.
    screened.config["client_tests"]["enabled"] = False
    screened.write_config()
    door, result, status = tried(block.host(63))
    assert result.startswith("554 5.7.1 Service unavailable; Client host [") and status == 67 and door[-1].endswith(result)
