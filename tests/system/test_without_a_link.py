"""Mail that waits where there is no link: for its next hop, for the categorizer. Every view says why, since when and until
when, while it is tried again too, and after a restart."""
import json

from harness.watch import wait_until


def said_everywhere(mta, queue_id, *words):
    """What each view says of the message, once all of them say all the words; as text."""
    def views():
        return {
            "status": mta.command("status").stdout,
            "status --json": json.dumps(mta.status()["queue"]["unrouted"]),
            "queue list": mta.command("queue", "list").stdout,
            "message list": mta.command("message", "list").stdout,
            "message show": mta.command("message", "show", queue_id).stdout,
            "explain": mta.command("explain", queue_id).stdout,
            "mailq": mta.run("mailq", "-C", mta.file).stdout,
            "postqueue -j": mta.run("postqueue", "-c", mta.folder, "-j").stdout,
        }

    def silent(shown):
        return {view: text for view, text in shown.items() if not all(word in text for word in words)}

    return wait_until(lambda: (lambda shown: shown if not silent(shown) else None)(views()), 15,
                      lambda: f"every view to say {words}: {silent(views())}")


def test_a_next_hop_that_cannot_be_looked_up(mta, names):
    mta.use_names(names)
    mta.config["queue"]["routing_retry"] = "1h"
    names.fails("broken.example", "servfail")
    names.fails("silent.example", "timeout")
    mta.start()
    servers = f"asked {names.address}:{names.port}, from dns.servers"
    failed = mta.submit("x@broken.example")
    words = ("name=broken.example type=MX", servers)
    mta.wait_log(f"{failed}: to=<x@broken.example>, .*status=deferred")
    shown = said_everywhere(mta, failed, *words)
    assert "the next hop of broken.example" in shown["status"] and "1 being routed" in shown["status"]
    [line] = mta.status()["queue"]["unrouted"]
    assert line["gate"] == "route" and line["queue"] == "broken.example" and line["failures"] == 1
    assert 0 < line["failing_since"] < line["next_attempt"]
    assert ", since " in shown["explain"] and ", until " in shown["explain"]
    assert "    since " in shown["message show"] and ", next attempt " in shown["message show"]
    began = line["failing_since"]
    # A name server that says nothing: its silence is named, and while it is asked again the last reason stays.
    quiet = mta.submit("x@silent.example")
    mta.wait_log(f"{quiet}: to=<x@silent.example>, .*status=deferred")
    said_everywhere(mta, quiet, "name=silent.example type=MX", "timeout", servers)
    mta.config["dns"]["timeout"] = "1m"
    mta.write_config()
    mta.command("reload")
    names.fails("broken.example", "timeout")
    asked = names.times_asked("broken.example", "MX")
    mta.command("message", "retry", failed)
    wait_until(lambda: names.times_asked("broken.example", "MX") > asked, 15, "the name to be asked for again")
    shown = said_everywhere(mta, failed, *words)
    assert "being looked up again" in shown["message show"] + shown["explain"]
    # Over a restart, while no answer comes, what is known is what was known.
    mta.stop()
    asked = names.times_asked("broken.example", "MX")
    mta.start()
    wait_until(lambda: names.times_asked("broken.example", "MX") > asked, 15, "the name to be asked for at once")
    said_everywhere(mta, failed, *words)
    assert {each["queue"]: each["failing_since"] for each in mta.status()["queue"]["unrouted"]}["broken.example"] == began


def test_a_next_hop_that_is_found_again_leaves_no_trace(mta, names, remote):
    sink = remote()
    mta.use_names(names)
    names.fails("hub.example", "servfail")
    mta.config['route."remote.example"'] = {"next_hop": f"hub.example:{sink.port}"}
    mta.start()
    queue_id = mta.submit("x@remote.example")
    said_everywhere(mta, queue_id, "name=hub.example type=MX")
    names.heals("hub.example")
    names.address_of("hub.example", sink.address)
    sink.wait_for(1)
    wait_until(lambda: mta.status()["queue"]["unrouted"] == [], 15, "nothing to wait without a link")


def test_a_table_that_does_not_answer(mta, tmp_path):
    table = f"socketmap:unix:{tmp_path}/nobody:virtual"
    mta.config["virtual_alias"] = {"domains": ["lists.example"], "tables": [table]}
    mta.config["queue"]["categorize_retry"] = "1h"
    mta.start()
    queue_id = wait_until(lambda: submitted(mta, "a@lists.example"), 15, "mail for the list to be taken")
    wait_until(lambda: mta.status()["queue"]["unrouted"], 15, "the mail to be seen waiting for the categorizer")
    for view in (("status",), ("message", "list"), ("message", "show", queue_id), ("explain", queue_id)):
        assert table in mta.command(*view).stdout, view
    assert any(table in reason for entry in mta.queue() for reason in entry[4])
    assert "the categorizer" in mta.command("status").stdout
    [line] = mta.status()["queue"]["unrouted"]
    assert line["gate"] == "categorizer" and line["deliveries"] == 1 and line["next_attempt"] > 0


def submitted(mta, recipient):
    """By a submitter whom nobody asks whether the recipient exists."""
    done = mta.sendmail("-f", "sender@test.example", recipient)
    ids = {entry[0] for entry in mta.queue()}
    return next(iter(ids), None) if done.returncode == 0 else None


def test_paused_and_held_mail_says_so(mta, remote):
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.command("pause", "queue", "remote.example", "--reason", "they move house")
    paused = mta.submit("x@remote.example")
    why = "queue remote.example is paused by root: they move house"
    wait_until(lambda: why in mta.command("message", "show", paused).stdout, 15, "the message to be seen paused")
    assert "they move house" in mta.command("status").stdout and "they move house" in mta.command("explain", paused).stdout
    assert any(why in reason for entry in mta.queue() for reason in entry[4])
    assert why in mta.command("message", "list").stdout
    assert paused in mta.command("message", "list", "reason=is paused").stdout
    mta.command("message", "hold", paused, "--reason", "asked for by legal")
    assert "asked for by legal" in mta.command("message", "show", paused).stdout
    assert "asked for by legal" in mta.command("explain", paused).stdout
