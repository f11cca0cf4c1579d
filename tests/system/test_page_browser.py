"""The pages in Chromium: narrow and wide, light and dark, by keyboard, with and without JavaScript, and with hostile mail. What a
browser reports in its console fails the test: errors, and violations of the content security policy."""
import json
import os
import subprocess
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from harness import fake_clock
from harness.certificates import make_certificate
from harness.hooks import NODE_MODULES, make_secret
from harness.http_api import Api
from harness.sink import address_in
from harness.watch import wait_until

SCENARIOS = Path(__file__).parent / "browser/scenarios.mjs"
MESSAGE = b"From: shop@test.example\r\nTo: other@test.example\r\nSubject: %b\r\n\r\nThank you.\r\n"
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>"
LONG = "a" * 60 + "@" + "b" * 60 + ".remote.example"
pytestmark = pytest.mark.needs("browser")


@pytest.fixture
def api(mta, remote):
    made = Api(mta)
    made.sink = remote()
    made.answer = lambda address: "451 4.7.1 " + HOSTILE + "x" * 200
    made.sink.at("rcpt", lambda session, argument: made.answer(address_in(argument)))
    mta.route("*", made.sink)
    make_secret(mta.folder / "secret")
    mta.config["hook.shop"] = {"url": f"http://{mta.block.host(90)}:{mta.block.port()}/" + "p" * 200, "secret_file": str(mta.folder / "secret"),
                               "filter": [f"text={HOSTILE}", "type=*"]}
    certificate, key = make_certificate(mta.folder, "mail.test.example", days=200)
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.start()
    made.allow("boss", "--scope", "read,submit,operate,remove,suppress,admin")
    made.wait_until_ready()
    return made


