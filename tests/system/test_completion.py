"""What bash offers behind `postrider`: the script that is installed, in a real bash, against what the command itself
says it knows."""
import re
import shutil
import subprocess

import pytest

from harness.mta import BUILD

SCRIPT = BUILD / "conf" / "postrider"
ASK = r"""
source "$1"; shift
compopt() { :; }
words=("$@")
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
_postrider
printf '%s\n' "${COMPREPLY[@]}"
"""


def offers(*words, path="/usr/bin:/bin", cwd=None):
    """Behind `postrider WORDS`, the last one being what is typed so far."""
    done = subprocess.run([shutil.which("bash"), "--norc", "-c", ASK, "bash", SCRIPT, "postrider", *map(str, words)],
                          capture_output=True, text=True, env={"PATH": path, "HOME": "/"}, cwd=cwd)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [line for line in done.stdout.splitlines() if line]


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


def test_every_verb_and_every_option_is_offered(verbs):
    first = set(offers(""))
    assert first == {name.split()[0] for name in verbs}
    for group in {name.split()[0] for name in verbs if " " in name}:
        assert set(offers(group, "")) == {name.split()[1] for name in verbs if name.startswith(group + " ")}
    for name, options in verbs.items():
        offered = set(offers(*name.split(), "-"))
        assert offered == {*options, "-c", "--config", "--json", "-h", "--help", "--version"}, name
    assert set(offers("help", "")) == first


@pytest.mark.parametrize("words, wanted", [
    (["sta"], {"start", "status"}),
    (["message", "re"], {"release", "remove", "requeue", "reroute", "restore", "retry"}),
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
    (["message", "hold", "--reason", "", ], set()),  # a text is the writer's own
])
def test_places(words, wanted):
    assert set(offers(*words)) == wanted


def test_files_where_files_belong(tmp_path):
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert set(offers("check", "-c", "", cwd=tmp_path)) == {"one.toml", "two.toml", "folder"}
    assert set(offers("check", "--config", "=", "t", cwd=tmp_path)) == {"two.toml"}  # as bash splits --config=t
    assert set(offers("spool", "import", "o", cwd=tmp_path)) == {"one.toml"}
    assert set(offers("activate", "--root", "", cwd=tmp_path)) == {"folder"}


def test_what_only_the_running_system_knows(relaying):
    mta, _ = relaying
    mta.command("pause", "all")
    one = mta.submit("ann@remote.example")
    path = f"{mta.programs}:/usr/bin:/bin"
    file = ["-c", mta.file]
    assert offers(*file, "message", "show", "", path=path) == [one]
    assert offers(*file, "queue", "show", "rem", path=path) == ["remote.example"]
    assert offers(*file, "pause", "queue", "", path=path) == ["remote.example"]
    link = offers(*file, "link", "show", "", path=path)
    assert len(link) == 1 and link == offers(*file, "pause", "link", "", path=path)
    assert one in offers(*file, "message", "hold", "", path=path)
