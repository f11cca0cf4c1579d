"""Delivery on this host beyond plain mailboxes: commands and how they end, full disks, size limits, loops, .forward."""
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.unpacked import tree
from harness.watch import wait_until
from test_mailbox_owners import OWNER, place, rooted  # noqa: F401

# By the recipient's extension; what it is given it keeps.
COMMAND = """#!/bin/sh
cd {folder}
case "$EXTENSION" in
later) [ -e tried ] || {{ touch tried; echo come back; exit 75; }} ;;
nobody) echo never heard of; exit 67 ;;
over) echo 5.2.2 no room; exit 1 ;;
deaf) exec <&-; exit 0 ;;
crash) [ -e begun ] || {{ echo $$ > begun; exec sleep 1000; }} ;;
slow) touch "slow.$$"; until [ -e finish ]; do sleep 0.1; done ;;
hang) sleep 1000 & echo $! >> hanging; wait ;;
esac
cat > "got-$EXTENSION.$$" && mv "got-$EXTENSION.$$" "got-$EXTENSION"
"""


@pytest.fixture
def commanding(mta):
    script = mta.folder / "deliver"
    script.write_text(COMMAND.format(folder=mta.folder))
    script.chmod(0o755)
    mta.config["local"].update(mailbox_command=str(script), command_timeout="30s")
    return mta


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


def got(mta, extension):
    path = mta.folder / f"got-{extension}"
    wait_until(path.exists, 15, lambda: f"{path}\n{mta.last_words()}")
    return path.read_text()


def test_a_user_s_slow_commands_hold_up_nobody_else(commanding):
    """Each user's commands are a queue of their own, so many of them run at a time; the next one begins when one ends."""
    mta = commanding
    mta.start()
    slow = [mta.submit("someone+slow@test.example") for _ in range(12)]  # more than there are places for all
    wait_until(lambda: len(list(mta.folder.glob("slow.*"))) == 2, 15, mta.last_words)
    mta.submit("other+fine@test.example", "not mine")
    assert "Subject: not mine" in got(mta, "fine")
    assert len(list(mta.folder.glob("slow.*"))) == 2
    assert "queue.connections_per_user" in "".join(mta.command("explain", each).stdout for each in slow)
    (mta.folder / "finish").touch()
    mta.wait_until_empty()
    assert len(list(mta.folder.glob("slow.*"))) == 12


def test_as_many_deliveries_at_a_time_as_the_setting_says(commanding):
    mta, most = commanding, 18
    mta.config["queue"].update(connections_local=most, connections_per_user=1000)
    mta.start()
    for _ in range(most + 2):
        mta.submit(f"{mta.user}+slow@test.example")
    wait_until(lambda: len(list(mta.folder.glob("slow.*"))) == most, 20,
               lambda: f"{len(list(mta.folder.glob('slow.*')))} run\n{mta.last_words()}")
    busy = [entry for entry in mta.queue() if entry[1] == "*"]
    assert len(busy) == most
    mta.config["queue"]["connections_local"] = 500
    mta.write_config()
    mta.command("reload")
    mta.wait_log(rf"queue.connections_local = 500: more than {most} deliveries at a time only after the next start")
    assert len(list(mta.folder.glob("slow.*"))) == most
    (mta.folder / "finish").touch()
    mta.wait_until_empty()


def test_a_command_s_end_is_the_delivery_s(commanding):
    mta = commanding
    mta.start()
    name = str(mta.folder / "deliver")
    mta.submit("someone+fine@test.example", "mine", sender="sender@far.example")
    text = got(mta, "fine")
    first, text = text.split("\n", 1)
    assert first.startswith("From sender@far.example  ")
    assert text.startswith("Return-Path: <sender@far.example>\nX-Original-To: someone+fine@test.example\n"
                           "Delivered-To: someone+fine@test.example\n")
    assert "\nSubject: mine\n" in text and "\r" not in text
    mta.wait_log(rf"to=<someone\+fine@test.example>, relay=local, .*dsn=2.0.0, status=sent \(delivered to command: {name}\)")

    mta.submit("someone+later@test.example")
    got(mta, "later")
    mta.wait_log(r"dsn=4.3.0, status=deferred \(temporary failure. Command output: come back\)")

    large = "x" * 70 + "\r\n"
    mta.submit("someone+deaf@test.example", body=large * 20_000)
    mta.wait_log(r"to=<someone\+deaf@test.example>, .*dsn=2.0.0, status=sent")

    mta.submit("someone+nobody@test.example", sender="someone+report@test.example")
    report = got(mta, "report")
    assert "never heard of" in report and "Status: 5.1.1" in report
    mta.submit("someone+over@test.example", sender="someone+full@test.example")
    assert "Status: 5.2.2" in got(mta, "full")
    mta.wait_log(r"dsn=5.1.1, status=bounced \(user unknown. Command output: never heard of\)")
    mta.wait_log(r"dsn=5.2.2, status=bounced \(no room\)")

    mta.submit("someone+fine@test.example", extra="Delivered-To: Someone+Fine@test.example\r\n", sender="someone+loop@test.example")
    assert "Status: 5.4.6" in got(mta, "loop")
    mta.wait_log(r"dsn=5.4.6, status=bounced \(mail forwarding loop for someone\+fine@test.example\)")
    mta.wait_until_empty()


