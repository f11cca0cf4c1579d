"""What strangers can make end in bad/ and quarantine/ stays within its limits, and is counted."""
import os

import pytest

from harness.watch import wait_until


def names(directory):
    return sorted(p.name for p in directory.iterdir() if p.is_file())


def of(mta, directory):
    return next(p for p in mta.status()["queue"]["retained"] if p["directory"] == directory)


@pytest.fixture
def failing(mta, remote):
    """Everything to remote.example fails for good, after the message was accepted."""
    sink = remote()
    sink.at("rcpt", "550 5.1.1 No such user")
    mta.route("remote.example", sink)
    return mta


def test_mail_without_a_sender_cannot_fill_the_spool(failing):
    """Of what is there at the limit the oldest goes when more comes, and log and status say so; of a large message only its
    header is kept."""
    mta = failing
    mta.start()
    mta.stop()
    bad = mta.spool / "bad"
    for n in range(1, 5):  # as if strangers had sent them
        with open(bad / f"064A5B0000{n}010", "wb") as f:
            os.posix_fallocate(f.fileno(), 0, 64 << 20)
        (bad / f"064A5B0000{n}010.why").write_text("550 no\n")
    mta.start()
    wait_until(lambda: of(mta, "bad")["deleted"] == 1, 20, lambda: f"one to go: {of(mta, 'bad')}")
    large = mta.submit("user@remote.example", subject="large", sender="", body="y\r\n" * 1_500_000)
    mta.wait_log(f"{large}: undeliverable, and it has no sender to notify: its header is kept in bad/", 30)
    header = bad / f"{large}.header"
    assert "Subject: large" in header.read_text() and header.stat().st_size < 3000
    assert "only the header of" in (bad / f"{large}.header.why").read_text()
    body = "x" * 70 + "\r\n" + "y\r\n" * 1_300_000
    ids = [mta.submit("user@remote.example", sender="", body=body) for _ in range(18)]  # 18 × 3.9 MB
    mta.wait_until_empty(60)
    wait_until(lambda: of(mta, "bad")["deleted"] == 2 and of(mta, "bad")["bytes"] <= 256 << 20, 30,
               lambda: f"bad/ to be within its limit: {of(mta, 'bad')}")
    kept = {n.removesuffix(".why") for n in names(bad)}
    assert kept == {"064A5B00003010", "064A5B00004010", f"{large}.header", *ids}
    assert set(names(bad)) == kept | {f"{n}.why" for n in kept}, "each with its reason"
    assert of(mta, "bad")["messages"] == len(kept)
    mta.wait_log(r"bad/: 1 deleted, \d+ bytes: too old, or too large in total \(spool\.bad_age, spool\.bad_size\)", count=2)
    assert "deleted since the start" in mta.command("status").stdout
