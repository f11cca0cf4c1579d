"""The limits that keep the tree readable: how large a class or folder may be, and what may include what.

Each rule below has a limit, and a table of exceptions: what broke the rule when it was introduced, with its figure
then. An exception may shrink, not grow; nothing new may break the rule; and an exception that is no longer needed must be
removed from the table. So the tables only get shorter. `tests/layers/house_figures.py` prints all figures.
"""
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Callable

import pytest
from house_figures import COLUMNS, CONFIG, PRODUCT, Class, House, Unreadable, comment_lines, read_classes

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Rule:
    rule: str
    remedy: str
    limit: int
    figures: Callable  # of a House: {what is measured: its figure}
    exceptions: dict = field(default_factory=dict)  # {what: its figure when it was entered here}

    def complaints(self, house):
        figures, found = self.figures(house), []
        for what, figure in sorted(figures.items(), key=lambda each: (-each[1], each[0])):
            if what in self.exceptions and figure > self.exceptions[what]:
                found.append(f"{what}: {figure}; it is an exception, but must not grow beyond {self.exceptions[what]}")
            elif what not in self.exceptions and figure > self.limit:
                found.append(f"{what}: {figure}; at most {self.limit}")
        found += [f"{what}: now {figures.get(what, 0)}, within the limit of {self.limit}: remove its exception here"
                  for what in self.exceptions if figures.get(what, 0) <= self.limit]
        return found


def by_class(house, figure):
    """{class: its figure}; of classes that share a name, in .cpp files of their own, the largest."""
    found = {}
    for made in house.classes:
        found[made.name] = max(figure(made), found.get(made.name, 0))
    return found


def pairs(house):
    """{"folder <> folder": includes in the direction that has fewer}."""
    return {f"{one} <> {other}": min(len(house.arrows[one, other]), len(house.arrows[other, one]))
            for one, other in house.mutual_folders()}


RULES = {
    "class_in_one_file": Rule(
        "A class lives in one .cpp file.",
        "Split the class into two, each with its own state, or make functions that need no private state free functions.",
        1, lambda house: by_class(house, lambda made: len(made.sources)), {
        }),
    "methods": Rule(
        "A class has at most 60 methods.",
        "Find the second class in it: a group of functions that share some members and nothing else.",
        60, lambda house: by_class(house, lambda made: made.methods), {
        }),
    "class_lines": Rule(
        "A class, with all its functions, has at most 800 lines.",
        "Find the second class in it: a group of functions that share some members and nothing else.",
        800, lambda house: by_class(house, lambda made: made.lines), {
        }),
    "folder_size": Rule(
        "A folder has about 25 source files (.h and .cpp), 27 at most.",
        "Move the files that belong to one subject into a folder of their own.",
        27, House.folders, {}),
    "mutual_folders": Rule(
        "Two folders do not include each other. (The figure: includes in the direction that has fewer.)",
        "Decide which folder is below the other, and move what the lower one needs of the upper one down or into a third.",
        0, pairs, {}),
    "circles": Rule(
        "Folders do not include one another in circles. (The figure: folders that are in a circle.)",
        "As for two folders that include each other; `tests/layers/house_figures.py` lists the circles.",
        0, lambda house: {"folders in circles": sum(map(len, house.circles()))}, {}),
    "config_seen": Rule(
        f"At most 62 translation units of the daemons and libraries see {CONFIG}, the settings of all daemons at once.",
        "Include the header of the section that is needed, and take its struct as the parameter instead of config::Config.",
        62, lambda house: {"translation units that see config.h": house.units_that_see(house.config, *PRODUCT)[0]}, {}),
    "line_length": Rule(
        f"No line has more than {COLUMNS} columns, but for tables kept a row a line (clang-format off).",
        "scripts/lint --fix breaks them, but for texts: break those by hand.",
        0, lambda house: {line: 1 for line in house.long_lines()}, {}),
}


@pytest.fixture(scope="module")
def house():
    return House(ROOT)


@pytest.mark.parametrize("name", RULES)
def test_house(house, name):
    rule = RULES[name]
    found = rule.complaints(house)
    if found:
        pytest.fail(f"\nThe rule: {rule.rule}\nWhat to do: {rule.remedy}\n\n  " + "\n  ".join(found), pytrace=False)


# ---- that the figures are right, and the rules can fail ----

def test_rules_fail_for_what_is_new_or_grows_or_is_no_longer_needed():
    figures = {"fine": 2, "new": 3, "grown": 9, "shrunk": 5, "done": 2}
    rule = Rule("", "", 2, lambda house: figures, {"grown": 8, "shrunk": 7, "done": 4, "gone": 4})
    assert [line.split(":")[0] for line in rule.complaints(None)] == ["grown", "new", "done", "gone"]


