"""The queue as mailq and postqueue list it, and what postsuper says of it, beside Debian's own Postfix: both get the same
mail, meet the same servers, and print the same lines but for ids, times and the length of a Received field."""
import contextlib
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from harness import fake_clock, unpacked
from harness.client import Client
from harness.mta import BUILD, Mta
from harness.names import Names
from harness.ports import Block
from harness.postfix import Postfix
from harness.sink import Sink, silence
from harness.watch import wait_until

pytestmark = pytest.mark.needs("root", "mounts", "own network")

REPLIES = {"slow": '451 4.7.1 Greylisted, "try" \\ later', "full": "452 4.2.2 Mailbox full", "odd": "450 4.2.0 a \x07 bell"}
LONG = f"full.{'l' * 59}@{'.'.join(['long' * 15] * 3)}.soft.example"

# (sender, recipients); the first recipient names the mail in what follows.
MAILS = [
    ("ann@s.example", ["full@soft.example"]),
    ("ann@s.example", ["slow.1@soft.example", "taken@soft.example", "full.2@soft.example", "slow.3@soft.example",
                       "x@refused.example", "y@broken.example"]),
    ("", ["full.null@soft.example"]),
    (LONG, [LONG]),
    ("gr\u00fc\u00dfe@s.example", ["full.gr\u00fc\u00dfe@soft.example", "full@b\u00fccher.broken.example"]),
    ('"a b"@s.example', ['"full.a b"@soft.example', '"full.x\\"y"@soft.example']),
    ("ann@s.example", ["x@refused.example"]),
    ("bob@s.example", ["y@refused.example"]),
    ("ann@s.example", ["odd@soft.example"]),
    ("n@many.example", ["h@hanging.example", "full.h@soft.example"]),
    *((f"n{i}@many.example", [f"slow.n{i}@soft.example", f"full.n{i}@soft.example"]) for i in range(40)),
]


def reply_to(session, argument):
    return REPLIES.get(re.match(r'<"?(\w*)', argument.partition(":")[2])[1])


@pytest.fixture(scope="module")
def both():
    """The two of them with all of MAILS in the queue, as `.mta` and `.postfix`."""
    block = Block()
    place = BUILD / "system-tests" / f"listings-{os.getpid()}-{block.base}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        def server(made):
            stack.callback(made.stop)
            return made

        names, mta = server(Names(block.host(53), 53)), Mta(place, block)
        names.fails("broken.example", "servfail")
        names.fails("xn--bcher-kva.broken.example", "servfail")
        offers = ("PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES", "SMTPUTF8")
        soft, hanging = (server(Sink(block.host(last), block.port(), extensions=offers)) for last in (10, 11))
        soft.at("rcpt", reply_to)
        hanging.at("dot", silence)
        hops = {"soft.example": f"[{soft.address}]:{soft.port}", ".soft.example": f"[{soft.address}]:{soft.port}",
                "hanging.example": f"[{hanging.address}]:{hanging.port}",
                "refused.example": f"[{block.host(12)}]:{block.port()}"}
        transports = ", ".join(f"{{{domain} = smtp:{hop}}}" for domain, hop in hops.items())
        postfix = server(Postfix(place, block.host(77), block.port(), resolver=names.address, mynetworks="127.0.0.0/8",
                                 transport_maps=f"inline:{{{transports}}}"))
        mta.config.update({f'route."{domain}"': {"next_hop": hop} for domain, hop in hops.items()})
        mta.config["queue"].update(glitch_interval="1h", retry_interval="1h", routing_retry="1h")
        mta.use_names(names)
        stack.callback(mta.kill_everything)
        mta.start()
        for sender, recipients in MAILS:
            give(postfix.address, postfix.port, sender, recipients)
            give(mta.address, mta.submission_port, sender, recipients)
        both = SimpleNamespace(mta=mta, postfix=postfix, hanging=hanging)
        wait_until(lambda: alike(both, len(MAILS)), 15, lambda: f"everything to be tried: {unlike(both)}")
        yield both
    assert not mta.crashes()
    shutil.rmtree(place, ignore_errors=True)


def give(address, port, sender, recipients):
    fields = "From: a@s.example\nDate: Sun, 22 Nov 2026 10:00:00 +0000\nMessage-ID: <1@s.example>\nSubject: same\n"
    everything = "".join((sender, *recipients))
    with Client(address, port) as client:
        client.say("EHLO client.example")
        reply = client.deliver(sender, recipients, fields + "\nHello.\n", "" if everything.isascii() else " SMTPUTF8")
        assert reply.startswith("250 2.0.0 "), reply
        client.say("QUIT")


