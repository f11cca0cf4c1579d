"""The API for other software: hooks, metrics, EmailEngine's outbox; counts of the journal, and mail that is sent later."""
import json
import time

import pytest

from harness.hooks import Endpoint, make_secret
from harness.http_api import Api
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"


@pytest.fixture
def api(mta, block):
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"]}
    return Api(mta)


def started(mta, api, scopes="read,submit,operate,remove"):
    mta.start()
    api.allow("shop", "--scope", scopes)
    api.wait_until_ready()
    return api


def send(api, to="other@test.example"):
    return api.submit(MESSAGE, sender="shop@test.example", to=to).json["id"]


# ---- hooks ----

@pytest.fixture
def hooked(mta, api, block):
    endpoint = Endpoint(block.host(20), block.port())
    make_secret(mta.folder / "secret")
    mta.config["hook.shop"] = {"url": endpoint.url + "/secret-path", "secret_file": str(mta.folder / "secret"), "retry": ["1s"]}
    started(mta, api)
    wait_until(lambda: any(each["next"] for each in api.json("/v1/hooks")["hooks"]), 20, "the hook to be read")
    yield endpoint
    endpoint.stop()


def test_hooks(mta, api, hooked):
    admin = api.allow("admin", "--scope", "admin,read")

    def command(name, what, body=None, token=admin):
        return api.request("POST", f"/v1/hooks/{name}/{what}", body, token=token)
    [shown] = api.json("/v1/hooks")["hooks"]
    assert (shown["hook"], shown["state"]) == ("shop", "delivering")
    assert "secret-path" not in shown["target"] and hooked.address in shown["target"]
    assert api.json("/v1/hooks", token=admin)["hooks"][0]["target"].endswith("/secret-path")
    tested = command("shop", "test")
    assert tested.status == 200 and tested.json["accepted"] is True and tested.json["hook"] == "shop"
    assert [each.body["type"] for each in hooked.requests].count("hook.test") == 1
    assert command("shop", "pause").status == 200
    assert api.json("/v1/hooks")["hooks"][0]["state"] == "paused"
    assert "token admin" in api.json("/v1/hooks")["hooks"][0]["reason"]
    assert command("shop", "pause").status == 409
    assert command("shop", "resume").json == {"hook": "shop"}
    sent = send(api)
    wait_until(lambda: any(e.get("id") == sent for r in hooked.requests for e in r.events), 20, "its events to be pushed")
    count = len(hooked.requests)
    assert command("shop", "replay", {"start_at": 1}).status == 200
    wait_until(lambda: any(1 in r.numbers for r in hooked.requests[count:]), 20, "the first event to come again")
    for body in ({}, {"start_at": 0}, {"start_at": "x"}, {"start_at": 1 << 40}, {"start_at": 1, "all": True}):
        assert command("shop", "replay", body).status == 400, body
    assert command("nothing", "test").status == 404
    assert command("shop", "explode").status == 404
    assert command("shop", "pause", token=api.tokens["shop"]).status == 403
    assert mta.logged(r"hook shop: paused by token admin")
    assert command("shop", "pause?why=moves+today").status == 200
    assert api.json("/v1/hooks")["hooks"][0]["reason"] == "by token admin: moves today"
    assert command("shop", "replay", {"start_at": 1, "why": "a\nb\x1b[1m" + "c" * 1000}).status == 200
    assert mta.logged(r"hook shop: continues with event 1, by token admin: a\S*b\S*\[1mc{150,}(?!c{50})")


def test_only_the_event_that_was_seen_as_the_next_one_is_skipped(mta, api, hooked):
    admin = api.allow("admin", "--scope", "admin,read")
    hooked.answer = lambda request: 500
    send(api)
    event = wait_until(lambda: api.hook()["event"], 20, "an event to wait")

    def skip(query):
        return api.request("POST", f"/v1/hooks/shop/skip?{query}", token=admin)
    for wrong in ("", "event=x", "event=0", "event=-1", f"event={1 << 63}"):
        assert skip(wrong).status == 400, wrong
    assert skip(f"event={event + 1}").status == 409
    assert api.request("POST", f"/v1/hooks/shop/skip?event={event}").status == 403
    skipped = skip(f"event={event}&why=broken")
    assert skipped.json == {"hook": "shop", "skipped": event}
    assert skip(f"event={event}").status == 409
    assert "skipped by token admin: broken" in mta.command("hook", "dead", "shop").stdout


def test_without_a_journal_there_are_no_hooks(mta, api):
    mta.config["history"] = {"enabled": False}
    started(mta, api)
    answer = api.request("GET", "/v1/hooks")
    assert answer.status == 503 and "events process is not running" in answer.json["detail"]


# ---- metrics ----

def test_metrics(mta, api, block):
    mta.config["metrics"] = {"listen": [f"{mta.address}:{block.port()}"]}
    started(mta, api)
    writer = api.allow("writer", "--scope", "submit", valid=False)
    api.wait_for_tokens(2)
    send(api)
    mta.wait_mailbox(1, user="other")
    answer = api.request("GET", "/metrics")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b'postrider_deliveries_total{transport="local",outcome="delivered"} 1\n' in answer.body
    assert b"postrider_http_lockouts_total 0\n" in answer.body
    assert api.request("GET", "/metrics", token=writer).status == 403
    assert api.request("GET", "/metrics", token=None).status == 401
    mta.expects_crashes = True
    [pid] = mta.pids("metrics")
    mta.kill("metrics")
    mta.wait_for_role("metrics", other_than=[pid])
    wait_until(lambda: api.request("GET", "/metrics").status == 200, 20, "metrics to be there again")


