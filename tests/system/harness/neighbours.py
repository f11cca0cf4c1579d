"""Neighbours that misbehave: one user, destination, table, filter or store each. A Ground is one system with the good
and the bad servers around it; a Neighbour says what it needs of the configuration, misbehaves from begin() on, and knows
how many of its own messages wait meanwhile.
"""
import itertools
import random
import subprocess
import threading

from .client import message
from .hanging_fs import HangingFileSystem
from .listener import Listener
from .milter import Milter
from .names import Names
from .policy import PolicyServer
from .mta import parse_mailq
from .roads import Roads
from .side_by_side import Homes, remove, traversable
from .sink import Sink, drop

LONG_REPLY = ("550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n"
              "550-5.1.1 double-checking the recipient's email address for typos or\r\n"
              "550-5.1.1 unnecessary spaces. For more information, go to\r\n"
              "550-5.1.1  https://support.example/mail/?p=NoSuchUser " + "x" * 240 + "\r\n"
              "550 5.1.1 d9443c01a7336-1f23e0dd2afsi12345678ad.123 - gsmtp")


class Ground:
    """A system between a good server (remote.example), one that refuses (refusing.example), and its neighbours, each with a
    user, a domain and a server of its own."""
    number = itertools.count()

    def __init__(self, kind, block, *neighbours):
        self.folder = traversable("postrider-neighbours-")
        self.block, self.neighbours = block, neighbours
        self.good = Sink(block.host(10), block.port())
        self.refusing = Sink(block.host(11), block.port())
        self.refusing.at("rcpt", "550 5.1.1 No such user")
        self.sinks = [self.good, self.refusing]
        routes = {"remote.example": self.good, "refusing.example": self.refusing}
        self.homes = Homes(self.folder, ("probe", *(f"neighbour{n}" for n in range(len(neighbours)))))
        self.names = Names(block.host(200 + next(Ground.number) % 50), 53)
        self.seen, self.mailbox_read = 0, 0
        self.to_end = []
        ours, theirs = {}, {}
        for n, each in enumerate(neighbours):
            each.ground, each.user, each.home = self, f"neighbour{n}", self.homes.of(f"neighbour{n}")
            each.sender = f"{each.user}@remote.example"
            each.bad = Sink(block.host(20 + n), block.port())
            self.sinks.append(each.bad)
            routes[f"{each.user}.example"] = routes[f".{each.user}.example"] = each.bad
            each.prepare()
            self.to_end.append(each)
            for section, keys in each.ours.items():
                ours.setdefault(section, {}).update(keys)
            theirs.update(each.theirs)
        self.system = kind(self.folder, block, self.homes, routes, "".join(each.aliases for each in neighbours),
                           resolver=self.names.address)
        self.system.configure(ours, theirs)

    def start(self):
        self.to_end.append(self.system)
        self.system.start()
        return self

    def close(self):
        for each in self.to_end:
            each.stop()
        for each in (*self.sinks, self.names):
            each.stop()
        remove(self.folder)

    def roads(self, **options):
        return Roads(self.system, self.arrivals, **options)

    def arrivals(self):
        """What has come since this was asked last: to the good server and to probe's mailbox, as texts."""
        with self.good.lock:
            new = self.good.messages[self.seen:]
            self.seen += len(new)
        file = self.homes.of("probe") / "mbox"
        if file.exists():
            with open(file, "rb") as box:
                box.seek(self.mailbox_read)
                text = box.read()
            whole = text[:text.rfind(b"\n") + 1]
            self.mailbox_read += len(whole)
            yield whole.decode(errors="replace")
        for each in new:
            yield each.text


