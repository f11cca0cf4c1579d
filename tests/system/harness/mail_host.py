"""A mail host as a how-to sets it up: the files of tests/system/setups/NAME lie on a machine of the test's own, beside the
partners' Debian packages. The same host runs under Debian's Postfix, or under Postrider after `postrider import-postfix`, the
way postrider-from-postfix(7) says; a test says once what its owner expects, and both have to do it.

Knows how either system is started. Must not know what a set-up is for.
"""
import re
import tomllib
from pathlib import Path

from .client import Client
from .machine import Machine, listens
from .unpacked import tree
from .watch import wait_until

SETUPS = Path(__file__).resolve().parents[1] / "setups"
LOG = "/var/log/mail.log"
POSTFIX, POSTRIDER = "Postfix", "Postrider"
SYSTEMS = (POSTFIX, POSTRIDER)
# What Debian's packages of these add to dynamicmaps.cf.
TABLE_TYPES = "".join(f"{kind}\tpostfix-{kind}.so\tdict_{kind}_open\n" for kind in ("mysql", "pgsql", "ldap", "pcre"))


class MailHost(Machine):
    """`system`: POSTFIX or POSTRIDER. `tables`: the types of tables beyond files, "mysql" …, for which Postfix has a package
    each. master.cf of the set-up is what it adds to Debian's, or replaces there."""

    door = "127.0.0.1"  # where clients find it

    def __init__(self, folder, system, setup, hostname, *packages, installed, tables=()):
        theirs = ["postfix", *(f"postfix-{kind}" for kind in tables)] if system == POSTFIX else []
        super().__init__(folder, hostname, *packages, *theirs, postrider=installed if system == POSTRIDER else None)
        self.system, self.place = system, SETUPS / setup
        try:
            self.prepare(hostname)
        except BaseException:
            self.stop()
            raise

    def prepare(self, hostname):
        self.write("/etc/mailname", hostname.partition(".")[2] + "\n")
        self.write("/etc/aliases", "postmaster: root\n")
        for file in sorted(self.place.rglob("*")):
            if file.is_file():
                self.write(f"/{file.relative_to(self.place)}", file.read_text(), mode=0o600 if "sasl_passwd" in file.name else 0o644)
        self.write("/etc/postfix/master.cf", whole_master((self.place / "etc/postfix/master.cf")))
        (self.install_theirs if self.system == POSTFIX else self.install_ours)()

    # -- the two systems

    def let_read(self, user):
        """Tables with passwords: what Postfix's user reads, as how-tos have it; or ours."""
        self.run(f"! grep -l '^ *\\(password\\|bind_pw\\) *=' /etc/postfix/*.cf >/tmp/secret || (xargs chgrp {user} </tmp/secret; xargs chmod 640 </tmp/secret)")

    def start(self, decided=()):
        """`decided`: lines of [undecided] that the owner has dealt with, and deletes."""
        if self.system == POSTFIX:
            self.start_theirs()
        else:
            self.start_ours(decided)

    def install_theirs(self):
        self.add_user("postfix")
        self.run("getent group postdrop >/dev/null || groupadd --system postdrop\n"
                 "rm -rf /var/spool/postfix; mkdir -p /var/spool/postfix /var/lib/postfix; chown postfix /var/lib/postfix")
        self.write("/etc/postfix/dynamicmaps.cf", TABLE_TYPES)

    def start_theirs(self):
        compiled = re.findall(r"\bhash:(/etc/postfix/[\w/.-]+)", self.read("/etc/postfix/main.cf") + self.read("/etc/postfix/master.cf"))
        for file in dict.fromkeys(compiled):
            self.run("postmap", f"hash:{file}")
        self.let_read("postfix")
        self.run("newaliases\npostconf -F '*/*/chroot=n'\npostfix start")
        self.wait_for_the_doors()

    def install_ours(self):
        # Some packages depend on that of Postfix; `postrider activate` would divert its commands, if dpkg knew of them here.
        self.run("cd /usr/sbin; rm -f postalias postcat postconf postmap postqueue postsuper")
        self.install_package()

    def start_ours(self, decided):
        self.let_read("postrider")
        # Fails where the importer asks for a decision, or check finds something.
        self.imported = self.run("postrider", "import-postfix", "-o", "/etc/postrider/postrider.toml", "/etc/postfix", check=False)
        configuration = self.read("/etc/postrider/postrider.toml")
        asked = tomllib.loads(configuration).get("undecided", {})
        assert sorted(asked) == sorted(decided), f"{self.imported}\n{configuration}"
        for line in asked:
            configuration = re.sub(rf'^"{re.escape(line)}" = .*\n', "", configuration, flags=re.M)
        self.write("/etc/postrider/postrider.toml", configuration)
        self.run("postrider", "check")
        self.run("postrider", "start")
        self.wait_for_the_doors()

    def wait_for_the_doors(self):
        wait_until(lambda: listens(f"{self.door}:25"), 20, lambda: f"{self.system} to be ready\n{self.said()}")

    # -- what an owner does, the same with both

    def client(self, port=25, source=None, hello="client.example.net"):
        c = Client(self.door, port, source=source)
        reply = c.say(f"EHLO {hello}")
        assert reply.startswith("250"), reply
        return c

    def sendmail(self, *words, text="Subject: test\n\nHello.\n"):
        self.run("sendmail", *words, input=text)

    def flush(self):
        self.run("postqueue", "-f")

    def queue(self):
        return self.run("mailq", check=False)

    def wait_log(self, pattern, seconds=20, file=LOG):
        return super().wait_log(pattern, seconds, file)

    def logged(self, pattern):
        return re.findall(pattern, self.read(LOG), re.M)


def whole_master(additions):
    """Debian's master.cf with what a set-up adds or replaces."""
    def services(text):
        found = []
        for line in text.splitlines():
            if re.match(r"\s+\S", line) and not line.lstrip().startswith("#"):
                found[-1] += "\n" + line
            elif line.strip() and not line.startswith("#"):
                found.append(line)
        return {tuple(each.split()[:2]): each for each in found}
    ours = services(additions.read_text()) if additions.exists() else {}
    return "\n".join((services((tree("postfix") / "usr/share/postfix/master.cf.dist").read_text()) | ours).values()) + "\n"
