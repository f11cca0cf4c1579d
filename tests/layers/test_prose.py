"""No code reads prose: what another part must know is a field, and a text may be reworded by whoever looks after texts.

A scan of the sources for the forms such reading has had. Words of protocols, of files and of the configuration are no
prose; neither are the log lines that `simulate` and the Postfix files that `import-postfix` read.
"""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
READERS_OF_OTHERS = ("daemons/simulate/from_log/", "daemons/import-postfix/")
SOURCES = sorted(path for room in ("daemons", "libspool", "libsmtp") for path in (ROOT / room).rglob("*")
                 if path.suffix in (".cpp", ".h") and not str(path.relative_to(ROOT)).startswith(READERS_OF_OTHERS))

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
LOOK = r"\.(?:find|rfind|starts_with|ends_with|contains)"
# Members and variables that hold one line for people.
TEXTS = r"(?:text|what|why|reason|message|diagnostic|note|advice|trouble|problem|confinement)_?(?:\(\))?"
CONSTANTS = re.compile(rf"\bconst(?:expr)?\b[^;{{}}]*;")
CONSTANT = re.compile(rf"\b(\w+)(?:\[\])? = ({LITERAL})")

# Several words; a capitalised word and more; a word with a blank beside it, as it is cut out of a sentence.
PROSE = re.compile(r'[A-Za-z,:;] [A-Za-z]{2}|^"[A-Z][a-z]+[ :]|^" [a-z]|[a-z]: "$|[a-z] "$')

COMPARED = re.compile(rf"(?:{LOOK}\(|[!=]= )(?:std::string_view\()?({LITERAL}|\b\w+\b(?![.(:]|->))")
FORMS = {
    # A word looked for anywhere in a string. (JSON's find() is compared with end().)
    "a word in a text": re.compile(rf'\.r?find\("[^"]*[A-Za-z]{{2}}[^"]*"\) *[!=]= *[\w:.]*npos'),
    "a text's beginning or part": re.compile(rf"(?:\.|->){TEXTS}{LOOK}\([^)']"),
    "a text as a value": re.compile(rf'(?:\.|->)(?:{TEXTS}|outcome|verdict) *[!=]= *"[A-Za-z]'),
}

# What looks like it: where, the piece of the line, and why it is none.
ALLOWED = {
    ("daemons/bounce/composition.cpp", "verdict_reason.starts_with(formerly)"):
        "a file in the spool that an earlier version wrote has nothing else",
    ("daemons/queue-manager/conversion/records.cpp", "reply.text.starts_with(formerly)"):
        "a file in the spool that an earlier version wrote has nothing else",
    ("daemons/common/config/toml_reader.cpp", "could not determine value type"):
        "the TOML library's error, which has no other form",
    ("daemons/common/config/validate.cpp", 'deliver.find("{value}")'): "a word of the configuration",
    ("libsmtp/dsn/dsn_text.cpp", 'wording.find("{recipients}")'): "a word of an operator's template",
    ("daemons/decide/message/suppression_filter.cpp", 'word.text == "automatic"'): "a word of the operator's filter",
    ("daemons/common/net/https.cpp", 'starts_with("Expect:")'): "the name of a field of HTTP, which the caller may set",
    ("daemons/common/net/dns/servers.cpp", "nameserver"): "resolv.conf",
    ("daemons/master/children/oom_kills.cpp", "starts_with(key)"): "the kernel's memory.events",
    ("daemons/local/mailbox/local_text.cpp", "from"): "the line that begins a message in an mbox file",
    ("libsmtp/message/submission_fixup.cpp", 'starts_with("From ")'): "the line that begins a message in an mbox file",
    ("daemons/master/system/permission_advice.cpp", "error.what.find(directory)"):
        "puts a text together: the directory is named once, and nothing else depends on it",
    ("daemons/postrider/table/completion.cpp", "ends_with(also_all)"):
        "a command's synopsis, which has a notation: help, manual and completion are made of it",
    ("daemons/simulate/model/simulation.cpp", "to.link == nowhere"): "the simulator's own name of the link there is not",
}


def findings(text):
    """(line number, the form, the line) of what reads prose in a source."""
    constants = dict(pair for each in CONSTANTS.findall(text) for pair in CONSTANT.findall(each))
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("//"):
            continue
        for form, pattern in FORMS.items():
            if pattern.search(line):
                yield number, form, line.strip()
        for match in COMPARED.finditer(line):
            literal = constants.get(match[1], match[1])
            if literal.startswith('"') and PROSE.search(literal):
                yield number, f"comparison with {literal}", line.strip()


def everywhere():
    for path in SOURCES:
        where = str(path.relative_to(ROOT))
        for number, form, line in findings(path.read_text()):
            yield where, number, form, line


def test_no_code_reads_prose():
    found = [f"{where}:{number}: {form}: {line}" for where, number, form, line in everywhere()
             if not any(where == its and piece in line for its, piece in ALLOWED)]
    assert not found, "make it a field where the text is made (or say in ALLOWED why it is no prose):\n" + "\n".join(found)


def test_what_is_allowed_is_there():
    lines = [(where, line) for where, _, _, line in everywhere()]
    gone = [f"{its}: {piece}" for its, piece in ALLOWED if not any(where == its and piece in line for where, line in lines)]
    assert not gone, "no longer there:\n" + "\n".join(gone)


@pytest.mark.parametrize("source", [
    'if (confinement_.find("no") != std::string::npos) warn();',
    '[](const Problem& each) { return each.message.find("spool") != std::string::npos; }',
    'constexpr std::string_view before = " name=", between = " type=";\nconst auto begin = text.find(before);',
    'if (reason.text.find("AUTH") != std::string::npos) return auth;',
    'constexpr std::string_view listed_since = "on the suppression list since ";\nreturn text.starts_with(listed_since);',
    'if (reported.diagnostic.starts_with("Error: Idempotency-Key")) advise();',
    'return error.code == EADDRNOTAVAIL && error.what.starts_with("bind");',
    'return line.outcome == "sent" ? DeliveryOutcome::delivered : DeliveryOutcome::deferred;',
    'static constexpr char closed_by_peer[] = "closed by the peer";\nreturn reason == closed_by_peer;',
])
def test_what_once_read_prose_is_seen(source):
    assert list(findings(source)), source


@pytest.mark.parametrize("source", [
    'const auto version = body.find("version"); if (version == body.end()) return;',
    'if (target.starts_with("maildir:") || target == "/dev/null") return mailbox;',
    'if (word == "defer_if_permit") return later;',
    'if (r.status == "4.2.2" || line.ends_with("\\r\\n")) return full;',
    'log.info("{}: said: {}", id, reason.text);',
])
def test_words_of_protocols_and_files_are_not(source):
    assert not list(findings(source)), source
