"""sendmail, mailq, newaliases and the drop helper as callers and their users see them."""
import re
import shutil
import signal
import subprocess
import textwrap
from pathlib import Path

import pytest

from harness.unpacked import run_as_if_installed
from harness.watch import wait_until

SESSION = ("EHLO me\nMAIL FROM:<me@test.example>\nRCPT TO:<user@remote.example>\nDATA\n"
           "Subject: by -bs\n\n..dots\n.\nQUIT\n")


def replies(text):
    return [line[:3] for line in text.splitlines() if re.match(r"\d\d\d ", line)]


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_smtp_on_standard_input(relaying, ends):
    mta, sink = relaying
    done = mta.sendmail("-bs", input=SESSION.replace("\n", ends))
    assert done.returncode == 0, done.stderr
    assert replies(done.stdout) == ["220", "250", "250", "250", "354", "250", "221"]
    assert re.search(r"250 2\.0\.0 Ok: queued as [0-9A-F]{14}", done.stdout)
    assert sink.wait_for_one_to("user@remote.example").text.endswith("\r\n\r\n.dots\r\n")


def test_smtp_on_standard_input_while_nothing_runs(relaying):
    mta, sink = relaying
    mta.stop()
    done = mta.sendmail("-bs", input=SESSION)
    assert replies(done.stdout) == ["220", "250", "250", "250", "354", "250", "221"]
    mta.start()
    sink.wait_for_one_to("user@remote.example")


def test_bad_addresses_are_told_at_once_also_while_nothing_runs(relaying):
    mta, _ = relaying
    for running in (True, False):
        if not running:
            mta.stop()
        for arguments, status in ((["a@b (open"], 65), (["-f", "a, b", "c@d.example"], 65), (["-t"], 64)):
            done = mta.sendmail(*arguments)
            assert done.returncode == status, (arguments, done.stderr)
            assert len(done.stderr.splitlines()) == 1


