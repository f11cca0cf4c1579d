"""`postrider top` in a terminal that nobody here wrote: tmux, which shows what a person would see."""
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.watch import wait_until


class Tmux:
    """One window of its own server, in which a shell runs."""

    def __init__(self, folder, columns=100, lines=30):
        self.place = Path(tempfile.mkdtemp(prefix="postrider-tmux-"))  # a socket's path is short
        self.folder = folder
        (folder / "shell").write_text("PS1='ready> '\n")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), "bash", "--noprofile", "--rcfile", str(folder / "shell"))
        self.wait("^ready>")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.place / "socket", *words], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, pattern, seconds=20):
        return wait_until(lambda: re.search(pattern, self.screen(), re.M), seconds, lambda: f"{pattern!r} on the screen\n{self.screen()}")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def facts(self, name):
        return self.tmux("display-message", "-p", "#{%s}" % name).strip()

    def close(self):
        subprocess.run(["tmux", "-S", self.place / "socket", "kill-server"], capture_output=True)
        shutil.rmtree(self.place)


@pytest.fixture
def terminal(folder):
    one = Tmux(folder)
    yield one
    one.close()


def test_top_in_a_terminal(mta, remote, terminal):
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    mta.command("pause", "all", "--reason", "to look at it")
    top = f"{mta.programs}/postrider top -c {mta.file} --interval 1"
    terminal.keys("echo before", "Enter")
    terminal.wait("^before$")
    ways_out = {"q": ["q"], "Q": ["Q"], "interrupt": ["C-c"], "quit": ["C-\\"]}
    for number, (_, keys) in enumerate(ways_out.items()):
        terminal.keys(top, "Enter")
        terminal.wait(r"every 1 s, q quits")
        terminal.wait(r"^Accepting +yes$")
        terminal.wait(r"^Paused +everything by .*to look at it$")
        assert terminal.facts("alternate_on") == "1" and terminal.facts("cursor_flag") == "0"
        assert "before" not in terminal.screen()
        queue_id = mta.submit("ann@remote.example")
        terminal.wait(rf"^Queue +{number + 1} message")  # it looks again by itself
        terminal.keys("x")  # a key without a meaning ends nothing
        terminal.wait(r"every 1 s, q quits")
        terminal.tmux("resize-window", "-x", "60", "-y", "12")
        wait_until(lambda: terminal.screen().count("\n") == 12 and "q quits" in terminal.screen(), 15, "the page on a smaller screen")
        assert max(map(len, terminal.screen().splitlines())) <= 60
        terminal.tmux("resize-window", "-x", "25", "-y", "12")  # narrower than its first line
        terminal.wait(r"^\d{4}-.*…$")
        terminal.tmux("resize-window", "-x", "100", "-y", "30")
        terminal.wait(r"^ +queue-manager ")
        terminal.keys(*keys)
        wait_until(lambda: terminal.facts("alternate_on") == "0", 15, "the first screen again")
        terminal.wait("^before$")
        assert terminal.facts("cursor_flag") == "1", "the cursor is to be seen"
        wait_until(lambda: terminal.screen().rstrip().endswith("ready>"), 15, "the shell to ask")
        terminal.keys(f"echo typed-{number}", "Enter")  # seen twice: echo is on, and lines are read as lines
        wait_until(lambda: len(re.findall(rf"typed-{number}", terminal.screen())) == 2, 15, "what is typed to be seen")
        assert queue_id
    terminal.keys("stty -a | grep -c -- '-icanon\\|-echo '; echo end", "Enter")
    terminal.wait("^0\nend$")


def test_top_while_nothing_runs_any_more(mta, terminal):
    mta.start()
    terminal.keys(f"{mta.programs}/postrider top -c {mta.file} --interval 1", "Enter")
    terminal.wait(r"^Accepting +yes$")
    mta.stop()
    terminal.wait(r"No such file or directory|not running|Connection refused")  # it stays, and says so
    mta.start()
    terminal.wait(r"^Accepting +yes$")
    terminal.keys("q")
    terminal.wait("^ready>")
