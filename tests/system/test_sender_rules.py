"""Lane and pool by who submits mail, and what may be asked for: [sender_rules], read from top to bottom."""
import json

import pytest

from harness.client import message
from harness.watch import wait_until


@pytest.fixture
def ruled(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["pool.news"] = {"addresses": [mta.address]}
    mta.config["sender_rules"] = {"rules": [
        "sender=@news.test.example -> lane=bulk pool=news lanes=normal,bulk pools=none",
        "precedence=bulk,list,junk -> lane=bulk",
        "listener=local -> lane=high",
    ]}
    return mta, sink


def facts(mta, queue_id, command=("message", "show")):
    line = json.loads(mta.command(*command, queue_id, "--json").stdout.splitlines()[0])
    return [line[name] for name in ("lane", "lane_chosen_by", "pool", "pool_chosen_by")]


@pytest.mark.smoke
def test_the_first_rule_decides_and_explain_names_it(ruled):
    mta, _ = ruled
    mta.start()
    mta.command("pause", "all")
    news = mta.submit("user@remote.example", sender="a@news.test.example", port=mta.submission_port)
    expected = ["bulk", "sender_rules.rules[1]", "news", "sender_rules.rules[1]"]
    assert facts(mta, news) == facts(mta, news, ("explain",)) == expected
    text = mta.command("explain", news).stdout
    assert "bulk (sender_rules.rules[1])" in text and "news (sender_rules.rules[1])" in text, text
    junk = mta.submit("user@remote.example", port=mta.submission_port, extra="Precedence: JUNK\r\n")
    assert facts(mta, junk) == ["bulk", "sender_rules.rules[2]", "", ""]
    other = mta.submit("user@remote.example", port=mta.submission_port)
    assert facts(mta, other) == ["normal", "", "", ""]
    before = mta.queued_ids()
    assert mta.sendmail("user@remote.example").returncode == 0
    wait_until(lambda: len(mta.queued_ids()) > len(before), 15, "it to be queued")
    (local,) = mta.queued_ids() - before
    assert facts(mta, local)[:2] == ["high", "sender_rules.rules[3]"]
    mta.command("message", "priority", "normal", local)
    assert facts(mta, local)[:2] == ["normal", "an operator"]
    mta.kill_everything()
    mta.start()
    wait_until(lambda: news in mta.queued_ids(), 15, "the spool to be read")
    assert facts(mta, news) == expected


def test_what_may_be_asked_for(ruled):
    mta, _ = ruled
    mta.start()
    mta.command("pause", "all")

    def ask(field, parameters=""):
        with mta.client(mta.submission_port) as c:
            return c.deliver("a@news.test.example", ["user@remote.example"], message("x", "x", extra=field), parameters)
    lane = 'this sender may not use the lane "high" (sender_rules.rules[1])'
    assert ask("X-Postrider-Lane: high\r\n") == f"554 5.6.0 Error: X-Postrider-Lane: {lane}"
    assert ask("", " MT-PRIORITY=5") == f"554 5.6.0 Error: MT-PRIORITY: {lane}"
    assert ask("X-Postrider-Pool: news\r\n") == \
        '554 5.6.0 Error: X-Postrider-Pool: this sender may not use the pool "news" (sender_rules.rules[1])'
    queued = ask("X-Postrider-Lane: normal\r\n").split()[-1]
    assert facts(mta, queued) == ["normal", "X-Postrider-Lane", "news", "sender_rules.rules[1]"]
    done = mta.sendmail("-f", "a@news.test.example", "-O", "lane=high", "user@remote.example")
    assert done.returncode == 65 and lane in done.stderr
    mta.config["sender_rules"]["rules"] = []
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: ask("X-Postrider-Lane: high\r\n").startswith("250"), 15, "the new rules to apply")


def test_others_write_any_sender(ruled):
    """A client that may not relay gets neither lane nor pool because of the sender that it names."""
    mta, _ = ruled
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    mta.start()
    mta.command("pause", "all")
    queue_id = mta.submit(f"{mta.user}@test.example", sender="a@news.test.example")
    assert facts(mta, queue_id) == ["normal", "", "", ""]
    queue_id = mta.submit(f"{mta.user}@test.example", extra="Precedence: list\r\n")
    assert facts(mta, queue_id)[:2] == ["bulk", "sender_rules.rules[2]"]
