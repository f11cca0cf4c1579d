"""The configuration file has mistakes, is gone, or is closed to who calls: what runs goes on, and whoever talks to it
still can; what judges or takes over a configuration refuses, as ever."""
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.mta import Mta
from harness.watch import wait_until

STRANGER = 54321  # a user of no name and no rights
TRY_AGAIN, BAD_CONFIG = 75, 78
PUBLISHED = Path("/run/postrider")

pytestmark = pytest.mark.needs("root")  # others publish only where they have a directory of their own in /run/user


def published(mta):
    return PUBLISHED / str(mta.file).lstrip("/").replace("%", "%25").replace("/", "%2F")


@pytest.fixture
def running(block):
    """(mta, the good text of its file, the id of a message that waits), in a directory that every user may pass."""
    place = Path(tempfile.mkdtemp(prefix="postrider-mistakes-"))
    place.chmod(0o755)
    mta = Mta(place, block)
    mta.config['route."closed.example"'] = {"next_hop": f"[{mta.address}]:1"}
    (mta.folder / "table").write_text("")
    mta.config["virtual_alias"] = {"tables": [f"text:{mta.folder}/table"]}
    mta.start()
    waiting = mta.submit("a@closed.example")
    mta.wait_log(rf"{waiting}: to=<a@closed\.example>, .*status=deferred")
    yield mta, mta.file.read_text(), waiting
    mta.kill_everything()
    assert not mta.crashes()
    published(mta).unlink(missing_ok=True)  # of a master that was killed
    shutil.rmtree(place)


def misspelt_key(mta, text):
    mta.file.write_text(text.replace("hostname =", "hostnam ="))
    return r":\d+:1: unknown key mta\.hostnam: did you mean hostname\?; using the configuration of the running MTA"


def misspelt_spool(mta, text):
    mta.file.write_text(text.replace("directory =", "directry =").replace("[log]", "[logg]"))
    return r":\d+:1: unknown key spool\.directry: did you mean directory\? \(and 1 more\); using the configuration of the running MTA"


def no_toml(mta, text):
    mta.file.write_text(text.replace("[spool]", "[spool"))
    return r":\d+:\d+: .*; using the configuration of the running MTA"


def gone(mta, _):
    mta.file.unlink()
    return ": No such file or directory.*; using the configuration of the running MTA"


def table_gone(mta, _):
    (mta.folder / "table").unlink()
    return ""  # nothing is said: it is mail that may wait for it


@pytest.mark.parametrize("breaks", [misspelt_key, misspelt_spool, no_toml, gone, table_gone], ids=lambda f: f.__name__)
def test_commands_reach_what_runs(running, breaks):
    mta, text, waiting = running
    said = re.escape(str(mta.file)) + breaks(mta, text)

    def works(program, *arguments, **more):
        done = mta.run(program, *arguments, **more)
        ours = breaks is not table_gone
        assert done.returncode == 0, (program, arguments, done)
        assert not ours or re.search(rf"^{program}: warning: {said}", done.stderr, re.M), done.stderr
        assert len(done.stderr.splitlines()) == ours, done.stderr
        return done.stdout

    c = ["-c", mta.file]
    works("sendmail", "-C", mta.file, f"{mta.user}@test.example", input="Subject: in spite of it\n\n")
    assert "Subject: in spite of it" in mta.wait_mailbox(1)[0]
    assert waiting in works("mailq", "-C", mta.file)
    assert str(mta.file) in works("postrider", "status", *c)
    assert waiting in works("postrider", "message", "list", *c)
    assert "Subject: test" in works("postrider", "message", "cat", waiting, *c)
    assert waiting in works("postrider", "explain", waiting, *c)
    works("postrider", "pause", "all", *c)
    works("postrider", "resume", "all", *c)
    works("postrider", "suppress", "list", *c)
    works("postrider", "logs", "reopen", *c)
    assert waiting in works("postqueue", "-p", *c)
    assert "sender: sender@test.example" in works("postcat", *c, "-q", waiting)

    for verb in ("reload", "check", "start"):  # start: it would be refused if nothing ran
        done = mta.run("postrider", verb, *c)
        assert done.returncode == BAD_CONFIG, (verb, done)
        assert f"postrider: {mta.file}:" in done.stderr, done.stderr

    done = mta.run("postsuper", "-d", waiting, *c)
    assert done.returncode == 0 and f"{waiting}: removed" in done.stderr and ("warning" in done.stderr) == (breaks is not table_gone)
    assert mta.process.poll() is None and works("postrider", "stop", *c) == "postrider has stopped\n"
    assert mta.process.wait(20) == 0 and not published(mta).exists()


