"""One message with very many recipients, or with very long replies, takes no channel between the daemons from others: what
it needs is told in parts, and other mail is categorized, delivered and reported meanwhile."""
import email
import email.policy
import json

import pytest

from harness.trouble import Injection
from harness.watch import wait_until
from test_lists import TollGate

# As gmail.com says it of a mailbox that it does not have, with the address; longer than what is kept of a reply.
NO_SUCH_MAILBOX = "\r\n".join(f"550{mark}5.1.1 {line}" for mark, line in [
    ("-", "{} The email account that you tried to reach does not exist. Please try"),
    ("-", "double-checking the recipient's email address for typos or unnecessary spaces, and whether the account has"),
    ("-", "been moved, renamed or closed since it was written to the last time. Learn more about what this means at"),
    ("-", "https://support.example/mail/?p=NoSuchUser where the reasons are explained, with what the sender can do:"),
    (" ", "98e67ed59e1d1-2e1b3f0c9a8si1234567a91.104 - gsmtp (this line is here to make it as long as they are)"),
])


def no_such_mailbox(session, argument):
    return NO_SUCH_MAILBOX.format(argument)


def reports_to(sink, address):
    """The recipients that the reports to an address name: {recipient: (status, diagnostic)}."""
    told = {}
    for message in sink.to(address):
        whole = email.message_from_bytes(message.content, policy=email.policy.default)
        status = next(part for part in whole.walk() if part.get_content_type() == "message/delivery-status")
        for fields in status.get_payload()[1:]:
            recipient = fields["Final-Recipient"].partition(";")[2].strip()
            assert recipient not in told, "told of twice"
            told[recipient] = (fields["Status"], " ".join(fields["Diagnostic-Code"].split()))
    return told


def test_a_list_that_is_refused_at_length_does_not_silence_reports(mta, remote):
    refusing, home = remote(), remote()
    members = [f"member{n}@r.example" for n in range(2500)]
    (mta.folder / "members").write_text("\n".join(members) + "\n")
    mta.aliases.write_text(f"list: :include:{mta.folder}/members\n")
    mta.route("r.example", refusing)
    mta.route("s.example", home)
    refusing.at("rcpt", no_such_mailbox)
    mta.config["queue"]["report_merge_window"] = "30s"  # all of them in one question
    mta.start()
    mta.submit("list@test.example", "to all", sender="stranger@s.example")
    wait_until(lambda: len(refusing.commands) > 1000, 30, "the list to be refused")
    mta.submit("nobody@r.example", "for one", sender="another@s.example")
    home.wait_for_one_to("another@s.example", 30)
    wait_until(lambda: sum(m.text.count("Final-Recipient") for m in home.to("stranger@s.example")) >= len(members), 60,
               mta.last_words)
    told = reports_to(home, "stranger@s.example")
    assert set(told) == set(members)
    assert all(status == "5.1.1" and "does not exist" in why for status, why in told.values())
    assert len(home.to("stranger@s.example")) <= 3
    assert len(home.to("another@s.example")) == 1
    mta.wait_until_empty()
    assert mta.status()["queue"]["services"]["bounce"] is True


def test_a_transaction_of_thousands_that_are_refused_at_length_ends(mta, remote):
    """Its result is larger than a frame: it is told all the same, and other domains' mail goes meanwhile."""
    refusing, home = remote(), remote()
    mta.route("r.example", refusing)
    mta.route("s.example", home)
    refusing.at("rcpt", no_such_mailbox)
    mta.config["queue"].update(recipients_per_transaction=10_000, report_merge_window="30s")
    mta.start()
    everybody = [f"user{n}@r.example" for n in range(3000)]
    assert mta.sendmail("-i", "-f", "writer@s.example", "--", *everybody).returncode == 0
    wait_until(lambda: sum(line.startswith("RCPT") for _, line in refusing.commands) >= len(everybody), 60, "all of them to be tried")
    mta.submit("friend@s.example", "meanwhile", sender="another@s.example")
    home.wait_for_one_to("friend@s.example", 30)
    wait_until(lambda: sum(m.text.count("Final-Recipient") for m in home.to("writer@s.example")) >= len(everybody), 60,
               mta.last_words)
    assert set(reports_to(home, "writer@s.example")) == set(everybody)
    mta.wait_until_empty()
    assert sum(line.startswith("RCPT") for _, line in refusing.commands) == len(everybody)  # once each


def test_a_list_that_is_late_at_length_gets_its_notice_and_others_theirs(mta, remote):
    late, home = remote(), remote()
    members = [f"member{n}@late.example" for n in range(1500)]
    (mta.folder / "members").write_text("\n".join(members) + "\n")
    mta.aliases.write_text(f"list: :include:{mta.folder}/members\n")
    mta.route("late.example", late)
    mta.route("s.example", home)
    late.at("rcpt", lambda session, argument: NO_SUCH_MAILBOX.replace("550", "450").replace("5.1.1", "4.2.1").format(argument))
    mta.config["queue"].update(delay_notice="8s", glitch_interval="2s", retry_interval="2s", retry_interval_after="2s", jitter=0,
                               report_merge_window="30s")
    mta.start()
    mta.submit("list@test.example", "to all", sender="stranger@s.example")
    mta.submit("somebody@late.example", "to one", sender="another@s.example")
    home.wait_for_one_to("another@s.example", 30)
    wait_until(lambda: sum(m.text.count("Final-Recipient") for m in home.to("stranger@s.example")) >= len(members), 150,
               mta.last_words)
    told = reports_to(home, "stranger@s.example")
    assert set(told) == set(members) and {status for status, _ in told.values()} == {"4.2.1"}
    # Whatever is in flight of the fifteen transactions that it takes: nothing of them is past stopping.
    assert mta.command("message", "remove", "all").stdout == "2 messages removed\n"
    mta.wait_until_empty()


