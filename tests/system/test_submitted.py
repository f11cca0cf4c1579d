"""What becomes of submitted mail while Postrider stops, and what the log tells of mail that nobody could deliver."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness.mta import kill
from harness.watch import wait_until


@pytest.mark.needs("root")  # what a process waits in
def test_a_stop_loses_nobody_who_is_handing_in(mta):
    mta.start()
    pickup = mta.wait_for_role("pickup")[0]
    kill(pickup, signal.SIGSTOP)  # as busy as can be
    early = [subprocess.Popen([mta.programs / "sendmail", "-C", mta.file, "-f", "x@test.example", mta.user],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for number, each in enumerate(early):
        each.stdin.write(f"Subject: early {number}\n\nx\n")
        each.stdin.close()
    door = mta.spool / "run" / "submit"
    wait_until(lambda: all("poll" in Path(f"/proc/{each.pid}/wchan").read_text() for each in early), 15,
               "all of them to wait for an answer")
    stop = subprocess.Popen([mta.programs / "postrider", "stop", "-c", mta.file], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: not door.exists(), 15, "the door to be closed")
    assert mta.sendmail("-f", "x@test.example", mta.user, input="Subject: late\n\nx\n").returncode == 0
    kill(pickup, signal.SIGCONT)
    assert [each.wait(15) for each in early] == [0, 0, 0], [each.stderr.read() for each in early]
    assert stop.wait(20) == 0
    mta.stop()
    assert len([name for name in os.listdir(mta.spool / "drop") if name != ".limits"]) == 1
    mta.start()
    subjects = sorted(re.search("^Subject: (.*)$", m, re.M)[1] for m in mta.wait_mailbox(4))
    assert subjects == ["early 0", "early 1", "early 2", "late"]


def test_nobody_leaves_without_a_line_that_says_why(mta):
    """The line of a recipient that no agent had comes before the message's last one, however soon that is."""
    mta.start()
    for _ in range(20):
        assert mta.sendmail("-N", "never", "-f", "x@test.example", "unknown").returncode == 0
    mta.wait_log(": removed$", count=20)
    mta.wait_until_empty()
    lines = mta.log()
    for queue_id in {m[1] for m in mta.logged(r"pickup\[\d+\]: (\w+): uid=")}:
        of_it = [line for line in lines if f" {queue_id}: " in line]
        assert "status=bounced (unknown user" in of_it[-2] and of_it[-1].endswith(": removed"), of_it


def test_programs_of_this_host_speak_smtp_as_they_call_sendmail(mta, remote):
    """What the header lacks is added, as by Debian's Postfix (local_header_rewrite_clients); not to what others sent."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["complete_headers"] = ["127.0.0.1"]
    mta.config["listen.relay"]["xforward_networks"] = ["127.0.0.0/8"]
    mta.start()
    bare = "Subject: {}\r\nTo: ann\r\nBcc: hidden@remote.example\r\n\r\nx\r\n"
    for subject, source, before in (("ours", "127.0.0.1", []), ("empty", "127.0.0.1", []), ("neighbour", "127.0.0.9", []),
                                    ("passed on", "127.0.0.1", ["XFORWARD NAME=a.example ADDR=192.0.2.7"])):
        with mta.client(source=source) as c:
            for command in before:
                assert c.say(command).startswith("250")
            reply = c.deliver("bob", ["user@remote.example"], "" if subject == "empty" else bare.format(subject))
            assert reply.startswith("250"), reply
    sink.wait_for(4)
    got = {m.header("Subject") or "empty": m for m in sink.messages}
    for subject in ("ours", "empty"):
        added = {name: got[subject].header(name) for name in ("From", "Date", "Message-ID")}
        assert added["From"] == "bob@test.example" and added["Date"] and "@test.example>" in added["Message-ID"], added
        assert mta.logged(re.escape(f"message-id={added['Message-ID']}"))
    assert got["ours"].header("To") == "ann@test.example" and not got["ours"].header("Bcc")
    for subject in ("neighbour", "passed on"):
        assert got[subject].header("To") == "ann" and not got[subject].header("Message-ID"), subject
