"""Log analysers nobody here wrote, over the log of a busy day: each counts what the day's people did. And the log itself:
a message's life can be told by its id, in both forms the log has."""
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from harness import log_tools
from harness.busy_day import BABBLER, GUESSER, LEAVER, LISTED, PARTNER, PUSHER, SCANNER, SPAMMER, BusyDay
from harness.mta import BUILD, Mta
from harness.names import Names
from harness.network import Network, inside_own_network
from harness.ports import Block

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.needs("own network"), pytest.mark.needs("mounts")]


@pytest.fixture(scope="module")
def day():
    assert inside_own_network()
    block, network = Block(), Network()
    place = BUILD / "system-tests" / f"{os.getpid()}-busy-{block.base}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    mta, names = Mta(place, block), Names(block.host(53), block.port())
    one = BusyDay(mta, names, network, block)
    try:
        yield one.live()
    finally:
        one.end()
        names.stop()
        network.close()
    assert not mta.crashes()
    shutil.rmtree(place, ignore_errors=True)


ID = r"[0-9A-F]{14}"


def rows(section):
    """A table of pflogsumm's: {last word: the numbers before it}."""
    return {words[-1]: words[:-1] for words in map(str.split, section.splitlines()) if words and words[0].isdigit()}


def numbers(section):
    """Lines "     27   received": {what: how many}."""
    return {what: int(n) for n, what in re.findall(r"^ +(\d+) +([a-z/ ]*[a-z])(?: +\(.*)?$", section, re.M)}


# Received: by SMTP from the partner (six, four, and one that broke off), from here (eleven) and from strangers (two that a
# check of the content refused); three by sendmail. Delivered: thirteen in mailboxes, a file and a command, five reports, seven
# at remote.example, one at busy.example.
RECEIVED = {"smtp": 11 + 11 + 2, "sendmail": 3}
DELIVERED = {"test.example": 13 + 5, "remote.example": 7, "busy.example": 1}


def as_accepted(message):
    """What came in: without the field that says who has sent it on."""
    return re.sub(rb"\ADelivered-To: .*\r\n", b"", message.content)


