"""Texts for people are plain English: the turns of phrase below are translations or riddles, each with the usual wording beside
it. Manual pages, documents, the files in conf and the texts of the programs have none, except for those in UNEDITED and NAMES,
whose numbers may only shrink. Spelling is checked by codespell."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

TURNS = {
    r"\banew\b": "again",
    r"\bwhoever\b": "the user, the program, the client …",
    r"\bmend(?:s|ed|ing)?\b": "fix, correct, repair",
    r"\bheed(?:s|ed)?\b": "respect, follow, apply",
    r"\bput off\b": "deferred, rejected temporarily",
    r"\b(?:hand|hands|handed|handing) in\b": "submit",
    r"\btold (?:so|of|again)\b": "gets the reply …, is notified",
    r"\b[Ww]ho comes\b": "clients that …, if you come from …",
    r"\bcan(?:not)? be had\b": "is (not) available",
    r"\bgo(?:es)? in circles\b": "loops",
    r"\b(?:is|are) no (?:address|number|domain|option|key)\b": "is not a valid …",
    r"\bfor good\b": "permanently",
    r"\bmakes? no sense\b": "is invalid",
    r"\bso long as\b": "as long as, while",
    r"\bnobody (?:listens|answers|hears|says)\b": "no process, no server",
    r"\b(?:look|looks|looked) over\b": "check",
    r"\bbegin(?:s)? anew\b": "start again",
    r"\bwhatever (?:becomes|may come)\b": "even if, regardless of",
    r"\bladders?\b": "retry schedule",
    r"\btells? of\b": "reports, describes",
    r"\b(?:[Nn]o|[Ss]ome|[Ee]very)body\b": "no client, a process, all users …",
    r"\b(?:[Hh]e|[Hh]is|[Hh]im)\b": "they, their, the user",
    r"\b[Ss]o (?:long|many|often)\b(?! (?:that|as))": "this long, this number, the maximum number of …",
    r"\bgo(?:es)? on\b": "continues",
    r"\bstands? (?:in|at|before|behind|beside|below|here|there)\b": "is in, precedes, follows",
    r"\b(?:is|are) (?:said|told)\b": "is logged, is reported, gets",
    r"\blook(?:s|ed)? at\b": "examine, inspect, check",
    r"\bput (?:in|aside)\b": "insert, substitute; set aside",
    r"\bby way of\b|'s word\b": "through; by command of, the answer of",
    r"\bfalls? away\b|\bin vain\b|\ball the same\b": "is removed; fails; anyway",
    r"\bfor want of\b|\bbrings? back\b": "because there is no …; restore",
    r"\blook-ups?\b|\btime-outs?\b": "lookup, timeout",
    r"\bpass(?:es|ed)? over\b": "skip",
    r"\btaken off\b": "removed from",
    r"\bin a circle\b": "is looping",
    r"\b(?:is|are|was|were) (?:not there|there (?:again|already|no more))\b": "does not exist, is not running, already exists",
    r"\bgives? way\b": "is closed, makes room",
    r"\bto be (?:told|had|heard)\b": "to be notified; available",
    r"\bstands? alone\b": "cannot be combined",
    r"\b(?:speaks?|spoken) (?:of|here|version)\b": "concerns; is supported; uses version",
    r"\bdo(?:es)? not go together\b": "cannot be combined",
    r"\bis (?:a|no) (?:word|one) that\b": "is a known …",
    r"\bthe (?:former|later) one\b": "the previous one",
    r"\bany more\b(?! than)": "any longer; no longer",
}
PATTERN = re.compile("|".join(TURNS))

# What has such turns, and how many: the changelog names what was renamed, and "nobody" is a user.
UNEDITED = {"CHANGELOG.md": 1}
NAMES = {"daemons/common/config/sections/recipients/addresses.h": 1}


def prose(path):
    text = path.read_text()
    if path.suffix[1:].isdigit():  # a manual page: sentences without macros' names
        text = re.sub(r"^\.\w\w ?", "", text, flags=re.M).replace("\\-", "-")
    return re.sub(r"\s+", " ", text)


def documents():
    yield from sorted(ROOT.glob("*.md"))
    yield from (ROOT / "libspool/FORMAT.md", ROOT / "tests/system/FAULTS.md")
    yield from sorted(page for page in (ROOT / "man").iterdir() if page.suffix[1:].isdigit())
    # postrider.toml has the sentences of its page
    yield from sorted(file for file in (ROOT / "conf").rglob("*") if file.is_file() and file.name not in
                      ("postrider.toml", "grafana-dashboard.json"))


def literals(path):
    """String literals as the compiler joins them, without the names of included files."""
    text = re.sub(r"^#include.*|//[^\n]*", "", path.read_text(), flags=re.M)
    return " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def comments(path):
    """One line for each, without the names of the code in it (`name`)."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', path.read_text())
    blocks = re.findall(r"(?:^[ \t]*//[^\n]*\n)+|//[^\n]*", text, flags=re.M)
    return "\n".join(re.sub(r"`[^`]*`|\s*//+", " ", block).strip() for block in blocks)


def sources():
    for folder in ("daemons", "libspool", "libsmtp"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h") and not path.name.startswith("defaults_"):  # values of Postfix's main.cf
                yield path


def compare(found, allowed, kind):
    worse = [f"{name}: {', '.join(sorted(set(turns)))}" for name, turns in found.items() if len(turns) > allowed.get(name, 0)]
    assert not worse, "say it in plain English (TURNS has the usual wording):\n" + "\n".join(worse)
    better = {name: len(found.get(name, [])) for name, count in allowed.items() if len(found.get(name, [])) < count}
    assert not better, f"fewer than {kind} allows: write these numbers there, or take out what is 0: {better}"


def test_documents_are_in_plain_english():
    found = {path.name: PATTERN.findall(prose(path)) for path in documents()}
    compare({name: turns for name, turns in found.items() if turns}, UNEDITED, "UNEDITED")


def test_texts_of_programs_are_in_plain_english():
    found = {str(path.relative_to(ROOT)): PATTERN.findall(literals(path)) for path in sources()}
    compare({name: turns for name, turns in found.items() if turns}, NAMES, "NAMES")


def test_comments_are_in_plain_english():
    found = {str(path.relative_to(ROOT)): PATTERN.findall(comments(path)) for path in sources()}
    compare({name: turns for name, turns in found.items() if turns}, {}, "zero")


# A macro of mdoc, std::unexpect, and our function that calls crypt(3).
SPELLED_SO = "nd,unexpect,crypted"


def test_spelling():
    checked = [*sorted(ROOT.glob("*.md")), ROOT / "tests/system/FAULTS.md", ROOT / "tests/SKIPS",
               *(ROOT / folder for folder in ("man", "conf", "daemons", "libspool", "libsmtp", "scripts"))]
    done = subprocess.run(["codespell", "--ignore-words-list", SPELLED_SO, "--skip", "__pycache__", *checked],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
