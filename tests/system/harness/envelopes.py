"""The same envelopes into Postrider and into Debian's Postfix, in the same world of aliases, lists and domains: what each
recipient is answered at RCPT, and who gets how many copies in the end. What differs is named case by case.

An Outcome says of one envelope, in words that do not depend on the system:
  mail, rcpt 1, rcpt 2 …   the reply: code and enhanced status
  to mailbox ann, to one@remote.example, ran cmd …, in file file   how many copies
  reported one@remote.example   the status the sender was told; "waits": how many messages still wait
"""
import mailbox
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .client import Client, message
from .mta import parse_mailq
from .side_by_side import Homes, Ours, Theirs, remove, traversable
from .sink import Sink
from .watch import wait_until

ALIASES = """\
postmaster: ann
root: ann
team: ann, bob
team2: bob, carol
nested: team, team2, ann
self: self, bob
carol: carol, far@remote.example
loop1: loop2
loop2: loop1
loopmore: loop1, bob
selfdomain: selfdomain@test.example
out: one@remote.example, two@remote.example
outdup: one@remote.example, ONE@remote.example, One@Remote.Example
list: :include:{folder}/members
owner-list: bob
list2: :include:{folder}/members2
owned: one@remote.example, ann
owner-owned: refuse-owner@remote.example
MixedCase: ann
"with blank": ann
cmd: "|{folder}/run cmd"
cmd2: "|{folder}/run cmd2"
cmds: cmd, cmd2, cmd
file: {folder}/files/file
filetwice: {folder}/files/file, {folder}/files/file
fileandlist: {folder}/files/file, filetwice, team
null: /dev/null
badinclude: :include:{folder}/no-such-file
badmember: ann, foo@@bar
missing: nosuchuser
partmissing: ann, nosuchuser
remotemissing: ann, refuse1@remote.example
direct: \\ann
directbob: \\bob
team+tag: carol
tovirtual: info@lists.example
tobox: ann@boxes.example
torelay: known@relay.example
toext: ann+lists
comments: (all of them) ann, Bob <bob@test.example>
quoted: "ann"@test.example
percent: ann%remote.example@test.example
upper: ANN@TEST.EXAMPLE
"""
DEPTH = 60  # of deep1: deep2, deep2: deep3 …
FILES = {"members": "# who reads\nann, m1@remote.example\nm2@remote.example\nm1@REMOTE.example\n",
         "members2": ":include:{folder}/members\nbob\nteam\n",
         "virtual": """\
info@lists.example ann@test.example, two@remote.example
chain@lists.example info@lists.example
tagged@lists.example ann+lists@test.example
multi@lists.example ann, bob, team, nobody-here@test.example
self@lists.example self@lists.example, ann@test.example
loopa@lists.example loopb@lists.example
loopb@lists.example loopa@lists.example
MiXed@lists.example bob
tocmd@lists.example cmd@test.example
@catch.example ann+catch@test.example
known@catch.example carol@test.example
rewritten@remote.example kept@remote.example
kept@remote.example kept@remote.example, copy@remote.example
@swap.example @remote.example
""", "boxes": "ann@boxes.example yes\nbob+tag@boxes.example yes\n@allboxes.example yes\n",
         "relayed": "known@relay.example yes\n@relayall.example yes\n",
         "recipients": "old@test.example ann@test.example\nold@remote.example new@remote.example\n",
         "senders": "private@remote.example public@remote.example\n",
         "relocated": "gone@test.example gone@new.example\ngone@remote.example gone@new.example\n",
         "transports": "discard@test.example discard:\nerror@remote.example error:5.2.1 closed\n"
                      "elsewhere@test.example smtp:[{sink}]:{port}\n"}
FORWARDS = {("bob", ".forward"): "\\bob, fwd@remote.example\n", ("carol", ".forward+x"): "x@remote.example\n",
            ("probe", ".forward"): "", ("neighbour", ".forward"): "ann, nobody-here@test.example\n"}
USERS = ("ann", "bob", "carol", "probe", "neighbour")


@dataclass
class Envelope:
    name: str
    recipients: list
    sender: str = None  # s<number>@remote.example
    stranger: bool = False  # asked at RCPT, sends nothing


@dataclass
class Outcome:
    found: dict = field(default_factory=dict)

    def add(self, what, count=1):
        self.found[what] = self.found.get(what, 0) + count


