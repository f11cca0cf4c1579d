"""What others wrote to watch a Postfix queue, out of their Debian packages, over an instance in which the test knows
what was done: check_mailq, Postfix::Parse::Mailq, munin and its plug-ins."""
import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import unpacked
from harness.mta import BUILD, Mta
from harness.ports import Block
from harness.sink import Sink
from harness.watch import wait_until

pytestmark = pytest.mark.needs("root", "mounts")
SOURCE = Path(__file__).resolve().parents[2]
DELIVERED, DEFERRED, HELD, REFUSED = 5, 4, 3, 2  # messages, and recipients where nothing else is said


@pytest.fixture(scope="module")
def watched():
    """An instance to which all of that has happened, and munin(plug-in, argument), which was asked once before."""
    block = Block()
    place = BUILD / "system-tests" / f"tools-{os.getpid()}-{block.base}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    good, busy = Sink(block.host(10), block.port()), Sink(block.host(11), block.port())
    busy.at("rcpt", "450 4.2.0 Not now")
    mta = Mta(place, block)
    mta.route("good.example", good)
    mta.route("busy.example", busy)
    mta.route("busier.example", busy)
    mta.config["queue"].update(glitch_interval="1h", retry_interval="1h")
    mta.config["relay"] = {"networks": ["192.0.2.0/24"]}
    munin = prepare_munin(mta)
    try:
        mta.start()
        for plugin in ("postfix_mailvolume", "postfix_mailstats"):
            assert munin(plugin).returncode == 0
        sizes = 0
        for n in range(DELIVERED):
            queue_id = mta.submit([f"a{n}@good.example", f"b{n}@good.example"], body="x" * 700 * n, port=mta.submission_port)
            sizes += 2 * int(mta.wait_log(rf"{queue_id}: from=<.*>, size=(\d+), nrcpt=2 ")[1])
        held = [mta.submit(f"c{n}@busy.example", sender="", port=mta.submission_port) for n in range(HELD)]
        deferred = [mta.submit(f"d{n}@busy.example", port=mta.submission_port) for n in range(DEFERRED - 1)]
        deferred.append(mta.submit(["e@busy.example", "e@busier.example"], port=mta.submission_port))
        with mta.client() as stranger:
            stranger.say("MAIL FROM:<x@y.example>")
            for n in range(REFUSED):
                assert stranger.say(f"RCPT TO:<x{n}@elsewhere.example>").startswith("554 5.7.1 ")
            assert stranger.say("RCPT TO:<nobody@test.example>").startswith("550 5.1.1 ")
            stranger.say("QUIT")
        mta.wait_log(r"to=<\w+@good.example>, .*status=sent ", count=2 * DELIVERED)
        mta.wait_log(r"to=<\w+@busi?e?r?y?.example>, .*status=deferred ", count=HELD + DEFERRED + 1)
        mta.command("message", "hold", *held)
        yield SimpleNamespace(mta=mta, munin=munin, held=held, deferred=deferred, volume=sizes)
    finally:
        mta.kill_everything()
        good.stop()
        busy.stop()
    assert not mta.crashes()
    shutil.rmtree(place, ignore_errors=True)


def prepare_munin(mta):
    home = mta.folder / "munin"
    for each in ("plugins", "conf.d", "var/plugin-state"):
        (home / each).mkdir(parents=True)
    (home / "munin-node.conf").write_text(f"log_file {home}/log\npid_file {home}/pid\nuser root\ngroup root\nhost 127.0.0.1\n")
    (home / "conf.d" / "test").write_text(
        f"[postfix_*]\nuser root\nenv.logdir {mta.folder}\nenv.logfile {mta.log_file.name}\n"
        f"[postrider_*]\nuser root\nenv.postrider {mta.programs}/postrider\nenv.config {mta.file}\n"
        "env.deferred_warning 3\nenv.hold_critical 9\n")
    for name in ("postfix_mailvolume", "postfix_mailstats"):
        os.symlink(f"/usr/share/munin/plugins/{name}", home / "plugins" / name)
    os.symlink(SOURCE / "conf/munin/postrider_mailqueue", home / "plugins" / "postrider_mailqueue")

    def munin(plugin, *argument):
        return unpacked.run_as_if_installed(
            ["munin-node"], ["munin-run", "--config", home / "munin-node.conf", "--servicedir", home / "plugins", "--sconfdir",
                             home / "conf.d", plugin, *argument], {"/var/lib/munin-node": home / "var"})
    return munin


def values(done):
    assert done.returncode == 0, done.stderr
    return {name: value for name, value in re.findall(r"^(\w+)\.value (\S+)$", done.stdout, re.M)}


