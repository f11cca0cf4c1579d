"""The API over HTTP: submission, questions, removal, and what is refused."""
import http.client
import json
import socket
import subprocess

import pytest

from harness.http_api import Api
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"


@pytest.fixture
def api(mta):
    made = Api(mta)
    mta.start()
    made.allow("shop", "--scope", "read,submit,remove")
    made.wait_until_ready()
    return made


def test_probes_need_no_token(api):
    assert api.get("/healthz", token=None) == (200, b"healthy\n")
    assert api.get("/readyz", token=None) == (200, b"ready\n")


def test_a_message_is_durable_before_it_is_answered(mta, api):
    answer = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example")
    assert answer.status == 202 and answer.json["duplicate"] is False
    assert answer.json["recipients"] == [{"address": "other@test.example", "state": "queued", "code": 250, "status": "2.1.5", "text": "Accepted"}]
    [delivered] = mta.wait_mailbox(1, user="other")
    assert "Subject: order 4711" in delivered and answer.json["message_id"] in delivered
    assert "with HTTP id" in delivered
    assert mta.logged(rf"{answer.json['id']}: submitter=token:shop client=127\.")


def test_the_state_of_the_mail_system(mta, api):
    status = api.json("/v1/status")
    assert status["accepting"] is True and status["messages"] == 0 and status["oldest"]["arrival"] is None


def test_a_queued_message_is_listed_shown_and_removed(mta, api):
    mta.command("pause", "everything")
    first = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    second = api.submit(MESSAGE, sender="shop@test.example", to=["someone@test.example", "not an address"]).json
    assert [(r["address"], r["state"], r["code"]) for r in second["recipients"]] == [
        ("not an address", "refused", 553), ("someone@test.example", "queued", 250)]
    page = api.json("/v1/messages?limit=1")
    assert [m["id"] for m in page["messages"]] == [first] and page["next"] == first
    page = api.json(f"/v1/messages?limit=1&after={first}")
    assert [m["id"] for m in page["messages"]] == [second["id"]] and page["next"] is None
    assert [m["id"] for m in api.json("/v1/messages?filter=recipient%3Dsomeone@*")["messages"]] == [second["id"]]
    one = api.json(f"/v1/messages/{first}")
    assert one["submitter"] == "token:shop" and one["arrival"].endswith("Z") and one["recipients"][0]["address"] == "other@test.example"
    [why] = api.json(f"/v1/messages/{first}/explain")["recipients"]
    assert why["blocked_by"] == "pause"
    assert api.request("DELETE", f"/v1/messages/{first}?why=changed+my+mind").status == 200
    assert api.request("DELETE", f"/v1/messages/{first}").status == 404
    mta.command("resume", "everything")
    mta.wait_mailbox(1, user="someone")
    assert not mta.mailbox("other")
    assert mta.logged(r"control: http token shop remove .*changed my mind")


def test_json_with_the_whole_message(mta, api):
    answer = api.request("POST", "/v1/messages", {"from": "shop@test.example", "to": ["other@test.example"], "raw": MESSAGE.decode(),
                                                  "meta": {"order": "4711"}, "not_before": "2h"})
    assert answer.status == 202, answer.body
    shown = api.json(f"/v1/messages/{answer.json['id']}")
    assert shown["recipients"][0]["state"] == "scheduled"


def test_a_key_that_comes_twice_makes_one_message(mta, api):
    def send(content=MESSAGE):
        return api.submit(content, sender="shop@test.example", to="other@test.example", key="order-4711")
    first, again = send(), send()
    assert (first.status, again.status) == (202, 200)
    assert again.json["id"] == first.json["id"] and again.json["duplicate"] is True
    assert len(mta.wait_mailbox(1, user="other")) == 1


def test_suppressed_recipients_are_refused_at_once(mta, api):
    mta.command("suppress", "add", "other@test.example", "--reason", "asked us to stop")
    wait_until(lambda: api.submit(MESSAGE, sender="a@test.example", to="other@test.example").status == 422, 10, "the list to be known")
    answer = api.submit(MESSAGE, sender="a@test.example", to=["other@test.example", "someone@test.example"])
    assert answer.status == 202
    states = {r["address"]: r["state"] for r in answer.json["recipients"]}
    assert states == {"other@test.example": "suppressed", "someone@test.example": "queued"}
    mta.wait_mailbox(1, user="someone")
    refused = api.submit(MESSAGE, sender="a@test.example", to="other@test.example")
    assert refused.json["code"] == "no-recipients" and refused.json["recipients"][0]["state"] == "suppressed"