# -- what of a listing must be the same

ENTRY = re.compile(r"([0-9A-F]+)([*!]?#?) +(\d+) (\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d)  (.+)")
EXTRA = re.compile(r" \(no name server gave an answer[^)]*\)")  # ours says more there


def entries_of(text):
    """{the first line without id, size and time, with every recipient line and the reason line above it: id}."""
    assert text.startswith("-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------\n"), text[:200]
    blocks, _, total = text.partition("\n")[2].rpartition("\n\n")
    found, bytes_in_all = {}, 0
    for block in blocks.split("\n\n"):
        first, *lines = block.split("\n")
        queue_id, mark, size, when, sender = ENTRY.fullmatch(first).groups()
        assert first == f"{queue_id + mark:<11} {size:>7} {when}  {sender}"
        reason, recipients = "", []
        for line in lines:
            if line.lstrip().startswith("("):
                assert line != reason
                reason = EXTRA.sub("", line).replace("(reason unavailable)", "").rstrip()
            else:
                recipients.append((reason, line))
        found[mark, sender, tuple(sorted(recipients))] = queue_id
        bytes_in_all += int(size)
    assert total == f"-- {bytes_in_all // 1024} Kbytes in {len(found)} Requests.\n"
    return found


def listed(both):
    """What entries_of() says of ours and theirs."""
    ours = both.mta.run("mailq", "-C", both.mta.file)
    theirs = both.postfix.run("mailq")
    assert (ours.returncode, ours.stderr, theirs.returncode) == (0, "", 0)
    return entries_of(ours.stdout), entries_of(theirs.stdout)


def unlike(both):
    ours, theirs = listed(both)
    return set(ours) ^ set(theirs)


def alike(both, count):
    return not unlike(both) and len(listed(both)[0]) == count


def test_mailq(both):
    ours, theirs = listed(both)
    assert set(ours) == set(theirs)
    assert [mark for mark, _, _ in ours].count("*") == 1


def test_mailq_of_an_ordinary_user(both):
    mta = both.mta
    done = subprocess.run([mta.programs / "mailq", "-C", mta.file], capture_output=True, text=True, timeout=30,
                          user=65534, group=65534, extra_groups=[])
    assert (done.returncode, done.stdout) == (0, mta.run("mailq", "-C", mta.file).stdout), done.stderr


def test_postqueue_j(both):
    def state(lines):
        found = []
        for line in lines.splitlines():
            entry = json.loads(line)
            assert json.dumps(entry, ensure_ascii=False) == line  # the same order, spaces and escapes
            for name in ("queue_id", "arrival_time", "message_size"):
                assert entry[name] and entry.pop(name)
            for each in entry["recipients"]:
                if "delay_reason" in each:
                    each["delay_reason"] = EXTRA.sub("", each["delay_reason"])
            entry["recipients"].sort(key=lambda each: each["address"])
            found.append(json.dumps(entry))
        return sorted(found)
    ours = both.mta.run("postqueue", "-c", both.mta.file, "-j").stdout
    assert state(ours) == state(both.postfix.run("postqueue", "-j").stdout)


def test_their_postqueue_reads_our_queue(both):
    """The packaged program finds our socket as public/showq below its queue_directory."""
    mta, place = both.mta, unpacked.tree("postfix")
    home = mta.folder / "their-postqueue"
    (home / "queue" / "public").mkdir(parents=True)
    os.symlink(mta.spool / "run" / "showq", home / "queue" / "public" / "showq")
    (home / "main.cf").write_text(f"compatibility_level=3.6\nqueue_directory={home}/queue\nmyhostname=mta.test.example\n"
                                  "mail_owner=daemon\nsetgid_group=utmp\n")
    (home / "master.cf").write_text("")
    for option in ("-p", "-j"):
        theirs = subprocess.run([place / "usr/sbin/postqueue", "-c", home, option], capture_output=True, text=True, timeout=30,
                                env=unpacked.environment(place))
        assert theirs.stdout == mta.run("postqueue", "-c", mta.file, option).stdout, theirs.stderr