class World:
    """One system, running, with everything above around it."""

    def __init__(self, kind, block):
        self.folder = folder = traversable("postrider-envelopes-")
        self.block = block
        self.sink = Sink(block.host(10), block.port())
        self.sink.extensions.append("SMTPUTF8")
        self.sink.at("rcpt", lambda session, argument: "550 5.1.1 No such user" if "<refuse" in argument.lower()
                     else "450 4.2.0 Later" if "<later" in argument.lower() else None)
        self.homes = Homes(folder, USERS)
        words = {"folder": folder, "sink": self.sink.address, "port": self.sink.port}
        for name, text in FILES.items():
            (folder / name).write_text(text.format(**words))
        for (user, name), text in FORWARDS.items():
            self.homes.write(user, name, text)
        for name in ("files", "ran"):
            (folder / name).mkdir()
            (folder / name).chmod(0o1777)
        run = folder / "run"
        run.write_text(f"#!/bin/sh\nsubject=$(sed -n 's/^Subject: //p' | head -n 1)\n"
                       f'echo "$subject $1 recipient=$RECIPIENT extension=$EXTENSION" >{folder}/ran/$$\n')
        run.chmod(0o755)
        deep = "".join(f"deep{n}: deep{n + 1}\n" for n in range(1, DEPTH)) + f"deep{DEPTH}: ann\n"
        self.system = kind(folder, block, self.homes, {}, ALIASES.format(**words) + deep)
        self.system.configure(self.ours(), self.theirs())
        self.system.start()

    def file(self, name, kind="text"):
        return f"{kind}:{self.folder}/{name}"

    def ours(self):
        return {"mta": {"hostname": "mta.test.example"},
                "local": {"default_user": "nobody"},
                'route."*"': {"next_hop": f"[{self.sink.address}]:{self.sink.port}"},
                "virtual_alias": {"domains": ["lists.example", "catch.example", "swap.example"], "tables": [self.file("virtual")]},
                "virtual_mailbox": {"domains": ["boxes.example", "allboxes.example"], "recipients": [self.file("boxes")],
                                    "deliver": f"[{self.sink.address}]:{self.sink.port}"},
                "relay": {"domains": ["relay.example", "relayall.example"], "recipients": [self.file("relayed")],
                          "networks": ["127.0.0.1/32"]},
                "canonical": {"recipient": [self.file("recipients")], "sender": [self.file("senders")]},
                "relocated": {"tables": [self.file("relocated")]},
                "transport": {"tables": [self.file("transports")]},
                "queue": {"report_merge_window": "0s"}}

    def theirs(self):
        def file(name):
            return self.file(name, "texthash")
        return {"virtual_alias_domains": "lists.example, catch.example, swap.example", "virtual_alias_maps": file("virtual"),
                "virtual_mailbox_domains": "boxes.example, allboxes.example", "virtual_mailbox_maps": file("boxes"),
                "virtual_transport": f"smtp:[{self.sink.address}]:{self.sink.port}",
                "relay_domains": "relay.example, relayall.example", "relay_recipient_maps": file("relayed"),
                "recipient_canonical_maps": file("recipients"), "sender_canonical_maps": file("senders"),
                "relocated_maps": file("relocated"), "transport_maps": file("transports"),
                "relayhost": f"[{self.sink.address}]:{self.sink.port}", "mynetworks": "127.0.0.1/32",
                "smtpd_relay_restrictions": "permit_mynetworks, reject_unauth_destination",
                "disable_dns_lookups": "yes", "default_privs": "nobody", "smtpd_error_sleep_time": "0s",
                "smtpd_hard_error_limit": "1000", "smtpd_soft_error_limit": "1000"}

    def close(self):
        self.system.stop()
        self.sink.stop()
        remove(self.folder)

    # -- in

    def enter(self, envelopes):
        """{number: Outcome} with the replies; `ids` of what was taken."""
        outcomes, self.ids = {}, {}
        for number, envelope in envelopes.items():
            outcomes[number] = outcome = Outcome()
            source = self.block.host(90) if envelope.stranger else "127.0.0.1"
            with Client(self.system.address, self.system.port, source=source) as c:
                c.say("EHLO client.example")
                self.transaction(c, number, envelope, outcome)
                c.say("QUIT")
        return outcomes

    def transaction(self, c, number, envelope, outcome):
        sender = f"s{number}@remote.example" if envelope.sender is None else envelope.sender
        reply = c.say(f"MAIL FROM:{angled(sender)}")
        outcome.found["mail"] = short(reply)
        if reply[0] != "2":
            return
        taken = 0
        for n, recipient in enumerate(envelope.recipients, 1):
            reply = c.say(f"RCPT TO:{angled(recipient)}")
            outcome.found[f"rcpt {n}"] = short(reply)
            taken += reply[0] == "2"
        if envelope.stranger or not taken:
            return
        assert c.say("DATA").startswith("354")
        c.send(message(f"case-{number}", "Hello.", "author@remote.example", "readers@test.example").encode() + b".\r\n")
        reply = c.reply()
        outcome.found["data"] = short(reply)
        if reply.startswith("250"):
            self.ids[reply.split()[-1]] = number

    # -- out

    def settled(self):
        """Nothing moves any more: what is listed waits, with a reason."""
        def calm():
            listing = self.system.listing().stdout
            found = parse_mailq(re.sub(r"(?m)^([0-9A-Za-z]{6,})([*!]?)", lambda m: m[0], listing))
            return "*" not in "".join(e[1] for e in found) and all(e[4] for e in found), listing, len(self.sink.messages)
        last = [None]

        def twice():
            now = calm()
            if now[0] and now == last[0]:
                return now[1]
            last[0] = now
            return None
        return wait_until(twice, 60, lambda: f"everything to be delivered or deferred\n{last[0]}\n{self.system.last_words()}", step=0.25)

    def collect(self, outcomes):
        """What became of them."""
        listing = self.settled()
        for entry in parse_mailq(listing):
            number = self.ids.get(entry[0]) or number_of_sender(entry[2])
            if number in outcomes:
                outcomes[number].add("waits: " + ", ".join(sorted(r.lower() for r in entry[3])))
        with self.sink.lock:
            at_sink = list(self.sink.messages)
        for each in at_sink:
            self.note(outcomes, each.text, [f"to {r}" for r in each.recipients], each.sender)
        for user in USERS:
            if (self.homes.of(user) / "mbox").exists():
                for each in mailbox.mbox(self.homes.of(user) / "mbox"):
                    self.note(outcomes, each.as_string(), [f"to mailbox {user}"], (each["Return-Path"] or "").strip("<>"))
        for file in (self.folder / "files").iterdir():
            for each in mailbox.mbox(file):
                self.note(outcomes, each.as_string(), [f"in file {file.name}"], (each["Return-Path"] or "").strip("<>"))
        for file in (self.folder / "ran").iterdir():
            subject, _, what = file.read_text().strip().partition(" ")
            outcomes[int(subject.removeprefix("case-"))].add(f"ran {what}")
        return outcomes

    def note(self, outcomes, text, places, sender):
        number = int(re.search(r"Subject: case-(\d+)", text)[1])
        if "multipart/report" in text.split("\n\n", 1)[0].split("\r\n\r\n", 1)[0]:
            for block in re.split(r"\r?\n\r?\n", text):
                final = re.search(r"^Final-Recipient: *rfc822; *(\S+)", block, re.M | re.I)
                if final:
                    status = re.search(r"^Status: *(\S+)", block, re.M | re.I)[1]
                    to = places[0].removeprefix("to ")
                    to = "the sender" if to == f"s{number}@remote.example" else to
                    outcomes[number].add(f"reported to {to}: {final[1]} {status}")
            return
        usual = f"s{number}@remote.example"
        for place in places:
            outcomes[number].add(place + ("" if sender == usual else f" from <{sender}>"))


