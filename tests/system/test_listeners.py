"""Where Postrider listens changes by reload, also from one address to all of them, as the package's configuration makes
necessary, and back."""
import socket

import pytest

from harness.client import Client

pytestmark = pytest.mark.needs("own network")  # the same port at every address


def listen(mta, *addresses, check=True):
    mta.config["listen.relay"]["addresses"] = list(addresses)
    mta.write_config()
    return mta.command("reload", check=check)


def greets(address, port):
    with Client(address, port) as c:
        assert c.banner.startswith("220")
        return c.say("QUIT").startswith("221")


def test_from_one_address_to_all_and_back(mta):
    other = mta.block.host(2)
    mta.start()
    with mta.client() as session:
        listen(mta, f"*:{mta.relay_port}")
        assert greets(mta.address, mta.relay_port) and greets(other, mta.relay_port)
        listen(mta, f"{mta.address}:{mta.relay_port}")
        assert greets(mta.address, mta.relay_port)
        with pytest.raises(ConnectionRefusedError):
            Client(other, mta.relay_port)
        assert session.say("NOOP").startswith("250"), "a session that was there before"
    assert not mta.logged("cannot accept connections")


def test_a_reload_that_fails_takes_no_address_away(mta):
    with socket.create_server((mta.block.host(3), mta.block.port())) as theirs:
        mta.start()
        refused = listen(mta, f"*:{mta.relay_port}", "{}:{}".format(*theirs.getsockname()), check=False)
        assert refused.returncode != 0 and "already in use" in refused.stderr.lower()
        assert greets(mta.address, mta.relay_port)
        with pytest.raises(ConnectionRefusedError):
            Client(mta.block.host(2), mta.relay_port)
