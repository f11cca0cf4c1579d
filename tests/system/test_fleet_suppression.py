"""The suppression list that several nodes share: each node refuses what any of them has suppressed, and nothing is lost
when the store, or a node, goes and comes back."""
import pytest

from harness.watch import wait_until
from test_fleet import AWAY, BACK, changes, configure, fleet, join, nodes, problems, store  # noqa: F401
from test_suppression import listed, refused_at_rcpt, wait_refused

COMPARED = "suppression list: compared with the other nodes"
RECIPIENT = "ann@test.example"


def names(node):
    return {each["recipient"] for each in listed(node)}


def wait_names(node, wanted, seconds=20):
    wait_until(lambda: names(node) == set(wanted), seconds, lambda: f"the list to be {wanted}: {names(node)}\n{node.last_words()}")


@pytest.fixture
def pair(nodes, store):
    """(mx1, mx2, redis): both follow each other."""
    redis = store()
    both = [join(nodes, name, redis) for name in ("mx1", "mx2")]
    for node in both:
        node.wait_log(COMPARED)
    return *both, redis


def test_what_one_node_suppresses_all_refuse(pair):
    mx1, mx2, redis = pair
    for node in (mx1, mx2):
        assert refused_at_rcpt(node, "someone@test.example").startswith("250")
    mx1.command("suppress", "add", "someone@test.example", "--reason", "asked for it")
    said = wait_refused(mx2, "someone@test.example")
    assert "asked for it" in said
    entry, = listed(mx2)
    assert entry == listed(mx1)[0], "with who added it, when and why"
    mx2.command("suppress", "remove", "someone@test.example")
    wait_names(mx1, [])
    wait_until(lambda: refused_at_rcpt(mx1, "someone@test.example").startswith("250"), 10, "it to be accepted again")
    for node in (mx1, mx2):
        wait_until(lambda: {each["lag"] for each in fleet(node)["nodes"]} == {0}, 20, lambda: f"no lag: {fleet(node)}")
        assert not any(each["waiting"] for each in fleet(node)["nodes"])
    # What is in the queue of the other node is returned.
    mx2.command("pause", "all")
    id = mx2.submit(["someone@test.example"])
    mx1.command("suppress", "add", "someone@test.example")
    wait_names(mx2, ["someone@test.example"])
    mx2.command("resume", "all")
    mx2.wait_log(f"{id}: to=<someone@test.example>.*status=bounced")


def test_many_changes_at_once(pair):
    mx1, mx2, redis = pair
    first, second = [f"u{n}@one.example" for n in range(700)], [f"u{n}@two.example" for n in range(300)]
    mx1.command("suppress", "import", "-", input="\n".join(first) + "\n")
    mx2.command("suppress", "import", "-", input="\n".join(second) + "\n")
    for node in (mx1, mx2):
        wait_names(node, {*first, *second}, 40)


@pytest.mark.parametrize("how", ["empty", "frozen", "full"])
def test_nothing_is_lost_while_the_store_is_away(pair, how):
    mx1, mx2, redis = pair
    mx1.command("suppress", "add", "kept@x.example", "gone@x.example", "changed@x.example")
    wait_names(mx2, ["kept@x.example", "gone@x.example", "changed@x.example"])
    for node in (mx1, mx2):
        node.forget_the_log()
    {"empty": redis.kill, "frozen": redis.freeze, "full": lambda: redis.ask("CONFIG", "SET", "maxmemory", "1")}[how]()
    for node in (mx1, mx2):
        node.wait_log(AWAY, seconds=40)
    mx1.command("suppress", "add", "new1@x.example")
    mx2.command("suppress", "add", "new2@x.example")
    mx2.command("suppress", "remove", "gone@x.example")
    mx1.command("suppress", "add", "changed@x.example", "--reason", "older")
    mx2.command("suppress", "add", "changed@x.example", "--reason", "newer")
    wait_until(lambda: "; 2 of its own wait" in fleet(mx1)["effect"], 10, lambda: fleet(mx1)["effect"])
    if how == "full":
        assert names(mx1) >= {"gone@x.example"}
    {"empty": redis.begin, "frozen": redis.thaw, "full": lambda: redis.ask("CONFIG", "SET", "maxmemory", "0")}[how]()
    for node in (mx1, mx2):
        node.wait_log(BACK, seconds=90)
        wait_names(node, ["kept@x.example", "changed@x.example", "new1@x.example", "new2@x.example"], 40)
        reasons = {each["recipient"]: each["reason"] for each in listed(node)}
        assert reasons["changed@x.example"] == "newer"
        assert changes(node) == ["away: ", "back after"]
    wait_until(lambda: redis.ask("HLEN", "postrider:suppression") >= 4, 20, "the store to be filled again")


