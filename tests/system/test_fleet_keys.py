"""Idempotency keys that several nodes share: a key makes one message in the whole fleet, whichever nodes it is submitted
to, whatever dies meanwhile, and whatever the store does."""
import os
import re
import signal
import threading

import pytest

from harness.milter import Milter
from harness.watch import wait_until
from test_fleet import away, configure, deliver, fleet, nodes, problems, store  # noqa: F401
from test_idempotency import KEY, say
from test_kill_points import compiled_in
from test_metrics import metered, wait_figures  # noqa: F401

REFUSED = "451 4.3.0 Error: Idempotency-Key cannot be compared with the other nodes now, try again later"
BUSY = "451 4.3.0 Error: another message with this Idempotency-Key is being accepted, try again later"
ALONE = r"\[\d+\]: error: mail with an Idempotency-Key is rejected temporarily, because the keys of the other nodes cannot be asked for: "
AGAIN = "idempotency keys are compared with the other nodes again"


def make(nodes, redis, sink, *names, match="content", **more):
    """Nodes that run, and share their keys."""
    for name in names:
        node = nodes.add(name, start=False)
        node.route("remote.example", sink)
        node.config["idempotency"] = {"match": match}
        node.config["master"].update(restart_delay="50ms")
        configure(node, redis, **more)
        node.start()
        nodes.wait_for_keys(name)
    return [nodes.all[name] for name in names]


@pytest.fixture
def fleet_of(nodes, store, remote):
    """fleet_of(name…) → (node…, redis, sink)"""
    def made(*names, **more):
        redis, sink = store(), remote()
        return *make(nodes, redis, sink, *names, **more), redis, sink
    return made


def first_of(reply):
    """(id, the node that is named) of a 250."""
    found = re.fullmatch(r"250 2\.0\.0 Ok: queued as ([0-9A-F]{14})(?: on node (\S+))?", reply)
    assert found, reply
    return found[1], found[2]


def taken(node, key, **options):
    """As a careful client does: again until there is an id."""
    replies = []

    def attempt():
        try:
            replies.append(say(node, key, **options))
        except Exception as closed:
            replies.append(str(closed))
            return None
        assert replies[-1][:3] not in ("550", "554"), replies
        return first_of(replies[-1]) if replies[-1].startswith("250") else None
    return wait_until(attempt, 60, lambda: f"{key} to be taken: {replies[-3:]}\n{node.last_words()}")


def subjects(sink):
    return sorted(each.header("Subject") for each in sink.messages)


def all_delivered(*all):
    for node in all:
        node.wait_until_empty(40)


def at_once(*tasks):
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def submit_over_http(nodes, name, key):
    """The answer, with a token that has the same name on all nodes."""
    api = nodes.apis[name]
    if "shop" not in api.tokens:
        api.tokens = {}
        api.allow("shop", "--scope", "submit")
    return api.request("POST", "/v1/messages", {"from": "sender@test.example", "to": ["user@remote.example"], "subject": key,
                                                "text": "Hello."}, headers={"Idempotency-Key": key})


# ---- one message

def test_one_key_at_three_nodes_at_once(fleet_of):
    *three, redis, sink = fleet_of("mx1", "mx2", "mx3")
    keys = [f"key-{n:02}" for n in range(30)]
    heard = {key: set() for key in keys}
    together = threading.Barrier(3)

    def client(node):
        for key in keys:
            together.wait(60)
            id, other = taken(node, key, subject=key)
            heard[key].add((id, other or node.config["mta"]["node"]))
    at_once(*(lambda node=node: client(node) for node in three))
    assert all(len(each) == 1 for each in heard.values()), heard
    all_delivered(*three)
    assert subjects(sink) == keys