def test_messages_with_ten_thousand_long_addresses_do_not_stop_categorization(mta):
    """Twenty of them, by sendmail, and a restart in the middle; then a probe."""
    domain = "l" * 40 + ".example"
    mta.config["submit"].update(message_size="32MiB")
    mta.start()
    mta.command("pause", "queue", domain)
    for message in range(20):
        everybody = [f"{message:02}-{n:05}-{'x' * 50}@{domain}" for n in range(10_000)]
        half = len(everybody) // 2
        head = "Subject: to all\nBcc: " + ",\n ".join(everybody[half:])
        done = mta.sendmail("-i", "-t", "-f", "writer@test.example", "--", *everybody[:half], input=head + "\n\nHello.\n")
        assert done.returncode == 0, done.stderr
    mta.restart()
    mta.submit(mta.user, "probe")
    assert "Subject: probe" in mta.wait_mailbox(1, seconds=60)[0]

    def settled():
        states = mta.status()["queue"]["states"]
        return states["new"] == 0 and states["routing"] == 0
    wait_until(settled, 90, lambda: f"all of it to be categorized: {mta.status()['queue']['states']}")
    ids = mta.queued_ids()
    assert len(ids) == 20


def test_more_recipients_than_one_message_of_sendmail_holds(mta):
    """A megabyte of arguments: to the running system, and left for it while it does not run."""
    domain = "l" * 40 + ".example"
    everybody = [f"{n:05}-{'x' * 50}@{domain}" for n in range(10_000)]

    def recipients_of(queue_id):
        shown = json.loads(mta.command("message", "show", queue_id, "--json", seconds=60).stdout)
        return sorted(r["address"] for r in shown["recipients"])
    mta.start()
    mta.command("pause", "queue", domain)
    assert mta.sendmail("-i", "-f", "writer@test.example", "--", *everybody).returncode == 0
    first = wait_until(mta.queued_ids, 60, mta.last_words)
    mta.stop()
    assert mta.sendmail("-i", "-f", "writer@test.example", "--", *everybody).returncode == 0
    mta.start()
    both = wait_until(lambda: (lambda ids: ids if len(ids) == 2 else None)(mta.queued_ids()), 60, mta.last_words)
    assert first < both
    for queue_id in both:
        assert recipients_of(queue_id) == everybody


@pytest.mark.needs("strace")
def test_a_file_that_cannot_be_opened_now_is_asked_about_again(mta, tmp_path):
    """The queue-manager has no descriptors when it is to put a message's question to the categorizer once more."""
    mta.config["table.gate"] = {"kind": "socketmap", "address": f"unix:{tmp_path}/gate", "map": "virtual", "timeout": "1s"}
    mta.config["virtual_alias"] = {"tables": ["table:gate"]}
    mta.start()
    assert mta.sendmail(mta.user, input="Subject: waits for the table\n\nHello.\n").returncode == 0
    queue_id = mta.wait_log(r"error\[\d+\]: (\w+): .*status=deferred")[1]
    manager = mta.pids("queue-manager")[0]
    injection = Injection(manager, "error=EMFILE", "openat")
    try:
        mta.wait_log(rf"{queue_id}: .*Too many open files", 30)
        wait_until(lambda: any("Too many open files" in line["last_error"] for line in mta.status()["queue"].get("unrouted", [])), 30,
                   lambda: f"status to say why: {mta.status()}")
    finally:
        injection.end()
    gate = TollGate(str(tmp_path / "gate"))
    gate.tickets.release(1000)
    assert "Subject: waits for the table" in mta.wait_mailbox(1, seconds=30)[0]
    mta.wait_until_empty()
    gate.shutdown()
    assert mta.pids("queue-manager") == [manager]


@pytest.mark.needs("strace")
@pytest.mark.parametrize("agent", ["smtp-client", "local"])
def test_mail_that_an_agent_does_not_find_is_not_forgotten(mta, remote, agent):
    mta.config["smtp_client"]["workers"] = 1
    mta.config["local"]["forward"] = []  # nothing else is opened
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    injection = Injection(mta.wait_for_role(agent)[0], "error=ENOENT", "openat")
    try:
        queue_id = mta.submit(mta.user if agent == "local" else "user@remote.example", "not found")
        mta.wait_log(rf"{queue_id}: .*(file is gone|did not find its file)", 30)
    finally:
        injection.end()
    if agent == "local":
        assert "Subject: not found" in mta.wait_mailbox(1, seconds=30)[0]
    else:
        sink.wait_for(1, 30)
    mta.wait_until_empty()
