"""`postrider try ADDRESS`: how a delivery would go, as far as RCPT; each step on a line, and nothing sent."""
import json
import re
import socket
import subprocess

import pytest

from harness.certificates import make_certificate
from harness.client import Client
from harness.sink import drop, raw, silence
from harness.unpacked import Service, environment, tree
from harness.watch import wait_until

GOOD, USAGE, REFUSED, WAITS = 0, 64, 67, 75


def ready(mta, *arguments):
    """`postrider try …`, again as it says as long as the MTA is only just coming up; the finished process."""
    def there():
        done = mta.command("try", *arguments, check=False)
        return None if "no delivery agent (smtp-client) is connected" in done.stderr else done
    return wait_until(there, 15, "a delivery agent to be connected")


def attempt(mta, *arguments, status):
    """The steps as the JSON has them, and the exit status."""
    done = ready(mta, "--json", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(steps, name):
    return [s for s in steps if s["step"] == name]


def one(steps, name):
    [found] = of(steps, name)
    return found


@pytest.fixture
def to_host(mta, remote, names, folder):
    """to_host(level, …) → sink, the only host of remote.example: host.example."""
    def make(level="may", certificate=None, **options):
        mta.use_names(names)
        sink = remote(certificate=make_certificate(folder, certificate) if certificate else None, **options)
        names.address_of("host.example", sink.address)
        mta.config['route."remote.example"'] = {"next_hop": f"[host.example]:{sink.port}", "tls": level}
        if certificate:
            mta.config["smtp_client"]["tls_ca_file"] = str(folder / f"{certificate}.pem")
        mta.start()
        return sink
    return make


def nothing_was_sent(sink):
    words = [line.split(" ")[0].upper() for _, line in sink.commands]
    assert "DATA" not in words and "BDAT" not in words and not sink.messages
    return words


def all_that_was_said(sink):
    wait_until(lambda: any(line == "QUIT" for _, line in sink.commands), 15, "QUIT, which nobody waits for")
    return nothing_was_sent(sink)


def test_every_step_is_told_in_its_order(to_host, mta):
    sink = to_host(certificate="host.example")
    steps = attempt(mta, "user@remote.example", status=GOOD)
    assert [s["step"] for s in steps] == ["categorize", "route", "addresses", "addresses", "connect", "greeting", "ehlo",
                                          "starttls", "tls", "ehlo", "mail", "rcpt", "result"]
    assert all(s["finding"] == "good" for s in steps)
    assert [s["at_us"] for s in steps] == sorted(s["at_us"] for s in steps)
    assert "host.example" in one(steps, "route")["text"] and '[route."remote.example"]' in one(steps, "route")["text"]
    assert sorted(s["text"] for s in of(steps, "addresses")) == [f"A {sink.address}", "no AAAA"]
    assert one(steps, "connect")["host"] == f"host.example[{sink.address}]:{sink.port}"
    assert one(steps, "greeting")["text"] == "220 sink.example ESMTP"
    assert "PIPELINING" in of(steps, "ehlo")[1]["text"]
    assert "TLSv1.3" in one(steps, "tls")["text"] and "proves" in one(steps, "tls")["text"]
    assert one(steps, "rcpt")["recipient"] == "user@remote.example"
    assert all_that_was_said(sink) == ["EHLO", "STARTTLS", "EHLO", "MAIL", "RCPT", "QUIT"]
    assert sink.commands[3][1] == "MAIL FROM:<>"


def test_people_read_lines_with_times(to_host, mta):
    to_host().at("rcpt", "550 5.1.1 Nobody here")
    done = ready(mta, "user@remote.example")
    assert done.returncode == REFUSED
    lines = done.stdout.splitlines()
    assert [l.split()[1:3] for l in lines if l.startswith(" ")] == [
        ["ok", "categorize"], ["ok", "route"], ["ok", "addresses"], ["ok", "addresses"], ["ok", "connect"], ["ok", "greeting"], ["ok", "ehlo"],
        ["ok", "mail"], ["FAIL", "rcpt"], ["FAIL", "result"]]
    assert "mail would be returned: host host.example[" in done.stdout and "Nobody here" in done.stdout
    assert lines[-1] == "The server has no user of that name. Ask the recipient for the correct address."


def test_v_shows_the_conversation(to_host, mta):
    to_host()
    done = ready(mta, "-v", "--from", "ann@test.example", "user@remote.example")
    spoken = [l.strip() for l in done.stdout.splitlines() if l.strip().startswith(("C: ", "S: "))]
    assert spoken[:2] == ["S: 220 sink.example ESMTP", "C: EHLO mta.test.example"]
    assert "S: 250-PIPELINING" in spoken
    assert spoken[-4:] == ["C: MAIL FROM:<ann@test.example>", "C: RCPT TO:<user@remote.example>", "S: 250 2.1.0 Ok", "S: 250 2.1.5 Ok"]


# --- where it fails

def test_no_such_domain(mta, names):
    mta.use_names(names)
    names.mx("other.example", (10, "mx.other.example"))
    mta.start()
    steps = attempt(mta, "user@nowhere.example", status=REFUSED)
    assert [s["step"] for s in steps] == ["categorize", "route", "result"]
    assert one(steps, "route")["finding"] == "permanent" and "Host not found" in one(steps, "route")["text"]
    assert "no such domain" in one(steps, "result")["advice"]


def test_a_domain_without_mail(mta, names):
    mta.use_names(names)
    names.null_mx("silent.example")
    mta.start()
    steps = attempt(mta, "user@silent.example", status=REFUSED)
    assert one(steps, "route")["status"] == "5.1.10" and "null MX" in one(steps, "result")["advice"]


def test_name_servers_that_fail(mta, names):
    mta.use_names(names)
    names.fails("broken.example", "servfail")
    mta.start()
    steps = attempt(mta, "user@broken.example", status=WAITS)
    assert one(steps, "route")["finding"] == "temporary" and "dns.servers" in one(steps, "result")["advice"]


def test_hosts_by_mx_are_named_with_their_preference(mta, names, block):
    mta.use_names(names)
    names.mx("remote.example", (10, "mx1.remote.example"), (20, "mx2.remote.example"))
    names.address_of("mx1.remote.example", block.host(98))
    mta.start()
    steps = attempt(mta, "user@remote.example", status=WAITS)
    assert one(steps, "route")["text"] == "MX of remote.example: mx1.remote.example (10), mx2.remote.example (20)"
    found = [(s["host"], s["finding"]) for s in of(steps, "addresses")]
    assert found == [("mx1.remote.example", "good")] * 2 + [("mx2.remote.example", "good")] * 2 + [("mx2.remote.example", "temporary")]
    assert "Host not found" in of(steps, "addresses")[-1]["text"]


def test_nobody_listens(mta, to_host):
    sink = to_host()
    sink.stop()
    steps = attempt(mta, "user@remote.example", status=WAITS)
    assert "Connection refused" in one(steps, "connect")["text"]
    result = one(steps, "result")
    assert "Connection refused" in result["text"] and "firewall" in result["advice"]
    assert result["host"] == f"host.example[{sink.address}]:{sink.port}" and f"nc -vz {sink.address} {sink.port}." in result["advice"]


def test_the_next_host_is_asked_as_a_delivery_would(mta, remote):
    dead, good = remote(), remote()
    dead.stop()
    mta.route("remote.example", [dead, good])
    mta.start()
    for _ in range(4):  # equals, in whatever order
        steps = attempt(mta, "user@remote.example", status=GOOD)
        assert of(steps, "connect")[-1]["host"] == f"{good.address}[{good.address}]:{good.port}"


def test_all_asks_every_host(mta, remote):
    first, second = remote(), remote()
    first.at("rcpt", "450 4.2.0 Greylisted")
    mta.config['route."remote.example"'] = {"next_hop": [[f"[{s.address}]:{s.port}" for s in (first, second)]]}
    mta.start()
    steps = attempt(mta, "--all", "user@remote.example", status=WAITS)
    assert sorted((s["host"].split("]:")[1], s["finding"]) for s in of(steps, "rcpt")) == sorted(
        [(str(first.port), "temporary"), (str(second.port), "good")])
    assert "RCPT" in nothing_was_sent(first) and "RCPT" in nothing_was_sent(second)


def test_only_the_host_that_is_asked_for(mta, remote, to_host):
    to_host()
    other = remote()
    steps = attempt(mta, "--host", f"{other.address}:{other.port}", "user@remote.example", status=GOOD)
    assert one(steps, "connect")["host"] == f"{other.address}[{other.address}]:{other.port}"
    assert not of(steps, "addresses")


@pytest.mark.parametrize("stage, reply, step, finding, status", [
    ("connect", "554 5.7.1 Go away", "greeting", "temporary", WAITS),  # of itself, not of the mail: that waits
    ("connect", "421 4.3.2 Too busy", "greeting", "temporary", WAITS),
    ("ehlo", "450 4.7.0 Who are you?", "ehlo", "temporary", WAITS),
    ("mail", "553 5.1.8 No such sender", "mail", "permanent", REFUSED),
    ("mail", "451 4.3.0 Not now", "mail", "temporary", WAITS),
    ("rcpt", "550 5.1.1 Nobody", "rcpt", "permanent", REFUSED),
    ("rcpt", "450 4.2.0 Greylisted", "rcpt", "temporary", WAITS),
])
def test_a_refusal_is_told_at_its_stage(mta, to_host, stage, reply, step, finding, status):
    sink = to_host()
    sink.at(stage, reply)
    steps = attempt(mta, "user@remote.example", status=status)
    assert one(steps, step)["finding"] == finding and reply in one(steps, step)["text"]
    result = one(steps, "result")
    assert reply in result["text"] and result["advice"] and result["code"] == int(reply[:3])
    nothing_was_sent(sink)


def test_a_connection_that_breaks(mta, to_host):
    to_host().at("rcpt", drop)
    steps = attempt(mta, "user@remote.example", status=WAITS)
    assert "lost connection" in one(steps, "rcpt")["text"] and "connection was lost" in one(steps, "result")["advice"]


def test_tls_that_is_required_and_not_offered(mta, to_host):
    sink = to_host("encrypt")
    steps = attempt(mta, "user@remote.example", status=WAITS)
    assert one(steps, "tls")["finding"] == "temporary" and "not offered" in one(steps, "tls")["text"]
    assert "does not offer it" in one(steps, "result")["advice"]
    assert all_that_was_said(sink) == ["EHLO", "QUIT"]


def test_a_certificate_that_proves_nothing(mta, to_host):
    sink = to_host("verify", certificate="other.example")
    steps = attempt(mta, "user@remote.example", status=WAITS)
    shown, refused = of(steps, "tls")
    assert shown["finding"] == "notice" and "hostname mismatch" in shown["text"]
    assert refused["finding"] == "temporary" and "does not prove" in refused["text"]
    assert "MAIL" not in nothing_was_sent(sink)


def test_a_handshake_that_fails_where_tls_is_only_welcome(mta, to_host):
    sink = to_host("may", certificate="host.example")
    sink.at("starttls", raw(b"220 Go\r\nthis is not TLS\r\n"), times=1)
    steps = attempt(mta, "user@remote.example", status=GOOD)
    assert one(steps, "tls")["finding"] == "temporary" and len(of(steps, "connect")) == 2
    nothing_was_sent(sink)


def test_starttls_refused_where_it_is_only_welcome_is_but_a_notice(mta, to_host):
    to_host("may", certificate="host.example").at("starttls", "454 4.7.0 Not now")
    steps = attempt(mta, "user@remote.example", status=GOOD)
    assert one(steps, "starttls")["finding"] == "notice"


def test_the_advice_is_about_what_failed_and_how(mta, remote, names, block, tmp_path):
    mta.use_names(names)
    names.mx("other.example", (10, "mx.other.example"))  # there is a DNS, and in it no submission of anybody's
    quiet, late, odd, good = remote(), remote(), remote(), remote()
    quiet.at("connect", silence)
    late.at("ehlo", silence)
    odd.at("ehlo", raw(b"hello yourself\r\n"))
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "left"))
    left.close()
    mta.config["smtp_client"].update(greeting_timeout="1s", command_timeout="1s")
    for name, sink in (("quiet", quiet), ("late", late), ("odd", odd)):
        mta.route(f"{name}.example", sink)
    mta.config['route."none.example"'] = {"next_hop": f"lmtp:{tmp_path}/none/lmtp"}
    mta.config['route."left.example"'] = {"next_hop": f"lmtp:{tmp_path}/left"}
    mta.config['route."srv.example"'] = {"next_hop": "srv:provider.example"}
    own = block.host(77)
    mta.config["pool.away"] = {"addresses": ["192.0.2.77 away.example"]}
    mta.config["pool.near"] = {"addresses": [f"{own} near.example"]}
    for pool in ("away", "near"):
        mta.config[f'route."{pool}.example"'] = {"next_hop": f"[{good.address}]:{good.port}", "pool": pool}
    mta.start()

    def told(name, status=WAITS):
        steps = attempt(mta, f"user@{name}.example", status=status)
        result = one(steps, "result")
        assert "port 0" not in json.dumps(steps)
        return steps, result["text"], result["advice"]

    _, text, advice = told("quiet")
    assert "timed out while" in text and "uses TLS from the first byte" in advice and "implicit_tls" in advice and "pipelining" not in advice
    _, text, advice = told("late")
    assert "no reply to EHLO" in advice and "pipelining" not in advice
    _, text, advice = told("odd")
    assert "protocol error" in text and "not valid SMTP" in advice
    steps, text, advice = told("none")
    assert f"the socket {tmp_path}/none/lmtp" in one(steps, "route")["text"]
    assert f"{tmp_path}/none: No such file or directory; this process runs as user" in one(steps, "connect")["text"]
    assert f"no socket {tmp_path}/none/lmtp" in advice and "nc -vz" not in advice
    steps, text, advice = told("left")
    assert re.search(rf"{tmp_path}/left is a socket \(mode 0\d\d\d, user \d+", one(steps, "connect")["text"])
    assert f"No process accepts connections at the socket {tmp_path}/left" in advice
    _, text, advice = told("srv")
    assert "dig SRV _submissions._tcp.provider.example" in advice and "dig MX" not in advice
    _, text, advice = told("away")
    assert "the pool away can be used: this host does not have 192.0.2.77" in text and "[pool.away]" in advice
    steps, text, advice = told("near", GOOD)
    assert one(steps, "connect")["text"] == f"connected from {own} of the pool near"


