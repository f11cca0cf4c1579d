"""The standard names of the mail system's commands, linked and let go below a root of the test's own."""
import json
import os

import pytest

NAMES = {"usr/sbin/sendmail": "sendmail", "usr/lib/sendmail": "sendmail", "usr/bin/mailq": "mailq",
         "usr/bin/newaliases": "newaliases", "usr/sbin/postqueue": "postqueue", "usr/sbin/postsuper": "postsuper",
         "usr/sbin/postcat": "postcat", "usr/sbin/postconf": "postconf", "usr/sbin/postmap": "postmap",
         "usr/sbin/postalias": "postalias"}


@pytest.fixture
def root(mta, tmp_path):
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    return tmp_path


def linked(root):
    return {name: os.path.basename(os.readlink(root / name)) for name in NAMES if (root / name).is_symlink()}


def test_linked_and_let_go(mta, root):
    would = mta.run("postrider", "activate", "--root", root, "--dry-run")
    assert would.returncode == 0 and would.stdout.count("would link") == len(NAMES) and linked(root) == {}
    assert mta.run("postrider", "activate", "--root", f"{root}/").returncode == 0
    assert linked(root) == NAMES
    mta.write_config()
    listing = mta.run(root / "usr/bin/mailq", "-C", mta.file)
    assert listing.stderr == "mailq: fatal: Queue report unavailable - mail system is down\n"
    again = [json.loads(line) for line in mta.run("postrider", "activate", "--root", root, "--json").stdout.splitlines()]
    assert {line["action"] for line in again} == {"already so"}
    assert mta.run("postrider", "deactivate", "--root", root).returncode == 0
    assert linked(root) == {}
    nothing = mta.run("postrider", "deactivate", "--root", root)
    assert nothing.returncode == 2 and "none of the standard names" in nothing.stderr


def test_what_belongs_to_another_package_is_left_alone(mta, root):
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/sendmail").write_text("theirs")
    (root / "usr/sbin/postqueue").symlink_to("elsewhere")
    (root / "var/lib/dpkg/info/exim4-daemon-light.list").write_text("/.\n/usr\n/usr/sbin/sendmail\n")
    done = mta.run("postrider", "activate", "--root", root)
    assert done.returncode == 73
    assert f"{root}/usr/sbin/sendmail: it belongs to the package exim4-daemon-light\n" in done.stderr
    assert f"{root}/usr/sbin/postqueue: it already exists and belongs to no package\n" in done.stderr
    assert "nothing was changed" in done.stderr
    assert linked(root) == {"usr/sbin/postqueue": "elsewhere"}
    assert mta.run("postrider", "deactivate", "--root", root).returncode == 2
    assert (root / "usr/sbin/sendmail").read_text() == "theirs"


@pytest.mark.needs("root")
def test_without_the_right_to(mta, root):
    (root / "usr").mkdir()
    done = mta.run("postrider", "activate", "--root", "/proc/1")
    assert done.returncode in (71, 77) and "/proc/1/usr/sbin/sendmail: " in done.stderr
