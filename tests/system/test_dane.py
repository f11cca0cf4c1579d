"""DANE (RFC 7672): what zones that Knot signed and Unbound validated say of servers' certificates, and what mail does."""
import pytest

from harness.certificates import make_authority, make_certificate, tlsa
from harness.dnssec import Dnssec
from harness.network import Network, inside_own_network
from harness.stranger import Stranger, Stripper
from test_control import states
from test_try import GOOD, WAITS, attempt, of, one

pytestmark = pytest.mark.needs("own network")

HOSTS = ("right", "wrong", "issued", "odd", "bare", "stripped", "forged", "elsewhere", "target")


class World:
    """One host of each kind, each the MX of a domain of its own: right.signed.example → mx-right.signed.example …"""

    def __init__(self, folder):
        self.network = Network()
        self.hosts = {}
        try:
            self.build(folder)
        except BaseException:
            self.close()
            raise

    def build(self, folder):
        at = {name: self.network.address() for name in HOSTS}
        hidden = self.network.address()
        own = {name: make_certificate(folder, f"mx-{name}.signed.example") for name in HOSTS}
        authority = make_authority(folder, "authority")
        own["issued"] = make_certificate(folder, "issued", ["mx-issued.signed.example"], authority)
        own["target"] = make_certificate(folder, "mx-target.other.example")
        stale = make_certificate(folder, "another.example")
        self.stale = tlsa(stale[0], 3, 1, 1)
        for name in HOSTS:
            if name != "stripped":
                self.hosts[name] = Stranger(at[name], own[name])
        self.hosts["behind"] = Stranger(hidden, own["stripped"])
        self.proxy = Stripper(at["stripped"], (hidden, 25))

        signed = [(name, "MX", f"10 mx-{name}.signed.example.") for name in HOSTS]
        signed += [(f"mx-{name}", "A", at[name]) for name in HOSTS if name != "target"]
        record = lambda name, *kind: (f"_25._tcp.mx-{name}", "TLSA", tlsa(own[name][0], *kind))  # noqa: E731
        signed += [record("right", 3, 1, 1), record("stripped", 3, 1, 1), ("_25._tcp.mx-wrong", "TLSA", self.stale),
                   ("_25._tcp.mx-issued", "TLSA", tlsa(authority[0], 2, 0, 1)),
                   ("_25._tcp.mx-odd", "TLSA", tlsa(own["odd"][0], 1, 1, 1)),
                   ("mx-target", "CNAME", "mx-target.other.example."),
                   ("_tcp.mx-forged", "NS", "ns.signed.example."),
                   ("choice", "MX", "10 mx-wrong.signed.example."), ("choice", "MX", "20 mx-right.signed.example.")]
        other = [("mx-target", "A", at["target"]), ("_25._tcp.mx-target", "TLSA", tlsa(own["target"][0], 3, 1, 1))]
        # Nobody vouches for this zone: it points to hosts whose records do not fit, and has some itself.
        plain = [("wrong", "MX", "10 mx-wrong.signed.example."), ("own", "MX", "10 mx.plain.example."), ("mx", "A", at["elsewhere"]),
                 ("_25._tcp.mx", "TLSA", self.stale)]
        hidden_records = [("_25", "TLSA", self.stale)]
        self.dns = Dnssec(folder / "dns", {"signed.example": signed, "other.example": other, "plain.example": plain,
                                           "_tcp.mx-forged.signed.example": hidden_records, "forged.example": [("@", "MX", "10 mx-right.signed.example.")]},
                          signed=["signed.example", "other.example"], forged=["_tcp.mx-forged.signed.example", "forged.example"])

    def close(self):
        if hasattr(self, "dns"):
            self.dns.stop()
        if hasattr(self, "proxy"):
            self.proxy.stop()
        for host in self.hosts.values():
            host.stop()
        self.network.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    if not inside_own_network():
        pytest.skip("this machine does not offer: own network")
    one = World(tmp_path_factory.mktemp("dane"))
    yield one
    one.close()