# --- what is delivered here, what an alias says, what waits

def test_local_addresses(mta):
    mta.aliases.write_text(f"team: {mta.user}, other\n")
    mta.start()
    steps = attempt(mta, f"{mta.user}@test.example", status=GOOD)
    assert [s["step"] for s in steps] == ["categorize", "result"]
    assert f"mailbox of {mta.user}" in steps[0]["text"] and "is delivered here" in steps[1]["text"]
    steps = attempt(mta, "team@test.example", status=GOOD)
    assert sorted(s["text"].split()[-1] for s in of(steps, "categorize")) == sorted([mta.user, "other"])
    steps = attempt(mta, "nobody-of-that-name@test.example", status=REFUSED)
    assert one(steps, "categorize")["status"] == "5.1.1" and "[local]" in one(steps, "result")["advice"]


def test_an_alias_is_tried_for_each_of_its_recipients(mta, remote):
    sink, elsewhere = remote(), remote()
    elsewhere.at("rcpt", "550 5.1.1 Nobody")
    mta.route("remote.example", sink)
    mta.route("elsewhere.example", elsewhere)
    mta.aliases.write_text(f"all: {mta.user}, a@remote.example, b@remote.example, c@elsewhere.example\n")
    mta.start()
    steps = attempt(mta, "all@test.example", status=REFUSED)
    assert {s["recipient"]: s["finding"] for s in of(steps, "rcpt")} == {
        "a@remote.example": "good", "b@remote.example": "good", "c@elsewhere.example": "permanent"}
    assert sink.connections == 1, "what travels together is asked together"