def test_over_http_at_three_nodes_at_once(fleet_of, nodes):
    *three, redis, sink = fleet_of("mx1", "mx2", "mx3")
    keys = [f"key-{n:02}" for n in range(12)]
    heard = {key: set() for key in keys}

    def client(name):
        for key in keys:
            answers = []

            def attempt():
                answers.append(submit_over_http(nodes, name, key))
                assert answers[-1].status in (200, 202, 409, 503), answers[-1].body
                return answers[-1] if answers[-1].status < 300 else None
            answer = wait_until(attempt, 60, lambda: f"{key} to be taken: {answers[-1].body}")
            heard[key].add((answer.json["id"], answer.json.get("node", name)))
    at_once(*(lambda name=name: client(name) for name in ("mx1", "mx2", "mx3")))
    assert all(len(each) == 1 for each in heard.values()), heard
    all_delivered(*three)
    assert subjects(sink) == keys


def test_from_programs_of_three_hosts_at_once(fleet_of):
    *three, redis, sink = fleet_of("mx1", "mx2", "mx3")
    keys = [f"key-{n:02}" for n in range(10)]

    def client(node):
        for key in keys:
            text = f"Subject: {key}\n{KEY}{key}\n\nHello.\n"
            done = []

            def attempt():
                done.append(node.sendmail("-oi", "user@remote.example", input=text))
                assert done[-1].returncode in (0, 75), done[-1]
                return done[-1].returncode == 0
            wait_until(attempt, 60, lambda: f"{key} to be taken: {done[-1]}")
    at_once(*(lambda node=node: client(node) for node in three))
    all_delivered(*three)
    assert subjects(sink) == keys


def test_a_repetition_gets_the_first_answer(fleet_of, nodes):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    first, other = taken(mx1, "order-1")
    assert other is None
    assert taken(mx2, "order-1") == (first, "mx1")
    mx2.wait_log(rf"duplicate of {first} on node mx1: not sent, because of its idempotency key order-1$")
    assert taken(mx1, "order-1") == (first, None)
    assert say(mx2, "order-1", body="Other.") == (
        f"554 5.6.0 Error: Idempotency-Key was used for other content, which was queued as {first} on node mx1")
    answer = wait_until(lambda: (one := submit_over_http(nodes, "mx2", "order-2")).status == 202 and one, 20, "it to be taken")
    again = submit_over_http(nodes, "mx1", "order-2")
    assert again.status == 200 and again.json["duplicate"] and (again.json["id"], again.json["node"]) == (answer.json["id"], "mx2")
    text = f"Subject: run\n{KEY}run-1\n\nHello.\n"
    assert mx1.sendmail("-oi", "user@remote.example", input=text).returncode == 0
    told = mx2.sendmail("-oi", "-v", "user@remote.example", input=text)
    assert told.returncode == 0 and re.search(r"it is a duplicate of [0-9A-F]{14} on node mx1", told.stdout), told
    all_delivered(mx1, mx2)
    assert len(sink.messages) == 3
    # Also when it has been delivered, and when the first node is gone.
    mx1.stop()
    assert taken(mx2, "order-1") == (first, "mx1")
    figures = redis.ask("KEYS", "postrider:key:*")
    assert len(figures) == 3, figures
    assert all(0 < redis.ask("PTTL", key) <= 24 * 3600 * 1000 for key in figures)
    assert redis.ask("HLEN", "postrider:pledges:mx1") == 0


def test_the_key_alone_decides_if_it_is_said_so(fleet_of):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2", match="key")
    first, _ = taken(mx1, "order-1")
    assert taken(mx2, "order-1", body="Made anew.") == (first, "mx1")
    mx2.wait_log(rf"duplicate of {first} on node mx1: not sent, .* \(its content is not the same\)$")


def test_a_message_that_is_not_accepted_leaves_its_key_free(fleet_of):
    """Two recipients of which the filter takes none: here, a header that is refused after the key was claimed."""
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    mx1.command("suppress", "add", "user@remote.example")
    text = f"Subject: run\n{KEY}run-1\n\nHello.\n"
    wait_until(lambda: mx1.sendmail("-oi", "user@remote.example", input=text).returncode == 77, 20, "it to be refused")
    mx1.command("suppress", "remove", "user@remote.example")
    wait_until(lambda: redis.ask("KEYS", "postrider:key:*") == [], 20, lambda: f"no key: {redis.ask('KEYS', 'postrider:key:*')}")
    wait_until(lambda: mx2.sendmail("-oi", "user@remote.example", input=text).returncode == 0, 20, "it to be taken")
    all_delivered(mx2)
    assert subjects(sink) == ["run"]


