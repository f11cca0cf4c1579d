"""postrider spool check, export, import."""
import json
import os
import re

from harness.watch import wait_until


def waiting(mta, remote, count=1):
    """A sink that defers everything, and messages that wait for it."""
    sink = remote()
    sink.at("rcpt", "450 4.2.0 Later")
    mta.route("remote.example", sink)
    mta.start()
    ids = [mta.submit(f"someone{n}@remote.example", subject=f"number {n}") for n in range(count)]
    mta.wait_log("status=deferred", count=count)
    return sink, ids


def test_a_sound_spool_then_one_damaged_byte(mta, remote):
    _, ids = waiting(mta, remote, 3)
    done = mta.command("spool", "check")
    assert "3 messages are complete" in done.stdout
    mta.stop()
    [victim] = [p for p in mta.spool_files() if p.name == ids[1]]
    data = bytearray(victim.read_bytes())
    data[data.index(b"number 1")] ^= 1
    victim.write_bytes(data)
    done = mta.command("spool", "check", check=False)
    assert done.returncode == 65
    assert re.search(rf"{victim}: damaged: content: checksum is", done.stdout)
    facts = json.loads(mta.command("spool", "check", "--json", check=False).stdout)
    assert facts["messages"] == 2 and [f["problem"] for f in facts["findings"]] == ["damaged"]
    assert len(mta.spool_files()) == 3, "a check changes nothing"


def test_a_message_goes_out_and_comes_in_again_under_a_new_id(mta, remote, folder):
    sink, [old] = waiting(mta, remote)
    file = folder / "message"
    mta.command("spool", "export", old, file)
    again = mta.command("spool", "export", old, file, check=False)
    assert again.returncode == 71 and f"{file} exists and is not overwritten" in again.stderr
    piped = mta.run("postrider", "spool", "export", "-c", mta.file, old, "-", input=b"")
    assert piped.stdout.startswith(b"Postrid") and piped.returncode == 0
    done = mta.command("spool", "import", file)
    new = re.fullmatch(rf"{old} is queued as (\w+) for 1 recipient\n", done.stdout)[1]
    assert new != old
    sink.well_behaved()
    mta.flush()
    first, second = sink.wait_for(2)[:2]
    assert first.content == second.content and first.recipients == second.recipients == ["someone0@remote.example"]
    assert first.sender == second.sender
    assert mta.logged(f"{new}: imported by uid={os.geteuid()} from=<sender@test.example>")
    mta.wait_until_empty()


def test_an_imported_message_goes_where_it_was_rerouted_to(mta, remote, folder):
    sink, [old] = waiting(mta, remote)
    there = remote()
    there.at("rcpt", "450 4.2.0 Later")
    hop = f"[{there.address}]:{there.port}"
    mta.command("message", "reroute", hop, old)
    mta.command("spool", "export", old, folder / "message")
    mta.command("message", "remove", old)
    new = mta.command("spool", "import", folder / "message").stdout.split()[4]
    shown = wait_until(lambda: mta.command("message", "show", new, check=False).stdout, 15, "the import to be known")
    assert f"Rerouted to   {hop}" in shown
    there.well_behaved()
    mta.flush()  # what it has come to goes along: it would wait for its next attempt
    there.wait_for(1)
    assert not sink.messages


def test_an_export_that_is_imported_twice_is_one_message(mta, remote, folder):
    sink, [old] = waiting(mta, remote)
    file = folder / "message"
    mta.command("spool", "export", old, file)
    mta.command("message", "remove", old)
    new = mta.command("spool", "import", file).stdout.split()[4]
    assert "it is here already" in mta.command("spool", "import", file).stdout
    wait_until(lambda: mta.queued_ids() == {new}, 15, "the one message to be queued")
    facts = json.loads(mta.command("message", "show", new, "--json").stdout)
    assert facts["recipients"][0]["tries"] > 0, "what it has come to goes along"
    third = mta.command("spool", "import", "--again", file).stdout.split()[4]
    assert third != new
    sink.well_behaved()
    mta.flush()
    sink.wait_for(2)
    mta.wait_until_empty()


def test_what_cannot_be_done_is_said(mta, remote, folder):
    _, [old] = waiting(mta, remote)
    done = mta.command("spool", "export", "0123456789ABCD", folder / "x", check=False)
    assert done.returncode == 1 and "no message" in done.stderr and not (folder / "x").exists()
    assert mta.command("spool", "export", "nonsense", folder / "x", check=False).returncode == 64
    assert mta.command("spool", "import", folder / "none", check=False).returncode == 66
    (folder / "odd").write_text("not a message")
    done = mta.command("spool", "import", folder / "odd", check=False)
    assert done.returncode == 65 and str(folder / "odd") in done.stderr
    file = folder / "message"
    mta.command("spool", "export", old, file)
    data = bytearray(file.read_bytes())
    data[data.index(b"number 0")] ^= 1
    (folder / "damaged").write_bytes(data)
    done = mta.command("spool", "import", folder / "damaged", check=False)
    assert done.returncode == 65 and "checksum" in done.stderr
    mta.stop()
    done = mta.command("spool", "import", file, check=False)
    assert done.returncode == 3 and "not running" in done.stderr
    wait_until(lambda: len(mta.spool_files()) == 1, 5, "the one message to be all there is")