def test_a_command_dies_with_the_daemon_and_is_run_again(commanding):
    mta = commanding
    mta.start()
    mta.submit("someone+crash@test.example", "not lost", body=("x" * 70 + "\r\n") * 5000)
    begun = mta.folder / "begun"
    wait_until(lambda: begun.exists() and begun.read_text(), 15, "the command to run")
    mta.kill("local")
    assert "Subject: not lost" in got(mta, "crash")
    wait_until(lambda: not running(begun.read_text().strip()), 10, "the first one to be gone")
    mta.wait_until_empty()


def test_a_command_that_hangs_is_killed_with_all_it_started(commanding):
    mta = commanding
    mta.config["local"]["command_timeout"] = "1s"
    mta.start()
    mta.submit("someone+hang@test.example")
    mta.wait_log(r"dsn=4.3.0, status=deferred \(Command time limit exceeded: \"")
    first = (mta.folder / "hanging").read_text().split()[0]
    wait_until(lambda: not running(first), 15, "what the command started to be gone")


@pytest.mark.needs("mounts")
def test_a_full_disk_is_waited_for(mta):
    mail = mta.folder / "mail"
    mail.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mail], check=True)
    try:
        mta.start()
        mta.submit("someone@test.example", "large", body=("x" * 70 + "\r\n") * 3000)
        mta.wait_log(r"dsn=4.3.1, status=deferred \(no space left: ")
        assert list((mail / "someone" / "tmp").iterdir()) == []
        subprocess.run(["mount", "-o", "remount,size=8m", mail], check=True)
        assert mta.wait_mailbox(1)[0].count("x" * 70) == 3000
        mta.wait_until_empty()
    finally:
        mta.kill_everything()
        subprocess.run(["umount", mail], check=True)


def test_a_mailbox_that_may_not_grow_is_full(mta):
    mta.config["local"].update(mailbox=f"mbox:{mta.folder}/mail/{{user}}", mailbox_size="20KiB")
    mta.start()
    mta.submit("other@test.example", "first")
    mta.wait_log(r"to=<other@test.example>, .*status=sent \(delivered to mailbox\)")
    before = (mta.folder / "mail" / "other").read_text()
    mta.submit("other@test.example", "second", body=("x" * 70 + "\r\n") * 1000, sender="someone@test.example")
    mta.wait_log(r"to=<other@test.example>, .*dsn=5.2.2, status=bounced \(mailbox full: .*/mail/other may not grow beyond 20480 bytes\)")
    assert (mta.folder / "mail" / "other").read_text() == before
    mta.submit("other@test.example", "third")
    wait_until(lambda: "Subject: third" in (mta.folder / "mail" / "other").read_text(), 15, mta.last_words)


@pytest.mark.needs("root")
def test_procmail_delivers_as_the_user(rooted):  # noqa: F811
    mta = rooted
    shutil.copy(tree("procmail") / "usr/bin/procmail", mta.folder / "procmail")  # where the user may pass
    (mta.folder / "procmail").chmod(0o755)
    box = mta.folder / "mail" / "sorted"
    mta.config["local"]["mailbox_command"] = f'{mta.folder}/procmail -a "$EXTENSION" DEFAULT={box} /dev/null'
    mta.start()
    mta.submit(f"{OWNER}@test.example", "by procmail")
    wait_until(lambda: box.exists() and "Subject: by procmail" in box.read_text(), 15, mta.last_words)
    assert pwd.getpwuid(box.stat().st_uid).pw_name == OWNER
    assert box.read_text().startswith("From ")
    mta.wait_log(r"status=sent \(delivered to command: ")
