"""Fixtures: an MTA of the test's own (configured, not started), remote servers and name servers around it.

What a test needs of the machine beyond Python (root, strace, loop mounts) it says by a mark; where the machine lacks
it the test is skipped, and tests/SKIPS names the reason.
"""
import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from harness.hooks import NODE_MODULES  # noqa: E402
from harness.installed import Installed  # noqa: E402
from harness.machine import Machine  # noqa: E402
from harness.mail_host import SYSTEMS, MailHost  # noqa: E402
from harness.mta import BUILD, Mta  # noqa: E402
from harness.names import Names  # noqa: E402
from harness.network import Network, enter_own_network, inside_own_network  # noqa: E402
from harness.own_mounts import enter_own_mounts  # noqa: E402
from harness.ports import Block  # noqa: E402
from harness.sink import Sink  # noqa: E402


def pytest_configure(config):
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        enter_own_network()
        enter_own_mounts()
    config.addinivalue_line("markers", "smoke: the short set that CI repeats under the sanitizers")
    config.addinivalue_line("markers", "needs(*what): root, strace, mounts …")


def pytest_unconfigure():
    """Masters that were killed have left what they published (common/settings_in_force.h)."""
    for left in Path("/run/postrider").glob(f"*%2Fsystem-tests%2F{os.getpid()}-*"):
        left.unlink()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    setattr(item, f"report_{report.when}", report)
    mta = item.funcargs.get("mta") if hasattr(item, "funcargs") else None
    if report.when == "call" and report.failed and mta:
        report.sections.append(("what the MTA said", mta.last_words()))


def can_trace():
    if not shutil.which("strace"):
        return False
    done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"],
                          stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode == 0


def can_mount():
    if os.geteuid() != 0:
        return False
    done = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], stdin=subprocess.DEVNULL,
                          capture_output=True)
    return done.returncode == 0


def can_loop():
    return can_mount() and subprocess.run(["losetup", "--find"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def can_confine():
    """The kernel has Landlock (landlock_create_ruleset(2) tells its version) and seccomp."""
    return ctypes.CDLL(None).syscall(444, None, 0, 1) >= 2 and "Seccomp:" in Path("/proc/self/status").read_text()


def has_standardwebhooks():
    return bool(shutil.which("node")) and (NODE_MODULES / "standardwebhooks").exists()


def has_browser():
    return bool(shutil.which("node") and shutil.which("chromium")) and (NODE_MODULES / "playwright-core").exists()


NEEDS = {"browser": has_browser, "standardwebhooks": has_standardwebhooks, "root": lambda: os.geteuid() == 0, "strace": can_trace, "mounts": can_mount, "loop": can_loop, "confinement": can_confine,
         "own network": inside_own_network}
_had = {}


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for what in mark.args:
            if what not in _had:
                _had[what] = NEEDS[what]()
            if not _had[what]:
                pytest.skip(f"this machine does not offer: {what}")


@pytest.fixture
def block():
    return Block()


@pytest.fixture
def folder(request):
    """A directory for this test on the build's disk; kept when the test fails. Its name is longer than a socket's may be
    (108 bytes), so that what fails in somebody's deep checkout fails in every one."""
    name = f"{os.getpid()}-{request.node.name[:60].replace('/', '-').replace('[', '-').strip(']')}"
    place = BUILD / "system-tests" / name.ljust(max(0, 115 - len(f"{BUILD}/system-tests/")), "_")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    yield place
    report = getattr(request.node, "report_call", None)
    ended = getattr(request.node, "report_teardown", None)
    if report is not None and not report.failed and not (ended and ended.failed):
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def remote(block):
    """Makes remote mail servers: remote() → Sink."""
    made = []

    def make(port=None, address=None, **options):
        made.append(Sink(address or block.host(10 + len(made)), port or block.port(), **options))
        return made[-1]
    yield make
    for sink in made:
        sink.stop()


@pytest.fixture
def names(block):
    server = Names(block.host(53), block.port())
    yield server
    server.stop()


@pytest.fixture
def network():
    """Addresses in the network namespace of this test process (harness/network.py)."""
    if not inside_own_network():
        pytest.skip("this machine does not offer: own network")
    one = Network()
    yield one
    one.close()


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The build, installed: for machines that have it."""
    place = tmp_path_factory.mktemp("installed")
    yield Installed(place)
    shutil.rmtree(place)


@pytest.fixture(params=SYSTEMS)
def mail_host(request, folder, network, installed):
    """mail_host(SETUP, HOSTNAME, PACKAGE …): one of tests/system/setups, not started yet; under Postfix, then under Postrider."""
    made = []

    def make(*what, **options):
        made.append(MailHost(folder / "host", request.param, *what, installed=installed, **options))
        return made[-1]
    yield make
    problems = [line for each in made for line in each.problems()]
    for each in made:
        each.stop()
    assert not problems, "a daemon crashed, or was refused by its confinement:\n" + "\n".join(problems)


@pytest.fixture
def other_machine(folder, network):
    """other_machine(HOSTNAME, PACKAGE …): somebody else's."""
    made = []

    def make(hostname, *packages):
        made.append(Machine(folder / f"other{len(made)}", hostname, *packages))
        return made[-1]
    yield make
    for each in made:
        each.stop()


@pytest.fixture
def dns(network):
    """What every machine of the test asks, on port 53."""
    server = Names("127.0.0.1", 53)
    yield server
    server.stop()


@pytest.fixture
def mta(folder, block):
    """A Postrider that is configured but not started; mta.start() starts it. Ends with the test, whatever happened."""
    one = Mta(folder, block)
    yield one
    one.kill_everything()
    crashes = one.crashes()
    assert not crashes, "a daemon crashed:\n" + "\n".join(crashes)
    assert not one.denied(), "refused by the confinement:\n" + "\n".join(one.denied())


@pytest.fixture
def relaying(mta, remote):
    """(mta, sink): everything for remote.example goes to the sink; the MTA runs."""
    sink = remote()
    mta.route("remote.example", sink)
    mta.start()
    return mta, sink


@pytest.fixture(scope="module")
def of_the_module():
    """(mta, sink) for all tests of a module: remote.example leads to the sink; configured, not started."""
    block = Block()
    place = BUILD / "system-tests" / f"{os.getpid()}-shared-{block.base}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    sink = Sink(block.host(10), block.port())
    one = Mta(place, block)
    one.route("remote.example", sink)
    yield one, sink
    one.kill_everything()
    sink.stop()
    crashes = one.crashes()
    assert not crashes, "a daemon crashed:\n" + "\n".join(crashes)
    assert not one.denied(), "refused by the confinement:\n" + "\n".join(one.denied())
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def one_for_all(of_the_module):
    """One MTA and one sink for all tests of a module that leave nothing behind."""
    of_the_module[0].start()
    return of_the_module


@pytest.fixture
def shared(one_for_all, request):
    """(mta, sink) that other tests use too: running, empty, its log begun anew."""
    mta, sink = one_for_all
    mta.forget_the_log()
    sink.well_behaved()
    with sink.lock:
        sink.messages.clear()
        sink.commands.clear()
    yield mta, sink
    report = getattr(request.node, "report_call", None)
    if report is not None and report.failed:
        print(mta.last_words())
