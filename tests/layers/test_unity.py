"""Files of one room can be compiled as one: what a .cpp file defines for itself has a name that no other file of its folder uses.

scripts/quickstart and the sanitizer builds compile several files of a room as one translation unit (meson's unity builds), in half
the time. There a name in an anonymous namespace, a `static` function or a using-declaration collides with one of the same name next
door. It would puzzle a reader, too. This test reads the text; the sanitizer build in CI is the proof.
"""
import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

from house_figures import PRODUCT, House, blanked

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)$")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
TYPE = re.compile(r"(?:template\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(\w+)")
FUNCTION = re.compile(r"(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
USING = re.compile(r"using\s+(?:(\w+)\s*=\s*)?([\w:]+)")


def declarations(text):
    """(namespace, is it in an anonymous one, text) of each declaration in a namespace; bodies and initializers are left out."""
    text = blanked(text)
    stack, start = [], 0  # of namespaces; None: another bracket
    for found in re.finditer(r"[{};]", text):
        head, outside = text[start:found.start()].strip(), None not in stack
        start = found.end()
        named = NAMESPACE.match(head)
        if outside and head and not named:
            yield "::".join(name for name in stack if name), "" in stack, head
        if found[0] == "{":
            stack.append(named[1] if named and outside else None)
        elif found[0] == "}" and stack:
            stack.pop()


def local_names(text):
    """{(namespace, name): kind} of what is the file's own. A function's kind has its parameters' types: others may overload it."""
    out = {}
    for namespace, anonymous, head in declarations(text):
        flat = head
        while TEMPLATE_ARGUMENTS.search(flat):
            flat = TEMPLATE_ARGUMENTS.sub("", flat)
        if flat.startswith("using") and not flat.startswith("using namespace"):
            if using := USING.match(flat):
                out[namespace, using[1] or using[2].split("::")[-1]] = "using " + using[2]
        elif not anonymous and not flat.startswith(("static ", "constexpr ", "const ")):
            continue
        elif named := TYPE.match(flat):
            out[namespace, named[1]] = "type"
        elif (function := FUNCTION.search(flat)) and "=" not in flat[:function.start()]:
            types = [re.sub(r"\s*\w+$", "", each.split("=")[0].strip()) for each in function[2].split(",")]
            out[namespace, function[1]] = "(" + ", ".join(types) + ")"
        else:
            for each in flat.split(","):
                if variable := VARIABLE.search(each.split("=")[0].strip()):
                    out[namespace, variable[1]] = "variable"
    return out


def collisions(sources):
    """["name: file, file", …] of {file: text} of one folder."""
    known = defaultdict(lambda: defaultdict(list))
    for file, text in sources.items():
        for name, kind in local_names(text).items():
            known[name][kind].append(file)
    out = []
    for (namespace, name), kinds in sorted(known.items()):
        files = sorted(file for group in kinds.values() for file in group)
        overloads = all(kind.startswith("(") and len(group) == 1 for kind, group in kinds.items())
        same_using = len(kinds) == 1 and next(iter(kinds)).startswith("using")
        if len(files) > 1 and not overloads and not same_using:
            out.append(f"{namespace}::{name}: {', '.join(files)}")
    return out


def test_file_local_names_are_unique_in_their_room():
    house, rooms = House(ROOT), defaultdict(dict)
    for file in house.product(".cpp"):
        rooms[PurePosixPath(file).parent][file] = house.text[file]
    found = [each for sources in rooms.values() for each in collisions(sources)]
    assert not found, "rename one of them, or give both files what they share from a header"


def test_collisions_are_found():
    one = ("#include <a>\nnamespace n {\nusing a::B;\nnamespace {\nconstexpr int x = f(1), y = 2;\nstruct S { int z; };\n"
           "int f(int a) { return z; }\nint g(int a) { int k = 0; return k; }\n}\nvoid C::h() {}\nstatic void s() {}\n}\n")
    two = "namespace n {\nusing c::B;\nnamespace {\nint y;\nusing S = int;\nint f(int b) { return b; }\nint g(char) { return 1; }\nvoid s();\n}\nint k;\n}"
    assert [each.split(":")[2] for each in collisions({"one": one, "two": two})] == ["B", "S", "f", "s", "y"]
    assert not collisions({"one": one, "two": one.replace("n {", "m {", 1)})
