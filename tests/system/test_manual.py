"""The manual and the programs know the same verbs and options, and every call that README.md or a page shows is one that
the program knows."""
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from harness.mta import BUILD

SOURCE = Path(__file__).resolve().parents[2]
PAGES = {page.name: page for page in sorted((SOURCE / "man").rglob("*.[1-8]"))}
EVERYTHING = [SOURCE / "README.md", *PAGES.values()]


@cache
def rendered(page):
    done = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=1000", PAGES[page]], capture_output=True, text=True, check=True)
    return re.sub(r".\x08", "", done.stdout)


def sections(page):
    """Headings of both kinds with what stands below them."""
    parts = re.split(r"^ {0,3}(\S.*)$", rendered(page), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def options_in(text):
    return set(re.findall(r"(?<![\w-])(--?[A-Za-z0-9][A-Za-z0-9-]*)", text))


# -- options and verbs

def postrider(*words):
    return subprocess.run([BUILD / "daemons/postrider/postrider", *words], capture_output=True, text=True)


@cache
def verbs():
    """{verb: its options}, as the program tells them."""
    listed = re.findall(r"^  ([a-z][a-z -]*[a-z]) ", postrider("help").stdout.split("\n\n")[1], re.M)
    found = {}
    for name in map(str.strip, listed):
        # "queue show DOMAIN": the verb is what can be helped with
        while (told := postrider("help", *name.split())).returncode != 0 or not told.stdout.startswith(f"usage: postrider {name}"):
            name = name.rpartition(" ")[0].strip()
            assert name, listed
        usage = told.stdout.split("\n\n", 2)
        found[name] = set(re.findall(r"^  (--?[a-z0-9-]+)", usage[2], re.M)) if len(usage) > 2 else set()
    return found


def items_of(page):
    """(first line of an item, the item, the introduction of its section), for all items of one depth."""
    for text in sections(page).values():
        before, *items = re.split(r"^(?= {5}\S)", text, flags=re.M)
        prose = [before]
        for item in items:
            if re.match(r" {5}[a-z]", item):
                yield item.strip().splitlines()[0], item, "".join(prose)
            else:
                prose.append(item)


def test_every_verb_and_option_is_in_the_manual():
    assert len(verbs()) > 40
    missing = []
    for verb, options in verbs().items():
        group, _, last = verb.partition(" ")
        about = [(item, intro) for head, item, intro in items_of("postrider.1")
                 if re.search(rf"(^|, ){re.escape(verb)}\b", head) or (head.startswith(group + " ") and re.search(rf"\b{last}\b", head))
                 or (not last and re.search(rf"\b{verb}\b", head.split("  ")[0]))]
        if not about:
            missing.append(verb)
        else:
            told = options_in(" ".join(item + intro for item, intro in about))
            missing += [f"{verb} {option}" for option in sorted(options - told)]
    assert not missing, f"postrider(1) does not tell of {missing}"


def test_the_manual_names_only_options_there_are():
    every = set().union(*verbs().values()) | {"-c", "--config", "--json", "-h", "--help", "--version"}
    assert options_in(rendered("postrider.1")) - every <= {"-j", "-10K", "-10m", "-1h"}  # postqueue's, ages and sizes


def words_of_calls():
    """Every call of our command in the pages, their examples and README.md, as words."""
    for file in EVERYTHING:
        text = file.read_text()
        if file.suffix == ".md":
            calls = re.findall(r"`(postrider [^`]+)`", text) + re.findall(r"^ {4}(postrider .*)$", text, re.M)
        else:
            text = text.replace("\\-", "-").replace("\\e\n", " ").replace("\\&", "")
            examples = "".join(re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.M))
            calls = re.findall(r"^\.(?:Ic|Dl) (postrider .*)$", text, re.M) + re.findall(r"^ *(postrider .*)$", examples, re.M)
            calls = [re.sub(r"\bFl ", "-", re.sub(r" (Ar|Cm|Ns|No|Op) (?=\S)", " ", re.split(r" [.,;:)](?= |$)", call)[0])) for call in calls]
        for call in calls:
            call = re.split(r" {2,}#| # | [|&>]", call)[0]
            for one in re.split(r"(?:,|;| and)\s+(?=postrider )", call):
                yield file.name, one.strip(" .,;:").split()[1:]


def test_every_call_in_the_manual_is_one_the_program_knows():
    wrong, calls = [], 0
    for where, words in words_of_calls():
        if words == ["help", "words"]:
            continue
        words = [word for word in words if word != "help"]
        bare = [word for word in words if not word.startswith("-")]
        verb = next((v for v in (" ".join(bare[:2]), bare[0] if bare else "") if v in verbs()), None)
        group = bare and any(v.startswith(bare[0] + " ") for v in verbs()) and len(bare) == 1
        calls += 1
        if not words or group or words[0] == "Ar":
            continue
        strange = options_in(" ".join(words)) - verbs().get(verb, set()) - {"-c", "--config", "--json", "--help", "--version", "-C"}
        if verb is None or any(not re.fullmatch(r"-\d+\w", option) for option in strange):
            wrong.append(f"{where}: postrider {' '.join(words)}")
    assert calls > 100
    assert not wrong, "\n".join(wrong)


def letters_of_the_postfix_commands():
    source = (SOURCE / "daemons/postfix-commands/command.cpp").read_text()
    return dict(re.findall(r'Program\{"(\w+)", "\+([^"]+)"', source))


@pytest.mark.parametrize("page, program", [("postqueue.1", "postqueue"), ("postqueue.1", "postsuper"), ("postqueue.1", "postcat"),
                                           ("postqueue.1", "postconf"), ("postmap.1", "postmap"), ("postmap.1", "postalias")])
def test_every_letter_is_in_the_manual(page, program):
    told = options_in(sections(page).get(program) or sections(page)["DESCRIPTION"])
    told |= options_in(sections(page)["DESCRIPTION"])  # what all of the page's programs take
    letters = {f"-{letter}" for letter in letters_of_the_postfix_commands()[program] if letter not in ":#"}
    assert letters and not letters - told, f"{page} does not tell of {program} {sorted(letters - told)}"


def test_every_letter_of_sendmail_is_in_the_manual():
    letters = re.search(r'letters\[\] =\s*"\+([^"]+)"', (SOURCE / "daemons/sendmail/options.cpp").read_text())[1]
    told = options_in(rendered("sendmail.1"))
    missing = {f"-{letter}" for letter in letters if letter != ":"} - told - {"-o", "-b"}
    assert not missing and {"-oi", "-bm", "-bp", "-bs", "-bi", "-bv"} <= told
