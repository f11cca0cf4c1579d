"""Aliases and .forward files that lead to commands, files and further lists, on a system with real users: who runs
what, and that nobody gets a message twice."""
import os
import pwd
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.mta import Mta
from harness.ports import Block
from harness.watch import wait_until
from test_mailbox_owners import OWNER, place, rooted  # noqa: F401

pytestmark = pytest.mark.needs("root")


@pytest.fixture
def home(rooted, place):  # noqa: F811
    """A directory of the user's own: a .forward is looked for there, as homes of system users are not theirs."""
    made = place / "home"
    made.mkdir()
    shutil.chown(made, OWNER)
    rooted.config["local"]["forward"] = [f"{made}/.forward"]
    return made


def theirs(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    shutil.chown(path, OWNER)
    return path


def wait_text(path, mta):
    wait_until(lambda: path.exists() and path.stat().st_size, 15, lambda: f"{path}\n{mta.last_words()}")
    return path.read_text()


def mailbox(place):  # noqa: F811
    return list((place / "mail" / OWNER / "new").glob("*"))


def test_a_forward_file_is_followed_as_its_user(rooted, home, place, remote):  # noqa: F811
    mta, sink = rooted, remote()
    mta.route("remote.example", sink)
    more = theirs(home / "more", f"friend@remote.example\n{OWNER}\n")
    script = theirs(home / "script", f"#!/bin/sh\nid -un > {home}/who\ncat > {home}/content\n", 0o755)
    theirs(home / ".forward", f'\\{OWNER}, "|{script}", {home}/archive,\n:include:{more}, friend@remote.example\n')
    mta.config["local"].update(commands_from=["aliases", "forward"], files_from=["aliases", "forward"])
    mta.start()
    queue_id = mta.submit(f"{OWNER}@test.example", "to many")
    assert wait_text(home / "who", mta) == f"{OWNER}\n"
    passed_on = sink.wait_for_one_to("friend@remote.example")
    assert passed_on.header("Delivered-To") == f"{OWNER}@test.example"
    assert "Subject: to many" in wait_text(home / "archive", mta)
    wait_until(lambda: mailbox(place), 15, mta.last_words)
    mta.wait_until_empty()
    assert len(sink.messages) == 1 and len(mailbox(place)) == 1  # two ways to the friend, three to the mailbox
    assert "Subject: to many" in (home / "content").read_text()
    for path in (home / "archive", home / "content"):
        assert pwd.getpwuid(path.stat().st_uid).pw_name == OWNER
    assert (home / "archive").read_text().startswith("From ")
    mta.wait_log(rf"{queue_id}: to=<.*>, .*relay=local, .*status=sent \(delivered to command: {script}\)")


@pytest.mark.parametrize("kind", ["link", "fifo", "open to all", "somebody else's"])
def test_an_unsafe_forward_file_is_told_of_and_not_followed(rooted, home, place, remote, kind):  # noqa: F811
    mta, sink = rooted, remote()
    mta.route("remote.example", sink)
    path = home / ".forward"
    if kind == "link":
        path.symlink_to(theirs(home / "real", "thief@remote.example\n"))
    elif kind == "fifo":
        os.mkfifo(path)
        shutil.chown(path, OWNER)
    else:
        theirs(path, "thief@remote.example\n", 0o666 if kind == "open to all" else 0o644)
        if kind == "somebody else's":
            shutil.chown(path, "daemon")
    mta.start()
    mta.submit(f"{OWNER}@test.example")
    wait_until(lambda: mailbox(place), 15, mta.last_words)
    mta.wait_until_empty()
    assert not sink.messages
    mta.wait_log(rf"warning: .*{path}")


def test_a_bad_line_of_a_forward_file_is_told_of(rooted, home, place, remote):  # noqa: F811
    mta, sink = rooted, remote()
    mta.route("remote.example", sink)
    path = theirs(home / ".forward", f'\\{OWNER}\n"never closed\nfriend@remote.example\n')
    mta.start()
    queue_id = mta.submit(f"{OWNER}@test.example")
    sink.wait_for_one_to("friend@remote.example")
    wait_until(lambda: mailbox(place), 15, mta.last_words)
    mta.wait_log(rf'warning: {path}, line 2: .*quoted string is not closed; mail for {OWNER} is delivered to the other targets, '
                 "and waits for this one")
    mta.wait_log(rf"{queue_id}: to=<{OWNER}@test.example>, .*dsn=4.3.5, status=deferred \({OWNER}'s .forward: line 2: ")
    theirs(path, f"\\{OWNER}\nfriend@remote.example\n")
    wait_until(lambda: mta.flush() and not mta.spool_files(), 15, mta.last_words)
    assert len(sink.messages) == 1 and len(mailbox(place)) == 1


def test_commands_and_files_of_the_systems_aliases(rooted, place, remote):  # noqa: F811
    """The alias file is root's: what it names runs as the default user. A command that fails has its say in the report."""
    mta, sink = rooted, remote()
    mta.route("remote.example", sink)
    common = place / "common"
    common.mkdir()
    common.chmod(0o1777)
    mta.config["local"].update(default_user=OWNER)
    mta.aliases.write_text(f'robot: "|id -un > {common}/who; cat > {common}/content"\n'
                           f'refuses: "|echo not for you; exit 67"\n'
                           f'waits: "|test -e {common}/again || {{ touch {common}/again; exit 75; }}; touch {common}/done"\n'
                           f"archive: {common}/archive\nboth: robot, archive, member@remote.example\n"
                           f"loop: circle\ncircle: loop\n")
    mta.start()
    mta.submit("both@test.example", "for both")
    assert wait_text(common / "who", mta) == f"{OWNER}\n"
    assert "Subject: for both" in wait_text(common / "archive", mta)
    sink.wait_for_one_to("member@remote.example")
    assert pwd.getpwuid((common / "archive").stat().st_uid).pw_name == OWNER
    mta.submit("waits@test.example")
    wait_until((common / "done").exists, 15, mta.last_words)
    for name, status in (("refuses", "5.1.1"), ("loop", "5.4.6")):
        mta.submit(f"{name}@test.example", sender="writer@remote.example")
        mta.wait_log(rf"orig_to=<{name}@test.example>, .*dsn={status}, status=bounced|to=<{name}@test.example>, .*dsn={status}, status=bounced")
    reports = wait_until(lambda: len(sink.to("writer@remote.example")) == 2 and sink.to("writer@remote.example"), 15, mta.last_words)
    assert "not for you" in reports[0].content.decode() + reports[1].content.decode()
    mta.wait_until_empty()
    assert len(sink.to("member@remote.example")) == 1


@pytest.fixture
def other(folder):
    """Another Postrider, for other.example; not started."""
    (folder / "other").mkdir()
    one = Mta(folder / "other", Block())
    one.config["mta"].update(hostname="mta.other.example", origin="other.example")
    one.config["local"]["domains"] = ["other.example"]
    yield one
    one.kill_everything()


def at(mta):
    return SimpleNamespace(address=mta.address, port=mta.relay_port)


def test_mail_that_two_systems_send_to_one_another_comes_back_once(rooted, home, other, remote):  # noqa: F811
    """A .forward here and an alias there: what returns is known by its Delivered-To, and goes back to its sender."""
    mta, sink = rooted, remote()
    theirs(home / ".forward", "bob@other.example\n")
    other.aliases.write_text(f"bob: {OWNER}@test.example\n")
    mta.route("far.example", sink)
    mta.route("other.example", at(other))
    other.route("test.example", at(mta))
    other.start()
    mta.start()
    mta.submit(f"{OWNER}@test.example", "round and round", sender="sender@far.example")
    report = sink.wait_for_one_to("sender@far.example")
    assert "Status: 5.4.6" in report.text and f"mail forwarding loop for {OWNER}@test.example" in report.text
    fields = [line for line in report.text.splitlines() if line.startswith("Delivered-To: ")]
    assert fields == ["Delivered-To: bob@other.example", f"Delivered-To: {OWNER}@test.example"]
    mta.wait_until_empty()
    other.wait_until_empty()
    assert len([line for line in mta.log() if "status=sent" in line and "bob@other.example" in line]) == 1
    assert len(sink.messages) == 1