def test_a_killed_sendmail_queues_nothing(relaying):
    mta, sink = relaying
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Who runs this in the background ignores SIGINT, under nohup SIGHUP, and so would the child.
        child = subprocess.Popen([mta.programs / "sendmail", "-C", mta.file, "user@remote.example"], stdin=subprocess.PIPE,
                                 preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
        child.stdin.write(b"Subject: half of it\n\nand then\n")
        child.stdin.flush()
        child.send_signal(number)
        assert child.wait(5) == -number
        child.stdin.close()
    assert mta.sendmail("user@remote.example", input="Subject: whole\n\nx\n").returncode == 0
    sink.wait_for_one_to("user@remote.example")
    assert [m.header("Subject") for m in sink.messages] == ["whole"]


def test_pickup_killed_again_and_again(relaying):
    """What sendmail says is queued arrives; what it says is not, does not arrive twice."""
    mta, sink = relaying
    mta.config["master"].update(restart_delay="50ms")
    queued = []
    for n in range(12):
        if n % 3 == 1:
            mta.kill("pickup")
        done = mta.sendmail("user@remote.example", input=f"Subject: number {n}\n\nx\n")
        assert done.returncode in (0, 75), done.stderr
        if done.returncode == 0:
            queued.append(f"number {n}")
    mta.wait_until_empty(30)
    assert set(queued) <= {m.header("Subject") for m in sink.messages}


def test_the_listing_is_postfixs(mta):
    mta.config['route."nobody.example"'] = {"next_hop": ["[127.0.0.1]:1"]}
    mta.start()
    assert mta.run("mailq", "-C", mta.file).stdout == "Mail queue is empty\n"
    assert mta.sendmail("-f", "me@test.example", "a@nobody.example", "b@nobody.example").returncode == 0
    mta.wait_log("Connection refused")
    listing = mta.run("mailq", "-C", mta.file).stdout
    assert re.fullmatch(r"-Queue ID-  --Size-- ----Arrival Time---- -Sender/Recipient-------\n"
                        r"[0-9A-F]{14}[ *] +\d+ \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d  me@test\.example\n"
                        r" *\(connect to .*: Connection refused\)\n"
                        r" {41}a@nobody\.example\n {41}b@nobody\.example\n"
                        r"\n-- 0 Kbytes in 1 Request\.\n", listing), listing
    mta.stop()
    down = mta.run("mailq", "-C", mta.file)
    assert (down.returncode, down.stdout) == (69, "")
    assert "mail system is down" in down.stderr


def test_one_message_or_one_site_is_tried_now(mta, remote):
    """-qI and -qR: that one goes, whatever it waits for; the others stay."""
    sink, other = remote(), remote()
    for s in (sink, other):
        s.at("rcpt", "450 4.2.0 Later")
    mta.route("remote.example", sink)
    mta.route("other.example", other)
    mta.config["queue"].update(glitch_interval="1h", retry_interval="1h")
    mta.start()
    first, second = mta.submit("first@remote.example"), mta.submit("second@remote.example")
    third = mta.submit("third@other.example")
    for queue_id in (first, second, third):
        mta.wait_log(rf"{queue_id}: .*status=deferred")
    sink.well_behaved()
    other.well_behaved()
    assert mta.sendmail(f"-qI{second}").returncode == 0
    sink.wait_for_one_to("second@remote.example")
    wait_until(lambda: mta.queued_ids() == {first, third}, 10, "it to leave the queue")
    assert mta.sendmail("-qRother.example").returncode == 0
    other.wait_for(1)
    assert mta.sendmail("-qRnobody.example").returncode == 0
    assert mta.sendmail("-qRfirst@remote.example").returncode == 0
    mta.wait_until_empty()
    gone = mta.sendmail(f"-qI{second}")
    assert gone.returncode == 65 and "there is no message" in gone.stderr


def test_newaliases_says_what_will_not_be_understood(mta):
    mta.aliases.write_text("team: a, b\n")
    mta.write_config()
    assert mta.run("newaliases", "-C", mta.file).returncode == 0
    mta.aliases.write_text("team: a, b\nno colon here\n")
    odd = mta.run("newaliases", "-C", mta.file)
    assert odd.returncode == 0 and f"{mta.aliases}:2:" in odd.stderr


ODD_ALIASES = {
    "a quote is not closed": 'ann: "bob',
    "no colon": "just words",
    "no name": ": bob",
    "nobody behind it": "ann:",
    "twice": "ann: bob\nann: carol",
    "continues nothing": "  carol\nann: bob",
    "no address": "ann: foo@@bar, bob",
    "an angle bracket is not closed": "ann: <bob@x.example",
    "nothing to include": "ann: :include:",
    "a relative path": "ann: :include:lists/ann",
    "a mark before it": "\ufeffann: bob",
    "a name with a domain": "ann@x.example: bob",
    "two names": "ann, bea: bob",
}


@pytest.mark.needs("root", "mounts")
def test_newaliases_ends_as_debians_postfix_has_it(mta, folder):
    """What will not be understood is said, and is no failure; a file that cannot be read is one."""
    mta.write_config()
    cases = folder / "cases"
    cases.mkdir()
    for number, text in enumerate(ODD_ALIASES.values()):
        (cases / f"{number}").write_text(text + "\nbea: bob\n")
    missing = len(ODD_ALIASES)
    ours = []
    for number in range(missing + 1):
        mta.aliases.unlink(missing_ok=True)
        if number < missing:
            mta.aliases.write_text((cases / f"{number}").read_text())
        ours.append(mta.run("newaliases", "-C", mta.file).returncode)

    settings = folder / "settings"
    settings.mkdir()
    # Under a short name, for in the queue's directory it looks for a socket.
    (settings / "main.cf").write_text("compatibility_level = 3.6\nqueue_directory = /mnt\nmaillog_file = /var/log/mail\n"
                                      "alias_database = hash:/mnt/aliases\n")
    for name, more in (("passwd", "postfix:x:64990:64990::/:/bin/sh\n"), ("group", "postfix:x:64990:\npostdrop:x:64991:\n")):
        (folder / name).write_text(Path(f"/etc/{name}").read_text() + more)
    loop = (f"cd /mnt; for n in $(seq 0 {missing}); do rm -f aliases*; [ $n = {missing} ] || cp $n aliases; "
            "newaliases; echo $?; done")
    theirs = run_as_if_installed(["postfix"], ["sh", "-c", loop], {"/mnt": cases, "/etc/postfix": settings,
                                                                  "/etc/passwd": folder / "passwd", "/etc/group": folder / "group"})
    theirs = [int(status) for status in theirs.stdout.split()]
    names = [*ODD_ALIASES, "no such file"]
    assert dict(zip(names, ours, strict=True)) == dict(zip(names, theirs, strict=True))
    assert theirs[0] == 0 and theirs[-1] == 1


@pytest.mark.needs("root", "mounts")
def test_the_drop_helper_is_the_only_way_in(mta, tmp_path):
    """As installed: set-gid, an ordinary user, nobody listening. The directory is the helper's own choice."""
    from harness.mta import BUILD
    helper = next((BUILD / "daemons").glob("*/postrider-drop"))
    place = tmp_path / "place"
    place.mkdir()
    shutil.copy2(helper, place / "postrider-drop")
    shutil.copy2(mta.programs / "sendmail", place / "sendmail")
    (place / "conf").write_text('[mta]\nhostname = "h.example"\n[listen.relay]\naddresses = ["127.0.0.1:2525"]\n')
    script = textwrap.dedent("""
        set -e
        mount -t tmpfs none /var/spool
        mkdir -p /var/spool/postrider/drop /var/spool/bin
        chown 64991:64992 /var/spool/postrider/drop && chmod 1770 /var/spool/postrider/drop
        cp $1/* /var/spool/bin && chmod 755 /var/spool /var/spool/bin
        chgrp 64992 /var/spool/bin/postrider-drop && chmod 2755 /var/spool/bin/postrider-drop
        user="setpriv --reuid 12345 --regid 12345 --clear-groups"
        echo "Subject: x" | $user /var/spool/bin/sendmail -C /var/spool/bin/conf a@b.example
        stat -c '%u %g %a' /var/spool/postrider/drop/*
        echo garbage | $user /var/spool/bin/postrider-drop && exit 1
        HOME=/x POSTRIDER_CONFIG=/x $user /var/spool/bin/postrider-drop /tmp </dev/null && exit 1
        (ulimit -f 1; head -c 100000 /dev/zero | tr '\\0' a | $user /var/spool/bin/sendmail -C /var/spool/bin/conf a@b.example) \\
            || echo "large $?"
        echo "Subject: x" | $user --no-new-privs /var/spool/bin/sendmail -C /var/spool/bin/conf a@b.example || echo "confined $?"
        chmod 755 /var/spool/bin/postrider-drop
        echo "Subject: x" | $user /var/spool/bin/sendmail -C /var/spool/bin/conf a@b.example || echo "status $?"
        ls /var/spool/postrider/drop | wc -l
        """)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", place], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[3:5] == ["status 75", "1"], done.stdout + done.stderr
    assert "postrider-drop: writing to the drop directory: File too large" in done.stderr
    assert "the caller runs with no_new_privs (systemd: NoNewPrivileges=yes)" in done.stderr
    assert done.stdout.split("\n")[:3] == ["12345 64992 644", "large 75", "confined 75"], done.stdout + done.stderr
    assert "/var/spool/postrider/drop: Permission denied: postrider-drop must belong to the directory's group" in done.stderr
