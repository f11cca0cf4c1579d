"""Disks that are full, broken, slow or cut from power."""
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from harness.books import Load, balance
from harness.mta import kill
from harness.sink import slowly
from harness.trouble import Injection
from harness.watch import wait_until


@pytest.fixture
def small_disk(mta):
    """The spool on a tmpfs of 12 MB and 600 inodes."""
    def mount(options="size=12m,nr_inodes=600"):
        mta.spool.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", mta.spool], check=True)
    yield mount
    mta.kill_everything()
    subprocess.run(["umount", "-l", mta.spool], capture_output=True)


@pytest.mark.needs("mounts")
def test_disk_full_and_free_again(mta, remote, small_disk):
    """No space: 452 4.3.1 and nothing acknowledged is lost; recovers by itself when space returns."""
    small_disk()
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.start()
    load = Load(mta, clients=2, count=60, size=200_000)
    load.join()
    assert load.refused > 0, "the disk was to fill up"
    with mta.client() as c:
        reply = c.deliver("a@test.example", ["user@remote.example"], ("Subject: big\r\n\r\n" + "x" * 70 + "\r\n").encode() * 30_000)
        assert reply.startswith("452 4.3.1"), reply
    sink.start()
    mta.flush()
    mta.wait_until_empty(40)
    balance(load, [sink])
    mta.submit("user@remote.example")


@pytest.mark.smoke
def test_messages_one_after_another_use_one_file(mta, remote):
    """A message that is delivered at once leaves its file to the next one; one that waits, or is long, does not."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    reused = lambda: sorted(p.name for p in (mta.spool / "incoming").rglob("*.reused"))
    for number in range(5):
        queue_id = mta.submit("user@remote.example", subject=f"number {number}", body=f"{number} " * 1000)
        mta.wait_log(rf"{queue_id}: removed")
        mta.wait_until_empty()
    files = reused()
    assert 1 <= len(files) <= 2, "two, if a message came before the queue-manager had given the file back"
    assert [f"number {n}" in m.text for n, m in enumerate(sink.messages)] == [True] * 5
    mta.submit("user@remote.example", body="x" * 70 + "\r\n" + ("x" * 70 + "\r\n") * 1000)
    mta.wait_until_empty()
    assert reused() == files
    sink.stop()
    waiting = mta.submit("user@remote.example")
    mta.wait_log(rf"{waiting}: .*status=deferred")
    wait_until(lambda: any(waiting == p.name for p in (mta.spool / "messages").rglob("*")), 10, "it to wait in messages/")
    assert len(reused()) == len(files) - 1


def test_a_destination_that_takes_its_time_costs_no_files(mta, remote):
    """A fifth of a second for each delivery, as usual over the Internet: still one message's file serves the next one."""
    sink = remote()
    sink.at("dot", slowly("250 2.0.0 Taken"))
    mta.route("remote.example", sink)
    mta.start()
    for number in range(10):
        mta.submit("user@remote.example", subject=f"number {number}")
        sink.wait_for(number + 1)
    mta.wait_until_empty()
    assert list((mta.spool / "incoming").rglob("*.reused")), "none of ten messages has left its file to another one"


@pytest.mark.needs("mounts")
def test_no_inodes(mta, remote, small_disk):
    small_disk("size=100m,nr_inodes=400")
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.start()
    load = Load(mta, clients=2, count=300, size=100)
    load.join()
    assert load.refused > 0
    with mta.client() as c:
        assert c.deliver("a@test.example", ["user@remote.example"], b"Subject: x\r\n\r\nx\r\n").startswith("452 4.3.1")
    sink.start()
    mta.flush()
    mta.wait_until_empty(40)
    balance(load, [sink])


