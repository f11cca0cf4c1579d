"""One MTA that lives through a day with something of everything an operator's log tools count, in known numbers, and is
stopped in good order. What was done is what this file says; nothing here reads the log but to wait for it. The log is
there in both forms: `mail_log` as syslog writes it, and the MTA's own file as JSON lines.

The world: partner.example sends honestly, from a host with a name. Strangers come from 192.0.2.66 and up. remote.example
takes mail, over TLS; busy.example puts it off or refuses it; nobody listens at down.example; gone.example does not exist.
"""
import base64
import ssl

from .certificates import make_certificate
from .client import Client, message
from .milter import Milter
from .policy import PolicyServer
from .sink import Sink, only
from .syslog import Syslog

CALLERS = PARTNER, GUESSER, SPAMMER, SCANNER, BABBLER, LEAVER, LISTED, PUSHER = [f"192.0.2.{n}" for n in (10, *range(66, 73))]
NAMES = {PARTNER: "mx.partner.example", GUESSER: "guesser.hostile.example", SPAMMER: "spammer.hostile.example",
         BABBLER: "babbler.hostile.example"}


class BusyDay:
    def __init__(self, mta, names, network, block):
        self.mta, self.block, self.ids = mta, block, {}
        self.mail_log = mta.folder / "mail.log"
        self.syslog = Syslog(self.mail_log)
        network.add(*CALLERS)
        self.make_world(names)
        self.configure()

    def make_world(self, names):
        folder, block = self.mta.folder, self.block
        self.remote = Sink(block.host(10), 25, certificate=make_certificate(folder, "mx.remote.example"))
        self.busy = Sink(block.host(11), 25)
        for domain, address in (("remote.example", self.remote.address), ("busy.example", self.busy.address),
                                ("down.example", block.host(12))):
            names.mx(domain, (10, f"mx.{domain}"))
            names.address_of(f"mx.{domain}", address)
        for address, name in NAMES.items():
            names.pointer(address, name)
            names.address_of(name, address)
        names.address_of(".".join(reversed(LISTED.split("."))) + ".bl.example", "127.0.0.2")
        self.mta.use_names(names)
        self.policy = PolicyServer(block.host(40), block.port(), self.opinion)
        self.milter = Milter(block.host(41), block.port())
        self.milter.replies["E"] = b"y550 5.7.1 smells of ham\0"

    @staticmethod
    def opinion(question):
        if question["sender"].endswith("@new.example"):
            return "DEFER_IF_PERMIT 4.2.0 Greylisted, come back"
        return "REJECT 5.7.1 not from you" if question["sender"].endswith("@unwanted.example") else "DUNNO"

    def configure(self):
        mta = self.mta
        certificate, key = make_certificate(mta.folder, "mta.test.example", days=90)
        ticket = mta.folder / "ticket"
        ticket.write_text(f"#!/bin/sh\ncat >> {mta.folder}/tickets\n")
        ticket.chmod(0o755)
        mta.aliases.write_text(f'staff: someone, other, ann@remote.example\narchive: "{mta.folder}/archive"\n'
                               f'ticket: "|{ticket}"\nbroken: "|exit 67"\nformer: left@remote.example\n')
        self.filtered_port, self.limited_port = self.block.port(), self.block.port()
        settings = {
            "tls": {"certificates": [str(certificate)], "keys": [str(key)]},
            "log": {"json": True, "syslog": True, "syslog_socket": str(self.syslog.path)},
            "auth": {"passwords": str(mta.folder / "passwords"), "failure_delay": "0s"},
            "listen.relay": {"tls": "offer"},
            "listen.submission": {"tls": "offer", "auth": True},
            "listen.filtered": {"addresses": [f"{mta.address}:{self.filtered_port}"], "service": "relay"},
            "listen.limited": {"addresses": [f"{mta.address}:{self.limited_port}"], "service": "relay", "sessions_per_network": 1},
            "milter.ham": {"address": f"inet:{self.milter.address}:{self.milter.port}", "listeners": ["filtered"]},
            "policy.opinions": {"address": f"inet:{self.policy.address}:{self.policy.port}", "listeners": ["relay"]},
            'dns_list."bl.example"': {"listeners": ["relay"]},
            "smtpd": {"reverse_lookup": True, "soft_errors": 3, "hard_errors": 4, "command_timeout": "4s"},
            "queue": {"retry_interval": "1h", "glitch_interval": "1h", "retry_interval_after": "1h"},
            "local": {"users": [mta.user, "other", "sender"]},
            "content": {"header_checks": ["/^Subject: cheap watches/ REJECT 5.7.1 no advertisements",
                                          "/^Subject: invoice/ WARN looks like an invoice",
                                          "/^Subject: lottery/ DISCARD not wanted",
                                          "/^Subject: contract/ HOLD for the lawyers"]},
        }
        for section, keys in settings.items():
            mta.config.setdefault(section, {}).update(keys)
        mta.write_config()
        mta.command("passwd", "ann", input="secret\n")
        self.user = f"{mta.user}@test.example"

    def live(self):
        self.mta.start()
        with self.caller(LEAVER, "leaver.example") as leaver:  # will have been silent for too long
            self.mail_comes_and_goes()
            self.mail_waits_and_comes_back()
            self.strangers_come()
            leaver.closed_by_peer()
        self.a_line_breaks()
        self.an_operator_looks()
        self.mta.wait_until_empty()
        self.mta.stop()
        self.syslog.stop()
        return self

    def end(self):
        self.mta.kill_everything()
        for each in (self.remote, self.busy, self.policy, self.milter):
            each.stop()

    # -- honest mail

    def mail_comes_and_goes(self):
        mta = self.mta
        for n in range(3):  # three sessions of two messages
            with self.partner() as c:
                for k in range(2):
                    self.deliver(c, f"bob{n}@partner.example", self.user, f"news {n} {k}")
                c.say("QUIT")
        with self.partner() as c:
            self.deliver(c, "carol@partner.example", "staff@test.example", "to all", ("x" * 70 + "\r\n") * 40)
            self.deliver(c, "carol@partner.example", self.user, "invoice 17")
            self.deliver(c, "carol@partner.example", self.user, "lottery")
            self.keep("contract", self.deliver(c, "carol@partner.example", self.user, "contract"))
            c.say("QUIT")
        self.keep("two there", mta.submit(["ann@remote.example", "bob@remote.example"], "two there"))
        self.keep("here and there", mta.submit(["other@test.example", "ann@remote.example"], "here and there", sender="ann@test.example"))
        for name in ("archive", "ticket"):
            self.keep(name, mta.submit(f"{name}@test.example", name, sender="ann@test.example"))
        for _ in range(2):
            assert mta.sendmail("-f", "root@test.example", "ann@remote.example").returncode == 0
        with self.laptop() as c:
            assert c.say("AUTH PLAIN " + plain("ann", "secret")).startswith("235")
            self.keep("laptop", self.deliver(c, "ann@test.example", "bob@remote.example", "from the laptop"))
            c.say("QUIT")
        self.remote.wait_for(6)

    def mail_waits_and_comes_back(self):
        mta = self.mta
        self.busy.at("rcpt", only("later@", "450 4.2.0 Come back later"))
        self.keep("deferred", mta.submit("later@busy.example", "deferred"))
        self.keep("refused connection", mta.submit("x@down.example", "refused connection"))
        for name in ("deferred", "refused connection"):
            mta.wait_log(rf"{self.ids[name]}: to=.*status=deferred")
        self.busy.well_behaved()
        mta.command("message", "retry", self.ids["deferred"])
        self.busy.wait_for_one_to("later@busy.example")
        mta.command("message", "expire", self.ids["refused connection"])
        self.busy.well_behaved()
        self.busy.at("rcpt", only("nobody@", "550 5.1.1 No such user"))
        mta.command("suppress", "add", "left@remote.example", "--reason", "asked for it")
        self.keep("bounced", mta.submit("nobody@busy.example", "bounced"))
        self.keep("no such domain", mta.submit("x@gone.example", "no such domain"))
        self.keep("broken", mta.submit("broken@test.example", "broken"))
        assert mta.sendmail("-f", "sender@test.example", "former@test.example").returncode == 0
        for name in ("refused connection", "bounced", "no such domain", "broken"):
            mta.wait_log(rf"{self.ids[name]}: removed")

    # -- strangers

    def strangers_come(self):
        self.guess()
        self.spam()
        self.scan()
        with self.caller(BABBLER, "babbler") as c:
            for n in range(4):
                c.say(f"XYZZY {n}")
            c.closed_by_peer()
        with self.caller(LISTED, "listed.example") as c:
            c.say("MAIL FROM:<a@listed.example>")
            assert c.say(f"RCPT TO:<{self.user}>").startswith("554 5.7.1")
            c.say("QUIT")
        with self.caller(PUSHER, port=self.limited_port) as c, \
                Client(self.mta.address, self.limited_port, greet=False, source=PUSHER) as more:
            assert more.reply().startswith("421 4.7.0")
            c.say("QUIT")

    def a_line_breaks(self):
        """In the middle of a message, of somebody honest who made mistakes."""
        with self.partner() as c:
            for command in ("MAIL FROM:<bob@partner.example> LATER", "MAIL FROM:<bob@partner.example>", f"RCPT TO:<{self.user}>",
                            "RCPT TO:<someone", "DATA"):
                c.say(command)
            c.send(b"Subject: half\r\n")

    def guess(self):
        for _ in range(2):
            with self.laptop(GUESSER) as c:
                for password in ("123456", "password"):
                    assert c.say("AUTH PLAIN " + plain("root", password)).startswith("535")
                c.say("QUIT")

    def spam(self):
        for sender, recipients in (("x@spam.example", ("a@elsewhere.example", "b@elsewhere.example")),
                                   ("x@spam.example", ("nobody@test.example", "nobody-else@test.example")),
                                   ("x@unwanted.example", (self.user,)), ("x@new.example", (self.user,))):
            with self.caller(SPAMMER, "spammer") as c:
                c.say(f"MAIL FROM:<{sender}>")
                for recipient in recipients:
                    assert c.say(f"RCPT TO:<{recipient}>")[0] in "45"
                c.say("QUIT")
        for port, subject in ((None, "cheap watches"), (self.filtered_port, "ham")):
            with self.caller(SPAMMER, "spammer", port) as c:
                assert c.deliver("x@spam.example", [self.user], message(subject)).startswith("550")
                c.say("QUIT")
        with self.caller(SPAMMER, "spammer") as c:
            assert c.say("MAIL FROM:<x@spam.example> SIZE=999999999").startswith("552")
            c.say("QUIT")

    def scan(self):
        self.caller(SCANNER).close()
        self.caller(SCANNER, "scanner").close()
        with self.caller(SCANNER) as c:
            c.send(b"GET / HTTP/1.0\r\n\r\n")
            c.closed_by_peer()
        with self.caller(SCANNER, "scanner") as c:
            c.say("STARTTLS")
            c.send(b"no client hello at all\r\n")
            c.closed_by_peer()

    # -- the operator

    def an_operator_looks(self):
        mta = self.mta
        mta.command("message", "release", self.ids["contract"])
        self.busy.well_behaved()
        self.busy.at("rcpt", only("away@", "450 4.2.0 Come back later"))
        removed = self.keep("removed", mta.submit("away@busy.example", "removed"))
        mta.wait_log(rf"{removed}: to=.*status=deferred")
        mta.command("message", "remove", removed)
        mta.command("reload")
        mta.wait_log(r"reload -- version")

    # -- who calls

    def keep(self, name, queue_id):
        self.ids[name] = queue_id
        return queue_id

    def deliver(self, client, sender, recipient, subject, body="Hello."):
        reply = client.deliver(sender, [recipient], message(subject, body, sender, recipient))
        assert reply.startswith("250 2.0.0 Ok: queued as "), reply
        return reply.split()[-1]

    def caller(self, source, hello=None, port=None):
        c = Client(self.mta.address, port or self.mta.relay_port, source=source)
        if hello:
            assert c.say(f"EHLO {hello}").startswith("250")
        return c

    def partner(self):
        return self.caller(PARTNER, "mx.partner.example")

    def laptop(self, source=None):
        """A session on the submission port, under TLS."""
        c = self.caller(source, "laptop", self.mta.submission_port)
        assert c.say("STARTTLS").startswith("220")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        c.socket = context.wrap_socket(c.socket)
        assert c.say("EHLO laptop.test.example").startswith("250")
        return c


def plain(user, password):
    return base64.b64encode(f"\0{user}\0{password}".encode()).decode()