def test_a_message_as_postcat_shows_it(both):
    """The same parts for the same options; sizes count what they count there: all bytes as they go over the wire."""
    ours, theirs = listed(both)
    key = next(key for key in ours if key[1] == "MAILER-DAEMON")
    run = {"ours": lambda *words: both.mta.run("postcat", "-c", both.mta.file, *words, ours[key]),
           "theirs": lambda *words: both.postfix.run("postcat", *words, theirs[key])}
    def without_received(header):
        return re.sub(r"^Received: .*\n(\s.*\n)*", "", header, flags=re.M)
    parts = {}
    for who, postcat in run.items():
        envelope, header, body, whole, marked = (postcat(option).stdout for option in ("-qe", "-qh", "-qb", "-q", "-qv"))
        assert postcat("-qhb").stdout == header + body
        name = re.match(r"\*\*\* ENVELOPE RECORDS (.*) \*\*\*\n", whole)[1]
        assert f"*** MESSAGE CONTENTS {name} ***\n{header}{body}*** HEADER EXTRACTED {name} ***\n" in whole
        assert whole.endswith(f"*** MESSAGE FILE END {name} ***\n") and envelope.startswith("*** ENVELOPE RECORDS")
        assert whole.startswith(envelope.partition("*** HEADER EXTRACTED")[0].partition("*** MESSAGE CONTENTS")[0])
        assert "".join(f"regular_text: {line}\n" for line in (header + body).splitlines()) in marked
        size = int(re.search(r"^message_size: +(\d+)", envelope, re.M)[1])
        assert size == len((header + body).replace("\n", "\r\n").encode())
        facts = re.findall(r"^(sender|recipient|original_recipient|named_attribute: log_(?:client|helo|protocol)\w+)[:=] ?(.*)", envelope, re.M)
        parts[who] = (without_received(header), body, {fact for fact in facts if "client" not in fact[0]}, {name for name, _ in facts})
    assert parts["ours"][:3] == parts["theirs"][:3] and parts["ours"][3] <= parts["theirs"][3]


@pytest.mark.parametrize("shift, options, theirs", [("+0", [], []), ("+7m", [], []), ("+5h", ["--by-sender"], ["-s"]), ("+9d", [], [])])
def test_the_ages_are_those_of_qshape(both, shift, options, theirs):
    """Looked at so much later."""
    clock = fake_clock.command("-f", shift)
    ours = subprocess.run([*clock, both.mta.programs / "postrider", "queue", "ages", *options, "-c", both.mta.file],
                          capture_output=True, text=True, timeout=30)
    expected = both.postfix.run(*clock, "qshape", *theirs, "incoming", "active", "deferred", "hold")
    def rows(text):  # of domains with as much mail and names as long, either may come first
        return text.splitlines()[:3], sorted(text.splitlines())
    assert expected.stdout.count("example") > 2
    assert rows(ours.stdout) == rows(expected.stdout), (ours.stderr, expected.stderr)


# -- the commands, each given to both: the same status and the same words

def said_by_both(both, command, words, input=""):
    """(status, output, complaints) of ours and of theirs; {n3} in a word is the id of the mail from n3@many.example."""
    answers = []
    for turn, who in enumerate((both.mta, both.postfix)):
        ids = {}
        if "{" in "".join((*words, input)):
            ids = {key[1].partition("@")[0]: queue_id for key, queue_id in listed(both)[turn].items() if "@many." in key[1]}
        given = [re.sub(r"{(n\d*)}", lambda found: ids[found[1]], text) for text in (*words, input)]
        where = ["-c", both.mta.file] if who is both.mta else []
        done = who.run(command, *where, *given[:-1], input=given[-1])
        complaints = done.stderr.replace(f"{both.mta.programs}/", "")  # getopt's
        complaints = re.sub(r"fatal: usage: .*", "fatal: usage", complaints)
        for name, queue_id in ids.items():
            complaints = complaints.replace(queue_id, name)
        answers.append((done.returncode, done.stdout, complaints))
    return answers


