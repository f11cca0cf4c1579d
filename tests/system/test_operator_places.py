"""Errors about places an operator chose or lost (the spool, the log, the configuration, programs): each says which
place, what is wrong with it and what to do. Every one is brought about for real."""
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

from harness.mta import Mta
from harness.watch import wait_until
from test_operator_errors import (BAD_CONFIG, CANNOT_CREATE, NO_INPUT, NO_PERMISSION, UNAVAILABLE, USAGE, as_stranger, fails_to_start,
                                  open_place)

__all__ = ["open_place"]
SYSTEM_ERROR, DATA_ERROR = 71, 65


def crc32c(data, seed=0):
    crc = seed ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# -- the spool

def test_message_of_a_newer_postrider(mta):
    """It is left alone and said everywhere; the newer one delivers it, here played by putting back what it wrote."""
    mta.start()
    mta.command("pause", "all")
    queue_id = mta.submit(f"{mta.user}@test.example")
    mta.stop()
    [file] = mta.spool.glob(f"*/*/{queue_id}")
    whole = file.read_bytes()
    newer = bytearray(whole)
    struct.pack_into("<HH", newer, 8, 9, 2)  # written in version 9, read from version 2 on
    struct.pack_into("<I", newer, 124, crc32c(newer[:124], crc32c(newer[16:24])))
    file.write_bytes(newer)
    says = r"written in version 9 of the format, .*version 2 on; this program knows version 1: use a Postrider at least as new as the one that wrote it"
    mta.start()
    mta.wait_log(rf"error: spool: {file.relative_to(mta.spool)}: header: {says}: left where it is")
    assert re.search(rf"Problem +{file.relative_to(mta.spool)}: .*{says}", mta.command("status").stdout)
    done = mta.command("spool", "check", check=False)
    assert done.returncode == DATA_ERROR and re.search(rf"{file}: newer: .*{says}", done.stdout), done
    done = mta.command("message", "cat", queue_id, check=False)
    assert done.returncode == DATA_ERROR and re.search(says, done.stderr), done
    mta.stop()
    assert file.read_bytes() == newer
    file.write_bytes(whole)
    mta.start()
    mta.command("resume", "all")
    mta.wait_mailbox(1)


@pytest.mark.needs("root", "mounts")
def test_spool_without_free_inodes(open_place):
    mta = open_place
    mta.spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=20", "tmpfs", mta.spool], check=True)
    fails_to_start(mta, CANNOT_CREATE, rf"spool {mta.spool}: make directory \S+: No space left on device.*df -i {mta.spool}")


@pytest.mark.needs("root")
def test_a_directory_of_the_spool_that_belongs_to_somebody_else(open_place):
    mta = open_place
    mta.config["mta"].update(multi_user=True, user="nobody", drop_group="nogroup", admin_group="nogroup")
    mta.config["local"].update(users=[])
    mta.start()
    mta.stop()
    for lost in (mta.spool / "incoming/01", mta.spool / "index"):
        shutil.chown(lost, "games")
        fails_to_start(mta, NO_PERMISSION, rf'write to {lost}: Permission denied.*"chown -R nobody: {mta.spool}" fixes this')
        shutil.chown(lost, "nobody")
    mta.start()


@pytest.mark.parametrize("other, directories", [("Postfix", ["maildrop", "active"]), ("Exim", ["input", "msglog"])])
def test_the_queue_of_another_mail_system_is_left_alone(mta, other, directories):
    for name in directories:
        (mta.spool / name).mkdir(parents=True)
    fails_to_start(mta, BAD_CONFIG, rf"spool\.directory: {mta.spool} is the queue of {other}: Postrider needs a directory of its own")
    assert sorted(each.name for each in mta.spool.iterdir()) == sorted(directories)


# -- the log

def test_log_that_cannot_be_written(mta):
    (mta.folder / "a-file").touch()
    for log, says in ((mta.folder / "nowhere/log", rf'No such file or directory \("mkdir -p {mta.folder}/nowhere" creates its directory'),
                      (mta.folder, r"Is a directory \(log\.file must be a file"),
                      (mta.folder / "a-file/log", rf"Not a directory \({mta.folder}/a-file is not a directory: .*log\.file")):
        mta.config["log"]["file"] = str(log)
        fails_to_start(mta, CANNOT_CREATE, f"open the log file {log}: {says}")


@pytest.mark.needs("root")
def test_log_of_somebody_else(open_place):
    (open_place.folder / "log").touch(mode=0o600)
    fails_to_start(open_place, CANNOT_CREATE, rf"open the log file {open_place.folder}/log: Permission denied \(running as user \d+, which needs "
                   r"write permission on the file .*log\.file", prefix=as_stranger())


# -- the configuration

def test_configuration_that_cannot_be_read(mta):
    cases = [(mta.folder / "nowhere.toml", "No such file or directory: use -c FILE, or POSTRIDER_CONFIG"),
             (mta.folder, "Is a directory: expected the name of a file")]
    for file, says in cases:
        for verb, status in (("run", NO_INPUT), ("check", BAD_CONFIG), ("status", BAD_CONFIG), ("start", BAD_CONFIG)):
            done = mta.run("postrider", verb, "-c", file)
            assert (done.returncode, f"postrider: {file}: {says}" in done.stderr) == (status, True), (verb, done)