def test_what_became_of_a_message(mta, api):
    sent = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    mta.wait_mailbox(1, user="other")
    wait_until(lambda: api.json(f"/v1/messages/{sent}").get("finished"), 20, "the message to be finished")
    assert api.json(f"/v1/messages/{sent}")["recipients"][0]["outcome"] == "delivered"
    events = api.json(f"/v1/messages/{sent}/events")["events"]
    assert [e["type"] for e in events] == ["message.accepted", "message.delivered", "message.finished"]
    assert events[0]["submitter"] == "token:shop"
    [found] = api.json("/v1/history?filter=other@test.example&events=true")["messages"]
    assert found["id"] == sent and found["events"] == events
    lines = api.request("GET", f"/v1/messages/{sent}/events", headers={"Accept": "application/x-ndjson"})
    assert lines.type == "application/x-ndjson" and [json.loads(line) for line in lines.body.splitlines()] == events
    assert api.json("/v1/history?filter=nobody@test.example")["messages"] == []
    assert api.request("GET", "/v1/history").status == 400
    assert api.request("GET", "/v1/history?filter=colour%3Dred").status == 400
    assert api.request("GET", "/v1/messages/0123456789ABCD/events").status == 404


def test_operations(mta, api):
    operator = api.allow("operator", "--scope", "operate")
    cleaner = api.allow("cleaner", "--scope", "remove")

    def operate(token=operator, **order):
        return api.request("POST", "/v1/operations", order, token=token)
    assert operate(op="pause", scope="everything", why="maintenance").status == 200
    assert [p["by"] for p in api.json("/v1/pauses")["pauses"]] == ["token operator"]
    assert operate(op="pause", scope="everything").status == 409
    first = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    dry = operate(op="hold", filter=["recipient=other@*"], dry_run=True).json
    assert (dry["would_change"], dry["changed"]) == (1, 0) and dry["selection"].startswith("sel_")
    second = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    assert operate(token=cleaner, op="remove", selection=dry["selection"]).status == 404
    done = operate(op="hold", selection=dry["selection"], why="look at it").json
    assert done["changed"] == 1
    assert {m["id"] for m in api.json("/v1/messages?filter=state%3Dheld")["messages"]} == {first}
    assert operate(op="hold", selection=dry["selection"]).status == 404
    assert operate(op="remove", ids=[first]).status == 403
    assert operate(token=cleaner, op="hold", ids=[first]).status == 403
    assert operate(token=cleaner, op="remove", ids=[first, second], why="wrong list").json["changed"] == 2
    assert operate(op="hold", filter=["recipient=other@*"], dry_run=True).status == 404
    for wrong in ({"op": "explode"}, {"op": "hold"}, {"op": "hold", "ids": [first], "filter": ["all"]}, {"op": "pause", "ids": [first]},
                  {"op": "hold", "scope": "everything"}, {"op": "hold", "ids": "x", "colour": "red"}):
        assert operate(**wrong).status == 400, wrong
    assert operate(op="resume", scope="everything").status == 200


def test_suppressions(mta, api):
    writer = api.allow("writer", "--scope", "suppress,read")
    assert api.request("POST", "/v1/suppressions", {"recipient": "gone@remote.example", "reason": "complained", "expires": "2099-01-01T00:00:00Z"},
                       token=writer).json["added"] == 1
    entry = api.json("/v1/suppressions/gone@remote.example")
    assert (entry["reason"], entry["expires"], entry["added_by"]) == ("complained", "2099-01-01T00:00:00Z", "token writer")
    assert [e["recipient"] for e in api.json("/v1/suppressions")["suppressions"]] == ["gone@remote.example"]
    assert api.request("DELETE", "/v1/suppressions/gone@remote.example").status == 403
    assert api.request("DELETE", "/v1/suppressions/gone@remote.example", token=writer).json["removed"] == 1
    assert api.request("DELETE", "/v1/suppressions/gone@remote.example", token=writer).status == 404
    assert api.request("GET", "/v1/suppressions/gone@remote.example").status == 404
    for wrong in ({}, {"recipient": "a b"}, {"recipient": "a@b.example", "expires": "tomorrow"}):
        assert api.request("POST", "/v1/suppressions", wrong, token=writer).status == 400, wrong


