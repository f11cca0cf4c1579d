"""Probes: `postrider status --brief` and `--ready`, /healthz and /readyz. They agree, and each changes when what it speaks of
changes: the service is broken, or it works and accepts no mail."""
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from harness.watch import wait_until


@pytest.fixture
def probed(mta):
    mta.metrics_port = mta.block.port()
    mta.config["metrics"] = {"listen": [f"{mta.address}:{mta.metrics_port}"]}
    return mta


def http(mta, path):
    """(status, text); (0, why) if nobody is there."""
    try:
        with urllib.request.urlopen(f"http://{mta.address}:{mta.metrics_port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def brief(mta, option="--brief"):
    done = mta.run("postrider", "status", option, "-c", mta.file)
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    return done.returncode, done.stdout.strip()


def wait_http(mta, path, status):
    return wait_until(lambda: (lambda got: got[1] if got[0] == status else None)(http(mta, path)), 15,
                      lambda: f"{path} to answer {status}: {http(mta, path)}")


def test_a_service_that_works(probed):
    probed.write_config()
    assert brief(probed) == (1, "unhealthy: it is not running")
    assert brief(probed, "--ready") == (1, "not ready: it is not running")
    probed.start()
    assert brief(probed) == (0, "healthy; 0 messages queued")
    assert brief(probed, "--ready") == (0, "ready; 0 messages queued")
    facts = json.loads(probed.command("status", "--brief", "--json").stdout)
    assert facts == {"version": 1, "healthy": True, "ready": True, "fault": "", "not_ready_reason": ""}
    assert wait_http(probed, "/healthz", 200) == "healthy\n"
    assert wait_http(probed, "/readyz", 200) == "ready\n"


def test_a_full_disk_is_no_reason_to_restart(probed):
    probed.start()
    wait_http(probed, "/readyz", 200)
    probed.config["spool"].update(minimum_free="1024GiB", minimum_free_inodes=1_000_000_000)
    probed.write_config()
    probed.command("reload")
    assert "no mail is accepted" in wait_http(probed, "/readyz", 503)
    assert wait_http(probed, "/healthz", 200) == "healthy\n"
    status, line = brief(probed)
    assert status == 0 and line.startswith("healthy; accepts no mail: ") and "free" in line, line
    status, line = brief(probed, "--ready")
    assert status == 1 and line.startswith("not ready: ") and "free" in line, line


def test_the_queue_manager_hangs(probed):
    probed.start()
    wait_http(probed, "/healthz", 200)
    hung = probed.pids("queue-manager")[0]
    os.kill(hung, signal.SIGSTOP)
    try:
        assert wait_http(probed, "/healthz", 503) == "unhealthy: the queue-manager does not answer\n"
        assert wait_http(probed, "/readyz", 503) == "not ready: the queue-manager does not answer\n"
    finally:
        os.kill(hung, signal.SIGCONT)
    wait_http(probed, "/healthz", 200)


def test_not_ready_from_the_moment_it_is_stopped(probed):
    """While transactions are finished no new client can come: a balancer has to know."""
    probed.start()
    wait_http(probed, "/readyz", 200)
    with probed.client() as client:
        assert client.say("MAIL FROM:<a@test.example>").startswith("250")
        assert client.say("RCPT TO:<someone@test.example>").startswith("250")
        assert client.say("DATA").startswith("354")
        stopping = subprocess.Popen([probed.programs / "postrider", "stop", "-c", probed.file])
        assert "no listening socket" in wait_http(probed, "/readyz", 503)
        assert http(probed, "/healthz")[0] == 200
        assert brief(probed, "--ready")[0] == 1
        assert brief(probed)[1].startswith("unhealthy: it is stopping")
        assert client.say("Subject: the last one\r\n\r\nHello.\r\n.").startswith("250")
    assert stopping.wait(30) == 0
    probed.process.wait(10)
