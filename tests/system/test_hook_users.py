"""Hooks on a real host: master is root, the events process and the commands of hooks are a user of their own."""
import json
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.hooks import Endpoint, make_secret
from harness.watch import wait_until
from test_compromised import SERVICE, place, pytestmark, whole  # noqa: F401 (root only; fixtures)
from test_hooks import SINK
from test_journal import journal


@pytest.fixture
def endpoint(block):
    made = Endpoint(block.host(20), block.port())
    yield made
    made.stop()


def uids_of(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return set(next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:])


def test_web_server_and_command_get_the_events(whole, endpoint, remote):
    mta = whole
    service = {str(pwd.getpwnam(SERVICE).pw_uid)}
    sink = remote()
    mta.route("remote.example", sink)
    secret = mta.folder / "secret"
    secrets = make_secret(secret)
    shutil.chown(secret, "root", "root")
    secret.chmod(0o600)  # master hands it over: the user of the daemons cannot read it
    received = mta.folder / "received"
    received.touch()
    shutil.chown(received, SERVICE)
    program = mta.folder / "sink"
    program.write_text(SINK.format(log=str(received), more="pass"))
    program.chmod(0o755)
    mta.config["hook.shop"] = {"url": endpoint.url, "secret_file": str(secret), "retry": ["1s"]}
    mta.config["hook.kafka"] = {"command": [str(program)], "retry": ["1s"]}
    mta.start()
    mta.wait_log(r"/master\[\d+\]: ready")
    assert uids_of(mta.wait_for_role("events")[0]) == service
    queue_id = mta.submit("ann@remote.example")
    wait_until(lambda: any(e.get("id") == queue_id and e["type"] == "message.finished" for e in journal(mta).values()), 20,
               lambda: f"it to be recorded\n{mta.last_words()}")
    numbers = [n for n, e in journal(mta).items() if e.get("id") == queue_id]
    lines = lambda: [tuple(map(int, line.split())) for line in received.read_text().splitlines()]
    wait_until(lambda: set(numbers) <= set(endpoint.accepted()), 20, lambda: f"the web server; it has {endpoint.accepted()}\n{mta.last_words()}")
    wait_until(lambda: set(numbers) <= {n for _, n in lines()}, 20, lambda: f"the command; it has {lines()}\n{mta.last_words()}")
    assert all(request.is_signed_with(secrets) for request in endpoint.requests)
    assert uids_of(lines()[0][0]) == service
    for name in ("shop", "kafka"):
        cursor = mta.spool / "history/cursors" / name
        wait_until(cursor.exists, 10, f"the cursor of {name}")
        assert pwd.getpwuid(cursor.stat().st_uid).pw_name == SERVICE and cursor.stat().st_mode & 0o777 == 0o600
    states = [json.loads(line) for line in mta.command("hook", "list", "--json").stdout.splitlines()]
    assert [s["state"] for s in states] == ["delivering", "delivering"]
    stranger = subprocess.run(["setpriv", "--reuid", "games", "--regid", "games", "--clear-groups", mta.programs / "postrider",
                               "hook", "list", "-c", mta.file], capture_output=True, text=True)
    assert stranger.returncode == 77 and "only root and members of the group" in stranger.stderr, stranger.stderr

    # What belongs to the user of the daemons is erased by it, on the word of root.
    erased = mta.command("history", "erase", "ann@remote.example", seconds=60).stdout
    assert erased.startswith("ann@remote.example is erased: ")
    assert mta.command("history", "ann@remote.example", check=False).returncode == 1
    assert all(pwd.getpwuid(p.stat().st_uid).pw_name == SERVICE for p in (mta.spool / "history").iterdir())

    mta.restart()
    mta.wait_log(r"/master\[\d+\]: ready", count=2)
    other = mta.submit("bob@remote.example")
    wait_until(lambda: any(e.get("id") == other for request in endpoint.requests for e in request.events), 20, mta.last_words)


def test_failed_mail_is_kept_and_sent_again(whole, remote):
    mta = whole
    sink = remote()
    sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["history"] = {"keep_failed": "1d"}
    mta.start()
    queue_id = mta.submit("ann@remote.example", "again")
    kept = mta.spool / "failed" / queue_id
    wait_until(kept.exists, 20, lambda: f"it to be kept\n{mta.last_words()}")
    assert pwd.getpwuid(kept.stat().st_uid).pw_name == SERVICE and kept.stat().st_mode & 0o777 == 0o600
    sink.well_behaved()
    mta.command("message", "resend", queue_id)
    sink.wait_for_one_to("ann@remote.example")
