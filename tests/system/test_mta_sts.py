"""MTA-STS: a domain's policy, from its web server to what becomes of its mail."""
import json
import socket

import pytest

from dnslib import TXT
from harness.certificates import make_certificate
from harness.sink import Sink
from harness.watch import wait_until
from harness.web import Web
from test_control import states
from test_try import GOOD, REFUSED, WAITS, attempt, of, one

pytestmark = pytest.mark.needs("own network")

POLICY = "/.well-known/mta-sts.txt"


class Domain:
    """remote.example with its web server and its one MX host, host.example on port 25."""

    def __init__(self, mta, names, network, folder):
        self.mta, self.names, self.network, self.folder = mta, names, network, folder
        self.trusted, self.sinks = folder / "authorities", []
        self.trusted.write_text("")
        mta.use_names(names)
        mta.config["smtp_client"].update(tls="sts", tls_ca_file=str(self.trusted))
        self.sink = self.host("host.example", 10)
        address = network.address()
        names.address_of("mta-sts.remote.example", address)
        self.web = Web(address, 443, self.certificate("mta-sts.remote.example"))

    def certificate(self, name, trusted=True):
        made = make_certificate(self.folder, name)
        if trusted:
            self.trusted.write_text(self.trusted.read_text() + made[0].read_text())
        return made

    def host(self, name, preference, domain="remote.example", certificate=True):
        address = self.network.address()
        sink = Sink(address, 25, certificate=self.certificate(name) if certificate else None)
        self.sinks.append(sink)
        self.names.address_of(name, address, ttl=1)
        self.names.mx(domain, (preference, name), ttl=1)
        return sink

    def publish(self, mode="enforce", id="1", mx=("host.example",), max_age=86400):
        self.record(id)
        self.web.put(POLICY, f"version: STSv1\nmode: {mode}\nmax_age: {max_age}\n" + "".join(f"mx: {each}\n" for each in mx))

    def record(self, id):
        self.names.records.pop(("_mta-sts.remote.example", "TXT"), None)
        if id:
            self.names.add("_mta-sts.remote.example", "TXT", TXT(f"v=STSv1; id={id};"), ttl=1)

    def wrong_certificate(self):
        self.sink.use_certificate(self.certificate("somebody.else.example"))

    def close(self):
        for sink in self.sinks:
            sink.stop()
        self.web.stop()


@pytest.fixture
def domain(mta, names, network, folder):
    one = Domain(mta, names, network, folder)
    yield one
    one.close()


def waits_for(mta, queue_id, reason):
    mta.wait_log(rf"{queue_id}: .*status=deferred \(.*{reason}")
    assert states(mta, queue_id) == ["retrying"]


def test_mail_goes_by_the_policy(mta, domain):
    domain.publish()
    mta.start()
    mta.submit("user@remote.example")
    assert domain.sink.wait_for_one_to("user@remote.example").tls
    mta.wait_log(r"remote.example: MTA-STS policy: mode=enforce, id=1, max_age=86400, mx=host.example")
    mta.wait_log(r"Verified TLS connection established to host.example")
    [(method, host, path, headers, _)] = domain.web.requests
    assert (method, host, path) == ("GET", "mta-sts.remote.example", POLICY) and "Cookie" not in headers
    mta.submit("other@remote.example")
    domain.sink.wait_for_one_to("other@remote.example")
    assert len(domain.web.requests) == 1, "it is known"


def test_a_web_server_that_never_answers_delays_mail_and_does_not_stop_it(mta, domain):
    """The download itself may take a minute."""
    domain.record("1")
    domain.web.stop()
    silent = socket.create_server(domain.web.server.server_address)
    try:
        mta.start()
        mta.submit("user@remote.example")
        domain.sink.wait_for_one_to("user@remote.example", 30)
        assert not mta.logged("is not available"), "the policy is still being asked for"
    finally:
        silent.close()


def test_a_certificate_for_another_name_keeps_mail_waiting(mta, domain):
    domain.wrong_certificate()
    domain.publish()
    mta.start()
    waits_for(mta, mta.submit("user@remote.example"), "does not prove that it is host.example")
    assert not domain.sink.messages
    domain.sink.use_certificate(domain.certificate("host.example"))
    mta.command("reload")  # whom we trust
    assert domain.sink.wait_for_one_to("user@remote.example").tls


def test_a_server_without_tls_keeps_mail_waiting(mta, domain):
    domain.sink.use_certificate(None)
    domain.publish()
    mta.start()
    waits_for(mta, mta.submit("user@remote.example"), "TLS is required")
    assert not domain.sink.messages


def test_only_hosts_the_policy_names_are_used(mta, domain):
    better = domain.host("better.example", 5)
    domain.publish(mx=["*.other.example", "host.example"])
    mta.start()
    mta.submit("user@remote.example")
    domain.sink.wait_for_one_to("user@remote.example")
    mta.wait_log(r"host better.example\[.*\] is not listed in the MTA-STS policy of remote.example \(id 1\)")
    assert not better.messages and not better.commands


