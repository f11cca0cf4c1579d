"""Memory of the daemons while strangers hold much of it: large messages that never end, listings and control answers
that nobody reads. Bounded, and small messages get through meanwhile."""
import os
import socket
from pathlib import Path

import pytest

from harness.client import message, stuffed
from harness.watch import wait_until

MB = 1_000_000


def resident(mta, role):
    """Of the processes of a role together."""
    total = 0
    for pid in mta.pids(role):
        status = Path(f"/proc/{pid}/status").read_text()
        total += int(status.split("VmRSS:")[1].split()[0]) * 1024
    return total


def settled(mta, role):
    """Its memory when it does not grow any more."""
    seen = [0]

    def same():
        seen.append(resident(mta, role))
        return seen[-1] == seen[-2]
    wait_until(same, 60, "the memory to settle", step=0.3)
    return seen[-1]


@pytest.fixture
def small(mta):
    mta.config["smtpd"].update(workers=1)
    mta.start()
    return mta


def begun(mta, sender="big@test.example"):
    c = mta.client()
    assert c.say(f"MAIL FROM:<{sender}>").startswith("250")
    assert c.say(f"RCPT TO:<{mta.user}@test.example>").startswith("250")
    assert c.say("DATA").startswith("354")
    return c


def test_large_messages_that_do_not_end(small):
    """300 times 900 KB: not 270 MB. Small messages go through, and in the end the large ones too."""
    mta, number = small, 300
    before = settled(mta, "smtpd")
    text = message("large", "A line of a large message, as long as they are.\r\n" * 18000).encode()
    clients = []
    for n in range(number):
        c = begun(mta)
        c.socket.settimeout(60)
        c.send(text)
        clients.append(c)
    now = settled(mta, "smtpd")
    print(f"\nsmtpd: {before / MB:.0f} MB before, {now / MB:.0f} MB with {number} large messages begun")
    assert now - before < 180 * MB
    for n in range(5):
        mta.submit(f"{mta.user}@test.example", subject=f"small {n}")
    mta.wait_mailbox(5)
    for c in clients[20:]:
        c.close()
    for c in clients[:20]:
        c.send(b".\r\n")
    assert all(c.reply().startswith("250 2.0.0 Ok: queued as") for c in clients[:20])
    boxes = mta.wait_mailbox(25, seconds=60)
    assert sum("Subject: large" in m and m.count("A line of a large message") == 18000 for m in boxes) == 20
    for c in clients[:20]:
        c.close()
    wait_until(lambda: not mta.spool_files(), 30, "what was begun and not ended to be gone")


def test_commands_sent_ahead_and_long_lists_of_recipients(small):
    """What is neither content nor read: commands behind an answer that is delayed, envelopes of a thousand recipients."""
    mta = small
    before = settled(mta, "smtpd")
    clients = []
    for n in range(180):
        c = mta.client()
        assert c.say("MAIL FROM:<a@test.example>").startswith("250")
        recipient = f"{mta.user}+{'x' * 40}"
        line = f"RCPT TO:<{recipient}@test.example> ORCPT=rfc822;{'y' * 400}@example.org\r\n"
        c.send(line.encode() * 900)
        clients.append(c)
    for c in clients:  # each was answered, by a yes or a 452
        for _ in range(900):
            reply = c.reply()
            assert reply.startswith(("250", "452 4.3.1 Error: too much mail is being received, try again later"))
    now = settled(mta, "smtpd")
    print(f"\nsmtpd: {before / MB:.0f} MB before, {now / MB:.0f} MB with 162,000 recipients named")
    assert now - before < 135 * MB
    mta.wait_log(r"mail being received holds \d+ of 134217728 bytes of memory: senders of large messages wait")
    assert mta.logged(r"reject: RCPT from \S+: 452 4\.3\.1 Error: too much mail is being received")
    with clients.pop() as c:
        pass
    for c in clients:
        c.say("RSET")
    mta.submit(f"{mta.user}@test.example")
    for c in clients:
        c.close()


def test_listings_that_nobody_reads(mta, remote):
    """Messages of very many recipients, and 40 readers that read nothing."""
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.config["smtpd"].update(workers=1)
    mta.start()
    names = [f"{'r' * 40}{n}@remote.example" for n in range(1000)]
    for n in range(70):
        mta.submit(names, subject=f"list {n}")
    wait_until(lambda: mta.status()["queue"]["messages"] == 70, 60, "the queue to have them")
    before = settled(mta, "queue-manager")
    readers, place = [], os.open(mta.spool / "run", os.O_PATH)
    for _ in range(40):
        s = socket.socket(socket.AF_UNIX)
        s.connect(f"/proc/self/fd/{place}/showq")  # a path may be too long
        readers.append(s)
    now = settled(mta, "queue-manager")
    print(f"\nqueue-manager: {before / MB:.0f} MB before, {now / MB:.0f} MB with {len(readers)} listings unread")
    assert now - before < 25 * MB
    for s in readers[1:]:
        s.close()
    whole = b""
    readers[0].settimeout(60)
    while piece := readers[0].recv(1 << 20):
        whole += piece
    listed = whole.count(b"r" * 40)
    assert listed >= 70 * 1000, "the listing goes on where it stopped"
    readers[0].close()
    os.close(place)
    assert len(mta.queue()) == 70
