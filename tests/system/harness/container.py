"""Postrider as process 1 of a container, without a container runtime: a user without privileges or capabilities, a root
file system that is read-only, a volume for the spool, standard output for the log.

The root is that of the image (POSTRIDER_IMAGE_ROOT, scripts/image --try), or this machine's, with the built programs below
/mnt. Network and users' numbers are the machine's.
"""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from .filters import short_folder
from .mta import gather_programs
from .watch import wait_until

SOURCE = Path(__file__).resolve().parents[3]
USER = 10025  # of conf/container/Containerfile
IMAGE = os.environ.get("POSTRIDER_IMAGE_ROOT")

# $1: the root, $2: the spool in it, $3: what is mounted there, $4: the configuration, $5: programs, …: the command
ENTER = r"""
root=$1 spool=$2 volume=$3 configuration=$4 programs=$5
shift 5
mount --make-rprivate /
if [ "$root" = / ]; then
    awk '$2 ~ "^/mnt/" { print $2 }' /proc/self/mounts | sort -r | xargs -r -n 1 umount -l
    mount -t tmpfs -o mode=0755 tmpfs /mnt
    mkdir /mnt/bin /mnt/spool
    mount --bind "$programs" /mnt/bin
    cp "$configuration" /mnt/postrider.toml
else
    mount --bind "$root" "$root"
    mount --rbind /dev "$root/dev"
    mount --bind "$configuration" "$root/etc/postrider/postrider.toml"
fi
mount -t proc proc "${root%/}/proc"
case $volume in
tmpfs) mount -t tmpfs -o mode=0755,uid=10025 tmpfs "${root%/}$spool" ;;
overlay:*)
    layers=${volume#overlay:}
    mount -t tmpfs tmpfs "$layers"
    mkdir "$layers/lower" "$layers/upper" "$layers/work"
    mount -t overlay -o "lowerdir=$layers/lower,upperdir=$layers/upper,workdir=$layers/work" overlay "${root%/}$spool"
    ;;
*) mount --bind "$volume" "${root%/}$spool" ;;
esac
awk -v root="${root%/}" 'index($2, root "/") == 1 || $2 == root || root == "" { print $2 }' /proc/self/mounts |
    sed 's/\\040/ /g' | while read -r point; do
        case ${point#"${root%/}"} in
        /proc* | /sys* | /dev* | "$spool") ;;
        *) mount -o remount,bind,ro "$point" || ! mountpoint -q "$point" ;; # another test's, and gone
        esac
    done
exec chroot "$root" setpriv --reuid=10025 --regid=10025 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs -- "$@"
"""
WITHOUT_PRIVILEGES = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", "--"]


class Container:
    def __init__(self, block, sink):
        self.address, self.port, self.metrics_port = block.host(1), block.port(), block.port()
        self.place = short_folder()
        self.place.chmod(0o755)
        self.volume, self.output = self.place / "volume", self.place / "output"
        self.volume.mkdir()
        os.chown(self.volume, USER, USER)
        self.root, self.spool, self.program, self.file = (
            (IMAGE, "/var/spool/postrider", "/usr/sbin/postrider", "/etc/postrider/postrider.toml") if IMAGE
            else ("/", "/mnt/spool", "/mnt/bin/postrider", "/mnt/postrider.toml"))
        self.programs = self.place / "programs"
        gather_programs(self.programs)
        shipped = (SOURCE / "conf/container/postrider.toml").read_text()
        for was, now in [('"*:2525"', f'"{self.address}:{self.port}"'), ("0.0.0.0:9525", f"{self.address}:{self.metrics_port}"),
                         ('"/var/spool/postrider"', f'"{self.spool}"'),
                         ("[mta]\n", '[mta]\nhostname = "container.test.example"\n')]:
            assert was in shipped
            shipped = shipped.replace(was, now)
        self.configuration = self.place / "postrider.toml"
        self.configuration.write_text(shipped + f'\n[route."*"]\nnext_hop = "[{sink.address}]:{sink.port}"\n')
        self.process = self.master = None

    def start(self, *words, volume=None):
        """As the image's ENTRYPOINT and CMD have it, unless other words are given."""
        words = words or ("run", "--persistent-spool")
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh", self.root, self.spool,
                 str(volume or self.volume), self.configuration, self.programs, self.program, *words, "-c", self.file],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        return self

    def start_and_wait(self, **how):
        self.start(**how)
        wait_until(lambda: self.alive() and self.http("/readyz")[0] == 200, 30,
                   lambda: f"the container to be ready: {self.http('/readyz')}\n{self.said()}")
        self.master = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())
        return self

    def alive(self):
        assert self.process.poll() is None, f"it ended with {self.process.returncode}\n{self.said()}"
        return True

    def said(self):
        return self.output.read_text(errors="replace")

    def lines(self):
        """The log: every line of it has to be JSON. One that is being written is left for the next time."""
        return [json.loads(line) for line in self.said().split("\n")[:-1]]

    def http(self, path):
        done = subprocess.run(["curl", "--silent", "--max-time", "5", "--write-out", "\n%{http_code}",
                               f"http://{self.address}:{self.metrics_port}{path}"], capture_output=True, text=True)
        text, _, status = done.stdout.rpartition("\n")
        return int(status or 0), text

    def run(self, *command):
        """In the running container, as its user."""
        return subprocess.run(["nsenter", f"--target={self.master}", "--mount", "--pid", "--root", "--wd=/",
                               *WITHOUT_PRIVILEGES, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)

    def facts(self, pid):
        """{"Uid": …, "CapEff": …} of a process, as the machine sees it."""
        return dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.M))

    def processes(self):
        """The machine's numbers of all processes of the container."""
        here = os.readlink(f"/proc/{self.master}/ns/pid")
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(place / "ns/pid") == here:
                    found.append(int(place.name))
            except OSError:  # it has ended
                pass
        return found

    def terminate(self):
        os.kill(self.master, signal.SIGTERM)

    def wait(self, seconds=30):
        return self.process.wait(seconds)

    def close(self):
        if self.process and self.process.poll() is None:
            # Process 1 of the container, with which all others end: who changes its user is no longer killed with unshare.
            for first in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
                os.kill(int(first), signal.SIGKILL)
            self.process.kill()
            self.process.wait(10)
        wait_until(self.removed, 20, "the container's processes to be gone")

    def removed(self):
        """Not while one of its processes that is being killed still writes there."""
        shutil.rmtree(self.place, ignore_errors=True)
        return not Path(self.place).exists()
