"""Debian's Postfix at its defaults, relaying everything to the sink."""
import os
import shutil
import subprocess
import time
from pathlib import Path

from .ground import Recorder, run
from .load import wait_for_port

SPOOL = Path("/var/spool/postfix")
CONFIG = Path("/etc/postfix")
QUEUES = ("maildrop", "incoming", "active", "deferred")


class Postfix:
    name = "Postfix"
    address, port = "127.0.0.1", 25
    file_queues = [SPOOL / q for q in QUEUES]

    def __init__(self, version):
        self.version = version
        self.recorder = None
        self.certificate = None  # (certificate, key): STARTTLS is offered
        self.connections = None  # to each next hop; None: the default

    def configure(self, disk, routes):
        """What the package's configuration writes for a host that relays through a smart host; the rest is default."""
        for folder, name in ((SPOOL, "spool"), (Path("/var/lib/postfix"), "lib")):
            folder.mkdir(parents=True, exist_ok=True)
            (disk / name).mkdir(exist_ok=True)
            run("mount", "--bind", disk / name, folder)
        shutil.chown("/var/lib/postfix", "postfix")
        shutil.copy("/usr/share/postfix/master.cf.dist", CONFIG / "master.cf")
        defaults = [line for line in Path("/usr/share/postfix/main.cf.debian").read_text().splitlines()
                    if line and not line.startswith("#")]
        lines = [*defaults, "smtp_tls_security_level=may", "smtp_tls_CApath=/etc/ssl/certs",
                 "smtp_tls_session_cache_database = btree:${data_directory}/smtp_scache",
                 "smtpd_relay_restrictions = permit_mynetworks permit_sasl_authenticated defer_unauth_destination",
                 "myhostname = bench.example", "alias_maps = hash:/etc/aliases", "alias_database = hash:/etc/aliases",
                 "mydestination = bench.example, localhost", "mynetworks = 127.0.0.0/8 [::ffff:127.0.0.0]/104 [::1]/128",
                 "mailbox_size_limit = 0", "recipient_delimiter = +", "inet_interfaces = all", "inet_protocols = all"]
        if self.certificate:
            lines += [f"smtpd_tls_chain_files = {self.certificate[1]}, {self.certificate[0]}", "smtpd_tls_security_level = may"]
        default_route = routes.get("*")
        lines.append(f"relayhost = [{default_route[0]}]:{default_route[1]}" if default_route else "relayhost =")
        others = {d: to for d, to in routes.items() if d != "*"}
        if others:
            lines.append("transport_maps = hash:/etc/postfix/transport")
        if self.connections:
            lines += [f"initial_destination_concurrency = {self.connections}",
                      f"default_destination_concurrency_limit = {self.connections}"]
        (CONFIG / "main.cf").write_text("\n".join(lines) + "\n")
        if others:  # postmap reads main.cf
            (CONFIG / "transport").write_text("".join(f"{d} smtp:[{a}]:{p}\n" for d, (a, p) in others.items()))
            run("/usr/sbin/postmap", CONFIG / "transport")
        Path("/etc/aliases").write_text("postmaster: root\n")
        run("/usr/sbin/postalias", "/etc/aliases")
        shutil.copy("/usr/share/postfix/makedefs.out", CONFIG / "makedefs.out")
        run("/usr/sbin/postfix", "check")
        subprocess.run(["/usr/lib/postfix/configure-instance.sh", "-"], capture_output=True)
        (SPOOL / "dev").mkdir(exist_ok=True)
        self.log = disk / "mail.log"
        self.recorder = Recorder(["/dev/log", SPOOL / "dev/log"], self.log)

    def start(self, group, prefix=()):
        def child():
            os.setsid()
            group.enter()
        self.process = subprocess.Popen([*prefix, "/usr/lib/postfix/sbin/master", "-d"],
                                        stdin=subprocess.DEVNULL, preexec_fn=child)
        group.started(self.process.pid)
        wait_for_port(self.address, self.port)

    def last_words(self):
        return self.log.read_text(errors="replace")[-4000:]

    def queued(self):
        """Messages in the queue."""
        return sum(len(files) for q in QUEUES[1:] for _, _, files in os.walk(SPOOL / q))

    def everything_deferred(self):
        return not any(files for q in QUEUES[:3] for _, _, files in os.walk(SPOOL / q))

    def listing_command(self):
        return ["/usr/sbin/postqueue", "-p"]

    def flush(self):
        run("/usr/sbin/postqueue", "-f")

    def queue_manager(self, group):
        return [p for p in group.pids() if Path(f"/proc/{p}/comm").read_text().strip() == "qmgr"]

    def stop(self, group):
        if self.process.poll() is None:
            pid = int((SPOOL / "pid/master.pid").read_text())
            try:
                os.kill(pid, 15)
            except ProcessLookupError:
                pass
            end = time.monotonic() + 10
            while group.pids() and time.monotonic() < end:
                self.process.poll()
                time.sleep(0.02)
        for pid in group.pids():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.process.wait()
        if self.recorder:
            self.recorder.stop()
            self.recorder = None
        for path in (Path("/dev/log"), SPOOL / "dev/log"):
            path.unlink(missing_ok=True)
        for folder in ("/var/lib/postfix", SPOOL):
            while subprocess.run(["umount", str(folder)], capture_output=True).returncode == 0:
                pass
