"""The build, installed below a directory of the test's own, and programs run as if that were this machine's."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

from .mta import BUILD


class Installed:
    def __init__(self, place):
        options = {each["name"]: each["value"]
                   for each in json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())}
        self.prefix = options["prefix"]
        assert self.prefix.startswith("/usr"), "shell() lays /usr over the machine's"
        self.place = Path(place)
        self.sbindir = os.path.join(self.prefix, options["sbindir"])
        self.libexecdir = os.path.join(self.prefix, options["libexecdir"], "postrider")
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.place],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def sbin(self):
        """Where the directory of the command postrider really lies."""
        return self.place / self.sbindir.lstrip("/")

    def run(self, command, *arguments):
        """A program of sbindir, with what was installed laid over the machine's own; the finished process."""
        return self.shell('exec "$@"', f"{self.sbindir}/{command}", *arguments)

    def shell(self, script, *arguments):
        """A script, which may change /usr and /var/lib as it likes: nobody else sees it."""
        with tempfile.TemporaryDirectory(dir=self.place, prefix="changed-") as changed:
            mounts = ""
            for top, below in (("/usr", f"{self.place}/usr:"), ("/var/lib", "")):
                upper, work = f"{changed}{top}", f"{changed}/work{top}"
                os.makedirs(upper), os.makedirs(work)
                mounts += f"mount -t overlay overlay -o lowerdir={below}{top},upperdir={upper},workdir={work} {top}\n"
            return subprocess.run(["unshare", "--mount", "sh", "-ec", mounts + script, "sh", *map(str, arguments)],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
