"""Pages that count what the journal has of a time: who sent how much, and what was refused at the door."""
from datetime import datetime, timedelta, timezone

import pytest

from harness.http_api import Api
from harness.journal import Journal
from harness.page import Browser
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>"


@pytest.fixture
def past(mta):
    """The journal as it was two hours ago; the next event is of then."""
    return Journal(mta.spool / "history", start=datetime.now(timezone.utc) - timedelta(hours=2))


def opened(mta):
    """(the API, a browser)"""
    api = Api(mta)
    mta.start()
    api.allow("boss", "--scope", "read,submit")
    api.wait_until_ready()
    browser = Browser(api)
    browser.log_in(api.tokens["boss"])
    return api, browser


def names(summary):
    return {each["name"]: each for each in summary["groups"]}


# ---- senders

def test_senders_by_submitter_pool_and_lane(mta, past):
    for n in range(18):
        past.message(f"user{n}@remote.example", submitter="sasl:shop", lane="bulk", pool="news")
    for n in range(6):
        past.message(f"gone{n}@remote.example", submitter="sasl:shop", outcome="failed", deferrals=1, lane="bulk", pool="news")
    past.message("ann@remote.example", "bob@remote.example", submitter=HOSTILE)
    past.publish()
    api, browser = opened(mta)
    page = browser.get("/senders?since=1d")
    assert page.table("By submitter")["sasl:shop"] == ["24", "18", "6", "6", "25.0 %"]
    assert page.table("By submitter")[HOSTILE] == ["1", "2", "0", "0", "0.0 %"]
    assert page.table("By pool") == {"news": ["24", "18", "6", "6", "25.0 %"], "none": ["1", "2", "0", "0", "0.0 %"]}
    assert page.table("By lane") == {"bulk": ["24", "18", "6", "6", "25.0 %"], "normal": ["1", "2", "0", "0", "0.0 %"]}
    assert page.table("Failed recipients by class") == {"recipient": ["6"]}
    assert "mark-bad" in page.markup and "is counted" not in page.text
    assert not [a for tag, a in page.elements if tag == "img" or (tag == "script" and not a["src"].startswith("/assets/"))]
    counted = api.json("/v1/senders")
    assert counted["complete"] is True and counted["counted_from"] is None
    assert names(counted["pools"])["news"] == {"name": "news", "events": 54, "accepted": 24, "delivered": 18, "deferred": 6, "failed": 6, "left_out": 0}
    assert "No mail." in browser.follow("Last hour").text
    assert browser.page.links["Last 7 days"] == "/senders?since=7d" and "GET /v1/senders?since=1h" in browser.page.text
    browser.get("/senders")
    browser.follow("sasl:shop")
    assert browser.page.form("Search").fields["q"] == 'submitter="sasl:shop"'
    assert "user17@remote.example" in browser.page.text
    browser.get("/senders")
    browser.follow("news")
    assert browser.page.form("Search").fields["q"] == 'pool="news"' and "user17@remote.example" in browser.page.text


def test_every_event_of_a_message_has_its_lane_and_pool(mta):
    mta.config["pool.news"] = {"addresses": [mta.address]}
    api, browser = opened(mta)
    sent = api.request("POST", "/v1/messages", {"from": "shop@test.example", "to": "other@test.example", "raw": MESSAGE.decode(), "lane": "bulk",
                                                "pool": "news"}).json["id"]
    normal = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    for id in (sent, normal):
        wait_until(lambda: "message.finished" in str(api.exchange("GET", f"/v1/messages/{id}/events").json), 20, "the journal to have it")
    events = api.json(f"/v1/messages/{sent}/events")["events"]
    assert {"message.accepted", "message.delivered", "message.finished"} <= {e["type"] for e in events}
    assert all((e["lane"], e["pool"]) == ("bulk", "news") for e in events), events
    assert not any({"lane", "pool"} & set(e) for e in api.json(f"/v1/messages/{normal}/events")["events"])
    assert browser.get("/senders?since=1h").table("By lane") == {"bulk": ["1", "1", "0", "0", "0.0 %"], "normal": ["1", "1", "0", "0", "0.0 %"]}
    assert sent in mta.command("history", "lane=bulk", "type=delivered").stdout
    assert normal not in mta.command("history", "lane=bulk").stdout


