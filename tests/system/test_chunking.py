"""BDAT to a server nobody here wrote: Debian's Exim, which offers CHUNKING."""
import pytest

from harness.client import message
from harness.exim import Exim
from harness.watch import wait_until

pytestmark = pytest.mark.needs("mounts")


@pytest.fixture
def exim(mta, block):
    server = Exim(mta.folder, block.host(20), block.port())
    mta.config['route."exim.example"'] = {"next_hop": f"[{server.address}]:{server.port}"}
    mta.config["queue"]["connection_idle_timeout"] = "1s"
    yield server
    server.stop()


def mailed(server, count=1):
    return wait_until(lambda: (lambda m: m if len(m) >= count else None)(server.mailbox()), 20, lambda: f"the mail\n{server.said()}")


def by_chunks(line):
    return " K " in line


def test_a_short_message_comes_in_one_flight(mta, exim):
    mta.start()
    content = message("dots", ".\r\n..\r\n.hidden\r\nlast line", to="ann@exim.example")
    queue_id = mta.submit(["ann@exim.example", "nobody@exim.example"], content=content)
    [arrived] = mailed(exim)
    assert arrived.endswith("\n\n.\n..\n.hidden\nlast line\n"), arrived
    assert [by_chunks(line) for line in exim.arrivals()] == [True], exim.said()
    mta.wait_log(rf"{queue_id}: to=<ann@exim.example>, .*status=sent \(250 .*OK id=")
    mta.wait_log(rf"{queue_id}: to=<nobody@exim.example>, .*status=bounced \(host .* said: 550 no such user here \(in reply to RCPT TO command\)\)")


def test_who_is_refused_hears_why_whatever_was_sent_with_it(mta, exim):
    mta.start()
    nobody = mta.submit("nobody@exim.example")
    mta.wait_log(rf"{nobody}: .*status=bounced \(host .* said: 550 no such user here \(in reply to RCPT TO command\)\)")
    spam = mta.submit("ann@exim.example", subject="spam")
    mta.wait_log(rf"{spam}: .*status=bounced \(host .* said: 550 we do not want this \(in reply to end of DATA command\)\)")
    mta.submit("ann@exim.example", subject="wanted")
    mailed(exim)
    assert len(exim.arrivals()) == 1


def test_large_messages_and_those_that_are_told_to_go_by_data(mta, exim):
    mta.start()
    mta.submit("ann@exim.example", body="A line of a long letter.\n" * 4000)
    mailed(exim)
    mta.config["smtp_client"]["chunking"] = False
    mta.restart()
    mta.submit("bob@exim.example")
    mailed(exim, 2)
    assert [by_chunks(line) for line in exim.arrivals()] == [False, False], exim.said()
