"""Pools of source addresses: who is seen to come from where, how a pool is chosen, and what a refused address does."""
import re
from collections import Counter

import pytest

from harness.client import message
from harness.watch import wait_until
from test_control import ask, one
from test_try import GOOD, WAITS, attempt, of, one as one_of


class Door:
    """Notes who comes to a sink from where and under which name, and turns some away."""
    def __init__(self, sink, unwelcome=(), reply="554 5.7.1 We have had enough of you"):
        self.came, self.unwelcome, self.reply = [], set(unwelcome), reply
        sink.at("connect", self.connect)
        sink.at("ehlo", self.ehlo)

    def connect(self, session, argument):
        return self.reply if session.socket.getpeername()[0] in self.unwelcome else None

    def ehlo(self, session, argument):
        self.came.append((session.socket.getpeername()[0], argument))


@pytest.fixture
def pool(mta, block):
    """Makes pools of n addresses of this host; the names given in EHLO are s0.NAME.example …"""
    next_host = [70]

    def make(name, n, weights=None, **keys):
        addresses = [block.host(next_host[0] + i) for i in range(n)]
        next_host[0] += n
        mta.config[f"pool.{name}"] = {"addresses": [f"{a} s{i}.{name}.example {(weights or [1] * n)[i]}"
                                                    for i, a in enumerate(addresses)]} | keys
        return addresses
    return make


def links(mta):
    return {each["link"]: each for each in ask(mta, "links")[0]}


@pytest.mark.smoke
def test_route_sender_and_header_choose(mta, remote, pool):
    routes, senders, headers = pool("routes", 1)[0], pool("senders", 1)[0], pool("headers", 1)[0]
    sink, plain = remote(), remote()
    door, open_door = Door(sink), Door(plain)
    mta.route("remote.example", sink)
    mta.route("plain.example", plain)
    mta.config['route."remote.example"']["pool"] = "routes"
    mta.config["pools"] = {"by_sender": ["@news.example senders", "ann@people.example senders"]}
    mta.start()
    by_header = "X-Postrider-Pool: headers\r\n"
    mta.submit("user@remote.example", "by route")
    mta.submit("user@remote.example", "by domain of the sender", sender="letter@news.example")
    mta.submit("user@remote.example", "by sender", sender="Ann+x@people.example")
    mta.submit("user@remote.example", "by header", sender="letter@news.example", extra=by_header)
    for received in sink.wait_for(4):
        subject = received.header("Subject")
        expected = {"by route": (routes, "s0.routes.example"), "by header": (headers, "s0.headers.example")}
        assert received.header("X-Postrider-Pool") is None
        assert (source_of(mta, sink, received), helo_of(sink, received)) == expected.get(
            subject, (senders, "s0.senders.example")), subject
    # Where nothing says: as the kernel chooses, under our own name.
    mta.submit("user@plain.example", "by nobody", sender="bob@people.example")
    plain.wait_for(1)
    assert open_door.came == [(open_door.came[0][0], "mta.test.example")]
    assert open_door.came[0][0] not in (routes, senders, headers)
    # Each pool has a link of its own to the same hosts, and a queue where the mail names it.
    name = f"[{sink.address}]:{sink.port}"
    assert {each for each in links(mta) if each.startswith(name)} == {f"{name}@{p}" for p in ("routes", "senders", "headers")}
    queues = {each["queue"]: each["pool"] for each in ask(mta, "queues")[0]}
    assert queues == {"remote.example": "routes", "remote.example@senders": "senders", "remote.example@headers": "headers",
                      "plain.example": ""}
    assert {each[0] for each in door.came} == {routes, senders, headers}


def helo_of(sink, received):
    return next(line.split(" ")[1] for number, line in sink.commands if number == received.session and line.startswith("EHLO"))


def source_of(mta, sink, received):
    """As the log has it of that session."""
    helo = helo_of(sink, received)
    return re.search(rf"\]:{sink.port} reached from (\S+) \({re.escape(helo)}\)", "\n".join(mta.log())).group(1)