def test_a_store_that_is_emptied_while_it_runs(pair):
    mx1, mx2, redis = pair
    mx1.command("suppress", "add", "one@x.example")
    mx2.command("suppress", "add", "two@x.example")
    for node in (mx1, mx2):
        wait_names(node, ["one@x.example", "two@x.example"])
        node.forget_the_log()
    redis.ask("FLUSHALL")
    for node in (mx1, mx2):
        node.wait_log(COMPARED, seconds=20)
    wait_until(lambda: redis.ask("HLEN", "postrider:suppression") == 2, 20, "the store to be filled again")
    mx1.command("suppress", "add", "three@x.example")
    wait_names(mx2, ["one@x.example", "two@x.example", "three@x.example"])
    # Changes that are no longer in the stream are found by a comparison.
    mx2.stop()
    mx1.command("suppress", "add", "four@x.example", "five@x.example")
    mx1.command("suppress", "remove", "one@x.example")
    wait_until(lambda: redis.ask("XLEN", "postrider:suppression:changes") >= 5, 20, "the changes to be shared")
    redis.ask("XTRIM", "postrider:suppression:changes", "MAXLEN", "1")
    mx2.forget_the_log()
    mx2.start()
    wait_names(mx2, ["two@x.example", "three@x.example", "four@x.example", "five@x.example"])


def test_a_node_joins_with_a_list_of_its_own(nodes, store):
    redis = store()
    mx1 = join(nodes, "mx1", redis)
    mx1.command("suppress", "add", "theirs@x.example", "removed@x.example")
    mx1.command("suppress", "remove", "removed@x.example")
    mx2 = nodes.add("mx2", start=False)
    mx2.config["mta"]["node"] = "mx2"
    mx2.start()
    mx2.command("suppress", "add", "ours@x.example")
    mx2.wait_log("suppression: ours@x.example added")
    configure(mx2, redis)
    mx2.write_config()
    mx2.command("reload")
    for node in (mx1, mx2):
        wait_names(node, ["theirs@x.example", "ours@x.example"])
    # A node that was down follows from where it was.
    mx2.stop()
    mx1.command("suppress", "add", "later@x.example")
    mx1.command("suppress", "remove", "ours@x.example")
    mx2.forget_the_log()
    mx2.start()
    wait_names(mx2, ["theirs@x.example", "later@x.example"])
    assert not mx2.logged(COMPARED)


def test_processes_that_die_while_changes_are_shared(pair):
    mx1, mx2, redis = pair
    added = set()
    for n in range(6):
        mine, theirs = [f"m{n}-{k}@x.example" for k in range(20)], [f"t{n}-{k}@x.example" for k in range(20)]
        mx1.command("suppress", "add", *mine)
        mx2.command("suppress", "add", *theirs)
        added |= {*mine, *theirs}
        (mx1 if n % 2 else mx2).expects_crashes = True
        (mx1 if n % 2 else mx2).kill("fleet" if n < 4 else "queue-manager")
        for node in (mx1, mx2):
            node.wait_for_role("fleet")
            wait_until(lambda: node.command("suppress", "list", "--limit", "1", check=False).returncode == 0, 20, "an answer")
    for node in (mx1, mx2):
        wait_names(node, added, 60)


def test_what_the_store_refuses_of_the_list_is_logged_once(pair):
    mx1, mx2, redis = pair
    redis.ask("DEL", "postrider:suppression")
    redis.ask("SET", "postrider:suppression", "of another program")
    mx1.command("suppress", "add", "one@x.example")
    mx1.wait_log("suppression list: not in step with the other nodes: the store refuses it: ")
    wait_until(lambda: "not in step" in problems(mx1), 10, lambda: problems(mx1))
    assert fleet(mx1)["state"] == "present" and not mx1.logged("away: ")
    redis.ask("DEL", "postrider:suppression")
    wait_names(mx2, ["one@x.example"], 90)
    mx1.wait_log("suppression list: in step with the other nodes again", seconds=90)
    assert len([line for line in mx1.log() if "fleet[" in line and "not in step" in line]) == 1


def test_a_store_that_lost_the_number(pair):
    mx1, mx2, redis = pair
    mx1.command("suppress", "add", "one@x.example", "two@x.example")
    wait_names(mx2, ["one@x.example", "two@x.example"])
    redis.ask("DEL", "postrider:suppression:number")
    mx1.command("suppress", "add", "three@x.example")
    wait_names(mx2, ["one@x.example", "two@x.example", "three@x.example"], 40)
