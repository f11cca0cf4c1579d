"""Several nodes and the store that they share, a real Redis: who is there, what each knows of the others, and what
happens while the store is away, frozen, full, hostile, or refuses the password."""
import json
import signal

import pytest

from harness.certificates import make_authority, make_certificate
from harness.fleet import PASSWORD, FakeStore, Redis
from harness.nodes import Nodes
from harness.ports import Block
from harness.watch import wait_until
from test_metrics import metered, wait_figures  # noqa: F401

AWAY = r"postfix/fleet\[\d+\]: warning: store .*: away: "
BACK = r"postfix/fleet\[\d+\]: store .*: back after \d+ s"
PRESENT = r"postfix/fleet\[\d+\]: store .*: present \(version 7"


@pytest.fixture
def nodes(folder):
    made = Nodes(folder)
    yield made
    made.end()


@pytest.fixture
def store(block):
    """Makes stores: store(options…) → Redis."""
    made = []

    def make(*options, **more):
        made.append(Redis(block.host(200), block.port(), *options, **more))
        return made[-1]
    yield make
    for each in made:
        each.remove()


def configure(node, redis, password=None, **more):
    node.config["fleet"] = {"store": redis.url, **more}
    if password:
        file = node.folder / "store.password"
        file.write_text(password + "\n")
        file.chmod(0o600)
        node.config["fleet"]["password_file"] = str(file)


def join(nodes, name, redis, **more):
    node = nodes.add(name, start=False)
    configure(node, redis, **more)
    return node.start()


def fleet(node):
    return json.loads(node.command("fleet", "--json").stdout)


def states(node):
    return {each["node"]: each["state"] for each in fleet(node)["nodes"]}


def wait_states(node, wanted, seconds=20):
    wait_until(lambda: states(node) == wanted, seconds, lambda: f"the nodes to be {wanted}: {fleet(node)}")


def problems(node):
    return " ".join(each["problem"] for each in node.status()["processes"])


def away(node, reason=""):
    node.wait_log(AWAY + reason, seconds=40)
    wait_until(lambda: fleet(node)["state"] == "away", 10, "the store to be away")


def changes(node):
    """What the log says about the store, in order."""
    said = [line for line in node.log() if "store redis" in line]
    own = [line for line in said if "]: store redis" in line.replace("warning: ", "")]
    # Besides, master logs the problem, once for each outage.
    assert len(said) - len(own) <= len([line for line in own if "away: " in line]), said
    return [word for line in own for word in ("away: ", "back after", "present") if word in line]


def deliver(node):
    """Mail flows, whatever the store does."""
    before = len(node.mailbox())
    node.submit(["someone@test.example"])
    node.wait_mailbox(before + 1)


def test_nodes_know_of_each_other(nodes, store):
    redis = store()
    mx1 = join(nodes, "mx1", redis, expected_nodes=2)
    mx1.wait_log(PRESENT)
    wait_states(mx1, {"mx1": "present"})
    wait_until(lambda: "1 of 2 expected nodes are present" in problems(mx1), 30, lambda: f"a problem: {problems(mx1)}")
    mx2 = join(nodes, "mx2", redis, expected_nodes=2)
    both = {"mx1": "present", "mx2": "present"}
    wait_states(mx1, both)
    wait_states(mx2, both)
    wait_until(lambda: problems(mx1).strip() == "", 20, lambda: f"no problem: {problems(mx1)}")
    mx2.command("pause", "all")
    id = mx2.submit(["someone@test.example"])
    wait_until(lambda: [each["messages"] for each in fleet(mx1)["nodes"]] == [0, 1], 20, lambda: f"the queue of mx2: {fleet(mx1)}")
    shown = fleet(mx1)
    first, second = shown["nodes"]
    assert shown["store"] == redis.url and shown["version"].startswith("7.") and shown["node"] == "mx1" and shown["expected_nodes"] == 2
    assert first["version"] == second["version"] != "" and second["accepting"] and not second["delivering"] and first["delivering"]
    assert abs(first["clock_ms"]) < 2000 and second["seen"] < 15
    page = mx1.command("fleet").stdout
    assert "2 present of 2; this is mx1" in page and "present" in page.splitlines()[0]
    mx2.command("resume", "all")
    mx2.wait_log(f"{id}: removed")

    mx2.stop()  # in good order: it is not missed
    wait_states(mx1, {"mx1": "present", "mx2": "stopped"})
    mx2.start()
    wait_states(mx1, both)
    mx2.kill_everything()
    wait_states(mx1, {"mx1": "present", "mx2": "silent"}, 40)
    mx1.wait_log("warning: nodes without a heartbeat for 15 s: mx2", seconds=20)
    assert "silent: mx2" in problems(mx1)
    mx2.start()
    wait_states(mx1, both)
    mx1.wait_log("all nodes are heard again")
    assert len([line for line in mx1.log() if "without a heartbeat" in line]) == 1
    assert changes(mx1) == ["present"]


def test_two_nodes_with_one_name(nodes, store):
    redis = store()
    mx1 = join(nodes, "mx1", redis)
    other = nodes.add("other", start=False)
    other.config["mta"]["node"] = "mx1"
    configure(other, redis)
    other.start()
    for node in (mx1, other):
        node.wait_log("error: another node has the name mx1: set mta.node", seconds=40)