def test_a_reservation_that_ends_while_filters_run(fleet_of, block):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    milter = Milter(block.host(40), block.port())
    meanwhile = []

    def slow(_):
        entry, = redis.ask("KEYS", "postrider:key:*")
        meanwhile.append((redis.ask("GET", entry)[:2], 0 < redis.ask("PTTL", entry) <= 60_000, say(mx2, "order")))
        redis.ask("DEL", entry)  # as after its minute
        meanwhile.append(taken(mx2, "order"))
        return b"c"
    milter.replies["E"] = slow
    try:
        mx1.config["milter.slow"] = {"address": f"inet:{milter.address}:{milter.port}", "timeout": "30s", "message_timeout": "60s"}
        mx1.restart()
        answer = taken(mx1, "order")
    finally:
        milter.stop()
    assert meanwhile[0] == ("R ", True, BUSY)
    assert answer == (meanwhile[1][0], "mx2")
    all_delivered(mx1, mx2)
    assert len(sink.messages) == 1


def test_without_sharing_each_node_has_its_own_keys(fleet_of):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2", keys="off")
    assert first_of(say(mx1, "order-1"))[0] != first_of(say(mx2, "order-1"))[0]
    assert redis.ask("KEYS", "postrider:key:*") == []
    # A reload changes that, and changes it back.
    for node in (mx1, mx2):
        node.config["fleet"]["keys"] = "strict"
        node.write_config()
        node.command("reload")
    wait_until(lambda: redis.ask("KEYS", "postrider:key:*") != [], 20, "the keys so far to be offered")
    first, _ = taken(mx1, "order-2")
    assert wait_until(lambda: taken(mx2, "order-2") == (first, "mx1"), 10, "it to be known")
    mx2.config["fleet"]["keys"] = "off"
    mx2.write_config()
    mx2.command("reload")
    mx2.wait_log("reload", count=2)
    assert wait_until(lambda: first_of(say(mx2, "order-2"))[1] is None, 10, "it to be taken")


# ---- the store is away

@pytest.mark.parametrize("how", ["killed", "frozen", "full"])
def test_strict_while_the_store_is_away(fleet_of, nodes, how):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    first, _ = taken(mx1, "before")
    submit_over_http(nodes, "mx1", "http-before")
    at_start = len(mx1.logged(r"smtpd" + ALONE))  # while the store was new
    if how == "killed":
        redis.kill()
    elif how == "frozen":
        redis.freeze()
    else:
        redis.ask("CONFIG", "SET", "maxmemory", "1")
    wait_until(lambda: say(mx1, "new") == REFUSED, 30, "keyed mail to be refused")
    away(mx1)
    assert say(mx1, "new") == REFUSED
    assert first_of(say(mx1, "before")) == (first, None), "what this node knows is answered"
    answer = submit_over_http(nodes, "mx1", "http-new")
    assert answer.status == 503 and int(answer.headers["Retry-After"]) > 0
    assert "cannot be compared with the other nodes" in answer.json["detail"], answer.json
    done = mx1.sendmail("-oi", "user@remote.example", input=f"Subject: run\n{KEY}run\n\nHello.\n")
    assert done.returncode == 75 and "cannot be compared with the other nodes" in done.stderr, done
    deliver(mx1)
    mx1.wait_log(r"smtpd" + ALONE)
    mx1.wait_log(r"pickup" + ALONE)
    wait_until(lambda: "mail with an Idempotency-Key is rejected temporarily" in problems(mx1), 10, lambda: problems(mx1))
    assert "mail with an Idempotency-Key is rejected temporarily" in fleet(mx1)["effect"]
    if how == "killed":
        redis.begin()
    elif how == "frozen":
        redis.thaw()
    else:
        redis.ask("CONFIG", "SET", "maxmemory", "0")
    new = taken(mx1, "new")
    assert taken(mx2, "new") == (new[0], "mx1")
    mx1.wait_log("smtpd.*" + AGAIN)
    workers = mx1.config["smtpd"].get("workers", 1)
    assert len(mx1.logged(r"smtpd" + ALONE)) <= at_start + workers, "once in each process"


