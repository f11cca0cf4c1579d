"""Tokens that are not valid: each is logged so that fail2ban finds it, too many of them lock a network out. And the rate
of those that are."""
import http.client
from collections import Counter
from pathlib import Path

import pytest

from harness import log_tools
from harness.http_api import Api
from harness.syslog import Syslog
from harness.watch import wait_until

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.needs("own network")
GUESSER, NEIGHBOUR, STRANGER, OFFICE = "192.0.2.66", "192.0.2.200", "203.0.113.5", "198.51.100.7"


@pytest.fixture
def api(mta, network, block):
    network.add(GUESSER, NEIGHBOUR, STRANGER, OFFICE)
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "failures_per_network": 3,
                          "lockout_exempt": ["198.51.100.0/24"]}
    made = Api(mta)
    yield made
    mta.stop()


def status(api, source, token="prt_guess"):
    return api.request("GET", "/v1/status", token=token, source=source)


def test_a_network_that_guesses_is_locked_out(mta, api):
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.block.port()}"]}
    mta.start()
    right = api.allow("shop", "--scope", "read")
    assert status(api, GUESSER, right).status == 200
    assert [status(api, source).status for source in (GUESSER, NEIGHBOUR, GUESSER)] == [401, 401, 401]
    for token in ("prt_guess", right):
        denied = status(api, NEIGHBOUR, token)
        assert denied.status == 429 and denied.json["code"] == "locked-out"
        assert 500 < int(denied.headers["Retry-After"]) <= 600
    assert api.request("GET", "/v1/status", token=None, source=GUESSER).status == 401, "nothing was guessed"
    assert api.request("GET", "/healthz", token=None, source=GUESSER).status == 200
    assert status(api, STRANGER, right).status == 200, "from elsewhere"
    for source in (OFFICE, None):  # exempt; loopback
        assert [status(api, source).status for _ in range(4)] == [401] * 4
        assert status(api, source, right).status == 200
    assert len(mta.logged(r'warning: network 192\.0\.2\.0/24 is locked out: 3 invalid tokens within 10 min \(http\.failures_per_network\); '
                          r'"postrider reload" lifts it')) == 1
    assert len(mta.logged(r"unknown\[192\.0\.2\.\d+\]: HTTP token authentication failed")) == 3
    assert b"postrider_http_lockouts_total 1\n" in api.request("GET", "/metrics").body
    mta.command("reload")
    wait_until(lambda: status(api, GUESSER, right).status == 200, 15, "the lockout to be lifted")


def test_a_lockout_ends_with_its_window(mta, api):
    mta.config["http"] |= {"failures_per_network": 1, "failure_window": "3s"}
    mta.start()
    right = api.allow("shop", "--scope", "read")
    assert status(api, GUESSER).status == 401
    assert status(api, GUESSER, right).status == 429
    wait_until(lambda: status(api, GUESSER, right).status == 200, 15, "the window to pass")


def test_fail2ban_finds_the_clients(mta, api):
    log = mta.folder / "mail.log"
    syslog = Syslog(log)
    mta.config["log"] |= {"syslog": True, "syslog_socket": str(syslog.path)}
    mta.start()
    right = api.allow("shop", "--scope", "read")
    far = api.allow("far", "--scope", "read", "--network", "10.0.0.0/8", valid=False)
    api.wait_for_tokens(2)
    for token in ("prt_guess", far):
        assert status(api, STRANGER, token).status == 401
    assert status(api, GUESSER, "prt_" + "x" * 500).status == 401
    basic = api.request("GET", "/v1/status", token=None, source=NEIGHBOUR, headers={"Authorization": "Basic [192.0.2.1]: HTTP token"})
    assert basic.status == 401
    assert status(api, OFFICE, right).status == 200
    mta.stop()
    syslog.stop()
    found = log_tools.fail2ban(log, "postrider-http", ROOT / "conf/fail2ban-postrider-http.conf")
    assert Counter(address for address, _ in found) == {STRANGER: 2, GUESSER: 1, NEIGHBOUR: 1}
    assert log_tools.fail2ban(log, "postfix[mode=aggressive]") == [], "Postfix's filter has no such line"


def test_connections_of_one_address(mta, api):
    mta.config["http"]["connections_per_address"] = 3
    mta.start()

    def connect(source):
        made = http.client.HTTPConnection(api.host, api.port, timeout=30, source_address=(source, 0))
        try:
            made.request("GET", "/healthz")
            made.getresponse().read()
            return made
        except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
            made.close()
    kept = [connect(STRANGER) for _ in range(3)]
    assert all(kept) and connect(STRANGER) is None
    assert connect(GUESSER), "another address has its own"
    kept.pop().close()
    wait_until(lambda: connect(STRANGER), 15, "room for another one")


def test_the_rate_of_a_token(mta, api):
    mta.start()
    api.allow("shop", "--scope", "read")
    slow = api.allow("slow", "--scope", "read", "--rate", "6/s", valid=False)
    api.wait_for_tokens(2)
    answers = [status(api, None, slow) for _ in range(6)]
    assert [each.status for each in answers] == [200] * 6, "each request counts once"
    denied = []
    wait_until(lambda: denied.append(status(api, None, slow)) or denied[-1].status == 429, 10, "too many within a second")
    assert denied[-1].json["code"] == "too-many-requests" and denied[-1].headers["Retry-After"] == "1"
