"""Which host and which address: races between IPv6 and IPv4, fallback relays, SRV records, hosts moved for tests.

Silence is real here: packets for some networks disappear (a route of the network namespace that this process has for
itself), so that a connection there hangs until somebody loses patience.
"""
import socket
import subprocess

import pytest

from harness.aiosmtp import AioServer
from harness.certificates import make_certificate
from harness.unpacked import Service, environment, tree
from harness.watch import wait_until
from test_links import links

SILENT4, SILENT6 = "203.0.113.1", "2001:db8:dead::1"


@pytest.fixture
def silence():
    """SILENT4 and SILENT6 swallow what is sent to them."""
    routes = [["ip", "route", "{}", "203.0.113.0/24", "dev", "lo"], ["ip", "-6", "route", "{}", "2001:db8:dead::/48", "dev", "lo"],
              ["ip", "-6", "address", "{}", "2001:db8:feed::1/128", "dev", "lo"]]
    for route in routes:
        subprocess.run([w.format("add") for w in route], check=True)
    yield
    for route in routes:
        subprocess.run([w.format("del") for w in route], check=True)


@pytest.fixture
def server():
    """server(address, port, …) → AioServer."""
    made = []

    def make(*given, **more):
        made.append(AioServer(*given, **more))
        return made[-1]
    yield make
    for each in made:
        each.stop()


def route(mta, domain="remote.example", **keys):
    mta.config[f'route."{domain}"'] = keys


@pytest.mark.needs("own network")
@pytest.mark.parametrize("dead, alive", [(SILENT6, "127.0.0.1"), (SILENT4, "::1")])
def test_a_silent_address_is_overtaken_by_the_other_family(mta, names, server, silence, block, dead, alive):
    there = server(alive, block.port())
    names.mx("remote.example", (10, "mx.remote.example"))
    names.address_of("mx.remote.example", dead, alive)
    mta.use_names(names)
    mta.config["smtp_client"]["connect_timeout"] = "10m"  # nothing here waits for that
    route(mta, next_hop=f"mx:{there.port}")
    mta.start()
    queue_id = mta.submit("user@remote.example")
    there.wait_for(1)
    mta.wait_log(rf"{queue_id}: .*relay=mx\.remote\.example\[{alive}\]:{there.port}, .*status=sent")
    link = links(mta)[f"mx.remote.example:{there.port}"]
    assert link["failures"] == 0
    assert all(each["address"].startswith(("127.0.0.1:", "[::1]:")) for each in link["addresses"]), "the loser's place is given back"


@pytest.mark.needs("own network")
def test_ipv6_serves_where_both_answer(mta, names, server, block):
    port = block.port()
    six, four = server("::1", port), server("127.0.0.1", port)
    names.mx("remote.example", (10, "mx.remote.example"))
    names.address_of("mx.remote.example", "127.0.0.1", "::1")
    mta.use_names(names)
    mta.config["smtp_client"]["connection_attempt_delay"] = "10s"
    route(mta, next_hop=f"mx:{port}")
    mta.start()
    mta.submit("user@remote.example")
    six.wait_for(1)
    assert not four.messages


@pytest.mark.needs("own network")
def test_a_better_host_that_is_slow_is_not_overtaken_by_a_worse_one(mta, names, server, silence, block):
    worse = server("127.0.0.1", block.port())
    names.mx("remote.example", (10, "mx1.remote.example"), (20, "mx2.remote.example"))
    names.address_of("mx1.remote.example", SILENT4)
    names.address_of("mx2.remote.example", "127.0.0.1")
    mta.use_names(names)
    mta.config["smtp_client"].update(connect_timeout="1s", connection_attempt_delay="10ms")
    route(mta, next_hop=f"mx:{worse.port}")
    mta.start()
    mta.submit("user@remote.example")
    mta.wait_log(rf"connect to mx1\.remote\.example\[{SILENT4}\]:{worse.port}: Connection timed out")
    worse.wait_for(1)


@pytest.fixture
def postfix_sink(folder, block):
    """Postfix' smtp-sink: takes all mail and leaves it in files. → (address, port, its files)."""
    place = tree("postfix")
    port = block.port()
    (folder / "sunk").mkdir()
    program = next(place.rglob("smtp-sink"))
    address = block.host(9)

    def listens():
        with socket.socket() as s:
            return s.connect_ex((address, port)) == 0
    service = Service([program, "-u", "root", "-d", "sunk/m.", f"{address}:{port}", "10"], folder, listens, environment(place))
    yield address, port, folder / "sunk"
    service.stop()


