"""What Debian's Postfix and Postrider did differently with the same sessions, and why: a list of reasons, each with its test.
A difference without one is for somebody to look at.

Knows replies, and the log's words for destinations. Must not know how either system was run."""
import dataclasses
import ipaddress
import re

from .migration_files import MAILNAME


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
    before: str = ""  # where the recipient's mail went in Postfix
    after: str = ""  # and in Postrider
    canonical: str = ""  # what is in the canonical tables
    is_whole_nowhere: bool = False  # Postfix took the message and sent it nowhere

    @property
    def why(self):
        """ "": nobody knows yet."""
        return next((why for kinds, applies, why in REASONS if kinds in ("any", self.kind, *(["not let in"] if self.kind != "let in" else [])) and applies(self)), "")

    def domain(self):
        return self.recipient.rpartition("@")[2].lower()

    def origin(self):
        """What a name without a domain gets."""
        return MAILNAME if self.settings["myorigin"].startswith("/") else self.settings["myorigin"].lower()

    def canonical_knows(self):
        return re.search(rf"^@?{re.escape(self.recipient)}\s|^{re.escape(self.recipient.partition('@')[0])}\s|^@{re.escape(self.domain())}\s|^/", self.canonical, re.MULTILINE | re.IGNORECASE)

    def inside(self):
        """Did a client of mynetworks say it?"""
        client = ipaddress.ip_address(self.session["client"])
        return any(client in each for each in map(network, words(self.settings["mynetworks"])) if each)

    def is_undecided(self, pattern):
        return any(re.search(pattern, each["guard"]) for each in self.undecided)


PROGRAM = r"pipe|temporary failure|Command|mail transport unavailable"
NO_PARTNER = r"No such file or directory|Connection refused|execvp|mail transport unavailable"
CANONICAL = {"canonical_maps", "recipient_canonical_maps"}
# What a rule says, as against what an error says.
RULES = re.compile(r"^\d{3} (?!\d\.3\.).*(Relay access denied|User unknown|unverified address|need fully-qualified|(Access|access) denied|blocked using|[Nn]ot found|cannot find your|"
                   r"rejected|Authentication required|encryption is required|listed here|Multi-recipient bounce)")
OK_RELAYS = re.compile(r"check_(client|helo|sender|recipient)\w*_access")


def both(d, pattern):
    return re.search(pattern, d.theirs) and re.search(pattern, d.ours)


def hard(reply):
    """As it is without soft_bounce."""
    return re.sub(r"^4(\d\d) 4\.", r"5\1 5.", reply)


def from_filter(d):
    """To a listener that is not for strangers and people."""
    return d.session["port"] not in (25, 465, 587)


def words(text):
    return re.split(r"[\s,]+", text.lower())


def dotless(address):
    return "@" in address and "." not in address.rpartition("@")[2]


def before_end(settings):
    """The restrictions that decide about relaying."""
    return re.split(r"\b(?:reject|defer)_unauth_destination", f"{settings['smtpd_relay_restrictions']} {settings['smtpd_recipient_restrictions']}")[0]


def network(word):
    try:
        return ipaddress.ip_network(re.sub(r"^\[(.*)\]", r"\1", word), strict=False)
    except ValueError:
        return None


def dotless_named(d):
    """The refusal names an address whose domain Postfix completed."""
    return any(dotless(each) and f"<{each}>" in d.theirs for each in (d.recipient, d.session["sender"]))


def loops_to(d):
    """The domain that ours says is this host."""
    found = re.search(r"mail for (\S+) loops back to myself", d.ours)
    return found[1].lower() if found else None


def trusted(d):
    """Does the client's address alone permit relaying in Postfix?"""
    return d.inside() and "permit_mynetworks" in before_end(d.settings)


def rule_of(reply):
    """The text behind codes and addresses: "Helo command rejected: Host not found"."""
    return re.sub(r"^\d{3} \d\.\d\.\d |<[^>]*>", "", reply)