def run(api, scenario, talk=None, **options):
    """What the scenario has found. `talk`: called when it says that it is ready."""
    options |= {"origin": f"http://{api.host}:{api.port}", "token": api.tokens["boss"]}
    with subprocess.Popen(["node", SCENARIOS, scenario, json.dumps(options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=os.environ | {"NODE_MODULES": str(NODE_MODULES)}) as browser:
        if talk:
            assert browser.stdout.readline() == "ready\n", browser.stderr.read()
            talk()
        said, failed = browser.communicate(timeout=120)
    assert browser.returncode == 0, failed
    return json.loads(said)


@pytest.fixture
def paths(mta, api):
    """Of all pages, with something to show on each."""
    sent = api.submit(MESSAGE % HOSTILE.encode(), sender='"<b>x"@test.example', to=['"<script>alert(3)</script>"@remote.example', LONG]).json["id"]
    wait_until(lambda: b"451" in api.get(f"/v1/messages/{sent}")[1], 20, "an attempt")
    api.request("POST", "/v1/suppressions", {"recipient": LONG, "reason": HOSTILE})
    mta.command("pause", "all", "--reason", HOSTILE)
    link = api.json("/v1/links")["links"][0]["link"]
    wait_until(lambda: api.hook()["state"] != "starting", 20, "the hook to be read")
    api.request("POST", f"/v1/hooks/shop/pause?{urlencode({'why': HOSTILE})}")
    return ["/", "/messages?q=all", f"/messages/{sent}", f"/messages/{sent}/explain", f"/messages/{sent}/remove", "/links", f"/links/{link}",
            "/places/pause?scope=everything", "/suppressions", f"/suppressions/{LONG}", "/events", "/hooks", "/hooks/shop", "/hooks/shop/replay", "/try?address=" + quote(LONG),
            "/senders?since=1h", "/door", "/settings", "/settings?shown=all"]


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_all_pages(api, paths, width, dark, script):
    found = run(api, "walk", paths=paths, width=width, dark=dark, script=script)
    assert found["errors"] == []
    for look in found["looks"]:
        assert look["status"] == 200, look
        assert look["width"] <= look["room"], f"{look['asked']} is wider than the window: {look['width']} > {look['room']}"
        assert look["back"] == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
        assert (look["scripts"], look["images"]) == (1, 0), look["asked"]
    shown = {look["asked"]: look["text"] for look in found["looks"]}
    assert HOSTILE in shown[paths[2]] and HOSTILE in shown["/"] and HOSTILE in shown["/suppressions"]
    assert HOSTILE in shown["/hooks"] and HOSTILE in shown["/hooks/shop"]
    assert HOSTILE.replace('"', '\\"') in shown["/settings"] and "mail.test.example" in shown["/settings"]


def test_by_keyboard(api, mta):
    mta.command("pause", "all")
    sent = api.submit(MESSAGE % b"keys", sender="shop@test.example", to="ann@remote.example").json["id"]
    found = run(api, "keyboard", id=sent)
    assert found["errors"] == []
    assert (found["first"], found["skipped"]) == ("Skip to the content", "#main")
    assert api.json(f"/v1/messages/{sent}")["held_reason"] == "by keyboard"


@pytest.mark.parametrize("width", [360, 1280])
def test_what_cannot_be_taken_back_is_asked_in_a_dialog(api, mta, width):
    mta.command("pause", "all")
    ids = [api.submit(MESSAGE % HOSTILE.encode(), sender="shop@test.example", to="ann@remote.example").json["id"] for _ in range(2)]
    found = run(api, "dialogs", ids=ids, width=width)
    assert found["errors"] == []
    assert found["dialog"] == {"heading": f"Remove: message {ids[0]}", "first": "why", "back": "Remove", "path": f"/messages/{ids[0]}",
                               "kept": "/messages?q=all"}
    assert HOSTILE in found["text"] and (found["scripts"], found["images"]) == (1, 0) and found["width"] <= found["room"]
    def removed(sent):
        return [e["why"] for e in api.json(f"/v1/messages/{sent}/events")["events"] if e["type"] == "message.removed"]
    wait_until(lambda: [removed(sent) for sent in ids] == [["by dialog"], ["all of them"]], 20, "both to be removed")


def test_numbers_and_events_are_live(api):
    found = run(api, "live", talk=lambda: api.submit(MESSAGE % HOSTILE.encode(), sender="shop@test.example", to="ann@remote.example"))
    assert found["errors"] == []
    assert "sender=shop@test.example" in found["line"].replace(" ", "")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_traffic_is_drawn(api, mta, dark):
    """By minute: three messages come and go in the first one, and one in the second, which is begun by the clock."""
    api.answer = lambda address: "250 2.1.5 Ok"
    mta.stop()
    clock = mta.spool / "clock"  # where the queue-manager may read it
    clock.write_text("+0\n")
    mta.wrap(**fake_clock.settings(clock, both=True))
    mta.start()
    wait_until(lambda: api.get("/readyz")[0] == 200, 20, "the spool to be read")

    def send(count, line):
        for _ in range(count):
            api.submit(MESSAGE % b"drawn", sender="shop@test.example", to="ann@remote.example")
        wait_until(lambda: all(api.json("/v1/recent")[name][:len(line)] == line for name in ("in", "out")), 20, f"lines of {line}")
    send(3, [3])
    clock.write_text("+60\n")
    send(1, [3, 1])
    found = run(api, "drawings", dark=dark)
    assert found["errors"] == []
    for title, each in zip(("Accepted", "Delivered or finished"), found["drawings"], strict=True):
        minutes = len(each["points"])  # the browser may have needed another one
        assert each["label"] == f"{title}: 4 messages in {minutes} minutes, at most 3 in one minute"
        assert each["points"] == [[0, 0], [4, 21.3], *([4 * n, 32] for n in range(2, minutes))]
        assert each["stroke"].startswith("rgb(") and each["fill"] == "none"
        assert each["within"] and each["width"] > 0.6 and 0.6 < each["height"] <= 1 and each["pixels"] >= 40, each


def test_what_the_policy_forbids_does_not_happen_and_is_noticed(api):
    """Without this, the other tests could not fail by a violation."""
    found = run(api, "violations")
    assert found["title"].startswith("Now") and found["colour"] != "rgb(255, 0, 0)"
    for directive in ("style-src", "img-src", "script-src", "connect-src"):
        assert any("Content Security Policy" in error and directive in error for error in found["errors"]), (directive, found["errors"])


# ---- pictures

SHOP = (b"From: The shop <shop@test.example>\r\nTo: %b\r\nSubject: %b\r\n\r\nThank you for your order.\r\n")


def test_pictures(mta, api, tmp_path):
    """Of some pages, as README shows them: into $POSTRIDER_SCREENSHOTS, or a directory of the test."""
    answers = {"busy.example": "451 4.7.1 Greylisted, please try again later", "full.example": "452 4.2.2 Mailbox full",
               "gone.example": "550 5.1.1 No such user here"}
    api.answer = lambda address: answers.get(address.rpartition("@")[2], "250 2.1.5 Ok")
    for number in range(24):
        to = f"customer{number}@{list(answers)[number % 2] if number % 3 == 0 else 'remote.example'}"
        api.submit(SHOP % (to.encode(), b"Your order %d" % (4700 + number)), sender="shop@test.example", to=to)
    shown = api.submit(SHOP % (b"ann@busy.example", b"Your order 4724"), sender="shop@test.example",
                       to=["ann@busy.example", "bob@remote.example", "cy@full.example", "di@gone.example"]).json["id"]
    wait_until(lambda: {"message.delivered", "message.deferred", "message.failed"} <=
               {e["type"] for e in (api.exchange("GET", f"/v1/messages/{shown}/events").json.get("events") or [])}, 30, "attempts")
    mta.command("pause", "queue", "full.example", "--reason", "their disk is being replaced")
    directory = Path(os.environ.get("POSTRIDER_SCREENSHOTS", tmp_path))
    found = run(api, "pictures", pictures=str(directory), width=960, height=720, paths={"now": "/", "message": f"/messages/{shown}", "messages": "/messages?q=test.example"})
    assert found["errors"] == []
    for name in ("now", "message", "messages"):
        assert 10_000 < (directory / f"{name}.png").stat().st_size < 100_000, name