@pytest.fixture
def sending(mta, world):
    """The MTA with the level "dane", running; nothing has come anywhere."""
    for host in world.hosts.values():
        host.messages.clear()
    mta.use_names(world.dns)
    mta.config["dns"]["timeout"] = "3s"
    mta.config["smtp_client"]["tls"] = "dane"
    mta.start()
    return mta, world


def with_level(mta, level):
    mta.config["smtp_client"]["tls"] = level
    mta.restart()


def nothing_came(world):
    return not any(host.messages for host in world.hosts.values())


def deferred(mta, queue_id):
    return mta.wait_log(rf"{queue_id}: to=<\S+>, .*dsn=(4\.\d+\.\d+), status=deferred \((.*)\)")


def test_a_certificate_that_the_record_names(sending):
    mta, world = sending
    mta.submit("user@right.signed.example")
    assert world.hosts["right"].wait_for(1) == [(["user@right.signed.example"], True, "mx-right.signed.example")]
    mta.wait_log(r"Verified TLS connection established to mx-right\.signed\.example\[\S+\]:25: TLSv1\.3 .* bits\), by DANE")


def test_another_certificate_keeps_the_mail_waiting(sending):
    mta, world = sending
    queue_id = mta.submit("user@wrong.signed.example")
    found = deferred(mta, queue_id)
    assert found[1] == "4.7.5"
    assert "does not match the TLSA records of _25._tcp.mx-wrong.signed.example" in found[2]
    assert world.stale.split()[-1].upper() in found[2] and "no matching DANE TLSA records" in found[2]
    assert nothing_came(world) and states(mta, queue_id) == ["retrying"]
    shown = mta.command("message", "show", queue_id).stdout
    assert "_25._tcp.mx-wrong.signed.example" in shown


def test_the_next_host_serves(sending):
    mta, world = sending
    mta.submit("user@choice.signed.example")
    world.hosts["right"].wait_for(1)
    assert not world.hosts["wrong"].messages


def test_a_certificate_of_the_authority_that_the_record_names(sending):
    mta, world = sending
    mta.submit("user@issued.signed.example")
    assert world.hosts["issued"].wait_for(1)[0][1]
    mta.wait_log(r"Verified TLS connection established to mx-issued.*by DANE")


def test_records_that_cannot_be_used_ask_for_tls_all_the_same(sending):
    mta, world = sending
    mta.submit("user@odd.signed.example")
    assert world.hosts["odd"].wait_for(1)[0][1]
    mta.wait_log(r"Untrusted TLS connection established to mx-odd")


def test_a_host_without_records_is_as_any_other(sending):
    mta, world = sending
    mta.submit("user@bare.signed.example")
    assert world.hosts["bare"].wait_for(1)[0][1]
    mta.wait_log(r"Untrusted TLS connection established to mx-bare")


@pytest.mark.parametrize("domain, host", [("wrong.plain.example", "wrong"), ("own.plain.example", "elsewhere")],
                         ids=["its MX", "its host"])
def test_what_an_unsigned_zone_says_binds_nobody(sending, domain, host):
    mta, world = sending
    mta.submit(f"user@{domain}")
    assert world.hosts[host].wait_for(1)[0][1]
    mta.wait_log(r"Untrusted TLS connection established")


def test_records_that_were_forged_keep_the_mail_waiting(sending):
    mta, world = sending
    queue_id = mta.submit("user@forged.signed.example")
    found = deferred(mta, queue_id)
    assert "the TLSA records of _25._tcp.mx-forged.signed.example, which identify the certificate" in found[2]
    assert nothing_came(world)


def test_a_domain_that_was_forged_keeps_the_mail_waiting(sending):
    mta, world = sending
    assert deferred(mta, mta.submit("user@forged.example"))[1] == "4.4.3"
    assert nothing_came(world)


def test_an_alias_is_followed_to_the_records_at_its_end(sending):
    mta, world = sending
    mta.submit("user@target.signed.example")
    assert world.hosts["target"].wait_for(1) == [(["user@target.signed.example"], True, "mx-target.other.example")]
    mta.wait_log(r"Verified TLS connection established to mx-target.*by DANE")


