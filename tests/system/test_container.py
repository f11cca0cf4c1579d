"""The image, as far as that needs no container runtime: process 1, no privileges, a read-only root, logs to standard output,
probes, an orderly end on SIGTERM; and a spool that would be lost is refused. scripts/image --try runs this with the image's
own root file system. The examples for Compose and Kubernetes are checked against their schemas."""
import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from harness.client import Client
from harness.container import SOURCE, USER, Container
from harness.unpacked import tree
from harness.watch import wait_until

CONF = SOURCE / "conf/container"
in_namespaces = pytest.mark.needs("root", "mounts")


@pytest.fixture
def sink(remote):
    return remote()


@pytest.fixture
def container(block, sink):
    one = Container(block, sink)
    yield one
    one.close()


def send(container, recipient):
    with Client(container.address, container.port) as client:
        client.say("EHLO app.test.example")
        reply = client.deliver("app@test.example", [recipient], b"Subject: from the container\r\n\r\nHello.\r\n")
        assert reply.startswith("250"), reply


@in_namespaces
def test_mail_goes_through(container, sink):
    container.start_and_wait()
    facts = container.facts(container.master)
    assert facts["NSpid"].split()[-1] == "1"
    for pid in container.processes():
        facts = container.facts(pid)
        assert facts["Uid"].split() == [str(USER)] * 4 and facts["NoNewPrivs"] == "1", facts
        assert facts["CapEff"] == facts["CapBnd"] == "0" * 16, facts
    mounts = Path(f"/proc/{container.master}/mounts").read_text().splitlines()
    writable = {m.split()[1] for m in mounts if re.search(r"\brw\b", m.split()[3])}
    assert {w for w in writable if not re.match("/(proc|sys|dev)", w)} == {container.spool}, writable
    send(container, "ann@remote.example")
    assert sink.wait_for_one_to("ann@remote.example").header("Subject") == "from the container"
    wait_until(lambda: any("status=sent" in line["text"] for line in container.lines()), 10, container.said)
    done = container.run(container.program, "status", "--brief", "-c", container.file)
    assert (done.returncode, done.stdout) == (0, "healthy; 0 messages queued\n"), done.stderr
    assert container.http("/healthz") == (200, "healthy\n")


@in_namespaces
def test_sigterm_finishes_what_is_under_way(container, sink):
    arrived, release = threading.Event(), threading.Event()

    def wait(session, argument):
        arrived.set()
        assert release.wait(20)
    sink.at("dot", wait)
    container.start_and_wait()
    send(container, "ann@remote.example")
    assert arrived.wait(15)
    container.terminate()
    wait_until(lambda: container.http("/readyz")[0] != 200, 15, "the container not to be ready")
    assert not sink.messages and container.process.poll() is None
    release.set()
    assert container.wait() == 0, container.said()
    assert sink.to("ann@remote.example")
    assert any("status=sent" in line["text"] for line in container.lines())


@in_namespaces
def test_mail_outlives_the_container(container, sink):
    sink.stop()
    container.start_and_wait()
    send(container, "late@remote.example")
    wait_until(lambda: any("status=deferred" in line["text"] for line in container.lines()), 15, container.said)
    container.terminate()
    assert container.wait() == 0
    sink.start()
    container.start_and_wait()
    assert container.run(container.program, "force", "all", "-c", container.file).returncode == 0
    sink.wait_for_one_to("late@remote.example")


@in_namespaces
@pytest.mark.parametrize("storage", ["tmpfs", "overlay"])
def test_a_spool_that_would_be_lost_is_refused(container, storage):
    layers = container.place / "layers"
    layers.mkdir()
    container.start("run", "--persistent-spool", volume=f"overlay:{layers}" if storage == "overlay" else storage)
    assert container.wait() == 78
    assert container.said() == (f"postrider: the spool {container.spool} is on {storage}: its mail is lost with the container; mount a volume "
                                "there, or run without --persistent-spool\n")


@in_namespaces
def test_a_spool_in_memory_for_those_who_want_it(container, sink):
    container.start("run", volume="tmpfs")
    wait_until(lambda: container.alive() and container.http("/readyz")[0] == 200, 30, container.said)
    send(container, "ann@remote.example")
    sink.wait_for_one_to("ann@remote.example")


@in_namespaces
def test_orphans_are_reaped(container):
    """A process whose parent has ended: master is its parent then, and does not leave it in the process table."""
    container.start_and_wait()
    before = set(container.processes())
    container.run("sh", "-c", "sleep 1 >/dev/null 2>&1 & sleep 1 >/dev/null 2>&1 &")
    orphans = set(container.processes()) - before
    assert len(orphans) == 2 and {container.facts(pid)["PPid"] for pid in orphans} == {str(container.master)}, orphans
    wait_until(lambda: set(container.processes()) == before, 15, "the orphans to be gone")


# -- the examples