def test_no_host_of_the_policy(mta, domain):
    domain.publish(mx=["*.host.example"])
    mta.start()
    waits_for(mta, mta.submit("user@remote.example"), "is not listed in the MTA-STS policy")
    assert not domain.sink.commands


@pytest.mark.parametrize("mode", ["testing", "none"])
def test_a_policy_that_is_not_in_force_stops_nothing(mta, domain, mode):
    domain.wrong_certificate()
    domain.publish(mode, mx=["nobody.example"])
    mta.start()
    mta.submit("user@remote.example")
    assert domain.sink.wait_for_one_to("user@remote.example").tls
    mta.wait_log("Untrusted TLS connection")


@pytest.mark.parametrize("mode, mx, status, finding, text", [
    ("enforce", ["host.example"], GOOD, "good", "policy 1 of remote.example, mode enforce: host.example is one of"),
    ("enforce", ["*.host.example"], WAITS, "notice", "policy 1 of remote.example, mode enforce: host.example is none of"),
    ("testing", ["nobody.example"], GOOD, "notice", "policy 1 of remote.example, mode testing: host.example is none of"),
    (None, [], GOOD, "good", "none: remote.example has no known policy"),
])
def test_a_try_shows_the_policy(mta, domain, mode, mx, status, finding, text):
    if mode:
        domain.publish(mode, mx=mx)
    mta.start()
    steps = attempt(mta, "user@remote.example", status=status)
    policy, result = one(steps, "sts"), one(steps, "result")
    assert policy["finding"] == finding and policy["text"].startswith(text)
    assert of(steps, "tlsa"), "the level asks for both"
    if status == WAITS:
        [given_up] = of(steps, "tls")
        assert given_up["finding"] == "temporary" and "is not listed in the MTA-STS policy" in given_up["text"]
        assert given_up["text"] in result["text"] and "mta-sts.remote.example" in result["advice"]
    assert not domain.sink.messages


def test_a_try_says_that_the_policy_asks_for_another_certificate(mta, domain):
    domain.wrong_certificate()
    domain.publish()
    mta.start()
    steps = attempt(mta, "user@remote.example", status=WAITS)
    assert one(steps, "sts")["finding"] == "good" and "curl https://mta-sts.remote.example" in one(steps, "result")["advice"]


def test_the_next_host_is_tried_where_the_first_is_given_up(mta, domain):
    domain.host("better.example", 5)
    domain.publish(mx=["host.example"])
    mta.start()
    steps = attempt(mta, "user@remote.example", status=GOOD)
    assert [s["finding"] for s in of(steps, "sts")] == ["notice", "good"]
    assert [(s["host"].split("[")[0], s["finding"]) for s in of(steps, "tls")] == [("better.example", "temporary"), ("host.example", "good")]


def test_a_new_id_brings_a_new_policy(mta, domain):
    domain.wrong_certificate()
    domain.publish("testing")
    mta.start()
    mta.submit("one@remote.example")
    domain.sink.wait_for_one_to("one@remote.example")
    domain.publish("enforce", id="2")
    mta.config["queue"]["messages_per_connection"] = 1
    mta.restart()  # the route is asked for anew
    mta.submit("two@remote.example")
    mta.wait_log("MTA-STS policy: mode=enforce, id=2")
    mta.forget_the_log()
    waits_for(mta, mta.submit("three@remote.example"), "does not prove")
    assert [path for _, _, path, _, _ in domain.web.requests] == [POLICY] * 2


def test_a_policy_that_has_expired_is_no_more(mta, domain):
    domain.wrong_certificate()
    domain.publish(max_age=4)
    mta.start()
    waiting = mta.submit("user@remote.example")
    mta.wait_log(rf"{waiting}: .*status=deferred")
    domain.record(None)
    mta.wait_log(r"remote.example: MTA-STS policy 1 has expired")
    domain.sink.wait_for_one_to("user@remote.example")
    assert not (mta.spool / "state/mta-sts/remote.example").exists()


def test_a_policy_is_renewed_without_mail_until_it_cannot_be_had(mta, domain):
    """Half its term after it was fetched; then it stays in force to the end of its own term, and no longer."""
    domain.publish(max_age=8)
    mta.start()
    mta.submit("one@remote.example")
    domain.sink.wait_for_one_to("one@remote.example")
    assert len(domain.web.requests) == 1
    domain.publish("testing", max_age=10)  # under the same id
    mta.wait_log(r"MTA-STS policy: mode=testing, id=1, max_age=10", seconds=30)
    assert len(domain.web.requests) == 2 and len(domain.sink.messages) == 1
    domain.web.put(POLICY, "gone", status=404)
    mta.wait_log(r"is not available: the web server answered 404; mail is sent under the previous policy \(id 1\)", seconds=30)
    mta.wait_log(r"remote.example: MTA-STS policy 1 has expired", seconds=30)
    assert len(domain.web.requests) == 3
    assert not (mta.spool / "state/mta-sts/remote.example").exists()


