"""Pages about the system itself rather than its mail: hooks, trials of deliveries, settings."""
import http.client
import time
from urllib.parse import urlencode

import pytest

from harness.certificates import make_certificate
from harness.hooks import Endpoint, make_secret
from harness.http_api import Api
from harness.page import Browser
from harness.sink import silence
from harness.watch import wait_until

MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: order 4711\r\n\r\nThank you.\r\n"
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>"


@pytest.fixture
def api(mta, remote):
    made = Api(mta)
    made.sink = remote()
    mta.route("remote.example", made.sink)
    return made


def started(mta, api, scopes="read,submit,operate,admin"):
    mta.start()
    api.allow("boss", "--scope", scopes)
    api.wait_until_ready()
    browser = Browser(api)
    browser.log_in(api.tokens["boss"])
    return browser


def is_harmless(page):
    return not [a for tag, a in page.elements if tag == "img" or (tag == "script" and not a["src"].startswith("/assets/"))]


# ---- hooks

@pytest.fixture
def hooked(mta, api, block):
    """(a browser, the server of hook "shop")"""
    endpoint = Endpoint(block.host(20), block.port())
    make_secret(mta.folder / "secret")
    mta.config["hook.shop"] = {"url": endpoint.url + "/secret-path", "secret_file": str(mta.folder / "secret"), "retry": ["1s"]}
    browser = started(mta, api)
    wait_until(lambda: any(each["next"] for each in api.json("/v1/hooks")["hooks"]), 20, "the hook to be read")
    yield browser, endpoint
    endpoint.stop()


def shown(api):
    return api.hook()


def test_a_hook_is_tested_paused_and_resumed(mta, api, hooked):
    browser, endpoint = hooked
    page = browser.get("/hooks")
    assert "delivering" in page.text and "GET /v1/hooks" in page.text
    page = browser.follow("shop")
    assert "secret-path" in page.text and "State delivering" in page.text
    assert "Resume" not in page.links and "Skip an event" not in page.links
    page = browser.follow("Send a test")
    assert "hook.test" in page.text and not any(r.body.get("type") == "hook.test" for r in endpoint.requests)
    page = browser.send("Send a test")
    assert "Result accepted" in page.text
    assert [r.body["type"] for r in endpoint.requests if "type" in r.body].count("hook.test") == 1
    browser.follow("The hook")
    browser.follow("Pause")
    page = browser.send("Pause", why=HOSTILE)
    assert "State paused" in page.text and f"by token boss: {HOSTILE}" in page.text and is_harmless(page)
    assert HOSTILE in browser.get("/hooks").text
    assert browser.request("POST", "/hooks/shop/pause", {"form": browser.form_token()}).status == 409
    browser.get("/hooks/shop")
    browser.follow("Resume")
    assert "State delivering" in browser.send("Resume", why="it is over").text
    assert mta.logged("hook shop: resumed by token boss: it is over")


def test_a_failing_hook_says_since_when_and_what_it_is_told(api, hooked):
    browser, endpoint = hooked
    endpoint.answer = lambda request: (503, {}, HOSTILE)
    sent = api.submit(MESSAGE, sender="shop@test.example", to="other@test.example").json["id"]
    wait_until(lambda: shown(api)["state"] == "failing", 20, lambda: str(shown(api)))
    page = browser.get("/hooks")
    assert "failing" in page.text and "503" in page.text and is_harmless(page)
    page = browser.get("/hooks/shop")
    for text in ("it began", "Failures in a row", "Sent next event", "503"):
        assert text in page.text, text
    event = shown(api)["event"]
    browser.follow("Skip an event")
    page = browser.send("Skip an event", why="never again")
    assert shown(api)["next"] > event and "postrider hook dead shop" in page.text
    assert browser.request("POST", "/hooks/shop/skip", {"form": browser.form_token(), "event": str(event)}).status == 409, "it is gone already"
    browser.get("/hooks/shop")
    browser.follow("Replay")
    for wrong in ("0", "x", "-1", str(1 << 70)):
        assert "start_at" in browser.send("Replay", status=400, start_at=wrong).text
        browser.get("/hooks/shop/replay")
    endpoint.answer = lambda request: 200
    browser.send("Replay", start_at=str(event))
    wait_until(lambda: any(e.get("id") == sent and e.get("seq") == event for r in endpoint.requests for e in r.events), 20, "the event to come again")


def test_what_a_token_may_not_do_with_hooks_is_not_offered(api, hooked):
    guest = Browser(api)
    guest.log_in(api.allow("guest", "--scope", "read,operate"))
    page = guest.get("/hooks/shop")
    assert "secret-path" not in page.text and not {"Pause", "Replay", "Send a test"} & set(page.links)
    assert guest.request("GET", "/hooks/shop/pause").status == 403
    assert guest.request("POST", "/hooks/shop/pause", {"form": guest.form_token()}).status == 403
    boss, _ = hooked
    for path in ("/hooks/nothing", "/hooks/shop/explode", "/hooks/%3Cscript%3E/test"):
        assert boss.get(path, status=404)