def test_what_would_hold_mail_up_is_said(mta, to_host):
    to_host()
    mta.command("pause", "queue", "remote.example", "--reason", "they move house")
    steps = attempt(mta, "user@remote.example", status=GOOD)
    assert one(steps, "queue")["finding"] == "notice" and "they move house" in one(steps, "queue")["text"]


def test_a_try_leaves_no_mark_on_links(mta, to_host):
    sink = to_host()
    sink.at("connect", "554 5.7.1 Go away")
    for _ in range(3):
        attempt(mta, "user@remote.example", status=WAITS)
    queue = mta.status()["queue"]
    assert not queue["links"] and queue["connections"] == 0 and queue["messages"] == 0
    sink.well_behaved()
    mta.submit("user@remote.example")
    sink.wait_for_one_to("user@remote.example")


# --- who asks, and who goes away

@pytest.mark.parametrize("arguments, complaint", [
    ((), "needs ADDRESS"),
    (("someone",), "it has no @"),
    (("a b@remote.example",), "is not an address"),
    (("--from", "nonsense", "user@remote.example"), "is not a valid sender address"),
    (("--host", "[", "user@remote.example"), "is not a host"),
    (("--host", "", "user@remote.example"), "needs a host"),
    (("--reason", "x", "user@remote.example"), "does not take --reason"),
    (("one@remote.example", "two@remote.example"), "does not take"),
])
def test_usage(shared, arguments, complaint):
    mta, _ = shared
    done = mta.command("try", *arguments, check=False)
    assert done.returncode == USAGE and complaint in done.stderr and not done.stdout


