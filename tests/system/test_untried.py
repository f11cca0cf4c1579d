"""Recipients no delivery agent ever had: thrown away, or kept waiting by others' failures. Each has its line in the log."""
import json
import re

import pytest

from harness.watch import wait_until
from test_metrics import metered, scrape  # noqa: F401 (a fixture)


def life_of(mta, queue_id):
    """Service and first word of each line about a message."""
    return re.findall(rf"postfix/(\S+?)\[\d+\]: {queue_id}: ([a-z-]+)", "\n".join(mta.log()))


def line(service, queue_id, to, dsn, status, orig_to=""):
    by_way_of = rf"orig_to=<{orig_to}>, " if orig_to else ""
    return (rf"postfix/{service}\[\d+\]: {queue_id}: to=<{to}>, {by_way_of}relay=none, delay=[\d.]+, delays=[\d.]+/0/0/0, "
            rf"dsn={dsn}, status={status}$")


@pytest.fixture
def dead(mta):
    """Mail for dead.example meets a closed port."""
    port = mta.block.port()
    mta.config['route."dead.example"'] = {"next_hop": f"[127.0.0.1]:{port}"}
    mta.config["queue"] |= {"glitch_interval": "1h", "retry_interval": "1h", "retry_interval_after": "1h"}
    return rf"connect to 127\.0\.0\.1\[127\.0\.0\.1\]:{port}: Connection refused"


def transports(mta, text):
    file = mta.folder / "transport"
    file.write_text(text)
    mta.config["transport"] = {"tables": [f"text:{file}"]}


def test_discarded_mail(metered, dead):  # noqa: F811
    mta = metered
    mta.aliases.write_text("devnull: /dev/null\nmany: devnull, someone\n")
    transports(mta, "void.example discard:\nspam.example discard:2.7.1 we do not read this\n")
    mta.start()
    queue_id = mta.submit("devnull@test.example")
    mta.wait_log(line("discard", queue_id, "devnull@test.example", "2.0.0", r"sent \(discarded: alias devnull: /dev/null\)"))
    mta.wait_log(f"{queue_id}: removed")
    assert life_of(mta, queue_id) == [("smtpd", "client"), ("cleanup", "message-id"), ("qmgr", "from"), ("discard", "to"),
                                      ("qmgr", "removed")]
    queue_id = mta.submit(["many@test.example", "x@void.example", "y@spam.example", "z@dead.example"])
    mta.wait_log(line("discard", queue_id, "devnull@test.example|many@test.example", "2.0.0",
                      r"sent \(discarded: alias devnull: /dev/null\)", "many@test.example"))
    mta.wait_log(line("discard", queue_id, "x@void.example", "2.0.0", r"sent \(discarded: as configured in a transport table\)"))
    mta.wait_log(line("discard", queue_id, "y@spam.example", "2.7.1", r"sent \(discarded: we do not read this\)"))
    mta.wait_log(rf"{queue_id}: to=<someone@test.example>, orig_to=<many@test.example>, relay=local, .*status=sent")
    mta.wait_log(rf"{queue_id}: to=<z@dead.example>, .*status=deferred")
    recipients = json.loads(mta.command("message", "show", queue_id, "--json").stdout.splitlines()[0])["recipients"]
    assert {each["address"]: each["reason"] for each in recipients if each["state"] == "finished"}.items() >= {
        ("x@void.example", "discarded: as configured in a transport table"), ("y@spam.example", "discarded: we do not read this")}
    wait_until(lambda: scrape(mta)("postrider_deliveries_total", transport="none", outcome="delivered") == 4, 15, "four to be counted")
    # What goes on waiting after a restart says nothing of the others again.
    mta.restart()
    mta.command("message", "retry", queue_id)
    mta.wait_log(rf"{queue_id}: to=<z@dead.example>, .*status=deferred", count=2)
    assert len(mta.logged(f"{queue_id}: to=.*discarded")) == 3


def test_mail_for_a_link_that_rests(metered, dead):  # noqa: F811
    mta = metered
    mta.config["route.\"also.example\""] = mta.config["route.\"dead.example\""]
    mta.aliases.write_text("team: x@dead.example\n")
    mta.start()
    first = mta.submit("a@dead.example")
    mta.wait_log(rf"postfix/smtp\[\d+\]: {first}: to=<a@dead.example>, relay=none, .*dsn=4.4.1, status=deferred \({dead}\)$")
    suspended = rf"deferred \(delivery temporarily suspended: {dead}\)"
    second = mta.submit(["b@dead.example", "c@also.example", "team@test.example"])
    for to, orig_to in (("b@dead.example", ""), ("c@also.example", ""), ("x@dead.example", "team@test.example")):
        mta.wait_log(line("error", second, to, "4.4.1", suspended, orig_to))
    assert len(mta.logged(f"{second}: to=")) == 3
    wait_until(lambda: scrape(mta)("postrider_deliveries_total", transport="none", outcome="deferred") == 3, 15, "three to be counted")
    # What was there before a restart waits in silence; what comes after it is told of.
    mta.restart()
    mta.wait_log("spool: loaded: 2 messages")
    third = mta.submit("d@dead.example")
    mta.wait_log(line("error", third, "d@dead.example", "4.4.1", suspended))
    assert len(mta.logged(f"{first}: to=")) == 1 and len(mta.logged(f"{second}: to=")) == 3


def test_the_words_of_a_transport_table(mta):
    transports(mta, "users.example local:\nboxes.example virtual:\nclosed.example error:4.5.0 closed\n"
                    "gone.example error:5.1.6 moved\nlater.example retry:4.7.1 tomorrow\n")
    table = mta.config["transport"]["tables"][0]
    mta.write_config()
    odd = {2: '"virtual:": virtual_mailbox.deliver is not set: mail for it waits',
           3: '"error:4.5.0 closed": 4.5.0 has the wrong class for this entry: 5.0.0 is used instead ("retry:" defers mail)'}
    for arguments in (["map", "--check", table], ["map", "--check"]):
        done = mta.command(*arguments, check=False)
        assert done.returncode == 65 and [l for l in done.stderr.splitlines() if "table" in l] == [
            f"postrider: table {table}, line {number}: {text}" for number, text in odd.items()], arguments
    done = mta.command("check")
    assert [l for l in done.stderr.splitlines() if table in l] == [
        f"postrider: warning: {table}, line {number}: {text}" for number, text in odd.items()]
    mta.start()
    queue_id = mta.submit(["Someone+x@users.example", "ann@boxes.example", "a@closed.example", "b@gone.example", "c@later.example"])
    mta.wait_log(rf"{queue_id}: to=<Someone\+x@users.example>, relay=local, .*status=sent \(delivered to maildir\)")
    mta.wait_log(line("error", queue_id, "ann@boxes.example", "4.3.5", r"deferred \(a transport table has \"virtual:\" for "
                      r"<ann@boxes.example>, but virtual_mailbox.deliver is not set\)"))
    mta.wait_log(line("error", queue_id, "a@closed.example", "5.0.0", r"bounced \(closed\)"))
    mta.wait_log(line("error", queue_id, "b@gone.example", "5.1.6", r"bounced \(moved\)"))
    mta.wait_log(line("error", queue_id, "c@later.example", "4.7.1", r"deferred \(tomorrow\)"))
