"""The scripts for whoever has a clone, where they have been wrong: on machines that have more installed than a fresh one."""
import os
import subprocess
from pathlib import Path

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


@pytest.mark.skipif(not candidate("dovecot-core"), reason="this machine does not offer: package lists")
@pytest.mark.parametrize("installed", [False, True])
def test_what_is_unpacked_is_whole_where_a_part_of_it_is_installed(tmp_path, installed):
    """dovecot-lmtpd runs by doveconf, which dovecot-core has: it is unpacked too, were it installed a hundred times."""
    (tmp_path / "bin").mkdir()
    for name, text in (("apt-get", APT), ("dpkg-deb", DPKG_DEB)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    status = Path("/var/lib/dpkg/status").read_text()
    status = "\n\n".join(each for each in status.split("\n\n") if not each.startswith("Package: dovecot-"))
    if installed:
        status += ("\n\nPackage: dovecot-core\nStatus: install ok installed\nMaintainer: none <none@example.com>\nArchitecture: amd64\n"
                   f"Source: dovecot\nVersion: {candidate('dovecot-core')}\nProvides: dovecot-abi-2.3.abiv19\nDescription: stands for it\n")
    (tmp_path / "status").write_text(status.strip("\n") + "\n\n")
    (tmp_path / "apt.conf").write_text(f'Dir::State::status "{tmp_path}/status";\n')
    noted = tmp_path / "noted"
    done = subprocess.run([ROOT / "scripts/unpack-package", "dovecot-lmtpd"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, APT_CONFIG=str(tmp_path / "apt.conf"), NOTED=str(noted), XDG_CACHE_HOME=str(tmp_path / "cache"),
                                   PATH=f"{tmp_path}/bin:{os.environ['PATH']}"))
    assert done.returncode == 0, done.stderr
    assert {"dovecot-lmtpd", "dovecot-core"} <= set(noted.read_text().split()), noted.read_text()