@pytest.mark.parametrize("days, renewed", [(2, True), (31, False)])
def test_a_policy_nobody_needs_is_not_renewed(mta, domain, days, renewed):
    domain.publish(max_age=90 * 86400)
    mta.start()
    mta.submit("one@remote.example")
    domain.sink.wait_for_one_to("one@remote.example")
    mta.stop()
    kept = mta.spool / "state/mta-sts/remote.example"
    policy = json.loads(kept.read_text())
    policy["used"] -= days * 86400
    policy["fetched"] -= days * 86400
    kept.write_text(json.dumps(policy))
    before = domain.names.times_asked("_mta-sts.remote.example", "TXT")
    mta.start()
    if renewed:
        wait_until(lambda: len(domain.web.requests) == 2, 15, "the policy to be fetched anew")
    else:
        # Were it to be renewed, that was asked for at the start; the trial's question comes behind it.
        attempt(mta, "user@other.example", status=REFUSED)
        assert domain.names.times_asked("_mta-sts.remote.example", "TXT") == before
        assert len(domain.web.requests) == 1 and kept.exists()


@pytest.mark.parametrize("trouble", ["fetch", "record"])
def test_what_is_known_stays_in_force(mta, domain, trouble):
    """… while the domain's web server or name servers are away; over a restart of the whole system too."""
    domain.publish()
    mta.start()
    mta.submit("one@remote.example")
    domain.sink.wait_for_one_to("one@remote.example")
    domain.wrong_certificate()
    if trouble == "fetch":
        domain.record("2")
        domain.web.put(POLICY, "gone", status=404)
    else:
        domain.names.fails("_mta-sts.remote.example", "servfail")
    mta.forget_the_log()
    mta.restart()
    waits_for(mta, mta.submit("two@remote.example"), "does not prove")
    if trouble == "fetch":
        mta.wait_log(r"is not available: the web server answered 404; mail is sent under the previous policy \(id 1\)")
    else:
        assert len(domain.web.requests) == 1


def test_what_is_damaged_on_the_disk_is_fetched_anew(mta, domain):
    domain.publish()
    mta.start()
    mta.submit("one@remote.example")
    domain.sink.wait_for_one_to("one@remote.example")
    mta.stop()
    kept = mta.spool / "state/mta-sts/remote.example"
    kept.write_bytes(kept.read_bytes()[:-20])
    (kept.parent / "no name").write_text("x")
    mta.start()
    mta.wait_log(r"state/mta-sts/remote.example: it is damaged; ignored")
    mta.wait_log(r"state/mta-sts/no name: it is not a policy; ignored")
    mta.submit("two@remote.example")
    domain.sink.wait_for_one_to("two@remote.example")
    assert len(domain.web.requests) == 2 and '"id": "1"' in kept.read_text()


@pytest.mark.parametrize("what, why", [
    ({"status": 301, "headers": {"Location": "https://mta-sts.remote.example/other"}}, "the web server answered 301"),
    ({"status": 500}, "the web server answered 500"),
    ({"kind": "text/html"}, r'its type is "text/html", not "text/plain"'),
    ({"text": "x" * 70000}, "the answer is too large"),
    ({"text": "version: STSv1\nmode: enforce\nmax_age: 1\n"}, "it has no mx value"),
    ({"text": b"\xff\xfe\0"}, 'one of its lines is not "key: value"'),
    ("certificate", "certificate"),
    ("no server", "."),
    ("no address", "mta-sts.remote.example has no address"),
], ids=["redirect", "500", "html", "large", "no mx", "binary", "certificate", "no server", "no address"])
def test_what_cannot_be_fetched_is_no_policy(mta, domain, what, why):
    domain.wrong_certificate()
    domain.publish()
    if what == "certificate":
        domain.web.use_certificate(domain.certificate("www.remote.example"))
    elif what == "no server":
        domain.web.stop()
    elif what == "no address":
        domain.names.records.pop(("mta-sts.remote.example", "A"))
    else:
        policy = "version: STSv1\nmode: enforce\nmax_age: 86400\nmx: host.example\n"
        domain.web.put(POLICY, **{"text": policy, **what})
        domain.web.put("/other", policy)
    mta.start()
    mta.submit("one@remote.example")
    domain.sink.wait_for_one_to("one@remote.example")
    mta.wait_log(rf"https://mta-sts.remote.example/.well-known/mta-sts.txt is not available: .*{why}.*; mail is sent without a policy until it is")
    asked = len(domain.web.requests)
    mta.submit("two@remote.example")
    domain.sink.wait_for_one_to("two@remote.example")
    assert len(domain.web.requests) == asked <= 1, "not so soon again"


def test_domains_of_one_link_have_policies_of_their_own(mta, domain):
    domain.wrong_certificate()
    domain.publish()
    domain.names.mx("free.example", (10, "host.example"))
    mta.start()
    mta.submit("before@free.example")
    domain.sink.wait_for_one_to("before@free.example")
    waits_for(mta, mta.submit("user@remote.example"), "does not prove")
    mta.submit("after@free.example")
    domain.sink.wait_for_one_to("after@free.example")
    assert [m.recipients for m in domain.sink.messages] == [["before@free.example"], ["after@free.example"]]
