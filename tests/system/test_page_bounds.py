"""The API and the pages with much to show: each answer holds a part of it and leads to the next, and costs what it shows. Cost is
measured as the processor's time in a process: the machine does other things, too."""
import json
import os
from pathlib import Path

import pytest

from harness.http_api import Api
from harness.page import Browser
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"
MANY, MANY_DOMAINS = 10_000, 2000


@pytest.fixture
def api(mta, remote):
    made = Api(mta)
    mta.config["submit"]["recipients"] = MANY
    mta.route("*", remote())
    mta.start()
    made.allow("boss", "--scope", "read,submit,operate,remove,suppress")
    made.wait_until_ready()
    mta.command("pause", "all")
    return made


@pytest.fixture
def browser(api):
    made = Browser(api)
    made.log_in(api.tokens["boss"])
    return made


def used(mta, *daemons):
    """Seconds of the processor, of these processes together."""
    total = 0
    for daemon in daemons:
        for pid in mta.pids(daemon):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def submit_to(api, recipients):
    order = {"from": "shop@test.example", "to": recipients, "raw": MESSAGE.decode()}
    sent = wait_until(lambda: api.request("POST", "/v1/messages", order).json.get("id"), 20)
    wait_until(lambda: api.exchange("GET", f"/v1/messages/{sent}").json["state"] == "paused", 60, "it to wait")
    return sent


@pytest.fixture(params=["one domain"])
def large(request, api):
    """A message with many recipients: in one queue, or each in its own."""
    if request.param == "one domain":
        return submit_to(api, [f"user{n}@remote.example" for n in range(MANY)])
    return submit_to(api, [f"user{n}@d{n}.example" for n in range(MANY_DOMAINS)])


def pages_of(api, path, name):
    """Everything that a list has, a page at a time."""
    found, after = [], ""
    while True:
        answer = api.json(f"{path}{'&' if '?' in path else '?'}limit=1000{after}")
        assert len(answer[name]) <= 1000
        found += answer[name]
        if not answer["next"]:
            return found
        after = f"&after={answer['next']}"


@pytest.mark.parametrize("large", ["one domain", "many domains"], indirect=True)
def test_a_message_with_many_recipients_is_explained_in_parts(mta, api, browser, large):
    before = used(mta, "queue-manager")
    first = api.json(f"/v1/messages/{large}/explain?limit=20")
    assert used(mta, "queue-manager") - before < 0.15
    assert len(first["recipients"]) == 20 and first["recipients"][0]["address"].startswith("user0@")
    assert api.json(f"/v1/messages/{large}/explain?limit=20&after={first['next']}")["recipients"][0]["address"].startswith("user20@")
    assert len(api.json(f"/v1/messages/{large}/explain")["recipients"]) == 100
    everyone = pages_of(api, f"/v1/messages/{large}/explain", "recipients")
    assert [each["address"].partition("@")[0] for each in everyone] == [f"user{n}" for n in range(len(everyone))]
    assert len(everyone) in (MANY, MANY_DOMAINS)
    for wrong in ("after=x", "after=-1", "limit=1001", "limit=0"):
        assert api.get(f"/v1/messages/{large}/explain?{wrong}")[0] == 400, wrong
    page = browser.get(f"/messages/{large}")
    page = browser.follow("What each recipient waits for")
    assert "user9@" in page.text and "user10@" not in page.text
    page = browser.follow("Next")
    assert "user10@" in page.text and "user9@" not in page.text
    said = mta.command("explain", large).stdout
    assert said.count("blocked by pause") == len(everyone)
    assert len(mta.command("explain", large, "--json").stdout.splitlines()) == len(everyone)


