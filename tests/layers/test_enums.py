"""One fact has one enumeration: none of ours is cast into another, nor turned into one by its place in a table.

A number becomes an enumerator where it comes from outside, from a loop over all of them or from a set of bits; where that
is done is listed here, with the reason. Two enumerations with the same words are one that has not found its home yet.
"""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = [path for folder in ("libsmtp", "libspool", "daemons") for path in sorted((ROOT / folder).rglob("*"))
           if path.suffix in (".h", ".cpp")]
ENUMS = {name for path in SOURCES for name in re.findall(r"\benum (?:class )?(\w+)", path.read_text())}
NAME = r"((?:\w+::)*[A-Z]\w*)"

# {(file, enumeration): where its number comes from}
FROM_NUMBERS = {
    ("daemons/decide/verification/verified_addresses.cpp", "Deliverability"): "a byte of a stored entry",
    ("daemons/common/tokens/token.cpp", "Scope"): "a place in the table of its names",
    ("libspool/format/envelope.h", "Notify"): "a set of bits",
    ("daemons/decide/message/dsn_requests.cpp", "Notify"): "a set of bits",
    ("daemons/decide/message/signing.h", "MailOrigin"): "a set of bits",
    ("daemons/common/filters/milter/message.cpp", "Notify"): "the bits of a parameter",
    ("daemons/smtpd/intake/message_intake.cpp", "Notify"): "the bits of a parameter",
    ("daemons/pickup/submitted_envelope.cpp", "Notify"): "the bits of a message from a program, checked",
    ("daemons/router/tls_totals.cpp", "TlsPolicyType"): "a number in a file, checked",
    ("daemons/router/tls_totals.cpp", "TlsResult"): "a number in a file, checked",
    ("daemons/common/process/daemon.cpp", "Role"): "a loop over all of them",
    ("daemons/common/config/sections/system/hook_keys.cpp", "EventType"): "a loop over all of them",
    ("daemons/events/hooks/cursor_file.cpp", "HookState"): "the place of its word in their list",
    ("daemons/queue-manager/events/message_events.cpp", "RecipientEnd"): "a loop over all of them",
    ("daemons/common/logging/metrics/registry.cpp", "Role"): "a loop over all of them",
    ("daemons/master/secrets/server_keys.cpp", "Role"): "a loop over all of them",
    ("daemons/metrics/metrics.cpp", "Role"): "a loop over all of them",
    ("daemons/common/delivery/report_texts.cpp", "ReportKind"): "a loop over all of them",
    ("daemons/smtp-client/auth/authenticator.cpp", "SaslMechanism"): "a loop over all of them",
    ("daemons/queue-manager/spool/spool_gauges.cpp", "SetAsideDirectory"): "a loop over all of them",
    ("daemons/queue-manager/control/pauses.cpp", "Scope"): "the place of its word in their list",
    ("daemons/decide/queue/filter.cpp", "Key"): "the place of its word in their list",
    ("daemons/decide/message/suppression_filter.cpp", "Key"): "the place of its word in their list",
}

# Tables from one to another whose words differ.
TABLES = {("daemons/common/process/daemon.cpp", "Severity"): "the configuration's levels are fewer, and the other way round"}


def last(name):
    return name.split("::")[-1]


def found_in_all(pattern):
    for path in SOURCES:
        for match in re.finditer(pattern, path.read_text()):
            yield str(path.relative_to(ROOT)), match


def test_casts_to_enumerations_are_known():
    casts = {(file, last(cast[1])) for file, cast in found_in_all(rf"static_cast<{NAME}>\(") if last(cast[1]) in ENUMS}
    assert len(ENUMS) > 100
    assert not casts - FROM_NUMBERS.keys(), "from what number? An enumeration is not cast into another one"
    assert not FROM_NUMBERS.keys() - casts, "is no longer done"


def test_no_enumeration_is_cast_into_another():
    """An enumerator, or a member that bears an enumeration's name in small letters ("outcome.fate"), is no number."""
    members = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in ENUMS} | {"kind"}
    wrong = [f"{file}: {cast[0]}" for file, cast in found_in_all(rf"static_cast<{NAME}>\(([^()]*)\)")
             if last(cast[1]) in ENUMS and (re.search(r"[A-Z]\w*::\w+$", cast[2]) or re.split(r"\.|->", cast[2])[-1] in members
                                            and re.search(r"\.|->", cast[2]))]
    assert not wrong, "\n".join(wrong)


def test_no_table_leads_from_one_enumeration_to_another():
    tables = {(file, last(table[1])) for file, table in found_in_all(rf"\bconstexpr {NAME} \w+\[\w*\] = \{{\s*{NAME}::\w+,")
              if last(table[1]) == last(table[2]) and last(table[1]) in ENUMS}
    assert tables == TABLES.keys()


def test_no_two_enumerations_are_asserted_to_be_equal():
    member = r"static_cast<\w+>\(((?:\w+::)+\w+)\)"
    wrong = [f"{file}: {both[0]}" for file, both in found_in_all(rf"{member}\s*==\s*{member}")]
    assert not wrong, "\n".join(wrong)
