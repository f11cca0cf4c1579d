"""Postrider with the shipped configuration: what is changed below is where things lie and where mail goes."""
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from .ground import Recorder, run
from .load import wait_for_port

PROGRAMS = ("master", "smtpd", "pickup", "categorizer", "router", "queue-manager", "smtp-client", "local", "bounce",
            "events", "http", "postrider", "sendmail")
QUEUE_ID = re.compile("[0-9A-F]{10,14}")


def find_programs(build):
    found = {}
    for name in PROGRAMS:
        for path in (build / "daemons").glob(f"*/{name}"):
            if path.is_file() and os.access(path, os.X_OK):
                found[name] = path
    return found


class Postrider:
    name = "Postrider"
    address, port = "127.0.0.1", 2525

    def __init__(self, build):
        self.build = build
        self.certificate = None  # (certificate, key): STARTTLS is offered
        self.connections = None  # to each next hop; None: the default
        self.access = 0          # the entries of the largest of ten access tables; 0: no access rules
        self.recorder = None

    def configure(self, disk, routes):
        self.disk = disk
        self.spool = disk / "spool"
        programs = disk / "bin"
        programs.mkdir()
        for name, path in find_programs(self.build).items():
            shutil.copy2(path, programs / name)
        os.symlink("sendmail", programs / "mailq")
        self.programs = programs
        self.config = disk / "postrider.toml"
        self.config.write_text(bench_configuration(disk, routes, self.port, self.certificate, self.connections))
        if self.access:
            with self.config.open("a") as config:
                config.write(access_rules(disk / "access", self.access, programs / "postrider"))
        if os.geteuid() == 0:
            self.spool.mkdir()
            shutil.chown(self.spool, "postrider", "postrider")
        self.file_queues = [self.spool / "incoming", self.spool / "messages"]
        self.log = disk / "mail.log"
        if os.geteuid() == 0:
            self.recorder = Recorder(["/dev/log"], self.log)

    def start(self, group, prefix=()):
        def child():
            os.setsid()
            group.enter()
        self.output = open(self.disk / "output", "wb")
        self.process = subprocess.Popen([*prefix, self.programs / "postrider", "run", "-c", self.config],
                                        stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
                                        preexec_fn=child)
        group.started(self.process.pid)
        wait_for_port(self.address, self.port)

    def ask(self, *words):
        """`postrider …`: what it prints."""
        return subprocess.run([self.programs / "postrider", *words[:1], "-c", self.config, *words[1:]],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

    def last_words(self):
        log = self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""
        return (self.disk / "output").read_text(errors="replace") + log

    def queued(self):
        return sum(bool(QUEUE_ID.fullmatch(f)) for q in self.file_queues for _, _, files in os.walk(q) for f in files)

    def everything_deferred(self):
        return True

    def listing_command(self):
        return [self.programs / "mailq", "-C", self.config]

    def flush(self):
        run(self.programs / "sendmail", "-C", self.config, "-q")

    def queue_manager(self, group):
        return [p for p in group.pids() if Path(f"/proc/{p}/comm").read_text().strip() == "queue-manager"]

    def stop(self, group):
        if self.process.poll() is None:
            self.process.terminate()
            end = time.monotonic() + 20
            while group.pids() and time.monotonic() < end:
                self.process.poll()
                time.sleep(0.02)
        for pid in group.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.output.close()
        if self.recorder:
            self.recorder.stop()
            self.recorder = None
            Path("/dev/log").unlink(missing_ok=True)


def access_rules(folder, entries, postrider):
    """Ten access tables, none of which says anything about the mail of the cases: the most that they can cost."""
    folder.mkdir()
    large = folder / "large"
    large.write_text("".join(f"user{n}@d{n}.example REJECT\n" for n in range(entries)))
    run(postrider, "map", large)
    text = "".join(f"{name}{n}.example REJECT\n" for name in ("host", "bad") for n in range(500))
    for name in ("clients", "names", "helos", "senders", "more_senders", "recipients", "more_recipients"):
        (folder / name).write_text(text)
    (folder / "networks").write_text("".join(f"198.51.{n}.0/24 REJECT\n" for n in range(100)))
    (folder / "patterns").write_text("".join(f"/^spam{n}@/ REJECT\n" for n in range(20)))
    rules = {"client": ["check_client_access cidr:networks", "check_client_access text:clients", "check_client_access text:names"],
             "helo": ["check_helo_access text:helos"],
             "sender": ["check_sender_access lmdb:large", "check_sender_access text:senders", "check_sender_access text:more_senders",
                        "check_sender_access regexp:patterns"],
             "recipient": ["check_recipient_access text:recipients", "check_recipient_access text:more_recipients"]}
    return "[access.bench]\n" + "".join(
        f"{key} = {json.dumps([rule.replace(':', f':{folder}/') for rule in each])}\n" for key, each in rules.items())


def bench_configuration(disk, routes, port, certificate=None, connections=None):
    """The shipped configuration is the defaults; these are the places, who may send, and where mail goes. The log goes
    to syslog as by default, as Postfix's does. A user other than root has no /dev/log to himself: it goes to a file."""
    values = {
        "mta": {"hostname": "bench.example", "multi_user": os.geteuid() == 0},
        "spool": {"directory": str(disk / "spool")},
        "log": {} if os.geteuid() == 0 else {"file": str(disk / "mail.log"), "syslog": False},
        "local": {"domains": ["bench.example", "localhost"]},
        "listen.relay": {"addresses": [f"127.0.0.1:{port}"], "service": "relay"},
    }
    if certificate:
        values["tls"] = {"certificates": [str(certificate[0])], "keys": [str(certificate[1])]}
    for domain, (address, target) in routes.items():
        values[f'route."{domain}"'] = {"next_hop": f"[{address}]:{target}"}
        if connections:
            values[f'route."{domain}"']["connections"] = connections
    if connections:
        values["queue"] = {"initial_connections_route": connections}
    return "\n".join(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
                     for name, keys in values.items())