def test_a_delivery_agent_that_dies_is_said(mta, to_host):
    to_host().at("rcpt", lambda session, argument: mta.kill("smtp-client") and None)
    mta.config["smtp_client"]["workers"] = 1
    mta.restart()
    done = ready(mta, "user@remote.example")
    assert done.returncode == 69 and "exited" in done.stderr


def test_who_asked_may_go_away(mta, to_host):
    """The agent leaves the server at once: no step comes that it could be noticed at."""
    sink = to_host()
    attempt(mta, "user@remote.example", status=GOOD)
    sink.at("mail", silence)
    process = subprocess.Popen([mta.programs / "postrider", "try", "-c", mta.file, "user@remote.example"],
                               stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if " ehlo " in line:
            break
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until(lambda: not sink.open, 20, "the agent to leave")
    assert (2, "QUIT") not in sink.commands


def test_it_is_not_running(mta):
    mta.write_config()
    done = mta.command("try", "user@remote.example", check=False)
    assert done.returncode == 3 and "not running" in done.stderr


# --- servers that others wrote

@pytest.mark.parametrize("options, status, stage", [
    ([], GOOD, "result"),
    (["-f", "CONNECT", "-B", "554 5.7.1 Not for you"], WAITS, "greeting"),
    (["-r", "EHLO,HELO"], WAITS, "ehlo"),
    (["-f", "MAIL"], REFUSED, "mail"),
    (["-f", "RCPT"], REFUSED, "rcpt"),
    (["-r", "RCPT", "-b", "450 4.2.0 Greylisted"], WAITS, "rcpt"),
    (["-q", "RCPT"], WAITS, "rcpt"),
    (["-Q", "MAIL"], WAITS, "mail"),
])
def test_postfixs_sink(mta, block, folder, options, status, stage):
    postfix = tree("postfix")
    port, address = block.port(), block.host(20)

    def ready():
        try:
            Client(address, port, timeout=5).close()
            return True
        except OSError:
            return False
    sink = Service([postfix / "usr/sbin/smtp-sink", "-u", "root", "-v", *options, f"{address}:{port}", "10"], folder, ready,
                   environment(postfix))
    try:
        mta.config['route."remote.example"'] = {"next_hop": f"[{address}]:{port}"}
        mta.start()
        steps = attempt(mta, "user@remote.example", status=status)
        if status != GOOD:
            assert [s["finding"] for s in of(steps, stage)][-1] in ("temporary", "permanent")
        assert "DATA" not in sink.said()
    finally:
        sink.stop()


def test_our_own_server(mta, names):
    """Asked as a stranger would be: by the door, not by the categorizer."""
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.use_names(names)
    names.mx("remote.example", (10, "mx.remote.example"))
    mta.start()
    steps = attempt(mta, "--host", f"{mta.address}:{mta.relay_port}", "user@remote.example", status=REFUSED)
    assert "Relay access denied" in one(steps, "rcpt")["text"] and "\"relay\"" in one(steps, "result")["advice"]
