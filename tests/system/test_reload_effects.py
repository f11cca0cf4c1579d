"""What a changed configuration would do to queued mail: told before it is taken over, and asked about if it is much."""
import json
import re

import pytest

from harness.watch import wait_until


@pytest.fixture
def queued(mta, remote):
    """Five messages that a refusing hop keeps waiting, and another hop that would take them."""
    first, second = remote(), remote()
    first.at("rcpt", "450 4.2.0 Not now")
    mta.route("remote.example", first)
    mta.start()
    for n in range(5):
        queue_id = mta.submit(f"user{n}@remote.example")
        mta.wait_log(f"{queue_id}: .* status=deferred")
    mta.wait_log("spool: loaded")
    return mta, first, second


def at(sink):
    return f"[{sink.address}]:{sink.port}"


def test_a_dry_run_says_what_would_become_of_queued_mail(queued):
    mta, first, second = queued
    assert mta.command("reload", "--dry-run").stdout == "queued mail would not be affected\n"
    mta.route("remote.example", second)
    mta.write_config()
    said = mta.command("reload", "--dry-run").stdout
    assert said.startswith("5 queued messages would be rerouted\n"), said
    assert re.search(rf"rerouted +5 +remote\.example +{re.escape(at(first))} +from {re.escape(at(first))} to {re.escape(at(second))}", said), said
    lines = [json.loads(l) for l in mta.command("reload", "--dry-run", "--json").stdout.splitlines()]
    assert lines[-1] == {"totals": {"rerouted": 5}, "limit": 100}
    assert not second.messages, "nothing was changed"
    assert "next_hop" not in "\n".join(mta.log()), "a configuration is not logged: it may hold passwords"
    mta.command("reload")
    second.wait_for(5)
    mta.wait_until_empty()


def test_what_is_much_is_asked_about(queued):
    mta, first, second = queued
    mta.config["master"] = {**mta.config.get("master", {}), "reload_limit": 4}
    mta.write_config()
    mta.command("reload")
    mta.route("remote.example", second)
    mta.config["master"]["reload_limit"] = 1000  # the one in force counts
    mta.write_config()
    done = mta.command("reload", check=False)
    assert done.returncode == 64, done.stdout
    assert "5 queued messages would be rerouted" in done.stderr and "--force" in done.stderr, done.stderr
    assert not second.messages
    mta.command("reload", "--force")
    second.wait_for(5)


def test_a_configuration_that_is_refused_does_nothing(queued):
    mta, first, second = queued
    mta.config["queue"]["retry_count"] = "many"
    mta.write_config()
    done = mta.command("reload", "--dry-run", check=False)
    assert done.returncode == 78 and "nothing was changed" in done.stderr


def test_a_table_that_a_reload_adds_decides_about_the_next_mail(mta, remote):
    """Recipients for whom nothing has to be looked up are decided by the queue-manager itself: it hears of the table, too."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.submit("user@remote.example", "before")
    sink.wait_for(1)
    (mta.folder / "virtual").write_text(f"user@remote.example {mta.user}@test.example\n")
    mta.config["virtual_alias"] = {"tables": [f"text:{mta.folder}/virtual"]}
    mta.write_config()
    mta.command("reload")
    mta.submit("user@remote.example", "with the table")
    assert "Subject: with the table" in str(mta.wait_mailbox(1)[0])
    del mta.config["virtual_alias"]
    mta.config["local"]["domains"] = [*mta.config["local"]["domains"], "remote.example"]
    mta.write_config()
    mta.command("reload")
    mta.submit(f"{mta.user}@remote.example", "as a domain of ours")
    mta.wait_mailbox(2)
    mta.config["local"]["domains"].remove("remote.example")
    mta.write_config()
    mta.command("reload")
    mta.submit("user@remote.example", "after")
    assert [m.header("Subject") for m in sink.wait_for(2)] == ["before", "after"]


def test_what_a_reload_changes_in_tables_of_the_configuration_decides_about_the_next_mail(mta):
    mta.config["table.few"] = {"kind": "entries", "entries": ["ann@lists.example other@test.example"]}
    mta.config["table.rules"] = {"kind": "regexp", "rules": ["/^x@/ REJECT not x"]}
    mta.config["table.all"] = {"kind": "union", "tables": ["patterns:rules"]}
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": ["table:few"]}
    mta.config["access.guard"] = {"listeners": ["relay"], "sender": ["check_sender_access patterns:all"]}
    mta.start()

    def said(sender, recipient):
        with mta.client(mta.relay_port) as c:
            c.say(f"MAIL FROM:<{sender}>")
            return c.say(f"RCPT TO:<{recipient}>")[:9]
    mta.submit("ann@lists.example", "before")
    mta.wait_mailbox(1, user="other")
    assert [said("x@remote.example", "ann@lists.example"), said("y@remote.example", "ann@lists.example"),
            said("y@remote.example", "bob@lists.example")] == ["554 5.7.1", "250 2.1.5", "550 5.1.1"]
    mta.config["table.few"]["entries"] = [f"ann@lists.example {mta.user}@test.example", "bob@lists.example other@test.example"]
    mta.config["table.rules"]["rules"] = ["/^y@/ REJECT not y"]
    mta.write_config()
    mta.command("reload")
    assert [said("x@remote.example", "ann@lists.example"), said("y@remote.example", "ann@lists.example"),
            said("x@remote.example", "bob@lists.example")] == ["250 2.1.5", "554 5.7.1", "250 2.1.5"]
    mta.submit("ann@lists.example", "after")
    assert "Subject: after" in str(mta.wait_mailbox(1)[0]) and len(mta.mailbox("other")) == 1
