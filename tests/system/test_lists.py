"""Mailing lists with many members: each gets the message once, whatever happens while they are found out, and others do
not wait for it."""
import re
import socketserver
import threading
from pathlib import Path

from harness.watch import wait_until


def peak_memory(pid):
    """MiB, the most it ever had."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) // 1024


def test_a_list_of_twenty_thousand(mta, remote):
    sink = remote()
    members = [f"m{n}@r.example" for n in range(20_000)]
    (mta.folder / "members").write_text("\n".join(members) + "\n")
    mta.aliases.write_text(f"list: :include:{mta.folder}/members\nowner-list: other\n")
    mta.route("r.example", sink)
    mta.start()
    mta.submit("list@test.example", "to many", sender="writer@r.example")
    wait_until(lambda: sum(len(m.recipients) for m in sink.messages) >= len(members), 60, mta.last_words)
    assert sorted(r for m in sink.messages for r in m.recipients) == sorted(members)
    assert {m.sender for m in sink.messages} == {"owner-list@test.example"}
    assert len(sink.messages) == 200
    mta.wait_until_empty()
    # Two hundred transactions, and a dozen MiB of recipients: not once for each of those under way.
    for pid in mta.pids("smtp-client"):
        assert peak_memory(pid) < 150


class Toll(socketserver.StreamRequestHandler):
    """socketmap: nobody has an alias. Questions about members are answered one for each ticket."""

    def handle(self):
        while (length := self.number()) is not None:
            key = self.rfile.read(length).decode().split(" ", 1)[1]
            assert self.rfile.read(1) == b","
            if key.startswith("m") or key == "@r.example":
                self.server.asked.append(key)
                self.server.tickets.acquire()
            self.wfile.write(b"9:NOTFOUND ,")
            self.wfile.flush()

    def number(self):
        digits = b""
        while (byte := self.rfile.read(1)) not in (b":", b""):
            digits += byte
        return int(digits) if digits else None


class TollGate(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path):
        super().__init__(path, Toll)
        self.asked, self.tickets = [], threading.Semaphore(0)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def test_rcpt_does_not_wait_for_what_a_list_has_to_ask(mta, remote, tmp_path):
    sink, gate = remote(), TollGate(str(tmp_path / "gate"))
    members = [f"m{n}@r.example" for n in range(1000)]
    (mta.folder / "members").write_text("\n".join(members) + "\n")
    mta.aliases.write_text(f"list: :include:{mta.folder}/members\n")
    mta.config["table.gate"] = {"kind": "socketmap", "address": f"unix:{tmp_path}/gate", "map": "virtual", "timeout": "60s"}
    mta.config["virtual_alias"] = {"tables": ["table:gate"]}
    mta.route("r.example", sink)
    mta.start()
    mta.submit("list@test.example", "to many", sender="writer@r.example")
    wait_until(lambda: len(gate.asked) >= 4, what="all connections to be busy with members")
    with mta.client() as client:
        client.say("MAIL FROM:<writer@r.example>")
        answer = []
        waiting = threading.Thread(target=lambda: answer.append(client.say("RCPT TO:<other@test.example>")))
        waiting.start()
        # Let one member pass after the other until RCPT has its answer.
        passed = 0
        while not answer and passed < len(members) // 2:
            before = len(gate.asked)
            gate.tickets.release()
            passed += 1
            wait_until(lambda: answer or len(gate.asked) > before, what="the next question, or RCPT's answer")
        assert answer and answer[0].startswith("250"), (answer, passed)
        waiting.join()
        assert passed <= 40 and len(gate.asked) < 100
    gate.tickets.release(10_000)
    wait_until(lambda: sum(len(m.recipients) for m in sink.messages) >= len(members), 30, mta.last_words)
    assert sorted(r for m in sink.messages for r in m.recipients) == sorted(members)
    gate.shutdown()
