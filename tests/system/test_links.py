"""Links: other ways while one is down, domains that share one, mail that fails among mail that does not."""
import re
import threading

import pytest

from harness.certificates import make_certificate
from harness.client import message
from harness.sink import only, slowly
from harness.watch import wait_until
from test_control import ask, one


def links(mta):
    return {each["link"]: each for each in ask(mta, "links")[0]}


def name(sink):
    return f"[{sink.address}]:{sink.port}"


@pytest.mark.smoke
def test_mail_takes_the_other_way(mta, remote):
    first, second = remote(), remote()
    first.stop()
    mta.config["queue"] |= {"link_down_after": "1s", "link_up_after": "1s"}
    mta.route("remote.example", first, second)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    second.wait_for(1)
    assert mta.logged(rf"link={re.escape(name(first))} is down")
    assert mta.wait_log(r"reset routes: event=4005 elapsed=\d+ms queues=1 moved=1")
    assert mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*relay=\S*\[{second.address}\]:{second.port}, .*status=sent")
    assert links(mta)[name(first)]["state"] == "down"
    mta.restart()  # what is down is known after a clean restart
    mta.submit("user@remote.example")
    second.wait_for(2)
    assert links(mta)[name(first)]["state"] == "down"
    first.start()
    mta.wait_log(rf"link={re.escape(name(first))} is up again", seconds=30)
    assert not first.messages  # it was probed without mail
    mta.wait_until_empty()


def test_a_hop_without_the_tls_that_its_route_demands_gives_way(mta, remote, folder):
    first, second = remote(), remote()
    second.use_certificate(make_certificate(folder, "host.example"))
    mta.config["queue"] |= {"link_down_after": "1s", "link_up_after": "1s"}
    mta.route("remote.example", first, second)
    mta.config['route."remote.example"']["tls"] = "encrypt"
    mta.start()
    mta.submit("user@remote.example")
    assert second.wait_for_one_to("user@remote.example").tls
    assert mta.logged(rf"link={re.escape(name(first))} is down")
    assert not any(c.startswith("MAIL") for _, c in first.commands)
    mta.submit("other@remote.example")
    second.wait_for(2)
    assert links(mta)[name(first)]["state"] == "down", "a probe demands TLS, too"
    first.use_certificate(make_certificate(folder, "host.example"))
    mta.wait_log(rf"link={re.escape(name(first))} is up again", seconds=30)
    assert not first.messages
    mta.wait_until_empty()


def test_ladder_of_a_link_survives_a_clean_restart(relaying):
    mta, sink = relaying
    sink.stop()
    mta.submit("user@remote.example")
    wait_until(lambda: links(mta).get(name(sink), {}).get("failures", 0) >= 3, 20, "three failures")
    mta.restart()
    wait_until(lambda: links(mta).get(name(sink), {}).get("failures", 0) >= 3, 20, "the failures to be remembered")
    sink.start()
    mta.wait_until_empty()


def test_domains_with_one_mx_set_share_a_link(mta, names, remote):
    mta.use_names(names)
    names.address_of("mx.host.example", "127.0.0.1")
    for domain in ("one.example", "two.example"):
        names.mx(domain, (10, "mx.host.example"))
    names.address_of("other.example", "127.0.0.1")
    mta.start()
    assert ask(mta, "pause", scope="everything")[1] is None
    for domain in ("one.example", "two.example", "other.example"):
        mta.submit(f"user@{domain}")
    wait_until(lambda: len([q for q in ask(mta, "queues")[0] if q["link"]]) == 3, 20, "three queues with links")
    by_queue = {q["queue"]: q["link"] for q in ask(mta, "queues")[0]}
    assert by_queue["one.example"] == by_queue["two.example"] != by_queue["other.example"]
    assert links(mta)[by_queue["one.example"]]["queues"] == 2
    assert links(mta)[by_queue["one.example"]]["kind"] == "mx"


def test_one_poisoned_message_among_many(relaying):
    """It is tried twice, then lets all others pass: they take no longer than without it."""
    mta, sink = relaying
    sink.at("dot", only("Subject: poisoned", "451 4.3.0 Cannot digest this"))
    bad = mta.submit("user@remote.example", "poisoned")
    for _ in range(10):
        mta.submit([f"user{n}@remote.example" for n in range(5)], "good")
    sink.wait_for(10)
    mta.wait_log(rf"{bad}: .*status=deferred", count=2)
    wait_until(lambda: one(mta, "message", id=bad)["problem_message"], 15, "the poisoned one to be a problem")
    for _ in range(20):
        mta.submit("user@remote.example", "good")
    sink.wait_for(30)
    wait_until(lambda: mta.queued_ids() == {bad}, 10, "the others to leave the queue")