# Why Postrider does otherwise, on purpose or because Postfix cannot do what it was told. (The kind, the test, the reason.)
REASONS = (
    # Lost, and in [undecided]: a line about it has to be deleted before Postrider starts.
    ("let in", lambda d: "Sender address rejected: User unknown" in d.theirs and d.is_undecided("unlisted_sender"), "undecided: senders are not looked up"),
    ("destination", lambda d: d.is_undecided("content_filter") and re.search(PROGRAM, d.theirs), "undecided: a content filter that is a program, or is not there"),
    ("destination", lambda d: re.search(r"has \"[\w-]+:\" for .*: not a valid next hop", d.ours) and d.settings["transport_maps"].startswith(("pcre:", "regexp:")),
     "a transport of a table of patterns that sends no mail, or whose name the pattern makes, is named: mail waits"),
    ("destination", lambda d: d.theirs == "nothing more" and d.is_undecided("smtpd_proxy_filter"), "undecided: a filter during the session"),
    ("let in", lambda d: d.theirs.startswith("550 5.7.1") and d.stage.startswith("dot") and d.is_undecided("^(header|mime_header|body)_checks"), "undecided: rules for headers and bodies"),
    ("destination", lambda d: (d.domain() in words(d.settings["mydestination"]) or "@" not in d.recipient or "pipe_command" in d.theirs) and d.is_undecided("^(local_transport|mailbox_transport)"),
     "undecided: another transport for users of this system"),
    ("let in", lambda d: "Recipient address rejected" in d.theirs and d.is_undecided("^(default|relay)_transport"), "undecided: a transport that keeps mail from leaving"),
    ("destination", lambda d: "bounced" in d.theirs and d.is_undecided("^(default|relay)_transport"), "undecided: a transport that keeps mail from leaving"),
    ("refused", lambda d: "User unknown in local recipient table" in d.ours and d.is_undecided("^local_recipient_maps"),
     "undecided: recipients that only another server knows"),
    ("let in", lambda d: "User unknown in local recipient table" in d.theirs and d.is_undecided("^local_recipient_maps"),
     "undecided: recipients that only another server knows"),
    ("refused", lambda d: "User unknown in virtual mailbox table" in d.ours and d.is_undecided("^virtual_mailbox_domains: there is no virtual_mailbox_maps"),
     "undecided: domains of mailboxes without a table of mailboxes"),
    ("destination", lambda d: "User unknown in virtual mailbox table" in d.ours and d.is_undecided("^virtual_mailbox_domains: there is no virtual_mailbox_maps"),
     "undecided: domains of mailboxes without a table of mailboxes"),
    ("destination", lambda d: d.is_undecided("^relayhost"), "undecided: a relayhost that is none"),
    ("refused", lambda d: d.ours.startswith("451 4.3.5") and d.is_undecided(r"check_\w+_access"), "undecided: what an access table asks for"),
    # Postfix cannot do what it was told.
    ("any", lambda d: re.search(r"^4\d\d 4\.3\.[05].*(error|failure)|^421 4\.3\.2 No system resources", d.theirs), "Postfix cannot work as it is configured here: a table, a service or a program is missing"),
    ("destination", lambda d: "mail system configuration error" in d.theirs, "Postfix cannot work as it is configured here: a table, a service or a program is missing"),
    ("refused", lambda d: "User unknown in" in d.ours and d.is_whole_nowhere, "Postfix discards the message, whoever its recipients are"),
    ("any", lambda d: d.session["starttls"] and "Must issue a STARTTLS" in d.theirs, "Postfix cannot work as it is configured here: a table, a service or a program is missing"),
    ("let in", lambda d: "Multi-recipient bounce" in d.theirs and d.recipient != d.session["recipients"][0], "a recipient before it is not taken: it is the only one"),
    ("any", lambda d: "SSLError" in d.theirs or "Cannot start TLS" in d.theirs, "Postfix offers no version of TLS that a client of today speaks"),
    # Addresses.
    ("not let in", lambda d: "%" in d.recipient, "user%domain@host is not taken for user@domain"),
    ("not let in", lambda d: "@[" in d.recipient, "mail to [address] of this host is not taken for local"),
    ("let in", lambda d: "@[" in d.recipient and d.inside() and re.search("User unknown in local|local mail delivery is disabled", d.theirs) and "bounced" in d.after, "mail to [address] of this host is not taken for local"),
    # A local name, perhaps one that a regular expression has; it must not lead to where the % points.
    ("let in", lambda d: "%" in d.recipient and "Relay access denied" in d.theirs and "remote.example" not in d.after,
     "user%domain@host is not taken for user@domain"),
    ("any", lambda d: d.recipient.endswith(".") and d.ours.startswith("501 5.1.3"), "a domain does not end with a dot"),
    ("any", lambda d: "@" not in d.recipient and hard(d.ours).startswith("550 5.1.3") and not trusted(d), "strangers' recipients need a domain"),
    ("any", lambda d: d.session["sender"] and "@" not in d.session["sender"] and hard(d.ours).startswith("553 5.1.7") and not trusted(d), "strangers' senders need a domain"),
    ("let in", lambda d: d.settings["append_dot_mydomain"] == "yes" and dotless_named(d) and ("Relay access" not in d.theirs or d.domain() in words(d.settings["mydestination"])),
     "append_dot_mydomain: a domain without a dot is not completed"),
    ("not let in", lambda d: d.settings["append_dot_mydomain"] == "yes" and (dotless(d.recipient) or dotless(d.session["sender"])),
     "append_dot_mydomain: a domain without a dot is not completed"),
    ("destination", lambda d: d.settings["append_dot_mydomain"] == "yes" and dotless("@" + d.origin()) and "@" not in d.recipient,
     "append_dot_mydomain: a domain without a dot is not completed"),
    # Who may do what.
    ("let in", lambda d: d.recipient.lower().partition("@")[0] == "postmaster" and "blocked using" in d.theirs, "postmaster can be written to from everywhere"),
    ("any", lambda d: hard(d.ours).startswith("530 5.7.0 Authentication") and (d.kind != "refused" or not trusted(d) or d.recipient.lower() == "postmaster"), "a submission port is for those who log in: others are refused at MAIL"),
    ("any", lambda d: "only content filters send mail here" in d.ours, "a listener that takes mail back from a filter refuses all others at MAIL"),
    ("let in", lambda d: d.theirs.startswith("550 5.1.1") and "User unknown" not in d.theirs and d.inside() and "bounced" in d.after,
     "transports of other domains are not looked up at RCPT: the mail is returned"),
    ("refused", lambda d: "User unknown in" in d.ours and from_filter(d), "unknown recipients are refused by every listener, also by those for filters"),
    ("refused", lambda d: "User unknown in" in d.ours and CANONICAL & {name for name, value in d.settings.items() if value} and d.canonical_knows(),
     "a recipient is not known because a canonical table knows it: its result has to be"),
    ("refused", lambda d: "Relay access denied" in d.ours and OK_RELAYS.search(before_end(d.settings)), "OK in an access table does not permit relaying"),
    ("refused", lambda d: "not owned by user" in d.ours or "not logged in" in d.ours, "senders are held to their own addresses"),
    # Where it goes.
    ("destination", lambda d: "there is an account, but AUTH was not offered" in d.after, "where there is an account, mail waits until AUTH is offered"),
    ("let in", lambda d: d.theirs.startswith(("501 5.1.3", "501 5.1.7")) and not re.fullmatch(r"[\w.-]+|/\S+", d.settings["myorigin"]), "Postfix cannot complete names, because its origin is not a domain"),
    ("destination", lambda d: d.settings["mailbox_transport"].startswith("lmtp:") and re.search(r"bounced \(unknown user: ", d.ours) and re.search("deferred|sent", d.theirs),
     "mailbox_transport is for users of this system: other names that aliases have are returned"),
    ("destination", lambda d: ".onion" in d.theirs and "Name service error" in d.ours, "names below .onion are not asked in DNS (RFC 7686)"),
    ("destination", lambda d: both(d, r"Command died with status 12[67]") and "deferred" in d.ours,
     "a program that is missing is a mistake of this host: mail waits"),
    ("destination", lambda d: "cannot append message to file" in d.theirs and "not permitted" in d.ours, "a file that cannot be written is a mistake of this host: mail waits"),
    ("destination", lambda d: d.theirs == "here sent (discarded)" and d.recipient.lower().partition("@")[0] in ("postmaster", "mailer-daemon"),
     "postmaster without an alias is root, and root is somebody: Postfix discards that mail"),
    ("destination", lambda d: "mail for root is never written to a mailbox" in d.ours, "mail for root waits for an alias"),
    ("destination", lambda d: loops_to(d) and d.settings["myhostname"].lower() in (loops_to(d), f"mx.{loops_to(d)}"),
     "an MX host that is called like this one is this one"),
    ("destination", lambda d: dotless("@" + d.settings["myorigin"]) and ".localdomain" in d.ours, "the origin has a dot: .localdomain is added to one without"),
    ("destination", lambda d: d.before == "" and d.settings["default_destination_rate_delay"] not in ("0", "0s") and "next hop" not in d.ours,
     "default_destination_rate_delay applies to mail for other systems only: Postfix still waits"),
    ("destination", lambda d: "deferred" in d.theirs and "deferred" in d.ours and both(d, NO_PARTNER) and "next hop" not in d.ours, "both wait, for partners that are not here"),
    ("destination", lambda d: d.settings["virtual_mailbox_maps"] and re.search("deferred|sent", d.theirs) and re.search(r"bounced \(User unknown in virtual mailbox table(; User unknown in virtual mailbox table)*\)", d.ours),
     "addresses that virtual_mailbox_maps lacks are returned, also those from an alias or a filter"),
    ("destination", lambda d: (from_filter(d) or d.settings["content_filter"] and re.match(r"127\.0\.0\.1:\d+ sent", d.ours)) and d.theirs == "nothing more" and
     "deferred" not in d.ours, "aliases are expanded when a filter has sent mail back, not before"),
    ("destination", lambda d: from_filter(d) and {"header_checks", "body_checks"} & {name for name, value in d.settings.items() if value} and "sent" in d.theirs and "deferred" not in d.ours,
     "rules for headers and bodies are not applied again to what a filter sends back"),
    ("destination", lambda d: d.recipient == "postmaster" and d.origin() not in words(d.settings["mydestination"]),
     "postmaster without a domain is an alias of this system, whatever class the origin is of"),
    # The same in other words.
    ("other refusal", lambda d: d.theirs.startswith("454 4.7.1") and "Relay access denied" in d.theirs and RULES.search(d.ours), "relaying is refused for good, not for now"),
    ("other refusal", lambda d: "No client certificate presented" in d.theirs and "Client certificate rejected" in d.ours, "the same rule refuses it, with another code"),
    ("other refusal", lambda d: "reject_code" in " ".join(d.settings) and rule_of(d.theirs) == rule_of(d.ours), "reply codes are fixed: …_reject_code"),
    ("other refusal", lambda d: d.ours[0] == "5" and d.theirs[0] == "4" and RULES.search(d.ours), "several rules refuse it, and one for good comes first"),
    ("other refusal", lambda d: d.ours[0] == "4" and d.theirs[0] == "5" and RULES.search(d.ours), "several rules refuse it, and one for now comes first"),
    ("other reply", lambda d: rule_of(d.theirs) == rule_of(d.ours), "the same rule refuses it, with another code"),
    ("other reply", lambda d: d.theirs[0] == d.ours[0] and RULES.search(d.ours), "several rules refuse it, and another comes first"),
)