def test_what_is_published(running):
    """It is what runs, follows a reload, and has nothing in it that is for few."""
    mta, text, _ = running
    assert published(mta).stat().st_mode & 0o7777 == 0o644 and PUBLISHED.stat().st_mode & 0o7777 == 0o755
    mta.file.write_text(text.replace("[submit]\n", "[submit]\nrecipients = 2\n") + "[auth]\nsender_match = true\n")
    mta.command("reload")
    lines = published(mta).read_text().splitlines()
    assert "recipients = 2" in lines and f'directory = "{mta.spool}"' in lines and "sender_match" not in "".join(lines)
    mta.file.write_text("[[[")
    mta.command("reload", check=False)
    assert published(mta).read_text().splitlines() == lines


def test_a_file_closed_to_ordinary_users(running):
    """They submit and look as ever, without a word; those it is not for are still kept out."""
    mta, _, waiting = running
    mta.file.chmod(0o600)

    def as_stranger(program, *arguments, text=""):
        return subprocess.run(["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", mta.programs / program,
                               *map(str, arguments)], input=text, capture_output=True, text=True, timeout=30)

    done = as_stranger("sendmail", "-C", mta.file, f"{mta.user}@test.example", text="Subject: of a stranger\n\n")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "Subject: of a stranger" in mta.wait_mailbox(1)[0]
    done = as_stranger("mailq", "-C", mta.file)
    assert (done.returncode, done.stderr) == (0, "") and waiting in done.stdout, done
    done = as_stranger("postrider", "check", "-c", mta.file)
    assert done.returncode == BAD_CONFIG and "Permission denied" in done.stderr, done


def test_nothing_runs(mta):
    """A file that says where the spool is serves as far as it is understood; one that does not is refused."""
    mta.write_config()
    good = mta.file.read_text()
    mta.file.write_text(good.replace("hostname =", "hostnam ="))
    (mta.spool / "drop").mkdir(parents=True)
    done = mta.sendmail(f"{mta.user}@test.example", input="Subject: for later\n\n")
    assert done.returncode == 0 and f"unknown key mta.hostnam: did you mean hostname?; assuming that the spool is {mta.spool} (" in done.stderr
    done = mta.command("status", check=False)
    assert done.returncode == 3 and "it is not running" in done.stderr, done
    for bad in (good.replace("directory =", "directry ="), good.replace("[spool]", "[spool")):
        mta.file.write_text(bad)
        assert mta.sendmail(f"{mta.user}@test.example").returncode == TRY_AGAIN
        assert mta.command("status", check=False).returncode == BAD_CONFIG
    mta.start()
    assert "Subject: for later" in mta.wait_mailbox(1)[0]


def test_what_a_killed_master_left_behind_leads_nowhere_else(running):
    """It may be old; the file, once it is good, counts alone."""
    mta, text, _ = running
    mta.kill_everything()
    wait_until(lambda: published(mta).exists(), 1, "it to be left")
    mta.file.write_text(text.replace(str(mta.spool), f"{mta.folder}/other"))
    done = mta.command("status", check=False)
    assert done.returncode == 3 and "warning" not in done.stderr
    done = mta.sendmail(f"{mta.user}@test.example")
    assert done.returncode == TRY_AGAIN and f"{mta.folder}/other" in done.stderr, done
