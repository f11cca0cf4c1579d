"""The content of mail over HTTP: for a scope of its own, if the configuration allows it at all, and whole or not."""
import http.client
import socket

import pytest

from harness.http_api import Api
from harness.watch import wait_until

HEADER = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\n"
SMALL = HEADER + b"Thank you.\r\n"
LARGE = HEADER + b"".join(b"%010d\r\n" % n for n in range(800_000))  # 9.6 MB


@pytest.fixture
def api(mta, block):
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "content": True}
    made = Api(mta)
    mta.start()
    made.allow("reader", "--scope", "read:content,submit,read,operate,remove")
    made.wait_until_ready()
    return made


def paused(mta, api, content):
    mta.command("pause", "everything")
    return api.submit(content, sender="shop@test.example", to="other@test.example").json["id"]


@pytest.mark.parametrize("content", [SMALL, LARGE, HEADER, SMALL + b"\xff\xfe\x80\r\n"], ids=["small", "large", "empty", "bytes"])
def test_it_is_what_the_queue_has(mta, api, content):
    queue_id = paused(mta, api, content)
    answer = api.request("GET", f"/v1/messages/{queue_id}/content")
    assert (answer.status, answer.type) == (200, "message/rfc822")
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-store"
    assert answer.body.endswith(content.partition(b"\r\n\r\n")[2]) and b"Subject: order 4711\r\n" in answer.body
    if answer.body.isascii():
        assert answer.body.replace(b"\r\n", b"\n").decode() == mta.command("message", "cat", queue_id).stdout
    head = api.exchange("HEAD", f"/v1/messages/{queue_id}/content")
    assert head.status == 200 and head.body == b""


def test_failed_mail_that_is_kept(mta, remote, block):
    sink = remote()
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["history"] = {"keep_failed": "3d"}
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "content": True}
    api = Api(mta)
    mta.start()
    api.allow("reader", "--scope", "read:content,submit,read")
    api.wait_until_ready()
    queue_id = api.submit(SMALL, sender="shop@test.example", to="nobody@remote.example").json["id"]
    wait_until(lambda: (mta.spool / "failed" / queue_id).exists(), 20, "it to be kept")
    assert api.request("GET", f"/v1/messages/{queue_id}/content").body.endswith(b"\r\n\r\nThank you.\r\n")


def test_what_is_not_there_or_not_allowed(mta, api):
    queue_id = paused(mta, api, SMALL)
    viewer = api.allow("viewer", "--scope", "read")
    assert api.request("GET", f"/v1/messages/{queue_id}/content", token=viewer).status == 403
    assert api.request("GET", "/v1/messages/0123456789ABCD/content").status == 404
    assert api.request("GET", "/v1/messages/x/content").status == 400
    mta.config["http"]["content"] = False
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: api.request("GET", f"/v1/messages/{queue_id}/content").status == 403, 15, "the new configuration")
    refused = api.request("GET", f"/v1/messages/{queue_id}/content")
    assert refused.json["code"] == "not-permitted" and "http.content" in refused.json["detail"]


def test_damage_is_found_before_the_first_byte(mta, api):
    queue_id = paused(mta, api, LARGE)
    path = next((mta.spool / "messages").rglob(queue_id), None) or next((mta.spool / "incoming").rglob(queue_id))
    with path.open("r+b") as file:
        file.seek(-100_000, 2)
        file.write(b"X")
    answer = api.request("GET", f"/v1/messages/{queue_id}/content")
    assert answer.status == 500 and answer.json["code"] == "failed" and "checksum" in answer.json["detail"]
    mta.command("message", "remove", queue_id, "--permanently")


def slow_reader(api, queue_id):
    """A client that reads the beginning, and nothing more for now."""
    client = socket.create_connection((api.host, api.port), timeout=30)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    client.sendall(f"GET /v1/messages/{queue_id}/content HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.tokens['reader']}\r\n\r\n".encode())
    answer = http.client.HTTPResponse(client)
    answer.begin()
    assert answer.status == 200 and answer.read(1000)
    return client, answer


def memory(pid):
    return int((open(f"/proc/{pid}/status").read().partition("VmRSS:")[2]).split()[0]) * 1024


def test_clients_that_read_slowly_cost_a_piece_each(mta, api):
    queue_id = paused(mta, api, LARGE)
    api.request("GET", f"/v1/messages/{queue_id}/content")
    [pid], [queue] = mta.pids("http"), mta.pids("queue-manager")
    before, queue_before = memory(pid), memory(queue)
    readers = [slow_reader(api, queue_id) for _ in range(20)]
    assert memory(pid) - before < 40 << 20 and memory(queue) - queue_before < 20 << 20
    rest = readers[0][1].read()
    assert LARGE.endswith(rest[-1_000_000:]) and len(rest) > 9_000_000
    for client, answer in readers:
        answer.close()
        client.close()


def test_a_message_that_goes_meanwhile_ends_the_connection(mta, api):
    """The client sees that something is missing."""
    queue_id = paused(mta, api, LARGE)
    client, answer = slow_reader(api, queue_id)
    mta.command("message", "remove", queue_id, "--permanently")
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        answer.read()
    client.close()
    assert api.get("/readyz")[0] == 200
