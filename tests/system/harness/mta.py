"""One whole Postrider in a directory of its own: every daemon a real process, everything on loopback."""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from .client import Client, message
from .watch import wait_until

BUILD = Path(os.environ.get("POSTRIDER_BUILD", Path(__file__).resolve().parents[3] / "build"))
ROLES = ("master", "smtpd", "pickup", "categorizer", "router", "queue-manager", "smtp-client", "local", "bounce", "metrics", "events", "http")
CONFINED = tuple(r for r in ROLES if r not in ("master", "local"))
CANNOT_CONFINE = re.compile(r"confinement: .*(the kernel has no Landlock|left out of sanitizer builds)")
DENIED = re.compile(r"postfix/(?!master|local|pipe)[\w-]+\[\d+\]: (?!.*(said:|relay=)).*(Permission denied|Operation not permitted)")
OPTIONAL = ("transfer", "maps", "fleet")  # run where the configuration asks for them
PROGRAMS = (*ROLES, *OPTIONAL, "postrider", "simulate", "import-postfix", "sendmail", "postqueue")


def gather_programs(folder):
    """The built programs in one flat directory, as they find one another."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        built = [p for p in (BUILD / "daemons").glob(f"*/{name}") if p.is_file() and os.access(p, os.X_OK)]
        if not built and name in ("maps", "fleet"):  # without their libraries
            continue
        if not built:
            raise AssertionError(f"{BUILD} has no program {name}")
        if not (folder / name).exists():
            try:
                os.link(built[0], folder / name)
            except OSError:
                shutil.copy2(built[0], folder / name)
    for name, program in (("mailq", "sendmail"), ("newaliases", "sendmail"), ("postcat", "postqueue"),
                          ("postconf", "postqueue"), ("postsuper", "postqueue"), ("postmap", "postqueue"),
                          ("postalias", "postqueue")):
        if not (folder / name).exists():
            os.symlink(program, folder / name)


class Mta:
    def __init__(self, folder, block):
        self.folder, self.block, self.programs = Path(folder), block, Path(folder) / "bin"
        gather_programs(self.programs)
        self.address, self.relay_port, self.submission_port = block.host(1), block.port(), block.port()
        self.spool = self.folder / "spool"
        self.log_file = self.folder / "log"
        self.file = self.folder / "postrider.toml"
        self.process, self.prefix = None, []
        self.can_speak = True  # standard output is open
        self.user = "someone"
        self.forgotten = 0  # lines of the log
        self.expects_crashes = False  # a test has daemons die
        self.expects_denials = False  # a test has daemons try what their confinement refuses
        self.aliases = self.folder / "aliases"
        self.aliases.write_text("")
        # The ladder's shape with seconds for minutes, and no jitter: tests wait for what comes, not for the clock.
        self.config = {
            "mta": {"hostname": "mta.test.example", "origin": "test.example", "multi_user": False},
            "spool": {"directory": str(self.spool), "minimum_free": "1MiB", "minimum_free_inodes": 16, "reserve": "256KiB"},
            "log": {"file": str(self.log_file), "syslog": False},
            "local": {"domains": ["test.example", "localhost"], "users": [self.user, "other"],
                      "aliases": [str(self.aliases)], "mailbox": f"maildir:{self.folder}/mail/{{user}}"},
            "listen.relay": {"addresses": [f"{self.address}:{self.relay_port}"], "service": "relay"},
            "listen.submission": {"addresses": [f"{self.address}:{self.submission_port}"], "service": "submission",
                                  "tls": "no", "submission_networks": ["127.0.0.0/8"]},
            "dns": {"servers": ["127.0.0.1:1"], "timeout": "300ms", "tries": 2, "minimum_ttl": "0s", "failure_ttl": "0s",
                    "negative_ttl": "1s"},
            "queue": {"glitch_interval": "1s", "retry_interval": "2s", "retry_interval_after": "2s", "jitter": 0,
                      "report_merge_window": "0s", "local_retry": "1s", "categorize_retry": "1s", "routing_retry": "1s",
                      "report_retry": "1s", "internal_error_retry": "1s"},
            "smtpd": {"reverse_lookup": False, "error_delay": "0s", "complete_headers": []},
            "submit": {"drop_interval": "1s"},
            "smtp_client": {},
            "master": {"stop_timeout": "5s"},
        }

    def wrap(self, **environment):
        """Every daemon is started by way of a script that sets these variables (a preloaded library, say)."""
        for role in (*ROLES, *OPTIONAL):
            program, real = self.programs / role, self.programs / f"{role}.real"
            if not program.exists():
                continue
            program.rename(real)
            settings = "".join(f"export {k}={v!r}\n" for k, v in environment.items())
            program.write_text(f'#!/bin/sh\n{settings}exec {str(real)!r} "$@"\n')
            program.chmod(0o755)

    # -- configuration

    def route(self, domain, *sinks):
        """Mail for the domain goes to these servers, in order of preference; those in a list are equals."""
        def hop(s):
            return [hop(each) for each in s] if isinstance(s, list) else f"[{s.address}]:{s.port}"
        hops = [hop(s) for s in sinks]
        self.config[f'route."{domain}"'] = {"next_hop": hops[0] if len(hops) == 1 and isinstance(hops[0], str) else hops}

    def use_names(self, names):
        self.config["dns"]["servers"] = [f"{names.address}:{names.port}"]

    def write_config(self):
        def value(v):
            return json.dumps(v)
        self.file.write_text("\n".join(
            f"[{name}]\n" + "".join(f"{k} = {value(v)}\n" for k, v in keys.items())
            for name, keys in self.config.items() if keys) + "\n")

    # -- life

    def start(self, wait=True, spool=True):
        """Waits until it answers; and until the queue-manager has read the spool, unless that is what the test is about."""
        self.write_config()
        logged_before = self.log_file.stat().st_size if self.log_file.exists() else 0
        self.output = open(self.folder / "output", "ab")
        self.said_before = self.output.tell()
        self.process = subprocess.Popen([*self.prefix, self.programs / "postrider", "run", "-c", self.file],
                                        stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
                                        cwd=self.folder, start_new_session=True)
        if wait:
            wait_until(self.answers, 30, lambda: f"the MTA to greet on port {self.relay_port}\n{self.last_words()}")
            wait_until(lambda: not self.unconfined(), 10, lambda: f"confinement of {self.unconfined()}\n{self.last_words()}")
        if wait and spool and self.config["log"].get("file") == str(self.log_file):
            wait_until(lambda: b"spool: loaded: " in self.log_file.read_bytes()[logged_before:], 30,
                       lambda: f"the spool to be read\n{self.last_words()}")
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"postrider run ended with {self.process.returncode}\n{self.last_words()}")
        with open(self.folder / "output", "rb") as output:
            output.seek(self.said_before)
            if self.can_speak and b"postrider is running" not in output.read():
                return False  # not every daemon has come up
        try:
            for port in (self.relay_port, self.submission_port):
                with Client(self.address, port, timeout=5) as c:
                    if not c.banner.startswith("220"):
                        return False
                    c.say("QUIT")
            return True
        except Exception:
            return False

    def last_words(self):
        text = ""
        for file in (self.folder / "output", self.log_file):
            if file.exists():
                text += f"--- {file.name}\n" + "\n".join(file.read_text(errors="replace").splitlines()[-60:]) + "\n"
        return text

    def crashes(self):
        """What no test may cause: failed assertions, faults, a sanitizer's report."""
        if self.expects_crashes:
            return []
        found = [l for l in self.log() if re.search(r"was ended by signal (4|6|7|8|11)\b", l)]
        output = self.folder / "output"
        if output.exists():
            found += [l for l in output.read_text(errors="replace").splitlines()
                      if re.search(r"Assertion|Sanitizer|runtime error:|terminate called", l)]
        return found

    def unconfined(self):
        """Daemons that run without what production holds them by, where this kernel has it. Tests of every kind run with
        the confinement on; what it refuses shows in denied()."""
        if any(CANNOT_CONFINE.search(l) for l in self.log()):
            return []
        found = []
        for pid in self.all_pids():
            role = program_of(pid)
            if role not in CONFINED:
                continue
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue  # it has ended
            if not re.search(r"^Seccomp:\t2$", status, re.M) or not re.search(r"^NoNewPrivs:\t1$", status, re.M):
                found.append(f"{role} ({pid})")
        return found + [l for l in self.log() if "confinement: " in l]

    def denied(self):
        """What confined daemons log of refused accesses. Where everything runs as root, nothing but the confinement refuses."""
        if os.geteuid() != 0 or self.config["mta"]["multi_user"] or self.expects_denials:
            return []
        return [l for l in self.log() if DENIED.search(l)]

    def stop(self, seconds=20):
        """In good order; returns the exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill_everything()
            raise AssertionError(f"the MTA did not stop within {seconds} s\n{self.last_words()}") from None
        self.process = None
        self.output.close()
        return status

    def kill_everything(self):
        """As a power cut does to processes: all at once, no goodbye."""
        if self.process is None:
            return
        pids = self.all_pids()
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, nobody sees another one's end and says goodbye
            for pid in pids:
                kill(pid, number)
        for pid in self.all_pids():
            kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        wait_until(lambda: not self.all_pids(), 10, "the killed processes to be gone")
        self.process = None
        self.output.close()

    def restart(self):
        self.stop()
        return self.start()

    def command(self, *arguments, input=None, check=True, seconds=30):
        """`postrider …`; returns the finished process."""
        return self.run("postrider", *arguments[:1], "-c", self.file, *arguments[1:], input=input, check=check, seconds=seconds)

    def run(self, program, *arguments, input=None, check=False, seconds=30):
        text = {} if isinstance(input, bytes) else {"text": True}
        given = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        done = subprocess.run([self.programs / program, *map(str, arguments)], capture_output=True, timeout=seconds,
                              **text, **given)
        if check and done.returncode != 0:
            raise AssertionError(f"{program} {' '.join(map(str, arguments))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    # -- processes

    def all_pids(self):
        """Every process that runs out of our own directory of programs."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if os.readlink(f"/proc/{entry}/exe").startswith(f"{self.programs}/"):
                        found.append(int(entry))
                except OSError:
                    pass
        return found

    def pids(self, role):
        """The processes of one role, by the program they run."""
        return [p for p in self.all_pids() if program_of(p) == role]

    def wait_for_role(self, role, seconds=15, other_than=()):
        return wait_until(lambda: [p for p in self.pids(role) if p not in other_than], seconds, f"a {role} to run")

    def kill(self, role, signal_number=signal.SIGKILL):
        """kill -9 to one process of that role; returns its pid."""
        pid = self.wait_for_role(role)[0]
        kill(pid, signal_number)
        return pid

    def status(self):
        return json.loads(self.command("status", "--json").stdout)

    # -- log

    def log(self):
        """Its lines, since the log was last forgotten."""
        if not self.log_file.exists():
            return []
        return self.log_file.read_text(errors="replace").splitlines()[self.forgotten:]

    def forget_the_log(self):
        self.forgotten = 0
        self.forgotten = len(self.log())

    def logged(self, pattern):
        """Matches of the pattern, one per line of the log at most."""
        expression = re.compile(pattern)
        return [m for m in map(expression.search, self.log()) if m]

    def wait_log(self, pattern, seconds=15, count=1):
        return wait_until(lambda: (lambda f: f if len(f) >= count else None)(self.logged(pattern)), seconds,
                          lambda: f"{count} × {pattern!r} in the log\n{self.last_words()}")[count - 1]

    # -- mail in

    def client(self, port=None, greet=True, hello=True, **options):
        c = Client(self.address, port or self.relay_port, greet=greet, **options)
        if greet and hello:
            reply = c.say("EHLO client.example")
            assert reply.startswith("250"), reply
        return c

    def submit(self, recipients, subject="test", sender="sender@test.example", body="Hello.", extra="", port=None,
               mail_parameters="", rcpt_parameters="", content=None):
        """Over SMTP; returns the queue id."""
        recipients = [recipients] if isinstance(recipients, str) else recipients
        with self.client(port) as c:
            reply = c.deliver(sender, recipients, content or message(subject, body, sender or "<>", recipients[0], extra),
                              mail_parameters, rcpt_parameters)
            assert reply.startswith("250 2.0.0 Ok: queued as "), reply
            c.say("QUIT")
        return reply.split()[-1]

    def sendmail(self, *arguments, input="Subject: test\n\nHello.\n", seconds=30):
        return self.run("sendmail", "-C", self.file, *arguments, input=input, seconds=seconds)

    # -- mail inside and out

    def queue(self):
        """mailq's entries: [(id, mark, sender, [recipients], [reasons])]."""
        done = self.run("mailq", "-C", self.file)
        assert done.returncode == 0, done.stderr
        return parse_mailq(done.stdout)

    def queued_ids(self):
        return {entry[0] for entry in self.queue()}

    def spool_files(self):
        """The messages' files: those named by a queue id, and reused files with a message in them."""
        return [p for part in ("incoming", "messages") for p in (self.spool / part).rglob("*")
                if (re.fullmatch("[0-9A-F]{10,14}", p.name) and p.is_file()) or message_in_reused(p)]

    def wait_until_empty(self, seconds=20):
        # Twice: a report comes to incoming/, and then what it tells of goes from messages/, which is looked at later.
        wait_until(lambda: not self.spool_files() and not self.spool_files(), seconds,
                   lambda: f"the spool to be empty, it has {len(self.spool_files())} files\n{self.last_words()}", step=0.05)

    def flush(self):
        return self.run("sendmail", "-C", self.file, "-q", check=True)

    def mailbox(self, user=None):
        """The messages in a user's Maildir, oldest first."""
        new = self.folder / "mail" / (user or self.user) / "new"
        return [p.read_text(errors="replace") for p in sorted(new.iterdir())] if new.is_dir() else []

    def wait_mailbox(self, count, user=None, seconds=15):
        return wait_until(lambda: (lambda m: m if len(m) >= count else None)(self.mailbox(user)), seconds,
                          lambda: f"{count} messages in the mailbox, {len(self.mailbox(user))} came\n{self.last_words()}")


def message_in_reused(path):
    """The queue id of the message in a reused file (libspool/FORMAT.md); None: it is free, or no such file."""
    if not path.name.endswith(".reused"):
        return None
    try:
        header = path.read_bytes()[:24]
    except OSError:
        return None
    return f"{int.from_bytes(header[16:24], 'little'):014X}" if header.startswith(b"Postrid") else None


def kill(pid, signal_number):
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        pass


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)").removesuffix(".real")
    except OSError:
        return None


ENTRY = re.compile(r"^([0-9A-F]{6,})([*!#]?)\s+(\d+)\s+(\w{3} \w{3}\s+\d+ \d\d:\d\d:\d\d)\s+(.*)$")


def parse_mailq(text):
    entries = []
    for line in text.splitlines():
        found = ENTRY.match(line)
        if found:
            entries.append((found[1], found[2], found[5].strip(), [], []))
        elif entries and line.strip() and not line.startswith("--"):
            word = line.strip()
            (entries[-1][4] if word.startswith("(") else entries[-1][3]).append(word)
    return entries
