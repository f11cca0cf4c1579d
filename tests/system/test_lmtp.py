"""Mail to a mailbox store by LMTP: Dovecot, as Debian packages it, over TCP and through its socket."""
import shutil
from pathlib import Path

import pytest

from harness.stores import DovecotStore
from harness.watch import wait_until


pytestmark = pytest.mark.needs("mounts")


@pytest.fixture
def store(mta, block):
    running = []

    def start(*users, **options):
        running.append(DovecotStore(mta.folder, mta.block.host(20), block.port(), *users, **options))
        return running[-1]
    yield start
    for each in running:
        each.stop()
        shutil.rmtree(each.short)


def road(store, kind):
    return f"lmtp:{store.socket}" if kind == "socket" else f"lmtp:[{store.address}]:{store.port}"


@pytest.mark.parametrize("kind", ["tcp", "socket"])
def test_each_recipient_hears_of_its_own_mailbox(mta, store, kind):
    place = store("ann", "bob", "cid", quotas={"bob": 500})
    mta.config['route."store.example"'] = {"next_hop": road(place, kind)}
    mta.start()
    body = "".join(f"Line {n} of the letter.\n" for n in range(200))
    queue_id = mta.submit(["ann@store.example", "bob@store.example", "cid@store.example", "nobody@store.example"], body=body,
                          sender="someone@test.example")
    for user in ("ann", "cid"):
        found = wait_until(lambda: place.mailbox(user), 15, lambda: f"{user}'s mail\n{place.said()}\n{mta.last_words()}")
        assert len(found) == 1 and found[0].count("of the letter.") == 200
    relay = rf"relay=localhost\[{place.socket}\]" if kind == "socket" else rf"relay={place.address}\[{place.address}\]:{place.port}"
    for user in ("ann", "cid"):
        mta.wait_log(rf"postfix/lmtp\[\d+\]: {queue_id}: to=<{user}@store.example>, {relay}, .*dsn=2.0.0, status=sent \(250 2.0.0 <{user}@store.example> \S+ Saved\)")
    mta.wait_log(rf"{queue_id}: to=<bob@store.example>, {relay}, .*dsn=5.2.2, status=bounced \(host .* said: 552 5.2.2 .*Quota exceeded"
                 r".* \(in reply to end of DATA command\)\)")
    mta.wait_log(rf"{queue_id}: to=<nobody@store.example>, .*dsn=5.1.1, status=bounced \(host .* said: 550 5.1.1 .* \(in reply to RCPT TO command\)\)")
    report = mta.wait_mailbox(1)[0]
    assert "bob@store.example" in report and "nobody@store.example" in report and "Quota exceeded" in report
    mta.wait_until_empty()
    assert place.mailbox("bob") == [] and len(place.mailbox("ann")) == len(place.mailbox("cid")) == 1


def test_many_messages_by_few_connections(mta, store):
    place = store("ann", "bob")
    mta.config['route."store.example"'] = {"next_hop": road(place, "socket"), "connections": 2}
    mta.start()
    for n in range(30):
        mta.submit(["ann@store.example", "bob@store.example"], subject=f"number {n}")
    mta.wait_until_empty()
    for user in ("ann", "bob"):
        assert sorted(m.split("Subject: ")[1].split("\n")[0].strip() for m in place.mailbox(user)) == sorted(f"number {n}" for n in range(30))


def test_mailboxes_over_quota_do_not_stop_their_store(mta, store):
    full = ("bob", "cid", "dan")
    place = store("ann", *full, quotas=dict.fromkeys(full, 500), tempfail=True)
    mta.config['route."store.example"'] = {"next_hop": road(place, "socket")}
    mta.start()
    body = "".join(f"Line {n} of the letter.\n" for n in range(200))
    waiting = [mta.submit([f"{user}@store.example"], body=body) for user in full]
    for queue_id in waiting:
        mta.wait_log(rf"{queue_id}: to=<\w+@store.example>, .*dsn=4.2.2, status=deferred \(host .* said: 452 4.2.2 .*"
                     r"\(in reply to end of DATA command\)\)")
    good = mta.submit(["ann@store.example"], body=body)
    mta.wait_log(rf"{good}: to=<ann@store.example>, .*dsn=2.0.0, status=sent")


def test_a_store_that_is_not_there_is_waited_for(mta, store):
    place = store("ann")
    missing = Path(place.short) / "missing"  # the path of a socket is a short one
    mta.config['route."store.example"'] = {"next_hop": [f"lmtp:{missing}"]}
    mta.start()
    queue_id = mta.submit("ann@store.example")
    mta.wait_log(rf"postfix/lmtp\[\d+\]: connect to localhost\[{missing}\]: No such file or directory")
    assert mta.queued_ids() == {queue_id}
    missing.symlink_to(place.socket)
    wait_until(lambda: place.mailbox("ann"), 20, lambda: f"the mail\n{mta.last_words()}")


def test_what_is_no_next_hop_by_lmtp(mta):
    for hop, why in (("lmtp:relay.example", "expected \"lmtp:[host]:port\" or \"lmtp:/path/of/the/socket\""),
                     ("lmtp:/run/" + "x" * 110, "socket path too long: expected at most 107 bytes"),
                     ([["lmtp:[store.example]", "[relay.example]"]],
                      "next hops of equal preference must all use SMTP or all use LMTP")):
        mta.config['route."store.example"'] = {"next_hop": hop}
        mta.write_config()
        done = mta.command("check", check=False)
        assert done.returncode != 0 and why in done.stdout + done.stderr


def test_mailboxes_of_a_domain_and_of_users_here_are_in_the_store(mta, store):
    """Two classes of addresses, one store; who asked to be told of success hears that it was delivered."""
    place = store("ann", mta.user)
    listed = mta.folder / "mailboxes"
    listed.write_text("ann@boxes.example yes\n")
    mta.config["virtual_mailbox"] = {"domains": ["boxes.example"], "deliver": road(place, "socket"), "recipients": [f"text:{listed}"]}
    mta.config["local"]["deliver"] = road(place, "socket")
    mta.config["canonical"] = {"recipient": [f"text:{mta.folder}/former"]}
    (mta.folder / "former").write_text("former@boxes.example ann@boxes.example\n")
    mta.start()
    with mta.client() as c:
        assert c.say("MAIL FROM:<a@remote.example>").startswith("250")
        assert c.say("RCPT TO:<nobody@boxes.example>").startswith("550 5.1.1 ")
        assert c.say("QUIT").startswith("221")
    mta.submit(["former@boxes.example", f"{mta.user}@test.example"], "stored", sender=f"{mta.user}@test.example",
               rcpt_parameters=" NOTIFY=SUCCESS")
    for user, count in (("ann", 1), (mta.user, 2)):  # the message, and the report on both
        wait_until(lambda: len(place.mailbox(user)) == count, 15, lambda: f"{user}'s mail\n{place.said()}\n{mta.last_words()}")
    mta.wait_until_empty()
    [report] = [text for text in place.mailbox(mta.user) if "message/delivery-status" in text]
    assert report.count("\nAction: delivered\n") == 2 and "Action: relayed" not in report