def test_who_strips_starttls_gets_no_mail(sending):
    mta, world = sending
    queue_id = mta.submit("user@stripped.signed.example")
    assert "TLS is required, but was not offered by host mx-stripped" in deferred(mta, queue_id)[2]
    assert nothing_came(world)
    with_level(mta, "may")
    mta.flush()
    assert world.hosts["behind"].wait_for(1)[0][1] is False, "without DANE nobody would have noticed"


def test_dane_only_means_that_there_are_records(sending):
    mta, world = sending
    with_level(mta, "dane-only")
    for domain in ("bare.signed.example", "wrong.plain.example"):
        assert "DANE is required, but" in deferred(mta, mta.submit(f"user@{domain}"))[2]
    assert "none of the TLSA records of _25._tcp.mx-odd" in deferred(mta, mta.submit("user@odd.signed.example"))[2]
    assert nothing_came(world)
    mta.submit("user@right.signed.example")
    assert world.hosts["right"].wait_for(1)[0][1]


def test_a_message_may_do_without(sending):
    """RFC 8689, 5."""
    mta, world = sending
    mta.submit("user@stripped.signed.example", extra="TLS-Required: No\r\n")
    assert world.hosts["behind"].wait_for(1)[0][1] is False
    mta.submit("user@wrong.signed.example", extra="TLS-Required: No\r\n")
    assert world.hosts["wrong"].wait_for(1)


def test_sessions_are_resumed_under_the_same_records(sending):
    mta, world = sending
    mta.config["smtp_client"]["workers"] = 1
    mta.config["queue"]["messages_per_connection"] = 1
    mta.restart()
    for n in range(2):
        mta.submit(f"user{n}@right.signed.example")
        world.hosts["right"].wait_for(n + 1)
        mta.wait_log(r"Verified TLS connection established to mx-right.*by DANE", count=n + 1)


# --- postrider try

@pytest.mark.parametrize("level, domain, status, finding, text", [
    ("dane", "right.signed.example", GOOD, "good", "_25._tcp.mx-right.signed.example: 3 1 1 "),
    ("dane", "wrong.signed.example", WAITS, "good", "_25._tcp.mx-wrong.signed.example: 3 1 1 "),
    ("dane", "odd.signed.example", GOOD, "notice", "_25._tcp.mx-odd.signed.example: none of them usable: 1 1 1 "),
    ("dane", "bare.signed.example", GOOD, "good", "none: mx-bare.signed.example has no"),
    ("dane", "wrong.plain.example", GOOD, "good", "insecure: the MX records"),
    ("dane", "forged.signed.example", WAITS, "notice", "unavailable: the records of _25._tcp.mx-forged.signed.example"),
    ("dane-only", "bare.signed.example", WAITS, "notice", "none: mx-bare.signed.example has no"),
])
def test_a_try_shows_the_records(sending, level, domain, status, finding, text):
    mta, world = sending
    if level != "dane":
        with_level(mta, level)
    steps = attempt(mta, f"user@{domain}", status=status)
    records, result = one(steps, "tlsa"), one(steps, "result")
    assert records["finding"] == finding and records["text"].startswith(text) and records["host"].startswith("mx-")
    assert [s["step"] for s in steps].index("tlsa") == [s["step"] for s in steps].index("connect") + 1
    assert not of(steps, "sts"), "nobody asked for it"
    if status == WAITS:
        given_up = of(steps, "tls")[-1]
        assert given_up["finding"] == "temporary" and given_up["text"] in result["text"]
        assert "dig +dnssec TLSA _25._tcp.mx-" in result["advice"]
    assert nothing_came(world)


def test_a_name_server_that_is_not_on_this_host_is_not_believed(mta, world, network):
    from harness.names import Names
    network.add("198.51.100.53")
    names = Names("198.51.100.53", 53)
    try:
        mta.use_names(names)
        mta.config["smtp_client"]["tls"] = "dane"
        mta.start()
        mta.wait_log(r"smtp_client\.tls.*DANE is not available")
    finally:
        names.stop()