def test_more_senders_than_are_shown(mta, past):
    for n in range(60):
        past.message("ann@remote.example", submitter=f"sasl:user{n}", finish=False)
    past.publish()
    api, browser = opened(mta)
    page = browser.get("/senders")
    assert len(page.table("By submitter")) == 50 and "The 50 with the most events are shown, of 60." in page.text
    assert len(api.json("/v1/senders?limit=60")["submitters"]["groups"]) == 60


# ---- the door

def test_the_door(mta, past):
    for n in range(3):
        past.write("session.rejected", client={"address": "192.0.2.7"}, rule=f"access {HOSTILE}", stage="rcpt", code=554)
    past.write("session.rejected", client={"address": "192.0.2.7"}, stage="rcpt", code=550, sampled=1200)
    for address in ("192.0.2.7", "192.0.2.200", "2001:db8:1:2:3::4"):
        past.write("auth.failed", client={"address": address}, auth={"user": HOSTILE}, text=HOSTILE)
    past.write("limit.hit", client={"address": "192.0.2.7"}, limit="smtpd.messages_per_client", code=450)
    past.write("milter.rejected", client={"address": "192.0.2.7"}, rule="clamav", code=550)
    past.write("journal.gap", count=34, why="clients caused more events than history.door_events_per_second")
    past.publish()
    api, browser = opened(mta)
    page = browser.get("/door")
    assert page.table("Refusals by rule") == {f"access {HOSTILE}": ["3"], "none: relaying, or unknown recipients": ["1"]}
    assert page.table("Authentication failures by network") == {"192.0.2.0/24": ["2"], "2001:db8:1:2::/64": ["1"]}
    assert page.table("Limits that were hit") == {"smtpd.messages_per_client": ["1"]}
    assert page.table("Refusals by filters") == {"clamav": ["1"]}
    assert "1,234 events were not recorded" in page.text and "1,200 more of these were not recorded." in page.text
    assert not [a for tag, a in page.elements if tag == "img" or (tag == "script" and not a["src"].startswith("/assets/"))]
    assert api.json("/v1/door")["left_out"] == 1234
    quiet = browser.follow("Last hour")
    assert quiet.text.count("None.") == 4 and "All events of this time were recorded." in quiet.text
    assert "session.rejected" in browser.follow("The latest refusals").text


def test_what_the_door_records_is_what_it_counts(mta):
    api, browser = opened(mta)
    with mta.client() as c:
        c.say("MAIL FROM:<ann@test.example>")
        assert c.say("RCPT TO:<nobody@test.example>").startswith("550 5.1.1")
    wait_until(lambda: names(api.json("/v1/door?since=1h")["types"]).get("session.rejected"), 20, "the journal to have it")
    assert browser.get("/door?since=1h").table("Refusals by rule") == {"none: relaying, or unknown recipients": ["1"]}


# ---- both

@pytest.mark.parametrize("query", ["since=x", "limit=0", "limit=1001", "seconds=0", "seconds=61", "seconds=x"])
def test_what_cannot_be_counted(mta, query):
    api, browser = opened(mta)
    for path in ("/v1/senders", "/v1/door"):
        assert api.request("GET", f"{path}?{query}").status == 400
    assert browser.get(f"/door?{query}") and browser.get(f"/senders?{query}"), "the page has its own"


def test_a_count_that_takes_too_long_says_how_far_it_has_come(mta, past):
    """More than a second of events on any machine that runs this."""
    past.rotate()
    for n in range(40):
        past.message("ann@remote.example")
    lines = past.file.read_text().splitlines()
    with open(past.file, "a") as out:
        number = past.next
        for _ in range(4000):
            for line in lines:
                out.write(f'{{"v":1,"seq":{number},{line.partition(",")[2].partition(",")[2]}\n')
                number += 1
    past.next = number
    past.publish()
    api, browser = opened(mta)
    counted = api.json("/v1/senders?since=1d&seconds=1")
    assert counted["complete"] is False and counted["counted_from"] and counted["submitters"]["groups"]
    page = browser.get("/senders?since=1d")
    if "is counted" in page.text:
        assert "Count for a minute" in page.links


def test_without_a_journal(mta):
    mta.config["history"] = {"enabled": False}
    api, browser = opened(mta)
    for path in ("/senders", "/door"):
        page = browser.get(path, status=api.exchange("GET", f"/v1{path}").status)
        assert page.text
