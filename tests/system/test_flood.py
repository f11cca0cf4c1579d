"""A flood of all kinds at once, and an honest client that gets through while it stands. `scripts/soak flood` lets it
stand longer and says how fast the client was served."""
import os
import statistics
import time

from harness.certificates import make_certificate
from harness.client import Client, message
from harness.flood import Flood, timed
from harness.watch import wait_until

SECONDS = float(os.environ.get("POSTRIDER_FLOOD_SECONDS", 0))


def deliver(mta, source, recipient, port):
    """One message as an honest server brings it: a connection, no second try."""
    with Client(mta.address, port, timeout=60, source=source) as c:
        assert c.banner.startswith("220"), c.banner
        assert c.say("EHLO honest.example").startswith("250")
        reply = c.deliver("honest@remote.example", [recipient], message("honest"))
        assert reply.startswith("250 2.0.0"), reply
        c.say("QUIT")


def test_an_honest_client_gets_through(mta, block):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    mta.config["smtpd"].update(workers=1, sessions=240, sessions_per_network=60)
    mta.start()
    honest = block.host(200)
    flood = Flood(block, mta.address, mta.relay_port, mta.user, 480)
    try:
        wait_until(flood.stands, 60, lambda: f"the flood to stand: {flood.report()}")
        mta.wait_log("all 240 sessions are in use: closing idle ones of the networks with the most sessions", seconds=60)
        taken, end = [], time.monotonic() + SECONDS
        while len(taken) < 10 or time.monotonic() < end:
            port = mta.submission_port if len(taken) % 2 else mta.relay_port
            taken.append(timed(lambda: deliver(mta, honest, f"{mta.user}@test.example", port))[1])
    finally:
        flood.stop()
    print(f"\nflood: {flood.report()}\nhonest client: {len(taken)} messages, median {statistics.median(taken) * 1000:.0f} ms, "
          f"slowest {max(taken) * 1000:.0f} ms (2000 wanted)")
    mta.wait_mailbox(len(taken), seconds=60)
    wait_until(mta.answers, 30, "the door to be open when the flood is over")
    assert len(mta.pids("smtpd")) == 1
