"""The program behind `scripts/soak differential`: random lists of recipients from a seed through Postrider and Debian's
Postfix. Addresses that test_differential.py knows to differ when they are alone are left out; what the rules of
differential.toml allow for the others (once for each final address, not once for each way to it) is taken into account.

  differential.py [ENVELOPES [SEED]]
"""
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.envelope_cases import made_up  # noqa: E402
from harness.envelopes import run_both  # noqa: E402
from harness.network import enter_own_network  # noqa: E402
from harness.ports import Block  # noqa: E402
from test_differential import listed  # noqa: E402


def who(outcome):
    """Replies, and who is reached in which way, however often, in whatever case and for whatever list."""
    return {(what, value) if what.startswith(("mail", "rcpt", "data")) else what.partition(" from <")[0].lower()
            for what, value in outcome.found.items()}


def too_often(ours, theirs):
    """What got a message, or ran, more than once, and more often than with Postfix."""
    return [what for what, count in ours.found.items()
            if what.startswith(("to ", "ran ", "in file")) and count > max(1, theirs.found.get(what, 0))]


def main():
    count, seed = int((sys.argv[1:2] or [500])[0]), int((sys.argv[2:3] or [random.randrange(10**6)])[0])
    print(f"seed {seed}, {count} envelopes", flush=True)
    if not enter_own_network():
        sys.exit("differential: needs root (users, mounts)")
    alone = {case for case, _ in listed()}
    envelopes, ours, theirs = run_both(made_up(seed, count, alone), Block)
    wrong = 0
    for number, envelope in envelopes.items():
        differ = who(ours[number]) ^ who(theirs[number])
        twice = too_often(ours[number], theirs[number])
        if differ or twice:
            wrong += 1
            print(f"{envelope.recipients}\n  Postrider: {ours[number].found}\n  Postfix:   {theirs[number].found}\n  differs: {sorted(map(str, differ))}"
                  f"\n  twice: {twice}")
    print(f"{wrong} of {count} envelopes differ without a listed reason")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
