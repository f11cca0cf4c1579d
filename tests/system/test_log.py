"""The log: as JSON lines, by syslog, re-opened; and that a message's story can be told without guesswork: every line that
names a message begins with its id, whatever happened to it."""
import json
import re
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.watch import wait_until

ID = r"\b[0-9A-F]{14}\b"
FIELDS = {"time": str, "severity": str, "service": str, "session": int, "pid": int, "text": str}


def live_through(mta, remote):
    """Something of everything: delivered here and there, refused, returned, held, deferred, removed."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.config["queue"].update(retry_interval="1h", glitch_interval="1h")
    mta.start()
    ids = {
        "delivered": mta.submit("ann@remote.example"),
        "here": mta.submit(f"{mta.user}@test.example"),
    }
    assert mta.sendmail(mta.user).returncode == 0
    with mta.client() as client:
        client.say("MAIL FROM:<a@test.example>")
        assert client.say("RCPT TO:<nobody-here@test.example>").startswith("550")
    mta.wait_mailbox(2)
    mta.wait_log(rf"{ids['delivered']}: removed")
    sink.stop()
    ids["deferred"] = mta.submit("bob@remote.example")
    mta.wait_log(rf"{ids['deferred']}: .*status=deferred")
    mta.command("message", "hold", ids["deferred"])
    mta.command("message", "release", ids["deferred"])
    mta.command("message", "expire", ids["deferred"])
    mta.wait_log(rf"{ids['deferred']}: removed")
    ids["removed"] = mta.submit("bob@remote.example")
    mta.command("message", "remove", ids["removed"])
    mta.wait_log(rf"{ids['here']}: removed")
    return ids


def test_every_line_of_a_message_begins_with_its_id(mta, remote):
    live_through(mta, remote)
    mta.stop()
    for line in mta.log():
        text = re.fullmatch(r"\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ postfix/[\w-]+\[\d+\]: (?:warning: |error: |fatal: )?(.*)", line)
        assert text, line
        if re.search(ID, text[1]) and not text[1].startswith("control: "):  # an operator's order may name many
            assert re.match(ID + ": ", text[1]), line


def test_json_lines(mta, remote):
    mta.config["log"]["json"] = True
    ids = live_through(mta, remote)
    mta.command("logs", "reopen")
    mta.stop()
    lines = [json.loads(line) for line in mta.log_file.read_text().splitlines()]
    assert len(lines) > 30
    for line in lines:
        assert {name: type(value) for name, value in line.items() if name != "queue_id"} == FIELDS, line
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert line["severity"] in ("debug", "info", "warning", "error", "critical")
        named = re.match(f"({ID}): ", line["text"])
        assert line.get("queue_id") == (named[1] if named else None), line
        if re.search(ID, line["text"]) and not line["text"].startswith("control: "):
            assert "queue_id" in line, line
    assert {line["service"] for line in lines} >= {"smtpd", "qmgr", "smtp", "local", "pickup", "cleanup", "master"}

    def story(queue_id):
        return [(line["service"], line["text"].removeprefix(f"{queue_id}: ")) for line in lines if line.get("queue_id") == queue_id]
    told = story(ids["delivered"])
    assert told[0][0] == "smtpd" and told[0][1].startswith("client=")
    assert [t for t in told if t[0] == "smtp"][0][1].startswith("to=<ann@remote.example>") and told[-1] == ("qmgr", "removed")
    assert any("status=deferred" in text for _, text in story(ids["deferred"]))
    # Lines of one session share their number, which is no process id.
    [client] = [line for line in lines if line.get("queue_id") == ids["here"] and line["text"].partition(": ")[2].startswith("client=")]
    session = [line["text"] for line in lines if (line["service"], line["pid"], line["session"]) == ("smtpd", client["pid"], client["session"])]
    assert client["session"] != client["pid"]
    assert session[0].startswith("connect from") and session[-1].startswith("disconnect from")


def test_syslog_gets_datagrams_and_the_file_is_left_alone(mta):
    place = Path(tempfile.mkdtemp(prefix="postrider-syslog-"))  # a socket's path is short
    heard = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog:
        syslog.bind(str(place / "log"))
        syslog.setblocking(False)
        mta.config["log"].update(syslog=True, syslog_socket=str(place / "log"), json=True)

        def hear():
            try:
                while True:
                    heard.append(syslog.recv(8192).decode())
            except BlockingIOError:
                return heard
        mta.start()
        queue_id = mta.submit(f"{mta.user}@test.example")
        wait_until(lambda: any(f"{queue_id}: removed" in line for line in hear()), 15, "syslog to hear of the removal")
        mta.stop()
        hear()
    assert all(re.match(r"<(1[6-9]|2[0-3])>\w{3} [ \d]\d \d\d:\d\d:\d\d postfix/[\w-]+\[\d+\]: ", line) for line in heard), heard
    assert [json.loads(line)["text"] for line in mta.log_file.read_text().splitlines() if "removed" in line] == [f"{queue_id}: removed"]
    (place / "log").unlink()
    place.rmdir()


def test_reopened_on_command_and_by_signal(mta):
    mta.start()
    for how in ("command", "signal", "reload"):
        mta.log_file.rename(f"{mta.log_file}.{how}")
        if how == "command":
            mta.command("logs", "reopen")
        elif how == "signal":
            mta.process.send_signal(signal.SIGUSR1)
        else:
            mta.process.send_signal(signal.SIGHUP)
        wait_until(mta.log_file.exists, 15, "the new log")
        mta.forgotten = 0
        mta.wait_log("log re-opened" if how != "reload" else "reload -- version ")
        old = Path(f"{mta.log_file}.{how}").read_bytes()
        queue_id = mta.submit(f"{mta.user}@test.example")
        mta.wait_log(f"{queue_id}: removed")
        assert Path(f"{mta.log_file}.{how}").read_bytes() == old or queue_id.encode() not in Path(f"{mta.log_file}.{how}").read_bytes()


def test_without_a_syslog_the_lines_go_to_a_file_and_it_is_said(mta, remote):
    """No rsyslog, no journald: a container, a host whose syslog daemon was removed."""
    place = Path(tempfile.mkdtemp(prefix="postrider-syslog-"))  # a socket's path is short
    mta.config["log"] = {"syslog": True, "syslog_socket": str(place / "log"), "json": False}
    mta.config["master"]["heartbeat_interval"] = "200ms"
    mta.log_file = mta.spool / "log"
    mta.write_config()
    missed = f"no syslog daemon listens at {place}/log (log.syslog_socket) and log.file is not set: log lines go to {mta.log_file}; "
    mta.spool.mkdir()
    assert f"warning: {missed}" in mta.command("check").stderr
    mta.start()
    assert f"warning: {missed}" in mta.last_words() and f"log: {mta.log_file}" in mta.last_words()
    assert missed[:60] in mta.command("status").stdout
    first = mta.submit(f"{mta.user}@test.example")
    mta.wait_log(rf"smtpd.*{first}: client=")
    mta.wait_log(rf"{first}: removed")

    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(str(place / "log"))
    heard.settimeout(10)
    mta.command("status")
    while b"a syslog daemon is listening at" not in heard.recv(4096):
        pass
    assert "no syslog daemon" not in mta.command("status").stdout
    before = mta.log_file.read_text()
    second = mta.submit(f"{mta.user}@test.example")
    while f"{second}: removed".encode() not in heard.recv(4096):
        pass
    assert second not in mta.log_file.read_text()[len(before):]

    heard.close()
    (place / "log").unlink()
    wait_until(lambda: "no syslog daemon" in mta.log_file.read_text()[len(before):], 10, "the file to be used again")
    third = mta.submit(f"{mta.user}@test.example")
    mta.wait_log(rf"{third}: removed")
    mta.stop()
    (place / "log").unlink(missing_ok=True)
    place.rmdir()


@pytest.mark.parametrize("log, reason", [
    ({"syslog": True, "syslog_socket": "{place}/none"},
     "no syslog daemon listens at {place}/none (log.syslog_socket) and log.file is not set: log lines go to {file}; "),
    ({"syslog": False}, "log.file is not set and log.syslog is false: log lines go to {file}; "),
], ids=["no daemon", "syslog off"])
def test_the_first_start_has_a_log_too(mta, log, reason):
    """The file lies in the spool, which does not exist before the first start."""
    names = {"place": mta.folder, "file": mta.spool / "log"}
    mta.config["log"] = {key: value.format(**names) if isinstance(value, str) else value for key, value in log.items()}
    mta.log_file = names["file"]
    mta.write_config()
    warning = "warning: " + reason.format(**names)
    assert not mta.spool.exists()
    check = mta.command("check")
    assert warning in check.stderr and f"Log         {mta.log_file}\n" in check.stdout
    assert not mta.spool.exists(), "check creates nothing"
    mta.start()
    assert warning in mta.last_words() and f"log: {mta.log_file}" in mta.last_words()
    mta.wait_log(r"master.*: ready$")
    assert mta.logged(re.escape(reason.format(**names)))
    assert reason.format(**names) in mta.command("status").stdout


@pytest.mark.needs("root")
def test_where_the_log_goes_is_a_question_of_the_rights_of_root(mta, tmp_path):
    """Ordinary users may run check. The daemons run with other rights than theirs."""
    mta.config["mta"].update(multi_user=True, user="nobody", drop_group="nogroup", admin_group="nogroup")
    mta.config["local"]["users"] = []
    mta.config["log"] = {"syslog": True, "syslog_socket": str(mta.folder / "none")}
    mta.write_config()
    done = subprocess.run(["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", mta.programs / "postrider", "check",
                           "-c", mta.file], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert "and log.file is not set: log lines go to /var/log/postrider.log; " in done.stderr, done
