"""The pages of the http process without a browser and without JavaScript: sessions, forms, and hostile mail."""
import subprocess

import pytest

from harness.http_api import Api
from harness.page import Browser
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"


@pytest.fixture
def api(mta):
    made = Api(mta)
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


def test_scopes_decide_what_is_there(api):
    browser = Browser(api)
    browser.log_in(api.allow("mailer", "--scope", "submit", valid=False))
    assert browser.answer.status == 403 and 'does not have the scope "read"' in browser.page.text


# ---- requests that others forge

def test_forms_of_others_change_nothing(mta, api, browser):
    order = {"scope": "everything", "name": "", "why": "x"}
    right = {"form": browser.page_token()}
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
    mta.command("pause", "everything", "--reason", "<b>maintenance</b>")
    api.submit(MESSAGE, sender="shop@test.example", to="other@test.example")
    wait_until(lambda: api.json("/v1/status")["messages"] == 1, 10, "the message")
    page = browser.get("/")
    for text in ("Mail is accepted", "Mail is not delivered", "Queued messages 1", "<b>maintenance</b>", "GET /v1/status"):
        assert text in page.text, text
    browser.follow("Resume")
    browser.send("Resume")
    assert "Mail is delivered" in browser.get("/").text
    mta.wait_mailbox(1, user="other")
