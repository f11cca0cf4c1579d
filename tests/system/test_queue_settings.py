"""The keys of [queue] and of reports that are the daemons' affair, and the check that no key of [queue] is without a
test. What the engine does with the others: tests/decide/queue/*settings_test.cpp."""
import re
from pathlib import Path

import pytest

from harness.watch import wait_until
from test_control import one

ROOT = Path(__file__).resolve().parents[2]
HERE = ["recategorize_on_start"]


def keys_of(section):
    """As the sample configuration has them, which is made from what the configuration reads."""
    text = (ROOT / "conf/postrider.toml").read_text()
    body = re.search(rf"^\[{section}\]\n(.*?)(?=^#?\[)", text, re.M | re.S)[1]
    return set(re.findall(r"^#?(\w+) = ", body, re.M))


def test_every_key_of_queue_has_a_test_that_it_changes_the_behaviour():
    text = "".join(path.read_text() for path in (ROOT / "tests/decide/queue").glob("*settings_test.cpp"))
    tested = {key for title in re.findall(r'TEST_CASE\("(.*?)"\)', text) for key in re.findall(r"\bqueue\.(\w+)", title)}
    assert {"glitch_interval", "forget_after"} <= keys_of("queue"), "the sample configuration is read wrongly"
    assert keys_of("queue") == tested | set(HERE)
    assert all(f"def test_{key}(" in Path(__file__).read_text() for key in HERE)


@pytest.mark.parametrize("anew", [False, True])
def test_recategorize_on_start(mta, remote, anew):
    """A local recipient that waits: the alias it has got meanwhile counts after a restart, or does not."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["queue"] |= {"recategorize_on_start": anew, "local_retry": "1h"}
    blocked = mta.folder / "mail" / "other"
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_text("")  # no directory: nothing can be delivered there
    mta.start()
    queue_id = mta.submit("other@test.example")
    mta.wait_log(rf"{queue_id}: .*status=deferred")
    mta.stop()
    mta.aliases.write_text("other: someone@remote.example\n")
    blocked.unlink()
    mta.start()
    if anew:
        sink.wait_for_one_to("someone@remote.example")
        assert not mta.mailbox("other")
    else:
        wait_until(lambda: one(mta, "status")["loading"] is False, 15, "the spool to be read")
        mta.command("force", "all")
        mta.wait_mailbox(1, user="other")
        assert not sink.messages


@pytest.mark.parametrize("limit, whole", [("50KiB", True), ("1KiB", False)])
def test_dsn_full_content_limit(mta, remote, limit, whole):
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    mta.config["bounce"] = {"dsn_full_content_limit": limit}
    mta.start()
    mta.submit("user@remote.example", sender=f"{mta.user}@test.example", body="The body.\r\n" * 200)
    assert ("The body." in mta.wait_mailbox(1)[0]) is whole


@pytest.mark.parametrize("few", [True, False])
def test_dsn_over_quota_partial_headers(mta, remote, few):
    """A full mailbox: its owner's correspondent gets the few headers that tell which message it was, or all."""
    sink = remote()
    sink.at("rcpt", "552 5.2.2 Mailbox full")
    mta.route("remote.example", sink)
    mta.config["bounce"] = {"dsn_over_quota_partial_headers": few, "dsn_full_content_limit": 0}
    mta.start()
    mta.submit("user@remote.example", "the subject", f"{mta.user}@test.example", extra="X-Long: and rarely read\r\n")
    report = mta.wait_mailbox(1)[0]
    assert "Subject: the subject" in report
    assert ("X-Long" in report) is not few