def code_of(reply):
    last = reply.rpartition(" / ")[2]  # a greeting may end in a refusal
    return last[:3] if last[:3].isdigit() else last.partition(" ")[0]


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
                if word.get(code_of(reply)[0]) not in ("taken",) and stage != "starttls":
                    break
        found[recipient] = (word.get(code_of(deciding[1])[0], "closed") if deciding else "nothing", *(deciding or ("", "")))
    return found


def path_of(recipient):
    """Without a source route."""
    return recipient.rpartition(":")[2].lower() if recipient.startswith("@") else recipient.lower()


def destinations(session, went):
    """{recipient: {where and how it ended: the log's text}}, and the recipients whose mail somebody else of the session got."""
    found, covered = {}, set()
    whole = {path_of(each) for each in session["recipients"]}
    bare = {each for each in whole if "@" not in each}
    for who, where, status, text in went:
        local = who.partition("@")[0]
        name = local if local in bare and who not in whole else who
        if status == "covered":
            covered.add(name)
        else:
            status = "deferred" if status == "SOFTBOUNCE" else status  # soft_bounce
            places, place = found.setdefault(name, {}), "bounced" if status == "bounced" else f"{where.lower()} {status}"
            places[place] = f"{places[place]}; {text}" if place in places else text
    return found, covered


