"""Messages as files: put into a directory they are sent, once; what cannot be sent lies in failed/ with the reason."""
import os
import shutil
import stat

import pytest

from harness.faults import Faults
from harness.watch import wait_until

MAIL = "X-Sender: sender@test.example\nX-Receiver: {to}\nSubject: {subject}\nTo: all\n\nHello.\n"


@pytest.fixture
def box(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    folder = mta.folder / "pickup-files"
    folder.mkdir(mode=0o755)
    mta.config["submit"]["pickup_directory"] = str(folder)
    return mta, sink, folder


def put(folder, name, text):
    """As a careful program does: written beside, then renamed in."""
    beside = folder.parent / f"{name}.new"
    beside.write_text(text)
    beside.rename(folder / name)


def mails(folder):
    return sorted(p.name for p in folder.glob("*.eml"))


def reasons(folder):
    return {p.name.partition(".")[2].removesuffix(".reason"): p.read_text().rstrip("\n") for p in folder.glob("failed/*.reason")}


@pytest.mark.smoke
def test_files_are_sent_and_removed(box):
    mta, sink, folder = box
    put(folder, "before.eml", MAIL.format(to="user@remote.example\nX-Receiver: two@remote.example", subject="before"))
    os.utime(folder / "before.eml", (0, 0))
    mta.start()
    put(folder, "after.eml", "From: Ann <ann@test.example>\r\nTo: user@remote.example\r\nBcc: b@remote.example\r\nSubject: after\r\n\r\nx\r\n")
    (folder / "note.txt").write_text("not mail")
    sink.wait_for(2)
    got = {m.header("Subject"): m for m in sink.messages}
    assert got["before"].sender == "sender@test.example"
    assert sorted(got["before"].recipients) == ["two@remote.example", "user@remote.example"]
    assert b"X-Receiver" not in got["before"].content and b"X-Sender" not in got["before"].content
    assert got["after"].sender == "ann@test.example"
    assert sorted(got["after"].recipients) == ["b@remote.example", "user@remote.example"] and not got["after"].header("Bcc")
    wait_until(lambda: not mails(folder), 15, "the files to be removed")
    assert (folder / "note.txt").exists()
    mta.wait_log(f"uid={os.getuid()} from=<sender@test.example>")
    mta.wait_until_empty()


def test_a_file_that_is_being_written_waits(box):
    mta, sink, folder = box
    mta.start()
    put(folder, "first.eml", MAIL.format(to="user@remote.example", subject="first"))
    sink.wait_for(1)
    with open(folder / "slow.eml", "w") as slow:
        slow.write("X-Sender: sender@test.example\nX-Receiver: user@remote.example\n")
        slow.flush()
        put(folder, "second.eml", MAIL.format(to="user@remote.example", subject="second"))
        sink.wait_for(2)
        slow.write("Subject: slow\n\nall of it\n")
    assert b"all of it" in sink.wait_for(3)[2].content
    mta.wait_until_empty()
    assert not reasons(folder)


def test_what_cannot_be_sent_lies_aside_with_the_reason(box):
    mta, sink, folder = box
    mta.config["submit"]["message_size"] = "1MiB"
    mta.start()
    mta.command("suppress", "add", "never@remote.example", "--reason", "asked for it")
    target = mta.folder / "secret"
    target.write_text(MAIL.format(to="user@remote.example", subject="secret"))
    (folder / "link.eml").symlink_to(target)
    os.link(target, folder / "hard.eml")
    os.mkfifo(folder / "fifo.eml")
    os.mknod(folder / "socket.eml", stat.S_IFSOCK | 0o600)
    (folder / "folder.eml").mkdir()
    put(folder, "nobody.eml", "Subject: x\n\nx\n")
    put(folder, "empty.eml", "")
    put(folder, "garbage.eml", "\0\xff" * 5000)
    put(folder, "bad.eml", MAIL.format(to="@@", subject="x"))
    put(folder, "lane.eml", MAIL.format(to="user@remote.example", subject="x").replace("To:", "X-Postrider-Lane: fast\nTo:"))
    put(folder, "never.eml", MAIL.format(to="never@remote.example", subject="x"))
    put(folder, "line.eml", "X-Sender: a@test.example\nX-Long: " + "x" * 1_200_000)
    put(folder, "large.eml", MAIL.format(to="user@remote.example", subject="x") + "x" * (3 << 20))
    put(folder, "open.eml", MAIL.format(to="user@remote.example", subject="x"))
    os.chmod(folder / "open.eml", 0o666)
    put(folder, "good.eml", MAIL.format(to="user@remote.example", subject="good"))
    sink.wait_for(1)
    expected = {"hard.eml": "further names", "nobody.eml": "sender is not known",
                "empty.eml": "sender is not known", "garbage.eml": "sender is not known", "bad.eml": "not a valid address",
                "lane.eml": "expected high, normal, bulk", "never.eml": "asked for it", "line.eml": "larger than 1024 KiB",
                "large.eml": "submit.message_size"}
    # open.eml may have been taken before its mode was changed: then it was sent.
    wait_until(lambda: set(expected) <= set(reasons(folder)), 30, lambda: f"all reasons: {reasons(folder)}")
    for name, text in expected.items():
        assert text in reasons(folder)[name], (name, reasons(folder)[name])
    odd = ["fifo.eml", "folder.eml", "link.eml", "socket.eml"]
    wait_until(lambda: mails(folder) == odd, 15, lambda: f"the others to be gone: {mails(folder)}")
    for name in odd:
        mta.wait_log(f"{name}: uid={os.getuid()}: it is not a regular file; ignored")
    assert not any(m.header("Subject") == "secret" for m in sink.messages) and target.exists()


def test_killed_at_any_time_it_is_sent_once(box):
    mta, sink, folder = box
    mta.expects_crashes = True
    mta.config["master"]["restart_delay"] = "50ms"
    mta.start()
    for n in range(100):
        put(folder, f"{n:03}.eml", MAIL.format(to="user@remote.example", subject=f"n{n}"))
        if n % 20 == 10:
            mta.kill("pickup")
    sink.wait_for(100, 90)
    wait_until(lambda: not mails(folder), 30, "the files to be removed")
    mta.wait_until_empty(30)
    assert sorted(m.header("Subject") for m in sink.messages) == sorted(f"n{n}" for n in range(100))


def test_sent_but_not_removed_it_is_not_sent_again(box):
    """As a crash between the two leaves it."""
    mta, sink, folder = box
    faults = Faults(mta)
    faults.begin("pickup", "unlink", "EIO")
    mta.start()
    put(folder, "once.eml", MAIL.format(to="user@remote.example", subject="once"))
    mta.wait_log("once.eml was sent and cannot be removed")
    mta.stop()
    faults.end("pickup")
    mta.start()
    wait_until(lambda: not mails(folder), 30, "the file to be removed")
    mta.wait_log("duplicate of")
    mta.wait_until_empty()
    assert len(sink.messages) == 1 and not reasons(folder)


def test_another_file_of_a_name_that_was_ignored_is_sent(box):
    mta, sink, folder = box
    mta.start()
    os.mkfifo(folder / "order.eml")
    mta.wait_log("order.eml: uid=%d: it is not a regular file; ignored" % os.getuid())
    put(folder, "order.eml", MAIL.format(to="user@remote.example", subject="order"))  # in the place of the other one
    sink.wait_for(1)
    wait_until(lambda: not mails(folder), 15, "the file to be removed")


def test_the_folder_of_failed_files_may_be_removed(box):
    mta, sink, folder = box
    mta.start()
    put(folder, "one.eml", "no mail")
    wait_until(lambda: "one.eml" in reasons(folder), 15, "the reason")
    shutil.rmtree(folder / "failed")
    mta.wait_log("failed/ was removed, and is made again")
    put(folder, "two.eml", "no mail either")
    wait_until(lambda: "two.eml" in reasons(folder), 15, lambda: f"the reason: {reasons(folder)}, {mails(folder)}")


def test_a_directory_that_was_replaced(box):
    """Its files are sent, or it is said that they are not: rights of a process are those of its start."""
    mta, sink, folder = box
    mta.expects_denials = True
    mta.start()
    put(folder, "one.eml", MAIL.format(to="user@remote.example", subject="one"))
    sink.wait_for(1)
    folder.rename(folder.with_name("former"))
    folder.mkdir(mode=0o755)
    put(folder, "two.eml", MAIL.format(to="user@remote.example", subject="two"))
    wait_until(lambda: len(sink.messages) == 2 or "restart" in mta.command("status", check=False).stdout, 15,
               lambda: f"the other file to be sent: {mta.command('status', check=False).stdout}")


@pytest.mark.needs("root")
def test_one_user_does_not_stop_others(box):
    mta, sink, folder = box
    os.chmod(folder, 0o1733)
    mta.config["submit"]["user_messages_per_hour"] = 0
    for n in range(2000):
        path = folder / f"{n:05}.eml"
        path.write_text(MAIL.format(to="user@remote.example", subject="one of many"))
        os.chown(path, 1001, 1001)
        os.utime(path, (0, 0))
    mta.start()
    sink.wait_for(1)
    put(folder, "zz-mine.eml", MAIL.format(to="mine@remote.example", subject="mine"))
    sink.wait_for_one_to("mine@remote.example", 15)
    assert len(mails(folder)) > 100, "the others are still waiting"


def test_a_directory_that_is_not_there(box):
    mta, sink, folder = box
    folder.rmdir()
    mta.start()
    mta.wait_log("pickup-files: No such file")
    wait_until(lambda: "pickup_directory" in mta.command("status", check=False).stdout, 15, "status to report it")