@pytest.mark.parametrize("query, why", [
    ("to=other@test.example", "from: is missing"),
    ("from=a@test.example", "at least one recipient"),
    ("from=nobody&to=other@test.example", '"nobody" is not a valid address'),
    ("from=a@test.example&to=other@test.example&colour=red", 'no parameter "colour"'),
    ("from=a@test.example&to=other@test.example&lane=fast", "expected high, normal, bulk"),
    ("from=a@test.example&to=other@test.example&not_before=yesterday", "expected a time"),
], ids=["from", "to", "bare", "unknown", "lane", "time"])
def test_what_is_wrong_is_said(api, query, why):
    answer = api.request("POST", f"/v1/messages?{query}", MESSAGE, type="message/rfc822")
    assert answer.status == 400 and why in answer.json["detail"], answer.body
    assert answer.type == "application/problem+json" and answer.json["title"] == "Bad Request"


@pytest.mark.parametrize("body, why", [
    (b"[1]", "must be a JSON object"), (b"{", "not valid JSON"), (b'{"a":' * 40 + b"1" + b"}" * 40, "nested deeper"),
    (b'{"from":"a@test.example","to":[1],"raw":"x"}', '"to": expected a text, or a list'),
    (b'{"from":"a@test.example","to":"other@test.example","raw":"x","rwa":1}', '"rwa": expected no such member'),
    (b'{"from":"a@test.example","to":"other@test.example"}', '"raw": expected the message'),
], ids=["list", "cut", "deep", "numbers", "unknown", "no-content"])
def test_json_that_is_wrong(api, body, why):
    answer = api.request("POST", "/v1/messages", body, type="application/json")
    assert answer.status == 400 and why in answer.json["detail"], answer.body


def test_tokens(mta, api):
    assert api.request("GET", "/v1/status", token=None).status == 401
    denied = api.request("GET", "/v1/status", token="prt_guess")
    assert denied.status == 401 and denied.headers["WWW-Authenticate"] == 'Bearer realm="postrider"'
    mta.wait_log(r"warning: unknown\[127\.0\.\d+\.\d+\]: HTTP token authentication failed: unknown token")
    reader = api.allow("reader", "--scope", "read")
    refused = api.submit(MESSAGE, sender="a@test.example", to="other@test.example", token=reader)
    assert refused.status == 403 and '"submit"' in refused.json["detail"]
    bound = api.allow("bound", "--scope", "submit", "--sender-domain", "shop.example", "--rate", "100/s", "--submitter", "shop")
    refused = api.submit(MESSAGE, sender="a@test.example", to="other@test.example", token=bound)
    assert refused.status == 403 and refused.json["code"] == "sender-not-allowed"
    assert api.submit(MESSAGE, sender="a@Shop.example", to="other@test.example", token=bound).status == 202
    far = api.allow("far", "--scope", "read", "--network", "192.0.2.0/24", "--expires", "90d", valid=False)
    assert api.request("GET", "/v1/status", token=far).status == 401
    shown = mta.command("token", "show", "bound").stdout
    assert "sender domains: shop.example" in shown and "rate: 100 requests per second" in shown
    names = [json.loads(line)["name"] for line in mta.command("token", "list", "--json").stdout.splitlines()]
    assert names == ["shop", "reader", "bound", "far"]
    text = (mta.spool / "http" / "tokens").read_text()
    assert reader not in text and (mta.spool / "http" / "tokens").stat().st_mode & 0o777 == 0o640
    mta.command("token", "remove", "reader")
    wait_until(lambda: api.request("GET", "/v1/status", token=reader).status == 401, 20, "the token to be gone")


def test_the_socket_is_for_operators_without_a_token(mta, api):
    done = subprocess.run(["curl", "-sS", "--unix-socket", "http.sock", "http://localhost/v1/status"],
                          cwd=mta.spool / "run", capture_output=True, text=True)  # the path may be too long for curl
    assert json.loads(done.stdout)["accepting"] is True, done.stderr


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/nothing", 404), ("GET", "/v1/messages/../status", 400), ("GET", "/v1/%2e%2e/status", 400), ("GET", "/v1//status", 400),
    ("GET", "/v1/status%00", 400), ("GET", "/v1/status/", 400), ("PUT", "/v1/status", 405), ("GET", "/v1/nothing", 404),
    ("GET", "/v1/messages/%zz", 400), ("GET", "/v1/messages?limit=0", 400), ("GET", "/v1/messages?filter=colour%3Dred", 400),
    ("GET", "/v1/messages/0123456789ABCD", 404), ("POST", "/v1/messages", 415),
], ids=lambda value: str(value).replace("%", "_").replace("/", "_"))
def test_paths_and_methods(api, method, path, status):
    assert api.request(method, path).status == status