@pytest.mark.needs("mounts")
def test_reports_are_written_even_on_a_full_disk(mta, remote, small_disk):
    """The reserve is for NDRs: mail that fails while the disk is full is still reported."""
    small_disk("size=12m")
    mta.config["spool"].update(reserve="2MiB", minimum_free="1MiB")
    mta.config["queue"].update(report_retry="5m")  # the reserve is there at once
    sink = remote()
    sink.at("rcpt", "450 4.2.0 Wait")
    mta.route("remote.example", sink)
    mta.aliases.write_text(f"sender: {mta.user}\n")  # the load's sender
    mta.start()
    load = Load(mta, clients=2, count=60, size=200_000)
    load.join()
    assert load.refused > 0
    sink.well_behaved()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.flush()
    mta.wait_until_empty(60)
    balance(load, [sink], reports=mta.wait_mailbox(len(load.acknowledged), seconds=60))


@pytest.mark.needs("strace")
@pytest.mark.parametrize("error, reply", [("EIO", "451 4.3.0"), ("ENOSPC", "452 4.3.1"), ("EDQUOT", "452 4.3.1")])
@pytest.mark.parametrize("call", ["fsync,fdatasync", "pwritev2,pwritev,pwrite64,writev"], ids=["sync", "write"])
def test_errors_of_the_disk_are_never_a_250(mta, remote, error, reply, call):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 1
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    injection = Injection(mta.wait_for_role("smtpd")[0], f"error={error}", call if call.startswith("fsync") else "pwrite64,pwritev,pwritev2")
    try:
        with mta.client() as c:
            answer = c.deliver("a@test.example", ["user@remote.example"], b"Subject: unlucky\r\n\r\nx\r\n")
            assert answer.startswith(reply), answer
            if error == "EIO":  # and no new mail for a while
                assert c.say("MAIL FROM:<a@test.example>").startswith("451 4.3.0")
                assert len(mta.logged("the spool cannot be written, no new mail is accepted until it can")) == 1
    finally:
        injection.end()
    if error != "EIO":
        wait_until(lambda: try_submit(mta), 15, "mail to be taken again")
        sink.wait_for(2)
    assert not any("unlucky" in m.text for m in sink.messages)


