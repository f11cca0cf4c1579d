"""What shells offer behind `postrider`: the scripts that are installed, in a real bash, zsh and fish, against what the command
itself says it knows. One table makes all three; each has to offer the same."""
import re
import shlex
import subprocess

import pytest

from harness.mta import BUILD
from harness.shells import SCRIPT, offers, start
from test_top import Tmux

unpacked = pytest.mark.needs("root", "mounts")
every_shell = pytest.mark.parametrize("shell", ["bash", pytest.param("zsh", marks=unpacked), pytest.param("fish", marks=unpacked)])
ALWAYS = {"-c", "--config", "--json", "-h", "--help", "--version"}


def postrider(*words):
    program = BUILD / "daemons/postrider/postrider"
    return subprocess.run([program, *words], capture_output=True, text=True)


@pytest.fixture(scope="module")
def verbs():
    """Every verb with its options, as the help has them."""
    found = {}
    for line in postrider("--help").stdout.splitlines():
        # A verb is lower case; what follows it, if anything, is not.
        if match := re.match(r"  ([a-z][a-z-]*(?: [a-z-]+(?![|a-z-]))?)", line):
            words = line[:52].split()
            if len(words) > 1 and not re.fullmatch("[a-z-]+", words[1]):
                words = words[:1]
            group = postrider("help", *words[:2])
            name = " ".join(words[:2]) if group.returncode == 0 and f"usage: postrider {' '.join(words[:2])}" in group.stdout else words[0]
            found[name] = re.findall(r"^  (--?[a-z0-9-]+)", postrider("help", *name.split()).stdout, re.M)
    assert len(found) > 30, found
    return found


@every_shell
def test_every_verb_and_every_option_is_offered(shell, verbs):
    groups = sorted({name.split()[0] for name in verbs if " " in name})
    first, help, *answers = offers(shell, [[""], ["help", ""], *([group, ""] for group in groups), *([*name.split(), "-"] for name in verbs)])
    assert set(first) == {name.split()[0] for name in verbs} and set(help) == set(first)
    for group, answer in zip(groups, answers):
        offered, second = set(answer), {name.split()[1] for name in verbs if name.startswith(group + " ")}
        assert offered == second or (group == "history" and offered > second), group  # it has words of its own, too
    for (name, options), answer in zip(verbs.items(), answers[len(groups):]):
        assert set(answer) == {*options, *ALWAYS}, name


PLACES = [
    (["sta"], {"start", "status"}),
    (["message", "re"], {"release", "remove", "requeue", "reroute", "resend", "restore", "retry"}),
    (["--json", "message", "sh"], {"show"}),
    (["message", "hold", "--reason", "a reason", "--dr"], {"--dry-run"}),
    (["message", "hold", "se"], {"sender="}),
    (["message", "hold", "su"], {"submitter=", "subject="}),
    (["message", "list", "--sort", "n"], {"newest", "next"}),
    (["message", "hold", "sender=", "all", "st"], {"state="}),  # more of the same may follow
    (["message", "priority", ""], {"high", "normal", "bulk"}),
    (["message", "priority", "bulk", "rea"], {"reason="}),
    (["pause", ""], {"queue", "link", "pool", "all"}),
    (["message", "cat", "one", ""], set()),  # nothing follows
    (["status", ""], set()),
    (["nonsense", ""], set()),
    (["message", "hold", "--reason", ""], set()),  # a text is the writer's own
]


@every_shell
def test_places(shell):
    answers = offers(shell, [words for words, _ in PLACES])
    assert [(words, set(answer)) for (words, _), answer in zip(PLACES, answers)] == PLACES


@every_shell
def test_files_where_files_belong(shell, tmp_path):
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    joined = ["--config", "=", "t"] if shell == "bash" else ["--config=t"]  # bash splits it
    answers = offers(shell, [["check", "-c", ""], ["check", *joined], ["spool", "import", "o"], ["activate", "--root", ""]], cwd=tmp_path)
    assert [{name.rstrip("/").removeprefix("--config=") for name in answer} for answer in answers] == [
        {"one.toml", "two.toml", "folder"}, {"two.toml"}, {"one.toml"}, {"folder"}]


@every_shell
def test_what_only_the_running_system_knows(shell, relaying):
    mta, _ = relaying
    mta.command("pause", "all")
    one = mta.submit("ann@remote.example")
    file = ["-c", str(mta.file)]
    shown, domain, paused, link, paused_link, held = offers(shell, [
        [*file, "message", "show", ""], [*file, "queue", "show", "rem"], [*file, "pause", "queue", ""],
        [*file, "link", "show", ""], [*file, "pause", "link", ""], [*file, "message", "hold", ""]], path=f"{mta.programs}:/usr/bin:/bin")
    assert shown == [one] and domain == paused == ["remote.example"]
    assert len(link) == 1 and link == paused_link
    assert one in held


@unpacked
def test_zsh_shows_descriptions_at_its_prompt(tmp_path):
    """What it has of the completion system is real here: the file is found by its name, and loaded when it is needed."""
    (tmp_path / ".zshrc").write_text(f"PS1='zsh> '\nfpath=({SCRIPT['zsh'].parent} $fpath)\nautoload -Uz compinit && compinit -u -D\n")
    terminal = Tmux(tmp_path, columns=120)
    try:
        terminal.keys(shlex.join(map(str, ["env", f"ZDOTDIR={tmp_path}", *start("zsh"), "-i"])), "Enter")
        terminal.wait("^zsh>")
        terminal.keys("postrider message re", "Tab")
        terminal.wait("^restore +-- restore messages that were removed recently")
        terminal.keys("lea", "Tab", "--dr", "Tab")
        terminal.wait("^zsh> postrider message release --dry-run")
    finally:
        terminal.close()
