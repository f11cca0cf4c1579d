"""A Debian machine of a test's own, for software that has to lie where its package puts it: this machine's files, with
unpacked packages and the built Postrider laid over them; what is written there is seen by nobody else and gone at the end.
It has processes of its own and shares the network of the test process (harness/network.py).

No maintainer script is run: users and directories that a package would make, the test makes (add_user, run).
"""
import os
import re
import select
import socket
import subprocess
from pathlib import Path

from .mta import DENIED
from .unpacked import tree
from .watch import wait_until

ROOT = Path(__file__).resolve().parents[3]
LOGS = ("/var/log/postrider.log", "/var/log/mail.log")

# Runs as process 1 of the machine. $1: its name; $2: where its root is to be; the others: what is laid over this machine's
# files, the topmost first. Directory by directory, because none of the layers may be inside another one.
BOOT = r"""
hostname "$1"
top=$2 layer=0
shift 2
mount -t tmpfs -o mode=0755 tmpfs "$top"
mkdir "$top/root"
lay() { # DIRECTORY of the root, then from which directories of the layers
    local over= each
    directory=$1
    shift
    for name; do
        for each in $layers; do
            [ ! -d "$each/$name" ] || over=$over$each/$name:
        done
    done
    layer=$((layer + 1))
    mkdir -p "$top/$layer/upper" "$top/$layer/work" "$top/root/$directory"
    mount -t overlay overlay -o "lowerdir=$over/$directory,upperdir=$top/$layer/upper,workdir=$top/$layer/work" "$top/root/$directory"
}
layers="$*"
lay usr usr
for name in bin lib lib64 sbin; do
    ln -s "usr/$name" "$top/root/$name"
    [ "$name" = lib64 ] || lay "usr/$name" "$name" "usr/$name"
done
lay etc etc
lay var var
cd "$top/root"
mkdir -m 755 proc dev run home root
mkdir -m 1777 tmp
mount -t proc proc proc
mount --rbind /dev dev
mkdir -m 1777 run/lock
rm -rf var/run var/lock
ln -s /run var/run
ln -s /run/lock var/lock
exec chroot . bash -c 'touch /run/booted; while :; do sleep 3600 & wait $!; done'
"""