def test_without_metrics(mta, api):
    started(mta, api)
    answer = api.request("GET", "/metrics")
    assert answer.status == 404 and "metrics.listen" in answer.json["detail"]


# ---- EmailEngine's outbox ----

def test_the_outbox(mta, api, block):
    silent = block.host(90)  # nobody listens there
    mta.config['route."remote.example"'] = {"next_hop": f"[{silent}]:{block.port()}"}
    started(mta, api)
    assert api.json("/v1/outbox") == {"total": 0, "page": 0, "pageSize": 20, "pages": 0, "messages": []}
    failing = send(api, "ann@remote.example")
    wait_until(lambda: api.json(f"/v1/outbox/{failing}")["progress"]["status"] == "error", 20, lambda: f"a failed attempt: {api.json(f'/v1/messages/{failing}')}")
    shown = api.json(f"/v1/outbox/{failing}")
    assert "Connection refused" in shown["progress"]["error"]["message"] and shown["attempts"] == shown["attemptsMade"] + 1 and shown["nextAttempt"]
    assert shown["envelope"] == {"from": "shop@test.example", "to": ["ann@remote.example"]} and shown["subject"] == "order 4711"
    mta.command("pause", "everything")
    later = api.request("POST", "/v1/messages", {"from": "shop@test.example", "to": "other@test.example", "text": "x", "not_before": "2h"}).json["id"]
    ids = [failing, later] + [send(api) for _ in range(3)]
    assert api.json(f"/v1/outbox/{later}")["scheduled"] > api.json(f"/v1/outbox/{later}")["created"]
    pages = [api.json(f"/v1/outbox?page={n}&pageSize=2") for n in range(4)]
    assert [(p["total"], p["pages"], len(p["messages"])) for p in pages] == [(5, 3, 2), (5, 3, 2), (5, 3, 1), (5, 3, 0)]
    assert [m["queueId"] for p in pages for m in p["messages"]] == ids
    assert api.request("DELETE", f"/v1/outbox/{later}").json == {"deleted": True}
    for method in ("GET", "DELETE"):
        assert api.request(method, f"/v1/outbox/{later}").status == 404
    for query in ("page=-1", "pageSize=1000", "page=x"):
        assert api.request("GET", f"/v1/outbox?{query}").status == 400, query


# ---- the journal in numbers ----

def test_counts_of_the_journal(mta, api):
    started(mta, api)
    for to in ("other@test.example", "someone@test.example", "nobody-there@test.example"):
        send(api, to)
    wait_until(lambda: sum(g["delivered"] for g in api.json("/v1/history/summary?by=domain")["groups"]) == 2, 20, "two deliveries")
    wait_until(lambda: api.json("/v1/history/summary?by=type&filter=type%3Dmessage.failed")["groups"], 20, "a failure")
    summary = api.json("/v1/history/summary?by=submitter&filter=type%3Dmessage.accepted")
    assert {"name": "token:shop", "events": 3, "accepted": 3, "delivered": 0, "deferred": 0, "failed": 0, "left_out": 0} in summary["groups"]
    assert len(api.json("/v1/history/summary?by=type&limit=1")["groups"]) == 1
    assert api.json("/v1/history/summary?by=type&limit=1")["groups_total"] > 1
    within = api.json("/v1/history/summary?by=type&seconds=600")
    assert (within["complete"], within["counted_from"], within["damaged"]) == (True, None, 0)
    for query in ("", "?by=colour", "?by=type&limit=0", "?by=type&seconds=0", "?by=type&seconds=601", "?by=type&filter=colour%3Dred"):
        assert api.request("GET", f"/v1/history/summary{query}").status == 400, query


# ---- operations ----

def test_scheduled_mail_is_moved(mta, api):
    started(mta, api)
    sent = api.request("POST", "/v1/messages", {"from": "shop@test.example", "to": "other@test.example", "text": "x", "not_before": "2h"}).json["id"]

    def schedule(**order):
        return api.request("POST", "/v1/operations", {"op": "schedule", "ids": [sent], "why": "earlier", **order})
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
    assert schedule(at=at).json["changed"] == 1
    assert api.json(f"/v1/messages/{sent}")["recipients"][0]["next_attempt"] == at
    for wrong in ({}, {"at": "soon"}, {"at": 5}, {"at": "2099-01-01T00:00:00Z"}):
        assert schedule(**wrong).status == 400, wrong
    assert not mta.mailbox("other")
    assert schedule(at="now").json["changed"] == 1
    mta.wait_mailbox(1, user="other")


def test_the_time_of_deliver_by(mta, api):
    started(mta, api)
    mta.command("pause", "everything")
    by = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7200))
    sent = api.submit(b"X-Postrider-Deliver-By: " + by.encode() + b";N\r\n" + MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    assert api.json(f"/v1/messages/{sent}")["deliver_by"] == by
