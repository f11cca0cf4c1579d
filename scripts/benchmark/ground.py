"""The ground both MTAs stand on: namespaces of their own, a fresh journalled ext4 in a loop-mounted image, Debian's
Postfix laid over /usr and /etc without being installed, and somebody who listens to /dev/log."""
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

IMAGE_BYTES = 3 << 30


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def fetch_postfix():
    """Debian's package, unpacked and not installed: where it lies, and its version."""
    tree = Path(run(Path(__file__).resolve().parent.parent / "unpack-package", "postfix").split()[-1]).resolve()
    return tree, tree.name.removeprefix("postfix-")


def make_certificate(folder):
    """What both MTAs show: ECDSA on P-256, as certificate authorities issue them today. Certificate and key."""
    certificate, key = folder / "bench.pem", folder / "bench.key"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
        "-subj", "/CN=bench.example", "-keyout", key, "-out", certificate)
    return certificate, key


def enter_namespaces(marker):
    """Starts the script again in mount, network and process namespaces of its own: its ports, mounts and processes
    are nobody else's, and all of them end with it."""
    if os.environ.get(marker):
        reap_for_others()
        return
    os.environ[marker] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                          "--propagation", "private", "/usr/bin/python3", *sys.argv])


def reap_for_others():
    """The first process of a namespace inherits those whose parents have ended. It does nothing but wait for them; the
    script goes on as its child."""
    child = os.fork()
    if not child:
        return
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def loopback_up():
    import fcntl
    import struct
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        IFF_UP, SIOCSIFFLAGS = 1, 0x8914
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))


class Disk:
    """One image file, formatted anew for every run. Written out once, so that no run pays for its allocation."""

    def __init__(self, folder):
        self.image = folder / "disk.img"
        self.mountpoint = Path("/var/spool/bench")  # in our overlay: a place that every user can reach
        if not self.image.exists() or self.image.stat().st_size != IMAGE_BYTES:
            if shutil.disk_usage(folder).free < IMAGE_BYTES + (1 << 30):
                sys.exit(f"{folder}: not enough space for the {IMAGE_BYTES >> 30} GiB image")
            run("dd", "if=/dev/zero", f"of={self.image}", "bs=1M", f"count={IMAGE_BYTES >> 20}", "conv=fsync")
        self.device = run("losetup", "--find", "--show", self.image).strip()
        self.mounted = False

    def fresh(self):
        self.unmount()
        # Everything is initialised now, so that no kernel thread writes inode tables during a run.
        run("mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", self.device)
        self.mountpoint.mkdir(exist_ok=True)
        run("mount", "-t", "ext4", self.device, self.mountpoint)
        self.mounted = True
        os.sync()
        return self.mountpoint

    def used(self):
        about = os.statvfs(self.mountpoint)
        return (about.f_blocks - about.f_bfree) * about.f_frsize, about.f_files - about.f_ffree

    def unmount(self):
        if not self.mounted:
            return
        for _ in range(100):
            if subprocess.run(["umount", str(self.mountpoint)], capture_output=True).returncode == 0:
                self.mounted = False
                return
            time.sleep(0.1)
        print(f"{self.mountpoint} stays busy", file=sys.stderr)

    def close(self):
        self.unmount()
        subprocess.run(["losetup", "-d", self.device], capture_output=True)


class Folder:
    """What an ordinary user has instead of a Disk: a directory, emptied for every run."""

    def __init__(self, folder):
        self.place = folder / "ground"

    def fresh(self):
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        os.sync()
        return self.place

    def used(self):
        blocks = files = 0
        for here, folders, names in os.walk(self.place):
            files += len(folders) + len(names)
            blocks += sum(os.lstat(os.path.join(here, n)).st_blocks for n in folders + names)
        return blocks * 512, files

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)


def lay_out(folder, postfix_tree):
    """Overlays in our mount namespace: Postfix appears installed, its users exist, and nothing reaches the real
    /etc, /usr or /var."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", scratch)
    for name in ("etc", "usr", "var"):
        upper, work = scratch / name / "upper", scratch / name / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        lower = f"/{name}"
        if (postfix_tree / name).is_dir():
            lower = f"{postfix_tree / name}:{lower}"
        run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", f"/{name}")
    with open("/etc/passwd", "a") as passwd, open("/etc/group", "a") as group:
        passwd.write("postfix:x:64990:64990::/var/spool/postfix:/usr/sbin/nologin\n"
                     "postrider:x:64992:64992::/var/spool/postrider:/usr/sbin/nologin\n")
        group.write("postfix:x:64990:\npostdrop:x:64991:\npostrider:x:64992:\npostrider-drop:x:64993:\n"
                    "postrider-adm:x:64994:\n")
    Path("/etc/hosts").write_text("127.0.0.1 localhost bench.example bench\n::1 localhost\n")
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    Path("/etc/mailname").write_text("bench.example\n")


def private_dev():
    """/dev with the few nodes a daemon needs; `log` in it is ours alone."""
    host = Path("/dev")
    keep = {name: os.stat(host / name) for name in ("null", "zero", "full", "random", "urandom", "tty")}
    loops = {p.name: os.stat(p) for p in host.glob("loop[0-9]*")}
    run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/dev")
    for name, about in {**keep, **loops}.items():
        os.mknod(host / name, about.st_mode, about.st_rdev)
        os.chmod(host / name, about.st_mode & 0o777)
    os.symlink("/proc/self/fd", "/dev/fd")
    os.mkdir("/dev/shm", 0o1777)


class Recorder:
    """What syslogd would be: reads every datagram and appends it to a file. Its CPU is not the MTA's."""

    def __init__(self, paths, file):
        self.child = os.fork()
        if self.child:
            return
        sockets = []
        for path in paths:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            s.bind(str(path))
            os.chmod(path, 0o666)
            sockets.append(s)
        import select
        poller = select.poll()
        by_number = {s.fileno(): s for s in sockets}
        for s in sockets:
            poller.register(s, select.POLLIN)
            s.setblocking(False)
        with open(file, "ab", 1 << 16) as out:
            while True:
                for number, _ in poller.poll(200) or [(None, None)]:
                    if number is None:
                        out.flush()
                        continue
                    receive = by_number[number].recv
                    try:
                        for _ in range(64):
                            out.write(receive(4096) + b"\n")
                    except BlockingIOError:
                        pass

    def stop(self):
        os.kill(self.child, 9)
        os.waitpid(self.child, 0)