def test_a_message_with_many_recipients_is_shown_in_parts(mta, api, browser, large):
    before = used(mta, "queue-manager")
    first = api.json(f"/v1/messages/{large}?limit=20")
    assert used(mta, "queue-manager") - before < 0.15
    assert (len(first["recipients"]), first["recipients_total"]) == (20, MANY)
    everyone = pages_of(api, f"/v1/messages/{large}", "recipients")
    assert [each["address"].partition("@")[0] for each in everyone] == [f"user{n}" for n in range(MANY)]
    before = used(mta, "queue-manager", "http")
    page = browser.get(f"/messages/{large}")
    assert used(mta, "queue-manager", "http") - before < 0.2
    assert "10,000 Recipients" in page.text and "user99@" in page.text and "user100@" not in page.text
    assert "user100@" in browser.follow("Next").text
    shown = json.loads(mta.command("message", "show", large, "--json").stdout)
    assert (len(shown["recipients"]), shown["recipients_total"]) == (MANY, MANY)
    assert mta.command("message", "show", large).stdout.count("\nRecipient <user") == MANY


def test_lists_show_the_first_recipients_and_their_number(mta, api, browser, large):
    before = used(mta, "queue-manager", "http")
    [listed] = api.json("/v1/messages")["messages"]
    assert used(mta, "queue-manager", "http") - before < 0.15
    assert (len(listed["recipients"]), listed["recipients_total"]) == (10, MANY)
    assert "9,998 more" in browser.get("/messages").text
    [queued] = api.json("/v1/outbox")["messages"]
    assert len(queued["envelope"]["to"]) == 10
    said = mta.command("message", "list").stdout
    assert "user19@" in said and "user20@" not in said and "and 9980 more" in said
    assert len(json.loads(mta.command("message", "list", "--json").stdout)["recipients"]) == MANY
    assert mta.command("message", "list", "recipient=user9999@*", "--count").stdout == "1\n"


# ---- lists that go on

def all_pages(api, path, name, limit):
    """A list, a page at a time."""
    pages, after = [], ""
    while not pages or after:
        answer = api.json(f"{path}{'&' if '?' in path else '?'}limit={limit}{after}")
        pages.append(answer[name])
        after = f"&after={answer['next']}" if answer["next"] else ""
    return pages


def test_the_history_goes_on_where_an_answer_ended(mta, api, browser):
    mta.command("resume", "all")
    ids = []
    for n in range(45):  # of two recipients each: two events, and more
        ids.append(api.submit(MESSAGE, sender=f"n{n}@test.example", to=[f"a{n}@remote.example", f"b{n}@remote.example"]).json["id"])
    def known():
        return {each["id"] for each in api.json("/v1/history?filter=type%3Dmessage.finished&limit=1000")["messages"]}
    wait_until(lambda: known() == set(ids), 30, "all to be delivered")
    pages = all_pages(api, "/v1/history?filter=domain%3Dremote.example", "messages", 10)
    assert [len(each) for each in pages] == [10, 10, 10, 10, 5]
    shown = [each["id"] for page in pages for each in page]
    assert sorted(shown) == sorted(ids), "each once"
    assert shown == [each["id"] for each in api.json("/v1/history?filter=domain%3Dremote.example&limit=1000")["messages"]]
    for wrong in ("x", "-1", "99999999999999999999999"):
        assert api.get(f"/v1/history?filter=all&after={wrong}")[0] == 400, wrong
    page = browser.get("/messages?q=domain%3Dremote.example")
    first = {link for link in page.links if link in ids}
    second = {link for link in browser.follow("Older").links if link in ids}
    third = {link for link in browser.follow("Older").links if link in ids}
    assert (len(first), len(second), len(third)) == (20, 20, 5) and first | second | third == set(ids)
    assert "Older" not in browser.page.links and browser.follow("Newest").links.keys() >= first