def test_without_a_hook(mta, api):
    browser = started(mta, api)
    assert "No hook is configured" in browser.get("/hooks").text


# ---- trials

@pytest.fixture
def trier(mta, api):
    browser = started(mta, api)

    def there():
        browser.get("/try")
        return "no delivery agent" not in browser.see(browser.request("POST", "/try", browser.page.form("Try").fields | {"address": "ann@remote.example"})).text
    wait_until(there, 20, "a delivery agent to be connected")
    browser.get("/try")
    return browser


def test_a_trial_shows_its_steps_and_the_rule(api, trier):
    page = trier.send("Try", address="ann@remote.example")
    for text in ('Rule that decides the route [route."remote.example"]', "Result ok", "the recipient would be accepted; nothing was sent",
                 "categorize", "connect", "rcpt", "POST /v1/try"):
        assert text in page.text, text
    assert "server says" not in page.text and not api.sink.messages
    form = page.form("Try")
    assert form.fields["address"] == "ann@remote.example"
    page = trier.send("Try", dialogue="with", hosts="every", **{"from": "shop@test.example"})
    assert "we say" in page.text and "MAIL FROM:<shop@test.example>" in page.text and "server says" in page.text
    [chosen] = [a["value"] for tag, a in page.elements if tag == "option" and "selected" in a and a["value"] in ("with", "without")]
    assert chosen == "with"


def test_what_a_trial_is_told_is_text(api, trier):
    api.sink.at("rcpt", lambda session, argument: "550 5.1.1 " + HOSTILE, times=1)
    page = trier.send("Try", address='"<b>x"@remote.example')
    assert "Result fails" in page.text and HOSTILE in page.text and '"<b>x"@remote.example' in page.text and is_harmless(page)
    api.sink.at("rcpt", lambda session, argument: "451 4.7.1 Come again")
    page = trier.send("Try", address="ann@remote.example")
    assert "Result would wait" in page.text, page.text
    for wrong, why in (("nobody", "is not an address"), ("", "is not an address"), ("a b@c", "is not an address")):
        page = trier.send("Try", status=400, address=wrong)
        assert why in page.text and page.form("Try").fields["address"] == wrong, page.text
    assert "is not a host" in trier.send("Try", status=400, address="ann@remote.example", host="a b").text
    page = trier.get("/try?address=%22%3E%3Cscript%3E")
    assert page.form("Try").fields["address"] == '"><script>' and is_harmless(page)


def test_a_trial_ends_when_the_browser_goes_and_with_the_daemon(mta, api, trier):
    api.sink.at("connect", silence)
    fields = trier.page.form("Try").fields | {"address": "ann@remote.example"}

    def begin():
        before = api.sink.connections
        connection = http.client.HTTPConnection(api.host, api.port, timeout=30)
        connection.request("POST", "/try", urlencode(fields), {
            "Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Origin": trier.origin, "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": "; ".join(f"{name}={value}" for name, value in trier.cookies.items())})
        wait_until(lambda: api.sink.connections > before, 20, "it to connect")
        return connection
    begin().close()
    wait_until(lambda: not api.sink.open, 10, "the connection to be closed, long before the time limit for a greeting")
    connection = begin()
    before = time.monotonic()
    mta.stop()
    assert time.monotonic() - before < 10
    connection.close()


def test_a_trial_needs_its_scope(mta, api):
    browser = started(mta, api, "read")
    assert "Try" not in browser.page.links
    assert browser.get("/try", status=403) and browser.request("POST", "/try", {"address": "ann@remote.example"}).status == 403


# ---- settings

@pytest.fixture
def certified(mta, block):
    """Certificates that expire at different times, and a hook with secrets."""
    names = {"far": 200, "near": 20, "now": 3}
    chains = []
    for name, days in names.items():
        certificate, key = make_certificate(mta.folder, f"{name}.test.example", days=days)
        chains.append((certificate, key))
    mta.config["tls"] = {"certificates": [str(c) for c, _ in chains], "keys": [str(k) for _, k in chains]}
    make_secret(mta.folder / "secret")
    mta.config["hook.shop"] = {"url": f"http://{block.host(90)}:{block.port()}/secret-path", "secret_file": str(mta.folder / "secret"),
                               "headers": ["X-Secret: much"], "filter": [f"text={HOSTILE}"]}
    mta.config["queue"] = {"connections_mx": 7}
    return mta


def line_of(mta, start):
    [number] = [n for n, line in enumerate(mta.file.read_text().splitlines(), 1) if line.startswith(start)]
    return f"{mta.file}:{number}"


