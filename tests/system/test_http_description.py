"""/openapi.json: every route of the API and nothing else. That answers are as it says is checked in every test that uses
harness/http_api.py; here, in a system that has something of everything to show."""
import re
from pathlib import Path

import pytest

from harness.hooks import make_secret
from harness.http_api import Api
from harness.watch import wait_until

MANUAL = Path(__file__).resolve().parents[2] / "man/postrider-http.8"
MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"
METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture
def api(mta):
    made = Api(mta)
    yield made
    mta.stop()


def documented():
    """{(method, path)} of the manual's list."""
    text = MANUAL.read_text().partition(".Ss Paths")[2].partition(".Ss ")[0]
    found = set()
    for line in re.findall(r"^\.It (.*/.*)$", text, re.M):
        method, _, paths = line.partition(" ")
        found |= {(method.lower(), path) for path in paths.split(" , ")}
    return found


def test_it_has_every_route_and_nothing_else(mta, api):
    mta.start()
    admin = api.allow("admin", "--scope", "read,read:content,submit,operate,remove,suppress,admin")
    document = api.description().document
    described = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert described == documented()
    for path in document["paths"]:
        target = re.sub(r"\{\w+\}", "x", path)
        allowed = api.exchange("PATCH", target, token=admin)  # the router itself says which methods there are
        assert allowed.status == 405, path
        assert {(method.strip().lower(), path) for method in allowed.headers["Allow"].split(",")} == \
               {each for each in described if each[1] == path}
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids)) and "getMessagesIdExplain" in ids


def test_its_scopes_are_those_that_are_needed(mta, api):
    """A token without any of them gets 403, one with each of them does not."""
    mta.config["http"]["content"] = True
    mta.start()
    scopes = ("read", "read:content", "submit", "operate", "remove", "suppress", "admin", "node")
    tokens = {scope: api.allow(scope.replace(":", "-"), "--scope", scope, valid=False) for scope in scopes}
    api.wait_for_tokens(len(scopes))
    for path, methods in api.description().document["paths"].items():
        for method, operation in methods.items():
            if path == "/v1/events":
                continue  # it does not end
            wanted = {scope for each in operation["security"] for scope in each["bearer"]}
            for scope in scopes:
                answer = api.request(method.upper(), re.sub(r"\{\w+\}", "x", path), token=tokens[scope])
                assert (answer.status == 403) == bool(wanted and scope not in wanted), (method, path, scope, answer.status)
            if wanted:
                assert api.request(method.upper(), re.sub(r"\{\w+\}", "x", path), token=None).status == 401


def test_answers_of_a_system_with_something_of_everything(mta, api):
    silent = mta.block.host(90)  # nobody listens there
    mta.config['route."remote.example"'] = {"next_hop": f"[{silent}]:{mta.block.port()}"}
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.block.port()}"]}
    mta.config["http"]["content"] = True
    make_secret(mta.folder / "secret")
    mta.config["hook.shop"] = {"url": f"http://{silent}:{mta.block.port()}/", "secret_file": str(mta.folder / "secret")}
    mta.start()
    api.allow("admin", "--scope", "read,read:content,submit,operate,remove,suppress,admin")
    api.wait_until_ready()

    def send(to, **options):
        return api.submit(MESSAGE, sender="shop@test.example", to=to, **options).json["id"]
    finished, waiting = send("other@test.example", key="order-4711"), send("ann@remote.example")
    api.request("POST", "/v1/messages", {"from": "shop@test.example", "to": "ann@remote.example", "raw": MESSAGE.decode(),
                                         "not_before": "2h", "lane": "bulk", "meta": {"order": "4711"}})
    wait_until(lambda: api.json(f"/v1/messages/{finished}").get("finished"), 20, "the message to be delivered")
    wait_until(lambda: api.json(f"/v1/messages/{waiting}")["recipients"][0]["link_failures"], 20, "a failed attempt")
    api.request("POST", "/v1/operations", {"op": "pause", "scope": "queue", "name": "paused.example", "why": "maintenance"})
    api.request("POST", "/v1/operations", {"op": "hold", "ids": [send("bob@paused.example")], "why": "look at it"})
    dry = api.request("POST", "/v1/operations", {"op": "hold", "filter": ["all"], "dry_run": True}).json
    api.request("POST", "/v1/operations", {"op": "force", "scope": "everything"})
    api.request("POST", "/v1/suppressions", {"recipient": "gone@remote.example", "expires": "2099-01-01T00:00:00Z"})
    assert dry["selection"]
    [link] = [each["link"] for each in api.json("/v1/links")["links"] if "remote" in each["link"] or silent in each["link"]]
    [queue] = [each["queue"] for each in api.json("/v1/queues")["queues"] if each["queue"] == "remote.example"]
    values = {"/v1/links/{name}": link, "/v1/queues/{name}": queue, "/v1/suppressions/{address}": "gone@remote.example",
              "/v1/messages/{id}/events": finished}
    for path in api.description().document["paths"]:
        if path in ("/v1/events", "/v1/operations", "/v1/transfer", "/v1/try") or path.startswith("/v1/hooks/"):
            continue
        target = re.sub(r"\{\w+\}", lambda _: values.get(path, waiting).replace("[", "%5B").replace("]", "%5D"), path)
        target += {"/v1/history": "?filter=type%3Dmessage.accepted&events=true", "/v1/history/summary": "?by=type"}.get(path, "")
        answer = api.request("GET", target)
        assert answer.status == 200, (path, answer.body)
        if "application/x-ndjson" in api.description().operation("GET", target)[1]["responses"]["200"]["content"]:
            assert api.request("GET", target, headers={"Accept": "application/x-ndjson"}).type == "application/x-ndjson"
    assert api.json("/v1/pauses")["pauses"] and api.json("/v1/suppressions")["suppressions"]
    wait_until(lambda: api.hook()["next"] > 0, 20, "the hook to be read")
    for what, body in (("pause", None), ("resume", None), ("replay", {"start_at": 1}), ("test", None)):
        assert api.request("POST", f"/v1/hooks/shop/{what}", body).status == 200, what
    waiting_event = wait_until(lambda: api.hook()["event"], 20, "an event to wait for the hook")
    assert api.request("POST", f"/v1/hooks/shop/skip?event={waiting_event}").json["skipped"] == waiting_event
    assert api.request("POST", "/v1/try", {"address": "ann@remote.example"}).type == "application/x-ndjson"
    assert api.request("DELETE", f"/v1/outbox/{send('ann@remote.example')}").status == 200
    api.request("DELETE", f"/v1/messages/{waiting}")
    assert api.request("DELETE", "/v1/suppressions/gone@remote.example").status == 200
    seen = {(path, method) for path, method, status in api.description().seen if status < 300}
    everything = {(path, method) for path, methods in api.description().document["paths"].items() for method in methods}
    # The one does not end: test_http_events.py reads it. The other needs another node: test_transfer.py.
    assert everything - seen == {("/v1/events", "get"), ("/v1/transfer", "post")}