def check_mailq(mta, *limits):
    """It calls /usr/bin/mailq, and nothing else will do."""
    names = mta.folder / "names"
    if not names.exists():
        names.mkdir()
        os.symlink(mta.programs / "sendmail", names / "mailq")
    done = unpacked.run_as_if_installed(
        ["monitoring-plugins-standard"],
        ["sh", "-ec", f'mount -t overlay overlay -o lowerdir={names}:/usr/bin /usr/bin; exec "$@"', "sh",
         "/usr/lib/nagios/plugins/check_mailq", "-M", "postfix", "-d", mta.file, *limits])
    return done.returncode, done.stdout.partition("|")[0].strip()


def test_check_mailq(watched):
    number = HELD + DEFERRED
    assert check_mailq(watched.mta, "-w", number + 1, "-c", 90) == (0, f"OK: postfix mailq ({number}) is below threshold (8/90)")
    assert check_mailq(watched.mta, "-w", number, "-c", 90) == (1, f"WARNING: postfix mailq is {number} (threshold w = {number})")
    assert check_mailq(watched.mta, "-w", 1, "-c", number) == (2, f"CRITICAL: postfix mailq is {number} (threshold c = {number})")


def test_postfix_parse_mailq(watched):
    listing = watched.mta.folder / "listing"
    listing.write_text(watched.mta.run("mailq", "-C", watched.mta.file).stdout)
    done = unpacked.run_as_if_installed(
        ["libpostfix-parse-mailq-perl"],
        ["perl", "-MPostfix::Parse::Mailq", "-MJSON::PP", "-e", "print encode_json(Postfix::Parse::Mailq->read_file($ARGV[0]))", listing])
    assert done.returncode == 0, done.stderr
    found = {entry["queue_id"]: entry for entry in json.loads(done.stdout)}
    assert set(found) == {*watched.held, *watched.deferred}
    assert {queue_id for queue_id, entry in found.items() if entry["status"] == "held"} == set(watched.held)
    assert {queue_id for queue_id, entry in found.items() if entry["status"] == "queued"} == set(watched.deferred)
    for entry in found.values():
        assert re.fullmatch(r"\(host .* said: 450 4\.2\.0 Not now \(in reply to RCPT TO command\)\)", entry["error_string"])
        assert entry["sender"] == ("MAILER-DAEMON" if entry["queue_id"] in watched.held else "sender@test.example")
        assert int(entry["size"]) > 100
    assert found[watched.deferred[-1]]["remaining_rcpts"] == ["e@busy.example", "e@busier.example"]


def test_munin_shows_the_queue(watched):
    assert watched.munin("postrider_mailqueue", "autoconf").stdout == "yes\n"
    config = watched.munin("postrider_mailqueue", "config").stdout
    assert "deferred.label deferred\ndeferred.warning 3\n" in config and "hold.critical 9\n" in config
    # The last of the deferred is for two domains.
    assert values(watched.munin("postrider_mailqueue")) == {
        "active": "0", "deferred": str(DEFERRED + 1), "incoming": "0", "hold": str(HELD)}


def test_munin_counts_what_the_log_says(watched):
    assert values(watched.munin("postfix_mailstats")) == {"delivered": str(2 * DELIVERED), "r554": str(REFUSED), "r550": "1"}
    assert values(watched.munin("postfix_mailvolume")) == {"volume": str(watched.volume)}


def test_what_tools_ask_postconf_for(watched):
    """Whatever name a script of these packages asks for, there is an answer."""
    asked = set()
    for package in ("munin-node", "monitoring-plugins-standard"):
        for file in (unpacked.tree(package) / "usr").rglob("*"):
            if file.is_file() and not file.is_symlink() and file.stat().st_size < 200_000 and b"postconf" in (text := file.read_bytes()):
                asked |= set(re.findall(rb"postconf -h ([a-z_]+)", text))
    assert b"queue_directory" in asked
    for name in asked:
        done = watched.mta.run("postconf", "-c", watched.mta.file, "-h", name.decode())
        assert done.stdout.strip() and not done.stderr


def test_nothing_waits_and_nothing_runs(watched):
    """Last of all."""
    mta = watched.mta
    mta.command("message", "remove", "all")
    wait_until(lambda: not mta.queue(), 15, "the queue to be empty")
    assert check_mailq(mta, "-w", 1, "-c", 2) == (0, "OK: postfix mailq reports queue is empty")
    assert set(values(watched.munin("postrider_mailqueue")).values()) == {"0"}
    assert mta.stop() == 0
    assert set(values(watched.munin("postrider_mailqueue")).values()) == {"U"}
    assert watched.munin("postrider_mailqueue", "autoconf").stdout == "no (the mail system is not running)\n"
    status, said = check_mailq(mta, "-w", 1, "-c", 2)
    assert (status, said) == (2, "CRITICAL: Error code 69 returned from /usr/bin/mailq -C " + str(mta.file))
