"""Who gets how many copies, and which reply each recipient gets at RCPT: Postrider beside Debian's Postfix, in the same world
and with the same envelopes (harness/envelopes.py, envelope_cases.py). differential.toml lists what differs, with the
reasons. More envelopes, made up from a seed: `scripts/soak differential`."""
import tomllib
from pathlib import Path

import pytest

from harness.envelope_cases import named
from harness.envelopes import compare, run_both
from harness.ports import Block

pytestmark = pytest.mark.needs("root", "mounts")


def listed():
    """{(case, what): (Postrider's, Postfix's)}"""
    reasons = tomllib.loads((Path(__file__).parent / "differential.toml").read_text())["because"]
    lines = [line for reason in reasons for line in reason["differs"]]
    found = {(case, what): (ours, theirs) for case, what, ours, theirs in lines}
    assert len(found) == len(lines), "something is listed twice"
    assert all(reason["why"] for reason in reasons)
    return found


def test_envelopes_as_postfix_takes_them():
    found = {(case, what): (ours, theirs) for case, what, ours, theirs in compare(*run_both(named(), Block))}
    known = listed()
    new = [f"{[*key, *found[key]]}" for key in found if found[key] != known.get(key)]
    gone = [f"{[*key, *known[key]]}" for key in known if known[key] != found.get(key)]
    assert not new, "differs, and differential.toml does not say why:\n" + "\n".join(new)
    assert not gone, "is listed in differential.toml, and does not differ so:\n" + "\n".join(gone)
