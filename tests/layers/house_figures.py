#!/usr/bin/env python3
"""Measures the tree: file sizes, classes and how many files they are spread over, folders, includes, comments.

  tests/layers/house_figures.py [ROOT]        prints a table

As a module: `House(ROOT)` reads the sources once; its methods return one figure each, and test_house.py limits them.
`House(ROOT, moved={...})` measures the tree as it would be with files moved: a plan of moves can be tried out.

The C++ is read without a compiler: comments, literals and preprocessor lines are blanked, then namespaces, classes
and functions are found by their brackets. A class is counted by what is written for it: its own body and the
functions defined outside of it. A nested class is a class of its own: its methods and lines are not those of the
class around it. Functions that are `= default` or `= delete` and friends are not methods here.
"""
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from statistics import median

PRODUCT = ("daemons", "libspool", "libsmtp")
CONFIG = "daemons/common/config/config.h"
COLUMNS = 120

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
# Comments, literals and preprocessor lines. A quote after a digit separates digits.
HIDDEN = re.compile(r'''(?P<raw>R"(?P<mark>[^()\s\\]{0,16})\((?:.|\n)*?\)(?P=mark)")
                      | (?P<string>"(?:\\.|[^"\\\n])*")
                      | (?P<character>(?<![0-9a-zA-Z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
                      | (?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)
                      | (?P<directive>^[ \t]*\#(?:/\*(?:.|\n)*?\*/|//[^\n]*|\\\n|[^\n/]|/(?![/*]))*)''', re.X | re.M)
BRACKET = re.compile(r"[(){}]")
OPENING = re.compile(r"[({]")
END_OF_HEAD = re.compile(r"[({;]")

ACCESS = re.compile(r"\b(?:public|private|protected)\s*:(?!:)")
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|[^\w\s()]+(?:\s*\[\])?|\s(?:new|delete|co_await)\b|\s[\w:]+(?:\s*[&*])*)")
ANNOTATION = re.compile(r"\b(?:alignas|decltype|noexcept|explicit|requires|throw|__attribute__)\s*\(\)|\[\[[^\]]*\]\]")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\b\s*([\w:]*)\s*$")
LINKAGE = re.compile(r"^\s*extern\s*$")
CLASS = re.compile(r"(?:^|\s)(?:class|struct|union)\b\s*(?P<name>[\w:]*)(?:\s+final)?\s*(?:(?<!:):(?!:).*)?$", re.S)
ENUM = re.compile(r"(?:^|\s)enum\b")
FUNCTION = re.compile(r"(?P<name>(?:[A-Za-z_]\w*\s*::\s*)*(?:~\s*)?[A-Za-z_]\w*)\s*\(\)")
MEMBER_INITIALIZERS = re.compile(r"\)[^:]*(?<!:):(?!:)")


