"""What a node says that cannot take a message of another one: whether it certainly does not have it."""
import pytest

from harness.fake_node import FakeNode
from harness.nodes import Nodes
from harness.watch import wait_until


@pytest.fixture
def nodes(folder):
    made = Nodes(folder)
    yield made
    made.end()


def test_a_message_for_which_the_other_node_has_no_memory_is_not_in_doubt(nodes, remote):
    sink = remote()
    mx2 = nodes.add("mx2", start=False)
    mx2.config["http"]["memory"] = "1MiB"
    mx2.start()
    nodes.invite("mx2")
    mx1 = nodes.add("mx1", start=False)
    mx1.route("remote.example", sink)
    nodes.introduce("mx1", to="mx2")
    mx1.start()
    mx1.command("pause", "all")
    id = mx1.submit("user@remote.example", subject="large", body=("y" * 70 + "\r\n") * 30_000)
    mx1.command("message", "move", id, "--to", "mx2")
    mx1.wait_log(f"{id}: not moved to node mx2 yet: 503: too many requests are being received")
    assert not any("may have" in problem for problem in mx1.status()["queue"]["problems"])
    wait_until(lambda: mx1.command("message", "move", id, "--cancel", check=False).returncode == 0, 20, "an attempt to end")
    mx1.command("resume", "all")
    mx1.wait_until_empty()
    assert [m.header("Subject") for m in sink.messages] == ["large"]
    assert mx2.status()["queue"]["messages"] == 0


def test_a_node_without_a_name_of_its_own_has_no_others(nodes):
    nodes.add("mx2")
    mx1 = nodes.add("mx1", start=False)
    nodes.introduce("mx1", to="mx2")
    del mx1.config["mta"]["node"]
    mx1.write_config()
    refused = mx1.command("check", check=False)
    assert refused.returncode != 0 and "node.mx2: set mta.node" in refused.stderr + refused.stdout


def test_a_transfer_brings_one_message_and_no_other(nodes, remote):
    """As a node that is out of its mind sends it, under the same name: the same message again, and then another one."""
    sink = remote()
    recorder = FakeNode("127.0.0.1", lambda subject: 200)
    mx1 = nodes.add("mx1", start=False)
    token = mx1.folder / "recorder.token"
    token.write_text("prt_any\n")
    token.chmod(0o600)
    mx1.config["node.recorder"] = {"url": recorder.url, "token_file": str(token)}
    mx1.start()
    mx1.command("pause", "all")
    id = mx1.submit("user@remote.example", subject="first")
    mx1.command("message", "move", id, "--to", "recorder")
    mx1.wait_until_empty()
    recorder.end()
    [first] = recorder.bodies
    mx2 = nodes.add("mx2", start=False)
    mx2.route("remote.example", sink)
    mx2.start()
    nodes.invite("mx2")

    def send(body):
        return nodes.apis["mx2"].request("POST", "/v1/transfer", body, type="application/vnd.postrider.message")
    taken = send(first)
    assert taken.status == 202 and not taken.json["duplicate"], taken.body
    again = send(first)
    assert again.status == 200 and again.json == {"id": taken.json["id"], "duplicate": True}, again.body
    other = send(first.replace(b"Subject: first", b"Subject: other"))
    assert other.status == 409 and taken.json["id"] in other.json["detail"], other.body
    mx2.wait_until_empty()
    assert [m.header("Subject") for m in sink.messages] == ["first"]
    assert send(first).json == {"id": taken.json["id"], "duplicate": True}, "nor when it has been delivered"
    assert len(sink.messages) == 1