def test_one_poisoned_message_and_a_thousand_good_ones(relaying):
    """The good ones wait for its two tries at most: each is sent at its first try, and the queue is never in retry."""
    mta, sink = relaying
    sink.at("dot", only("Subject: poisoned", "451 4.3.0 Cannot digest this"))
    bad = mta.submit("user@remote.example", "poisoned")
    good = set()
    with mta.client() as c:
        for n in range(1000):
            reply = c.deliver("sender@test.example", ["user@remote.example"], message("good", "Hello.", "sender@test.example",
                                                                                     "user@remote.example", ""))
            good.add(reply.split()[-1])
    assert len(good) == 1000
    sink.wait_for(1000, seconds=120)
    wait_until(lambda: mta.queued_ids() == {bad}, 60, "the good ones to leave the queue")
    sent = [m[1] for m in mta.logged(r"(\w+): to=<user@remote\.example>, .*status=sent")]
    deferred = [m[1] for m in mta.logged(r"(\w+): to=<user@remote\.example>, .*status=deferred")]
    assert sorted(sent) == sorted(good), "each once"
    assert set(deferred) == {bad}
    assert not mta.logged(r"queue=remote\.example state=retry")
    assert one(mta, "message", id=bad)["problem_message"]


class Gate:
    """A server that takes connections and then says nothing more until it is opened."""

    def __init__(self, sink):
        self.opened = threading.Event()
        sink.at("mail", lambda session, argument: self.opened.wait(120) and None)

    def open(self):
        self.opened.set()


@pytest.fixture
def gate():
    gates = []
    yield lambda sink: gates.append(Gate(sink)) or gates[-1]
    for each in gates:
        each.open()


@pytest.mark.needs("own network")
def test_many_mx_names_of_one_host_share_its_limit(mta, names, remote, gate):
    """Two domains, two MX names, one address: together they have no more connections than one address may have."""
    sink = remote(port=25)
    closed = gate(sink)
    mta.use_names(names)
    for domain in ("one.example", "two.example"):
        names.mx(domain, (10, f"mx.{domain}"))
        names.address_of(f"mx.{domain}", sink.address)
    mta.config["queue"] |= {"connections_per_address": 2, "initial_connections_mx": 10, "drain_target": "10ms"}
    mta.start()
    ids = [mta.submit(f"user@{domain}") for _ in range(5) for domain in ("one.example", "two.example")]
    shared = f"{sink.address}:25"

    def both_want_more():
        its = [links(mta).get(f"mx.{domain}") for domain in ("one.example", "two.example")]
        return all(link and link["at_address_limit"] for link in its) and its
    its = wait_until(both_want_more, 20, "both links to find no room")
    assert sink.connections == 2
    assert {(a["address"], a["connections"], a["limit"]) for link in its for a in link["addresses"]} == {(shared, 2, 2)}
    shown = mta.command("link", "show", "mx.one.example").stdout
    assert re.search(rf"^Address +{re.escape(shared)}: 2 of 2 connections, \d of them by this link$", shown, re.M)
    waiting = [one(mta, "explain", id=i) for i in ids]
    assert {each["blocked_by"] for each in waiting} <= {"", "window", "turn"}
    gates = [g for each in waiting if each["blocked_by"] == "window" for g in each["gates"] if g["gate"] == "window"]
    assert gates and {g["origin"] for g in gates} == {"queue.connections_per_address"}
    assert all(shared in g["text"] for g in gates)
    closed.open()
    sink.wait_for(10)
    mta.wait_until_empty()
    assert not mta.logged("status=deferred")


@pytest.mark.needs("own network")
def test_limits_of_a_shared_link_hold_for_all_its_domains(mta, names, remote, gate):
    sink = remote(port=25)
    closed = gate(sink)
    mta.use_names(names)
    names.address_of("mx.host.example", sink.address)
    for domain in ("one.example", "two.example"):
        names.mx(domain, (10, "mx.host.example"))
    mta.config["queue"] |= {"connections_mx": 1, "drain_target": "10ms"}
    mta.start()
    for domain in ("one.example", "two.example"):
        for _ in range(3):
            mta.submit(f"user@{domain}")
    wait_until(lambda: links(mta).get("mx.host.example", {}).get("due", 0) >= 4, 20, "both domains' mail to wait for it")
    wait_until(lambda: sink.connections, 20, "the connection")
    assert sink.connections == 1 and links(mta)["mx.host.example"]["queues"] == 2
    closed.open()
    sink.wait_for(6)
    mta.wait_until_empty()
    assert len(sink.to("user@one.example")) == len(sink.to("user@two.example")) == 3


