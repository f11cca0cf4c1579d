"""MX and address look-ups, against a name server of the test's own."""
import re

import pytest

from test_try import REFUSED, attempt, one


@pytest.fixture
def resolving(mta, names):
    mta.use_names(names)
    mta.start()
    return mta, names


def deferred(mta, queue_id):
    return mta.wait_log(rf"{queue_id}: to=<\S+>, relay=none, .*dsn=(4\.\d+\.\d+), status=deferred \((.*)\)")


def bounced(mta, queue_id):
    return mta.wait_log(rf"{queue_id}: to=<\S+>, relay=none, .*dsn=(5\.\d+\.\d+), status=bounced \((.*)\)")


@pytest.mark.smoke
def test_domain_that_does_not_exist_is_final(resolving):
    mta, names = resolving
    queue_id = mta.submit("user@nowhere.example", sender=f"{mta.user}@test.example")
    assert bounced(mta, queue_id)[1] == "5.1.2"
    assert re.search(r"^Status: 5\.1\.2", mta.wait_mailbox(1)[0], re.M)


def test_nonexistence_without_proof_is_temporary(resolving):
    mta, names = resolving
    names.fails("doubtful.example", "bare-nxdomain")
    assert deferred(mta, mta.submit("user@doubtful.example"))


@pytest.mark.parametrize("how", ["servfail", "refused", "timeout", "garbage"])
def test_failing_look_up_is_temporary_and_never_falls_back(resolving, how):
    mta, names = resolving
    names.fails("broken.example", how, kind="MX")
    names.address_of("broken.example", "127.0.0.1")
    queue_id = mta.submit("user@broken.example")
    assert deferred(mta, queue_id)[1] == "4.4.3"
    assert names.times_asked("broken.example", "A") == 0


def test_null_mx(resolving):
    mta, names = resolving
    names.null_mx("nomail.example")
    assert bounced(mta, mta.submit("user@nomail.example"))[1] == "5.1.10"


def test_no_mx_and_no_address(resolving):
    mta, names = resolving
    names.address_of("www.text.example", "127.0.0.9")  # the domain exists, but has neither
    assert bounced(mta, mta.submit("user@text.example"))[1] == "5.4.4"


def test_mx_is_ourselves(resolving):
    mta, names = resolving
    names.mx("loop.example", (10, "mta.test.example"))
    assert bounced(mta, mta.submit("user@loop.example"))[1] == "5.4.6"


def test_route_by_name_asks_for_addresses(mta, names, remote):
    """[host]:port: addresses are asked for, MX is not."""
    sink = remote()
    names.address_of("hub.example", sink.address)
    mta.config['route."remote.example"'] = {"next_hop": f"[hub.example]:{sink.port}"}
    mta.use_names(names)
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    assert names.times_asked("hub.example", "MX") == 0
    mta.wait_log(rf"relay=hub\.example\[{re.escape(sink.address)}\]:{sink.port}")


def test_next_address_of_the_same_host(mta, names, remote):
    dead, sink = remote(), remote()
    dead.stop()
    sink.stop()
    sink.port = dead.port
    sink.start()
    names.address_of("hub.example", dead.address, sink.address)
    mta.config['route."remote.example"'] = {"next_hop": f"[hub.example]:{sink.port}"}
    mta.use_names(names)
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)


def test_host_without_address_is_temporary_while_names_fail(mta, names, remote):
    names.fails("hub.example", "servfail")
    mta.config['route."remote.example"'] = {"next_hop": "[hub.example]:2525"}
    mta.use_names(names)
    mta.start()
    deferred(mta, mta.submit("user@remote.example"))


def test_answers_are_remembered_for_their_time(resolving):
    mta, names = resolving
    names.null_mx("nomail.example")
    for _ in range(5):
        bounced(mta, mta.submit("user@nomail.example"))
    assert names.times_asked("nomail.example", "MX") == 1


def test_large_answer_comes_by_tcp(resolving):
    mta, names = resolving
    for n in range(100):
        names.mx("many.example", (10 + n, f"a-rather-long-name-for-a-host-{n}.many.example"))
    queue_id = mta.submit("user@many.example")  # none of the hosts has an address
    mta.wait_log(rf"{queue_id}: to=<user@many\.example>, .*status=(deferred|bounced)")
    assert names.asked_by_tcp > 0


# MX hosts are always spoken to on port 25, which only a network namespace of our own has to give.

@pytest.mark.smoke
@pytest.mark.needs("own network")
def test_mx_hosts_in_order_of_preference(resolving, remote):
    mta, names = resolving
    good, best = remote(port=25), remote(port=25)
    names.mx("two.example", (20, "good.example"), (10, "best.example"))
    names.address_of("good.example", good.address)
    names.address_of("best.example", best.address)
    mta.submit("user@two.example")
    best.wait_for(1)
    best.stop()
    mta.submit("user@two.example")
    good.wait_for(1)
    mta.wait_until_empty()


