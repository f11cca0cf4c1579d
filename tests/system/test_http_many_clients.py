"""Clients of the API that idle, stay for long, are many, or go away: they cost what they may, and delay nobody."""
import http.client
import json
import os
import re
import socket
import time

import pytest

from harness.http_api import Api
from harness.journal import Journal
from harness.watch import wait_until
from test_http_content import memory

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"
READERS = 500


@pytest.fixture
def api(mta, block):
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"]}
    return Api(mta)


def request(api, path, method="GET"):
    """A client that has asked, and has read nothing."""
    client = socket.create_connection((api.host, api.port), timeout=30)
    client.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.tokens['shop']}\r\n\r\n".encode())
    return client


def started(mta, api):
    mta.start()
    api.allow("shop", "--scope", "read,submit")
    api.wait_until_ready()


def test_clients_that_stay_do_not_delay_a_stop(mta, api):
    started(mta, api)
    idle = [http.client.HTTPConnection(api.host, api.port, timeout=30) for _ in range(50)]
    for each in idle:
        each.request("GET", "/healthz")
        each.getresponse().read()
    followers = [request(api, "/v1/events") for _ in range(10)]
    for each in followers:
        assert each.recv(12) == b"HTTP/1.1 200"
    half = [socket.create_connection((api.host, api.port)) for _ in range(10)]
    for each in half:
        each.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: ")
    before = time.monotonic()
    mta.stop()
    assert time.monotonic() - before < 10, "http.idle is 75 s, a header may take 15 s"
    assert not mta.logged(r"http\[\d+\]: warning: stopping with work still in progress")
    for each in followers + half:
        each.close()


def test_searches_of_clients_that_have_gone_make_room(mta, api):
    """More of them than may wait; each would take a while."""
    journal = Journal(mta.spool / "history")
    with open(mta.spool / "history" / f"{1:020}.jsonl", "w") as out:
        for n in range(1, 400_001):
            out.write(f'{{"v":1,"seq":{n},"node":"{(journal.folder / "node").read_text().strip()}","time":"2026-11-20T12:00:00.000000Z",'
                      f'"type":"message.deferred","id":"0C5A{n:06}1010","recipient":"r{n}@d{n % 1000}.example","text":"try later"}}\n')
    journal.next = 400_001
    journal.publish()
    started(mta, api)
    for _ in range(60):
        request(api, "/v1/history/summary?by=domain").close()
    answer = api.request("GET", "/v1/history?filter=r77@d77.example")
    assert answer.status == 200 and [m["id"] for m in answer.json["messages"]] == ["0C5A0000771010"]


def test_those_who_ask_for_the_head_of_a_stream_do_not_follow(mta, api):
    mta.config["http"]["followers"] = 3
    started(mta, api)
    for _ in range(10):
        with request(api, "/v1/events", method="HEAD") as client:
            assert client.recv(12) == b"HTTP/1.1 200"


def test_followers_that_go_make_room_at_once(mta, api):
    """Without an event, and long before a line of the server's own."""
    mta.config["http"]["followers"] = 1
    started(mta, api)
    for _ in range(5):
        def follows():
            client = request(api, "/v1/events")
            return client if client.recv(12) == b"HTTP/1.1 200" else client.close()
        wait_until(follows, 5, "room for a follower").close()


def test_five_hundred_readers(mta, api):
    """Each of them gets everything, in order; memory and descriptors stay within their limits."""
    started(mta, api)
    [pid] = mta.pids("http")
    api.submit(MESSAGE, sender="a@test.example", to="other@test.example")
    before = memory(pid)
    readers = []
    for _ in range(READERS):
        client = request(api, "/v1/events?after=0&type=message.*")
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 200, answer.read()
        readers.append((client, answer))
    limits = re.search(r"Max open files\s+(\d+)", open(f"/proc/{pid}/limits").read())
    assert int(limits[1]) > 2 * READERS
    assert api.request("GET", "/v1/events").status == 503, "http.followers"
    sent = [api.submit(MESSAGE, sender="a@test.example", to="other@test.example").json["id"] for _ in range(20)]
    for client, answer in readers:
        finished, last = [], 0
        while len(finished) < len(sent) + 1:
            line = answer.readline()
            if not line.strip():
                continue
            event = json.loads(line)
            assert event["seq"] > last
            last = event["seq"]
            finished += [event["id"]] if event["type"] == "message.finished" else []
        assert set(sent) <= set(finished)
    grown = memory(pid) - before
    print(f"{READERS} readers: {grown / READERS / 1024:.1f} KiB each")
    assert grown < READERS * 128 * 1024
    for client, answer in readers:
        answer.close()
        client.close()
    wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) < 100, 20, "the connections to be closed")