def test_without_the_password_keyed_mail_waits(nodes, store, remote):
    redis = store("requirepass secret-of-the-store")
    mx1, = make(nodes, redis, remote(), "mx1")
    away(mx1, "login: ")
    assert say(mx1, "order") == REFUSED
    deliver(mx1)


def test_of_two_nodes_with_one_name_neither_takes_keyed_mail(fleet_of):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    mx2.config["mta"]["node"] = "mx1"
    mx2.restart()
    for node in (mx1, mx2):
        node.wait_log("error: another node has the name mx1", seconds=40)
        wait_until(lambda: say(node, "order") == REFUSED, 10, "keyed mail to be refused")
        node.wait_log("cannot be asked for: another node has the name of this one")
        deliver(node)


def test_local_while_the_store_is_away(fleet_of):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2", keys="local")
    taken(mx1, "before")
    redis.kill()
    away(mx1)
    id, other = first_of(say(mx1, "alone"))
    assert other is None
    mx1.wait_log(f"{id}: accepted without a comparison of its idempotency key alone with the other nodes")
    mx1.wait_log("warning: idempotency keys are not compared with those of the other nodes: ")
    assert first_of(say(mx1, "alone")) == (id, None), "this node knows it"
    assert "idempotency keys are not compared" in problems(mx1)
    redis.begin()
    mx1.wait_log("idempotency keys: 2 keys of this node were missing in the store", seconds=70)
    assert taken(mx2, "alone") == (id, "mx1")
    all_delivered(mx1, mx2)
    assert len(sink.messages) == 2


def test_a_store_that_is_emptied_is_filled_again(fleet_of):
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    ids = {f"key-{n}": taken(mx1, f"key-{n}")[0] for n in range(250)}
    mine, _ = taken(mx2, "mine")
    redis.kill()
    away(mx1)
    away(mx2)
    redis.begin()
    mx1.wait_log("idempotency keys: 250 keys of this node were missing in the store", seconds=70)
    mx2.wait_log("idempotency keys: 1 keys of this node were missing in the store", seconds=70)
    assert taken(mx1, "mine") == (mine, "mx2")
    for key in ("key-0", "key-123", "key-249"):
        assert taken(mx2, key) == (ids[key], "mx1")
    all_delivered(mx1, mx2)
    assert len(sink.messages) == 251


@pytest.mark.parametrize("how", ["restarted", "flushed"])
def test_an_emptied_store_is_not_trusted_before_all_nodes_have_filled_it(fleet_of, how):
    """mx1 has accepted the key and cannot say so: mx2 may not take it as a new one."""
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    first, _ = taken(mx1, "order")
    taken(mx2, "other")
    wait_until(lambda: len(fleet(mx2)["nodes"]) == 2, 20, "mx2 to see mx1")
    frozen, = mx1.pids("fleet")
    os.kill(frozen, signal.SIGSTOP)
    try:
        if how == "restarted":
            redis.kill()
            redis.begin()
            away_or_back = re.escape("idempotency keys: 1 keys of this node were missing in the store")
            mx2.wait_log(away_or_back, seconds=70)
        else:
            redis.ask("FLUSHALL")
        for _ in range(3):
            assert say(mx2, "order") == REFUSED
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert taken(mx2, "order") == (first, "mx1")
    all_delivered(mx1, mx2)
    assert len(sink.messages) == 2


def test_programs_of_nodes_with_different_origins_have_different_keys(fleet_of):
    """The same text is another message there: it is neither refused nor dropped."""
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    mx2.config["mta"]["origin"] = "other.example"
    mx2.restart()
    text = f"Subject: run\n{KEY}backup\n\nHello.\n"
    for node in (mx1, mx2, mx1):
        wait_until(lambda: (done := node.sendmail("-oi", "user@remote.example", input=text)).returncode != 75 and done, 20,
                   "it to be answered")
    all_delivered(mx1, mx2)
    assert subjects(sink) == ["run", "run"]
    assert sorted(each.header("From").split("@")[1].rstrip(">") for each in sink.messages) == ["other.example", "test.example"]