def test_the_suppression_list_goes_on_where_an_answer_ended(mta, api, browser):
    entries = [f"gone{n:03}@remote.example" for n in range(250)]
    mta.command("suppress", "add", *entries, "--reason", "gone")
    api.request("POST", "/v1/suppressions", {"recipient": entries[9], "pool": "bulk"})
    pages = all_pages(api, "/v1/suppressions", "suppressions", 10)
    assert len(pages) == 26
    assert sorted((each["recipient"], each["pool"]) for page in pages for each in page) == sorted([(each, "") for each in entries] + [(entries[9], "bulk")])
    assert [len(each) for each in all_pages(api, "/v1/suppressions?filter=recipient%3Dgone1*", "suppressions", 30)] == [30, 30, 30, 10]
    for wrong in ("x", "e30", "W10", "bnVsbA", "%00", "eyJyZWNpcGllbnQiOjF9"):  # {}, [], null, a number for the recipient
        assert api.get(f"/v1/suppressions?after={wrong}")[0] == 400, wrong
    page = browser.get("/suppressions?q=kind%3Dmanual")
    assert "gone199@" not in page.text  # pool's entry makes it one later
    assert "gone249@" in browser.follow("Next").text and "gone000@" not in browser.page.text
    assert "gone000@" in browser.follow("First").text


def test_links_and_queues_are_listed_in_parts(mta, api, browser):
    """The link of all mail has the queues of all domains."""
    submit_to(api, [f"a@d{n:04}.example" for n in range(150)])
    submit_to(api, ["b@d0007.example"])
    wait_until(lambda: api.json("/v1/links?limit=1")["links"], 20, "a link")
    wait_until(lambda: len(all_pages(api, "/v1/queues", "queues", 60)) == 3, 30, "the queues")
    pages = all_pages(api, "/v1/queues", "queues", 40)
    assert [len(each) for each in pages] == [40, 40, 40, 30]
    assert pages[0][0]["queue"] == "d0007.example"
    assert [each["queue"] for page in pages for each in page][1:4] == ["d0000.example", "d0001.example", "d0002.example"]
    [[link]] = all_pages(api, "/v1/links", "links", 1)
    shown = all_pages(api, f"/v1/links/{link['link']}", "queues_of_link", 100)
    assert [len(each) for each in shown] == [100, 50]
    for path in ("/v1/links", "/v1/queues", f"/v1/links/{link['link']}"):
        for wrong in ("after=x", "limit=0", "after=WyJ4IiwieSJd", "after=WyItMSIsInkiXQ"):  # ["x","y"], ["-1","y"]
            assert api.get(f"{path}?{wrong}")[0] == 400, (path, wrong)
    assert api.get("/v1/links/nowhere.example")[0] == 404
    page = browser.get(f"/links/{link['link']}")
    assert "d0007.example" in page.text and "d0149.example" not in page.text
    assert "d0149.example" in browser.follow("Next").text
    assert len(mta.command("link", "show", link["link"], "--json").stdout.splitlines()) == 151


def test_a_search_of_a_large_queue_goes_on_where_it_ended(mta, api, browser):
    """Who gets a message stands in its file: an answer looks into a limited number of them."""
    ids = [submit_to(api, [f"n{n}@remote.example"]) for n in range(20)]
    path = "/v1/messages?effort=60&filter=recipient%3Dn1*"
    pages = all_pages(api, path, "messages", 100)
    assert [[each["id"] for each in page] for page in pages] == [[ids[1]], [ids[10], ids[11]], ids[12:18], ids[18:]]
    pages = all_pages(api, path, "messages", 1)
    assert [each["id"] for page in pages for each in page] == [ids[1], *ids[10:]]
    assert all_pages(api, "/v1/messages?effort=60&filter=recipient%3Dnobody@*", "messages", 100) == [[], [], [], []]
    for wrong in ("0", "-1", "x"):
        assert api.get(f"/v1/messages?effort={wrong}")[0] == 400
    [found] = api.json(f"/v1/messages?effort=10&filter=id%3D{ids[19]}")["messages"]
    assert found["id"] == ids[19], "an id is looked up"
    assert api.json(f"/v1/messages?filter=id%3D{ids[19]}&filter=recipient%3Dn2@*")["messages"] == []
    assert api.json("/v1/messages?filter=id%3D0C5A000186A010")["messages"] == []
