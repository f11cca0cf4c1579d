"""Every reply the SMTP server can give, as its source has them, is given in some dialogue or test.

A reply is a code, an enhanced status and a text: `550, {5, 1, 1}, "<" + address + ">: User unknown"`. It counts as
tested where a test or a dialogue names the code, the status and the longest piece of the text that stands in the
source, in one line.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SERVER = [*sorted((ROOT / "libsmtp/session").glob("server_*.cpp")), *sorted((ROOT / "daemons/smtpd").rglob("*.cpp"))]
TESTS = [path for folder in ("dialogues", "libsmtp", "smtpd", "system")
         for path in sorted((ROOT / "tests" / folder).rglob("*")) if path.suffix in (".smtp", ".cpp", ".h", ".py")]

REPLY = re.compile(r"\b([2-5]\d\d),\s*\{([\d, ]*)\},")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Placeholders of formatted text cut it as variables do.
PLACE = re.compile(r"\{[^}]*\}")

# What no test can bring about in its time, and why.
OUT_OF_REACH = {"Error: queue overloaded, try again later": "needs 100,000 messages not taken over",
                "Error: queue file read error": "needs a disk that forgets what was written a moment ago"}


def argument(text, at):
    """The source from `at` to where the bracket that is open there closes."""
    depth, quoted = 0, False
    for i in range(at, len(text)):
        c = text[i]
        if quoted:
            quoted = c != '"' or text[i - 1] == "\\"
        elif c == '"':
            quoted = True
        elif c in "({[":
            depth += 1
        elif c in ")}]" or (c in ",;" and depth == 0):
            if depth == 0:
                return text[at:i]
            depth -= 1
    return text[at:]


def replies():
    """{(code, status, piece of the text): where}."""
    found = {}
    for path in SERVER:
        text = path.read_text()
        for match in REPLY.finditer(text):
            source = re.sub(r'"\s*\n\s*"', "", argument(text, match.end()))
            constant = re.fullmatch(r"\s*(\w+)\s*", source)
            if constant:
                source = re.search(rf'string_view {constant[1]} = ("[^;]*");', text)
                source = source[1] if source else ""
            where = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
            status = match[2].replace(", ", ".")
            # Alternatives (`a ? "x" : "y"`) are texts of their own.
            texts = source.split(" : ") if " ? " in source else [source]
            for each in texts:
                pieces = [piece for literal in STRING.findall(each) for piece in PLACE.split(literal)]
                found.setdefault((match[1], status, max(pieces, key=len, default="").strip()), where)
    return found


def corpus():
    text = "\n".join(path.read_text() for path in TESTS)
    return re.sub(r'"\s*\n\s*f?"', "", text)  # a string over several lines is one


def test_the_source_is_understood():
    found = replies()
    assert ("221", "2.0.0", "Bye") in found
    assert ("501", "5.5.4", "Syntax: EHLO hostname") in found and ("501", "5.5.4", "Syntax: HELO hostname") in found
    assert ("550", "5.6.7", "Address is not ASCII, and MAIL had no SMTPUTF8") in found
    assert ("250", "2.0.0", "Ok: queued as") in found
    assert len(found) > 80
    assert set(OUT_OF_REACH) <= {piece for _, _, piece in found}


def test_every_reply_is_given_in_some_test():
    said = corpus()
    missing = []
    for (code, status, piece), where in sorted(replies().items(), key=lambda each: each[1]):
        if piece in OUT_OF_REACH:
            continue
        wanted = re.escape(code) + "[ -]" + (re.escape(status) if status else "") + "[^\n]*" + re.escape(piece)
        if not re.search(wanted, said):
            missing.append(f"{where}: {code} {status} {piece}")
    assert not missing, "no dialogue or test has these replies:\n" + "\n".join(missing)
