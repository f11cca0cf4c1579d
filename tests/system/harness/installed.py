"""The build, installed below a directory of the test's own, and programs run as if that were this machine's."""
import json
import os
import subprocess
from pathlib import Path

from .mta import BUILD


class Installed:
    def __init__(self, place):
        options = {each["name"]: each["value"]
                   for each in json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())}
        self.prefix = options["prefix"]
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
        """A program of sbindir, with what was installed laid over the machine's prefix; the finished process."""
        layers = f"{self.place}{self.prefix}:{self.prefix}"
        script = f'mount -t overlay overlay -o lowerdir={layers} {self.prefix}; exec "$@"'
        return subprocess.run(["unshare", "--mount", "sh", "-ec", script, "sh", f"{self.sbindir}/{command}", *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
