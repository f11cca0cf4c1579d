"""Errors an operator meets every day: each says what happened, where, and what to do, and ends with a status that a
script can tell apart. Every one is brought about for real."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import fake_clock
from harness.certificates import make_certificate
from harness.mta import Mta
from harness.network import inside_own_network

STRANGER = 54321  # a user of no name and no rights
USAGE, NO_INPUT, NO_USER, UNAVAILABLE, CANNOT_CREATE, TRY_AGAIN, NO_PERMISSION, BAD_CONFIG = 64, 66, 67, 69, 73, 75, 77, 78


def as_stranger(*command):
    return ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", *map(str, command)]


@pytest.fixture
def open_place(block):
    """An MTA in a directory that every user may pass."""
    place = Path(tempfile.mkdtemp(prefix="postrider-errors-"))
    place.chmod(0o755)
    mta = Mta(place, block)
    yield mta
    mta.kill_everything()
    assert not mta.crashes()
    subprocess.run(["umount", "-q", mta.spool], stdin=subprocess.DEVNULL, capture_output=True)
    shutil.rmtree(place)


def fails_to_start(mta, status, *patterns, prefix=()):
    """What it says, all in lines that begin with who says it."""
    mta.write_config()
    done = subprocess.run([*map(str, prefix), mta.programs / "postrider", "run", "-c", mta.file], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, cwd=mta.folder)
    print(done.stderr)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    for pattern in patterns:
        assert re.search(pattern, done.stderr), (pattern, done.stderr)
    assert all(line.startswith("postrider: ") for line in done.stderr.splitlines()), done.stderr
    return done.stderr


# -- ports

def test_port_taken(mta):
    with socket.create_server((mta.address, mta.relay_port)):
        fails_to_start(mta, UNAVAILABLE, rf"listen on {mta.address}:{mta.relay_port}: Address already in use: \S+ \(pid {os.getpid()}\) "
                       r"uses that port; stop it, or change listen\.<name>\.addresses")


@pytest.mark.needs("root")
def test_port_below_1024_without_root(open_place):
    mta = open_place
    if not inside_own_network():
        pytest.skip("this machine does not offer: own network")
    mta.config["listen.relay"]["addresses"] = [f"{mta.address}:25"]
    mta.folder.chmod(0o777)
    fails_to_start(mta, NO_PERMISSION, rf"listen on {mta.address}:25: Permission denied: ports below 1024 require root .*higher port",
                   prefix=as_stranger())


def test_address_of_another_host(mta):
    mta.config["listen.relay"]["addresses"] = ["192.0.2.77:2525"]
    fails_to_start(mta, UNAVAILABLE, r"listen on 192\.0\.2\.77:2525: .*this host does not have this address \(yet\)")


# -- the spool

@pytest.mark.needs("root")
def test_spool_that_may_not_be_entered(open_place):
    open_place.folder.chmod(0o777)
    open_place.spool.mkdir(mode=0o700)
    fails_to_start(open_place, NO_PERMISSION, rf"{open_place.spool}.*Permission denied.*belongs to root.*chown", prefix=as_stranger())


@pytest.mark.needs("root")
def test_spool_of_another_user(open_place):
    mta = open_place
    mta.config["mta"].update(multi_user=True, user="nobody", drop_group="nogroup", admin_group="nogroup")
    mta.config["local"].update(users=[])
    mta.spool.mkdir(mode=0o755)
    shutil.chown(mta.spool, "games")
    fails_to_start(mta, NO_PERMISSION, rf'{mta.spool}.*belongs to games.*"chown -R nobody: {mta.spool}"')


@pytest.mark.needs("root", "mounts")
def test_spool_on_a_read_only_file_system(open_place):
    mta = open_place
    mta.spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", mta.spool], check=True)
    fails_to_start(mta, CANNOT_CREATE, rf"spool {mta.spool}: make directory \S+: Read-only file system.*remount")


@pytest.mark.needs("root", "mounts")
def test_spool_on_a_full_disk(open_place):
    mta = open_place
    mta.spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mta.spool], check=True)
    (mta.spool / "big").write_bytes(b"")
    with open(mta.spool / "big", "wb", buffering=0) as big:
        try:
            while True:
                big.write(b"x" * 4096)
        except OSError:
            pass
    fails_to_start(mta, CANNOT_CREATE, rf"{mta.spool}.*No space left on device.*df")


def test_spool_that_is_a_file(mta):
    mta.spool.write_text("")
    fails_to_start(mta, CANNOT_CREATE, rf"{mta.spool}.*(Not a directory|is not a directory)")


# -- the configuration and its files

@pytest.mark.parametrize("section, key, value, says", [
    ("smtpd", "worker", 3, r"unknown key smtpd\.worker: did you mean workers\?"),
    ("mta", "hostname", "box", r'mta\.hostname: "box" is not a fully qualified host name'),
    ("queue", "retry_interval", "soon", r"queue\.retry_interval: .*soon"),
    ("lisen.relay", "addresses", ["127.0.0.1:1"], r"unknown section \[?lisen"),
])
def test_mistakes_in_the_configuration(mta, section, key, value, says):
    mta.config.setdefault(section, {})[key] = value
    text = fails_to_start(mta, BAD_CONFIG, rf"postrider: {re.escape(str(mta.file))}:\d+:\d+: {says}")
    done = mta.command("check", check=False)
    assert (done.returncode, done.stderr) == (BAD_CONFIG, text)


def test_no_configuration(mta):
    if not Path("/etc/postrider/postrider.toml").exists():
        environment = {name: value for name, value in os.environ.items() if name != "POSTRIDER_CONFIG"}
        done = subprocess.run([mta.programs / "postrider", "check"], capture_output=True, text=True, env=environment)
        assert done.returncode == BAD_CONFIG and done.stderr.startswith(
            "postrider: /etc/postrider/postrider.toml: No such file or directory: use -c FILE, or POSTRIDER_CONFIG")
    done = mta.run("postrider", "run", "-c", mta.folder / "nowhere.toml")
    assert done.returncode == NO_INPUT and f"{mta.folder}/nowhere.toml: No such file or directory" in done.stderr
    done = mta.run("postrider", "status", "-c", mta.folder / "nowhere.toml")
    assert done.returncode == BAD_CONFIG and f"{mta.folder}/nowhere.toml: No such file or directory" in done.stderr


@pytest.fixture
def with_tls(mta):
    certificate, key = make_certificate(mta.folder, "mta.test.example")
    mta.config["tls"] = {"certificates": [str(certificate)], "keys": [str(key)]}
    return certificate, key


def fails_and_check_says_so(mta, pattern, status=BAD_CONFIG):
    fails_to_start(mta, status, pattern)
    done = mta.command("check", check=False)
    assert done.returncode == BAD_CONFIG and re.search(pattern, done.stderr), done.stderr


def test_certificate_that_is_none(mta, with_tls):
    with_tls[0].write_text("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    fails_and_check_says_so(mta, rf"{with_tls[0]}: contains no usable certificate")


def test_key_of_another_certificate(mta, with_tls):
    _, other = make_certificate(mta.folder, "other.example")
    shutil.copy(other, with_tls[1])
    fails_and_check_says_so(mta, rf"{with_tls[0]}: the private key is not that of the certificate: .* \(the key is in {with_tls[1]}\)")


def test_files_that_are_missing(mta, with_tls):
    with_tls[1].unlink()
    fails_and_check_says_so(mta, rf"{with_tls[1]}: No such file or directory")


def test_certificate_that_has_expired_or_soon_will(mta, with_tls):
    soon = make_certificate(mta.folder, "soon.example")[0]  # good for a day
    mta.start()
    warning = mta.wait_log(rf"warning: {soon.parent}/mta\.test\.example\.pem: the certificate expires in \d+ h? ?.*renew it").string
    assert "mta.test.example.pem" in warning
    assert "expires" in mta.command("check").stderr
    assert "expires" in mta.command("status").stdout
    mta.stop()
    mta.forget_the_log()
    old = subprocess.run([*fake_clock.command("-m", "-f", "+3d"), mta.programs / "postrider", "check", "-c", mta.file], capture_output=True, text=True)
    assert old.returncode == 0 and re.search(r"mta\.test\.example\.pem: the certificate expired on \d{4}-\d\d-\d\d", old.stderr), old.stderr


def test_secrets_that_others_may_read(mta, with_tls):
    with_tls[1].chmod(0o644)
    passwords = mta.folder / "passwords"
    passwords.write_text("")
    passwords.chmod(0o644)
    mta.config["auth"] = {"passwords": str(passwords)}
    mta.config["listen.submission"]["auth"] = False
    mta.start()
    for file in (with_tls[1], passwords):
        mta.wait_log(rf'warning: {file} .*is readable by every user of this host \(mode 0644\): "chmod 600 {file}"')
        assert f"chmod 600 {file}" in mta.command("check").stderr
    credentials = mta.folder / "credentials"
    credentials.write_text("")
    credentials.chmod(0o644)
    mta.config["smtp_client"]["credentials"] = str(credentials)
    mta.write_config()
    done = mta.command("reload", check=False)  # what would send passwords elsewhere is refused
    assert done.returncode == BAD_CONFIG and f'"chmod 600 {credentials}" fixes this' in done.stderr
    mta.stop()
    fails_and_check_says_so(mta, rf'{credentials} .* is accessible to other users \(mode 0644\)')


# -- users

def test_user_or_group_that_is_missing(mta):
    mta.config["mta"].update(multi_user=True, user="nobody-of-that-name")
    mta.config["local"].update(users=[])
    if os.geteuid() == 0:
        fails_to_start(mta, NO_USER, no_user := r'there is no user nobody-of-that-name to run the daemons as: create one with "adduser ')
        done = mta.command("check", check=False)
        assert done.returncode == BAD_CONFIG and re.search(no_user, done.stderr) and not done.stdout, done
        mta.config["mta"].update(user="nobody", admin_group="no-such-group", drop_group="nor-this-one")
        shutil.rmtree(mta.spool, ignore_errors=True)
        mta.folder.chmod(0o755)
        done = mta.command("check", check=False) if mta.write_config() is None else None
        assert re.search(r"warning: mta\.admin_group: there is no group no-such-group: only root .*addgroup --system no-such-group", done.stderr)
        assert re.search(r"warning: mta\.drop_group: there is no group nor-this-one: .*addgroup --system nor-this-one", done.stderr)
        assert f'"ln -s {mta.spool} /var/spool/postrider" makes them the same' in done.stderr and "not readable for" not in done.stderr
        mta.file.chmod(0o640)
        assert f'warning: {mta.file} is not readable for ordinary users (mode 0640): ' in mta.command("check").stderr
    else:
        fails_to_start(mta, NO_PERMISSION, r"only root can start daemons as the user nobody-of-that-name")


@pytest.mark.needs("root")
def test_daemons_as_another_user_without_root(open_place):
    open_place.config["mta"].update(multi_user=True, user="nobody")
    fails_to_start(open_place, NO_PERMISSION, r"only root can start daemons as the user nobody; .*multi_user = false", prefix=as_stranger())


# -- running or not

def test_running_already_and_not_running(mta):
    mta.start()
    pid = mta.process.pid
    done = mta.run("postrider", "run", "-c", mta.file)
    assert done.returncode == TRY_AGAIN and f"it is running already (pid {pid})" in done.stderr
    done = mta.command("start")
    assert done.stdout == f"postrider is running already (pid {pid})\n"
    other = mta.folder / "other.toml"
    shutil.copy(mta.file, other)
    done = mta.run("postrider", "start", "-c", other)
    assert done.returncode == UNAVAILABLE and not done.stdout
    assert f"running MTA (pid {pid}) with another configuration, {mta.file}: not started with {other}" in done.stderr
    other.unlink()
    other.symlink_to(mta.file)
    assert mta.run("postrider", "start", "-c", other).returncode == 0, "the same by another name"
    done = mta.command("message", "show", "sender=a@b.example", check=False)
    assert done.returncode == USAGE and '"postrider message list sender=a@b.example" finds messages' in done.stderr
    mta.stop()
    for verb in (["status"], ["reload"], ["logs", "reopen"], ["queue", "list"], ["pause", "all"]):
        done = mta.run("postrider", *verb, "-c", mta.file)
        assert done.returncode == 3 and 'it is not running; "postrider start" starts it' in done.stderr, (verb, done)
    assert mta.run("postrider", "stop", "-c", mta.file).returncode == 0


def test_lock_and_sockets_of_one_that_was_killed(mta):
    mta.start()
    mta.kill_everything()
    assert (mta.spool / "run/master.lock").read_text() != "" and (mta.spool / "run/control").exists()
    assert mta.run("postrider", "status", "-c", mta.file).returncode == 3
    mta.start()
    mta.submit(f"{mta.user}@test.example")
    mta.wait_mailbox(1)


@pytest.mark.needs("root")
def test_who_is_not_of_the_administrators(open_place):
    mta = open_place
    mta.start()
    for verb in (["status"], ["queue", "list"], ["reload"], ["stop"]):
        done = subprocess.run(as_stranger(mta.programs / "postrider", *verb, "-c", mta.file), capture_output=True, text=True, timeout=30)
        assert done.returncode == NO_PERMISSION, (verb, done)
        assert "Permission denied" in done.stderr and "mta.admin_group" in done.stderr and "adduser" in done.stderr, done.stderr


# -- while it runs

def test_dns_that_does_not_answer(mta):
    mta.config["dns"].update(servers=["127.0.0.1:9"], timeout="100ms", tries=1)
    mta.start()
    queue_id = mta.submit("ann@elsewhere.example")
    line = mta.wait_log(rf"{queue_id}: to=<ann@elsewhere\.example>, .*status=deferred").string
    asked = "asked 127.0.0.1:9, from dns.servers"
    assert "dsn=4.4.3" in line and asked in line, line
    for verb in (["explain"], ["message", "show"]):
        said = mta.command(*verb, queue_id).stdout
        assert asked in said and "dig MX elsewhere.example" in said, said


@pytest.mark.needs("root", "mounts")
def test_disk_that_fills_up(open_place):
    mta = open_place
    mta.spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mta.spool], check=True)
    mta.start()
    (mta.spool / "ballast").write_bytes(b"x" * (3 << 20))
    with mta.client() as client:
        assert client.say("MAIL FROM:<a@test.example>").startswith("452 4.3.1")
    mta.wait_log(r"warning: not enough free space in the spool, no mail is accepted: \d+ bytes and \d+ files are free")
    done = mta.command("status")
    assert re.search(r"Accepting +NO: \d+ bytes are free on the spool's disk, 1048576 are required \(spool\.minimum_free\)", done.stdout), done.stdout
    mta.stop()