def test_entries_that_are_not_ours(fleet_of):
    """Whoever writes into the store may make keys busy or known, but no node dies of it or says what is not an id."""
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    taken(mx1, "order")
    entry, = redis.ask("KEYS", "postrider:key:*")
    good = wait_until(lambda: (value := redis.ask("GET", entry)).startswith("A ") and value, 20, "it to be confirmed")
    assert re.fullmatch(r"A [0-9a-f]{64} [0-9A-F]{14} mx1", good)
    taken(mx2, "first")
    pids = mx2.pids("fleet")
    for bad in ("", "A", "x" * 70_000, good.replace("A ", "Z ", 1), good[:-4], good + " x", good + "\r\n250 Ok",
                good.replace(good[67:81], "zzzzzzzzzzzzzz"), good.upper()):
        redis.ask("SET", entry, bad)
        assert say(mx2, "order") == REFUSED, bad[:100]
    redis.ask("DEL", entry)
    redis.ask("RPUSH", entry, "x")
    assert say(mx2, "order") == REFUSED
    redis.ask("DEL", entry)
    redis.ask("SET", entry, good.replace("A ", "P ", 1))
    assert say(mx2, "order") == BUSY
    redis.ask("SET", entry, good.replace("mx1", "elsewhere"))
    assert first_of(say(mx2, "order"))[1] == "elsewhere"
    digest = good[2:66]
    redis.ask("SET", entry, good.replace(digest, "0" * 64))
    assert say(mx2, "order").startswith("554 5.6.0 ")
    # The table of pledges, too.
    mine, left = good[2:].replace("mx1", "mx2"), "postrider:key:" + "ab" * 32  # by a writer that is gone
    redis.ask("SET", left, "P " + mine)
    redis.ask("HSET", "postrider:pledges:mx2", "postrider:key:zz", "nonsense", "postrider:key:00", mine, "", "",
              "postrider:key:" + "0" * 1200, mine, "postrider:key:" + "cd" * 32, good[2:], left, mine)
    wait_until(lambda: redis.ask("EXISTS", left) == 0, 30, "what lies among them to be settled")
    redis.ask("SET", "postrider:pledges:mx1", "not a table")
    assert say(mx1, "another") == REFUSED
    redis.ask("DEL", "postrider:pledges:mx1")
    id, _ = taken(mx2, "another")
    assert taken(mx2, "another") == (id, None)
    assert mx2.pids("fleet") == pids and not mx2.crashes()


# ---- processes and nodes that die

@pytest.mark.parametrize("role", ["fleet", "queue-manager", "smtpd", "pickup"])
def test_a_process_that_dies_under_load(fleet_of, role):
    """kill -9 of it on one node, again and again, while the same keys come to both."""
    mx1, mx2, redis, sink = fleet_of("mx1", "mx2")
    mx1.expects_crashes = True
    told, over = {}, threading.Event()

    def client(node, other):
        n = 0
        while not over.is_set():
            key = f"{node.config['mta']['node']}-{n}"
            told[key] = {taken(node, key, subject=key)[0], taken(other, key, subject=key)[0]}
            n += 1
    threads = [threading.Thread(target=client, args=each) for each in ((mx1, mx2), (mx2, mx1))]
    for thread in threads:
        thread.start()
    for _ in range(4):
        before = len(told)
        wait_until(lambda: len(told) > before + 4, 60, lambda: f"keyed mail to flow\n{mx1.last_words()}")
        mx1.kill(role, signal.SIGKILL)
    over.set()
    for thread in threads:
        thread.join()
    all_delivered(mx1, mx2)
    assert all(len(ids) == 1 for ids in told.values()), told
    sent = {}
    for each in sink.messages:
        sent.setdefault(each.header("Subject"), set()).add(re.search(r"with \S+ id ([0-9A-F]+)", each.header("Received"))[1])
    assert sent == told, "what was told is what was sent, and nothing else"


