"""The clients in postrider-http(8), as they stand there."""
import os
import subprocess

import pytest

from harness.http_api import Api
from test_manual_examples import SOURCE, literal_blocks

CLIENTS = {"shell": (["sh", "-e", "-c"], "curl -sS"), "Python": (["/usr/bin/python3", "-c"], "import urllib"), "Node": (["node", "-e"], "await fetch")}
BLOCKS = [text for _, text in literal_blocks((SOURCE / "man/postrider-http.8").read_text())]


@pytest.mark.parametrize("language", CLIENTS)
def test_client(mta, language):
    command, mark = CLIENTS[language]
    [program] = [text for text in BLOCKS if mark in text]
    assert len(program.splitlines()) <= 30
    api = Api(mta)
    mta.start()
    token = api.allow("shop", "--scope", "submit,read")
    mta.wait_log("idempotency keys: all messages in the spool have been read")
    done = subprocess.run([*command, program], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "API": f"http://{api.host}:{api.port}", "TOKEN": token})
    assert done.returncode == 0 and "queued" in done.stdout, done.stdout + done.stderr
    [message] = mta.wait_mailbox(1, user="other")
    assert f"Subject: Order 4711 ({language})" in message and "Thank you." in message