POSTSUPER = [
    (["-h", "{n0}"], ""), (["-h", "{n0}"], ""), (["-H", "{n0}"], ""), (["-H", "{n0}"], ""),
    (["-h", "{n1}", "-h", "{n2}", "-d", "{n3}"], ""),
    (["-h", "{n4}", "-d", "{n4}"], ""),
    (["-H", "{n5}", "-d", "{n7}", "-h", "{n8}"], ""), (["-d", "{n}"], ""),
    (["-h", "-"], "{n9}\n\n {n10}\nFFFF0000000000\nno id\n{n11}\n"),
    (["-d", "-", "-h", "-"], "{n12}\n{n13}\n"),
    (["-d", "-"], ""),
    (["-d", "FFFF0000000000", "-d", "FFFFFF", "-d", "../../etc/passwd", "-r", "bad!", "-d", ""], ""),
    (["-d", "{n14}", "hold"], ""), (["-h", "{n14}", "deferred"], ""), (["-d", "{n14}", "hold", "incoming"], ""),
    (["-d", "ALL", "incoming"], ""), (["-H", "ALL"], ""), (["-H", "ALL"], ""),
    (["-h", "ALL", "deferred"], ""), (["-d", "ALL", "maildrop"], ""),
    (["-H", "{n15}", "-d", "{n17}", "-h", "{n18}"], ""),
    (["-d", "{n16}", "-r", "{n15}", "-d", "bad!", "-e", "FFFFFF", "-H", "FFFFFF", "-h", "FFFFFF"], ""),
    ([], ""), (["-s"], ""), (["-p"], ""),
]


def what_the_far_end_may_have_is_not_called_removed(both):
    """Theirs says so all the same. Once that server has gone, both remove it."""
    queue_id = next(queue_id for key, queue_id in listed(both)[0].items() if key[1].startswith("n@many."))
    done = both.mta.run("postsuper", "-c", both.mta.file, "-d", queue_id)
    assert (done.returncode, done.stderr) == (0, f"postsuper: warning: {queue_id} is being delivered now and can no longer be stopped: "
                                                 "nothing was changed\npostsuper: Deleted: 0 messages\n")
    both.hanging.stop()
    wait_until(lambda: not any(key[0] == "*" for each in listed(both) for key in each), 15, "its delivery to end with both")


def test_postsuper(both):
    for words, input in POSTSUPER:
        if words == ["-d", "{n}"]:
            what_the_far_end_may_have_is_not_called_removed(both)
        if "ALL" in words:  # what was released or requeued has been tried again
            wait_until(lambda: not unlike(both), 15, lambda: f"both to come to rest: {unlike(both)}")
        ours, theirs = said_by_both(both, "postsuper", words, input)
        assert ours == theirs, words
    state = [{key[1:] for key in each if key[0] == "!"} for each in listed(both)]
    assert state[0] == state[1] and len(state[0]) > 20


COMPLAINTS = [
    *(("postqueue", words) for words in (
        ["-i", "FFFF0000000000"], ["-i", "FFFFFF"], ["-i", "{n20}"], ["-i", ""], ["-i", "no id"], ["-s", ""], ["-s", "no..site"], [],
        ["-s"], ["-x"], ["-p", "-j"], ["-p", "more"], ["-s", "a.example", "-s", "b.example"], ["-f", "-i", "{n20}"])),
    *(("postsuper", words) for words in (["-d", "ALL", "no-such-queue"], ["-d", "ALL", "-d"], ["-y"])),
    *(("postcat", words) for words in (["-q", "FFFF0000000000"], ["-q", "!!"], ["-x"], ["-e", "/no/such/file"])),
    *(("postconf", words) for words in (["-h", "no_such_name"], ["-H", "myhostname", "no_such_name"], ["-Z"])),
]


def test_complaints(both):
    """Their programs wait a second before most, so all at once."""
    with ThreadPoolExecutor(len(COMPLAINTS)) as threads:
        for (command, words), (ours, theirs) in zip(COMPLAINTS, threads.map(lambda row: said_by_both(both, *row), COMPLAINTS)):
            assert ours == theirs, (command, words)


def test_an_empty_queue(both):
    """Last of all: afterwards there is none."""
    both.hanging.stop()  # what its server may have could not be removed
    wait_until(lambda: not any(key[0] == "*" for each in listed(both) for key in each), 15, "its delivery to end with both")
    for who, where in ((both.mta, ["-c", both.mta.file]), (both.postfix, [])):
        assert who.run("postsuper", *where, "-d", "ALL").returncode == 0
    def gone():
        return "Mail queue is empty\n" == both.mta.run("mailq", "-C", both.mta.file).stdout
    wait_until(gone, 15, "our queue to be empty")
    assert both.postfix.run("mailq").stdout == "Mail queue is empty\n"
    assert both.mta.run("postqueue", "-c", both.mta.file, "-j").stdout == both.postfix.run("postqueue", "-j").stdout == ""
    ours, theirs = ((who.run("postsuper", *where, "-d", "ALL", "-h", "ALL")) for who, where in (
        (both.mta, ["-c", both.mta.file]), (both.postfix, [])))
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)
