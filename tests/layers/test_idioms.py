"""Turns of C++ that this project does without, because a reader stumbles over them."""
from pathlib import Path

import pytest
from house_figures import blanked

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = [path for folder in ("libsmtp", "libspool", "daemons") for path in sorted((ROOT / folder).rglob("*"))
           if path.suffix in (".h", ".cpp")]


def returns_with_comma(code):
    """The line numbers of `return first, second;`. A comma within brackets or template arguments is none."""
    found, at = [], 0
    while (at := code.find("return ", at)) >= 0:
        start, depth = at, 0
        at += len("return ")
        if start > 0 and (code[start - 1].isalnum() or code[start - 1] == "_"):
            continue
        while at < len(code):
            if code[at] in "([{" or (code[at] == "<" and code[at - 1] not in " <" and code[at + 1] not in " =<"):
                depth += 1
            elif code[at] in ")]}" or (code[at] == ">" and code[at - 1] not in "-= >" and code[at + 1] != ">"):
                depth -= 1
            elif depth == 0 and code[at] == ",":
                found.append(code.count("\n", 0, start) + 1)
                break
            if depth < 0 or (depth == 0 and code[at] == ";"):
                break
            at += 1
    return found


def test_nothing_is_done_on_the_way_in_a_return():
    """`return count = 0, false;` hides what is done. Two statements say it; `return fail(status, text)` in commands."""
    found = [f"{path.relative_to(ROOT)}:{line}" for path in SOURCES for line in returns_with_comma(blanked(path.read_text()))]
    assert not found


@pytest.mark.parametrize("code, lines", [
    ("return a, b;", [1]),
    ("x;\nif (y) return f(1, 2), nullptr;", [2]),
    ("return value = map<int, int>{}, true;", [1]),
    ("return f(a, b);", []),
    ("return std::pair<int, int>{1, 2};", []),
    ("return a < b && c > d;\nint e, f;", []),
    ("return {'=', digits[byte >> 4], 0};", []),
    ("return [a, b] { return a; };", []),
    ("call([] { return 1; }, 2);", []),
])
def test_the_rule_can_fail(code, lines):
    assert returns_with_comma(code) == lines
