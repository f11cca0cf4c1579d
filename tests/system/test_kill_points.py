"""kill -9 at every named hand-off: each point is hit, and afterwards everything acknowledged has arrived.

The points are named in the code (CRASH_POINT) and compiled in with -Dkill_points=true; .ci/run does that in its
sanitizer build.
"""
import re
from pathlib import Path

import pytest

from harness.client import message
from harness.mta import BUILD
from harness.watch import wait_until

ROOT = Path(__file__).resolve().parents[2]
POINTS = sorted({name for path in (ROOT / "daemons").rglob("*.cpp")
                 for name in re.findall(r'CRASH_POINT\("([^"]+)"\)', path.read_text())
                 if "transfer" not in name and not name.startswith("fleet.")})  # between nodes: test_transfer.py, test_fleet_keys.py


def compiled_in():
    programs = [p for p in (BUILD / "daemons").glob("smtp-client/smtp-client") if p.is_file()]
    return bool(programs) and b"POSTRIDER_KILL_RECORD" in programs[0].read_bytes()


def send(mta, acknowledged, token, recipient, sender):
    """As a careful client does: again until somebody takes responsibility."""
    def attempt():
        try:
            with mta.client() as c:
                return c.deliver(sender, [recipient], message(token, "x", sender or "<>", recipient)).startswith("250")
        except Exception:
            return False
    wait_until(attempt, 20, f"{token} to be taken")
    acknowledged.append(token)


@pytest.mark.smoke
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(mta, remote, point):
    if not compiled_in():
        pytest.skip("kill points are not compiled in")
    record = mta.folder / "hits"
    mta.wrap(POSTRIDER_KILL_POINT=point, POSTRIDER_KILL_RECORD=str(record))
    sink, refusing, slow = remote(), remote(), remote()
    refusing.at("rcpt", "550 5.1.1 No such user")
    slow.at("mail", "451 4.3.0 Later", times=2)
    mta.route("remote.example", sink)
    mta.route("refusing.example", refusing)
    mta.route("slow.example", slow)
    mta.aliases.write_text(f"team: {mta.user}, team@remote.example\n")
    if "mbox" in point:
        (mta.folder / "mail").mkdir()
        mta.config["local"]["mailbox"] = f"mbox:{mta.folder}/mail/{{user}}"
    if "command" in point:
        (mta.folder / "mail" / mta.user / "new").mkdir(parents=True)
        deliver = mta.folder / "deliver"
        deliver.write_text(f'#!/bin/sh\nexec cat > {mta.folder}/mail/{mta.user}/new/$$\n')
        deliver.chmod(0o755)
        mta.config["local"]["mailbox_command"] = str(deliver)
    mta.config["master"].update(restart_delay="50ms")
    mta.start()
    me, taken = f"{mta.user}@test.example", []
    for n in range(4):
        send(mta, taken, f"token-relayed-{n}", "user@remote.example", me)
        send(mta, taken, f"token-deferred-{n}", "user@slow.example", me)
        send(mta, taken, f"token-refused-{n}", "user@refusing.example", me)
        send(mta, taken, f"token-local-{n}", me, "a@remote.example")
        send(mta, taken, f"token-team-{n}", "team@test.example", "a@remote.example")
        send(mta, [], f"token-bad-{n}", "user@refusing.example", "gone@refusing.example")
        done = mta.sendmail("-i", "user@remote.example", input=f"Subject: token-submitted-{n}\n\nx\n")
        if done.returncode == 0:
            taken.append(f"token-submitted-{n}")
        else:
            assert done.returncode == 75, done.stderr
    mta.wait_until_empty(40)
    if not record.exists():
        mta.restart()  # some points lie on the way up or down
        mta.wait_until_empty(20)
    assert record.exists(), f"{point} was never passed"
    mailbox = mta.mailbox()
    if "mbox" in point:
        mailbox = re.split(r"^From ", (mta.folder / "mail" / mta.user).read_text(), flags=re.M)
    places = {"relayed": [m.text for m in sink.messages], "submitted": [m.text for m in sink.messages],
              "deferred": [m.text for m in slow.messages], "refused": mailbox, "local": mailbox, "team": mailbox}
    for token in taken:
        kind = token.split("-")[1]
        times = sum(f"Subject: {token}\r" in t or f"Subject: {token}\n" in t for t in places[kind])
        assert times >= 1, f"{token} is lost"
        assert times <= 2, f"{token} came {times} times"
    assert {t for t in taken if "team" in t} <= {m.header("Subject") for m in sink.messages}
    assert list((mta.spool / "bad").iterdir()), "the undeliverable reports are in bad/"