class Neighbour:
    """`ours`, `theirs`: what it needs of the two systems' configuration; `aliases`: lines of the alias file. A ground gives
    it its user (with a home), its sender, and the server of its domain, USER.example."""
    title, aliases = "", ""
    number = 300  # messages, sessions
    needs = ()

    def __init__(self, number=None):
        self.ours, self.theirs = {}, {}
        self.number = number or self.number
        self.title = self.title.format(f"{self.number:,}")

    def prepare(self):
        """Before the system is configured."""

    def begin(self):
        """Misbehaves from here on; returns soon."""

    def waits(self):
        """How many of its messages are in the system's hands."""
        return sum(self.user in " ".join((sender, *recipients))
                   for _, _, sender, recipients, _ in parse_mailq(self.ground.system.listing().stdout))

    def stop(self):
        pass

    def address(self):
        return f"{self.user}@test.example"

    def send(self, recipients, transactions=1, body="Hello."):
        """So many messages to these recipients each, in one session; how many were taken."""
        taken = 0
        with self.ground.system.client(timeout=300) as c:
            for n in range(transactions):
                to = recipients(n) if callable(recipients) else recipients
                reply = c.deliver(self.sender, to, message(f"neighbour {n}", body, self.sender, "somebody@test.example"))
                taken += reply.startswith("250")
                if not reply.startswith("250"):
                    c.say("RSET")
            c.say("QUIT")
        return taken

    def by_sendmail(self, recipients, transactions, text="Subject: neighbour\n\nHello.\n"):
        """The same with sendmail, as far as it is taken, in a thread of its own."""
        def submit():
            for n in range(transactions):
                to = recipients(n) if callable(recipients) else recipients
                try:
                    self.ground.system.sendmail("-i", "-f", self.sender, *to, input=text)
                except Exception:
                    return  # the system has been stopped
        threading.Thread(target=submit, daemon=True).start()

    def sessions(self, count, sender):
        """So many SMTP sessions that go as far as they get, each from an address of its own; those that are not through."""
        def one(n):
            try:
                with self.ground.system.client(timeout=600, source=self.ground.block.host(100 + n % 100)) as c:
                    c.deliver(sender, ["probe@test.example"], message("hung"))
            except Exception:
                pass  # cut off at the end
        threads = [threading.Thread(target=one, args=(n,), daemon=True) for n in range(count)]
        for thread in threads:
            thread.start()
        return threads


class Nobody(Neighbour):
    title = "nobody misbehaves"


# -- users

