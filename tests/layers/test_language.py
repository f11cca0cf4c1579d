"""Texts for people are plain English: the turns of phrase below are translations or riddles, each with the usual wording beside
it. Manual pages, documents and the files in conf have none, except for those in UNEDITED, whose numbers may only shrink; the
texts of the programs are counted by folder. Spelling is checked by codespell."""
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
}
# Documents and pages only.
TURNS_OF_DOCUMENTS = {
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
}
PATTERN = re.compile("|".join(TURNS))
PATTERN_OF_DOCUMENTS = re.compile("|".join([*TURNS, *TURNS_OF_DOCUMENTS]))

# Documents and pages with such turns (in log lines and output of programs, or because they are not edited yet), and how many.
UNEDITED = {"CHANGELOG.md": 1, "logcheck-postrider": 1, "postrider-log.7": 7, "postrider.scenario.5": 4}
# The same of string literals in the sources, by folder.
PROGRAMS = {"categorizer": 1, "common": 16, "decide": 11, "local": 5, "master": 2, "pickup": 4, "postfix-commands": 1, "postrider": 5,
            "simulate": 2, "queue-manager": 2, "sendmail": 1, "smtp-client": 3}


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
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def compare(found, allowed, kind):
    worse = [f"{name}: {', '.join(sorted(set(turns)))}" for name, turns in found.items() if len(turns) > allowed.get(name, 0)]
    assert not worse, "say it in plain English (TURNS has the usual wording):\n" + "\n".join(worse)
    better = {name: len(found.get(name, [])) for name, count in allowed.items() if len(found.get(name, [])) < count}
    assert not better, f"fewer than {kind} allows: write these numbers there, or take out what is 0: {better}"


def test_documents_are_in_plain_english():
    found = {path.name: PATTERN_OF_DOCUMENTS.findall(prose(path)) for path in documents()}
    compare({name: turns for name, turns in found.items() if turns}, UNEDITED, "UNEDITED")


def test_texts_of_programs_are_in_plain_english():
    found = {}
    for path in sorted((ROOT / "daemons").rglob("*.cpp")):
        if "/import-postfix/" in str(path):  # names of Postfix's settings
            continue
        if turns := PATTERN.findall(literals(path)):
            found.setdefault(path.relative_to(ROOT / "daemons").parts[0], []).extend(turns)
    compare(found, PROGRAMS, "PROGRAMS")


# A macro of mdoc, std::unexpect, and our function that calls crypt(3).
SPELLED_SO = "nd,unexpect,crypted"


def test_spelling():
    checked = [*sorted(ROOT.glob("*.md")), ROOT / "tests/system/FAULTS.md", ROOT / "tests/SKIPS",
               *(ROOT / folder for folder in ("man", "conf", "daemons", "libspool", "libsmtp", "scripts"))]
    done = subprocess.run(["codespell", "--ignore-words-list", SPELLED_SO, "--skip", "__pycache__", *checked],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