@pytest.mark.needs("root")
def test_configuration_that_one_may_not_read(open_place):
    open_place.write_config()
    open_place.file.chmod(0o600)
    for program, status in (("postrider", NO_INPUT), ("sendmail", 75)):
        words = ["run", "-c", open_place.file] if program == "postrider" else ["-C", open_place.file, "a@test.example"]
        done = subprocess.run(as_stranger(open_place.programs / program, *words), input="", capture_output=True, text=True)
        assert done.returncode == status, done
        assert re.search(rf"{program}: {open_place.file}: Permission denied: running as \d+, which needs read permission on the file", done.stderr), done.stderr


@pytest.mark.parametrize("text, says", [
    ("[mta]\nhostname = mail.example.com\n", r":2:\d+: .*a string must be in quotation marks"),
    ('[local]\naliases = ["hash:/etc/aliases"]\n', r':2:\d+: local\.aliases: "hash:/etc/aliases": expected the name of a file, without "hash:"'),
])
def test_what_people_write_who_come_from_elsewhere(mta, text, says):
    mta.file.write_text(text)
    done = mta.run("postrider", "check", "-c", mta.file)
    assert done.returncode == BAD_CONFIG and re.search(says, done.stderr), done.stderr


def test_mistakes_while_it_runs(mta):
    """Nothing is taken over; it goes on, is asked and is stopped as ever."""
    mta.start()
    good = mta.file.read_text()
    mistake = rf"{mta.file}:\d+:\d+: unknown section smtp: did you mean \[smtpd\]\?"
    mta.file.write_text(good + "\n[smtp]\nworkers = 3\n")
    done = mta.run("postrider", "reload", "-c", mta.file)
    assert done.returncode == BAD_CONFIG and re.search(mistake, done.stderr) and "nothing was changed" in done.stderr, done
    os.kill(mta.process.pid, signal.SIGHUP)
    mta.wait_log(rf"error: reload refused, the previous configuration stays in force: {mistake}")
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)
    for verb in (["status"], ["queue", "list"], ["spool", "check"], ["logs", "reopen"]):
        done = mta.run("postrider", *verb, "-c", mta.file)
        assert done.returncode == 0 and re.search(rf"warning: {mistake}", done.stderr) and "using the configuration of the running MTA" in done.stderr, done
    assert mta.run("postrider", "start", "-c", mta.file).returncode == BAD_CONFIG
    mta.file.write_text(good.replace("[spool]", "[spol]"))
    done = mta.run("postrider", "status", "-c", mta.file)
    assert done.returncode == 0 and "did you mean [spool]?" in done.stderr, "it is known from what runs"
    mta.file.write_text(good)
    mta.aliases.unlink()
    done = mta.run("postrider", "status", "-c", mta.file)
    assert (done.returncode, done.stderr) == (0, "")
    mta.file.write_text(good + "\n[smtp]\nworkers = 3\n")
    assert mta.run("postrider", "stop", "-c", mta.file).returncode == 0
    wait_until(lambda: mta.process.poll() is not None, 20, "the end, as asked")


# -- what the system gives

def test_too_few_descriptors(mta):
    mta.write_config()
    done = subprocess.run(["prlimit", "--nofile=24:24", mta.programs / "postrider", "run", "-c", mta.file], capture_output=True, text=True, timeout=60)
    assert done.returncode == SYSTEM_ERROR, done
    assert re.search(r'Too many open files \(the limit for a process is 24: raise "ulimit -n", or LimitNOFILE= of the unit', done.stderr), done.stderr


def test_few_descriptors_are_warned_of(mta):
    mta.prefix = ["prlimit", "--nofile=200:200"]
    mta.start()
    mta.wait_log(r'warning: a process may have only 200 files open at a time, including connections: raise "ulimit -n"')
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)


def test_programs_that_are_missing(mta):
    mta.write_config()
    (mta.programs / "router").unlink()
    (mta.programs / "smtpd").unlink()
    says = [rf"the program \S+/{name} is missing: reinstall Postrider" for name in ("router", "smtpd")]
    fails_to_start(mta, UNAVAILABLE, *says)
    done = mta.command("check", check=False)
    assert done.returncode == UNAVAILABLE and all(re.search(each, done.stderr) for each in says), done


def test_the_api_is_a_package_of_its_own(mta, block):
    """Without it mail flows; who asked for it hears what to install."""
    mta.config["http"] = {"listen": [f"{mta.address}:{block.port()}"]}
    mta.write_config()
    program = mta.programs / "http"
    kept = program.rename(mta.folder / "http")
    says = "the program .*/http is missing: install the package postrider-http"
    checked = mta.command("check")
    assert re.search(says, checked.stderr), checked
    mta.start()
    mta.wait_log(says)
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)
    assert re.search(says, mta.command("status").stdout)
    kept.rename(program)
    mta.command("reload")
    wait_until(lambda: any(each["process"] == "http" for each in mta.status()["processes"]), 20, "http to run")
    assert not re.search(says, mta.command("status").stdout)


# -- ids and links that there are not

def test_what_there_is_not(mta):
    mta.start()
    for words, status, says in ((["message", "show", "nonsense"], USAGE, '"nonsense" is not a queue id such as'),
                                (["link", "show", "nowhere"], 1, '"postrider link list" shows the links'),
                                (["queue", "show", "nowhere"], 1, '"postrider queue list" shows the queues'),
                                (["spool", "import", mta.folder / "none"], NO_INPUT, f"{mta.folder}/none: No such file or directory")):
        done = mta.command(*words, check=False)
        assert (done.returncode, says in done.stderr) == (status, True), done