def python(package, program, *arguments):
    """With the modules of a Debian package that is unpacked."""
    path = tree(package) / "usr/lib/python3/dist-packages"
    done = subprocess.run(["/usr/bin/python3", "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(path)))
    assert done.returncode == 0, done.stderr
    return done.stdout


COMPOSE = """
import json, sys, yaml, jsonschema
from pathlib import Path
import compose.config
schema = json.loads((Path(compose.config.__file__).parent / "compose_spec.json").read_text())
example = yaml.safe_load(open(sys.argv[1]))
jsonschema.Draft7Validator(schema).validate(example)
print(json.dumps(example))
"""

# The classes of Kubernetes' client are made of its OpenAPI description: names, types and what is required.
KUBERNETES = """
import datetime, json, re, sys, yaml
from kubernetes.client import models

def check(value, kind, where):
    if found := re.fullmatch(r"list\\[(.*)\\]", kind):
        assert isinstance(value, list), f"{where}: not a list"
        return [check(each, found[1], f"{where}[{n}]") for n, each in enumerate(value)]
    if found := re.fullmatch(r"dict\\(str, (.*)\\)", kind):
        assert isinstance(value, dict), f"{where}: not a mapping"
        return {name: check(each, found[1], f"{where}.{name}") for name, each in value.items()}
    plain = {"str": str, "int": int, "bool": bool, "object": (str, int, dict, list)}
    if kind in plain:
        assert isinstance(value, plain[kind]) and (kind != "int" or value is not True), f"{where}: not {kind}"
        return value
    model = getattr(models, kind)
    names = {name: attribute for attribute, name in model.attribute_map.items()}
    unknown = set(value) - set(names)
    assert not unknown, f"{where}: unknown {unknown}"
    # the constructor refuses what is missing
    return model(**{names[name]: check(each, model.openapi_types[names[name]], f"{where}.{name}") for name, each in value.items()})

documents = list(yaml.safe_load_all(open(sys.argv[1])))
for document in documents:
    check(document, "V1" + document["kind"], document["kind"])
print(json.dumps(documents))
"""


def settings(text):
    """The section and the key of each line."""
    found, section = {}, None
    for line in text.splitlines():
        if match := re.match(r"\[(.*)\]", line.strip()):
            section = match[1]
        elif match := re.match(r"(\w+) = (.*?)(?: +#.*)?$", line.strip()):
            found[f"{section}.{match[1]}"] = match[2]
    return found


def test_compose_example():
    example = json.loads(python("docker-compose", COMPOSE, CONF / "compose.yaml"))
    mail = example["services"]["mail"]
    containerfile = (CONF / "Containerfile").read_text()
    assert mail["read_only"] is True and "spool:/var/spool/postrider" in mail["volumes"] and "spool" in example["volumes"]
    assert "VOLUME /var/spool/postrider" in containerfile
    assert json.loads(re.search(r"HEALTHCHECK .* CMD (\[.*\])", containerfile)[1]) == mail["healthcheck"]["test"][1:]
    port = settings((CONF / "postrider.toml").read_text())["listen.smtp.addresses"].strip('"[]').removeprefix("*:")
    assert example["services"]["application"]["environment"]["SMTP_PORT"] == port
    assert int(mail["stop_grace_period"].rstrip("s")) > 30  # master.stop_timeout


def test_kubernetes_example():
    configuration, service, stateful = json.loads(python("python3-kubernetes", KUBERNETES, CONF / "statefulset.yaml"))
    shipped, mounted = settings((CONF / "postrider.toml").read_text()), settings(configuration["data"]["postrider.toml"])
    assert {name: value for name, value in mounted.items() if shipped.get(name) != value}.keys() == {"mta.hostname", "relay.networks"}
    assert shipped.keys() <= mounted.keys()
    pod = stateful["spec"]["template"]["spec"]
    [one] = pod["containers"]
    ports = {each["name"]: each["containerPort"] for each in one["ports"]}
    assert ports == {each["name"]: each["port"] for each in service["spec"]["ports"]} == {"smtp": 2525, "metrics": 9525}
    assert f'"0.0.0.0:{ports["metrics"]}"' in mounted["metrics.listen"] and f':{ports["smtp"]}"' in mounted["listen.smtp.addresses"]
    assert {one[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {"/healthz", "/readyz"}
    assert pod["securityContext"]["runAsUser"] == USER and f"USER {USER}:{USER}\n" in (CONF / "Containerfile").read_text()
    assert one["securityContext"]["readOnlyRootFilesystem"] is True
    claims = {each["metadata"]["name"] for each in stateful["spec"]["volumeClaimTemplates"]} | {v["name"] for v in pod["volumes"]}
    assert {each["name"] for each in one["volumeMounts"]} == claims


def test_kubernetes_check_finds_mistakes(tmp_path):
    """The check above is one."""
    text = (CONF / "statefulset.yaml").read_text()
    for was, now in [("readOnlyRootFilesystem", "readOnlyRoot"), ("containerPort: 2525", "containerPort: smtp"),
                     ("serviceName: mail", ""), ("drop: [ALL]", "drop: ALL")]:
        assert was in text
        (tmp_path / "wrong.yaml").write_text(text.replace(was, now, 1))
        with pytest.raises(AssertionError):
            python("python3-kubernetes", KUBERNETES, tmp_path / "wrong.yaml")
