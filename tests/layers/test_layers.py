"""The storeys of the tree: what each may include, and words that have no place in it.

libsmtp knows only the standard library and fmt; libspool adds POSIX, isa-l and libsmtp; daemons/decide is pure;
daemons meet only in daemons/common. Test programs may include what they test, and doctest.
"""
import re
import subprocess
from pathlib import Path

import pytest

from house_figures import House
from rooms import ROOMS

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.M)

STANDARD = set("""algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
    climits clocale cmath compare concepts condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
    cstring ctime cuchar cwchar cwctype deque exception execution expected filesystem forward_list fstream functional
    future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view
    strstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version""".split())

# Standard headers that are no business of a pure storey: they reach for files, threads, clocks, chance or the terminal.
IMPURE = set("""barrier condition_variable csetjmp csignal cstdio execution filesystem fstream future iomanip iostream latch
    mutex random semaphore shared_mutex stop_token thread atomic ctime""".split())
PURE = STANDARD - IMPURE

# What the code of a pure storey may not call, whatever it includes.
IMPURE_CALLS = re.compile(r"\b(system_clock::now|steady_clock::now|getenv|::open|::read|::write|::socket|std::rand|random_device|"
                          r"gettimeofday|clock_gettime|uv_\w+|printf|std::cout|std::cerr)\b")


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path


def includes(path):
    return [found.group(1) for found in INCLUDE.finditer(path.read_text())]


def own(include):
    return include[1:-1] if include.startswith('"') else None


def is_fmt(name):
    return name.startswith("fmt/")


def is_posix(name):
    """A C header of the system: <unistd.h>, <sys/stat.h> …"""
    return name.endswith(".h") and re.match(r"(sys/|linux/|arpa/|net/|netinet/)?[a-z0-9_]+\.h$", name) is not None


def complaints(folder, may_own, may_system):
    found = []
    for path in sources(folder):
        for include in includes(path):
            name, where = include[1:-1], path.relative_to(ROOT)
            if own(include):
                if not any(name.startswith(prefix) for prefix in may_own):
                    found.append(f"{where} includes {include}")
            elif not may_system(name):
                found.append(f"{where} includes {include}")
    return found


def test_includes_are_written_from_the_root():
    found = []
    for path in sources("libsmtp", "libspool", "daemons", "tests"):
        for include in includes(path):
            if own(include) and (".." in include or not (ROOT / own(include)).is_file()):
                found.append(f"{path.relative_to(ROOT)}: {include}")
    assert not found


def test_libsmtp_knows_only_the_standard_library_and_fmt():
    assert not complaints("libsmtp", ["libsmtp/"], lambda name: name in PURE or is_fmt(name))


def test_libspool_knows_posix_and_libsmtp():
    foreign = re.compile(r"(uv|ares|openssl/.*|nlohmann/.*|toml\+\+/.*)\.?h?")
    assert not complaints("libspool", ["libspool/", "libsmtp/"],
                          lambda name: (name in STANDARD or is_fmt(name) or is_posix(name) or name.startswith("isa-l"))
                          and not foreign.fullmatch(name))


def test_decisions_are_pure():
    # The engine brings its own seeded generator: <random>'s distributions differ between libraries.
    assert not complaints("daemons/decide", ["daemons/decide/", "libspool/", "libsmtp/"],
                          lambda name: name in PURE or is_fmt(name))


@pytest.mark.parametrize("folder", ["libsmtp", "daemons/decide"])
def test_pure_storeys_call_nothing_impure(folder):
    found = []
    for path in sources(folder):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if IMPURE_CALLS.search(code):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found


def test_manners_know_no_daemon():
    found = complaints("daemons/common", ["daemons/common/", "daemons/decide/", "libspool/", "libsmtp/"], lambda name: True)
    assert not found


def test_daemons_never_include_one_another():
    found = []
    for folder in sorted((ROOT / "daemons").iterdir()):
        if folder.is_dir() and folder.name not in ("common", "decide"):
            mine = f"daemons/{folder.name}"
            found += complaints(mine, [mine + "/", "daemons/common/", "daemons/decide/", "libspool/", "libsmtp/"],
                                lambda name: True)
    assert not found


def always_allowed(room, other):
    """Whoever is above may include from the floors below it, without an entry in the table."""
    meeting_place = ("daemons/common", "daemons/decide")
    if other.startswith(("libsmtp", "libspool")):
        return room.startswith("daemons")
    return other.startswith(meeting_place) and not room.startswith(meeting_place)


def test_every_folder_is_a_room_of_the_table():
    house = House(ROOT)
    assert sorted(house.folders()) == sorted(ROOMS)


def test_rooms_include_only_what_the_table_allows():
    house = House(ROOT)
    found = {(room, other): includes[0] for (room, other), includes in house.arrows.items()
             if not always_allowed(room, other) and other not in ROOMS.get(room, ())}
    assert not found, "a new arrow between rooms: needed at all? then add it to tests/layers/rooms.py"


def test_the_table_allows_nothing_that_is_not_needed():
    arrows = House(ROOT).arrows
    assert not [(room, other) for room, others in ROOMS.items() for other in others if (room, other) not in arrows]


def test_the_table_has_no_circle():
    above = set()
    for room, others in ROOMS.items():
        assert others <= above, f"{room} includes from a room that is not above it in the table"
        above.add(room)


def test_every_header_says_what_it_is():
    found = [str(p.relative_to(ROOT)) for p in sources("libsmtp", "libspool", "daemons")
             if p.suffix == ".h" and not p.read_text().startswith("//")]
    assert not found


def test_nothing_is_left_for_later():
    taboo = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|not (yet )?implemented", re.I)
    found = []
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    names = tracked.stdout.splitlines() if tracked.returncode == 0 else [str(p.relative_to(ROOT)) for p in sources("libsmtp", "libspool", "daemons", "tests")]
    for name in names:
        path = ROOT / name
        if path.suffix not in (".h", ".cpp", ".py", ".build", ".toml", ".md", "") or not path.is_file() or "corpus" in name:
            continue
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{name}:{n}: {line.strip()}" for n, line in enumerate(lines, 1)
                  if re.search(taboo, line) and not re.search(r"X{3,}[\"'\\)]|mkdtemp|mkstemp|/XXX", line)]
    assert not found


def test_top_level_is_what_it_should_be():
    allowed = {"meson.build", "meson_options.txt", "meson.options", "daemons", "libspool", "libsmtp", "conf", "man", "tests", "scripts",
               "README.md", "LICENSE", "CONTRIBUTING.md", "DECISIONS.md", "CHANGELOG.md", "SECURITY.md"}
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True).stdout.splitlines()
    top = {name.split("/")[0] for name in tracked}
    assert {name for name in top if not name.startswith(".")} <= allowed
