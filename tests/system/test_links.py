"""Links: other ways while one is down, domains that share one, mail that fails among mail that does not."""
import re

import pytest

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
    assert mta.logged(rf"{queue_id}: to=<user@remote\.example>, .*relay=\S*\[{second.address}\]:{second.port}, .*status=sent")
    assert links(mta)[name(first)]["state"] == "down"
    mta.restart()  # what is down is known after a clean restart
    mta.submit("user@remote.example")
    second.wait_for(2)
    assert links(mta)[name(first)]["state"] == "down"
    first.start()
    mta.wait_log(rf"link={re.escape(name(first))} is up again", seconds=30)
    assert not first.messages  # it was probed without mail
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
    assert one(mta, "pause", scope="everything") is None
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
    wait_until(lambda: one(mta, "message", id=bad)["problem"], 15, "the poisoned one to be a problem")
    for _ in range(20):
        mta.submit("user@remote.example", "good")
    sink.wait_for(30)
    wait_until(lambda: mta.queued_ids() == {bad}, 10, "the others to leave the queue")


def test_tarpit_holds_up_nobody_else(mta, remote):
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
    assert links(mta)[name(slow)]["in_flight"] > 0 or slow.messages


def test_a_route_reads_a_reply_its_own_way(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["replies"] = ["550 5.7.1 at RCPT is temporary"]
    sink.at("rcpt", "550 5.7.1 Not today", times=1)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote\.example>, .*dsn=4\.7\.1, status=deferred \(host \S+ said: 550 5\.7\.1 Not today")
    sink.wait_for(1)
    mta.wait_until_empty()


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
    assert "remote.example" in gate["from"] and gate["until"] > 0
    assert len(sink.messages) == 1
