"""Mail that programs leave while nothing runs: sendmail has said yes, so it is delivered or somebody gets a report."""
import os
import shutil
import struct
import subprocess
import textwrap

import pytest

from harness.mta import BUILD
from harness.watch import wait_until

HOPS = "".join(f"Received: from h{n}.example by h.example; Fri, 20 Nov 2026 16:00:00 +0000\n" for n in range(60))
LONG = "X-Long: " + "x" * 900 + "\n"


def dropped(mta):
    return sorted(p for p in (mta.spool / "drop").iterdir() if not p.name.startswith("."))


def aside(mta):
    return sorted(p.name for p in (mta.spool / "quarantine" / "incomplete").iterdir())


@pytest.fixture
def down(mta, remote):
    """An MTA that has run and is stopped; its sink; the sender's mailbox is that of "someone"."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.aliases.write_text(f"sender: {mta.user}\npostmaster: other\n")
    mta.start()
    mta.stop()
    return mta, sink


@pytest.mark.parametrize("what, text", [
    (LONG * 1300 + "\nx\n", "header larger than"),
    (HOPS + "\nx\n", "message is looping"),
    ("X-Postrider-Pool: nosuch\nSubject: x\n\nx\n", "no pool"),
    ("Subject: x\n\nx\n", "too many recipients"),
], ids=["header", "hops", "pool", "recipients"])
def test_sendmail_itself_refuses_what_pickup_would(down, what, text):
    mta, _ = down
    mta.config["submit"]["recipients"] = 3
    mta.config["pool.bulk"] = {"addresses": [mta.address]}
    mta.write_config()
    recipients = [f"r{n}@remote.example" for n in range(4 if "recipients" in text else 1)]
    done = mta.sendmail("-f", "sender@test.example", *recipients, input=what)
    assert done.returncode == 65 and text in done.stderr, done.stderr
    assert not dropped(mta)


def test_what_is_refused_later_is_reported(down):
    """A message that the configuration of the next start refuses, one without a sender, and one that is too large by then: each
    comes back with the reason; the one behind them is delivered, and nothing lies in the drop directory."""
    mta, sink = down
    mta.config['pool.bulk'] = {"addresses": [mta.address]}
    mta.write_config()
    for sender, subject in (("sender@test.example", "from a sender"), ("<>", "from nobody")):
        done = mta.sendmail("-f", sender, "user@remote.example",
                            input=f"X-Postrider-Pool: bulk\nSubject: {subject}\n\nthe text itself\n")
        assert done.returncode == 0, done.stderr
    assert mta.sendmail("-f", "sender@test.example", "user@remote.example",
                        input="Subject: too large\n\n" + "y" * 70 + "\n" + "z\n" * 100_000).returncode == 0
    assert mta.sendmail("-f", "sender@test.example", "user@remote.example", input="Subject: behind\n\nx\n").returncode == 0
    assert len(dropped(mta)) == 4
    del mta.config['pool.bulk']
    mta.config["submit"]["message_size"] = "100KiB"
    mta.start()
    sink.wait_for(1)
    assert "behind" in sink.messages[0].text
    reports = mta.wait_mailbox(2)
    assert any("there is no pool" in r and "from a sender" in r and "the text itself" in r for r in reports), reports
    assert any("larger than 102400 bytes" in r and "too large" in r and "user@remote.example" in r for r in reports), reports
    to_postmaster = mta.wait_mailbox(1, user="other")[0]
    assert "there is no pool" in to_postmaster and "from nobody" in to_postmaster
    wait_until(lambda: not dropped(mta), 10, "the drop directory to be empty")
    wait_until(lambda: len(aside(mta)) == 2, 10, lambda: f"the one that was not returned whole to be kept: {aside(mta)}")
    assert any(n.endswith(".why") for n in aside(mta))
    mta.wait_until_empty()
    assert len(sink.messages) == 1


def frames(*bodies):
    return b"".join(struct.pack("<I", len(b)) + b for b in bodies)


def test_a_bad_file_blocks_nobody_and_is_reported(down):
    """A file of another version, one that nobody can read, and one of nonsense lie before a good one."""
    mta, sink = down
    assert mta.sendmail("-f", "sender@test.example", "user@remote.example", input="Subject: good\n\nx\n").returncode == 0
    good = dropped(mta)[0]
    octets = good.read_bytes()
    at = octets.index(b"\x02")  # the version, first of all that is said
    other = mta.spool / "drop" / "0000000000001.1.1"
    other.write_bytes(octets[:at] + b"\x63" + octets[at + 1:])
    nonsense = mta.spool / "drop" / "0000000000002.1.1"
    nonsense.write_bytes(b"\xff" * 200)
    for file in (other, nonsense):
        os.chmod(file, 0o644)
    mta.start()
    sink.wait_for(1)
    assert "good" in sink.messages[0].text
    wait_until(lambda: not dropped(mta), 10, "the drop directory to be empty")
    assert "different versions" in mta.wait_mailbox(1)[0]
    assert "malformed" in mta.wait_mailbox(1, user="other")[0]
    assert {"drop.0000000000002.1.1", "drop.0000000000002.1.1.why"} <= set(aside(mta))


@pytest.mark.needs("mounts")
def test_what_cannot_be_removed_is_not_submitted_again(down):
    """A file that stays though it was submitted: delivered once, however often the directory is looked through."""
    mta, sink = down
    assert mta.sendmail("-f", "sender@test.example", "user@remote.example", input="Subject: once\n\nx\n").returncode == 0
    file = dropped(mta)[0]
    subprocess.run(["mount", "--bind", file, file], check=True)
    try:
        mta.start()
        mta.wait_log("was submitted and cannot be removed", count=3)
        assert len(sink.messages) == 1, [m.text for m in sink.messages]
    finally:
        subprocess.run(["umount", file], check=True)
    wait_until(lambda: not dropped(mta), 10, "it to go when it can")
    mta.wait_until_empty()
    assert len(sink.messages) == 1


@pytest.mark.needs("root", "mounts")
def test_one_users_share_and_the_disks_floor(mta, folder):
    """As installed, nothing running: a user who has left as much as one may is told to wait, others are not; a message over the
    size limit, and one that would take what the disk keeps free, leave nothing behind."""
    helper = next((BUILD / "daemons").glob("*/postrider-drop"))
    place = folder / "place"
    place.mkdir()
    shutil.copy2(helper, place / "postrider-drop")
    shutil.copy2(mta.programs / "sendmail", place / "sendmail")
    (place / "conf").write_text('[mta]\nhostname = "h.example"\n[listen.relay]\naddresses = ["127.0.0.1:2525"]\n')
    script = textwrap.dedent("""
        mount -t tmpfs -o size=20m none /var/spool
        mkdir -p /var/spool/postrider/drop /var/spool/bin
        mount -t tmpfs none /var/spool/bin
        cp $1/* /var/spool/bin && chmod 755 /var/spool /var/spool/bin
        cd /var/spool/postrider/drop
        printf 'message_size 300000\nminimum_free 2000000\nminimum_free_inodes 1\nuser_bytes 1000000\nuser_messages 5\n' > .limits
        chown 64991:64992 . .limits && chmod 1770 . && chmod 644 .limits
        chgrp 64992 /var/spool/bin/postrider-drop && chmod 2755 /var/spool/bin/postrider-drop
        leave() { (echo "Subject: x"; echo; head -c $2 /dev/zero | tr '\\0' a | fold -w 70) | setpriv --reuid $1 --regid $1 \
                  --clear-groups /var/spool/bin/sendmail -C /var/spool/bin/conf a@b.example; echo "$1 $2 $?"; }
        for n in 1 2 3 4 5 6; do leave 12345 10; done
        leave 12346 400000
        for n in 1 2 3 4; do leave 12346 280000; done
        leave 12347 10
        for n in 1 2 3 4 5 6; do leave 0 10; done
        head -c 19000000 /dev/zero > /var/spool/fill
        leave 12348 10
        rm /var/spool/fill
        leave 12348 10
        ls | wc -l
        """)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", place], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    said = done.stdout.split("\n")
    expected = ["12345 10 0"] * 5 + ["12345 10 75", "12346 400000 65"] + ["12346 280000 0"] * 3 + ["12346 280000 75"]
    expected += ["12347 10 0"] + ["0 10 0"] * 6 + ["12348 10 75", "12348 10 0", "16"]
    assert said[:len(expected)] == expected, done.stdout + done.stderr
    assert "a user may submit 5 messages and 1000000 bytes" in done.stderr
    assert "larger than 300000 bytes" in done.stderr and "the spool's disk is full" in done.stderr
