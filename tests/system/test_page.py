"""The pages of the http process without a browser and without JavaScript: sessions, forms, and hostile mail."""
import os

import pytest

from harness.http_api import Api
from harness.page import Browser
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"


@pytest.fixture
def api(mta, remote):
    """The API, and a server for remote.example."""
    made = Api(mta)
    made.sink = remote()
    mta.route("remote.example", made.sink)
    mta.start()
    made.allow("boss", "--scope", "read,submit,operate,remove,suppress")
    made.wait_until_ready()
    return made


@pytest.fixture
def browser(api):
    made = Browser(api)
    made.log_in(api.tokens["boss"])
    return made


# ---- sessions

def test_pages_need_a_session_and_lead_back(api):
    browser = Browser(api)
    page = browser.get("/?x=1")
    assert "Log in" in page.text and "token boss" not in page.text
    page = browser.send("Log in", token=api.tokens["boss"])
    assert "token boss" in page.text and "Mail is accepted" in page.text
    stranger = Browser(api)
    assert stranger.request("GET", "/messages?q=all").headers["Location"] == "/login?next=%2Fmessages%3Fq%3Dall"


@pytest.mark.parametrize("there", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_the_login_leads_nowhere_else(api, there):
    browser = Browser(api)
    answer = browser.request("POST", "/login", {"token": api.tokens["boss"], "next": there})
    assert answer.status == 303 and answer.headers["Location"] == "/"


def test_the_cookie(api):
    browser = Browser(api)
    plain = browser.request("POST", "/login", {"token": api.tokens["boss"]}).headers["Set-Cookie"]
    assert plain.startswith("postrider=") and plain.endswith("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")
    assert api.tokens["boss"] not in plain
    behind_proxy = browser.request("POST", "/login", {"token": api.tokens["boss"]},
                                   {"Origin": f"https://{api.host}:{api.port}"}).headers["Set-Cookie"]
    assert behind_proxy.startswith("__Host-postrider=") and behind_proxy.endswith("; SameSite=Strict; Secure")


def test_a_session_ends_with_its_logout_and_with_its_token(mta, api, browser):
    other = Browser(api)
    other.log_in(api.allow("guest", "--scope", "read"))
    kept = dict(browser.cookies)
    assert browser.send("Log out").text.startswith("Log in")
    assert not browser.cookies
    browser.cookies = kept
    assert browser.request("GET", "/").status == 303, "the server has forgotten it, too"
    assert other.request("GET", "/").status == 200
    mta.command("token", "remove", "guest")
    wait_until(lambda: other.request("GET", "/").status == 303, 10, "the token to be gone")
    assert other.request("GET", "/v1/status", headers={"X-Postrider-Page": "1"}).status == 401


def test_a_wrong_token_is_a_guess(mta, api):
    browser = Browser(api)
    browser.get("/login")
    page = browser.send("Log in", status=401, token="prt_guess")
    assert "The token is not valid here." in page.text
    assert not browser.cookies
    assert mta.logged(r"unknown\[127\.\S+\]: HTTP token authentication failed: unknown token")


@pytest.mark.needs("own network")
def test_guesses_at_the_login_lock_the_network_out(mta, network, block):
    network.add("192.0.2.66", "192.0.2.200", "203.0.113.5")
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"], "failures_per_network": 2}
    api = Api(mta)
    mta.start()
    right = api.allow("boss", "--scope", "read")
    guesser = Browser(api, source="192.0.2.66")
    for token in ("prt_guess", ""):
        assert guesser.request("POST", "/login", {"token": token}).status == 401
    assert Browser(api, source="192.0.2.200").log_in(right, status=429).text.count("Too many invalid tokens came from this network")
    assert api.request("GET", "/v1/status", token=right, source="192.0.2.66").status == 429, "by both ways together"
    assert Browser(api, source="203.0.113.5").log_in(right).text.count("token boss")


def test_on_the_socket_the_user_needs_no_token(mta, api):
    browser = Browser(api, socket=mta.spool / "run/http.sock")
    user = f"uid {os.getuid()}"
    assert f"You have come through the socket as {user}" in browser.get("/").text
    page = browser.send(f"Continue as {user}")
    assert f"user with id {os.getuid()}" in page.text and "Mail is accepted" in page.text
    elsewhere = Browser(api)
    elsewhere.cookies = dict(browser.cookies)
    assert elsewhere.request("GET", "/").status == 303, "the session is the user's, and only there"
    browser.get("/places/pause?scope=everything")
    browser.send("Pause", why="by socket")
    assert [pause["reason"] for pause in api.json("/v1/pauses")["pauses"]] == ["by socket"]
    assert "Continue as" not in Browser(api).get("/").text
    assert Browser(api).request("POST", "/login", {"token": ""}).status == 401


def test_scopes_decide_what_is_there(api):
    browser = Browser(api)
    browser.log_in(api.allow("mailer", "--scope", "submit"), status=403)
    assert browser.answer.status == 403 and 'does not have the scope "read"' in browser.page.text


# ---- requests that others forge

def test_forms_of_others_change_nothing(mta, api, browser):
    order = {"scope": "everything", "name": "", "why": "x"}
    right = {"form": browser.form_token()}
    for fields, headers in ((order, {}), (order | {"form": "x"}, {}), (order | right, {"Origin": None, "Sec-Fetch-Site": None}),
                            (order | right, {"Origin": "http://evil.example"}), (order | right, {"Sec-Fetch-Site": "cross-site"}),
                            (order | right, {"Sec-Fetch-Site": "same-site", "Origin": None})):
        answer = browser.request("POST", "/places/pause", fields, headers)
        assert answer.status == 403, (fields, headers)
    assert browser.request("POST", "/places/pause", order | right, cookie=False).headers["Location"] == "/login"
    stranger = Browser(api)
    stranger.log_in(api.tokens["boss"])
    assert stranger.request("POST", "/places/pause", order | right).status == 403, "of another session"
    assert api.json("/v1/pauses")["pauses"] == []
    assert browser.request("POST", "/places/pause", order | right).status == 303
    assert [pause["by"] for pause in api.json("/v1/pauses")["pauses"]] == ["token boss"]


def test_the_cookie_does_not_open_the_api_by_itself(browser):
    assert browser.request("GET", "/v1/status").status == 401
    field = {"X-Postrider-Page": "1"}
    assert browser.request("GET", "/v1/status", headers=field).status == 200
    assert browser.request("GET", "/v1/status", headers=field | {"Sec-Fetch-Site": "cross-site"}).status == 401
    assert browser.request("GET", "/v1/status", headers=field, cookie=False).status == 401
    assert browser.request("OPTIONS", "/v1/status", headers=field).status == 405, "no preflight"


def test_answers_are_not_shared(api, browser):
    for path, status in (("/", 200), ("/nothing", 404), ("/login", 200), ("/v1/status", 401)):
        answer = browser.request("GET", path)
        assert answer.status == status and "Access-Control-Allow-Origin" not in answer.headers
    assert 'There is no "/nothing".' in browser.get("/nothing", status=404).text
    assert api.request("GET", "/nothing", token=None).json["code"] == "not-found", "programs get an object"


# ---- parts of every page

def test_style_and_script_are_kept_by_browsers(api, browser):
    for tag, attributes in browser.page.elements:
        if tag not in ("link", "script"):
            continue
        path = attributes.get("href") or attributes["src"]
        answer = browser.request("GET", path, cookie=False)
        assert answer.status == 200 and "immutable" in answer.headers["Cache-Control"], path
        kind = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[path.partition("?")[0].rpartition(".")[2]]
        assert answer.headers.get_content_type() == kind and answer.headers["X-Content-Type-Options"] == "nosniff"
        again = browser.request("GET", path, headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status == 304 and again.body == ""
        assert browser.request("GET", path.partition("?")[0]).headers["Cache-Control"] == "no-cache"
    assert api.exchange("GET", "/assets/page.txt", token=None).status == 404


def test_the_state_of_the_mail_system_is_a_page(mta, api, browser):
    mta.command("pause", "all", "--reason", "<b>maintenance</b>")
    api.submit(MESSAGE, sender="shop@test.example", to="other@test.example")
    wait_until(lambda: api.json("/v1/status")["messages"] == 1, 10, "the message")
    page = browser.get("/")
    for text in ("Mail is accepted", "Mail is not delivered", "Queued messages 1", "<b>maintenance</b>", "GET /v1/status"):
        assert text in page.text, text
    browser.follow("Resume")
    browser.send("Resume")
    assert "Mail is delivered" in browser.get("/").text
    mta.wait_mailbox(1, user="other")


# ---- messages

HOSTILE = ("<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'-alert(1)-'", "&lt;b&gt;", "{{7*7}}")


@pytest.fixture
def held(mta, api):
    """Two messages that wait."""
    mta.command("pause", "all")
    ids = [api.submit(MESSAGE.replace(b"order 4711", subject), sender="shop@test.example", to=to).json["id"]
           for subject, to in ((b"first", "other@test.example"), (b"second", "someone@test.example"))]
    for id in ids:
        wait_until(lambda: api.json(f"/v1/messages/{id}")["state"] == "paused", 10, "it to wait")
        wait_until(lambda: api.exchange("GET", f"/v1/messages/{id}/events").status == 200, 10, "the journal to have it")
    return ids


def test_one_search_finds_queued_and_past_mail(mta, api, browser, held):
    gone = api.submit(MESSAGE, sender="past@test.example", to="other@test.example").json["id"]
    api.request("DELETE", f"/v1/messages/{gone}")
    page = browser.get("/messages")
    assert set(held) <= set(page.links) and gone not in page.links
    page = browser.send("Search", q="other@test.example")
    assert held[0] in page.links and held[1] not in page.links
    page = browser.send("Search", q="past@test.example")
    wait_until(lambda: gone in browser.get("/messages?q=past@test.example").links, 20, "the history to have it")
    page = browser.send("Search", q='subject="second" state=paused')
    assert held[1] in page.links and held[0] not in page.links
    assert page.form("Search").fields["q"] == 'subject="second" state=paused'
    page = browser.send("Search", q="colour=red")
    assert '"colour' in page.text or "colour" in page.text
    assert "No message in the queue" in browser.send("Search", q="nobody@test.example").text


def test_a_long_list_has_parts(mta, api, browser):
    mta.command("pause", "all")
    sent = [api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"] for _ in range(53)]
    page = browser.get("/messages")
    first = set(sent) & set(page.links)
    assert len(first) == 50
    page = browser.follow("Next")
    assert set(sent) & set(page.links) == set(sent) - first and "Next" not in page.links
    assert first <= set(browser.follow("First").links)


def test_a_preview_changes_nothing_and_its_messages_are_those_that_are_changed(mta, api, browser, held):
    browser.get("/messages?q=recipient%3D*@test.example")
    page = browser.send("Preview", op="hold")
    assert "Selected 2 messages" in page.text and "Would be changed 2" in page.text
    assert api.json("/v1/messages?filter=state%3Dheld")["messages"] == []
    later = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    page = browser.send("Hold", why="look at them")
    assert "Changed 2" in page.text
    assert {m["id"] for m in api.json("/v1/messages?filter=state%3Dheld")["messages"]} == set(held)
    assert mta.logged(r"control: http token boss hold .*look at them")
    assert api.json(f"/v1/messages/{later}")["state"] == "paused"


def test_a_message_is_held_released_and_removed(mta, api, browser, held):
    page = browser.get(f"/messages/{held[0]}")
    for text in ("first", "shop@test.example", "other@test.example", "token:boss", "message.accepted", f"GET /v1/messages/{held[0]}"):
        assert text in page.text, text
    browser.follow("Hold")
    page = browser.send("Hold", why="<i>why</i>")
    assert "<i>why</i>" in page.text and "State held" in page.text and "Hold" not in page.links
    browser.follow("Release")
    assert "Release" not in browser.send("Release").links
    page = browser.follow("What each recipient waits for")
    assert "It waits for: pause" in page.text and "Gates in their order" in page.text
    browser.get(f"/messages/{held[0]}")
    browser.follow("Remove")
    page = browser.send("Remove", why="wrong list")
    assert held[0] not in page.links and held[1] in page.links
    wait_until(lambda: "message.removed" in browser.get(f"/messages/{held[0]}").text, 20, "the journal to have it")
    assert "Remove" not in browser.page.links
    assert "There is no such message." in browser.get("/messages/0123456789ABCD", status=404).text
    assert browser.get(f"/messages/{held[1]}/explode", status=404)


def test_what_a_token_may_not_do_is_not_offered(api, held):
    browser = Browser(api)
    browser.log_in(api.allow("guest", "--scope", "read"))
    page = browser.get("/messages?q=all")
    assert held[0] in page.links and not any("Preview" in form.buttons for form in page.forms)
    assert not {"Hold", "Remove"} & set(browser.get(f"/messages/{held[0]}").links)
    assert "Resume" not in browser.get("/").links and "Pause" not in browser.page.links
    assert browser.request("GET", "/places/pause?scope=everything").status == 403
    token = browser.get(f"/messages/{held[0]}/hold").form("Hold").fields["form"]
    answer = browser.request("POST", f"/messages/{held[0]}/remove", {"form": token})
    assert answer.status == 403 and "does not have the scope" in answer.body
    operator = Browser(api)
    operator.log_in(api.allow("operator", "--scope", "read,operate"))
    page = operator.get(f"/messages/{held[0]}")
    assert "Hold" in page.links and "Remove" not in page.links
    page = operator.get("/messages?q=all")
    assert page.form("Preview").choices["op"] == ["force", "hold", "release", "requeue"]
    assert 'does not have the scope "remove"' in operator.send("Preview", status=403, op="remove").text


def test_hostile_mail_is_text_everywhere(mta, api, browser):
    api.sink.at("rcpt", lambda session, argument: "451 4.7.1 " + HOSTILE[0] + HOSTILE[1] + HOSTILE[2])
    for text in HOSTILE:
        subject = f"Subject: {text}\r\n".encode()
        sent = api.submit(MESSAGE.replace(b"Subject: order 4711\r\n", subject), sender='"<b>x"@test.example',
                          to='"<script>alert(2)</script>"@remote.example')
        assert sent.status == 202, sent.body
        id = sent.json["id"]
        wait_until(lambda: "451 4.7.1" in browser.get(f"/messages/{id}").text, 20, lambda: browser.page.text)
        for path in (f"/messages/{id}", "/messages?q=all", f"/messages/{id}/explain", f"/messages/{id}/remove", "/", "/links", "/events"):
            page = browser.get(path)
            assert not [a for tag, a in page.elements if tag == "img" or (tag == "script" and not a["src"].startswith("/assets/"))]
        assert text in browser.get(f"/messages/{id}").text
        assert HOSTILE[0] in browser.page.text and "<script>alert(2)</script>" in browser.page.text
    for name in (HOSTILE[0], "..%2F..", "%22%3E"):
        assert browser.request("GET", "/links/" + name.replace("<", "%3C").replace(">", "%3E").replace("/", "%2F")).status == 404
    page = browser.get("/messages?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert page.form("Search").fields["q"] == '"><script>alert(1)</script>'


# ---- links, suppressions and events

def test_a_link_is_paused_and_resumed(mta, api, browser):
    api.sink.at("rcpt", lambda session, argument: "451 4.3.0 Come again")
    api.submit(MESSAGE, sender="shop@test.example", to="ann@remote.example")
    wait_until(lambda: "451 4.3.0 Come again" in browser.get("/links").text, 20, lambda: browser.page.text)
    [name] = [text for text, where in browser.page.links.items() if where.startswith("/links/")]
    assert "451 4.3.0 Come again" in browser.get("/").text
    page = browser.follow(name)
    assert "remote.example" in page.text and f"GET /v1/links/{name}" in page.text
    browser.follow("Pause")
    page = browser.send("Pause", why="they asked")
    assert page.text.count("paused") and api.json(f"/v1/links/{name}")["paused"] is True
    browser.follow("Resume")
    assert "Pause" in browser.send("Resume").links
    browser.follow("Retry now")
    browser.send("Retry now")
    browser.follow("Its messages")
    assert "ann@remote.example" in browser.page.text


def test_the_suppression_list(api, browser):
    browser.get("/suppressions")
    browser.send("Suppress", recipient="gone@remote.example", reason="<b>complained</b>")
    assert "<b>complained</b>" in browser.page.text and "token boss" in browser.page.text
    browser.send("Suppress", recipient="@Lost.example", sender="test.example")
    assert {e["recipient"] for e in api.json("/v1/suppressions")["suppressions"]} == {"gone@remote.example", "@lost.example"}
    assert "lost.example" not in browser.send("Search", q="gone@remote.example").text
    browser.follow("Allow again")
    browser.send("Allow mail again")
    assert [e["recipient"] for e in api.json("/v1/suppressions")["suppressions"]] == ["@lost.example"]
    assert "a b" in browser.send("Suppress", status=400, recipient="a b").text
    browser.get("/suppressions?q=colour%3Dred")
    assert "colour" in browser.page.text


def test_entries_for_one_lane_or_pool(api, browser):
    """Each is shown as what it is, and the one that is removed is the one that was chosen."""
    def entries():
        return {(e["recipient"], e["pool"], e["lane"]) for e in api.json("/v1/suppressions")["suppressions"]}
    browser.get("/suppressions")
    browser.send("Suppress", recipient="gone@remote.example")
    browser.send("Suppress", recipient="gone@remote.example", lane="bulk")
    browser.send("Suppress", recipient="other@remote.example", pool="news")
    assert entries() == {("gone@remote.example", "", ""), ("gone@remote.example", "", "bulk"), ("other@remote.example", "news", "")}
    assert "lane bulk" in browser.page.text and "pool news" in browser.page.text
    browser.send("Search", q="lane=bulk")
    browser.follow("Allow again")
    assert "lane bulk" in browser.page.text
    browser.send("Allow mail again")
    assert entries() == {("gone@remote.example", "", ""), ("other@remote.example", "news", "")}
    assert "high, normal or bulk" in browser.send("Suppress", status=400, recipient="x@remote.example", lane="slow").text


def test_the_latest_events(mta, api, browser):
    sent = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    mta.wait_mailbox(1, user="other")
    wait_until(lambda: "message.finished" in browser.get("/events").text, 20, "the events")
    [events] = [attributes for tag, attributes in browser.page.elements if attributes.get("id") == "events"]
    newest = max(e["seq"] for e in api.json(f"/v1/messages/{sent}/events")["events"])
    assert int(events["data-after"]) == newest