def test_only_known_hosts_and_no_other_sites(api):
    assert api.request("GET", "/v1/status", headers={"Host": "evil.example"}).status == 421
    assert api.request("GET", "/v1/status", headers={"Host": "mta.test.example:9587"}).status == 200
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        refused = api.submit(MESSAGE, sender="a@test.example", to="other@test.example", headers=headers)
        assert refused.status == 403 and refused.json["code"] == "cross-site"


HEAD = "POST /v1/messages?from=a@test.example&to=other@test.example HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: message/rfc822\r\n"


@pytest.mark.parametrize("framing", [
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n", "Content-Length: 0x5\r\n",
    "Content-Length: -1\r\n", "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding : chunked\r\n", "Content-Length : 5\r\n",
    "Transfer-Encoding:\x0bchunked\r\n", "Content-Length: 99999999999999999999\r\n", "Host: other\r\nContent-Length: 5\r\n",
], ids=lambda framing: str(len(framing)))
def test_smuggling(mta, api, framing):
    """An error, and the connection is closed: what follows is not read as a request."""
    smuggled = "0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = api.raw(HEAD.format(token=api.tokens["shop"]) + framing + "\r\n" + smuggled)
    assert b"healthy" not in said and b"HTTP/1.1 2" not in said
    assert said == b"" or said.split()[1] in (b"400", b"413"), said
    assert not mta.mailbox("other")


def test_a_client_that_goes_in_the_middle_leaves_nothing(mta, api):
    with socket.create_connection((api.host, api.port)) as s:
        s.sendall((HEAD.format(token=api.tokens["shop"]) + f"Content-Length: {len(MESSAGE)}\r\n\r\n").encode() + MESSAGE[:-3])
    assert api.submit(MESSAGE, sender="a@test.example", to="someone@test.example").status == 202
    mta.wait_mailbox(1, user="someone")
    assert not mta.mailbox("other") and not mta.logged("to=<other@test.example>")


@pytest.mark.parametrize("part", ["header", "body"])
def test_a_client_that_drips_is_disconnected(mta, api, part):
    """A byte each second keeps no connection: a header has 15 seconds, a body 20 and its size at 16 KiB a second."""
    head = HEAD.format(token=api.tokens["shop"]) + "Content-Length: 1000\r\n"
    with socket.create_connection((api.host, api.port)) as s:
        s.sendall((head + ("" if part == "header" else "\r\n")).encode())
        s.settimeout(1)
        for _ in range(40):
            try:
                if s.recv(1000) == b"":
                    break
            except TimeoutError:
                try:
                    s.sendall(b"x")
                except (BrokenPipeError, ConnectionResetError):
                    break
            except ConnectionResetError:
                break
        else:
            pytest.fail("still connected")
    assert api.submit(MESSAGE, sender="a@test.example", to="someone@test.example").status == 202
    mta.wait_mailbox(1, user="someone")
    assert not mta.mailbox("other")


def test_many_requests_on_one_connection(mta, api):
    connection = http.client.HTTPConnection(api.host, api.port)
    for n in range(200):
        connection.request("GET", "/v1/status", headers={"Authorization": f"Bearer {api.tokens['shop']}"})
        answer = connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["accepting"]
    connection.close()


def test_what_is_too_large(mta, block):
    mta.config["submit"]["message_size"] = "64KiB"
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "memory": "1MiB"}
    api = Api(mta)
    mta.start()
    api.allow("shop", "--scope", "submit")
    assert api.submit(MESSAGE + b"x" * 100_000, sender="a@test.example", to="other@test.example").status == 413
    chunked = api.raw(HEAD.format(token=api.tokens["shop"]) + "Transfer-Encoding: chunked\r\n\r\n" +
                      ("8000\r\n" + "x" * 0x8000 + "\r\n") * 3 + "0\r\n\r\n")
    assert chunked.split()[1] == b"413"
    assert b" 414 " in api.raw("GET /" + "x" * 9000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert api.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"X-{n}: {'y' * 1000}\r\n" for n in range(40)) + "\r\n").split()[1] in (b"431", b"413")


def test_a_queue_manager_that_dies_meanwhile(mta, api):
    mta.expects_crashes = True
    [pid] = mta.pids("queue-manager")
    mta.kill("queue-manager")
    mta.wait_for_role("queue-manager", other_than=[pid])
    wait_until(lambda: api.get("/healthz", token=None)[0] == 200, 30, "the queue-manager to answer again")
    assert api.submit(MESSAGE, sender="a@test.example", to="other@test.example").status == 202
    mta.wait_mailbox(1, user="other")