def test_header_of_a_stranger_counts_for_nothing(mta, remote, pool):
    pool("secret", 1)
    sink = remote()
    door = Door(sink)
    mta.route("remote.example", sink)
    mta.config["relay"] = {"networks": ["192.0.2.1"], "domains": ["remote.example"]}
    mta.config["pools"] = {"by_sender": ["@news.example secret"]}
    mta.start()
    for field in ("X-Postrider-Pool: secret\r\n", "x-postrider-pool : \r\n secret\r\n", "X-Postrider-Pool: nonsense\r\n"):
        mta.submit("user@remote.example", "hello", sender="x@news.example", extra=field + "X-Other: kept\r\n")
    for received in sink.wait_for(3):
        assert "postrider-pool" not in received.text.lower()
        assert "secret" not in received.text
        assert received.header("X-Other") == "kept"
    assert {each[1] for each in door.came} == {"mta.test.example"}


def test_pool_that_does_not_exist_is_refused(mta, remote, pool):
    pool("known", 1)
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    with mta.client(mta.submission_port) as c:
        reply = c.deliver("a@test.example", ["user@remote.example"],
                          message("x", "y", "a@test.example", "user@remote.example", "X-Postrider-Pool: unknown\r\n"))
    assert reply == '554 5.6.0 Error: X-Postrider-Pool: there is no pool "unknown"'
    sent = mta.sendmail("user@remote.example", input="X-Postrider-Pool: unknown\nSubject: x\n\nHello.\n")
    assert sent.returncode == 65 and 'there is no pool "unknown"' in sent.stderr
    sent = mta.sendmail("user@remote.example", input="X-Postrider-Pool: known\nSubject: x\n\nHello.\n")
    assert sent.returncode == 0
    received, = sink.wait_for(1)
    assert "Pool" not in received.text and helo_of(sink, received) == "s0.known.example"


def test_weights(mta, remote, pool):
    a, b = pool("bulk", 2, weights=[1, 3])
    sink = remote()
    door = Door(sink)
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.config["queue"] |= {"messages_per_connection": 1}
    mta.start()
    for _ in range(4):
        mta.submit([f"user{n}@remote.example" for n in range(4)])
    for n in range(60):
        mta.submit("user@remote.example")
    sink.wait_for(64, seconds=60)
    came = Counter(door.came)
    assert set(came) == {(a, "s0.bulk.example"), (b, "s1.bulk.example")}
    # Of 64 draws at 1:3; less than 4 or more than 32 of the lighter one comes once in a hundred thousand runs.
    assert 4 <= came[(a, "s0.bulk.example")] <= 32


def test_refused_address_rests_while_the_other_goes_on(mta, remote, pool):
    a, b = pool("bulk", 2, weights=[1000, 1])
    sink = remote()
    door = Door(sink, unwelcome=[a])
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.config["queue"] |= {"messages_per_connection": 1}
    mta.start()
    queue_id = mta.submit("user@remote.example")
    sink.wait_for(1)
    assert mta.wait_log(rf"554 5\.7\.1 We have had enough of you.*; trying again from {b} instead of {a}")
    name = f"[{sink.address}]:{sink.port}@bulk"
    assert mta.wait_log(rf"link {re.escape(name)}: {a} backs off for 1h: .*We have had enough of you")
    link = links(mta)[name]
    assert link["state"] == "ready" and link["failures"] == 0
    assert [each["source"] for each in link["backing_off"]] == [a]
    assert a in mta.command("link", "show", name).stdout
    # From now on nobody comes from there.
    before = len(sink.commands)
    for _ in range(5):
        mta.submit("user@remote.example")
    sink.wait_for(6)
    mta.wait_until_empty()
    assert {each[0] for each in door.came} == {b}
    assert len([line for line in mta.log() if "trying again from" in line]) == 1
    assert before < len(sink.commands)
    assert queue_id


def test_when_all_are_refused_the_link_fails_and_none_rests(mta, remote, pool):
    a, b = pool("bulk", 2)
    sink = remote()
    door = Door(sink, unwelcome=[a, b], reply="421 4.3.2 Too busy")
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred .*Too busy")
    name = f"[{sink.address}]:{sink.port}@bulk"
    assert links(mta)[name]["failures"] >= 1 and links(mta)[name]["backing_off"] == []
    door.unwelcome.clear()
    sink.wait_for(1)
    mta.wait_until_empty()
    assert not mta.logged(r" backs off for ")