class Machine:
    def __init__(self, folder, hostname, *packages, postrider=None):
        """`postrider`: an Installed, if the machine has one (start_postrider)."""
        self.folder, self.packages = Path(folder), packages
        self.folder.mkdir(parents=True, exist_ok=True)
        layers = [str(tree(package)) for package in packages] + ([str(postrider.place)] if postrider else [])
        self.output, self.first = open(self.folder / "output", "ab"), None
        self.process = subprocess.Popen(["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "sh", "-ec", BOOT, "sh",
                                         hostname, self.folder, *layers], stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT)
        try:
            self.first = wait_until(self._child, 10, "process 1 of the machine")
            wait_until(lambda: self._alive() and self.path("/run/booted").exists(), 10, "the machine's files")
            self.write("/etc/resolv.conf", "nameserver 127.0.0.1\n")
            self.write("/etc/hosts", "127.0.0.1 localhost\n")
            self.write("/etc/hostname", f"{hostname}\n")
            self.path("/var/log/mail.log").unlink(missing_ok=True)
        except BaseException:
            self.stop()
            raise

    def _child(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else self._alive() and None

    def _alive(self):
        assert self.process.poll() is None, f"the machine ended: {(self.folder / 'output').read_text()}"
        return True

    def stop(self):
        """As a power cut does. The network is the test's: what fail2ban has told its packet filter would stay, and so would
        addresses that somebody listens on, as long as the last process has not ended."""
        if self.process.poll() is None and self.path("/usr/sbin/nft").exists():
            self.run("nft flush ruleset")
        alive = self.first and self.process.poll() is None
        ended = os.pidfd_open(self.first) if alive else None
        # Who lets go of the machine's files last unmounts them: not its idle threads, which a busy machine keeps waiting.
        files = os.open(f"/proc/{self.first}/ns/mnt", os.O_RDONLY) if alive else None
        self.process.kill()  # and with it process 1, and with that all others
        self.process.wait()
        if alive:
            stopped = select.select([ended], [], [], 30)[0]
            os.close(ended)
            os.close(files)
            assert stopped, "the machine has not stopped after 30 s"
        self.output.close()

    # -- files

    def path(self, name):
        """Where the test sees a file of the machine."""
        return Path(f"/proc/{self.first}/root{name}")

    def write(self, name, text, mode=0o644, owner=None):
        file = self.path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)  # a link of the machine's own leads out of it
        file.write_text(text)
        file.chmod(mode)
        if owner:
            self.run("chown", owner, name)

    def read(self, name):
        return self.path(name).read_text(errors="replace")

    # -- processes

    def inside(self, *command):
        return ["nsenter", "--target", str(self.first), "--mount", "--pid", "--uts", "--root", "--wd", "env", "-i", "LANG=C.UTF-8", "HOME=/root",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *map(str, command)]

    def run(self, *command, input=None, check=True, seconds=60):
        """One command as root; a single string is a shell script. Its output, standard error included."""
        words = ["sh", "-ec", command[0]] if len(command) == 1 else command
        given = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        done = subprocess.run(self.inside(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, **given)
        assert not check or done.returncode == 0, f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}\n{self.said()}"
        return done.stdout

    def serve(self, *command, user=None, environment=()):
        """A command that runs until the machine stops, its output in the machine's own file."""
        as_user = ["setpriv", f"--reuid={user}", f"--regid={self.group_of(user)}", "--init-groups"] if user else []
        return subprocess.Popen(self.inside(*environment, *as_user, *command), stdin=subprocess.DEVNULL, stdout=self.output,
                                stderr=subprocess.STDOUT)

    def launch(self, *command, user=None):
        """A command that leaves a daemon behind and ends."""
        status = self.serve(*command, user=user).wait(60)
        assert status == 0, f"{' '.join(command)}: exit status {status}\n{self.said()}"

    def group_of(self, user):
        return self.run("id", "-g", user).strip()

    def add_user(self, name, home="/nonexistent", groups=()):
        """As a package does for its daemon."""
        self.run(f"id {name} >/dev/null 2>&1 || useradd --system --user-group --shell /usr/sbin/nologin --home-dir {home} {name}")
        for group in groups:
            self.run("usermod", "-a", "-G", group, name)

    def start_unit(self, name, ready):
        """What the package's systemd unit starts, as the user and with the runtime directory it names; until ready() is true."""
        unit = next(self.path(f"{place}/systemd/system/{name}.service") for place in ("/lib", "/usr/lib", "/usr/local/lib")
                    if self.path(f"{place}/systemd/system/{name}.service").exists()).read_text()
        value = dict(re.findall(r"^(\w+)=(.*)$", unit.replace("\\\n", " "), re.M))
        user = value.get("User")
        for directory in value.get("RuntimeDirectory", "").split():
            self.run(f"mkdir -p /run/{directory}; chown {user or 'root'} /run/{directory}")
        variables = []
        if file := value.get("EnvironmentFile"):
            variables = [line for line in self.read(file.lstrip("-")).splitlines() if re.match(r"\w+=", line)]
        script = "".join(f"{each}\n" for each in variables) + f"exec {value['ExecStart']}"
        if value.get("Type") == "forking":
            self.launch("sh", "-ec", script, user=user)
        else:
            self.serve("sh", "-ec", script, user=user)
        wait_until(ready, 30, lambda: f"{name} to be ready\n{self.said()}")

    def said(self):
        """The last words of everything that runs here."""
        files = [self.folder / "output", *map(self.path, LOGS)]
        return "".join(f"--- {file}\n" + "\n".join(file.read_text(errors="replace").splitlines()[-60:]) + "\n"
                       for file in files if file.exists())

    # -- Postrider

    def install_package(self):
        """As its Debian package does: the user, the spool, the commands' names; no configuration of its own yet."""
        self.run("rm -f /usr/sbin/sendmail /usr/bin/mailq /usr/bin/newaliases /usr/lib/sendmail; rm -rf /var/spool/postrider\n"
                 "systemd-sysusers postrider.conf\nsystemd-tmpfiles --create postrider.conf\nmkdir -p /etc/postrider\n"
                 "postrider activate\nln -s /usr/local/share/doc/postrider /usr/share/doc/postrider 2>/dev/null || :\n"
                 "[ -e /usr/bin/mail ] || ln -s s-nail /usr/bin/mail")

    def install_postrider(self, hostname, domain, *users, listen="*:25"):
        """The package, and the smallest configuration. The users have Maildirs, so that the test can read what they get."""
        for user in users:
            self.run(f"id {user} >/dev/null 2>&1 || useradd --create-home {user}")
        sample = subprocess.run(["sed", "-f", ROOT / "scripts/debian/loopback.sed", ROOT / "conf/postrider.toml"], check=True,
                                capture_output=True, text=True).stdout
        self.write("/etc/postrider/postrider.toml", sample)
        self.write("/etc/mailname", f"{domain}\n")
        self.write("/etc/aliases", "postmaster: root\n")
        self.install_package()
        self.configure(f'[listen.smtp]\naddresses = ["{listen}"]\n[mta]\nhostname = "{hostname}"\n[local]\ndomains = ["{domain}", "{hostname}", "localhost"]\n'
                       'mailbox = "maildir:{home}/Maildir"\n[log]\nfile = "/var/log/postrider.log"\nsyslog = false\n'
                       '[smtpd]\nreverse_lookup = false\n[dns]\ntimeout = "1s"\n[queue]\nreport_merge_window = "0s"\n'
                       '[spool]\nminimum_free = "1MiB"\nreserve = "256KiB"\n')

    def configure(self, text):
        """Keys are put into the configuration as an administrator does: below the section's heading, in place of the same key."""
        self.write("/etc/postrider/postrider.toml", with_keys(self.read("/etc/postrider/postrider.toml"), text))

    def start_postrider(self):
        self.run("postrider", "check")
        self.run("postrider", "start")

    def restart_postrider(self):
        self.run("postrider stop; postrider start")

    def mailbox(self, user):
        return [file.read_text(errors="replace") for file in sorted(self.path(f"/home/{user}/Maildir").glob("new/*"))]

    def wait_mail(self, user, condition="", seconds=20):
        """A message to the user that contains this text."""
        return wait_until(lambda: next((m for m in self.mailbox(user) if condition in m), None), seconds,
                          lambda: f"mail to {user} with {condition!r}\n{self.said()}")

    def problems(self):
        """What no recipe may cause to ours: crashes, and accesses that the confinement refuses."""
        logs = [log for log in map(self.path, LOGS) if log.exists()]
        return [line for log in logs for line in log.read_text(errors="replace").splitlines()
                if re.search(r"was ended by signal (4|6|7|8|11)\b", line) or DENIED.search(line)]

    def wait_log(self, pattern, seconds=20, file="/var/log/postrider.log"):
        return wait_until(lambda: self.path(file).exists() and re.search(pattern, self.read(file), re.M), seconds,
                          lambda: f"{pattern!r} in {file}\n{self.said()}")

    # -- Postfix, as somebody else's server

    def start_postfix(self, address, hostname, domain, *users, main="", master=""):
        """As the package configures it, but for this; its users have Maildirs too."""
        for user in ("postfix", *users):
            self.run(f"id {user} >/dev/null 2>&1 || useradd --create-home {user}")
        self.write("/etc/postfix/main.cf", f"compatibility_level = 3.6\nmyhostname = {hostname}\nmydestination = {domain}\n"
                   f"inet_interfaces = {address}\ninet_protocols = ipv4\nmynetworks = 127.0.0.0/8\nhome_mailbox = Maildir/\n"
                   f"alias_maps =\nalias_database =\nmaillog_file = /var/log/mail.log\n{main}")
        self.run("getent group postdrop >/dev/null || groupadd --system postdrop\n"
                 "cp /usr/share/postfix/master.cf.dist /etc/postfix/master.cf\n"
                 "mkdir -p /var/spool/postfix /var/lib/postfix; chown postfix /var/lib/postfix")
        self.write("/etc/postfix/master.cf", self.read("/etc/postfix/master.cf") + master)
        self.run("postconf -F '*/*/chroot=n'; postfix start")
        wait_until(lambda: listens(f"{address}:25"), 20, lambda: f"Postfix to be ready\n{self.said()}")


def with_keys(text, more):
    """A configuration in TOML with more keys in it."""
    section = None
    for line in re.sub(r"\[\n\s*(.*?)\s*\n\]", lambda m: "[" + " ".join(m[1].split("\n")) + "]", more, flags=re.S).splitlines():
        if head := re.match(r"\[.*\]", line):
            section = head[0]
            if not re.search(rf"^{re.escape(section)}$", text, re.M):
                text += f"\n{section}\n"
        elif key := re.match(r"(\w+) *=", line):
            before, _, below = text.rpartition(f"\n{section}\n")
            own, rest = re.match(r"((?:(?!\[).*\n)*)((?:.*\n)*)", below).groups()
            own = re.sub(rf"^{key[1]} *=.*\n", "", own, flags=re.M)
            text = f"{before}\n{section}\n{line}\n{own}{rest}"
    return text


def listens(place):
    """Something accepts connections at "PORT", "HOST:PORT" or, in the machine's files, at the path of a socket."""
    unix = isinstance(place, Path)
    host, _, port = str(place).rpartition(":")
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as s:
        try:
            s.connect(str(place) if unix else (host or "127.0.0.1", int(port)))
            return True
        except OSError:
            return False