@pytest.mark.needs("own network")
def test_equal_mx_hosts_share(resolving, remote):
    mta, names = resolving
    sinks = [remote(port=25) for _ in range(3)]
    for n, sink in enumerate(sinks):
        names.mx("equal.example", (10, f"mx{n}.equal.example"))
        names.address_of(f"mx{n}.equal.example", sink.address)
        sink.at("connect", "421 4.3.2 Go elsewhere") if n == 0 else None
    mta.submit("user@equal.example")
    mta.wait_until_empty()
    assert sum(len(s.messages) for s in sinks) == 1


@pytest.mark.needs("own network")
def test_no_mx_falls_back_to_the_address(resolving, remote):
    mta, names = resolving
    sink = remote(port=25)
    names.address_of("bare.example", sink.address)
    mta.submit("user@bare.example")
    sink.wait_for(1)


@pytest.mark.needs("own network")
def test_mx_that_is_an_alias_is_followed(resolving, remote):
    mta, names = resolving
    sink = remote(port=25)
    names.mx("aliased.example", (10, "alias.example"))
    names.alias("alias.example", "real.example")
    names.address_of("real.example", sink.address)
    mta.submit("user@aliased.example")
    sink.wait_for(1)


@pytest.mark.needs("own network")
def test_addresses_of_the_best_mx_cannot_be_had(resolving, remote):
    mta, names = resolving
    sink = remote(port=25)
    names.mx("half.example", (10, "broken.half.example"), (20, "fine.half.example"))
    names.fails("broken.half.example", "servfail")
    names.address_of("fine.half.example", sink.address)
    mta.submit("user@half.example")
    sink.wait_for(1)


def test_mx_hosts_that_all_have_no_address_return_mail(resolving):
    mta, names = resolving
    names.mx("typo.example", (10, "mx1.typo.example"), (20, "mx2.typo.example"))
    names.add("mx2.typo.example", "TXT", "neither A nor AAAA")
    queue_id = mta.submit("user@typo.example", sender=f"{mta.user}@test.example")
    assert bounced(mta, queue_id)[1] == "5.4.4"
    assert re.search(r"^Status: 5\.4\.4", mta.wait_mailbox(1)[0], re.M)
    mta.wait_until_empty()
    result = one(attempt(mta, "user@typo.example", status=REFUSED), "result")
    assert "Name service error for name=mx2.typo.example" in result["text"]


@pytest.mark.parametrize("how", ["servfail", "bare-nxdomain"])
def test_one_host_that_name_servers_do_not_answer_for_keeps_mail(resolving, how):
    mta, names = resolving
    names.mx("half.example", (10, "mx1.half.example"), (20, "mx2.half.example"), (30, "mx3.half.example"))
    names.fails("mx2.half.example", how, kind="AAAA")
    assert deferred(mta, mta.submit("user@half.example"))


def test_a_host_without_address_that_a_route_names_keeps_mail(mta, names):
    mta.use_names(names)
    names.mx("remote.example", (10, "mx.typo.example"))
    mta.config['route."relayed.example"'] = {"next_hop": "[relay.typo.example]:25"}
    mta.config['route."remote.example"'] = {"next_hop": "mx", "fallback": ["[relay.typo.example]:25"]}
    mta.start()
    assert deferred(mta, mta.submit("user@relayed.example"))[1] == "4.4.4"
    assert deferred(mta, mta.submit("user@remote.example"))[1] == "4.4.4"


@pytest.mark.needs("own network")
def test_mx_worse_than_ourselves_is_not_used(resolving, remote):
    mta, names = resolving
    best, backup = remote(port=25), remote(port=25)
    best.stop()
    names.mx("backed.example", (10, "best.backed.example"), (20, "mta.test.example"), (30, "backup.backed.example"))
    names.address_of("best.backed.example", best.address)
    names.address_of("backup.backed.example", backup.address)
    queue_id = mta.submit("user@backed.example")
    deferred(mta, queue_id)
    assert backup.connections == 0


@pytest.mark.needs("own network")
def test_fifty_addresses_are_not_all_tried(resolving, block):
    mta, names = resolving
    names.mx("wide.example", (10, "wide.example"))
    names.address_of("wide.example", *[block.host(100 + n) for n in range(50)])
    queue_id = mta.submit("user@wide.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    tried = {m[1] for m in mta.logged(r"connect to \S+\[(\S+)\]:25: Connection refused")}
    assert len(tried) <= 5


@pytest.mark.needs("own network")
def test_two_domains_behind_the_same_hosts_are_one_link(resolving, remote):
    mta, names = resolving
    sink = remote(port=25)
    for domain in ("one.example", "two.example"):
        names.mx(domain, (10, "shared.example"))
    names.address_of("shared.example", sink.address)
    for n in range(5):
        mta.submit("user@one.example")
        mta.submit("user@two.example")
    sink.wait_for(10)
    assert sink.connections < 10