def test_settings_have_their_origin(certified, api):
    mta = certified
    browser = started(mta, api, "read")
    settings = {(s["section"], s["key"]): s for s in api.json("/v1/settings")["settings"]}
    assert settings["queue", "connections_mx"] == {"section": "queue", "key": "connections_mx", "value": "7", "hidden": False,
                                                   "origin": line_of(mta, "connections_mx"), "line": int(line_of(mta, "connections_mx").rpartition(":")[2])}
    assert (settings["queue", "link_share"]["value"], settings["queue", "link_share"]["origin"], settings["queue", "link_share"]["line"]) == ("5", "default", None)
    assert settings["hook.shop", "filter"]["value"].startswith('["text=<script>') and settings["hook.shop", "headers"]["hidden"] is True
    assert settings["hook.shop", "url"]["value"] is None and ("hook.shop", "retry") not in settings
    assert 'route."remote.example"' in {section for section, _ in settings}
    assert len(api.json("/v1/settings?section=queue&set=true")["settings"]) == 1
    page = browser.get("/settings")
    shown = page.table("Settings in force")
    assert shown["queue.connections_mx"] == ["7", line_of(mta, "connections_mx")] and "queue.link_share" not in shown
    assert "secret-path" not in page.text and "X-Secret" not in page.text and HOSTILE.replace('"', '\\"') in page.text and is_harmless(page)
    assert shown["hook.shop.url"][0] == "hidden: it may be a secret"
    page = browser.send("Show", section="queue")
    assert page.table("Settings in force")["queue.link_share"] == ["5", "default"] and "hook.shop.url" not in page.text
    page = browser.get("/settings?shown=all")
    assert len(page.table("Settings in force")) == 100
    assert len(browser.follow("Next").table("Settings in force")) == 100 and "First" in browser.page.links
    assert "The file sets nothing here" in browser.get("/settings?section=%22%3E%3Cb%3E").text


def test_an_administrator_sees_what_may_be_a_secret(certified, api):
    browser = started(certified, api, "read,admin")
    shown = browser.get("/settings").table("Settings in force")
    assert "/secret-path" in shown["hook.shop.url"][0] and shown["hook.shop.headers"][0] == '["X-Secret: much"]'


def test_certificates_and_their_expiry(certified, api):
    mta = certified
    browser = started(mta, api, "read")
    shown = browser.get("/settings").table("Certificates and their chains")
    verdicts = {name: next(cells[1] for subject, cells in shown.items() if f"{name}.test.example" in subject) for name in ("far", "near", "now")}
    assert verdicts["far"].endswith("good") and verdicts["near"].endswith("renew it soon") and verdicts["now"].endswith("renew it now"), verdicts
    assert {"mark-good", "mark-near", "mark-bad"} <= {a.get("class") for tag, a in browser.page.elements if tag == "strong"}
    assert {c["use"] for c in api.json("/v1/settings")["certificates"]} == {"server"}
    assert "PRIVATE KEY" not in str(api.json("/v1/settings"))


def test_settings_are_those_that_were_applied_last(mta, api):
    mta.config["queue"] = {"connections_mx": 7}
    browser = started(mta, api, "read")
    mta.config["queue"] = {"connections_mx": 8}
    mta.write_config()
    assert browser.get("/settings").table("Settings in force")["queue.connections_mx"][0] == "7"
    mta.command("reload")
    wait_until(lambda: browser.get("/settings").table("Settings in force")["queue.connections_mx"][0] == "8", 20, "the reload")
    assert "No certificate is configured" in browser.page.text


def test_a_link_has_its_limits_in_force(mta, api):
    api.sink.at("rcpt", lambda session, argument: "451 4.3.0 Come again")
    mta.config['route."remote.example"'] |= {"connections": 3, "messages_per_second": 50}
    mta.config["queue"] = {"messages_per_connection": 11}
    browser = started(mta, api)
    api.submit(MESSAGE, sender="shop@test.example", to="ann@remote.example")
    wait_until(lambda: "451 4.3.0" in browser.get("/links").text, 20, lambda: browser.page.text)
    [name] = [text for text, where in browser.page.links.items() if where.startswith("/links/")]
    shown = browser.follow(name).table("Limits of this link")
    assert shown["Connections"] == ["3", 'route."remote.example".connections', line_of(mta, "connections = 3")]
    assert shown["Messages per second"] == ["50", 'route."remote.example".messages_per_second', line_of(mta, "messages_per_second")]
    assert shown["Messages over one connection"] == ["11", "queue.messages_per_connection", line_of(mta, "messages_per_connection")]
    assert shown["Connections of all links"][1:] == ["queue.connections_total", "default"]
    browser.follow("queue.messages_per_connection")
    assert browser.page.table("Settings in force")["queue.link_share"] == ["5", "default"]
