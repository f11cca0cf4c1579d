"""Programs that others wrote, out of Debian packages that are unpacked and not installed: where scripts/unpack-package
put them, what they need to run from there, and one of them running beside a test."""
import os
import signal
import subprocess
from pathlib import Path

from .watch import wait_until

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "postrider" / "packages"


def tree(package):
    """Where the package lies, as / would look if it were installed."""
    place = CACHE / package
    assert place.exists(), f"{package} is not there: scripts/install-dependencies test unpacks it"
    return place.resolve()


def environment(place):
    """In which its programs find their libraries."""
    folders = sorted({str(p.parent) for p in place.rglob("*.so*")})
    return dict(os.environ, LD_LIBRARY_PATH=":".join(folders))


def run_as_if_installed(packages, command, places=None, **options):
    """The command where the packages' /usr, /etc and /var/lib lie over the machine's own, for programs that know where
    they are. `places`: {path: the directory that is mounted there}. Needs root and mounts; the finished process."""
    trees = [tree(package) for package in packages]
    script = ""
    for top in ("/usr", "/etc", "/var/lib"):
        layers = [f"{each}{top}" for each in trees if Path(f"{each}{top}").is_dir()]
        if layers:
            script += f"mount -t overlay overlay -o lowerdir={':'.join([*layers, top])} {top}\n"
    for path, place in (places or {}).items():
        script += f"mount --bind {place} {path}\n"
    return subprocess.run(["unshare", "--mount", "sh", "-ec", script + 'exec "$@"', "sh", *map(str, command)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **options)


class Service:
    """A program that runs until stopped, its output in a file. Ready once ready() is true."""

    def __init__(self, command, folder, ready, environment=None):
        self.output = Path(folder) / f"{Path(command[0]).name}.out"
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            wait_until(lambda: self.alive() and ready(), 30, lambda: f"{command[0]} to be ready\n{self.said()}")
        except BaseException:
            self.stop()
            raise

    def alive(self):
        assert self.process.poll() is None, f"it ended with {self.process.returncode}\n{self.said()}"
        return True

    def said(self):
        return self.output.read_text(errors="replace")[-4000:]

    def stop(self):
        """It and what it started, at once: none of them has anything to lose."""
        for pid in self.of_our_session():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def of_our_session(self):
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.getsid(int(entry)) == self.process.pid:
                    yield int(entry)
            except ProcessLookupError:
                pass
