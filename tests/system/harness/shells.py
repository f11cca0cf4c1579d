"""Shells, and what each offers behind `postrider` by the script that is installed for it. bash is the machine's own; zsh and fish
lie where their packages put them, for the process alone.

    offers("zsh", [["message", "re"], ["status", ""]])      a list for each: the last word is what is typed so far
"""
import os
import subprocess
from pathlib import Path

from .mta import BUILD
from .unpacked import tree

SCRIPT = {"bash": BUILD / "conf/postrider", "zsh": BUILD / "conf/_postrider", "fish": BUILD / "conf/postrider.fish"}
END = "\x1e"

# Each reads its questions from standard input, one a line, a \x1f behind each word; and prints the candidates and END.
BASH = r"""
source "$1"
compopt() { :; }
while IFS= read -r line; do
    words=(postrider)
    while [[ $line ]]; do words+=("${line%%$'\x1f'*}"); line=${line#*$'\x1f'}; done
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _postrider
    printf '%s\n' "${COMPREPLY[@]}"
    printf '\x1e\n'
done
"""

# The completion system itself works only at a prompt: what the script calls of it prints instead what it would show.
ZSH = r"""
compdef() { :; }
show() { local each; for each; do [[ $each == ${words[CURRENT]##$prefix}* ]] && print -r -- $prefix$each; done; }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; show "$@"; }
compset() { prefix=${words[CURRENT]%%=*}=; }
_describe() { local -a all=("${(@P)@[-1]}"); show "${(@)all%%:*}"; }
_files() { if [[ ${1-} == -/ ]]; then show *(N/); else show *(N); fi; }
source $1
while IFS= read -r line; do
    words=(postrider "${(@ps:\x1f:)line%$'\x1f'}") CURRENT=$(($#words)) prefix=
    _postrider
    print $'\x1e'
done
"""

FISH = r"""
source $argv[1]
while read -l line
    set -l words (string split \x1f -- $line)
    set -e words[-1]
    set -l text postrider
    for word in $words[1..-2]
        test (count $words) -gt 1
        and set text "$text "(string escape -- $word)
    end
    complete -C "$text $words[-1]"
    echo \x1e
end
"""


def command(shell, script, cwd):
    if shell == "bash":
        return ["bash", "--norc", "-c", BASH, "bash", script]
    return [*start(shell, cwd), *{"zsh": ["-f", "-c", ZSH, "zsh"], "fish": ["--no-config", "-c", FISH]}[shell], script]


def start(shell, cwd=None):
    """The words that run zsh or fish where its package's files are in place."""
    layers = ":".join([f"{tree(shell)}/usr", "/usr"])
    mount = f'mount -t overlay overlay -o lowerdir={layers} /usr; cd "$0"; exec "$@"'
    program = next(each for each in (tree(shell) / f"usr/bin/{shell}", tree(shell) / f"bin/{shell}") if each.exists())
    return ["unshare", "--mount", "sh", "-ec", mount, cwd or os.getcwd(), program]


def offers(shell, questions, path="/usr/bin:/bin", cwd=None):
    """What it offers to each of the questions; descriptions are left out."""
    words = command(shell, SCRIPT[shell], cwd)
    done = subprocess.run(list(map(str, words)), input="".join("".join(f"{word}\x1f" for word in each) + "\n" for each in questions),
                          capture_output=True, text=True, env={"PATH": path, "HOME": "/", "TERM": "dumb", "LANG": "C.UTF-8"}, cwd=cwd, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    answers = done.stdout.split(f"{END}\n")[:-1]
    assert len(answers) == len(questions), done.stdout
    return [[line.partition("\t")[0] for line in each.splitlines() if line] for each in answers]
