"""Run by root: daemons give up root's rights, and mailboxes are written by their owners and nobody else."""
import os
import pwd
import shutil
import tempfile
from pathlib import Path

import pytest

from harness.mta import Mta

pytestmark = pytest.mark.needs("root")
SERVICE, GROUP = "nobody", "nogroup"  # any user without rights does for one
OWNER = "games"


@pytest.fixture
def place():
    """Where every user may pass."""
    made = Path(tempfile.mkdtemp(prefix="postrider-owners-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def rooted(place, block):
    mta = Mta(place, block)
    mta.user = OWNER
    (place / "mail").mkdir(mode=0o700)
    os.chmod(place / "mail", 0o1777)
    mta.config["mta"].update(multi_user=True, user=SERVICE, drop_group=GROUP, admin_group=GROUP)
    mta.config["local"].update(users=[], minimum_uid=2)
    mta.spool.mkdir()
    shutil.chown(mta.spool, SERVICE, GROUP)
    yield mta
    mta.kill_everything()
    assert not mta.crashes()


def owner(path):
    return pwd.getpwuid(path.stat().st_uid).pw_name


def test_a_maildir_is_its_owners(rooted):
    mta = rooted
    mta.start()
    mta.wait_log(r"/master\[\d+\]: ready")  # all run, and have become who they are
    for role in ("smtpd", "queue-manager", "categorizer", "router", "smtp-client", "bounce", "pickup"):
        status = Path(f"/proc/{mta.wait_for_role(role)[0]}/status").read_text()
        uids = next(l for l in status.splitlines() if l.startswith("Uid:")).split()[1:]
        assert set(uids) == {str(pwd.getpwnam(SERVICE).pw_uid)}, role
    mta.submit(f"{OWNER}@test.example", "mine")
    assert "Subject: mine" in mta.wait_mailbox(1)[0]
    box = mta.folder / "mail" / OWNER
    files = list((box / "new").iterdir())
    assert {owner(p) for p in (box, box / "new", *files)} == {OWNER}
    assert files[0].stat().st_mode & 0o777 == 0o600


def test_an_mbox_is_its_owners_and_no_link_is_followed(rooted):
    mta = rooted
    mta.config["local"]["mailbox"] = f"mbox:{mta.folder}/mail/{{user}}"
    precious = mta.folder / "precious"
    precious.write_text("")
    box = mta.folder / "mail" / OWNER
    box.symlink_to(precious)
    mta.start()
    queue_id = mta.submit(f"{OWNER}@test.example", "mine")
    mta.wait_log(rf"{queue_id}: to=<{OWNER}@test\.example>, relay=local, .*dsn=4\.2\.0, status=deferred")
    box.unlink()
    mta.flush()
    mta.wait_until_empty()
    assert owner(box) == OWNER and "Subject: mine" in box.read_text() and not precious.read_text()


def test_root_has_no_mailbox(rooted):
    mta = rooted
    mta.config["local"]["postmaster"] = OWNER
    mta.start()
    queue_id = mta.submit("root@test.example")
    mta.wait_log(rf"{queue_id}: to=<root@test\.example>, .*status=deferred \(mail for root is never written to a mailbox: create an alias for the person who reads it")
    assert not (mta.folder / "mail" / "root").exists()
    tried = mta.command("try", "root@test.example", check=False)
    assert tried.returncode == 75 and "mail would wait" in tried.stdout and "create an alias for the person" in tried.stdout
    assert "create an alias for the person" in mta.command("explain", "root@test.example", check=False).stdout
    assert "create an alias for the person" in mta.command("message", "show", queue_id).stdout
    other = mta.submit("root@test.example")
    mta.wait_log(rf"{other}: to=<root@test\.example>, .*status=deferred")
    mta.aliases.write_text(f"root: {OWNER}\n")
    mta.command("reload")
    assert mta.command("message", "retry", queue_id).stdout == "1 message tried now\n"
    mta.command("message", "requeue", other)  # no queue has it yet
    mta.wait_until_empty()
    assert len(mta.wait_mailbox(2)) == 2