def without_renamed(here, there):
    """Names that only one log has, and places that are the same: of an address that a canonical table changed, say, of which one
    system shows what came and the other what it became."""
    for who in sorted(here.keys() - there.keys()):
        other = next((each for each in sorted(there.keys() - here.keys()) if there[each].keys() == here[who].keys()), None)
        if other:
            del here[who], there[other]


def compare(sessions, theirs, ours, settings, undecided, canonical=""):
    """[Difference], and how many fates and destinations were compared."""
    found, recipients, places = [], 0, 0
    for session in sessions:
        number = str(session["number"])

        def note(kind, *what, session=session):
            found.append(Difference(kind, session, *what, settings, undecided, canonical=canonical))
        left, right = fates(session, theirs["replies"].get(number, [])), fates(session, ours["replies"].get(number, []))
        (here, _), (there, once) = (destinations(session, each["went"].get(f"m{number}", [])) for each in (theirs, ours))
        same = True
        for recipient, (a, stage_a, reply_a) in left.items():
            b, stage_b, reply_b = right[recipient]
            recipients += 1
            if a != b:
                same = False
                kind = "let in" if b == "taken" else "refused" if a == "taken" else "other refusal"
                note(kind, recipient, f"{stage_a} / {stage_b}", reply_a, reply_b)
                found[-1].after = " ".join(there.get(path_of(recipient), {}))
                found[-1].is_whole_nowhere = a == "taken" and not theirs["went"].get(f"m{number}")
            elif code_of(reply_a) != code_of(reply_b):
                note("other reply", recipient, f"{stage_a} / {stage_b}", reply_a, reply_b)
        if not same:
            continue
        anywhere = {place for places_of_one in there.values() for place in places_of_one}
        for who in once:
            here.pop(who, None)
            there.pop(who, None)
        without_renamed(here, there)
        for who in sorted({*here, *there}):
            places += 1
            a, b = here.get(who, {}), there.get(who, {})
            waits = any(place.endswith(" deferred") for place in anywhere)
            # A mailbox gets one copy.
            once_for_all = b.keys() <= a.keys() and all(place in anywhere or place.endswith(" deferred") and waits for place in a.keys() - b.keys())
            if a.keys() != b.keys() and not (once_for_all and len(session["recipients"]) > 1):
                def say(mine, other):
                    return "; ".join(f"{what} ({mine[what]})" for what in sorted(mine.keys() - other.keys())) or "nothing more"
                note("destination", who, "", say(a, b), say(b, a))
                found[-1].before, found[-1].after = " ".join(a.values()), " ".join(b.values())
    return found, recipients, places
