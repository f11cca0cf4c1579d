"""Mail over the public ports and addresses that exist only in a network of the test's own."""
import pytest

from harness.names import Names
from harness.sink import Sink

pytestmark = pytest.mark.needs("own network")


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_an_mx_host_is_reached_on_port_25(mta, network, family):
    address = network.address6() if family == "IPv6" else network.address()
    names, sink = Names(network.address(), 53), Sink(address, 25)
    try:
        names.mx("remote.example", (10, "mx.remote.example"))
        names.address_of("mx.remote.example", address)
        mta.use_names(names)
        mta.start()
        mta.submit("user@remote.example")
        sink.wait_for(1)
        mta.wait_log(r"relay=mx\.remote\.example\[" + address.replace(".", r"\.") + r"\]:25")
    finally:
        sink.stop()
        names.stop()


def test_addresses_end_with_the_test(network):
    mine = network.address()
    Sink(mine, 25).stop()
    network.close()
    with pytest.raises(OSError):
        Sink(mine, 25)