def angled(address):
    """With what closes it and follows, if that is there already."""
    return f"<{address}" if ">" in address else f"<{address}>"


def short(reply):
    """Code and enhanced status."""
    found = re.match(r"(\d\d\d)(?:[ -](\d\.\d+\.\d+))?", reply)
    return " ".join(filter(None, found.groups())) if found else reply


def number_of_sender(sender):
    found = re.fullmatch(r"s(\d+)@remote\.example", sender)
    return int(found[1]) if found else None


def shortened(text):
    """With long runs of a character counted: a\u00d765."""
    return re.sub(r"(.)\1{19,}", lambda run: f"{run[1]}\u00d7{len(run[0])}", text)


def compare(envelopes, ours, theirs):
    """[(case, what, Postrider's, Postfix's)] where the two differ. What follows from another reply is not named."""
    found = []
    for number, envelope in envelopes.items():
        a, b = ours[number].found, theirs[number].found
        differing = [what for what in sorted(set(a) | set(b)) if a.get(what) != b.get(what)]
        replies = [what for what in differing if what == "mail" or what.startswith("rcpt")]
        if "mail" in replies:
            replies = ["mail"]
        elif not replies and "data" in differing:
            replies = ["data"]
        for what in replies or differing:
            found.append((shortened(envelope.name), shortened(what), str(a.get(what, "-")), str(b.get(what, "-"))))
    return found


def run_both(envelopes, block):
    """Both systems, one after the other."""
    numbered = dict(enumerate(envelopes, 1))
    results = []
    for kind in (Ours, Theirs):
        world = World(kind, block())
        try:
            results.append(world.collect(world.enter(numbered)))
        finally:
            world.close()
    return numbered, *results
