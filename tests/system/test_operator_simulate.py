"""postrider simulate: a scenario against a configuration, without anything running; and what it plays compared with what
a Postrider on loopback does with the same configuration and the same mishaps."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.mta import gather_programs
from harness.sink import drop

SAMPLE = Path(__file__).resolve().parents[2] / "conf" / "scenario.toml"
RELAY = '[route."*"]\nnext_hop = "[relay.example.net]:25"\n'
EXACT = '[queue]\njitter = 0\n'
ONE_MESSAGE = '[traffic.one]\ndomains = ["a.example"]\nprofile = "burst"\nmessages = 1\n'


def outage(lasts, host="relay.example.net", more=""):
    return f'[fault.outage]\nhosts = ["{host}"]\nlasts = "{lasts}"\n{more}'


class Tool:
    def __init__(self, folder):
        self.folder = folder
        gather_programs(folder / "bin")
        self.configure(RELAY)

    def configure(self, text):
        (self.folder / "postrider.toml").write_text(f'[mta]\nmulti_user = false\n[spool]\ndirectory = "spool"\n{text}')

    def run(self, *arguments, columns=None):
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | ({"COLUMNS": str(columns)} if columns else {})
        return subprocess.run([self.folder / "bin/postrider", "simulate", "-c", self.folder / "postrider.toml", *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=environment)

    def play(self, world, *arguments):
        """The facts of a world that is given as text."""
        file = self.folder / "world.toml"
        file.write_text(world)
        done = self.run("--world", file, "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return Facts(json.loads(done.stdout))


class Facts(dict):
    def link(self, name):
        return next(each for each in self["links"] if each["link"] == name)

    def events(self, link, *kinds):
        return [e for e in self["events"] if e["link"] == link and e["event"] in kinds]


@pytest.fixture
def simulate(folder):
    tool = Tool(folder)
    yield tool
    assert not (folder / "spool").exists(), "a simulation leaves nothing behind"


@pytest.mark.smoke
def test_the_relay_is_down_for_six_hours(simulate):
    done = simulate.run("--world", SAMPLE)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].endswith(", 18 h 0 min simulated, seed 1")
    assert any("outage: relay.example.net does not answer" in l for l in lines)
    assert any("in retry after 3 failures" in l for l in lines)
    assert any("the backlog is cleared" in l for l in lines)
    assert any(l.startswith("     state  ...........ddd") for l in lines)
    assert done.stdout.split("\n\n")[-1].startswith("Summary: in 18 h 0 min, ")
    assert max(map(len, lines[1:])) == 80
    assert max(map(len, simulate.run("--world", SAMPLE, columns=132).stdout.splitlines()[1:])) == 132


def test_the_manuals_example_is_true(simulate):
    manual = (Path(__file__).resolve().parents[2] / "man" / "postrider.scenario.5").read_text()
    shown = manual.split(".Bd -literal -offset 2n\n", 1)[1].split("\n.Ed", 1)[0].replace("\\-", "-").replace("\\e", "\\")
    said = simulate.run("--world", SAMPLE).stdout
    for line in shown.splitlines():
        if line.strip() not in ("", "\\&..."):
            assert line.lstrip("\\&") in said.splitlines(), line


def test_the_same_as_json(simulate):
    facts = Facts(json.loads(simulate.run("--world", SAMPLE, "--json").stdout))
    assert facts["version"] == 1 and facts["duration"] == 18 * 3600
    link = facts.link("[relay.example.net]")
    assert link["accepted"] == link["delivered"] + link["returned"] + link["queued"]
    assert [row["delivered"] for row in link["intervals"][3:9]] == [0] * 6
    assert link["intervals"][10]["backlog"] < 5
    assert facts.link("local")["delivered"] == facts["reports"] > 0


def test_seed_and_end_from_the_command_line(simulate):
    usual, again, other = (simulate.play(SAMPLE.read_text(), *a) for a in ((), ("--seed", "1"), ("--seed", "2")))
    assert usual == again != other
    assert simulate.play(SAMPLE.read_text(), "--until", "4h")["duration"] == 4 * 3600
    for wrong in (("--seed", "x"), ("--until", "soon"), ("--until", "3s")):
        done = simulate.run("--world", SAMPLE, *wrong)
        assert done.returncode == 64 and wrong[0] in done.stderr and done.stdout == ""


@pytest.mark.parametrize("world, complaint", [
    ('[traffic.t]\ndomains = ["a.example"]\nmesages = 5\n', ":3:1: unknown key traffic.t.mesages: did you mean messages?"),
    (ONE_MESSAGE + outage("0s"), ":7:9: fault.outage.lasts: 0s is out of range: expected 1s to 400d"),
    (ONE_MESSAGE + outage("1h", more='how = "explodes"\n'),
     ':8:7: fault.outage.how: "explodes" is not a valid value: expected one of "refuses", '),
    (ONE_MESSAGE + outage("1h", more='how = "replies"\n'), ":5:8: fault.outage.reply is missing: expected the server's reply"),
    (ONE_MESSAGE + outage("1h", more='how = "replies"\nreply = "250 fine"\n'), ':9:9: fault.outage.reply: "250 fine" is not a rejection'),
    (ONE_MESSAGE + outage("1h", more='reply = "450 no"\n'), ":8:1: fault.outage.reply is for how = "),
    (ONE_MESSAGE + 'peak = "9h"\n', ':5:1: traffic.one.peak is for profile = "daily" only'),
    (ONE_MESSAGE + 'retry_policy = "brief"\n', ":5:1: traffic.one.retry_policy: the configuration has no [retry.brief]"),
    (ONE_MESSAGE + 'sender = "nobody"\n', ':5:10: traffic.one.sender: "nobody" is not an address'),
], ids=["unknown key", "no time at all", "no such way", "no reply", "no refusal", "reply of none", "peak of a burst", "no such policy",
        "no address"])
def test_what_is_wrong_is_refused_with_its_place(simulate, world, complaint):
    odd = simulate.folder / "odd.toml"
    odd.write_text(world)
    done = simulate.run("--world", odd)
    assert done.returncode == 65 and done.stdout == ""
    assert done.stderr.startswith(f"postrider: {odd}{complaint}"), done.stderr


def test_what_is_missing(simulate):
    assert simulate.run("--world", simulate.folder / "none.toml").returncode == 65
    done = simulate.run()
    assert done.returncode == 64 and "--world FILE" in done.stderr


def test_a_misspelt_host_is_told(simulate):
    world = simulate.folder / "world.toml"
    world.write_text(SAMPLE.read_text().replace('hosts = ["relay.', 'hosts = ["rely.'))
    done = simulate.run("--world", world)
    assert done.returncode == 0
    assert "no mail involved host rely.example.net" in done.stderr


# ---- against arithmetic

def test_the_ladder(simulate):
    simulate.configure(EXACT + RELAY)
    facts = simulate.play('[world]\nduration = "4h"\n' + ONE_MESSAGE + outage("3h"))
    minutes = [round(e["at"] / 60) for e in facts.events("[relay.example.net]", "glitch", "retry")]
    assert minutes == [0, 1, 2, 12, 22, 32, *range(47, 180, 15)]
    assert facts.link("[relay.example.net]")["delay_longest"] == pytest.approx(182 * 60, abs=2)


def test_a_rate_drains_in_the_time_it_takes(simulate):
    simulate.configure(EXACT + RELAY + "messages_per_hour = 600\n")
    facts = simulate.play('[world]\nduration = "12h"\n' + ONE_MESSAGE.replace("= 1\n", "= 6000\n"))
    link = facts.link("[relay.example.net]")
    assert link["delivered"] == 6000 and link["failures"] == 0
    assert link["delay_longest"] == pytest.approx(10 * 3600, abs=10)
    assert link["delay_median"] == pytest.approx(5 * 3600, abs=10)


def test_mail_takes_the_backup_and_comes_back(simulate):
    simulate.configure(EXACT + '[route."*"]\nnext_hop = ["[relay.example.net]:25", "[backup.example.net]:25"]\n')
    facts = simulate.play('[world]\nduration = "6h"\n[traffic.t]\ndomains = ["a.example"]\nmessages = 600\n'
                          + outage("2h", more='from = "1h"\n'))
    first, backup = facts.link("[relay.example.net]"), facts.link("[backup.example.net]")
    [failed] = [e["at"] for e in facts.events("[relay.example.net]", "retry") if e["failures"] == 3]
    [down], [up] = facts.events("[relay.example.net]", "down"), facts.events("[relay.example.net]", "up")
    assert down["at"] == pytest.approx(failed + 300, abs=1)
    last_bad = max(e["at"] for e in facts.events("[relay.example.net]", "retry"))
    assert up["at"] == pytest.approx(last_bad + 900 + 300, abs=1)  # the next rung, and a second good probe
    assert backup["moved_in"] == pytest.approx(70, abs=10)  # what had gathered in seven minutes
    assert backup["delivered"] == pytest.approx((up["at"] - 3600) / 6, rel=0.05)
    assert first["queued"] + backup["queued"] < 5 and first["returned"] + backup["returned"] == 0


def test_after_five_days_mail_is_returned(simulate):
    simulate.configure(EXACT + RELAY)
    facts = simulate.play('[world]\nduration = "7d"\n[traffic.t]\ndomains = ["a.example"]\nprofile = "burst"\nmessages = 100\n'
                          'senders = 10\n' + outage("7d"))
    link = facts.link("[relay.example.net]")
    assert (link["returned_expired"], link["returned"], link["queued"], link["delay_notices"]) == (100, 100, 0, 100)
    [first], [last] = facts.events("[relay.example.net]", "first_return"), facts.events("[relay.example.net]", "last_return")
    assert 120 * 3600 <= first["at"] <= last["at"] < 121 * 3600
    assert facts["reports"] == 200 == facts.link("local")["delivered"]


def test_a_million_messages(simulate):
    simulate.configure(RELAY)
    facts = simulate.play('[world]\nduration = "21d"\n[traffic.t]\ndomains = ["a.example", "b.example"]\nprofile = "daily"\n'
                          'messages = 2000\nsenders = 100\n' + outage("12h", more='from = "9d"\n'))
    link = facts.link("[relay.example.net]")
    assert link["accepted"] == pytest.approx(1_008_000, rel=0.02)
    assert link["queued"] < 10 and link["backlog_highest"] > 15_000


# ---- against a Postrider that runs

def said_by(mta, link):
    """What the log says of a link: its failures in a row, one by one, then whether it went down and came up."""
    health = [(m[1], int(m[2] or 0)) for m in mta.logged(rf"link={re.escape(link)} state=(\w+)(?: failures=(\d+))?")]
    states = [m[1] for m in mta.logged(rf"link={re.escape(link)} is (down|up)\b")]
    return health, states


def played(facts, link):
    health = [(e["event"], e.get("failures", 0)) for e in facts.events(link, "glitch", "retry", "ready")]
    return health, [e["event"] for e in facts.events(link, "down", "up")]


def name(sink):
    return f"[{sink.address}]:{sink.port}"


def world(*sections):
    return '[world]\nduration = "1h"\n' + "".join(sections)


def message_at(at):
    return f'[traffic.at{at}]\ndomains = ["remote.example"]\nprofile = "burst"\nmessages = 1\nfrom = "{at}s"\n'


def play_beside(mta, text):
    file = mta.folder / "world.toml"
    file.write_text(text)
    return Facts(json.loads(mta.command("simulate", "--world", file, "--json").stdout))


def test_the_tool_and_the_mta_climb_the_same_ladder(mta, remote):
    sink = remote()
    sink.at("connect", "421 4.3.2 Not now", times=5)
    mta.route("remote.example", sink)
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1, seconds=60)
    mta.wait_until_empty()
    # Tries at 0, 1, 2, 4 and 6 seconds are in vain.
    facts = play_beside(mta, world(message_at(0), outage("7s", f"{name(sink)}", 'how = "busy"\n')))
    assert played(facts, name(sink)) == said_by(mta, name(sink))
    assert said_by(mta, name(sink))[0] == [("glitch", 1), ("glitch", 2), ("retry", 3), ("retry", 4), ("retry", 5), ("ready", 0)]
    assert facts.link(name(sink))["attempts"] == sink.connections == 6


def test_the_tool_and_the_mta_take_the_same_ways(mta, remote):
    first, second = remote(), remote()
    first.at("connect", "421 4.3.2 Not now", times=5)
    mta.config["queue"] |= {"link_down_after": "3s", "link_up_after": "1s"}
    mta.route("remote.example", first, second)
    mta.start()
    mta.submit("user@remote.example")
    second.wait_for(1, seconds=60)
    mta.wait_log(rf"link={re.escape(name(first))} state=ready", seconds=60)
    mta.submit("user@remote.example")  # routes are reset once a minute at most: it goes by the second one yet
    second.wait_for(2)
    mta.wait_until_empty()
    # Tries at 0, 1, 2 and 4 are in vain; down at 5; a probe at 6 in vain, good ones at 8 and 9; a reset at 65.
    facts = play_beside(mta, world(message_at(0), message_at(30), outage("7s", name(first), 'how = "busy"\n')))
    assert played(facts, name(first)) == said_by(mta, name(first))
    assert said_by(mta, name(first))[1] == ["down", "up"]
    assert len(mta.logged(r"reset routes: event=4005 elapsed=\d+ms queues=1 moved=1")) == 1
    resets = [(round(e["at"]), e["text"]) for e in facts["events"] if e["event"] == "reset"]
    assert resets == [(5, "routes are reset: 1 of 1 queue moved"), (65, "routes are reset: 0 of 0 queues moved")]
    assert [facts.link(name(s))["delivered"] for s in (first, second)] == [len(s.messages) for s in (first, second)] == [0, 2]
    assert facts.link(name(first))["failures"] == 5


def test_the_tool_and_the_mta_give_up_alike(mta, remote):
    """A route with a policy of its own and its own reading of a reply: so many tries, then a report to a sender here."""
    sink = remote()
    sink.at("rcpt", "550 5.7.1 Not today")
    mta.route("remote.example", sink)
    mta.config['route."remote.example"'] |= {"retry_policy": "thrice", "reply_overrides": ["550 5.7.1 at RCPT is temporary"]}
    mta.config["retry.thrice"] = {"kind": "fixed", "interval": "1s", "attempts": 3, "jitter": 0}
    mta.start()
    mta.submit("user@remote.example", sender=f"{mta.user}@test.example")
    mta.wait_mailbox(1)
    mta.wait_until_empty()
    facts = play_beside(mta, world(message_at(0), outage("1h", name(sink), 'how = "replies"\nat = "RCPT"\nreply = "550 5.7.1 Not today"\n')))
    link = facts.link(name(sink))
    assert (link["attempts"], link["returned_expired"], facts["reports"], facts.link("local")["delivered"]) == (3, 1, 1, 1)
    assert len(mta.logged(r"to=<user@remote\.example>, .*status=(deferred|bounced)")) == link["attempts"]
    assert played(facts, name(sink)) == said_by(mta, name(sink)) == ([], [])


def test_two_messages_cut_off_in_a_row_speak_against_the_link(mta, remote):
    """The same message twice, then another one: the queue's trouble is the link's from then on, for tool and MTA alike."""
    sink = remote()
    sink.at("dot", drop, times=3)
    mta.route("remote.example", sink)
    mta.config['route."remote.example"']["connections"] = 1
    mta.start()
    for _ in range(2):
        mta.submit("user@remote.example")
    sink.wait_for(2, seconds=60)
    mta.wait_until_empty()
    assert said_by(mta, name(sink))[0] == [("glitch", 1), ("ready", 0)]
