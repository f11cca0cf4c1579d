"""POST /v1/try: the steps of a delivery that is only tried, as they are made."""
import json
import socket
import time

import pytest

from harness.http_api import Api
from harness.sink import silence
from harness.watch import wait_until


@pytest.fixture
def api(mta, remote, block):
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"]}
    made = Api(mta)
    made.sink = remote()
    mta.route("remote.example", made.sink)
    mta.start()
    made.allow("operator", "--scope", "operate,read")
    made.wait_until_ready()

    def there():
        answer = made.request("POST", "/v1/try", {"address": "ann@remote.example"})
        return answer.status == 200 and b"no delivery agent" not in answer.body
    wait_until(there, 20, "a delivery agent to be connected")
    return made


def tried(api, **members):
    return api.request("POST", "/v1/try", members)


def test_the_steps(api):
    answer = tried(api, address="ann@remote.example", dialogue=True)
    assert (answer.status, answer.type) == (200, "application/x-ndjson")
    steps = [json.loads(line) for line in answer.body.splitlines()]
    for step in steps:
        api.description().validate({"$ref": "#/components/schemas/TrialStep"}, step, "POST /v1/try")
    names = [step["step"] for step in steps]
    assert names[-1] == "result" and {"categorize", "route", "connect", "mail", "rcpt", "client", "server"} <= set(names)
    assert [step["at_us"] for step in steps] == sorted(step["at_us"] for step in steps)
    assert not api.sink.messages


def test_as_server_sent_events(api):
    answer = api.request("POST", "/v1/try", {"address": "ann@remote.example"}, headers={"Accept": "text/event-stream"})
    assert answer.type == "text/event-stream"
    blocks = answer.body.decode().removesuffix("\n\n").split("\n\n")
    assert all(block.startswith("event: step\ndata: {") for block in blocks)
    assert json.loads(blocks[-1].partition("data: ")[2])["step"] == "result"


@pytest.mark.parametrize("members, why", [({}, '"address": expected'), ({"address": "nobody"}, "is not an address"), ({"address": 1}, "expected a text"),
                                          ({"address": "a@b.example", "host": "a b"}, "is not a host"), ({"address": "a@b.example", "to": "x"}, '"to"')],
                         ids=["nothing", "bare", "number", "host", "unknown"])
def test_what_is_wrong(api, members, why):
    answer = tried(api, **members)
    assert answer.status == 400 and why in answer.json["detail"], answer.body


def wait_for_greeting(api):
    """A client that waits for a step which never comes."""
    before = api.sink.connections
    body = json.dumps({"address": "ann@remote.example"})
    client = socket.create_connection((api.host, api.port), timeout=30)
    client.sendall(f"POST /v1/try HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.tokens['operator']}\r\n"
                   f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    assert client.recv(12) == b"HTTP/1.1 200"
    wait_until(lambda: api.sink.connections > before, 20, "it to connect")
    return client


def test_a_client_that_goes_ends_it(mta, api):
    api.sink.at("connect", silence)
    wait_for_greeting(api).close()
    wait_until(lambda: not api.sink.open, 10, "the connection to be closed, long before the time limit for a greeting")


def test_it_does_not_delay_a_stop(mta, api):
    api.sink.at("connect", silence)
    client = wait_for_greeting(api)
    before = time.monotonic()
    mta.stop()
    assert time.monotonic() - before < 10
    client.close()