HEADER = '''
    // class Commented { void no(); };
    #define BEGIN class Macro {
    namespace a::b {
    enum class Kind : int { one, two };
    template <class T> class Plain : public Base<T>, private std::vector<int> {
    public:
        explicit Plain(int size = {});
        Plain(const Plain&) = delete;
        ~Plain() override;
        [[nodiscard("why; not")]] std::optional<int> take(std::function<void(int)> then = [](int) { return; }) const;
        int inline_one() const { return f("}") + '}' + 1'000; }
        explicit operator bool() const;
        bool operator()(int, int) const noexcept;
        bool operator<(const Plain&) const;
        friend bool operator==(const Plain&, const Plain&) = default;
        friend void other(Plain& plain) { plain.x_ = 1; }
        using Call = void (*)(int);
        struct Nested {
            int a = 0, b = f();
            bool empty() const { return a == 0; }
            void outside();
        };
        enum Inner { x, y };

    private:
        std::function<void(std::string)> done_;
        std::map<int, std::vector<int>> map_ = {{1, {2}}};
        int x_{1}, y_ = f(2);
        void (*pointer_)(int);
        static_assert(sizeof(int) == 4);
        template <class A> void later(A&& a);
    };
    struct Declared;
    inline Plain<int> make() { return {}; }
    }
'''

SOURCE = '''
    #include "a/plain.h"
    namespace a {
    const char* text = R"(class Raw { void f(); )";
    namespace {
    struct Local { void run(); int value = 0; };
    void Local::run() {
        if (true) { return; }
    }
    }
    namespace b {
    template <class T> Plain<T>::Plain(int size) : Base<T>{size}, x_{2}, y_(3) {
        struct Hidden { void f() {} };
    }
    template <class T>
    Plain<T>::~Plain() {}
    template <class T> std::optional<int> Plain<T>::take(std::function<void(int)> then) const { return {}; }
    template <class T> auto Plain<T>::operator()(int, int) const noexcept -> bool { return true; }
    template <class T> void Plain<T>::Nested::outside() {
    }
    static auto table = std::to_array<int>({1, 2});
    void free_function(Plain<int> plain) {}
    }
    }
    a::b::Plain<int>::operator bool() const { return true; }
    extern "C" { void in_c(int) {} }
'''


def understood(*sources):
    return {made.name: made for made in read_classes({name: dedent(text) for name, text in sources})}


def test_classes_are_understood():
    classes = understood(("a/plain.h", HEADER), ("a/plain.cpp", SOURCE))
    assert set(classes) == {"a::b::Plain", "a::b::Plain::Nested", "a::(anonymous)::Local"}
    plain, nested, local = classes["a::b::Plain"], classes["a::b::Plain::Nested"], classes["a::(anonymous)::Local"]
    # Two constructors and destructors, take, inline_one, three operators, later.
    assert (plain.methods, nested.methods, local.methods) == (8, 2, 1)
    assert dict(plain.sources) == {"a/plain.cpp": 5} and dict(nested.sources) == {"a/plain.cpp": 1}
    assert plain.lines == (28 - 5) + 3 + 2 + 1 + 1 + 1 and nested.lines == 5 + 2 and local.lines == 1 + 3


def test_a_class_in_two_files_is_found():
    header = "namespace n { class C { void f(); void g(); struct D { void h(); }; }; }"
    classes = understood(("c.h", header), ("one.cpp", "namespace n { void C::f() {} void C::D::h() {} }"),
                         ("two.cpp", "using namespace n; namespace n { namespace {} void C::g() {} }"),
                         ("main.cpp", "struct C { void g(); }; void C::g() {}"))
    assert {name: len(made.sources) for name, made in classes.items()} == {"n::C": 2, "n::C::D": 1, "C": 1}


def test_brackets_that_do_not_match_are_reported():
    with pytest.raises(Unreadable, match=r"bad.cpp:2: unmatched \}"):
        read_classes({"bad.cpp": "void f() {}\n}\n"})


def test_comments_are_counted():
    assert comment_lines('int a; // one\n// two\nconst char* b = "// none";\n/* three\nfour */ int c;\n\n') == 4


def test_folders_that_include_each_other_are_found(tmp_path):
    for name, text in {"daemons/a/one.h": '#include "daemons/b/two.h"\n', "daemons/b/two.h": "",
                       "daemons/b/three.cpp": '#include "daemons/a/one.h"\n', "tests/t.cpp": '#include "daemons/a/one.h"\n',
                       "libsmtp/x.h": '  # include "libspool/y.h"\n', "libspool/y.h": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    small = House(tmp_path)
    assert small.mutual_folders() == [("daemons/a", "daemons/b")] and small.circles() == [["daemons/a", "daemons/b"]]
    assert small.units_that_see("daemons/b/two.h", "daemons", "libsmtp") == (1, 1)
    assert small.units_that_see("daemons/b/two.h", "tests") == (1, 1)
    assert not House(tmp_path, moved={"daemons/a/one.h": "daemons/b/one.h"}).mutual_folders()


def test_the_tree_is_understood(house):
    classes = {made.name: made for made in house.classes}
    loop = classes["common::Loop"]  # small enough to count: three of its nine methods are inline
    assert loop.methods == 9 and list(loop.sources.values()) == [6]
    assert len(classes) > 800 and isinstance(loop, Class)