def test_address_that_is_not_this_hosts(mta, remote, pool):
    a, = pool("bulk", 1)
    mta.config["pool.bulk"]["addresses"].append("192.0.2.77 gone.example.com 1000")
    sink = remote()
    door = Door(sink)
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.write_config()
    checked = mta.run("postrider", "check", "-c", mta.file)
    assert checked.returncode == 0
    assert "pool.bulk.addresses: 192.0.2.77 is not an address of this host" in checked.stderr
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*status=sent")
    assert [each[0] for each in door.came] == [a]
    mta.wait_log(r"192\.0\.2\.77 backs off for 1m: this host does not have it")


def test_a_pool_without_any_address_of_this_host_says_so(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["pool.gone"] = {"addresses": ["192.0.2.77 gone.example.com"]}
    mta.config["pools"] = {"by_sender": ["@news.example gone"]}
    mta.start()
    waiting = mta.submit("user@remote.example", sender="ann@news.example")
    mta.wait_log(rf"{waiting}: .*status=deferred \(connect to .*: no address of the pool gone can be used: this host does not have 192\.0\.2\.77")
    assert not sink.connections


def test_family_of_the_pool_restricts_that_of_the_server(mta, remote, names, pool):
    a, = pool("four", 1)
    sink = remote()
    door = Door(sink)
    mta.use_names(names)
    names.address_of("mx.remote.example", sink.address)
    names.address_of("mx.remote.example", "::1")
    mta.config['route."remote.example"'] = {"next_hop": f"[mx.remote.example]:{sink.port}", "pool": "four"}
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    assert [each[0] for each in door.came] == [a]
    assert not mta.logged(r"\[::1\]")


def test_pause_and_history_of_a_pool(mta, remote, pool):
    a, = pool("bulk", 1)
    sink = remote()
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.start()
    assert ask(mta, "pause", scope="pool", name="bulk")[1] is None  # before any mail has come
    assert "no pool" in mta.command("pause", "pool", "nowhere", check=False).stderr
    queue_id = mta.submit("user@remote.example")
    wait_until(lambda: one(mta, "explain", id=queue_id)["blocked_by"] == "pause", 15, "the pause to hold it")
    assert "pool bulk" in str(one(mta, "explain", id=queue_id)["gates"])
    assert not sink.messages
    sink.at("dot", "451 4.3.0 Not now", times=1)
    assert ask(mta, "resume", scope="pool", name="bulk")[1] is None
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    # The log's line comes before the record in the spool.
    attempts = wait_until(lambda: one(mta, "message", id=queue_id)["recipients"][0]["attempts"], 15, "the attempt's record")
    assert attempts[0]["source"] == a
    assert f"from {a}" in mta.command("message", "show", queue_id).stdout
    mta.wait_until_empty()


def test_mail_of_a_pool_that_is_gone_waits(mta, remote, pool):
    pool("gone", 1)
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    assert ask(mta, "pause", scope="everything")[1] is None
    queue_id = mta.submit("user@remote.example", extra="X-Postrider-Pool: gone\r\n")
    kept = mta.config.pop("pool.gone")
    mta.restart()
    assert ask(mta, "resume", scope="everything")[1] is None
    mta.wait_log(rf"{queue_id}: .*status=deferred .*there is no pool of source addresses .gone.")
    assert not sink.messages
    mta.config["pool.gone"] = kept
    mta.restart()
    received, = sink.wait_for(1)
    assert helo_of(sink, received) == "s0.gone.example"
    mta.wait_until_empty()


def test_a_try_comes_from_where_mail_would(mta, remote, pool):
    [address] = pool("bulk", 1)
    sink = remote()
    door = Door(sink)
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["pool"] = "bulk"
    mta.start()
    attempt(mta, "user@remote.example", status=GOOD)
    assert door.came == [(address, "s0.bulk.example")]


def test_a_try_as_a_sender_goes_by_that_senders_pool(mta, remote, pool):
    [address] = pool("bulk", 1)
    sink = remote()
    door = Door(sink, unwelcome=[address])
    mta.route("remote.example", sink)
    mta.config["pools"] = {"by_sender": ["@news.example bulk"]}
    mta.start()
    attempt(mta, "user@remote.example", status=GOOD)
    assert [helo for _, helo in door.came] == ["mta.test.example"]
    told = attempt(mta, "user@remote.example", "--from", "ann@news.example", status=WAITS)
    assert one_of(told, "route")["text"].endswith(", from pool bulk")
    assert "We have had enough of you" in one_of(told, "result")["text"]
    mta.command("pause", "pool", "bulk")
    told = attempt(mta, "user@remote.example", "--from", "ann@news.example", status=WAITS)
    assert any("pool bulk is paused" in each["text"] for each in of(told, "queue"))


def blocked(unwelcome, code="554 5.7.1", words="Service unavailable; Client host [{}] blocked using zen.spamhaus.org"):
    """Refuses RCPT to who comes from there, as a site does that looks into a list."""
    def rcpt(session, argument):
        peer = session.socket.getpeername()[0]
        return f"{code} {words.format(peer)}" if peer in unwelcome else None
    return rcpt


def test_mail_refused_for_its_source_goes_from_the_other_address(mta, remote, pool):
    a, b = pool("bulk", 2, weights=[1000, 1])
    sink = remote()
    refusing = {a}
    sink.at("rcpt", blocked(refusing))
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.start()
    first = mta.submit("user@remote.example")
    received, = sink.wait_for(1)
    assert helo_of(sink, received) == "s1.bulk.example"
    name = f"[{sink.address}]:{sink.port}@bulk"
    mta.wait_log(rf"{first}: to=<user@remote\.example>, .*status=sent")
    assert mta.logged(rf"{first}: host .* said: 554 5\.7\.1 .*blocked using zen.spamhaus.org .*; this concerns {a} "
                      rf"\(\"client host \[\"\); trying again from {b}")
    assert mta.logged(rf"link {re.escape(name)}: {a} backs off for 1h: host .*blocked using")
    assert not mta.logged(rf"{first}: .*status=(bounced|deferred)")
    assert [each["source"] for each in links(mta)[name]["backing_off"]] == [a]
    assert f"{a} is backing off: host " in mta.command("status").stdout
    # It rests on, though connections of its are not refused, and other mail goes from the other one at once.
    for _ in range(4):
        mta.submit("user@remote.example")
    assert {helo_of(sink, each) for each in sink.wait_for(5)[1:]} == {"s1.bulk.example"}
    # What waits for something else is told of it, too.
    sink.at("dot", "451 4.3.0 Not now")
    waiting = mta.submit("slow@remote.example")
    mta.wait_log(rf"{waiting}: .*status=deferred")
    assert [each["source"] for each in one(mta, "explain", id=waiting)["backing_off"]] == [a]
    assert re.search(rf"backing off +{a} until .*blocked using", mta.command("explain", waiting).stdout)


def test_when_every_address_is_blocked_the_sites_word_counts(mta, remote, pool):
    a, b = pool("bulk", 2, weights=[1000, 1])
    sink = remote()
    refusing = {a, b}
    sink.at("rcpt", blocked(refusing))
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.start()
    first = mta.submit("user@remote.example", sender="")
    mta.wait_log(rf"{first}: to=<user@remote\.example>, .*status=bounced \(host .*Client host \[{re.escape(b)}\] blocked")
    assert mta.logged(rf"{first}: .*and all other usable addresses of the pool bulk are backing off")
    name = f"[{sink.address}]:{sink.port}@bulk"
    assert sorted(each["source"] for each in links(mta)[name]["backing_off"]) == sorted([a, b])
    # From now on each message costs one try, until one is taken: then its address rests no longer.
    before = sink.connections
    second = mta.submit("user@remote.example", sender="")
    mta.wait_log(rf"{second}: to=<user@remote\.example>, .*status=bounced")
    assert sink.connections <= before + 1
    refusing.clear()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_log(r" is accepted again and no longer backs off")


def test_relaying_denied_returns_mail_of_a_pool(mta, remote, pool):
    pool("bulk", 2)
    sink = remote()
    sink.at("rcpt", "554 5.7.1 <user@remote.example>: Relay access denied")
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"pool": "bulk"}
    mta.start()
    queue_id = mta.submit("user@remote.example", sender="")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*status=bounced")
    assert not mta.logged(r" backs off for |trying again from")