def test_pflogsumm(day):
    report = log_tools.pflogsumm(day.mail_log, "--smtpd-stats")
    total = numbers(report["Grand Totals"])
    sizes = dict(re.findall(rf"^.* ({ID}): from=<.*>, size=(\d+), nrcpt=", day.mail_log.read_text(), re.M))
    assert total.pop("bytes delivered") > total["bytes received"]
    assert total == {
        "received": sum(RECEIVED.values()), "delivered": sum(DELIVERED.values()), "forwarded": 0, "deferred": 3, "bounced": 4,
        "rejected": 7 + 2 + 1, "reject warnings": 1, "held": 1, "discarded": 1,  # before the content, by it; later, please
        "bytes received": sum(int(sizes[i]) for i in stories(day.mail_log) if i in sizes and not i.endswith("01")),
        "senders": 7, "sending hosts/domains": 2, "recipients": 8, "recipient hosts/domains": 3,
        "connections": 35, "hosts/domains": 9}
    sent = rows(report["Host/Domain Summary: Message Delivery"])
    assert {domain: int(of[0]) for domain, of in sent.items()} == {**DELIVERED, "down.example": 0}
    deferrals = {domain: int(of[2]) for domain, of in sent.items()}
    assert deferrals == {"test.example": 0, "remote.example": 0, "busy.example": 2, "down.example": 1}
    for server, domain in ((day.remote, "remote.example"), (day.busy, "busy.example")):  # to the byte what arrived there
        assert int(sent[domain][1]) == sum(len(as_accepted(m)) * len(m.recipients) for m in server.messages), domain
    received = rows(report["Host/Domain Summary: Messages Received"])
    assert {domain: int(of[0]) for domain, of in received.items()} == {"partner.example": 9, "test.example": 14}
    assert {who: int(of[0]) for who, of in rows(report["Senders by message count"]).items()} == {
        "sender@test.example": 8, "ann@test.example": 4, "carol@partner.example": 3, "bob0@partner.example": 2,
        "bob1@partner.example": 2, "bob2@partner.example": 2, "root@test.example": 2}
    assert {who: int(of[0]) for who, of in rows(report["Recipients by message count"]).items()} == {
        day.user: 9, "ann@remote.example": 5, "sender@test.example": 5, "bob@remote.example": 2, "other@test.example": 2,
        "later@busy.example": 1, "archive@test.example": 1, "ticket@test.example": 1}
    callers = {who: int(of[0]) for who, of in rows(report["Host/Domain Summary: SMTPD Connections"]).items()}
    assert callers == {"localhost": 13, "mx.partner.example": 5, "spammer.hostile.example": 7, "guesser.hostile.example": 2,
                       "babbler.hostile.example": 1, SCANNER: 4, LEAVER: 1, LISTED: 1, PUSHER: 1}
    assert dict(re.findall(r"^    (\S.*?) \(total: (\d+)\)", report["message reject detail"], re.M)) == {
        "5.3.4 Message size exceeds fixed limit": "1", "Recipient address rejected: Greylisted": "1",
        "Recipient address rejected: User unknown in local recipient table": "2", "Recipient address rejected: not from you": "1",
        "Relay access denied": "2", "blocked using bl.example": "1", "END-OF-MESSAGE": "1", "header": "1"}
    assert "4.2.0 Come back later" in report["message deferral detail"] and "Connection refused" in report["message deferral detail"]
    for why in ("user unknown", "5.1.1 No such user", "Host not found", "on the suppression list"):
        assert why in report["message bounce detail (by relay)"]
    warnings = re.findall(r"^  (\w+) \(total: (\d+)\)", report["Warnings"], re.M)
    assert warnings == [("qmgr", "1"), ("smtpd", str(4 + 1 + 3 + 1))]  # guesses, HTTP, commands that were none, a connection too many
    assert "Fatal Errors" not in report and "Panics" not in report  # which have a table only where there are some


def test_logwatch(day):
    report = log_tools.logwatch(day.mail_log)
    summary, _, rest = report.partition("****** Detail (")
    said = {what.strip(): int(n) for n, what in re.findall(r"^ +(\d+)   (\S.*?)  +[\d.,%]+ *$", summary, re.M)}
    assert {what: n for what, n in said.items() if not what.startswith("Total")} == {
        "Placed on hold": 1, "SASL authentication failed": 4, "Miscellaneous warnings": 4, "*Warning: Anvil limit reached": 1,
        "Accepted": sum(RECEIVED.values()), "Rejected": 9,
        "5xx Reject relay denied": 2, "5xx Reject unknown user": 2, "5xx Reject recipient address": 1, "5xx Reject RBL": 1,
        "5xx Reject header": 1, "5xx Reject message size": 1, "5xx Reject milter": 1, "4xx Reject recipient address": 1,
        "Connections": 35, "Connections lost (inbound)": 4, "Disconnections": 35, "Removed from queue": 23 + 5,
        "Delivered": DELIVERED["test.example"], "Sent via SMTP": DELIVERED["remote.example"] + DELIVERED["busy.example"],
        "Deferred": 3, "Deferrals": 3, "Bounced (local)": 3, "Bounced (remote)": 1, "Discarded": 1, "Warned": 1,
        "Expired and returned to sender": 1, "Notifications sent": 5, "Connection failures (outbound)": 1,
        "Timeouts (inbound)": 1, "SMTP dialog errors": 1, "SMTP protocol violations": 1, "TLS connections (server)": 3,
        "TLS connections (client)": 1, "SASL authenticated messages": 1}
    # What it does not know is of ours alone: what was read at the start, and what an operator ordered.
    unknown = re.findall(r"postfix/(\S+)\[\d+\]: (.*)", rest.partition("**Unmatched Entries**")[2])
    assert Counter(service for service, _ in unknown) == {"master": 3, "cleanup": 2, "qmgr": 2 + 6 + 4}
    assert all(re.match(rf"ready$|stopped$|control: |suppression: |spool: |idempotency keys: |\S+: 5 aliases$|{ID}: \w+ by root$", text)
               for _, text in unknown), unknown
    assert "Unmatched" not in log_tools.logwatch(day.mail_log, ROOT / "conf/logwatch-postfix.conf")