def test_tarpit_holds_up_nobody_else(mta, remote, gate):
    """A server that takes connections and answers nobody keeps its own mail, and no other."""
    slow, quick = remote(), remote()
    closed = gate(slow)
    mta.route("slow.example", slow)
    mta.route("quick.example", quick)
    mta.start()
    for _ in range(20):
        mta.submit("user@slow.example")
    wait_until(lambda: slow.connections, 15, "the tarpit to have caught one")
    for _ in range(5):
        mta.submit("user@quick.example")
    quick.wait_for(5)
    assert not slow.messages
    closed.open()
    slow.wait_for(20)
    mta.wait_until_empty()
    assert not mta.logged("status=deferred")


def test_tarpit_that_answers_byte_by_byte(mta, remote):
    slow, quick = remote(), remote()
    slow.at("mail", slowly("250 2.1.0 fine"))
    mta.route("slow.example", slow)
    mta.route("quick.example", quick)
    mta.start()
    for _ in range(20):
        mta.submit("user@slow.example")
    for _ in range(5):
        mta.submit("user@quick.example")
    quick.wait_for(5)
    slow.wait_for(20)
    assert not mta.logged("status=deferred")


def test_greylisting_delays_the_triplet_and_nothing_else(relaying):
    """The first try of every sender and recipient is put off, as greylisting does: all mail arrives at its second."""
    mta, sink = relaying
    seen, lock = set(), threading.Lock()

    def greylist(session, argument):
        triplet = (session.sender, argument.split(">")[0])
        with lock:
            known = triplet in seen
            seen.add(triplet)
        return None if known else "450 4.7.1 Greylisted, come back later"
    sink.at("rcpt", greylist)
    ids = [mta.submit([f"user{n}@remote.example", f"other{n}@remote.example"]) for n in range(10)]
    mta.wait_until_empty(40)
    for n, queue_id in enumerate(ids):
        for recipient in (f"user{n}", f"other{n}"):
            assert len(mta.logged(rf"{queue_id}: to=<{recipient}@remote\.example>, .*status=deferred")) == 1
            assert len(sink.to(f"{recipient}@remote.example")) == 1
    assert not mta.logged(r"(link|queue)=\S+ state=(glitch|retry)"), "nobody else has to wait"


def test_a_route_reads_a_reply_its_own_way(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["reply_overrides"] = ["550 5.7.1 at RCPT is temporary"]
    sink.at("rcpt", "550 5.7.1 Not today", times=1)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*dsn=4\.7\.1, status=deferred \(host \S+ said: 550 5\.7\.1 Not today")
    sink.wait_for(1)
    mta.wait_until_empty()


def test_replies_are_read_by_their_words(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtp_client"]["reply_rules"] = ["/^550 .*not today/ at RCPT is temporary", "/^450 .*never/ is permanent"]
    sink.at("rcpt", "550 5.7.1 Not today", times=1)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*dsn=4\.7\.1, status=deferred \(host \S+ said: 550 5\.7\.1 Not today"
                 r".*; taken as temporary by the rule \"/\^550 \.\*not today/ at RCPT is temporary\"\)")
    sink.wait_for(1)
    mta.wait_until_empty()
    sink.at("mail", "450 4.7.1 Never ever", times=1)
    refused = mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    mta.wait_log(rf"{refused}: to=<user@remote\.example>, .*dsn=5\.7\.1, status=bounced \(host \S+ said: 450 4\.7\.1 Never ever"
                 r".*; taken as permanent by the rule")
    assert "450 4.7.1 Never ever" in mta.wait_mailbox(1)[0]
    shown = wait_until(lambda: mta.command("history", refused, "--events", "--json", check=False).stdout, 15, "its history")
    assert "/^450 .*never/ is permanent" in shown and "450 4.7.1 Never ever" in shown, shown


def test_retry_policy_of_a_route_is_recorded_and_gives_up(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["retry_policy"] = "twice"
    mta.config["retry.twice"] = {"kind": "fixed", "interval": "2s", "attempts": 2, "jitter": 0}
    sink.at("rcpt", "450 4.2.0 Not now")
    mta.start()
    queue_id = mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    wait_until(lambda: one(mta, "message", id=queue_id)["policy"] == "twice", 10, "the policy to be recorded")
    assert "Action: failed" in mta.wait_mailbox(1)[0]
    mta.wait_until_empty()
    assert len(mta.logged(rf"{queue_id}: to=<user@remote\.example>, .*status=deferred")) == 2


def test_rate_of_a_route(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["messages_per_hour"] = 60
    mta.start()
    mta.submit("user@remote.example")
    second = mta.submit("user@remote.example")
    sink.wait_for(1)
    wait_until(lambda: one(mta, "explain", id=second)["blocked_by"] == "rate", 10, "the rate to block")
    gate = [g for g in one(mta, "explain", id=second)["gates"] if g["gate"] == "rate"][0]
    assert "remote.example" in gate["origin"] and gate["until"] > 0
    assert len(sink.messages) == 1
