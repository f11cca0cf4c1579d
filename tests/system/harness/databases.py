"""Database servers that others wrote, out of their unpacked packages, each with a directory of its own and, where it can, on one
address and port of loopback: MariaDB, PostgreSQL, OpenLDAP's slapd. None keeps what it has for longer than a test."""
import os
import shutil
import signal
import socket
import subprocess

from .filters import short_folder
from .unpacked import Service, environment, tree

PASSWORD = "s3cret-of-the-database"


def listens(address, port):
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


class Server:
    """With what all of them can do: hang, as a server does whose host has frozen, and come to life again."""

    def begin(self):
        self.service = Service(self.command, self.place, lambda: listens(self.address, self.port), self.environment)

    def stop(self):
        self.signal(signal.SIGKILL)
        self.service.stop()

    def signal(self, number):
        for pid in self.processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def processes(self):
        """It and all below it: PostgreSQL's have sessions of their own."""
        if self.service.process.poll() is not None:
            return set()
        found = {self.service.process.pid}
        parents = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/stat") as stat:
                        parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
                except (FileNotFoundError, ProcessLookupError):
                    pass
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def remove(self):
        self.stop()
        shutil.rmtree(self.place, ignore_errors=True)

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)


class Mariadb(Server):
    """`statements`: one a line, in the database "mail", which the user "mail" may read and execute."""

    def __init__(self, address, port, *statements):
        package = tree("mariadb-server-core")
        self.address, self.port, self.place = address, port, short_folder()
        self.socket = self.place / "sock"
        share = package / "usr/share/mysql"
        self.environment = environment(package)
        (self.place / "data").mkdir()
        common = [package / "usr/sbin/mariadbd", "--no-defaults", "--user=root", f"--datadir={self.place}/data", f"--basedir={package}/usr",
                  f"--lc-messages-dir={share}", f"--tmpdir={self.place}", "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=4M"]
        system = "".join((share / name).read_text() for name in
                         ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"))
        ours = ["flush privileges", "create database mail", "use mail", f"create user 'mail'@'%' identified by '{PASSWORD}'",
                "grant select, execute on mail.* to 'mail'@'%'", *statements]
        done = subprocess.run([*map(str, common), "--bootstrap"], env=self.environment, capture_output=True, text=True, timeout=120,
                              input="create database mysql;\nuse mysql;\n" + system + "".join(f"{each};\n" for each in ours))
        assert done.returncode == 0, done.stderr[-3000:]
        self.command = [*common, f"--socket={self.socket}", f"--bind-address={address}", f"--port={port}", "--skip-name-resolve",
                        f"--plugin-dir={package}/usr/lib/mysql/plugin"]
        self.begin()


class Postgres(Server):
    """`statements`: in the database "mail", which the user "mail" may read. It runs as no root: in a user namespace."""

    def __init__(self, address, port, *statements):
        package = tree("postgresql-15")
        self.address, self.port, self.place = address, port, short_folder()
        self.environment = environment(package)
        self.programs = package / "usr/lib/postgresql/15/bin"
        data = self.place / "data"
        self.run(self.programs / "initdb", "-D", data, "-U", "postgres", "--no-sync", "-A", "trust", "-E", "UTF8", "--locale=C",
                 "-L", package / "usr/share/postgresql/15")
        with open(data / "postgresql.conf", "a") as out:
            out.write(f"listen_addresses = '{address}'\nport = {port}\nunix_socket_directories = '{self.place}'\nfsync = off\n"
                      "shared_buffers = 8MB\nmax_connections = 30\n")
        ours = ["create database mail;\n"]
        self.single("postgres", *ours)
        self.single("mail", f"create user mail password '{PASSWORD}';\n", *(f"{each};\n" for each in statements),
                    "grant select on all tables in schema public to mail;\n")
        (data / "pg_hba.conf").write_text("host all all 0.0.0.0/0 scram-sha-256\nlocal all all scram-sha-256\n")
        self.command = ["unshare", "--user", "--map-user=65534", self.programs / "postgres", "-D", data]
        self.begin()

    def run(self, *command, input=None):
        done = subprocess.run(["unshare", "--user", "--map-user=65534", *map(str, command)], env=self.environment, input=input,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def single(self, database, *statements):
        done = self.run(self.programs / "postgres", "--single", "-D", self.place / "data", database, input="".join(statements))
        assert "ERROR" not in done.stderr, done.stderr


class Slapd(Server):
    """`entries`: LDIF below dc=example; root's name is cn=admin,dc=example, and anybody may read."""

    def __init__(self, address, port, entries):
        package = tree("slapd")
        self.address, self.port, self.place = address, port, short_folder()
        self.environment = environment(package)
        (self.place / "db").mkdir()
        schemas = "".join(f"include {package}/etc/ldap/schema/{name}.schema\n" for name in ("core", "cosine", "inetorgperson"))
        (self.place / "slapd.conf").write_text(
            f"{schemas}modulepath {package}/usr/lib/ldap\nmoduleload back_mdb\npidfile {self.place}/pid\ndatabase mdb\n"
            f'suffix "dc=example"\nrootdn "cn=admin,dc=example"\nrootpw {PASSWORD}\ndirectory {self.place}/db\nmaxsize 10485760\n')
        (self.place / "data.ldif").write_text("dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\no: x\ndc: example\n\n" + entries)
        done = subprocess.run([package / "usr/sbin/slapadd", "-f", self.place / "slapd.conf", "-l", self.place / "data.ldif"],
                              env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        self.command = [package / "usr/sbin/slapd", "-d", "0", "-f", self.place / "slapd.conf", "-h", f"ldap://{address}:{port}/"]
        self.begin()