@pytest.mark.parametrize("mode, expected", [
    ("more", {SPAMMER: 4, LISTED: 1, BABBLER: 1}), ("rbl", {LISTED: 1}), ("auth", {GUESSER: 4}), ("ddos", {GUESSER: 2, SCANNER: 3}),
    ("aggressive", {SPAMMER: 4, LISTED: 1, BABBLER: 1, GUESSER: 4 + 2, SCANNER: 3}), ("errors", {BABBLER: 1})])
def test_fail2ban(day, mode, expected):
    found = log_tools.fail2ban(day.mail_log, f"postfix[mode={mode}]")
    assert Counter(address for address, _ in found) == expected
    assert all(f"[{address}]" in line for address, line in found) and PARTNER not in dict(found)


def test_mtail(day):
    told = log_tools.mtail(day.mail_log)
    assert {name.removeprefix("postfix_"): n for name, n in told.items() if not re.search("delay|_bucket|bytes_sum", name)} == {
        "cleanup_messages_processed_total": 23 + 5 + 3,  # those that their content kept out
        "cleanup_messages_rejected_total": 1, "qmgr_messages_inserted_size_bytes_count": 23 + 5,
        "qmgr_messages_inserted_recipients_count": 23 + 5, "qmgr_messages_inserted_recipients_sum": 23 + 5 + 2,
        "qmgr_messages_removed_total": 23 + 5, "smtp_tls_connections_total": 1, "smtpd_tls_connections_total": 3,
        "smtpd_connects_total": 35, "smtpd_disconnects_total": 35, "smtpd_connections_lost_total": 3,  # it does not know "after DATA (15 bytes)"
        "smtpd_forward_confirmed_reverse_dns_errors_total": 0, "smtpd_messages_processed_total": RECEIVED["smtp"],
        "smtpd_messages_rejected_total": 7, "smtpd_sasl_authentication_failures_total": 4}


def test_sshguard(day):
    assert Counter(log_tools.sshguard(day.mail_log)) == {GUESSER: 4}


def test_awstats(day):
    lines = log_tools.awstats(day.mail_log)
    # 1: delivered; 999: bounced where somebody was spoken to; else what was answered
    assert Counter(line[8] for line in lines) == {"1": sum(DELIVERED.values()), "999": 2, "554": 4, "550": 2, "450": 1}
    assert {line[2] for line in lines if line[4] == "mx.partner.example"} == {
        "bob0@partner.example", "bob1@partner.example", "bob2@partner.example", "carol@partner.example"}
    assert all(line[9].isdigit() for line in lines if line[8] == "1")


def test_mailgraph(day):
    counted = log_tools.mailgraph(day.mail_log)
    counted.pop("delayed")
    assert counted == {"recv": RECEIVED["smtp"], "sent": DELIVERED["remote.example"] + DELIVERED["busy.example"], "bounced": 4,
                       "rejected": 7 + 1 + 1, "greylisted": 1}  # a milter's word in cleanup's line it passes over


def test_logcheck(day):
    left = [re.sub(rf"^\S+ +\S+ \S+ \S+ (\S+?)\[\d+\]: (?:{ID}: )?", r"\1 ", line)
            for line in log_tools.logcheck(day.mail_log, ROOT / "conf/logcheck-postrider")]
    expected = [
        "postfix/master daemon started -- version ", "postfix/master reload -- version ", "postfix/master terminating on signal 15",
        "postfix/master control: uid=0 reload",
        *(f"postfix/qmgr control: uid=0 {op} " for op in ("reload-effects", "force", "expire", "suppress", "release", "remove")),
        "postfix/cleanup warning: header Subject: invoice 17 from ", "postfix/cleanup discard: header Subject: lottery from ",
        "postfix/cleanup hold: header Subject: contract from ", "postfix/cleanup milter-reject: END-OF-MESSAGE from ",
        "postfix/smtpd NOQUEUE: reject: MAIL from spammer.hostile.example[192.0.2.67]: 552 5.3.4 Message size exceeds fixed limit",
        "postfix/error to=<x@gone.example>, relay=none, ", "postfix/error to=<left@remote.example>, orig_to=<former@test.example>, relay=none, "]
    assert all(any(line.startswith(each) for line in left) for each in expected) and len(left) == len(expected), left