class LockedMailbox(Neighbour):
    title = "a user's mbox is locked, {} messages for them"

    def prepare(self):
        self.file = self.ground.homes.write(self.user, "mbox", "")

    def begin(self):
        # Held by a process of its own: a lock of this one would be lost when it reads the file.
        self.holder = subprocess.Popen(["/usr/bin/python3", "-c",
                                        "import fcntl, sys, time; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX)\n"
                                        "print('held', flush=True); time.sleep(100000)", str(self.file)], stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"held\n"
        self.send([self.address()], transactions=self.number)

    def stop(self):
        self.holder.kill()
        self.holder.wait()


class StoppedProcesses(Neighbour):
    title = "a user stops (SIGSTOP) what delivers to them, {} messages"

    def begin(self):
        # As that user: what they may stop is stopped.
        script = ("import os, signal, time\nwhile True:\n  try: os.kill(-1, signal.SIGSTOP)\n"
                  "  except OSError: pass\n  time.sleep(0.005)\n")
        uid = self.ground.homes.uid(self.user)
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", script], user=uid, group=uid, extra_groups=[])
        self.send([self.address()], transactions=self.number)

    def stop(self):
        self.process.kill()
        self.process.wait()


class HangingCommand(Neighbour):
    title = "a user's .forward runs a command that hangs, {} messages"

    def prepare(self):
        self.ground.homes.write(self.user, ".forward", '"|exec sleep 100000"\n')

    def begin(self):
        self.send([self.address()], transactions=self.number)


class HangingHome(Neighbour):
    title = "a user's home is on a file system that hangs (FUSE), {} messages"
    needs = ("fuse",)

    def prepare(self):
        self.fs = HangingFileSystem(self.home)

    def begin(self):
        self.by_sendmail([self.address()], self.number)

    def stop(self):
        self.fs.stop()


class FullDisk(Neighbour):
    title = "a user's disk is full, {} messages"
    needs = ("mounts",)

    def prepare(self):
        uid = self.ground.homes.uid(self.user)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=64k,mode=755,uid={uid}", "tmpfs", self.home], check=True)
        (self.home / "fill").write_bytes(b"x" * 60000)

    def begin(self):
        self.send([self.address()], transactions=self.number, body="x" * 8000)

    def stop(self):
        subprocess.run(["umount", "-l", self.home])


class Bomb(Neighbour):
    title = "{} messages for one user"
    number = 3000

    def begin(self):
        self.send([self.address()], transactions=self.number)


# -- lists and reports

def long_address(user, n):
    """105 octets and a few."""
    return "m" * 58 + f"{n:05}@" + "d" * 23 + f".{user}.example"


class List(Neighbour):
    """A list `USER-list` of `members` at the neighbour's domain."""
    members = 10_000

    def prepare(self):
        file = self.ground.folder / f"{self.user}-members"
        file.write_text("".join(self.member(n) + "\n" for n in range(self.members)))
        file.chmod(0o644)
        self.aliases = f"{self.user}-list: :include:{file}\n"
        self.bad.at("rcpt", LONG_REPLY)

    def member(self, n):
        return long_address(self.user, n)


class HugeList(List):
    title = "{} messages to a list of 10,000 whose host refuses each at length"
    number = 5

    def begin(self):
        self.send([f"{self.user}-list@test.example"], transactions=self.number)


class SmallerList(List):
    title = "{} messages to a list of 2,500 whose host refuses each at length"
    number = 2
    members = 2500

    def begin(self):
        self.send([f"{self.user}-list@test.example"], transactions=self.number)


class LongReplies(Neighbour):
    title = "{} messages to 1,000 recipients, each refused at length"
    number = 3

    def prepare(self):
        self.bad.at("rcpt", LONG_REPLY)

    def begin(self):
        self.send([f"r{n}@{self.user}.example" for n in range(1000)], transactions=self.number)


class ManyRecipients(Neighbour):
    title = "{} messages to 10,000 recipients each, by sendmail, put off by their host"
    number = 20

    def prepare(self):
        self.bad.at("rcpt", "450 4.2.0 Later")

    def begin(self):
        self.by_sendmail([long_address(self.user, n) for n in range(10_000)], self.number)


# -- destinations

class Tarpit(Neighbour):
    title = "a destination that answers each step after 20 s, {} messages"
    number = 500

    def prepare(self):
        self.halt = threading.Event()

        def later(session, argument):
            self.halt.wait(20)
        for stage in ("connect", "ehlo", "mail", "rcpt", "data", "dot"):
            self.bad.at(stage, later)

    def begin(self):
        self.send([f"somebody@{self.user}.example"], transactions=self.number)

    def stop(self):
        self.halt.set()


class Silent(Neighbour):
    title = "a destination that accepts and says nothing, {} messages"
    number = 500

    def prepare(self):
        self.halt = threading.Event()
        self.bad.at("connect", lambda session, argument: self.halt.wait(1000) and None)

    def begin(self):
        self.send([f"somebody@{self.user}.example"], transactions=self.number)

    def stop(self):
        self.halt.set()


class Flapping(Neighbour):
    title = "a destination that comes and goes, {} messages"
    number = 1000

    def prepare(self):
        self.die = random.Random(7)

        def flap(session, argument):
            if self.die.random() < 0.4:
                drop(session, argument)
        for stage in ("connect", "mail", "rcpt", "data", "dot"):
            self.bad.at(stage, flap)

    def begin(self):
        self.send([f"somebody@{self.user}.example"], transactions=self.number)


class SilentNames(Neighbour):
    title = "DNS does not answer for {} domains"
    number = 1000

    def prepare(self):
        ask, name = self.ground.names.answer, self.user.encode()
        self.ground.names.answer = lambda query, over_tcp: None if name in query else ask(query, over_tcp)

    def begin(self):
        self.send(lambda n: [f"somebody@d{n}.{self.user}.silent.example"], transactions=self.number)


class Mute(Listener):
    """Takes connections and says nothing."""

    def serve(self, one):
        try:
            while one.recv(65536):
                pass
        except OSError:
            pass


class HangingStore(Neighbour):
    title = "the LMTP store of a virtual domain says nothing, {} messages"
    number = 500

    def prepare(self):
        address, port = self.ground.block.host(33), self.ground.block.port()
        self.store = Mute(address, port)
        self.ours = {"virtual_mailbox": {"domains": ["boxes.example"], "deliver": f"lmtp:[{address}]:{port}"}}
        self.theirs = {"virtual_mailbox_domains": "boxes.example", "virtual_mailbox_maps": "static:x",
                       "virtual_transport": f"lmtp:inet:[{address}]:{port}"}

    def begin(self):
        self.send(lambda n: [f"{self.user}-{n}@boxes.example"], transactions=self.number)

    def stop(self):
        self.store.stop()


# -- services

class Table(Listener):
    """A socketmap that knows nothing, and does not answer when it is asked for a name with "hung" in it."""

    def serve(self, one):
        with one, one.makefile("rwb") as stream:
            while True:
                size = b""
                while (c := stream.read(1)) and c != b":":
                    size += c
                if not c:
                    return
                if b"hung" not in stream.read(int(size) + 1):
                    stream.write(b"9:NOTFOUND ,")
                    stream.flush()


class HangingTable(Neighbour):
    title = "a table (socketmap) does not answer about {} recipients"

    def prepare(self):
        address, port = self.ground.block.host(30), self.ground.block.port()
        self.server = Table(address, port)
        self.ours = {"virtual_alias": {"tables": [f"socketmap:inet:{address}:{port}:map"]}}
        self.theirs = {"virtual_alias_maps": f"socketmap:inet:{address}:{port}:map"}

    def begin(self):
        for k in range(3):
            self.by_sendmail(lambda n, k=k: [f"hung{k}-{n}@{self.user}.example"], self.number // 3)

    def stop(self):
        self.server.stop()


class HangingMilter(Neighbour):
    title = "a milter does not answer about {} sessions"
    number = 60

    def prepare(self):
        address, port = self.ground.block.host(31), self.ground.block.port()
        self.milter = Milter(address, port)
        self.milter.replies["M"] = lambda data: "hang" if b"milter" in data else b"c"
        self.ours = {"milter.one": {"address": f"inet:{address}:{port}"}}
        self.theirs = {"smtpd_milters": f"inet:{address}:{port}"}

    def begin(self):
        self.threads = self.sessions(self.number, f"milter@{self.user}.example")

    def waits(self):
        return sum(thread.is_alive() for thread in self.threads)

    def stop(self):
        self.milter.stop()


class HangingPolicy(Neighbour):
    title = "a policy server does not answer about {} sessions"
    number = 60

    def prepare(self):
        address, port = self.ground.block.host(32), self.ground.block.port()
        self.policy = PolicyServer(address, port, lambda question: None if "policy" in question["sender"] else "DUNNO")
        # Both ask it about everybody here: Postrider would let clients in relay.networks pass.
        self.ours = {"policy.one": {"address": f"inet:{address}:{port}"}, "relay": {"networks": [], "domains": [
            "remote.example", "refusing.example"]}}
        self.theirs = {"smtpd_recipient_restrictions": f"check_policy_service inet:{address}:{port}"}

    def begin(self):
        self.threads = self.sessions(self.number, f"policy@{self.user}.example")

    def waits(self):
        return sum(thread.is_alive() for thread in self.threads)

    def stop(self):
        self.policy.stop()


NEIGHBOURS = (Nobody, LockedMailbox, StoppedProcesses, HangingCommand, HangingHome, FullDisk, Bomb, SmallerList, HugeList, LongReplies,
              ManyRecipients, Tarpit, Silent, Flapping, SilentNames, HangingStore, HangingTable, HangingMilter, HangingPolicy)
