"""A Postfix configuration out of somebody's repository, made to run anywhere: what it names and the repository lacks is made
up, what needs a partner that nobody has here is taken out, and both are said. What comes out is a directory as /etc/postfix
would be; Postfix runs it and `postrider import-postfix` reads it, so both get the same.

Knows Postfix's files. Must not know how either system is started, or what is tried with it."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from .certificates import make_certificate
from .unpacked import environment, tree

SERVER = "203.0.113.25"
MAILNAME = "home.example"  # in /etc/mailname
USERS = ("ann", "bob")
KINDS = "hash|btree|lmdb|cdb|dbm|texthash|mysql|pgsql|ldap|sqlite|memcache|regexp|pcre|cidr|nis|nisplus|sdbm"
TABLE = re.compile(rf"(?:proxy:)*\b({KINDS}):([^\s,{{}}]+)")
IN_DATABASES = ("mysql", "pgsql", "ldap", "sqlite", "memcache", "nis", "nisplus")
PATTERNS = ("regexp", "pcre", "cidr")
# Where the host keeps what, how fast it counts and who may connect how often: not what a configuration decides.
DROPPED = re.compile(r"(queue|command|daemon|data|sample|readme|html|manpage|shlib|meta|sendmail|newaliases|mailq|config)_(directory|path)|"
                     r"mail_owner|setgid_group|default_privs|multi_instance_\w+|syslog_\w+|maillog_\w+|compatibility_level|mail_version|"
                     r"smtpd_client_\w+_(rate|count)_limit|anvil_\w+|smtpd_(error_sleep_time|soft_error_limit|hard_error_limit|"
                     r"junk_command_limit)|in_flow_delay|alias_database|smtp_bind_address6?|proxy_interfaces|"
                     r"(smtpd|non_smtpd)_milters|milter_\w+|debug\w*|debugger_command|import_environment|export_environment|"
                     r"inet_interfaces|inet_protocols|queue_minfree|stress")
# Settings that name files of words, and what is in one that is missing.
LISTS = {"mydestination": "hosted.example\nhosted2.example\n", "virtual_mailbox_domains": "hosted.example\nhosted2.example\n",
         "virtual_alias_domains": "aliased.example\n", "relay_domains": "routed.example\n", "mynetworks": "127.0.0.0/8\n10.0.0.0/8\n"}
# One of these has to be there, or smtpd does not start.
ENDS = re.compile(r"(?<![\w-])(reject_unauth_destination|defer_unauth_destination|reject|defer|defer_if_permit|check_relay_domains)(?![\w-])")
KEYS = re.compile(r"(smtpd?|lmtp|tlsproxy|postscreen)_tls_(d|ec|)(cert|key)_file|smtpd?_tls_chain_files")
# The content of a table that is missing, by what it is for.
DOMAINS, ADDRESSES, ALIASES, ROUTES, CLIENTS, SENDERS, RECIPIENTS, HELLOS, LOGINS = (
    "hosted.example here\nhosted2.example here\n",
    "user@hosted.example user\nother@hosted.example other\npostmaster@hosted2.example user\n",
    "sales@hosted.example user@hosted.example, far@remote.example\ninfo@hosted2.example user@hosted.example\n",
    "routed.example smtp:[relay.partner.example]\n.below.example smtp:[relay.partner.example]\n",
    "198.51.100.66 REJECT listed here\n198.51.100.67 OK\nbad.client.example REJECT\n",
    "bad@remote.example REJECT not you\nrefused.example 550 not them\ngood@refused.example OK\n",
    "closed@hosted.example REJECT closed\nslow@hosted.example 450 later\n",
    "bad.hello.example REJECT not that name\n",
    "user@hosted.example user\nann@home.example ann\n")
MADE_UP = ((r"transport", ROUTES), (r"(_domains|mydestination)$", DOMAINS), (r"login_maps", LOGINS), (r"alias_maps", ALIASES),
           (r"(mailbox|recipient)_maps", ADDRESSES), (r"check_client_access|postscreen_access", CLIENTS),
           (r"check_sender_access", SENDERS), (r"check_recipient_access", RECIPIENTS), (r"check_helo_access", HELLOS))


def postconf(*words, place):
    """What Debian's Postfix reads in the directory."""
    home = tree("postfix")
    done = subprocess.run([home / "usr/sbin/postconf", "-c", place, *words], env=environment(home), capture_output=True, text=True)
    if done.returncode != 0:
        raise Unusable("postconf: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return done.stdout


def settings_of(place):
    lines = postconf("-n", "-x", place=place).splitlines()
    return {name: value.strip() for name, separator, value in (line.partition(" =") for line in lines) if separator}


def as_if_old(file):
    """Postfix waits until a file has not been changed for a second before it reads it."""
    long_ago = time.time() - 3600
    os.utime(file, (long_ago, long_ago))


class Unusable(Exception):
    """No configuration, or one that Postfix itself refuses."""


class Adapted:
    """`place`: the directory that was made. `tables`: {parameter or check: [(kind, file), …]}. `changes`: what was made up or taken
    out, in sentences."""

    def __init__(self, source, place):
        self.source, self.place = Path(source), Path(place)
        self.tables, self.changes, self.made = {}, [], {}
        self.listed = {}  # words of the files that LISTS name
        self.place.mkdir(parents=True)
        for file in self.source.iterdir():
            if file.is_file() and file.name not in ("main.cf", "master.cf"):
                shutil.copy(file, self.place / file.name)
        (self.place / "made-up").mkdir()
        make_certificate(self.place / "made-up", "cert", ["mx.home.example"])
        self._master()
        self._main()
        self._as_upgraded()

    # -- tables

    def _file_of(self, path):
        """Where the repository has it."""
        name = re.sub(r"^(\$\{?config_directory\}?|/etc/postfix|/usr/local/etc/postfix|/opt/[^/]+)/", "", path)
        for each in (self.source / name, self.source / Path(path).name):
            if each.is_file():
                return each
        return None

    def _table(self, kind, path, user):
        """The same table as Postfix and Postrider can both read it here."""
        file = self._file_of(path)
        if kind in ("btree", "hash", "memcache") and re.search(r"_cache(_database|_map)?$|verify_map", user):
            return f"btree:/var/lib/postfix/{Path(path).name}"
        new_kind = kind if kind in PATTERNS else "hash"
        name = f"{len(self.made):02}-{re.sub(r'[^A-Za-z0-9_]', '_', Path(path).name)}"
        made = self.made.setdefault((kind, path, bool(re.search("alias_(maps|database)", user) and "virtual" not in user)), name)
        target = self.place / "made-up" / made
        if not target.exists():
            if file is not None and kind not in IN_DATABASES:
                text = file.read_text(errors="replace")
            else:
                purpose = re.sub(r".*(check_\w+_access).*", r"\1", user)
                text = "" if new_kind in PATTERNS else next((text for word, text in MADE_UP if re.search(word, "transport_maps" if "transport" in path else purpose)), "")
                if user in ("alias_maps", "alias_database"):
                    text = "postmaster: root\nroot: ann\nstaff: ann, bob\noutside: far@remote.example\n"
                self.changes.append(f"{user}: {kind}:{path} is " + ("in a database" if kind in IN_DATABASES else "missing") + ": made up")
            target.write_text(text)
            target.chmod(0o600 if re.search("password|passwd", user + path) else 0o644)
        self.tables.setdefault(user, []).append((new_kind, target))
        return f"{new_kind}:/etc/postfix/made-up/{made}"

    def _tables_in(self, text, user):
        def one(match):
            before = re.findall(r"(check_\w+_access|check_\w+)\s+\S*$", text[:match.end()])
            return self._table(match[1], match[2], before[-1] if before else user)
        return TABLE.sub(one, text)

    def _list_files(self, text, user):
        def one(match):
            file = self._file_of(match[1])
            target = self.place / "made-up" / f"list-{Path(match[1]).name}"
            target.write_text(file.read_text(errors="replace") if file else LISTS[user])
            if not file:
                self.changes.append(f"{user}: {match[1]} is missing: made up")
            lines = [line for line in target.read_text().splitlines() if not line.startswith("#")]
            self.listed.setdefault(user, []).extend(re.split(r"[\s,]+", " ".join(lines)))
            return f"/etc/postfix/made-up/{target.name}"
        return re.sub(r"(?<![^\s,])(/[^\s,]+)", one, text)

    def _without_partners(self, text, user):
        """Policy services, which nobody has here: as if they had no opinion."""
        found = re.findall(r"check_policy_service\s+(\{[^}]*\}|\S+)", text)
        for each in found:
            self.changes.append(f"{user}: check_policy_service {each} taken out")
        return re.sub(r",?\s*check_policy_service\s+(\{[^}]*\}|[^\s,]+)", "", text)

    # -- files

    def _master(self):
        given = self.source / "master.cf"
        text = given.read_text(errors="replace") if given.is_file() else (tree("postfix") / "usr/share/postfix/master.cf.dist").read_text()
        lines = []
        for line in text.splitlines():
            if re.match(r"\s+-o\s*(\S*_milters|smtpd_client_\w+_limit)", line):
                self.changes.append(f"master.cf: {line.strip()}: taken out")
                continue
            if re.match(r"\s+-o\s*content_filter\s*=\s*[^:\s]+:?\s*$", line):
                self.changes.append(f"master.cf: {line.strip()}: taken out, the program is not here")
                continue
            if not line.startswith("#"):
                line = self._without_partners(self._tables_in(line, re.sub(r".*-o\s*(\w+)\s*=.*", r"\1", line) if "-o" in line else "master.cf"), "master.cf")
                line = re.sub(r"(smtpd_tls_(?:cert|key)_file)=\S+", lambda m: f"{m[1]}=/etc/postfix/made-up/cert.{'pem' if 'cert' in m[1] else 'key'}", line)
            lines.append(line)
        lines = [line for line in lines if not re.match(r"postlog\s", line)] + ["postlog unix-dgram n - n - 1 postlogd"]
        if not any(re.match(r"proxymap\s", line) for line in lines):
            lines.append("proxymap unix - - n - - proxymap")
        standard = (tree("postfix") / "usr/share/postfix/master.cf.dist").read_text().splitlines()
        has = {line.split()[0] for line in lines if re.match(r"\w\S*\s+(unix|fifo)\s", line)}
        missing = [line for line in standard if re.match(r"\w\S*\s+unix\s", line) and line.split()[0] not in has and "pipe" not in line]
        if missing:
            self.changes.append("master.cf: added " + " ".join(line.split()[0] for line in missing))
        (self.place / "master.cf").write_text("\n".join(lines + missing) + "\n")
        as_if_old(self.place / "master.cf")
        self.pipe_users = set(re.findall(r"\buser=\$?\{?([A-Za-z][\w.-]*)", text))

    def _main(self):
        shutil.copy(self.source / "main.cf", self.place / "main.cf")
        as_if_old(self.place / "main.cf")
        said = settings_of(self.place)
        certificate, key = "/etc/postfix/made-up/cert.pem", "/etc/postfix/made-up/cert.key"
        out = {}
        for name, value in said.items():
            if DROPPED.fullmatch(name):
                if name.endswith("_milters") and value:
                    self.changes.append(f"{name} = {value}: taken out, they are not here")
                continue
            if name == "content_filter" and re.fullmatch(r"[^:\s]+:?", value):
                self.changes.append(f"{name} = {value}: taken out, the program is not here")
                continue
            if KEYS.fullmatch(name) and value:
                value = f"{key} {certificate}" if "chain" in name else key if "key" in name else certificate
            elif re.fullmatch(r"(smtpd?|lmtp)_tls_CA(file|path)", name):
                value = certificate if name.endswith("file") else ""
            elif "dh1024" in name or "dh512" in name:
                value = ""
            elif name == "smtpd_sasl_path" or name == "smtpd_sasl_type":
                continue
            else:
                value = self._without_partners(self._tables_in(value, name), name)
                if name in LISTS:
                    value = self._list_files(value, name)
            out[name] = value
        if any("sasl_auth_enable=yes" in line.replace(" ", "") for line in (self.place / "master.cf").read_text().splitlines()) \
                or out.get("smtpd_sasl_auth_enable") == "yes":
            out |= {"smtpd_sasl_type": "dovecot", "smtpd_sasl_path": "private/auth"}
            if said.get("smtpd_sasl_type", "cyrus") == "cyrus":
                self.changes.append("smtpd_sasl_type = cyrus: Dovecot asked instead")
        if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", out.get("myhostname", "x")):
            self.changes.append(f"myhostname = {out.pop('myhostname')}: no name, mx.{MAILNAME} instead")
        out.setdefault("myhostname", f"mx.{MAILNAME}")
        out |= {"inet_interfaces": f"{SERVER}, 127.0.0.1", "inet_protocols": "ipv4", "compatibility_level": said.get("compatibility_level", "0"),
                "smtpd_error_sleep_time": "0", "smtpd_soft_error_limit": "1000", "smtpd_hard_error_limit": "1000",
                "smtpd_client_connection_count_limit": "0"}
        (self.place / "main.cf").write_text("".join(f"{name} = {value}\n" for name, value in out.items()))
        as_if_old(self.place / "main.cf")

    def _as_upgraded(self):
        """Of a Postfix before 2.10: what Debian's upgrade adds, without which smtpd does not start."""
        everything = self.everything()
        if not ENDS.search(everything["smtpd_relay_restrictions"] + " " + everything["smtpd_recipient_restrictions"]):
            line = "smtpd_relay_restrictions = permit_mynetworks, permit_sasl_authenticated, defer_unauth_destination"
            with open(self.place / "main.cf", "a") as main:
                main.write(line + "\n")
            as_if_old(self.place / "main.cf")
            self.changes.append(f"{line}: as Debian's upgrade adds it")

    def value(self, name):
        """With its default."""
        return postconf("-x", "-h", name, place=self.place).strip()

    def everything(self):
        """All values, defaults too."""
        return {name: value.strip() for name, _, value in (line.partition(" =") for line in postconf("-x", place=self.place).splitlines())}

    def services(self):
        """[(host, port, {overrides})] of the SMTP servers in master.cf."""
        found, names = [], {"smtp": 25, "smtps": 465, "submission": 587, "submissions": 465, "urd": 465, "ssmtp": 465}
        overrides = {}
        for line in postconf("-P", "-x", place=self.place).splitlines():
            left, _, value = line.partition(" = ")
            service, kind, name = (left.split("/") + ["", ""])[:3]
            overrides.setdefault((service, kind), {})[name] = value
        for line in postconf("-M", place=self.place).splitlines():
            words = line.split()
            if len(words) < 8 or words[1] != "inet" or words[7].rpartition("/")[2] not in ("smtpd", "postscreen"):
                continue
            host, _, port = words[0].rpartition(":")
            port = names.get(port, int(port) if port.isdigit() else None)
            if port:
                found.append((host.strip("[]"), port, overrides.get((words[0], "inet"), {})))
        return found


def keys_of(kind, file):
    """Left sides of a table; of patterns none."""
    if kind in ("regexp", "pcre"):
        return []
    lines = [line.split(None, 1)[0] for line in file.read_text(errors="replace").splitlines() if line.strip() and line[0] not in "# \t"]
    return [each.rstrip(":") for each in lines]


def is_configuration(place):
    return (Path(place) / "main.cf").is_file() and os.path.getsize(Path(place) / "main.cf") > 0