@pytest.mark.parametrize("how", ["killed", "frozen", "full"])
def test_a_store_that_goes_and_comes_back(metered, store, how):
    mta, redis = metered, store()
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis)
    mta.start()
    mta.wait_log(PRESENT)
    wait_figures(mta, lambda f: f("postrider_fleet_store_away") == 0 and f("postrider_fleet_nodes", presence="present") == 1
                 and f("postrider_fleet_calls_total", result="answered") > 0)
    if how == "killed":
        redis.kill()
    elif how == "frozen":
        redis.freeze()
    else:
        redis.ask("CONFIG", "SET", "maxmemory", "1")
    away(mta, {"killed": "", "frozen": "no ", "full": "OOM command not allowed"}[how])
    wait_until(lambda: "this node works alone" in problems(mta), 10, lambda: problems(mta))
    assert fleet(mta)["effect"].startswith("this node works alone")
    wait_figures(mta, lambda f: f("postrider_fleet_store_away") == 1)
    deliver(mta)
    if how == "killed":
        redis.begin()
    elif how == "frozen":
        redis.thaw()
    else:
        redis.ask("CONFIG", "SET", "maxmemory", "0")
    mta.wait_log(BACK, seconds=70)
    wait_states(mta, {"mx1": "present"})
    wait_until(lambda: "store" not in problems(mta), 10, lambda: problems(mta))
    assert changes(mta) == ["present", "away: ", "back after"]


def test_a_store_that_evicts_is_reported(mta, store):
    redis = store("maxmemory 100mb", "maxmemory-policy allkeys-lru")
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis)
    mta.start()
    mta.wait_log(r"warning: the store removes keys when its memory is full \(allkeys-lru\): set maxmemory-policy to noeviction")
    wait_until(lambda: "the store removes keys" in problems(mta), 10, lambda: problems(mta))


def test_the_password(mta, store):
    redis = store(f"user default off", f"user postrider on >{PASSWORD} ~postrider:* +@all -info")
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis, password="guessed", user="postrider")
    mta.start()
    away(mta, "login: WRONGPASS")
    deliver(mta)
    (mta.folder / "store.password").write_text(PASSWORD + "\n")
    mta.command("reload")
    wait_states(mta, {"mx1": "present"})
    assert PASSWORD not in "\n".join(mta.log())
    assert changes(mta)[0] == "away: " and changes(mta).count("away: ") == 1


@pytest.mark.parametrize("names", [None, ["other.example"]], ids=["own", "another"])
def test_tls(mta, folder, block, store, names):
    authority = make_authority(folder, "authority")
    certificate = make_certificate(folder, "store", names or [block.host(200)], authority)
    redis = store(certificate=certificate)
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis, ca_file=str(authority[0]))
    mta.start()
    if names:
        away(mta, "TLS: ")
    else:
        wait_states(mta, {"mx1": "present"})


@pytest.mark.parametrize("reply", [b"+" + b"x" * 60000, b"*2147483647\r\n", b"*1\r\n" * 100, b"$9223372036854775807\r\n" + b"x" * 60000,
                                   b"HTTP/1.1 400 Bad Request\r\n", b"+OK\r\n", b"\0" * 1000],
                         ids=["endless", "array", "deep", "bulk", "http", "unasked", "zeros"])
def test_a_hostile_store_fails_alone(mta, block, reply):
    fake = FakeStore(block.host(201), block.port(), reply)
    try:
        mta.config["mta"]["node"] = "mx1"
        mta.config["fleet"] = {"store": f"redis://{fake.server.server_address[0]}:{fake.server.server_address[1]}"}
        mta.start()
        pid, = mta.pids("fleet")
        away(mta)
        assert fake.connections >= 3
        assert mta.pids("fleet") == [pid]
        resident = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM"))
        assert int(resident.split()[1]) < 100_000, resident
        deliver(mta)
    finally:
        fake.remove()


def test_a_node_that_is_alone_starts_no_process(mta, store):
    mta.start()
    assert not mta.pids("fleet")
    done = mta.command("fleet", check=False)
    assert done.returncode != 0 and "fleet.store" in done.stderr
    # A reload makes it a node of a fleet, and another one ends that.
    redis = store()
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis)
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: mta.pids("fleet") != [], 15, "the process to be started")
    mta.wait_log(PRESENT)
    wait_states(mta, {"mx1": "present"})
    entry = redis.ask("HGET", "postrider:nodes", "mx1")
    assert '"stopped":false' in entry
    del mta.config["fleet"]
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: mta.pids("fleet") == [], 15, "the process to end")
    assert '"stopped":true' in redis.ask("HGET", "postrider:nodes", "mx1")


def test_a_process_that_dies_is_back(mta, store):
    redis = store()
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis)
    mta.expects_crashes = True
    mta.start()
    mta.wait_log(PRESENT)
    mta.kill("fleet", signal.SIGKILL)
    mta.wait_log(PRESENT, count=2, seconds=30)
    wait_states(mta, {"mx1": "present"})
    deliver(mta)