@pytest.mark.needs("strace")
def test_status_and_metric_say_that_no_mail_is_taken(mta, remote, block):
    """While every MAIL gets 451, and no longer than that: nobody has to send anything for it to be over."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 1
    port = block.port()
    mta.config["metrics"] = {"listen": [f"{mta.address}:{port}"]}
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)

    def accepting():
        return mta.status()["queue"]["accepting"]
    assert accepting() is True
    injection = Injection(mta.wait_for_role("smtpd")[0], "error=EIO", "fsync,fdatasync")
    try:
        with mta.client() as c:
            assert c.deliver("a@test.example", ["user@remote.example"], b"Subject: x\r\n\r\nx\r\n").startswith("451 4.3.0")
            assert c.say("MAIL FROM:<a@test.example>").startswith("451 4.3.0")
        wait_until(lambda: accepting() is False, 15, "the status to say so")
        why = mta.status()["queue"]["accepting_reason"]
        assert why.startswith("smtpd: the spool cannot be written: ") and "Input/output error" in why
        assert "Input/output error" in mta.command("status").stdout
        assert metric(mta, port, "postrider_accepting") == 0
    finally:
        injection.end()
    wait_until(lambda: accepting() is True, 30, "the status to be well again")
    mta.wait_log("the spool can be written again")
    assert metric(mta, port, "postrider_accepting") == 1
    mta.submit("user@remote.example")
    sink.wait_for(2)
    assert not list((mta.spool / "quarantine").rglob("*.*")), "what was tried left nothing behind"


def metric(mta, port, name):
    text = urllib.request.urlopen(f"http://{mta.address}:{port}/metrics", timeout=20).read().decode()
    return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])


def try_submit(mta):
    try:
        return mta.submit("user@remote.example")
    except AssertionError:
        return None


@pytest.mark.needs("strace")
def test_slow_disk_only_slows(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 1
    mta.start()
    injection = Injection(mta.wait_for_role("smtpd")[0], "delay_enter=1s", "fsync,fdatasync")
    try:
        load = Load(mta, clients=8, count=2)
        load.join()
        with mta.client() as c:
            assert c.say("NOOP").startswith("250")
    finally:
        injection.end()
    assert load.so_far() == 16
    mta.wait_until_empty(20)
    balance(load, [sink])


# -- power

class Image:
    """An ext4 with a journal in a file. Its copy at an instant is what a power cut leaves."""

    def __init__(self, folder, megabytes=96):
        self.folder, self.file = folder, folder / "disk.img"
        with open(self.file, "wb") as f:
            f.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.file], check=True)
        self.mounted = []

    def mount(self, place, file=None):
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-o", "loop", file or self.file, place], check=True)
        self.mounted.append(place)

    def unmount(self, place):
        wait_until(lambda: subprocess.run(["umount", place], capture_output=True).returncode == 0, 10, f"{place} to be free")
        self.mounted.remove(place)
        # Only then is it a new mount the next time, without the errors of the old one.
        wait_until(lambda: not subprocess.run(["losetup", "-j", self.file], capture_output=True, check=True).stdout, 10,
                   f"{self.file} to be let go")

    def close(self):
        for place in self.mounted:
            subprocess.run(["umount", "-l", place], capture_output=True)


def power_cut(mta, image, load):
    """Stops every process at once and copies the image; returns the copy. What was acknowledged by then counts."""
    for pid in mta.all_pids():
        kill(pid, 19)  # SIGSTOP
    with load.lock:
        promised = set(load.acknowledged)
    copy = image.folder / "after.img"
    shutil.copyfile(image.file, copy)
    return copy, promised


@pytest.mark.needs("loop")
@pytest.mark.parametrize("honest", [True, False], ids=["syncs are real", "syncs are lies"])
def test_power_cut(mta, remote, folder, honest):
    """Everything acknowledged before the power went is there afterwards. With syncs that do nothing the same test
    must report loss: else it would prove nothing."""
    if not honest:
        mta.wrap(LD_PRELOAD=str(next(Path("/usr/lib").glob("*/libeatmydata.so"))))
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.config["smtpd"]["workers"] = 1
    image = Image(folder)
    try:
        image.mount(mta.spool)
        mta.start()
        load = Load(mta, clients=4)
        wait_until(lambda: load.so_far() >= 150, 20, "150 messages")
        copy, promised = power_cut(mta, image, load)
        load.halt.set()
        mta.kill_everything()
        load.join()
        image.unmount(mta.spool)
        image.mount(mta.spool, copy)
        mta.start()
        sink.start()
        mta.flush()
        mta.wait_until_empty(40)
        load.unsure |= load.acknowledged - promised  # the 250 was on its way when the power went
        load.acknowledged = promised
        if honest:
            balance(load, [sink])
        else:
            with pytest.raises(AssertionError, match="are lost"):
                balance(load, [sink])
    finally:
        mta.kill_everything()
        image.close()


@pytest.mark.needs("loop")
def test_file_system_turns_read_only(mta, remote, folder):
    """What the kernel does after a disk error, under files that are open: mail is refused for now, nobody restarts in
    circles, and once the disk is mended everything acknowledged is there."""
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    image = Image(folder)
    try:
        image.mount(mta.spool)
        mta.start()
        load = Load(mta, clients=1, count=10)
        load.join()
        pids = mta.pids("smtpd")
        subprocess.run(["mount", "-o", "remount,abort", mta.spool], check=True)
        with mta.client() as c:
            answer = c.deliver("a@test.example", ["user@remote.example"], b"Subject: x\r\n\r\nx\r\n")
            assert answer.startswith(("451 4.3.", "421 4.3.")), answer
        assert mta.logged("Read-only file system")
        wait_until(lambda: not mta.status()["queue"]["accepting"], 15, "the status to say so")
        assert "read-only" in mta.status()["queue"]["accepting_reason"].lower()
        assert mta.pids("smtpd") == pids, "no restart loop"
        mta.kill_everything()
        image.unmount(mta.spool)
        image.mount(mta.spool)
        mta.start()
        sink.start()
        wait_until(lambda: try_submit(mta), 20, "mail to be taken again")
        mta.flush()
        mta.wait_until_empty(30)
        balance(load, [sink])
    finally:
        mta.kill_everything()
        image.close()


def test_damage_is_found_while_mail_waits(mta, remote):
    """A disk that rots under a waiting message: found by the scrub, with an alarm; the others stay as they are."""
    sink = remote()
    sink.at("mail", "451 4.3.0 Later")
    mta.route("remote.example", sink)
    mta.config["queue"].update(glitch_interval="1h")
    mta.config["spool"].update(scrub_interval="1s")
    mta.start()
    ids = [mta.submit("user@remote.example", body="x" * 5000) for _ in range(3)]
    mta.wait_log("status=deferred")
    wait_until(lambda: len([f for f in mta.spool_files() if "messages" in f.parts]) >= 1, 10, "a message to wait")
    rotten = next(f for f in mta.spool_files() if "messages" in f.parts)
    with open(rotten, "r+b") as f:
        octets = f.read()
        f.seek(octets.index(b"x" * 100))
        f.write(b"y")
    mta.wait_log(rf"{rotten.name}: found damaged while it waited: .*: moved to quarantine/")
    wait_until(lambda: rotten.name in {p.name for p in (mta.spool / "quarantine").iterdir()}, 10, "it to be put aside")
    assert mta.queued_ids() == set(ids) - {rotten.name}


def test_damaged_and_foreign_files_are_put_aside(mta, remote):
    """A truncated, a flipped and a foreign file: quarantined with an alarm; the others are delivered."""
    sink = remote()
    sink.stop()
    mta.route("remote.example", sink)
    mta.start()
    load = Load(mta, clients=1, count=20)
    load.join()
    mta.stop()
    files = sorted(mta.spool_files())
    assert len(files) == 20
    flipped, cut = files[3], files[7]
    octets = bytearray(flipped.read_bytes())
    octets[40] ^= 0xff
    flipped.write_bytes(octets)
    cut.write_bytes(cut.read_bytes()[:200])
    (mta.spool / "messages" / "00").mkdir(parents=True, exist_ok=True)
    (mta.spool / "messages" / "00" / "core").write_bytes(b"not a message")
    mta.start()
    sink.start()
    mta.flush()
    sink.wait_for(18, 20)
    wait_until(lambda: len([p for p in (mta.spool / "quarantine").rglob("*") if p.is_file()]) >= 2, 10, "two files in quarantine")
    assert mta.logged("quarantine")


def odd_things(directory, names):
    """What is no file: a pipe, a socket, a device, a directory, a link to a pipe."""
    pipe, sock, device, folder, link = (directory / n for n in names)
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as s:
        short = Path(f"/proc/self/fd/{os.open(directory, os.O_RDONLY)}")  # a socket's name may have 108 bytes
        s.bind(str(short / sock.name))
        os.close(int(short.name))
    os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
    folder.mkdir()
    link.symlink_to(pipe)
    return {pipe, sock, device, folder, link}


@pytest.mark.needs("root")
def test_what_is_no_file_under_a_messages_name_hangs_nobody(mta, remote):
    """A pipe, a socket, a device and a directory where messages lie: named by `spool check` and in the log; nobody waits for
    them, mail flows and the MTA stops."""
    mta.expects_denials = True  # nothing lets a daemon move a device
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.stop()
    place = mta.spool / "messages" / "00"
    odd = odd_things(place, [f"064A5B0000{n}010" for n in range(5)])
    with_writer = odd_things(mta.spool / "incoming" / "10", [f"064A5C0000{n}010" for n in range(5)])
    report = json.loads(mta.command("spool", "check", "--json", check=False, seconds=20).stdout)
    found = {mta.spool / f["path"] for f in report["findings"] if f["reason"] == "not a regular file"}
    readable = {p for p in odd | with_writer if p.is_char_device()}  # what it says is no message
    assert (odd | with_writer) - readable == found, report
    mta.start()
    mta.submit("user@remote.example")
    sink.wait_for(1)
    for path in (odd | with_writer) - readable:
        mta.wait_log(rf"{path.name}: not a regular file: left where it is")
    assert mta.stop() == 0
