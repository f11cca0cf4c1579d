"""Texts for people are plain English: the turns of phrase below are translations or riddles, and what stands beside each is
the usual wording. Manual pages and documents have none, but for those in UNEDITED, which may only shrink; the texts of the
programs are counted by folder."""
import re
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
PATTERN = re.compile("|".join(TURNS))

# Documents and pages that nobody has edited yet: how many such turns they have.
UNEDITED = {"postrider-from-postfix.7": 10, "postrider-log.7": 8, "postrider-metrics.8": 2, "postrider.scenario.5": 5,
            "postrider.toml.5": 13}
# The same of string literals in the sources, by folder.
PROGRAMS = {"categorizer": 1, "common": 33, "decide": 11, "local": 5, "master": 2, "pickup": 4, "postfix-commands": 1, "postrider": 5,
            "simulate": 3, "queue-manager": 2, "sendmail": 1, "smtp-client": 3}


def prose(path):
    text = path.read_text()
    if path.suffix[1:].isdigit():  # a manual page: sentences without macros' names
        text = re.sub(r"^\.\w\w ?", "", text, flags=re.M)
    return re.sub(r"\s+", " ", text)


def documents():
    yield from (ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md"))
    yield from sorted(page for page in (ROOT / "man").iterdir() if page.suffix[1:].isdigit())


def literals(path):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", text)))


def compare(found, allowed, kind):
    worse = [f"{name}: {', '.join(sorted(set(turns)))}" for name, turns in found.items() if len(turns) > allowed.get(name, 0)]
    assert not worse, "say it in plain English (TURNS has the usual wording):\n" + "\n".join(worse)
    better = {name: len(found.get(name, [])) for name, count in allowed.items() if len(found.get(name, [])) < count}
    assert not better, f"fewer than {kind} allows: write these numbers there, or take out what is 0: {better}"


def test_documents_are_in_plain_english():
    found = {path.name: PATTERN.findall(prose(path)) for path in documents()}
    compare({name: turns for name, turns in found.items() if turns}, UNEDITED, "UNEDITED")


def test_texts_of_programs_are_in_plain_english():
    found = {}
    for path in sorted((ROOT / "daemons").rglob("*.cpp")):
        if "/import-postfix/" in str(path):  # names of Postfix's settings
            continue
        if turns := PATTERN.findall(literals(path)):
            found.setdefault(path.relative_to(ROOT / "daemons").parts[0], []).extend(turns)
    compare(found, PROGRAMS, "PROGRAMS")
