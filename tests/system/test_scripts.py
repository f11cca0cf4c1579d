"""The scripts of a clone: on machines that have more installed than a fresh one, and what scripts/bench concludes."""
import importlib.machinery
import importlib.util
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
APT = """#!/bin/sh
# Debian's resolver; what would be downloaded is only noted.
case " $* " in
*" download "*) printf '%s\\n' "$@" | sed '1,/^download$/d' >>"$NOTED"; for package; do :; done; : >"${package}_1_all.deb"; exit 0 ;;
esac
exec /usr/bin/apt-get "$@"
"""
DPKG_DEB = """#!/bin/sh
[ "$1" != -f ] || echo 1
"""


def candidate(package):
    """Its version in the package lists; None without lists."""
    done = subprocess.run(["apt-cache", "show", "--no-all-versions", package], capture_output=True, text=True)
    return next((line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("Version: ")), None)


@pytest.fixture
def unpack(tmp_path):
    """Runs scripts/unpack-package for a machine on which `installed` is installed besides what this one has, and
    `removed` is not; returns the packages it would download."""
    def run(package, removed, installed):
        (tmp_path / "bin").mkdir()
        for name, text in (("apt-get", APT), ("dpkg-deb", DPKG_DEB)):
            (tmp_path / "bin" / name).write_text(text)
            (tmp_path / "bin" / name).chmod(0o755)
        status = Path("/var/lib/dpkg/status").read_text()
        status = "\n\n".join(each for each in status.split("\n\n") if not each.startswith(f"Package: {removed}"))
        status = "\n\n".join([status.strip("\n"), *installed])
        (tmp_path / "status").write_text(status.strip("\n") + "\n\n")
        (tmp_path / "apt.conf").write_text(f'Dir::State::status "{tmp_path}/status";\n')
        noted = tmp_path / "noted"
        done = subprocess.run([ROOT / "scripts/unpack-package", package], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=dict(os.environ, APT_CONFIG=str(tmp_path / "apt.conf"), NOTED=str(noted),
                                       XDG_CACHE_HOME=str(tmp_path / "cache"), PATH=f"{tmp_path}/bin:{os.environ['PATH']}"))
        assert done.returncode == 0, done.stderr
        return set(noted.read_text().split())
    return run


def installed(package, *fields):
    """An entry in dpkg's status file."""
    return "\n".join([f"Package: {package}", "Status: install ok installed", "Maintainer: none <none@example.com>",
                      "Architecture: amd64", *fields, "Description: an entry made for a test"])


@pytest.mark.skipif(not candidate("dovecot-core"), reason="this machine does not offer: package lists")
@pytest.mark.parametrize("present", [False, True])
def test_what_is_unpacked_is_whole_where_a_part_of_it_is_installed(unpack, present):
    """dovecot-lmtpd runs doveconf, which is part of dovecot-core: that is unpacked as well, even where it is installed."""
    entry = installed("dovecot-core", "Source: dovecot", f"Version: {candidate('dovecot-core')}", "Provides: dovecot-abi-2.3.abiv19")
    assert {"dovecot-lmtpd", "dovecot-core"} <= unpack("dovecot-lmtpd", "dovecot-", [entry] if present else [])


@pytest.mark.skipif(not candidate("unbound"), reason="this machine does not offer: package lists")
def test_a_package_is_unpacked_where_others_need_a_part_of_its_source(unpack):
    """Many machines have libunbound8, because GnuTLS depends on it. apt refuses to plan for a machine that lacks it."""
    version = candidate("libunbound8")
    entries = [installed("libunbound8", "Source: unbound", f"Version: {version}", "Multi-Arch: same"),
               installed("needs-libunbound8", "Version: 1", f"Depends: libunbound8 (= {version})")]
    assert {"unbound", "libunbound8"} <= unpack("unbound", "libunbound8\n", entries)


# -- scripts/bench: what it concludes from figures

@pytest.fixture(scope="module")
def bench():
    loader = importlib.machinery.SourceFileLoader("bench", str(ROOT / "scripts/bench"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
    loader.exec_module(module)
    return module


def rates(per_second, cpu):
    return {"a": {"end to end/s": per_second, "CPU ms/message": cpu, "peak memory MB": 1}}


def test_the_table_has_the_goals_beside_the_ratios_and_names_what_falls_short(bench, capsys):
    results = {"Postfix": rates(500, 2.0), "Postrider": rates(3000, 0.4)}
    assert bench.print_table(results, {"Postfix": "3.7", "Postrider": "abc"}, ["a"]) == ["a CPU ms/message: 0.20, asked ≤ 0.1"]
    rate, cpu, memory = capsys.readouterr().out.splitlines()[-3:]
    assert rate.split()[-3:] == ["6.00", "≥", "6"] and cpu.split()[-4:] == ["0.20", "≤", "0.1", "short"]
    assert memory.split()[-1] == "1.00"


def test_one_program_by_itself_is_compared_with_nothing(bench, capsys):
    assert bench.print_table({"Postrider": rates(1, 9)}, {"Postrider": "abc"}, ["a"]) == []
    assert "short" not in capsys.readouterr().out


def test_runs_that_differ_are_a_warning(bench, capsys):
    class Runs(bench.Bench):
        def one_run(self, mta, case, column):
            return {"end to end/s": next(figures)}

    class Mta:
        name = "Postrider"
    options = SimpleNamespace(runs=3, no_syncs=True)
    for values, warned in (([100, 104, 96], False), ([100, 104, 90], True)):
        figures, runs = iter(values), Runs(options)
        assert runs.case([(Mta, 0)], "a") == {"Postrider": {"end to end/s": 100}}
        assert any("the runs differ by" in each for each in runs.disturbed) == warned, runs.disturbed
