"""The metrics process: figures equal to what was done, read by Prometheus' own parsers; bounded labels; nothing that
happens to it or its clients has any effect on mail."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness.filters import short_folder
from harness.unpacked import Service, environment, tree
from harness.watch import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def metered(mta):
    mta.metrics_port = mta.block.port()
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.metrics_port}"], "links": 3}
    return mta


def fetch(mta, path="/metrics", method="GET", seconds=10):
    request = urllib.request.Request(f"http://{mta.address}:{mta.metrics_port}{path}", method=method)
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return answer.headers, answer.read().decode()


class Figures:
    """What one scrape says: figures("name", label="value")."""

    def __init__(self, text):
        self.families = list(text_string_to_metric_families(text))
        self.samples = {(s.name, frozenset(s.labels.items())): s.value for f in self.families for s in f.samples}

    def __call__(self, name, **labels):
        return self.samples[(name, frozenset(labels.items()))]

    def sum(self, name, **labels):
        return sum(v for (n, l), v in self.samples.items() if n == name and set(labels.items()) <= l)

    def labels(self, name, label):
        return {dict(l)[label] for (n, l) in self.samples if n == name}


def scrape(mta):
    return Figures(fetch(mta)[1])


def wait_figures(mta, ready, seconds=15):
    def look():
        figures = scrape(mta)
        with contextlib.suppress(KeyError):  # a figure that is not there yet
            return figures if ready(figures) else None
    return wait_until(look, seconds, lambda: "the figures to be as they should\n" + fetch(mta)[1])


def promtool(*arguments, input=None):
    place = tree("prometheus")
    return subprocess.run([place / "usr/bin/promtool", *map(str, arguments)], input=input, text=True, capture_output=True,
                          env=environment(place))


def restart_count(figures, process):
    return figures("postrider_process_restarts_total", process=process)


def test_counts_are_what_was_done(metered, remote):
    """Accepted, refused, delivered, deferred, bounced, removed: each as often as the test did it."""
    mta, sink, busy = metered, remote(), remote()
    mta.route("good.example", sink)
    mta.route("busy.example", busy)
    busy.at("rcpt", "450 4.2.0 Come back later")
    mta.start()
    for n in range(5):
        mta.submit([f"a{n}@good.example", f"b{n}@good.example"], port=mta.submission_port)
    mta.submit("someone@test.example")
    mta.submit("late@busy.example", sender="someone@test.example", port=mta.submission_port)
    mta.sendmail("someone@test.example")
    with mta.client() as c:
        c.say("MAIL FROM:<x@y.example>")
        assert c.say("RCPT TO:<nobody@test.example>").startswith("550")
        assert c.say("RCPT TO:<nobody-either@test.example>").startswith("550")
        c.say("QUIT")
    mta.wait_mailbox(2)
    mta.wait_log(r"status=deferred")
    figures = wait_figures(mta, lambda f: f("postrider_messages_removed_total") == 7
                           and f.sum("postrider_deliveries_total", outcome="deferred") >= 1
                           and f("postrider_queue_deliveries", state="retrying") == 1)
    assert figures("postrider_messages_accepted_total", source="smtp") == 7
    assert figures("postrider_messages_accepted_total", source="local") == 1
    assert figures("postrider_recipients_accepted_total", source="smtp") == 12
    assert figures("postrider_spool_commit_seconds_count") == 8
    assert figures("postrider_spool_sync_seconds_count") >= 8
    figures = wait_figures(mta, lambda f: f("postrider_journal_waiting_messages") == 0 and f("postrider_journal_events_total") > 30)
    assert figures("postrider_journal_sync_seconds_count") >= 1 and figures("postrider_journal_lost_events_total") == 0
    assert figures("postrider_journal_unindexed_segments") == 0
    assert figures("postrider_accepted_bytes_total", source="smtp") > 7 * 50
    assert figures("postrider_deliveries_total", transport="smtp", outcome="delivered") == 10
    assert figures("postrider_deliveries_total", transport="local", outcome="delivered") == 2
    assert figures.sum("postrider_deliveries_total", outcome="bounced") == 0
    assert figures("postrider_delay_seconds_count") == 12
    assert all(figures("postrider_delay_stage_seconds_count", stage=s) == 12
               for s in ("before_queue", "in_queue", "connection", "transmission"))
    assert figures("postrider_smtpd_rejects_total", stage="rcpt", kind="permanent") == 2
    assert figures.sum("postrider_smtpd_rejects_total") == 2
    assert figures("postrider_queue_messages") == 1
    assert figures("postrider_queue_oldest_age_seconds") > 0
    assert figures("postrider_accepting") == figures("postrider_delivering") == 1
    assert figures("postrider_spool_free_bytes") <= figures("postrider_spool_size_bytes")
    # one line in the log for each of these
    assert figures.sum("postrider_smtpd_session_ends_total") == len(mta.logged(r"smtpd\[.*disconnect from"))
    assert figures("postrider_smtpd_sessions_total") == len(mta.logged(r"smtpd\[.*: connect from"))
    for process in ("smtpd", "queue-manager", "smtp-client", "local", "pickup", "router", "categorizer", "bounce", "metrics", "events"):
        assert figures("postrider_processes", process=process) == len(mta.pids(process))
        assert figures("postrider_process_resident_memory_bytes", process=process) > 1 << 20
        assert restart_count(figures, process) == 0
    link = next(l for l in figures.labels("postrider_link_failing", "link") if str(busy.port) in l)
    assert figures("postrider_link_queued", link=link) == 1
    assert figures.sum("postrider_link_deliveries_total", outcome="delivered") == 12
    # The remote's final word, and a report on it.
    busy.well_behaved()
    busy.at("rcpt", "550 5.1.1 No such user")
    mta.flush()
    figures = wait_figures(mta, lambda f: f.sum("postrider_deliveries_total", outcome="bounced") == 1
                           and f("postrider_messages_accepted_total", source="report") == 1)
    assert figures("postrider_deliveries_total", transport="smtp", outcome="bounced") == 1
    assert figures("postrider_messages_expired_total") == 0
    # What stands still after all that is the same in two scrapes: nothing is counted twice.
    mta.wait_until_empty()
    one = wait_figures(mta, lambda f: f("postrider_queue_messages") == 0)
    two = scrape(mta)
    for name, labels in one.samples:
        if name.startswith(("postrider_messages_", "postrider_deliveries_", "postrider_smtpd_", "postrider_link_deliveries")):
            assert two.samples[(name, labels)] == one.samples[(name, labels)], name


def test_prometheus_reads_it(metered):
    metered.start()
    headers, text = fetch(metered)
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {f.name for f in text_string_to_metric_families(text)}
    assert len(families) > 40
    checked = promtool("check", "metrics", input=text)
    assert checked.returncode == 0 and not checked.stdout and not checked.stderr, checked.stdout + checked.stderr
    # every family is explained in the manual, in its words, and nothing else is
    page = (ROOT / "man/postrider-metrics.8").read_text()
    told = dict(re.findall(r"^\.It Li (\S+) Pq (\w+).*$", page, re.M))
    typed = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.M))
    assert told == typed
    words = " ".join(page.split())
    for name, help in re.findall(r"^# HELP (\S+) (.*)$", text, re.M):
        assert help in words, name


def test_only_metrics_are_served(metered):
    metered.start()
    assert "/metrics" in fetch(metered, "/")[1]
    for path, method, status in (("/", "POST", 405), ("/metrics", "DELETE", 405), ("/etc/passwd", "GET", 404),
                                 ("/metrics/../../etc/passwd", "GET", 400), ("/" + "x" * 5000, "GET", 404)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(metered, path, method)
        assert refused.value.code == status, (path, method)
    assert fetch(metered, method="HEAD")[1] == ""
    # noise and silence take no place from others for long
    noisy = [socket.create_connection((metered.address, metered.metrics_port)) for _ in range(20)]
    for n, s in enumerate(noisy):
        s.sendall((b"\x16\x03\x01" + os.urandom(200), b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, b"")[n % 3])
    assert scrape(metered)("postrider_build_info", version="0.1.0") == 1
    for s in noisy:
        s.close()
    assert metered.pids("metrics") and not metered.crashes()


def test_links_are_bounded(metered):
    """More links than are told one by one: the busiest have names, the sums are whole."""
    mta = metered
    domains = [f"d{n}.example" for n in range(8)]
    for n, d in enumerate(domains):
        mta.config[f'route."{d}"'] = {"next_hop": f"[{mta.address}]:{n + 1}"}  # nobody listens there
    mta.start()
    for n, d in enumerate(domains):
        for k in range(n + 1):
            mta.submit(f"u{k}@{d}", port=mta.submission_port)
    whole = sum(range(1, len(domains) + 1))
    figures = wait_figures(mta, lambda f: f("postrider_queue_messages") == whole
                           and f.sum("postrider_link_queued") == whole)
    names = figures.labels("postrider_link_queued", "link")
    assert len(names) == 4 and "(others)" in names
    assert {figures("postrider_link_queued", link=l) for l in names - {"(others)"}} == {8, 7, 6}
    assert figures("postrider_link_queued", link="(others)") == whole - 21
    assert len(figures.labels("postrider_link_deliveries_total", "link")) <= 4
    assert figures.sum("postrider_link_deliveries_total") == figures.sum("postrider_deliveries_total", transport="smtp")


def test_restarts_make_no_count_go_back(metered):
    mta = metered
    mta.start()
    mta.submit("someone@test.example")
    wait_figures(mta, lambda f: f("postrider_messages_removed_total") == 1)
    wait_until(lambda: not mta.spool_files(), 10, "the journal to have it, so that it is gone")
    former = mta.kill("queue-manager")
    mta.wait_for_role("queue-manager", other_than=[former])
    mta.submit("someone@test.example")
    mta.wait_mailbox(2)
    figures = wait_figures(mta, lambda f: f("postrider_messages_removed_total") == 2)
    assert restart_count(figures, "queue-manager") == 1
    assert figures("postrider_process_crashes_total", process="queue-manager") == 0  # somebody sent that signal
    mta.kill("bounce", signal.SIGSEGV)
    wait_figures(mta, lambda f: restart_count(f, "bounce") == 1 and f("postrider_process_crashes_total", process="bounce") == 1)
    mta.forget_the_log()


def test_mail_does_not_need_it(metered):
    """Killed, hung, or its port taken: mail flows, and what was counted meanwhile is told later."""
    mta = metered
    taken = socket.socket()
    taken.bind((mta.address, mta.metrics_port))
    taken.listen()
    mta.start()
    mta.wait_log(rf"error: metrics.listen: listen on {mta.address}:{mta.metrics_port}: Address already in use")
    assert any("metrics.listen" in p["problem"] for p in mta.status()["processes"])
    mta.submit("someone@test.example")
    mta.wait_mailbox(1)
    taken.close()
    mta.command("reload")
    wait_figures(mta, lambda f: f("postrider_messages_accepted_total", source="smtp") == 1)
    hung = mta.pids("metrics")[0]
    os.kill(hung, signal.SIGSTOP)
    for n in range(20):
        mta.submit("someone@test.example")
    mta.wait_mailbox(21)
    os.kill(hung, signal.SIGKILL)
    mta.submit("someone@test.example")
    mta.wait_mailbox(22)
    mta.wait_for_role("metrics", other_than=[hung])
    # It begins anew, with what nobody had been told.
    wait_figures(mta, lambda f: f("postrider_messages_accepted_total", source="smtp") == 21)


def test_a_daemon_that_hangs_is_waited_for_briefly(metered):
    mta = metered
    mta.start()
    before = scrape(mta)
    hung = mta.pids("router")[0]
    os.kill(hung, signal.SIGSTOP)
    try:
        figures = wait_figures(mta, lambda f: f("postrider_scrape_late_answers_total", process="router") > 0)
        assert figures("postrider_process_resident_memory_bytes", process="router") == \
            before("postrider_process_resident_memory_bytes", process="router")
    finally:
        os.kill(hung, signal.SIGCONT)


def test_off_and_on(mta):
    """Nobody asked for it: no process. A reload brings it, and takes it away."""
    mta.start()
    assert not mta.pids("metrics")
    mta.metrics_port = mta.block.port()
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.metrics_port}"]}
    mta.write_config()
    said = mta.command("check").stdout
    assert re.search(rf"^Metrics +http://{mta.address}:{mta.metrics_port}/metrics$", said, re.M)
    assert re.search(r"^Processes .*\bmetrics\b", said, re.M)
    mta.command("reload")
    mta.submit("someone@test.example")
    wait_figures(mta, lambda f: f("postrider_messages_accepted_total", source="smtp") == 1)
    del mta.config["metrics"]
    mta.write_config()
    mta.command("reload")
    wait_until(lambda: not mta.pids("metrics"), 10, "metrics to be gone")
    mta.submit("someone@test.example")
    mta.wait_mailbox(2)


def test_without_a_scrape_it_sleeps(metered):
    mta = metered
    mta.config["master"].update(heartbeat_interval="30m", heartbeat_timeout="1h")
    mta.start()
    scrape(mta)

    def switches():
        status = Path(f"/proc/{mta.pids('metrics')[0]}/status").read_text()
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])
    before = switches()
    for _ in range(3):
        mta.submit("someone@test.example")
    mta.wait_mailbox(3)
    assert switches() - before <= 3  # a connection's end is seen, and its patience

def test_dashboard_and_alerts(metered):
    """Every figure they ask for exists, and Prometheus can read the rules."""
    metered.start()
    exported = set()
    for family in text_string_to_metric_families(fetch(metered)[1]):
        exported |= {family.name, *(s.name for s in family.samples)}
    board = json.loads((ROOT / "conf/grafana-dashboard.json").read_text())
    queries = [t["expr"] for p in board["panels"] for t in p.get("targets", [])]
    assert len(queries) > 20
    rules = ROOT / "conf/prometheus-alerts.yml"
    checked = promtool("check", "rules", rules)
    assert checked.returncode == 0 and "SUCCESS" in checked.stdout, checked.stdout + checked.stderr
    for text in [*queries, rules.read_text()]:
        for name in re.findall(r"\bpostrider_\w+", text):
            assert name in exported, (name, text)
    # and the queries are queries: rules made of them
    made = {"groups": [{"name": "panels", "rules": [
        {"record": f"panel:{n}", "expr": q.replace("$__rate_interval", "5m")} for n, q in enumerate(queries)]}]}
    file = metered.folder / "panels.yml"
    file.write_text(json.dumps(made))
    checked = promtool("check", "rules", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_packaged_postfix_exporter(mta, remote, block):
    """Debian's prometheus-postfix-exporter, as it is, over our showq socket and our log."""
    sink, busy = remote(), remote()
    mta.route("good.example", sink)
    mta.route("busy.example", busy)
    busy.at("rcpt", "450 4.2.0 Come back later")
    mta.start()
    port, place, short = block.port(), tree("prometheus-postfix-exporter"), short_folder()
    (short / "showq").symlink_to(mta.spool / "run/showq")  # the path of a socket is a short one
    wait_until(lambda: len(mta.logged(r"smtpd\[.*: connect from")) == len(mta.logged("disconnect from")), 15, "who asked whether it runs to leave")
    mta.forget_the_log()  # it begins at the end
    exporter = Service([place / "usr/bin/prometheus-postfix-exporter", f"--postfix.showq_path={short}/showq",
                        f"--postfix.logfile_path={mta.log_file}", f"--web.listen-address={mta.address}:{port}"], mta.folder,
                       lambda: is_open(mta.address, port))
    try:
        mta.metrics_port = port
        descriptors = Path(f"/proc/{exporter.process.pid}/fd")
        wait_until(lambda: any(os.path.samefile(each, mta.log_file) for each in descriptors.iterdir() if each.exists()), 15,
                   "the exporter to read the log")
        for n in range(4):
            mta.submit(f"a{n}@good.example", port=mta.submission_port)
        for n in range(3):
            mta.submit(f"b{n}@busy.example", port=mta.submission_port)
        with mta.client() as c:
            c.say("MAIL FROM:<x@y.example>")
            assert c.say("RCPT TO:<nobody@test.example>").startswith("550")
            c.say("QUIT")
        mta.wait_log("status=deferred", count=3)
        figures = wait_figures(mta, lambda f: f.sum("postfix_qmgr_messages_removed_total") == 4
                               and f.sum("postfix_smtp_status_deferred_total") >= 3  # the parser's name for it
                               and f("postfix_showq_message_size_bytes_count", queue="deferred") == 3
                               and f.sum("postfix_smtpd_disconnects_total") == len(mta.logged("disconnect from")))
        assert figures.sum("postfix_up") == 1  # it could read the socket
        assert figures("postfix_smtpd_connects_total") == len(mta.logged(r"smtpd\[.*: connect from"))
        assert figures("postfix_smtpd_messages_rejected_total", code="550") == 1
        assert figures("postfix_smtpd_messages_processed_total", sasl_method="") >= 7
        assert figures("postfix_cleanup_messages_processed_total") == 7
        assert figures("postfix_qmgr_messages_inserted_size_bytes_count") == 7
        assert figures.sum("postfix_unsupported_log_entries_total", service="smtp") == 0
    finally:
        exporter.stop()
        shutil.rmtree(short)


def is_open(address, port):
    try:
        socket.create_connection((address, port), 1).close()
        return True
    except OSError:
        return False
