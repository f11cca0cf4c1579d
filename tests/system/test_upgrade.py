"""The upgrade promise: spools, configurations and JSON of earlier releases (tests/upgrade) with today's programs. Mail that
waited is where it was, in its state and order, and arrives; a name that is gone is in CHANGELOG.md, and `check` gives the
present one."""
import contextlib
import json
import re
import tarfile
import time
from pathlib import Path

import pytest

from harness import fake_clock
from harness.watch import wait_until

SOURCE = Path(__file__).resolve().parents[2]
CORPUS = {file.name.removesuffix(".tar.xz"): file for file in sorted((SOURCE / "tests/upgrade").glob("*.tar.xz"))}
CHANGELOG = (SOURCE / "CHANGELOG.md").read_text()


def read(release, name):
    with tarfile.open(CORPUS[release]) as tar:
        with contextlib.suppress(KeyError):
            return tar.extractfile(name).read().decode()
    return None


SPOOLS = [release for release in CORPUS if read(release, "facts.json")]


@pytest.fixture(params=SPOOLS)
def upgraded(request, mta, remote):
    """Today's programs on the spool of a release, a few minutes after it was left; all mail goes to one server."""
    mta.facts = json.loads(read(request.param, "facts.json"))
    with tarfile.open(CORPUS[request.param]) as tar:
        tar.extractall(mta.folder, [m for m in tar.getmembers() if m.name.split("/")[0] == "spool"])
    mta.sink = remote()
    for domain in ("later.example", "paused.example", "sink.example"):
        mta.route(domain, mta.sink)
    set_clock(mta, 300)
    return mta


def set_clock(mta, seconds):
    """To so long after the release was stopped, for processes that are started from now on."""
    for real in mta.programs.glob("*.real"):
        real.rename(real.with_suffix(""))
    mta.wrap(**fake_clock.offset(mta.facts["made"] + seconds - int(time.time())))


def listing(mta, *words):
    return [json.loads(line) for line in mta.command(*words, "--json").stdout.splitlines()]


def names_in(value):
    """Of all objects in it."""
    if isinstance(value, dict):
        return set(value) | {name for each in value.values() for name in names_in(each)}
    return {name for each in value for name in names_in(each)} if isinstance(value, list) else set()


def test_mail_of_an_earlier_release(upgraded):
    mta, facts = upgraded, upgraded.facts
    waiting = {m["id"]: m for m in facts["messages"]}
    mta.sink.at("rcpt", lambda session, argument: "450 4.2.0 Come back later" if "later.example" in argument else None)
    mta.start()
    # What was handed in while nothing ran, and nothing else, leaves.
    assert mta.sink.wait_for_one_to(facts["dropped"]).header("Subject") == "dropped"
    wait_until(lambda: not mta.status()["queue"]["loading"], 15, "the spool to be read")
    now = listing(mta, "message", "list")
    assert [m["id"] for m in now if m["id"] in waiting] == facts["order"]
    states = {m["id"]: m["state"] for m in now}
    for queue_id, message in waiting.items():
        if message["state"] in ("paused", "held", "scheduled"):
            assert states[queue_id] == message["state"], (message, states[queue_id])
        else:
            assert states[queue_id] in ("due", "active", "retrying"), (message, states[queue_id])
    [before], [after] = facts["json"]["message show {id}"], listing(mta, "message", "show", facts["shown"])
    assert [r["address"] for r in after["recipients"]] == [r["address"] for r in before["recipients"]]
    assert after["recipients"][0]["attempts"][0] == before["recipients"][0]["attempts"][0]
    assert "for the corpus" in mta.command("status").stdout  # the pause, with its reason
    assert [e["recipient"] for e in listing(mta, "suppress", "list")] == ["never@sink.example"]
    assert not mta.sink.to("ann@paused.example") and len(mta.sink.messages) == 1

    # Everything leaves, once, unchanged.
    mta.sink.well_behaved()
    held = [m["id"] for m in facts["messages"] if m["state"] == "held"]
    mta.command("message", "release", *held)
    mta.command("resume", "queue", "paused.example")
    mta.command("message", "retry", "state=retrying")
    expected = [r for m in facts["messages"] if m["state"] != "scheduled" for r in m["recipients"]]
    mta.sink.wait_for(len(expected) + 1, 30)
    set_clock(mta, 3 * 3600)  # the scheduled one is due
    mta.restart()
    expected += [r for m in facts["messages"] if m["state"] == "scheduled" for r in m["recipients"]]
    mta.sink.wait_for(len(expected) + 1, 30)
    mta.wait_until_empty()
    arrived = mta.sink.messages
    assert sorted(r for m in arrived for r in m.recipients) == sorted([*expected, facts["dropped"]])
    subjects = [m.header("Subject") for m in arrived if "ann@paused.example" in m.recipients]
    assert sorted(subjects) == ["held", "large", *(f"paused {n}" for n in range(5))]
    [large] = [m for m in arrived if m.header("Subject") == "large"]
    assert large.text.endswith("\r\n\r\n" + "0123456789abcdef\r\n" * 20_000 + "\r\n")
    [report] = [m for m in arrived if "sender@later.example" in m.recipients]
    assert "gone@sink.example" in report.text and "5.1.1" in report.text
    assert not mta.sink.to("done@sink.example"), "delivered by the earlier release already"
    mta.stop()
    assert mta.command("spool", "check").returncode == 0