# -- the log itself

def stories(log):
    """What is said of each message, by its id: [(service, text)]."""
    out = defaultdict(list)
    for line in log.read_text().splitlines():
        service, text = re.fullmatch(r"\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ postfix/([\w-]+)\[\d+\]: (?:warning: )?(.*)", line).groups()
        if about := re.match(f"({ID}): (.*)", text):
            out[about[1]].append((service, about[2]))
    return out


def test_the_life_of_every_message(day):
    told = stories(day.mail_log)
    reports = {said.split(": ")[1] for story in told.values() for _, said in story if said.startswith("sender non-delivery")}
    assert len(reports) == 5 and reports <= set(told)
    ends = Counter()
    for queue_id, story in told.items():
        services, texts = zip(*story)
        if queue_id in reports:
            assert services[:2] == ("cleanup", "qmgr") and texts[1].startswith("from=<>, size="), story
        else:
            assert re.match(r"client=\S+\[[\d.]+\](, sasl|$)" if services[0] == "smtpd" else r"uid=\d+ from=<", texts[0]), story
        assert sum(t.startswith("message-id=") for t in texts) == (not texts[-1].startswith("protocol")), story
        if "removed" not in texts:
            ends[texts[-1].split()[0]] += 1
            continue
        assert texts.count("removed") == 1, story
        last_word = [t for t in texts if "status=sent" in t or "status=bounced" in t or "status=expired" in t or t.startswith("remove by")]
        assert last_word and all(re.search(r"^to=<\S+@\S+>, .*relay=\S+, .*delays=[\d./]+, dsn=[25][\d.]+, status=", t)
                                 for t in last_word if t.startswith("to=")), story
        assert sum(re.match(r"from=<\S*>, size=\d+, nrcpt=\d+ \(queue active\)", t) is not None for t in texts) == 1, story
        ends["removed"] += 1
    # one broke off after a last mistake, two were refused by their content, one was thrown away
    assert ends == {"removed": 23 + 5, "protocol": 1, "reject:": 1, "milter-reject:": 1, "discard:": 1}
    assert [s.split("status=")[1].split()[0] for _, s in told[day.ids["deferred"]] if "status=" in s] == ["deferred", "sent"]
    assert Counter(re.findall(r"to=<(.*?)>", str(told[day.ids["two there"]]))) == {"ann@remote.example": 1, "bob@remote.example": 1}


def test_nothing_of_a_message_is_said_without_its_id(day):
    for line in day.mail_log.read_text().splitlines():
        text = line.partition("]: ")[2].removeprefix("warning: ")
        if not re.match(f"{ID}: ", text) and not text.startswith(("NOQUEUE: ", "control: ")):
            assert not re.search(rf"\b{ID}\b|\b(to|from)=<|status=|message-id=", text), line


def test_both_forms_say_the_same(day):
    severities = {"info": "", "warning": "warning: ", "error": "error: ", "critical": "fatal: "}
    lines = [json.loads(line) for line in day.mta.log_file.read_text().splitlines()]
    as_text = Counter(f"postfix/{l['service']}[{l['session']}]: {severities[l['severity']]}{l['text']}" for l in lines)
    assert as_text == Counter(line.split(" mail ", 1)[1] for line in day.mail_log.read_text().splitlines())
    for queue_id, story in stories(day.mail_log).items():
        told = [(l["service"], l["text"].removeprefix(f"{queue_id}: ")) for l in lines if l.get("queue_id") == queue_id]
        assert sorted(told) == sorted(story)
