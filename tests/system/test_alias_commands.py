"""Commands and files that aliases name: what a stranger writes never becomes part of them, and what the spool says is not
believed."""
import os
from pathlib import Path

import pytest

from harness.watch import wait_until
from test_mailbox_owners import OWNER, place, rooted  # noqa: F401


def rules(mta, text):
    path = mta.folder / "rules"
    path.write_text(text)
    mta.config["local"]["alias_tables"] = [f"regexp:{path}"]
    return path


def test_parts_of_an_address_are_no_parts_of_commands(mta):
    owned = Path(f"/tmp/postrider-{os.getpid()}")  # short: a local part has 64 octets
    path = rules(mta, f"/^first$/ someone\n/^do-(.*)$/ |echo $1\n/^file-(.*)$/ {mta.folder}/$1\n/^(.*)-at$/ $1@far.example\n")
    mta.write_config()
    for command in (("check",), ("map", "--check")):
        said = mta.command(*command, check=False)
        assert f"{path}, line 2: \"echo $1\": $1 … is replaced by text that the sender of a message chooses" in said.stderr, said.stderr
        assert f"{path}, line 3: " in said.stderr and "not in the name of a file" in said.stderr
        assert "line 4" not in said.stderr
    mta.start()
    for local_part in (f"do-x;touch {owned}", "do-x", "file-owned"):
        done = mta.sendmail("-i", f'"{local_part}"@test.example')
        assert done.returncode == 0, done.stderr
    mta.wait_log(rf"regexp:{path}, line 2: \"echo \$1\": .*allowed only in addresses, not in a command", count=2)
    mta.wait_log(rf"regexp:{path}, line 3: .*allowed only in addresses, not in the name of a file")
    assert len(mta.queued_ids()) == 3 and not owned.exists()


def test_parts_of_an_address_make_no_other_addresses(mta, remote):
    sink = remote()
    mta.route("far.example", sink)
    mta.route("stranger.example", sink)
    rules(mta, "/^(.*)-at$/ $1@far.example\n")
    mta.start()
    mta.submit("ann-at@test.example")
    sink.wait_for_one_to("ann@far.example")
    mta.sendmail("-i", '"victim@stranger.example,x-at"@test.example')
    mta.wait_log(r"becomes .*victim@stranger.example,x@far.example.* for this address, which names other targets")
    with mta.client() as c:
        c.say("MAIL FROM:<sender@client.example>")
        assert c.say('RCPT TO:<"victim@stranger.example,x-at"@test.example>')[0] != "2"
    assert len(sink.messages) == 1


@pytest.mark.needs("root")
def test_what_the_spool_says_is_not_run(rooted, place):  # noqa: F811
    """As a process that has the spool's user might write there: a command as another user, that no alias names."""
    mta = rooted
    (place / "home").mkdir(mode=0o777)
    Path(place / "home").chmod(0o777)
    owned = place / "home" / "owned"
    mta.config["local"].update(forward=[], default_user=OWNER)
    mta.aliases.write_text(f'robot: "|touch {owned}"\n')
    mta.start()
    queue = f"store:local/{OWNER}/|touch {owned}"  # each command's own
    mta.command("pause", "queue", queue)
    queue_id = mta.submit("robot@test.example")
    wait_until(lambda: queue in mta.command("explain", queue_id).stdout, 15, mta.last_words)
    mta.aliases.write_text(f"robot: {OWNER}\n")
    mta.command("resume", "queue", queue)
    mta.wait_log(rf"{queue_id}: to=<robot@test.example>, .*dsn=4.3.5, status=deferred \(refused: \"\|touch {owned}\" as user {OWNER}")
    assert not owned.exists()
    assert "is no longer in any alias file" in mta.command("explain", queue_id).stdout
    mta.command("reload")  # the categorizer reads the aliases anew
    mta.command("message", "requeue", queue_id)
    mta.wait_until_empty()
    assert not owned.exists() and len(mta.mailbox(OWNER)) == 1


def test_a_command_that_hangs_keeps_no_other_waiting(rooted, place):  # noqa: F811
    """Both are run as default_user; what hangs has the places of its own queue."""
    mta = rooted
    mta.config["local"].update(default_user=OWNER)
    mta.aliases.write_text(f'hangs: "|exec sleep 1000"\nworks: "|cat >{place}/mail/ran"\n')
    mta.start()
    with mta.client() as c:
        for n in range(30):
            assert c.deliver("sender@client.example", ["hangs@test.example"], f"Subject: {n}\r\n\r\n").startswith("250")
    mta.submit("works@test.example", "works")
    mta.wait_log(r"to=<works@test.example>, .*status=sent")
    assert len([entry for entry in mta.queue() if entry[3] == ["hangs@test.example"]]) == 30
