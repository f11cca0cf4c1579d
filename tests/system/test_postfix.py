"""Mail into Debian's own Postfix: what its smtpd offers is used, and what it refuses is understood."""
import re

import pytest

from harness.certificates import make_certificate
from harness.postfix import Postfix
from harness.watch import wait_until

pytestmark = pytest.mark.needs("root", "mounts")


@pytest.fixture
def postfix(mta, block):
    """postfix(setting=value …) → the server; mail for postfix.example goes there once mta.start() was called."""
    made = []

    def make(**settings):
        address, port = block.host(77), block.port()
        made.append(Postfix(mta.folder, address, port, **settings))
        mta.config['route."postfix.example"'] = {"next_hop": f"[{address}]:{port}"}
        return made[-1]
    yield make
    for each in made:
        each.stop()


def wait_for(server, number):
    wait_until(lambda: len(server.messages()) >= number, 20, lambda: f"{number} messages to arrive\n{server.said()}")
    return server.messages()


def test_what_it_takes_arrives_as_it_was(mta, postfix):
    server = postfix()
    mta.start()
    body = "..dots\r\n.\r\n" + "x" * 900 + "\r\ngr\u00fc\u00df\r\nFrom here on\r\n"
    first = mta.submit("reader@postfix.example", subject="short", body=body, mail_parameters=" BODY=8BITMIME")
    second = mta.submit("reader@postfix.example", subject="long", body="y" * 60 + "\r\n" + ("z" * 70 + "\r\n") * 20_000)
    # It counts what came by BDAT, as the first message of a connection does if it is short.
    mta.wait_log(rf"{first}: to=<reader@postfix\.example>.*status=sent \(250 2\.0\.0 Ok: \d+ bytes queued as ")
    mta.wait_log(rf"{second}: to=<reader@postfix\.example>.*status=sent \(250 2\.0\.0 Ok: queued as ")
    got = {message["Subject"]: message.get_payload(decode=True) for message in wait_for(server, 2)}
    assert got["short"].decode().strip() == body.replace("\r\n", "\n").strip()
    assert got["long"].split() == [b"y" * 60] + [b"z" * 70] * 20_000


def test_whom_it_does_not_know_is_reported_in_its_words(mta, postfix):
    postfix()
    mta.start()
    queue_id = mta.submit(["nobody@postfix.example"], sender=f"{mta.user}@test.example")
    mta.wait_log(rf"{queue_id}: .*dsn=5\.1\.1, status=bounced \(host .* said: 550 5\.1\.1 .*in reply to RCPT TO command")
    report = mta.wait_mailbox(1)[0]
    assert re.search(r"^Diagnostic-Code: smtp; 550 5\.1\.1 <nobody@postfix\.example>", report, re.M)


def test_what_is_too_large_is_not_sent_to_learn_it(mta, postfix):
    server = postfix(message_size_limit="20000")
    mta.start()
    queue_id = mta.submit("reader@postfix.example", body="large\r\n" * 10_000, sender=f"{mta.user}@test.example")
    mta.wait_log(rf"{queue_id}: .*dsn=5\.3\.4, status=bounced")
    assert "reader@postfix.example" not in server.said()


def test_tls_as_it_offers_it(mta, postfix):
    certificate, key = make_certificate(mta.folder, "mx.postfix.example")
    server = postfix(smtpd_tls_chain_files=f"{key}, {certificate}", smtpd_tls_security_level="encrypt")
    mta.start()
    mta.submit("reader@postfix.example", subject="sealed")
    assert "with ESMTPS" in str(wait_for(server, 1)[0]["Received"])
    assert mta.logged(r"TLS connection established to .*TLSv1\.3")


def test_mail_that_goes_round_between_us_comes_back_once(mta, postfix, remote):
    """Aliases there and here that name one another: both put Delivered-To before what they send on, and know their own."""
    sink = remote()
    mta.route("far.example", sink)
    mta.aliases.write_text("joe: reader@postfix.example\n")
    postfix(alias_maps="inline:{reader=joe@test.example}", relayhost=f"[{mta.address}]:{mta.relay_port}",
            disable_dns_lookups="yes")
    mta.start()
    mta.submit("joe@test.example", "round and round", sender="sender@far.example")
    report = sink.wait_for_one_to("sender@far.example", 30).text
    assert "Status: 5.4.6" in report and "mail forwarding loop for joe@test.example" in report
    assert re.findall(r"^Delivered-To: (\S+)\r$", report, re.M) == ["reader@postfix.example", "joe@test.example"]
    mta.wait_until_empty()
    assert len(mta.logged(r"to=<reader@postfix\.example>.*status=sent")) == 1
