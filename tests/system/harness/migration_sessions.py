"""Sessions that try a Postfix configuration: clients, names, senders, recipients and contents drawn from its own tables and
lists, beside ordinary ones and ordinary mistakes. The same seed draws the same sessions.

Knows a configuration's lists. Must not know who answers."""
import ipaddress
import random
import re

from .migration_files import SERVER, USERS, keys_of

INSIDE = "127.0.0.1"
NAMED, UNNAMED, LISTED = "198.51.100.7", "198.51.100.8", "198.51.100.9"  # with a name, without, on every DNS list
CONTENTS = ("plain", "attachment", "long line", "no header", "spam", "bounce", "received", "bare from")


def words(text):
    return [each for each in re.split(r"[\s,]+", text) if each]


def is_table(word):
    return ":" in word and not word.startswith("[")


class Material:
    """What sessions are made of."""

    def __init__(self, adapted):
        self.adapted = adapted
        everything = adapted.everything()
        own = [each.lstrip("!") for each in words(everything["mydestination"]) if not is_table(each)]
        self.local = [each for each in own if re.fullmatch(r"[\w.-]+", each)] or ["home.example"]
        self.others = [each for name in ("relay_domains", "virtual_mailbox_domains", "virtual_alias_domains")
                       for each in words(everything.get(name, "")) if re.fullmatch(r"[\w-]+(\.[\w-]+)+", each)]
        keys = {user: [key for kind, file in tables for key in keys_of(kind, file)][:40] for user, tables in adapted.tables.items()}
        def of(pattern):
            return [key for user, found in keys.items() if re.search(pattern, user) for key in found]
        self.others += [each for name, found in adapted.listed.items() if name != "mynetworks" for each in found if re.fullmatch(r"[\w-]+(\.[\w-]+)+", each)]
        self.others += [key for key in of(r"_domains$|mydestination") if re.fullmatch(r"[\w-]+(\.[\w-]+)+", key)]
        self.domains = list(dict.fromkeys(self.local + self.others))
        networks = [each for each in [*words(everything["mynetworks"]), *adapted.listed.get("mynetworks", [])] if re.fullmatch(r"[\d./]+", each)]
        self.clients = [INSIDE, NAMED, UNNAMED, LISTED, *filter(None, map(first_of, networks)),
                        *(key for key in of("client_access|postscreen_access") if re.fullmatch(r"\d+\.\d+\.\d+\.\d+", key))]
        self.hellos = ["client.example", "client.example", "bare", f"[{NAMED}]", "bad_name.example", everything["myhostname"], "nowhere.invalid",
                       *of("helo_access")]
        self.senders = ["someone@remote.example", "someone@remote.example", "", "x@nowhere.invalid", "bare", "me@sub.remote.example"]
        self.senders += [f"ann@{each}" for each in self.domains[:6]] + [f"nobody-here@{each}" for each in self.domains[:3]]
        self.senders += addresses(of(r"sender_access|login_maps|sender_dependent|sender_bcc"))
        self.recipients = [f"{user}@{each}" for each in self.domains[:8] for user in ("ann", "nobody-here", "postmaster", "ann+x")]
        self.recipients += ["far@remote.example", "far@nowhere.invalid", "ann", "postmaster", f"ann%remote.example@{self.domains[0]}",
                            f"@{INSIDE}:far@remote.example", f"ann@[{SERVER}]", "far@sub.remote.example", '"a b"@remote.example']
        self.recipients += addresses(of(r"alias|mailbox_maps|recipient|transport|canonical|relocated|bcc|recipient_access"))

    def draw(self, seed, count):
        """[session]: a dictionary each, as migration_world runs it."""
        chance = random.Random(seed)
        services = self.adapted.services()
        doors = [(SERVER if host in ("", "0.0.0.0", SERVER) or not re.fullmatch(r"[\d.]+", host) else host, port, overrides)
                 for host, port, overrides in services] or [(SERVER, 25, {})]
        doors = [each for each in doors if each[1] in (25, 465, 587)] * 3 + doors
        found = []
        for number in range(count):
            host, port, overrides = chance.choice(doors)
            client = chance.choice(self.clients[:1] + self.clients)
            wrapped = overrides.get("smtpd_tls_wrappermode", "no") == "yes"
            found.append({"number": number, "host": host, "port": port, "client": client if client != INSIDE or host != INSIDE else INSIDE,
                          "wrapped": wrapped, "starttls": not wrapped and chance.random() < (0.7 if port == 587 else 0.2),
                          "hello": chance.choice(self.hellos), "old": chance.random() < 0.15, "sender": chance.choice(self.senders),
                          "recipients": [chance.choice(self.recipients) for _ in range(chance.choice((1, 1, 2, 3)))],
                          "content": chance.choice(CONTENTS[:1] * 3 + CONTENTS)})
        return found


def first_of(network):
    """An address inside it that a client may have here."""
    try:
        net = ipaddress.ip_network(network if "/" in network else network + "/32", strict=False)
    except ValueError:
        return None
    if net.is_loopback or net.version == 6 or net.prefixlen == 0:
        return None
    return str(net.network_address + (9 if net.num_addresses > 16 else 0))


def addresses(keys):
    """What a key of a table matches, as an address."""
    found = []
    for key in keys:
        if not re.fullmatch(r"[\w.@+-]+", key):
            continue
        if key.startswith("@"):
            found.append("any" + key)
        elif key.startswith("."):
            found.append("any@host" + key)
        elif key.endswith("@"):
            found.append(key + "remote.example")
        elif "@" in key:
            found.append(key)
        else:
            found.append("any@" + key if "." in key else key)
    return found


def content(session):
    """The message, with an identifier that is found again in the log."""
    kind, number = session["content"], session["number"]
    head = (f"From: <{session['sender'] or 'mailer-daemon@remote.example'}>\r\nTo: <{session['recipients'][0]}>\r\nSubject: {kind}\r\n"
            f"Message-ID: <m{number}@try.example>\r\nDate: Sat, 28 Nov 2026 08:00:00 +0000\r\n")
    body = "Hello.\r\n"
    if kind == "attachment":
        head += "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n"
        body = ('--b\r\nContent-Type: application/octet-stream; name="bill.exe"\r\nContent-Disposition: attachment; filename="bill.exe"\r\n'
                "Content-Transfer-Encoding: base64\r\n\r\nTVqQAAMAAAAEAAAA\r\n--b--\r\n")
    elif kind == "long line":
        body = "x" * 1500 + "\r\n"
    elif kind == "no header":
        head = f"Message-ID: <m{number}@try.example>\r\n"
    elif kind == "spam":
        head = head.replace("Subject: spam", "Subject: ***SPAM*** Viagra, casino, make money fast")
        body = "Click here: http://spam.example/\r\n"
    elif kind == "bounce":
        head += "Auto-Submitted: auto-replied\r\nX-Spam-Flag: YES\r\n"
    elif kind == "received":
        head = "Received: from inside [10.0.0.1] by somewhere; Sat, 28 Nov 2026 08:00:00 +0000\r\nX-Originating-IP: 10.0.0.1\r\n" + head
    elif kind == "bare from":
        head = head.replace("From: <", "From: Somebody <")
    return head + "\r\n" + body


def users_of(adapted):
    return sorted({*USERS, *adapted.pipe_users} - {"root", "nobody", "postfix", "vmail"})
