"""simulate and import-postfix are programs of their own. `postrider` finds them beside itself and in the build directory
(test_installed.py: where they were installed), hands everything on to them, and says what to do if one is missing."""
import os
import pty
import subprocess

import pytest

from harness.mta import BUILD, gather_programs

WORLD = '[traffic.one]\ndomains = ["a.example"]\nprofile = "burst"\nmessages = 1\n'
USAGE, UNAVAILABLE, SYSTEM_ERROR = 64, 69, 71


@pytest.fixture
def place(folder):
    """A configuration, a scenario, and Postfix's directory, whose name looks like an option."""
    (folder / "postrider.toml").write_text('[mta]\nmulti_user = false\n[spool]\ndirectory = "spool"\n')
    (folder / "world.toml").write_text(WORLD)
    (folder / "-o").mkdir()
    (folder / "-o/main.cf").write_text("compatibility_level = 3.6\nmydestination = here.example\n")
    (folder / "-o/master.cf").write_text("smtp inet n - y - - smtpd\n")
    gather_programs(folder / "bin")
    return folder


def run(place, program, *words, **options):
    environment = {k: v for k, v in os.environ.items() if k != "POSTRIDER_CONFIG"} | options.pop("env", {})
    return subprocess.run([program, *map(str, words)], cwd=place, capture_output=True, text=True, timeout=60,
                          env=environment, **({"stdin": subprocess.DEVNULL} | options))


@pytest.mark.parametrize("where", ["beside", "build"])
def test_they_are_found(place, where):
    postrider = place / "bin/postrider" if where == "beside" else BUILD / "daemons/postrider/postrider"
    done = run(place, postrider, "simulate", "-c", "postrider.toml", "--world", "world.toml", "--until", "1h")
    assert (done.returncode, done.stderr) == (0, "") and "Summary: in 60 min, " in done.stdout
    done = run(place, postrider, "import-postfix", "--", "-o")
    assert done.returncode == 0 and 'domains = ["here.example"]' in done.stdout
    assert done.stderr.startswith("postrider: -o: imported ")


def test_what_is_given_reaches_them(place):
    """The configuration, by option or environment; standard input; --json; an output that is named."""
    postrider, world = place / "bin/postrider", ("--world", "world.toml", "--json", "--until=1h")
    by_option = run(place, postrider, "--config=postrider.toml", "simulate", *world)
    by_environment = run(place, postrider, *world, "simulate", env={"POSTRIDER_CONFIG": str(place / "postrider.toml")})
    assert by_option.returncode == 0 and by_option.stdout == by_environment.stdout and by_option.stdout.startswith("{")
    done = run(place, postrider, "simulate", "-cpostrider.toml", "--from-log", "-", stdin=None, input="no mail log\n")
    assert done.returncode == 65 and done.stderr.startswith("postrider: -: none of its 1 lines reports a delivery")
    done = run(place, postrider, "import-postfix", "-oours.toml", "--", "-o")
    assert (done.returncode, done.stdout) == (0, "") and "here.example" in (place / "ours.toml").read_text()
    assert run(place, postrider, "import-postfix", "-o", "ours.toml", "--", "-o").returncode == 73


def test_progress_is_shown_on_a_terminal(place):
    ours, theirs = pty.openpty()
    done = subprocess.run([place / "bin/postrider", "simulate", "-c", "postrider.toml", "--world", "world.toml"], cwd=place,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert done.returncode == 0 and b" % played" in shown and shown.endswith(b"\r" + b" " * 13 + b"\r")


@pytest.mark.parametrize("program, words", [("simulate", ["--world", "world.toml"]), ("import-postfix", ["--", "-o"])])
def test_one_is_missing(place, program, words):
    missing = place / "bin" / program
    missing.unlink()
    done = run(place, place / "bin/postrider", program, "-c", "postrider.toml", *words)
    assert (done.returncode, done.stdout) == (UNAVAILABLE, "")
    assert done.stderr.startswith("postrider: the program /") and f"/{program} is missing: reinstall Postrider " in done.stderr
    missing.write_text("nonsense")  # there, but nothing that can be run
    missing.chmod(0o755)
    done = run(place, place / "bin/postrider", program, "-c", "postrider.toml", *words)
    assert done.returncode == SYSTEM_ERROR
    assert done.stderr == f"postrider: the program {missing} cannot be run: Exec format error\n"


@pytest.mark.parametrize("program, words", [("simulate", ["--help"]), ("simulate", ["now"]), ("import-postfix", []),
                                            ("import-postfix", ["--bogus", "x"])])
def test_they_are_no_commands_of_their_own(place, program, words):
    done = run(place, place / "bin" / program, *words)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert f'run "postrider {program}" instead' in done.stderr
