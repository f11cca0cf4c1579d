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
            "postrider", "sendmail")


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

    def __init__(self, root, build):
        self.root, self.build = root, build
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
        self.config.write_text(bench_configuration((self.root / "conf/postrider.toml"), disk, routes, self.port))
        self.spool.mkdir()
        if os.geteuid() == 0:
            self.recorder = Recorder(["/dev/log"], disk / "syslog")
        self.file_queues = [self.spool / "incoming", self.spool / "messages"]

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

    def last_words(self):
        log = self.disk / "postrider.log"
        return (self.disk / "output").read_text(errors="replace") + (log.read_text(errors="replace")[-4000:] if log.exists() else "")

    def queued(self):
        return sum(len(files) for q in self.file_queues for _, _, files in os.walk(q))

    def everything_deferred(self):
        return True

    def list_queue(self):
        done = subprocess.run([self.programs / "mailq", "-C", self.config], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        return int(re.search(r"in (\d+) Request", done.stdout)[1])

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


def bench_configuration(shipped, disk, routes, port):
    """The shipped file with the settings that name places replaced; a section it lacks is added."""
    values = {
        "mta": {"hostname": "bench.example", "users": False},
        "spool": {"directory": str(disk / "spool")},
        "log": {"file": str(disk / "postrider.log")},
        "local": {"domains": ["bench.example", "localhost"], "users": ["root"], "aliases": []},
        "listen.relay": {"address": f"127.0.0.1:{port}", "service": "relay"},
    }
    for domain, (address, target) in routes.items():
        values[f'route."{domain}"'] = {"to": f"[{address}]:{target}"}
    kept, section = [], ""
    for line in (shipped.read_text().splitlines() if shipped.exists() else []):
        head = re.match(r"\s*\[([^\]]+)\]", line)
        if head:
            section = head[1]
            if section in values or section.startswith(("listen.", "route.")):
                continue
        if section.startswith(("listen.", "route.")):
            continue
        key = re.match(r"\s*([a-z_0-9]+)\s*=", line)
        if section in values:
            if key and key[1] not in values[section]:
                values[section][key[1]] = line.partition("=")[2].strip()
                values[section][f"{key[1]} raw"] = True
            continue
        kept.append(line)
    out = [*kept]
    for name, keys in values.items():
        out.append(f"[{name}]")
        for key, value in keys.items():
            if not key.endswith(" raw"):
                out.append(f"{key} = {value if f'{key} raw' in keys else json.dumps(value)}")
    return "\n".join(out) + "\n"
