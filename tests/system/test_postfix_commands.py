"""postqueue, postsuper, postcat and postconf as scripts call them. What they print beside Postfix's own, in
test_queue_listings.py."""
import json

import pytest

from harness.watch import wait_until


@pytest.fixture
def waiting(mta, remote):
    """An MTA and the ids of three messages in it: one held, two deferred for several recipients."""
    sink = remote()
    sink.at("rcpt", '450 4.2.0 Not "now" \\ later')
    mta.route("remote.example", sink)
    mta.config["queue"].update(glitch_interval="1h", retry_interval="1h")
    mta.start()
    ids = [mta.submit(["a@remote.example", "b@remote.example"]), mta.submit("c@remote.example", sender=""),
           mta.submit("d@remote.example", body="x" * 5000)]
    for queue_id in ids[1:]:
        mta.wait_log(rf"{queue_id}: .*status=deferred")
    mta.command("message", "hold", ids[0])
    return mta, sink, ids


def test_try_now_all_one_or_a_site(waiting):
    mta, sink, ids = waiting
    sink.well_behaved()
    assert mta.run("postqueue", "-c", mta.file, "-i", ids[1]).returncode == 0
    sink.wait_for_one_to("c@remote.example")
    assert mta.run("postqueue", "-c", mta.file, "-s", "remote.example").returncode == 0
    sink.wait_for_one_to("d@remote.example")
    mta.run("postsuper", "-c", mta.file, "-H", ids[0])
    assert mta.run("postqueue", "-c", mta.file, "-f").returncode == 0
    sink.wait_for_one_to("a@remote.example")
    mta.wait_until_empty()


def test_postsuper_by_ids_from_standard_input_or_all(waiting):
    mta, sink, ids = waiting
    def run(*arguments, **more):
        return mta.run("postsuper", "-c", mta.file, *arguments, **more)

    done = run("-h", "-", input=f"{ids[1]}\nFFFF0000000000\n{ids[2]}\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (f"postsuper: {ids[1]}: placed on hold\npostsuper: {ids[2]}: placed on hold\n"
                           "postsuper: Placed on hold: 2 messages\n")
    assert {state for _, state in states(mta)} == {"held"}
    assert run("-H", ids[1], "-H", ids[2]).stderr.endswith("postsuper: Released from hold: 2 messages\n")
    assert dict(states(mta))[ids[0]] == "held"
    assert run("-d", ids[1], "hold").stderr == "postsuper: Deleted: 0 messages\n"  # it is in another queue
    assert run("-d", "ALL", "hold").stderr == "postsuper: Deleted: 1 message\n"
    assert {queue_id for queue_id, _ in states(mta)} == set(ids[1:])
    assert run("-r", "ALL").stderr == "postsuper: Requeued: 2 messages\n"
    assert run("-d", "../../etc/passwd").stderr == (
        "postsuper: warning: invalid mail queue id: ../../etc/passwd\npostsuper: Deleted: 0 messages\n")
    assert run("-d", "ALL", "deferred", "incoming", "active").returncode == 0
    mta.wait_until_empty()
    assert run("-d", "ALL").stderr == "postsuper: Deleted: 0 messages\n"
    assert run("-s").returncode == run("-p").returncode == 0


def states(mta):
    listed = mta.command("message", "list", "--json").stdout.splitlines()
    return [(entry["id"], entry["state"]) for entry in map(json.loads, listed)]


def test_an_expired_message_goes_back(waiting):
    mta, _, ids = waiting
    done = mta.run("postsuper", "-c", mta.file, "-e", ids[2])
    assert done.stderr == f"postsuper: {ids[2]}: expired\npostsuper: Force-expired: 1 message\n"
    wait_until(lambda: ids[2] not in [queue_id for queue_id, _ in states(mta)], 15, "the message to be given up")


def test_postcat_shows_a_message(waiting):
    mta, _, ids = waiting
    whole = mta.run("postcat", "-c", mta.file, "-q", ids[0]).stdout
    assert whole.startswith(f"*** ENVELOPE RECORDS {ids[0]} ***\n")
    assert ("\nsender: sender@test.example\noriginal_recipient: a@remote.example\nrecipient: a@remote.example\n"
            "original_recipient: b@remote.example\nrecipient: b@remote.example\n") in whole
    assert f"\n*** MESSAGE CONTENTS {ids[0]} ***\nReceived: " in whole
    assert whole.endswith(f"\n*** HEADER EXTRACTED {ids[0]} ***\n*** MESSAGE FILE END {ids[0]} ***\n")
    header = mta.run("postcat", "-c", mta.file, "-hq", ids[0]).stdout
    body = mta.run("postcat", "-c", mta.file, "-bq", ids[0]).stdout
    assert "Subject: test\n" in header and "Hello." not in header and body == "\nHello.\n"
    assert header + body in whole
    assert mta.run("postcat", "-c", mta.file, "-q", "nonsense!").returncode == 1
    missing = mta.run("postcat", "-c", mta.file, "-q", "FFFF0000000000")
    assert missing.returncode == 1 and missing.stderr.startswith("postcat: fatal: open queue file FFFF0000000000: ")


def test_postconf_answers_what_tools_ask(mta):
    mta.config['route."*"'] = {"next_hop": "[192.0.2.1]:2525"}
    mta.write_config()
    assert mta.run("postconf", "-c", mta.file, "-h", "queue_directory").stdout == f"{mta.spool}\n"
    assert mta.run("postconf", "-c", mta.folder, "myhostname", "myorigin", "relayhost").stdout == (
        "myhostname = mta.test.example\nmyorigin = test.example\nrelayhost = [192.0.2.1]:2525\n")
    unknown = mta.run("postconf", "-c", mta.file, "-h", "no_such_thing", "mail_owner")
    assert (unknown.returncode, unknown.stdout) == (0, "postrider\n")
    assert unknown.stderr == "postconf: warning: no_such_thing: unknown parameter\n"
    every = mta.run("postconf", "-c", mta.file, "-n").stdout.splitlines()
    assert every == sorted(every) and len(every) > 20
    refused = mta.run("postconf", "-c", mta.file, "-e", "relayhost=x")
    assert refused.returncode == 1 and "postrider.toml" in refused.stderr


@pytest.mark.parametrize("words", [["postqueue"], ["postqueue", "-p", "-j"], ["postqueue", "-x"], ["postqueue", "-p", "more"],
                                   ["postsuper", "-y"], ["postsuper", "-d"], ["postcat", "-q"], ["postcat", "-Y", "x"],
                                   ["postconf", "-Z"], ["postsuper", "-d", "ALL", "no-such-queue"]])
def test_wrong_use(mta, words):
    mta.write_config()
    done = mta.run(words[0], "-c", mta.file, *words[1:])
    assert done.returncode == (69 if words[0] == "postqueue" else 1) and done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"{words[0]}: fatal: ")


def test_nothing_runs(mta):
    mta.write_config()
    for words, text in ((["postqueue", "-p"], "Queue report unavailable - mail system is down"),
                        (["postqueue", "-f"], "Cannot flush mail queue - mail system is down"),
                        (["postsuper", "-d", "ALL"], 'the mail system is down; "postrider start" starts it')):
        done = mta.run(words[0], "-c", mta.file, *words[1:])
        assert (done.returncode, done.stderr) == (69 if words[0] == "postqueue" else 1, f"{words[0]}: fatal: {text}\n")
    done = mta.run("postqueue", "-c", mta.folder / "elsewhere", "-p")
    assert done.returncode == 69 and "elsewhere" in done.stderr
