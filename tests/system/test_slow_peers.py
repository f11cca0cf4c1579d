"""What deliveries to slow servers cost a worker: 5,000 of them at a time fit into 300 MB, whichever step they wait at.
`scripts/soak slow-peers` has as many; here a tenth of them stands for the rest."""
import os
from collections import Counter
from pathlib import Path

import pytest

from harness.client import message
from harness.slow_peers import STEPS, SlowPeers
from harness.watch import wait_until
from test_idle import descriptors  # noqa: F401

WANTED, MEMORY = 5000, 300_000_000
NUMBER = int(os.environ.get("POSTRIDER_SLOW_PEERS", 500))
SECONDS = 300


@pytest.fixture
def peers(mta, block, descriptors):  # noqa: F811
    made = SlowPeers(mta.block.host(10), block.port())
    mta.config["smtp_client"].update(workers=1)
    mta.config["queue"].update(initial_connections_route=NUMBER, connections_route=NUMBER, connections_total=NUMBER + 100, link_share=1)
    mta.config['route."slow.example"'] = {"next_hop": f"[{made.address}]:{made.port}", "connections": NUMBER}
    mta.start()
    yield made
    made.stop()


def resident(mta):
    status = Path(f"/proc/{mta.pids('smtp-client')[0]}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def test_deliveries_to_slow_servers(mta, peers):
    before = resident(mta)
    everybody = [f"user{n}@slow.example" for n in range(NUMBER)]
    with mta.client() as c:
        for each in everybody:
            assert c.deliver("sender@test.example", [each], message(f"to {each}", "A line of the letter.\n" * 500)).startswith("250")
        c.say("QUIT")
    for step in STEPS:
        wait_until(lambda: peers.at(step) == NUMBER, SECONDS, lambda: f"{NUMBER} sessions at {step}, {peers.at(step)} are\n{mta.last_words()}")
        now = resident(mta)
        print(f"\n{NUMBER} deliveries wait at {step}: {now / 1e6:.0f} MB, {before / 1e6:.0f} MB without", end="")
        assert before + (now - before) * WANTED // NUMBER < MEMORY
        peers.release(step)
    mta.wait_until_empty(SECONDS)
    assert peers.messages == Counter(everybody), "each once"