def blanked(text):
    """The code of `text`, everything else replaced by spaces."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found[0])
    return HIDDEN.sub(blank, text)


def formatted(text):
    """The text without what stands between `clang-format off` and `on`, but with all of its lines."""
    return re.sub(r"// clang-format off\n(?:.|\n)*?(?:// clang-format on|\Z)",
                  lambda found: "\n" * found[0].count("\n"), text)


def comment_lines(text):
    """How many lines have a comment, alone or after code."""
    marked = HIDDEN.sub(lambda found: re.sub(r"[^\n]", "\0" if found["comment"] else "x", found[0]), text)
    return sum("\0" in line for line in marked.split("\n"))


@dataclass
class Class:
    name: str  # with its namespaces
    file: str  # where its body is
    methods: int = 0
    lines: int = 0
    sources: Counter = field(default_factory=Counter)  # {.cpp file: functions of it defined there}


@dataclass
class Definition:
    """A function defined outside of its class, which is not known while its file is read."""
    file: str
    namespaces: tuple
    qualifiers: tuple
    lines: int


class Unreadable(Exception):
    """The brackets of a file do not match."""


class Reader:
    """Finds the classes and functions of one file."""

    def __init__(self, file, text):
        self.file, self.text = file, blanked(text)
        self.classes, self.definitions = [], []
        self.closing = self._match_brackets()
        self._read(0, len(self.text), (), None)

    def _match_brackets(self):
        closing, stack = {}, []
        for found in BRACKET.finditer(self.text):
            if found[0] in "({":
                stack.append(found)
            elif not stack or stack[-1][0] + found[0] not in ("()", "{}"):
                raise Unreadable(f"{self.file}:{self.text.count(chr(10), 0, found.start()) + 1}: unmatched {found[0]}")
            else:
                closing[stack.pop().start()] = found.start()
        if stack:
            raise Unreadable(f"{self.file}:{self.text.count(chr(10), 0, stack[-1].start()) + 1}: unmatched {stack[-1][0]}")
        return closing

    def _lines(self, begin, end):
        """How many lines the code between two places takes."""
        begin += len(self.text[begin:end]) - len(self.text[begin:end].lstrip())
        return self.text.count("\n", begin, end) + 1

    def _flat(self, begin, end):
        """A declaration without the contents of its brackets, template arguments and annotations."""
        pieces, at = [], begin
        while found := OPENING.search(self.text, at, end):
            pieces += [self.text[at:found.start()], "()" if found[0] == "(" else "{}"]
            at = self.closing[found.start()] + 1
        flat = ACCESS.sub(" ", "".join(pieces) + self.text[at:end])
        flat = OPERATOR.sub(" operator_", flat.replace("->", " "))
        while True:
            flat, count = TEMPLATE_ARGUMENTS.subn("", flat)
            if not count:
                return ANNOTATION.sub(" ", flat)

    def _read(self, begin, end, namespaces, owner):
        """Reads the declarations between two places: of a namespace, or of the body of the class `owner`."""
        start = at = begin
        while found := END_OF_HEAD.search(self.text, at, end):
            if found[0] == "(":
                at = self.closing[found.start()] + 1
                continue
            head = self._flat(start, found.start())
            if found[0] == ";":
                self._declaration(head, owner)
                start = at = found.end()
                continue
            close = self.closing[found.start()]
            if (named := NAMESPACE.match(head)) or LINKAGE.match(head):
                inner = (*namespaces, *(named[1] or "(anonymous)").split("::")) if named else namespaces
                self._read(found.end(), close, inner, None)
            elif ENUM.search(head):
                pass
            elif "()" not in head and "=" not in head and (described := CLASS.search(head)):
                self._class(described["name"], start, found.end(), close, namespaces, owner)
            elif self._is_initializer(head):
                at = close + 1  # the declaration goes on to its semicolon, the constructor to its body
                continue
            else:
                self._definition(head, self._lines(start, close), namespaces, owner)
            start = at = close + 1

    @staticmethod
    def _is_initializer(head):
        if "=" in head or "()" not in head:
            return True
        return bool(MEMBER_INITIALIZERS.search(head)) and re.search(r"\w\s*$", head) is not None

    def _class(self, name, start, begin, close, namespaces, owner):
        outer = owner.name.split("::") if owner else namespaces
        made = Class("::".join([*outer, name or "(unnamed)"]), self.file, 0, self._lines(start, close))
        if owner:
            owner.lines -= made.lines
        self.classes.append(made)
        self._read(begin, close, namespaces, made)

    def _declaration(self, head, owner):
        """`head` ends in a semicolon: is it a method?"""
        if owner and self._is_method(head, owner):
            owner.methods += 1

    @staticmethod
    def _is_method(head, owner):
        if re.match(r"\s*(?:(?:template|inline|constexpr)\s+)*(?:using|typedef|friend|static_assert)\b", head):
            return False
        before, _, value = head.partition("=")
        if value.strip() in ("default", "delete") or not (function := FUNCTION.search(before)):
            return False
        name = re.sub(r"\s", "", function["name"])
        own = name.lstrip("~") == owner.name.split("::")[-1]  # a constructor or destructor; else a type stands before it
        typed = re.search(r"\w", before[:function.start()]) is not None or name == "operator_"
        return (own or typed) and not re.match(r"\s*\(\)", before[function.end():])  # the type of a pointer to a function

    def _definition(self, head, lines, namespaces, owner):
        function = FUNCTION.search(head)
        if not function:
            return
        if owner:
            if not re.match(r"\s*friend\b", head):
                owner.methods += 1
                owner.sources[self.file] += 1
            return
        qualifiers = tuple(re.sub(r"\s", "", function["name"]).split("::")[:-1])
        if qualifiers:
            self.definitions.append(Definition(self.file, namespaces, qualifiers, lines))


def read_classes(sources):
    """The classes of {file: text}."""
    readers = [Reader(file, text) for file, text in sources.items()]
    # What a .cpp file declares is its own: two programs may each have their `Options`.
    shared, local = {}, {}
    for made in (made for reader in readers for made in reader.classes):
        if made.file.endswith(".cpp") or "(anonymous)" in made.name:
            local[made.file, made.name] = made
        else:
            shared[made.name] = made
    for reader in readers:
        for each in reader.definitions:
            for depth in range(len(each.namespaces), -1, -1):
                name = "::".join([*each.namespaces[:depth], *each.qualifiers])
                if made := local.get((each.file, name)) or shared.get(name):
                    made.lines += each.lines
                    made.sources[each.file] += 1
                    break
    for made in [*shared.values(), *local.values()]:
        made.sources = Counter({file: count for file, count in made.sources.items() if file.endswith(".cpp")})
    return [*shared.values(), *local.values()]


class House:
    """The sources below `root`. `moved`, {today's path: another path}, measures them as if they lay elsewhere."""

    def __init__(self, root, moved=None):
        moved = moved or {}
        self.text = {}
        for top in (*PRODUCT, "tests"):
            for path in sorted((Path(root) / top).rglob("*")):
                if path.suffix in (".h", ".cpp"):
                    name = path.relative_to(root).as_posix()
                    self.text[moved.get(name, name)] = path.read_text(encoding="utf-8")
        self.includes = {name: [moved.get(other, other) for other in INCLUDE.findall(text)]
                         for name, text in self.text.items()}
        self.config = moved.get(CONFIG, CONFIG)

    def product(self, suffix=""):
        return [name for name in self.text if name.startswith(PRODUCT) and name.endswith(suffix)]

    def lines_of(self, name):
        return self.text[name].count("\n")

    @cached_property
    def classes(self):
        return read_classes({name: self.text[name] for name in self.product()})

    def folders(self):
        """{folder: its .h and .cpp files} of the product."""
        return Counter(str(PurePosixPath(name).parent) for name in self.product())

    @cached_property
    def arrows(self):
        """{(folder, folder it includes from): ["file includes file", …]} of the product."""
        found = defaultdict(list)
        for name in self.product():
            here = str(PurePosixPath(name).parent)
            for other in self.includes[name]:
                if (there := str(PurePosixPath(other).parent)) != here:
                    found[here, there].append(f"{name} includes {other}")
        return found

    def mutual_folders(self):
        """Pairs of folders that include each other."""
        return sorted((one, other) for one, other in self.arrows if one < other and (other, one) in self.arrows)

    def circles(self):
        """Groups of folders each of which includes from all others of its group, be it through others."""
        beyond = defaultdict(set)
        for one, other in self.arrows:
            beyond[one].add(other)

        def reachable(start):
            seen, left = set(), [start]
            while left:
                for each in beyond[left.pop()] - seen:
                    seen.add(each)
                    left.append(each)
            return seen
        reach = {folder: reachable(folder) for folder in list(beyond)}
        groups = {frozenset(other for other in seen if folder in reach.get(other, ()))
                  for folder, seen in reach.items() if folder in seen}
        return sorted(sorted(group) for group in groups)

    def units_that_see(self, header, *tops):
        """(translation units that include `header`, be it through others; all translation units) of `tops`."""
        including = defaultdict(set)
        for name, others in self.includes.items():
            for other in others:
                including[other].add(name)
        seen, left = set(), [header]
        while left:
            for each in including[left.pop()] - seen:
                seen.add(each)
                left.append(each)
        units = [name for name in self.text if name.endswith(".cpp") and name.startswith(tops)]
        return len(seen.intersection(units)), len(units)

    def long_lines(self, over=COLUMNS, tops=(*PRODUCT, "tests")):
        """["file:line", …] of the lines with more characters, outside of tables that clang-format leaves alone."""
        return [f"{name}:{number}" for name, text in self.text.items() if name.startswith(tops)
                for number, line in enumerate(formatted(text).split("\n"), 1) if len(line) > over]

    def comment_share(self):
        """Of the lines of the product's .cpp files, how many have a comment, in per cent."""
        sources = self.product(".cpp")
        return 100 * sum(comment_lines(self.text[name]) for name in sources) / sum(map(self.lines_of, sources))


def table(house):
    """The figures as text."""
    out = []

    def row(what, value):
        out.append(f"{what:<46} {value}")

    for what, files in (("product", house.product()), ("tests", [name for name in house.text if name.startswith("tests")])):
        lines = sorted(map(house.lines_of, files))
        row(f"{what}: files, lines", f"{len(files)}, {sum(lines)}")
        row(f"{what}: median / p90 file, lines", f"{median(lines):.0f} / {lines[len(lines) * 9 // 10]}")
        row(f"{what}: files over 500 lines", sum(count > 500 for count in lines))
        over = len(house.long_lines(tops=("tests",) if what == "tests" else PRODUCT))
        row(f"{what}: lines over {COLUMNS} columns", f"{over} ({100 * over / sum(lines):.1f} %)")
    row("product: lines with a comment in .cpp files", f"{house.comment_share():.1f} %")
    out += ["", "largest classes                                methods   lines  .cpp"]
    for made in sorted(house.classes, key=lambda made: -made.lines)[:10]:
        out.append(f"  {made.name:<44} {made.methods:>7} {made.lines:>7} {len(made.sources):>5}")
    out += ["", "classes defined in more than one .cpp file     methods   lines  .cpp"]
    scattered = [made for made in house.classes if len(made.sources) > 1]
    for made in sorted(scattered, key=lambda made: (-len(made.sources), -made.lines)):
        out.append(f"  {made.name:<44} {made.methods:>7} {made.lines:>7} {len(made.sources):>5}")
    folders = house.folders()
    out += ["", "files per folder"] + [f"  {folder:<44} {count:>7}" for folder, count in folders.most_common(10)]
    out += [f"  loose in {folder:<35} {folders[folder]:>7}" for folder in ("daemons/common", "daemons/decide")]
    out += ["", "translation units that see config.h"]
    for top in (*PRODUCT, "tests"):
        seen, units = house.units_that_see(house.config, top + "/")
        out.append(f"  {top:<44} {seen:>7} of {units}")
    mutual = house.mutual_folders()
    out += ["", f"pairs of folders that include each other: {len(mutual)}"]
    out += [f"  {one} ({len(house.arrows[one, other])}) {other} ({len(house.arrows[other, one])})" for one, other in mutual]
    circles = house.circles()
    out += ["", f"circles of folders: {len(circles)}"] + ["  " + ", ".join(circle) for circle in circles]
    return "\n".join(out)


if __name__ == "__main__":
    print(table(House(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent.parent)))
