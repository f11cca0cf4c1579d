"""Routes that tables of next hops name, as transports of Postfix's master.cf: their own hosts, links and settings."""
import pytest

from harness.watch import wait_until
from test_addresses import hop, table
from test_control import ask, one


@pytest.fixture
def places(mta, remote):
    """Mail for remote.example goes to one server, what tables send by the route "slow" to another."""
    usual, slow = remote(), remote()
    mta.route("remote.example", usual)
    mta.route("slow", slow)
    return mta, usual, slow


def to(sink):
    return sorted(each.recipients[0] for each in sink.messages)


def test_a_table_sends_by_a_route_of_its_own(places, remote):
    mta, usual, slow = places
    elsewhere = remote()
    mta.config["transport"] = {"tables": [table(
        mta, "transport", f"first@remote.example slow:\nthird@remote.example Slow:{hop(elsewhere)}\n")]}
    mta.config['route."slow"'] |= {"connections": 1, "messages_per_second": 1000}
    mta.start()
    for name in ("first", "second", "third"):
        mta.submit(f"{name}@remote.example")
    mta.wait_until_empty()
    assert (to(slow), to(usual), to(elsewhere)) == (["first@remote.example"], ["second@remote.example"], ["third@remote.example"])
    assert mta.command("check").returncode == 0
    shown = mta.command("explain", "first@remote.example").stdout
    assert "slow" in shown and hop(slow) in shown, shown


def test_a_table_names_several_hosts_in_order(places, remote):
    mta, usual, slow = places
    first, second = remote(), remote()
    mta.config["transport"] = {"tables": [table(
        mta, "transport", f"ann@remote.example smtp:{hop(first)}, {hop(second)}\nbob@remote.example slow:{hop(second)}, {hop(first)}\n"
                          f"cid@remote.example relay:[127.0.0.1]:9, {hop(second)}\n")]}
    mta.start()
    for name in ("ann", "bob", "cid"):
        mta.submit(f"{name}@remote.example")
    mta.wait_until_empty()
    assert (to(first), to(second)) == (["ann@remote.example"], ["bob@remote.example", "cid@remote.example"])
    assert not usual.messages and not slow.messages
    shown = mta.command("explain", "ann@remote.example").stdout
    assert f"{hop(first)},{hop(second)}" in shown, shown
    assert mta.command("map", "--check").returncode == 0


def test_the_mail_waits_in_queues_of_its_own(places):
    mta, usual, slow = places
    slow.at("rcpt", "450 4.2.0 Not now")
    mta.config["transport"] = {"tables": [table(mta, "transport", "remote.example slow:\n")]}
    mta.start()
    queue_id = mta.submit("ann@remote.example")
    wait_until(lambda: one(mta, "explain", id=queue_id)["blocked_by"] in ("retry", "queue", "link"), 15, "it to wait")
    listed = mta.command("queue", "list").stdout
    assert "via:slow:remote.example" in listed, listed
    links = mta.command("link", "list").stdout
    assert f"slow:{hop(slow)}" in links, links
    assert not usual.messages


def test_mail_of_a_route_that_is_gone_waits_for_it(places):
    mta, usual, slow = places
    mta.config["transport"] = {"tables": [table(mta, "transport", "remote.example slow:\n")]}
    mta.start()
    assert ask(mta, "pause", scope="everything")[1] is None
    queue_id = mta.submit("ann@remote.example")
    wait_until(lambda: one(mta, "explain", id=queue_id)["blocked_by"] == "pause", 15, "the pause to hold it")
    kept = mta.config.pop('route."slow"')
    mta.restart()
    assert ask(mta, "resume", scope="everything")[1] is None
    wait_until(lambda: "there is no [route" in str(one(mta, "explain", id=queue_id)), 15,
               lambda: f"it to say that the route is gone: {one(mta, 'explain', id=queue_id)}")
    assert not usual.messages and not slow.messages
    assert '"slow:" is not a valid next hop' in mta.command("check", check=False).stderr
    mta.config['route."slow"'] = kept
    mta.restart()
    slow.wait_for_one_to("ann@remote.example")


def test_a_table_of_senders_names_a_route(places):
    mta, usual, slow = places
    mta.config.pop('route."remote.example"')
    mta.route("*", usual)
    mta.config["sender_relay"] = {"tables": [table(mta, "senders", "@news.example slow:\n")]}
    mta.start()
    mta.submit("ann@remote.example", sender="letter@news.example")
    mta.submit("bob@remote.example", sender="someone@else.example")
    mta.wait_until_empty()
    assert (to(slow), to(usual)) == (["ann@remote.example"], ["bob@remote.example"])


def test_a_table_resets_the_next_hop_to_the_recipients_domain(places, names):
    """"smtp:" is Postfix's way to except a domain from a relay host: its mail goes to its own MX hosts."""
    mta, usual, slow = places
    mta.config.pop('route."remote.example"')
    mta.route("*", slow)
    mta.use_names(names)
    names.mx("remote.example", (10, "mx.remote.example"))
    names.address_of("mx.remote.example", "127.0.0.77")
    mta.config["transport"] = {"tables": [table(mta, "transport", "remote.example smtp:\n")]}
    mta.start()
    queue_id = mta.submit("ann@remote.example")
    mta.wait_log(rf"{queue_id}: to=<ann@remote\.example>, relay=(none|mx\.remote\.example\[127\.0\.0\.77\]:25), .*127\.0\.0\.77")
    assert not slow.messages
