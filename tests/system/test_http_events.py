"""Following the journal over HTTP."""
import http.client
import json
import socket

import pytest

from harness.http_api import Api
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"


@pytest.fixture
def api(mta, block):
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "followers": 30}
    made = Api(mta)
    mta.start()
    made.allow("shop", "--scope", "read,submit")
    made.wait_until_ready()
    return made


class Events:
    """A client that follows, line by line."""

    def __init__(self, api, query="", **headers):
        self.connection = http.client.HTTPConnection(api.host, api.port, timeout=30)
        self.connection.request("GET", f"/v1/events{query}", headers={"Authorization": f"Bearer {api.tokens['shop']}"} | headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def line(self):
        return self.answer.readline().decode()

    def event(self):
        while not (line := self.line()).strip():
            pass
        return json.loads(line)

    def close(self):
        self.answer.close()
        self.connection.close()


def send(api, mta, count):
    ids = [api.submit(MESSAGE, sender="a@test.example", to="other@test.example").json["id"] for _ in range(count)]
    return ids


def test_from_the_beginning_and_on(mta, api):
    before = send(api, mta, 5)
    mta.wait_mailbox(5, user="other")
    events = Events(api, "?after=0&type=message.*")
    numbers, finished = [], []
    while len(finished) < 5:
        event = events.event()
        numbers.append(event["seq"])
        finished += [event["id"]] if event["type"] == "message.finished" else []
    assert sorted(finished) == sorted(before)
    more = send(api, mta, 5)
    while len(finished) < 10:
        event = events.event()
        numbers.append(event["seq"])
        finished += [event["id"]] if event["type"] == "message.finished" else []
    assert sorted(finished[5:]) == sorted(more) and numbers == sorted(set(numbers))
    events.close()


def test_server_sent_events_continue_where_they_ended(mta, api):
    first = send(api, mta, 1)[0]
    events = Events(api, "?after=0&type=message.finished", Accept="text/event-stream")
    assert events.answer.headers["Content-Type"] == "text/event-stream"
    assert (events.line(), events.line()) == (":\n", "\n")
    number = int(events.line().removeprefix("id: "))
    assert events.line() == "event: message.finished\n"
    assert json.loads(events.line().removeprefix("data: "))["id"] == first and events.line() == "\n"
    events.close()
    second = send(api, mta, 1)[0]
    events = Events(api, "?type=message.finished", Accept="text/event-stream", **{"Last-Event-ID": str(number)})
    lines = [events.line() for _ in range(5)]
    assert json.loads(lines[4].removeprefix("data: "))["id"] == second
    events.close()


def test_without_a_number_only_what_is_new(mta, api):
    send(api, mta, 2)
    mta.wait_mailbox(2, user="other")
    wait_until(lambda: not mta.spool_files(), 20, "both to be finished")
    events = Events(api, "?type=message.accepted", Accept="text/event-stream")
    assert (events.line(), events.line()) == (":\n", "\n")  # it has begun, but what is next may not be known yet
    ids = []
    wait_until(lambda: ids.extend(send(api, mta, 1)) or api.json("/v1/history?filter=type%3Dmessage.accepted&limit=1")["messages"][0]["id"] in ids,
               20, "a further one to be in the journal")
    events.line(), events.line()
    assert json.loads(events.line().removeprefix("data: "))["id"] in ids
    events.close()


def test_followers_are_limited_and_those_that_go_make_room(mta, api):
    followers = [Events(api, "?after=0") for _ in range(30)]
    assert api.request("GET", "/v1/events").status == 503
    sent = send(api, mta, 1)[0]
    for each in followers:
        while (event := each.event())["type"] != "message.finished":
            pass
        assert event["id"] == sent
        each.close()

    def room():
        send(api, mta, 1)  # what is written shows that they have gone
        with socket.create_connection((api.host, api.port)) as s:
            s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.tokens['shop']}\r\n\r\n".encode())
            return b" 200 " in s.recv(100)
    wait_until(room, 30, "room for another one")


@pytest.mark.parametrize("query", ["?after=x", "?after=-1", "?after=99999999999999999999", "?" + "&".join(["type=a"] * 21)], ids=["word", "minus", "large", "many"])
def test_questions_that_are_wrong(api, query):
    assert api.request("GET", f"/v1/events{query}").status == 400


def test_a_reader_that_sleeps_is_cut(mta, api):
    """It hurts only itself: others follow on."""
    with socket.socket() as sleeper:
        sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sleeper.connect((api.host, api.port))
        sleeper.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.tokens['shop']}\r\n\r\n".encode())
        wait_until(lambda: sleeper.recv(15, socket.MSG_PEEK), 10, "the answer to begin")
        reader = Events(api, "?after=0&type=message.finished")
        many = ",".join(f"user{n}.{'x' * 100}@test.example" for n in range(500))
        sent = 0

        def connected():
            """As the server's side of the connection has it: established."""
            with open("/proc/net/tcp") as connections:
                port = f":{sleeper.getsockname()[1]:04X}"
                return any(each[2].endswith(port) and each[3] == "01" for each in map(str.split, connections))

        def cut():
            nonlocal sent
            api.request("POST", "/v1/messages", {"from": "a@test.example", "to": many.split(","), "raw": MESSAGE.decode()})
            sent += 1
            return not connected()
        assert connected()
        wait_until(cut, 60, "the connection to be cut")
        for _ in range(sent):
            assert reader.event()["type"] == "message.finished"
        reader.close()