def test_names_in_json(upgraded):
    """A name that is gone is in the table of the CHANGELOG."""
    mta = upgraded
    mta.start()
    mta.sink.wait_for_one_to(mta.facts["dropped"])
    former = set(re.findall(r"`(\w+)`", CHANGELOG))
    for words, before in mta.facts["json"].items():
        now = names_in(listing(mta, *words.format(id=mta.facts["shown"]).split()))
        gone = names_in(before) - now - former
        # Of what only exists while something fails, waits or is connected.
        assert gone <= {"last_error", "backing_off"}, (words, gone)


def keys_of(sample):
    """"section.key" of all keys that a sample configuration sets or explains."""
    found, section = set(), ""
    for line in sample.splitlines():
        if head := re.fullmatch(r'#?\[(.*)\]', line):
            section = re.sub(r"\..*", "", head[1])
        elif key := re.match(r"#?(\w+) = ", line):
            found.add(f"{section}.{key[1]}")
    return found


def test_there_are_names_to_compare():
    assert len(SPOOLS) >= 2 and len(CORPUS) > len(SPOOLS)
    assert all(len(keys_of(read(release, "sample.toml"))) > 200 for release in CORPUS)


@pytest.mark.parametrize("release", CORPUS)
def test_keys_of_the_configuration(mta, release):
    """A key that is gone is in the table of the CHANGELOG, and `check` gives the present name."""
    table = {re.sub(r"\.[^.]+\.", ".", former): present for former, present in re.findall(r"^\| `(\S+)` \| `(\S+)` \|$", CHANGELOG, re.M)}
    gone = keys_of(read(release, "sample.toml")) - keys_of((SOURCE / "conf/postrider.toml").read_text())
    table |= {key: table[f"[{key.split('.')[0]}]"] for key in gone if f"[{key.split('.')[0]}]" in table}  # the whole section
    assert gone <= set(table), gone - set(table)
    sections = {"listen": "listen.x", "route": 'route."x.example"', "pool": "pool.x"}
    for key in gone:
        section, name = key.split(".")
        mta.file.write_text(f"[{sections.get(section, section)}]\n{name} = 1\n")
        done = mta.run("postrider", "check", "-c", mta.file)
        assert done.returncode == 78 and table[key].split(".")[-1].strip("[]") in done.stderr, (key, done.stderr)
