"""What has changed in the last hour, and the traffic by minute: in the API, and on the page Now."""
import pytest

from harness.http_api import Api
from harness.page import Browser
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>"


@pytest.fixture
def api(mta, remote):
    made = Api(mta)
    made.sink = remote()
    mta.route("remote.example", made.sink)
    mta.start()
    made.allow("boss", "--scope", "read,submit,operate,remove,suppress")
    made.wait_until_ready()
    return made


def changes(api):
    return {(each["type"], each["name"]): each for each in api.json("/v1/recent")["changes"]}


def test_what_has_changed_is_known_to_the_api_and_the_page(mta, api):
    mta.command("pause", "queue", "remote.example", "--reason", HOSTILE)
    mta.command("resume", "queue", "remote.example")
    mta.command("pause", "queue", "remote.example", "--reason", "again")
    mta.command("suppress", "add", "a@gone.example", "b@gone.example", "c@gone.example", "--reason", "gone")
    mta.command("suppress", "remove", "a@gone.example")
    mta.command("reload")
    wait_until(lambda: ("config.reloaded", "") in changes(api), 20, "the reload")
    found = changes(api)
    assert set(found) == {("started", ""), ("pause.set", "queue remote.example"), ("pause.cleared", "queue remote.example"),
                          ("suppression.added", ""), ("suppression.removed", ""), ("config.reloaded", "")}
    paused = found["pause.set", "queue remote.example"]
    assert (paused["count"], paused["who"], paused["why"]) == (2, "root", "again")
    assert (found["suppression.added", ""]["count"], found["suppression.removed", ""]["count"]) == (3, 1)
    browser = Browser(api)
    browser.log_in(api.tokens["boss"])
    page = browser.get("/")
    assert "The last hour" in page.text and "A new configuration is in force" in page.text and "Suppressed recipients" in page.text
    mta.command("pause", "everything", "--reason", HOSTILE)
    assert HOSTILE in browser.get("/").text


def test_a_link_that_fails_and_works_again(mta, api):
    api.sink.stop()
    api.submit(MESSAGE, sender="shop@test.example", to="ann@remote.example")
    wait_until(lambda: any(kind == "link.failed" for kind, _ in changes(api)), 30, "the link to fail")
    [(_, link)] = [each for each in changes(api) if each[0] == "link.failed"]
    assert "refused" in changes(api)["link.failed", link]["why"].lower()
    api.sink.start()
    mta.command("force", "link", link)
    wait_until(lambda: ("link.recovered", link) in changes(api), 30, "the link to recover")


def test_traffic_by_minute(mta, api):
    recent = api.json("/v1/recent")
    assert len(recent["in"]) == len(recent["out"]) <= 2
    for _ in range(3):
        api.submit(MESSAGE, sender="shop@test.example", to="ann@remote.example")
    wait_until(lambda: (sum(api.json("/v1/recent")["in"]), sum(api.json("/v1/recent")["out"])) == (3, 3), 30, "three to come and go")
    browser = Browser(api)
    browser.log_in(api.tokens["boss"])
    assert "svg" not in {tag for tag, _ in browser.get("/").elements} or len(recent["in"]) > 1  # a line has two points


def test_after_a_restart_the_list_begins_anew_and_says_so(mta, api):
    mta.command("pause", "everything")
    mta.stop()
    mta.start()
    api.wait_until_ready()
    assert [each["type"] for each in api.json("/v1/recent")["changes"]] == ["started"]