def sunk(folder, recipient):
    return [f for f in folder.iterdir() if f"<{recipient}>" in f.read_text(errors="replace")]


def falling_back(mta, names, relay, port):
    mta.use_names(names)
    address, relay_port, _ = relay
    route(mta, next_hop=f"mx:{port}", fallback=[f"[{address}]:{relay_port}"])


@pytest.mark.parametrize("trouble", ["refused", "no MX answer", "no address"])
def test_the_fallback_relay_takes_what_no_mx_host_does(mta, names, remote, postfix_sink, trouble):
    mx = remote()
    mx.stop()
    if trouble == "no MX answer":
        names.fails("remote.example", "servfail", kind="MX")
    else:
        names.mx("remote.example", (10, "mx.remote.example"))
        names.address_of("mx.remote.example", mx.address)
        if trouble == "no address":
            names.fails("mx.remote.example", "servfail")
    falling_back(mta, names, postfix_sink, mx.port)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    address, port, files = postfix_sink
    mta.wait_log(rf"{queue_id}: .*relay={address}\[{address}\]:{port}, .*status=sent")
    wait_until(lambda: sunk(files, "user@remote.example"), 10, "the message at the relay")
    assert not mta.logged(rf"{queue_id}: .*status=deferred"), "it is one attempt"


@pytest.mark.parametrize("stage, reply, status", [("connect", "554 5.7.1 Not you", "deferred"), ("rcpt", "550 5.1.1 Nobody", "bounced"),
                                                  ("rcpt", "450 4.2.0 Greylisted", "deferred")])
def test_what_the_destination_itself_says_is_not_got_round(mta, names, remote, postfix_sink, stage, reply, status):
    mx = remote()
    mx.at(stage, reply)
    names.mx("remote.example", (10, "mx.remote.example"))
    names.address_of("mx.remote.example", mx.address)
    falling_back(mta, names, postfix_sink, mx.port)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote.example>, .*status={status}")
    assert not sunk(postfix_sink[2], "user@remote.example")


