"""What Debian's Postfix and Postrider did differently with the same sessions, and why: a list of reasons, each with its test.
A difference without one is for somebody to look at.

Knows replies, and the log's words for destinations. Must not know how either system was run."""
import dataclasses
import re


@dataclasses.dataclass
class Difference:
    """`kind`: "let in" what Postfix refuses, "refused" what it takes, "other refusal", "other reply" with the same result,
    "destination". `theirs`, `ours`: the replies that decided, or where the mail went."""
    kind: str
    session: dict
    recipient: str
    stage: str
    theirs: str
    ours: str
    settings: dict = dataclasses.field(default_factory=dict)
    undecided: list = dataclasses.field(default_factory=list)

    @property
    def why(self):
        """ "": nobody knows yet."""
        return next((why for kinds, applies, why in REASONS if kinds in ("any", self.kind) and applies(self)), "")

    def domain(self):
        return self.recipient.rpartition("@")[2].lower()

    def is_undecided(self, pattern):
        return any(re.search(pattern, each["guard"]) for each in self.undecided)


def both(d, pattern):
    return re.search(pattern, d.theirs) and re.search(pattern, d.ours)


# Why Postrider does otherwise, on purpose or because Postfix cannot do what it was told. (The kind, the test, the reason.)
REASONS = (
    ("any", lambda d: re.search(r"^4\d\d 4\.3\.[05].*(error|failure)", d.theirs), "Postfix cannot work as it is configured here: a table, a service or a program is missing"),
    ("any", lambda d: "SSLError" in d.theirs, "Postfix offers no version of TLS that a client of today speaks"),
    ("any", lambda d: "%" in d.recipient, "user%domain@host is not taken for user@domain"),
    ("any", lambda d: "@[" in d.recipient, "mail to [address] of this host is not taken for local"),
    ("any", lambda d: "@" not in d.recipient and d.ours.startswith("550 5.1.3"), "strangers' recipients need a domain"),
    ("any", lambda d: d.session["sender"] and "@" not in d.session["sender"] and d.ours.startswith("553 5.1.7"), "strangers' senders need a domain"),
    ("any", lambda d: d.ours.startswith("530 5.7.0 Authentication"), "a submission port is for those who log in: others are refused at MAIL"),
    ("any", lambda d: "." not in d.domain() and d.settings.get("append_dot_mydomain") == "yes",
     "append_dot_mydomain: a domain without a dot is not completed"),
    ("refused", lambda d: "not owned by user" in d.ours or "not logged in" in d.ours, "senders are held to their own addresses"),
    ("other refusal", lambda d: d.theirs.startswith("454 4.7.1") and d.ours[0] == "5", "relaying is refused for good, not for now"),
    ("other refusal", lambda d: {d.theirs[0], d.ours[0]} <= {"4", "5"}, "several rules refuse it, and another comes first or says it otherwise"),
    ("other reply", lambda d: True, "another rule or another code says the same"),
    ("destination", lambda d: re.search(r"bounced \(Command died with status 12[67]", d.theirs) and re.search(r"deferred \(Command died with status 12[67]", d.ours),
     "a program that is missing is this host's mistake: mail waits"),
)


def code_of(reply):
    return reply[:3] if reply[:3].isdigit() else reply.partition(" ")[0]


def outcome(text):
    """Without what is only this session's."""
    return re.sub(r"queued as \w+|<[^>]*>|\d+\.\d+\.\d+\.\d+|\b[0-9A-F]{10,}\b|m\d+|\[[^\]]*\]", "~", text)[:110]


def fates(session, said):
    """{recipient: what became of it: taken, later, refused, closed}, and the reply that decided it."""
    replies, found = dict(said), {}
    word = {"2": "taken", "3": "taken", "4": "later", "5": "refused"}
    for recipient in session["recipients"]:
        deciding = None
        for stage in ("greeting", "hello", "starttls", "mail", f"rcpt {recipient}", "data", "dot", "end"):
            reply = replies.get(stage)
            if reply is not None:
                deciding = (stage.split()[0], reply)
                if word.get(reply[0]) not in ("taken",) and stage != "starttls":
                    break
        found[recipient] = (word.get(deciding[1][0], "closed") if deciding else "nothing", *(deciding or ("", "")))
    return found


def destinations(session, went):
    """{recipient: {where and how it ended: the log's text}}, and the recipients whose mail somebody else of the session got."""
    found, covered = {}, set()
    bare = {each.lower() for each in session["recipients"] if "@" not in each}
    for who, where, status, text in went:
        local = who.partition("@")[0]
        name = local if local in bare and who not in session["recipients"] else who
        if status == "covered":
            covered.add(name)
        else:
            found.setdefault(name, {})[f"{where} {status}"] = text
    return found, covered


def compare(sessions, theirs, ours, settings, undecided):
    """[Difference], and how many fates and destinations were compared."""
    found, recipients, places = [], 0, 0
    for session in sessions:
        number = str(session["number"])

        def note(kind, *what, session=session):
            found.append(Difference(kind, session, *what, settings, undecided))
        left, right = fates(session, theirs["replies"].get(number, [])), fates(session, ours["replies"].get(number, []))
        same = True
        for recipient, (a, stage_a, reply_a) in left.items():
            b, stage_b, reply_b = right[recipient]
            recipients += 1
            if a != b:
                same = False
                kind = "let in" if b == "taken" else "refused" if a == "taken" else "other refusal"
                note(kind, recipient, f"{stage_a} / {stage_b}", reply_a, reply_b)
            elif code_of(reply_a) != code_of(reply_b):
                note("other reply", recipient, f"{stage_a} / {stage_b}", reply_a, reply_b)
        if not same:
            continue
        (here, _), (there, once) = (destinations(session, each["went"].get(f"m{number}", [])) for each in (theirs, ours))
        for who in sorted({*here, *there} - once):
            places += 1
            a, b = here.get(who, {}), there.get(who, {})
            if a.keys() != b.keys():
                def say(mine, other):
                    return "; ".join(f"{what} ({mine[what]})" for what in sorted(mine.keys() - other.keys())) or "nothing more"
                note("destination", who, "", say(a, b), say(b, a))
    return found, recipients, places
