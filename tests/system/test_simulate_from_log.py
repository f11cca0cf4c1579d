"""postrider simulate --from-log, with the logs of a running Postrider and a running Postfix."""
import json
import smtplib

import pytest

from harness.postfix import Postfix
from harness.watch import wait_until

UNKNOWN = "550 5.1.1 no such user"


def simulated(mta, log, *more):
    done = mta.command("simulate", "--from-log", log, "--json", *more, seconds=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def name(sink):
    return f"[{sink.address}]:{sink.port}"


def link_of(facts, sink):
    return next(each for each in facts["links"] if each["link"] == name(sink))


@pytest.mark.smoke
def test_a_postriders_log(mta, remote):
    """Deliveries, an unknown user and an outage: the figures of the log are the MTA's, those of the simulation agree with them."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["queue"].update(jitter=0, glitch_interval="1s", retry_interval="2s")
    mta.start()
    for n in range(20):
        mta.submit(f"user{n}@remote.example", sender=f"{mta.user}@test.example")
    sink.wait_for(20)
    sink.at("rcpt", UNKNOWN, times=1)
    mta.submit("nobody@remote.example", sender=f"{mta.user}@test.example")
    mta.wait_mailbox(1)
    sink.stop()
    for n in range(5):
        mta.submit(f"late{n}@remote.example", sender="")
    mta.wait_log(r"state=retry failures=5", seconds=60)
    sink.start()
    mta.wait_until_empty()
    facts = simulated(mta, mta.log_file)
    told, played = facts["comparison"]["log"], facts["comparison"]["simulated"]
    assert (told["accepted"], told["delivered"], told["returned"], told["waiting"]) == (26, 25, 1, 0)
    assert {t["traffic"]: t["log"]["accepted"] for t in facts["comparison"]["traffic"]} == {
        "remote.example": 21, "remote.example (null sender)": 5}
    assert (played["accepted"], played["waiting"]) == (26, 0)
    course = [e["event"] for e in facts["events"] if e["link"] == name(sink) and e["event"] in ("glitch", "retry", "ready")]
    assert course[:3] == ["glitch", "glitch", "retry"] and course[-1] == "ready"
    late = next(t for t in facts["comparison"]["traffic"] if "null" in t["traffic"])
    assert late["log"]["delay_longest"] > 3
    assert late["simulated"]["delivered"] == 5 and late["simulated"]["delay_longest"] > 1

    # The printed scenario gives the same result.
    scenario = mta.folder / "scenario.toml"
    scenario.write_text(mta.command("simulate", "--from-log", mta.log_file, "--print-scenario").stdout)
    again = json.loads(mta.command("simulate", "--world", scenario, "--json").stdout)
    assert again["links"] == facts["links"]
    text = mta.command("simulate", "--from-log", mta.log_file).stdout
    assert "Total                                   log    simulated\nmail in                                  26           26\n" in text


def test_a_postfix_log(mta, block, remote, folder):
    """The host is down when the first mail arrives, and comes back."""
    sink = remote()
    address, port = block.host(88), block.port()
    sink.stop()
    postfix = Postfix(folder, address, port, mynetworks="127.0.0.0/8", relayhost=name(sink), smtp_host_lookup="native",
                      minimal_backoff_time="1s", maximal_backoff_time="2s", queue_run_delay="1s")
    mta.route("*", sink)  # never started
    mta.write_config()
    try:
        with smtplib.SMTP(address, port) as client:
            for n in range(8):
                client.sendmail("ann@sender.example", [f"bob{n}@away.example", f"eve{n}@other.example"], "Subject: hello\r\n\r\nHello.\r\n")
            wait_until(lambda: postfix.log.read_text().count("status=deferred") >= 16, 30, postfix.said)
            sink.start()
            sink.wait_for(8, seconds=60)
            sink.at("rcpt", UNKNOWN, times=1)
            client.sendmail("ann@sender.example", ["nobody@away.example"], "Subject: hello\r\n\r\nHello.\r\n")
        wait_until(lambda: "status=bounced" in postfix.log.read_text() and "non-delivery notification" in postfix.log.read_text(), 30, postfix.said)
        wait_until(lambda: postfix.log.read_text().count("status=sent") >= 17, 30, postfix.said)  # with the report
    finally:
        postfix.stop()
    facts = simulated(mta, postfix.log)
    told = facts["comparison"]["log"]
    assert (told["accepted"], told["delivered"], told["returned"], told["waiting"]) == (17, 16, 1, 0)
    assert facts["comparison"]["simulated"]["accepted"] == 17
    assert link_of(facts, sink)["failures"] > 0
    trouble = next(e for e in facts["events"] if e["event"] == "trouble")
    assert sink.address in trouble["text"] and "refuses connections" in trouble["text"]


def test_lines_longer_than_the_limit(mta):
    """The rest of an endless line is skipped; the next line is read."""
    mta.write_config()
    sent = "Nov 23 10:00:00 host postfix/smtp[1]: ABCDEF{}: to=<a@b.example>, relay=mx.b.example[192.0.2.1]:25, delay=1, status=sent (ok)\n"
    log = mta.folder / "long.log"
    log.write_text(sent.format(1) + "x" * 300_000 + "\n" + sent.format(2))
    done = mta.run("postrider", "simulate", "-c", mta.file, "--from-log", "-", "--print-scenario", input=log.read_text())
    assert done.stdout.startswith("# -: 3 lines starting Nov 23 10:00, 2 about deliveries; 2 recipients\n"), done.stdout


def test_what_is_no_log(mta):
    mta.write_config()
    empty = mta.folder / "empty.log"
    empty.write_text("Nov 23 10:00:00 host kernel: nothing of mail\n" * 3)
    done = mta.command("simulate", "--from-log", empty, check=False)
    assert done.returncode == 65 and "none of its 3 lines reports a delivery: expected a mail log" in done.stderr
    assert mta.command("simulate", "--from-log", mta.folder / "missing.log", check=False).returncode == 65
    for wrong in (("--from-log", empty, "--world", empty), ("--world", empty, "--print-scenario"), ()):
        assert mta.command("simulate", *wrong, check=False).returncode == 64
