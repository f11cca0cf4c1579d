#!/usr/bin/python3
"""What pages and lists cost with much to show: a queue of a million messages, one of them with 10,000 recipients, and a history
of millions.

    tests/system/page_speed.py [--messages 1000000] [--history 5000000 | --journal DIRECTORY] [--times 5] [--build build]

The spool and the journal are written as they would have been left, into $TMPDIR (about 5 KB a message, 250 bytes of a message in
the journal), and removed at the end; --journal uses, and keeps, one that build/tests/bench/history-load has written. A line for
each request: the time to its answer, median and worst, and what it takes of the processor in http and in the queue-manager
together, and in the queue-manager, whose loop delivers mail; what the client here takes; and for how long threads of the three
waited for a processor that others had. What takes more than 300 ms of the processor is marked.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent))
from harness.http_api import Api  # noqa: E402
from harness.mta import Mta  # noqa: E402
from harness.page import Browser  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.watch import wait_until  # noqa: E402

ALLOWED = 0.3
MANY = 10_000


def used(pid):
    """Seconds on a processor, and seconds for which its threads waited for one."""
    tasks = [Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split() for task in os.listdir(f"/proc/{pid}/task")]
    return [sum(int(each[column]) for each in tasks) / 1e9 for column in (0, 1)]


def fill(mta, given):
    spool = Path(mta.spool)
    owner = {"user": spool.stat().st_uid, "group": spool.stat().st_gid} if os.geteuid() == 0 else {}
    begun = time.monotonic()
    subprocess.run([given.build / "tests/bench/fill-spool", spool, str(given.messages), "0"], check=True, **owner)
    print(f"{given.messages:,} messages in the spool after {time.monotonic() - begun:.0f} s", flush=True)
    journal = spool / "history"
    if given.journal:
        shutil.copytree(given.journal, journal, dirs_exist_ok=True)
    elif given.history:
        subprocess.run([given.build / "tests/bench/history-load", journal, str(given.history)], check=True)
    if owner:
        subprocess.run(["chown", "-R", f"{owner['user']}:{owner['group']}", journal], check=True)


def send_to_many(api):
    to = [f"user{n}@d{n % 100}.example" for n in range(MANY)]
    text = "From: a@test.example\r\nSubject: to many\r\n\r\nHello.\r\n"
    answer = api.exchange("POST", "/v1/messages", {"from": "a@test.example", "to": to, "raw": text})
    assert answer.status == 202, answer.body
    return answer.json["id"]


def requests(api, large):
    """What is asked for: paths of pages, and of lists of the API."""
    [one] = api.exchange("GET", "/v1/messages?limit=1").json["messages"]
    link = quote(api.exchange("GET", "/v1/links?limit=1").json["links"][0]["link"], safe="")
    past = "user77@domain77.example"
    older = api.exchange("GET", f"/v1/history?filter={quote('type=message.delivered')}&limit=1000").json.get("next")
    pages = ["/", "/messages", "/messages?q=all", f"/messages?q={past}", f"/messages?q={one['id']}", "/messages?q=state%3Dretrying",
             "/messages?q=domain%3Dd7.example", f"/messages/{one['id']}", f"/messages/{one['id']}/explain", f"/messages/{large}",
             f"/messages/{large}/explain", f"/messages/{large}/remove", "/links", f"/links/{link}", "/suppressions", "/events"]
    lists = ["/v1/status", "/v1/recent", "/v1/messages?limit=1000", "/v1/messages?limit=50", "/v1/messages?limit=50&sort=next",
             "/v1/messages?limit=50&effort=30000&filter=recipient%3Duser77777@*", f"/v1/messages/{large}", f"/v1/messages/{large}?limit=1000",
             f"/v1/messages/{large}/explain", f"/v1/messages/{large}/explain?limit=1000", "/v1/links", f"/v1/links/{link}", "/v1/queues",
             "/v1/queues/d7.example", "/v1/pauses", f"/v1/history?filter={past}", "/v1/history?filter=type%3Dmessage.delivered&limit=50",
             f"/v1/history?filter=type%3Dmessage.delivered&limit=50&after={older}", "/v1/history?filter=domain%3Dnowhere.example",
             "/v1/suppressions", "/v1/outbox"]
    return pages, lists


def measure(name, ask, mta, times):
    pids = [mta.pids("queue-manager")[0], mta.pids("http")[0], os.getpid()]
    walls, rows = [], []
    for _ in range(times):
        before, begun = [used(pid) for pid in pids], time.monotonic()
        status = ask()
        walls.append(time.monotonic() - begun)
        queue, http, client = ([now - then for now, then in zip(used(pid), was)] for pid, was in zip(pids, before))
        rows.append((http[0] + queue[0], queue[0], client[0], http[1] + queue[1] + client[1]))
        assert status == 200, (name, status)
    cost, *others = (statistics.median(column) for column in zip(*rows))
    numbers = (statistics.median(walls), max(walls), cost, *others)
    print(f"{name:75}" + "".join(f"{number * 1e3:9.0f}" for number in numbers) + ("  OVER" if cost > ALLOWED else ""), flush=True)
    return cost <= ALLOWED


def look(mta, api, times, only):
    large = send_to_many(api)
    wait_until(lambda: api.exchange("GET", f"/v1/messages/{large}").json["state"] == "retrying", 300, "the large message to wait")
    browser = Browser(api)
    browser.log_in(api.tokens["speed"])
    pages, lists = ([path for path in paths if only in path] for paths in requests(api, large))
    print(f"{'ms':75}" + "".join(f"{title:>9}" for title in ("median", "worst", "cpu", "of it qm", "client", "waited")))
    good = [measure(path, lambda: browser.request("GET", path).status, mta, times) for path in pages]
    good += [measure(path, lambda: api.exchange("GET", path).status, mta, times) for path in lists]
    return all(good)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--history", type=int, default=5_000_000)
    arguments.add_argument("--journal", type=Path)
    arguments.add_argument("--times", type=int, default=5)
    arguments.add_argument("--only", default="", help="what a path must contain")
    arguments.add_argument("--build", type=Path, default=Path("build"))
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mta = Mta(folder, Block())
        try:
            api = Api(mta)
            mta.config.setdefault("submit", {})["recipients"] = MANY
            mta.route("*", SimpleNamespace(address=mta.address, port=mta.block.port()))  # nothing listens there
            mta.start(spool=False)
            api.allow("speed", "--scope", "read,submit,operate,remove")
            mta.stop()
            fill(mta, given)
            begun = time.monotonic()
            mta.start(spool=False)
            wait_until(lambda: (api.exchange("GET", "/v1/status").json or {}).get("loading") is False, 1800, "the spool to be read")
            mta.wait_log("idempotency keys: all messages in the spool have been read", 600)
            print(f"loaded after {time.monotonic() - begun:.0f} s", flush=True)
            return 0 if look(mta, api, given.times, given.only) else 1
        except Exception:
            traceback.print_exc()  # before a million files are removed
            raise
        finally:
            mta.kill_everything()


if __name__ == "__main__":
    sys.exit(main())
