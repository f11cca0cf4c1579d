"""A recipe of the manual (man/recipes), read as its reader does: what to install, what to write into which file, which
commands to run. Nothing of it is changed: the machine of the test has the names, paths and ports of the page.

    In the page                                            Here
    .Dl apt install rspamd                                 recipe.packages
    Add to .Pa /etc/postrider/postrider.toml : .Bd …       keys are put below the headings of their sections
    Add to .Pa FILE : .Bd …                                lines are appended
    Write to .Pa FILE : .Bd …                              the whole file
    any other .Bd, and .Dl                                 commands for root's shell
"""
import re
from dataclasses import dataclass
from pathlib import Path

from .watch import wait_until

PAGES = Path(__file__).resolve().parents[3] / "man/recipes"


@dataclass
class Step:
    section: str  # the heading it is below
    file: str     # to be written; "" for commands
    append: bool
    text: str


def plain(text):
    """As man(1) shows it."""
    for macro, char in (("\\e", "\\"), ("\\&", ""), ("\\(dq", '"'), ("\\(aq", "'"), ("\\-", "-"), ("\\(ha", "^"), ("\\(ti", "~")):
        text = text.replace(macro, char)
    return text


class Recipe:
    def __init__(self, name):
        self.page = (PAGES / name).read_text()
        self.steps, section, said = [], "", ""
        block = None
        for line in self.page.splitlines():
            if block is not None:
                if line == ".Ed":
                    self._add(section, said, block)
                    block, said = None, ""
                else:
                    block += plain(line) + "\n"
            elif head := re.match(r"\.S[hs] (.*)", line):
                section, said = head[1], ""
            elif line.startswith(".Bd -literal"):
                block = ""
            elif command := re.match(r"\.Dl (.*)", line):
                self._add(section, "", plain(command[1]) + "\n")
            elif line != ".Pp":
                said += line + "\n"
        self.packages = [word for step in self.steps for line in step.text.splitlines() if line.startswith("apt install ")
                         for word in line.split()[2:] if not word.startswith("-")]

    def _add(self, section, said, text):
        file = re.search(r"\b(add|write) to(?: .*)?\n\.Pa (/\S+) ?:\n$", said, re.I)
        self.steps.append(Step(section, file[2] if file else "", bool(file) and file[1].lower() == "add", text))

    def of(self, section):
        found = [step for step in self.steps if step.section == section]
        assert found, f"no section {section} with anything to do in it"
        return found

    def follow(self, section, machine, units=None):
        """Does what the section says, on that machine; the output of each command. `units`: what "systemctl restart NAME"
        does, {name: function}."""
        outputs = []
        for step in self.of(section):
            if step.file.startswith("/etc/postrider/postrider.toml"):
                machine.configure(step.text)
            elif step.file:
                before = machine.read(step.file) if step.append and machine.path(step.file).exists() else ""
                machine.write(step.file, before + step.text)
            else:
                outputs += [self._run(command, machine, units or {}) for command in commands(step.text)]
        return [output for output in outputs if output is not None]

    def _run(self, command, machine, units):
        if command.startswith("apt install "):
            return None
        if unit := re.fullmatch(r"systemctl (?:re)?start (.*)|systemctl reload (.*)|systemctl enable --now (.*)", command):
            for name in next(filter(None, unit.groups())).split():
                units.get(name, machine.restart_postrider if name == "postrider" else None)()
            return None
        output = machine.run(command, check=not command.startswith("swaks "))  # which fails if a server rejects, as it should
        # A reader types the next command when the first attempt has been made.
        if queued := re.search(r"250 2\.0\.0 Ok: queued as ([0-9A-F]+)", output):
            machine.wait_log(f"{queued[1]}: to=.* status=")
        elif "| mail " in command:
            wait_until(lambda: "Mail queue is empty" in machine.run("mailq"), 20, lambda: f"what was sent to arrive\n{machine.said()}")
        return output


def commands(text):
    """One for each line, but for those that continue the one before: a backslash, an indent, a here document."""
    found, rest = [], text.splitlines()
    while rest:
        command = rest.pop(0)
        while rest and (command.endswith("\\") or re.match(r"\s", rest[0])):
            command += "\n" + rest.pop(0)
        if end := re.search(r"<< *'?(\w+)'?", command):
            while True:
                command += "\n" + rest.pop(0)
                if command.endswith("\n" + end[1]):
                    break
        if command.strip():
            found.append(command)
    return found
