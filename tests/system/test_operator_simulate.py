"""postrider simulate: a scenario against a configuration, without anything running."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.mta import gather_programs

SAMPLE = Path(__file__).resolve().parents[2] / "conf" / "scenario.toml"


@pytest.fixture
def simulate(folder):
    gather_programs(folder / "bin")
    config = folder / "postrider.toml"
    config.write_text('[mta]\nusers = false\n[spool]\ndirectory = "spool"\n[route."*"]\nnext_hop = "[relay.example.net]:25"\n')

    def run(*arguments):
        return subprocess.run([folder / "bin/postrider", "simulate", "-c", config, *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    yield run
    assert not (folder / "spool").exists(), "a simulation leaves nothing behind"


def test_the_relay_is_down_for_six_hours(simulate):
    done = simulate("--world", SAMPLE)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert any("outage: relay.example.net does not answer" in l for l in lines)
    assert any("in retry after 3 failures: connection timed out" in l for l in lines)
    assert any("the backlog is gone" in l for l in lines)
    assert any(l.lstrip().startswith("state  ............rrr") for l in lines)
    assert max(map(len, lines[1:])) <= 110


def test_the_same_as_json(simulate):
    facts = json.loads(simulate("--world", SAMPLE, "--json").stdout)
    assert facts["version"] == 1 and facts["duration"] == 18 * 3600
    [link] = facts["links"]
    assert link["link"] == "[relay.example.net]"
    assert link["accepted"] == link["delivered"] + link["returned"] + link["queued"]
    assert [row["delivered"] for row in link["intervals"][3:9]] == [0] * 6
    assert link["intervals"][10]["backlog"] < 5


def test_what_is_wrong_is_refused_with_its_place(simulate, folder):
    odd = folder / "odd.toml"
    odd.write_text('[traffic.t]\ndomains = ["a.example"]\nmesages = 5\n')
    done = simulate("--world", odd)
    assert done.returncode == 65 and done.stdout == ""
    assert done.stderr == f"postrider: {odd}:3:1: unknown key traffic.t.mesages: did you mean messages?\n"
    assert simulate("--world", folder / "none.toml").returncode == 65
    done = simulate()
    assert done.returncode == 64 and "--world FILE" in done.stderr


def test_a_misspelt_host_is_told(simulate, folder):
    world = folder / "world.toml"
    shutil.copy(SAMPLE, world)
    world.write_text(world.read_text().replace('hosts = ["relay.', 'hosts = ["rely.'))
    done = simulate("--world", world)
    assert done.returncode == 0
    assert "no mail had to do with host rely.example.net" in done.stderr