def test_where_we_are_an_mx_ourselves_nothing_falls_back(mta, names, remote, postfix_sink):
    mx = remote()
    mx.stop()
    names.mx("remote.example", (10, "mx.remote.example"), (20, "mta.test.example"))
    names.address_of("mx.remote.example", mx.address)
    falling_back(mta, names, postfix_sink, mx.port)
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: to=<user@remote.example>, .*status=deferred \(connect to mx\.remote\.example.*refused")
    assert not sunk(postfix_sink[2], "user@remote.example")


def test_srv_records_lead_to_tls_from_the_first_byte_then_to_starttls(mta, names, remote, server, block, folder):
    certificate = make_certificate(folder, "submit.example")
    wrapped = server("127.0.0.1", block.port(), implicit=certificate)
    other = remote(certificate=certificate)
    names.srv("_submissions._tcp.provider.example", (0, 5, wrapped.port, "submit.example"))
    names.srv("_submission._tcp.provider.example", (0, 5, other.port, "starttls.example"))
    names.address_of("submit.example", "127.0.0.1")
    names.address_of("starttls.example", other.address)
    mta.use_names(names)
    mta.config["smtp_client"]["tls_ca_file"] = str(folder / "submit.example.pem")
    route(mta, domain="*", next_hop="srv:provider.example", tls="may")
    route(mta, domain="careful.example", next_hop="srv:provider.example", tls="verify")
    mta.start()
    mta.submit("user@anywhere.example")
    mta.submit("user@careful.example")
    wrapped.wait_for(2)
    assert wrapped.over_tls == [True, True]
    mta.wait_log(r"Verified TLS connection established to submit\.example\[127\.0\.0\.1\]:")
    wrapped.stop()
    wrapped.stop = lambda: None
    mta.restart()
    mta.submit("late@anywhere.example")
    assert other.wait_for_one_to("late@anywhere.example").tls == "TLSv1.3"


def test_tls_wrap_never_becomes_plain_text(mta, remote):
    plain = remote()
    mta.config['route."remote.example"'] = {"next_hop": f"[{plain.address}]:{plain.port}", "implicit_tls": True, "tls": "may"}
    mta.start()
    queue_id = mta.submit("user@remote.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred \(TLS handshake with .* failed")
    assert not plain.messages


def test_hosts_are_moved_for_tests_alone(mta, names, remote):
    sink = remote()
    names.mx("remote.example", (10, "mx.remote.example"))
    names.address_of("mx.remote.example", "192.0.2.1")
    mta.use_names(names)
    mta.config["testing"] = {"connect_to": [f"mx.remote.example:25={sink.address}:{sink.port}"]}
    mta.start()
    queue_id = mta.submit("user@remote.example")
    sink.wait_for(1)
    mta.wait_log(rf"{queue_id}: .*relay=mx\.remote\.example\[192\.0\.2\.1\]:25, .*status=sent")
    mta.config["mta"]["multi_user"] = True
    mta.write_config()
    refused = mta.command("check", check=False)
    assert refused.returncode != 0
    assert "testing.connect_to: redirects mail" in refused.stdout + refused.stderr


@pytest.mark.needs("own network")
def test_five_dead_addresses_do_not_hide_the_second_host(mta, names, remote, network):
    dead = [network.address() for _ in range(5)]
    alive = remote(port=25)
    names.address_of("first.example", *dead)
    names.address_of("second.example", alive.address)
    names.mx("remote.example", (10, "first.example"), (20, "second.example"))
    mta.use_names(names)
    mta.start()
    waiting = mta.submit("user@remote.example")
    alive.wait_for_one_to("user@remote.example")
    assert len(mta.logged(r"connect to first.example\[")) == 4 and not mta.logged(rf"{waiting}: .*status=deferred")


def test_domains_whose_name_servers_are_silent_delay_no_new_one(mta, names, remote):
    """More of them than were looked up at a time; a look-up that nobody answers takes half a minute."""
    ask, unanswered = names.answer, set()
    names.answer = lambda query, over_tcp: unanswered.add(query[12:]) if b"silent" in query else ask(query, over_tcp)
    sink = remote()
    names.address_of("mx.remote.example", sink.address)
    names.mx("remote.example", (10, "mx.remote.example"))
    mta.use_names(names)
    mta.config["dns"].update(timeout="5s", tries=3)
    route(mta, next_hop=f"mx:{sink.port}")
    mta.config["submit"] = {"recipients": 2000}
    mta.start()
    assert mta.sendmail("-f", "x@test.example", "--", *(f"user@d{n}.silent.example" for n in range(1500))).returncode == 0
    wait_until(lambda: len(unanswered) >= 1000, 15, lambda: f"the dead ones to be asked about, not {len(unanswered)}")
    mta.submit("user@remote.example")
    sink.wait_for_one_to("user@remote.example", 15)


def test_a_next_hop_whose_name_leads_back_to_us_is_a_loop_at_once(mta, names):
    """Only the connection shows where the name has led; nothing is sent over it."""
    names.address_of("relay.example", mta.address)
    mta.use_names(names)
    mta.config['route."remote.example"'] = {"next_hop": f"[relay.example]:{mta.relay_port}"}
    mta.start()
    looping = mta.submit("user@remote.example")
    mta.wait_log(rf"{looping}: .*dsn=5.4.6, status=bounced \(mail loops back to myself: relay.example\[{mta.address}\]:\d+ is a listener "
                 r"of this system \(listen\.\w+\)\)")
    mta.wait_log(rf"{looping}: removed")
    assert len(mta.logged(r"client=")) == 1


@pytest.mark.needs("own network")
@pytest.mark.parametrize("address", ["127.0.0.2", "0.0.0.0"])
def test_an_mx_that_leads_back_over_loopback_is_a_loop_at_once(mta, names, address):
    names.address_of("back.example", address)
    names.mx("remote.example", (10, "back.example"))
    mta.use_names(names)
    mta.config["listen.all"] = {"addresses": ["*:25"], "service": "relay"}
    mta.start()
    looping = mta.submit("user@remote.example")
    mta.wait_log(rf"{looping}: .*dsn=5.4.6, status=bounced \(mail for remote.example loops back to myself\)")
    assert not mta.logged("too many hops") and len(mta.logged(r"to=<user@remote.example>")) == 1
