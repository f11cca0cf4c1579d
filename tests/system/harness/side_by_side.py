"""Postrider and Debian's Postfix in the same surroundings, for tests that compare them: the same users with the same
homes, the same aliases, the same remote servers, both started by root, both as they are configured by default where a
test says nothing else. Each sees the users in a mount namespace of its own; the machine's own are not touched.

A system offers: client() and sendmail() (mail in), mailbox(user) (mail here), listing() (mailq), log_text().
"""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .client import Client
from .mta import Mta
from .postfix import Postfix

# Of this test process: others' users stop (SIGSTOP) whatever runs as them.
FIRST_UID = 100_000 + os.getpid() % 100_000 * 20
SERVICES = "postrider:x:64992:64992::/:/bin/sh\n"
SERVICE_GROUPS = "postrider:x:64992:\npostrider-drop:x:64993:\npostrider-adm:x:64994:\n"


class Homes:
    """The users' accounts, and a home for each that every process may reach."""

    def __init__(self, folder, users):
        self.users, self.folder = users, folder / "home"
        self.folder.mkdir()
        self.folder.chmod(0o755)
        for user in users:
            self.of(user).mkdir(mode=0o755)
            os.chown(self.of(user), self.uid(user), self.uid(user))

    def of(self, user):
        return self.folder / user

    def uid(self, user):
        return FIRST_UID + self.users.index(user)

    def accounts(self):
        return "".join(f"{u}:x:{self.uid(u)}:{self.uid(u)}::{self.of(u)}:/bin/sh\n" for u in self.users)

    def groups(self):
        return "".join(f"{u}:x:{self.uid(u)}:\n" for u in self.users)

    def write(self, user, name, text):
        """A file of that user's, as a .forward is."""
        file = self.of(user) / name
        file.write_text(text)
        os.chown(file, self.uid(user), self.uid(user))
        return file

    def mailbox(self, user):
        """What is in the user's mbox, as one text."""
        file = self.of(user) / "mbox"
        return file.read_text(errors="replace") if file.exists() else ""


class System:
    """What both have in common. `routes`: {domain: remote server}; `aliases`: text of the alias file."""

    def __init__(self, folder, block, homes, routes, aliases="", resolver=None):
        self.folder, self.block, self.homes = folder, block, homes
        self.routes, self.aliases_text, self.resolver = routes, aliases, resolver

    def client(self, hello=True, **options):
        c = Client(self.address, self.port, **options)
        if hello:
            reply = c.say("EHLO client.example")
            assert reply.startswith("250"), reply
        return c

    def mailbox(self, user):
        return self.homes.mailbox(user)


class Ours(System):
    name = "Postrider"

    def configure(self, ours, theirs):
        mta = self.mta = Mta(self.folder, self.block)
        accounts, groups = self.folder / "passwd", self.folder / "group"
        system = [l for l in Path("/etc/passwd").read_text().splitlines(True) if not l.startswith("postrider:")]
        system_groups = [l for l in Path("/etc/group").read_text().splitlines(True) if not l.startswith("postrider")]
        accounts.write_text("".join(system) + SERVICES + self.homes.accounts())
        groups.write_text("".join(system_groups) + SERVICE_GROUPS + self.homes.groups())
        mta.prefix = ["unshare", "--mount", "sh", "-ec",
                      f'mount --bind {accounts} /etc/passwd; mount --bind {groups} /etc/group; exec "$@"', "sh"]
        for section in ("queue", "dns", "smtpd", "submit", "smtp_client", "master"):
            mta.config[section] = {}
        mta.config["mta"] = {"hostname": "mta.test.example", "origin": "test.example"}
        mta.config["local"] = {"domains": ["test.example", "localhost"], "aliases": [str(mta.aliases)],
                               "mailbox": "mbox:{home}/mbox"}
        mta.config["smtpd"] = {"reverse_lookup": False}
        if self.resolver:
            mta.config["dns"] = {"servers": [f"{self.resolver}:53"]}
        mta.aliases.write_text(self.aliases_text)
        mta.aliases.chmod(0o644)
        for domain, sink in self.routes.items():
            mta.route(domain, sink)
        for section, keys in ours.items():
            mta.config.setdefault(section, {}).update(keys)
        mta.spool.mkdir()
        os.chown(mta.spool, 64992, 64992)
        self.address, self.port = mta.address, mta.relay_port

    def start(self):
        self.mta.start()

    def stop(self):
        self.mta.kill_everything()

    def run(self, program, *arguments, input=None):
        given = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        return subprocess.run(["nsenter", "--mount", "--target", str(self.mta.process.pid), str(self.mta.programs / program),
                               "-C", str(self.mta.file), *map(str, arguments)],
                              capture_output=True, text=True, timeout=120, **given)

    def sendmail(self, *arguments, input):
        return self.run("sendmail", *arguments, input=input)

    def listing(self):
        return self.run("mailq")

    def flush(self):
        return self.run("sendmail", "-q")

    def log_text(self):
        return self.mta.log_file.read_text(errors="replace") if self.mta.log_file.exists() else ""

    def last_words(self):
        return self.mta.last_words()


class Theirs(System):
    name = "Postfix"

    def configure(self, ours, theirs):
        self.address, self.port = self.block.host(77), self.block.port()
        aliases, transport = self.folder / "aliases", self.folder / "transport"
        aliases.write_text(self.aliases_text)
        transport.write_text("".join(f"{d} smtp:[{s.address}]:{s.port}\n" for d, s in self.routes.items()))
        self.settings = {
            "myhostname": "mta.test.example", "mydomain": "test.example", "myorigin": "test.example",
            "mydestination": "test.example, localhost", "mynetworks": "127.0.0.0/8",
            "local_recipient_maps": "proxy:unix:passwd.byname $alias_maps", "alias_maps": f"hash:{aliases}",
            "alias_database": f"hash:{aliases}", "mail_spool_directory": "/var/mail", "home_mailbox": "mbox",
            "recipient_delimiter": "+", "transport_maps": f"texthash:{transport}", "mailbox_size_limit": "0", **theirs}

    def start(self):
        self.server = Postfix(self.folder, self.address, self.port, resolver=self.resolver, accounts=self.homes.accounts(),
                              groups=self.homes.groups(), prepare="postconf -F '*/*/chroot = n'\nnewaliases", **self.settings)

    def stop(self):
        self.server.stop()

    def sendmail(self, *arguments, input):
        return self.run("sendmail", *arguments, input=input)

    def run(self, *command, input=None):
        given = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        return subprocess.run(["nsenter", "--mount", "--target", str(self.server.process.pid), *map(str, command)],
                              capture_output=True, text=True, timeout=120, **given)

    def listing(self):
        return self.run("mailq")

    def flush(self):
        return self.run("postqueue", "-f")

    def log_text(self):
        return self.server.log.read_text(errors="replace") if self.server.log.exists() else ""

    def last_words(self):
        return self.server.said()


def traversable(prefix):
    """A directory that every user may pass, as homes need it."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    made.chmod(0o755)
    return made


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