POINTS = ["smtpd.before_sync", "smtpd.after_sync", "smtpd.after_reply", "pickup.before_sync", "pickup.after_sync",
          "fleet.key_pledged", "fleet.key_confirmed", "queue-manager.submitted"]


def wrapped(nodes, redis, sink, point):
    """(mx1, mx2): a process of mx1 dies where `point` is."""
    mx1, mx2 = (nodes.add(name, start=False) for name in ("mx1", "mx2"))
    mx1.wrap(POSTRIDER_KILL_POINT=point, POSTRIDER_KILL_RECORD=str(nodes.folder / "hits"))
    mx1.expects_crashes = True
    for node in (mx1, mx2):
        node.route("remote.example", sink)
        node.config["master"].update(restart_delay="50ms")
        configure(node, redis)
        node.start()
        nodes.wait_for_keys(node.config["mta"]["node"])
    return mx1, mx2


@pytest.mark.smoke
@pytest.mark.parametrize("point", POINTS)
def test_killed_between_the_steps(nodes, store, remote, point):
    if not compiled_in():
        pytest.skip("kill points are not compiled in")
    sink = remote()
    mx1, mx2 = wrapped(nodes, store(), sink, point)
    hit = (nodes.folder / "hits").exists
    sent = []
    for n in range(6):
        key = f"key-{n}"
        if point.startswith("pickup."):
            text = f"Subject: {key}\n{KEY}{key}\n\nHello.\n"
            mx1.sendmail("-oi", "user@remote.example", input=text)
            wait_until(lambda: mx2.sendmail("-oi", "user@remote.example", input=text).returncode == 0, 60, f"{key} to be taken")
            wait_until(lambda: mx1.sendmail("-oi", "user@remote.example", input=text).returncode == 0, 60, f"{key} to be taken")
        else:
            try:
                say(mx1, key, subject=key)
            except Exception:
                pass  # it was killed
            ids = {taken(mx2, key, subject=key)[0], taken(mx1, key, subject=key)[0]}
            assert len(ids) == 1, ids
        sent.append(key)
        if hit() and n > 1:
            break
    wait_until(hit, 20, f"{point} to be passed")
    all_delivered(mx1, mx2)
    assert subjects(sink) == sent


@pytest.mark.smoke
def test_a_node_that_dies_after_the_sync_is_waited_for(nodes, store, remote):
    """Its message is durable, and nobody was told: on other nodes the key is in doubt until it is back."""
    if not compiled_in():
        pytest.skip("kill points are not compiled in")
    redis, sink = store(), remote()
    mx1, mx2 = wrapped(nodes, redis, sink, "smtpd.after_sync")
    mx1.config["master"].update(restart_delay="1m")
    mx1.command("reload")

    def killed():
        try:
            return "" if say(mx1, "order").startswith("451") else None
        except Exception:
            return True
    assert wait_until(killed, 20, "its process to be killed")
    mx1.kill_everything()
    entry, = redis.ask("KEYS", "postrider:key:*")
    assert redis.ask("GET", entry).startswith("P ") and redis.ask("PTTL", entry) > 3600 * 1000
    for _ in range(3):
        assert say(mx2, "order") == BUSY
    mx1.config["master"].update(restart_delay="50ms")
    mx1.start()
    id, node = taken(mx2, "order")
    assert node == "mx1"
    assert taken(mx1, "order") == (id, None)
    all_delivered(mx1, mx2)
    assert len(sink.messages) == 1


def test_it_is_counted(metered, store):  # noqa: F811
    mta, redis = metered, store()
    mta.config["mta"]["node"] = "mx1"
    configure(mta, redis)
    mta.start()
    taken(mta, "order")
    say(mta, "order")
    wait_figures(mta, lambda f: f("postrider_fleet_keys_total", result="new") == 1)
    redis.kill()
    away(mta)
    assert say(mta, "more") == REFUSED
    wait_figures(mta, lambda f: f("postrider_fleet_keys_total", result="refused") >= 1)
