"""The envelopes of the comparison (envelopes.py): each address by itself, senders, and lists of recipients that meet."""
import random

from .envelopes import Envelope, shortened

NAMES = """ann ANN Ann ann+tag ann+ +ann ann+a+b ann++ bob bob+x carol carol+x carol+X probe neighbour nosuch nosuch+tag root
nobody postmaster Postmaster POSTMASTER mailer-daemon MAILER-DAEMON double-bounce abuse team TEAM team+x team+tag team2 nested self
loop1 loopmore selfdomain out outdup list list+x owner-list list-request list2 owned owner-owned mixedcase MIXEDCASE
cmd cmd+a cmd2 cmds file filetwice fileandlist null badinclude badmember missing partmissing remotemissing direct directbob
tovirtual tobox torelay toext comments quoted percent upper deep58 deep30 deep1 old gone discard elsewhere""".split()
ADDRESSES = [f"{name}@test.example" for name in NAMES] + """ann postmaster Postmaster root team nosuch gone discard
ann@TEST.EXAMPLE ann@localhost ann@LOCALHOST ann@mta.test.example ann@sub.test.example ann@test.example.
postmaster@localhost postmaster@remote.example postmaster@lists.example postmaster@relay.example postmaster@boxes.example
"ann"@test.example "an\\n"@test.example "ann+tag"@test.example "team"@test.example ann%test.example@test.example
ann%remote.example@test.example ann%remote.example ann%remote.example@remote.example remote.example!ann remote.example!ann@test.example
@relay.example:ann@test.example @one.example,@two.example:ann@test.example @test.example:one@remote.example
@remote.example:ann@test.example ann@ @test.example ann@@test.example ann@test..example ann@.test.example .ann@test.example ann.@test.example
a..b@test.example -ann@test.example ann@-test.example ann@[127.0.0.1] ann@[127.0.0.300] ann@[IPv6:::1] ann@127.0.0.1 ann@test_example
info@lists.example INFO@LISTS.example info+x@lists.example chain@lists.example chain+x@lists.example tagged@lists.example
tagged+y@lists.example multi@lists.example self@lists.example loopa@lists.example mixed@lists.example tocmd@lists.example tocmd+z@lists.example
nosuch@lists.example anybody@catch.example anybody+x@catch.example known@catch.example known+x@catch.example one@swap.example refuse@swap.example
ann@boxes.example ann+x@boxes.example ANN@boxes.example bob@boxes.example bob+tag@boxes.example nosuch@boxes.example anybody@allboxes.example
known@relay.example known+x@relay.example KNOWN@RELAY.example nosuch@relay.example anybody@relayall.example x@sub.relayall.example
one@remote.example ONE@remote.example rewritten@remote.example kept@remote.example kept+x@remote.example old@remote.example gone@remote.example error@remote.example
refuse@remote.example later@remote.example x@unknown.example private@remote.example MAILER-DAEMON@remote.example""".split() + [
    '"with blank"@test.example', '"with blank+x"@test.example', '"ann tag"@test.example', '"a@b"@test.example', '"a b"@remote.example', '"a\\"b"@remote.example',
    '"|cmd"@test.example', '"|/bin/true"@test.example', "|cmd@test.example", '"/tmp/x"@test.example', "/tmp/x@test.example", '":include:/etc/passwd"@test.example', '""@test.example',
    '"a"."b"@remote.example', "ann @test.example", "ann@test.example ", " ann@test.example", "ann@test.example> NOTIFY=NEVER", "ann@test.example> ORCPT=rfc822;x@y", "", "a" * 63 + "@test.example",
    "a" * 64 + "@test.example", "a" * 65 + "@test.example", "a" * 65 + "@remote.example", "a" * 200 + "@remote.example", "a" * 500 + "@remote.example",
    "ann+" + "x" * 80 + "@test.example", "one@" + "d" * 63 + ".example", "one@" + "d" * 64 + ".example", "one@" + ".".join(["d" * 60] * 4) + ".example",
    "one@" + ".".join(["d" * 60] * 5) + ".example", "gr\u00fcn@test.example", "ann@gr\u00fcn.example", "ann\\@x@test.example", "ann,bob@test.example", "ann;bob@test.example", "ann(c)@test.example", "ann<bob@test.example", "a:b@test.example", "a=b@remote.example", "$ann@test.example", "~ann@test.example", "ann'@test.example", "`ann`@test.example",
    "ann\tx@test.example", "#ann@test.example", "*@test.example", "@", "<ann@test.example", "ann@test.example>>"]

TOGETHER = {
    "twice the same": ["ann@test.example"] * 2,
    "twice in other case": ["ann@test.example", "ANN@Test.Example"],
    "with and without extension": ["ann@test.example", "ann+x@test.example"],
    "two extensions": ["ann+a@test.example", "ann+b@test.example"],
    "with and without domain": ["ann", "ann@test.example"],
    "two local domains": ["ann@test.example", "ann@localhost"],
    "list and member": ["team@test.example", "ann@test.example"],
    "member and list": ["ann@test.example", "team@test.example"],
    "two lists with a common member": ["team@test.example", "team2@test.example"],
    "a list twice": ["team@test.example", "team@test.example"],
    "list with extension and without": ["team@test.example", "team+x@test.example"],
    "include and remote member": ["list@test.example", "m1@remote.example"],
    "two includes": ["list@test.example", "list2@test.example"],
    "virtual and local": ["info@lists.example", "ann@test.example"],
    "two virtual": ["info@lists.example", "chain@lists.example"],
    "virtual and extension": ["tagged@lists.example", "ann@test.example"],
    "remote twice": ["one@remote.example"] * 2,
    "remote twice in other case": ["one@remote.example", "ONE@remote.example"],
    "remote twice in another domain's case": ["one@remote.example", "one@REMOTE.example"],
    "remote and rewritten": ["kept@remote.example", "rewritten@remote.example"],
    "swapped and plain": ["one@swap.example", "one@remote.example"],
    "command by two ways": ["cmd@test.example", "cmds@test.example"],
    "command with two extensions": ["cmd+a@test.example", "cmd+b@test.example"],
    "command by virtual and plain": ["tocmd@lists.example", "cmd@test.example"],
    "file by two ways": ["file@test.example", "filetwice@test.example"],
    "file with two extensions": ["file+a@test.example", "file+b@test.example"],
    "own .forward and its target": ["bob@test.example", "fwd@remote.example"],
    "own .forward by two ways": ["bob@test.example", "team@test.example"],
    ".forward of an extension": ["carol@test.example", "carol+x@test.example"],
    "backslash and plain": ["direct@test.example", "ann@test.example"],
    "backslash and .forward": ["directbob@test.example", "bob@test.example"],
    "one bad of three": ["ann@test.example", "nosuch@test.example", "one@remote.example"],
    "one refused there": ["one@remote.example", "refuse@remote.example", "two@remote.example"],
    "one deferred there": ["one@remote.example", "later@remote.example"],
    "list with a bad member and a good": ["partmissing@test.example", "carol@test.example"],
    "bad lists": ["partmissing@test.example", "missing@test.example"],
    "classes": ["ann@test.example", "info@lists.example", "ann@boxes.example", "known@relay.example", "one@remote.example", "x@catch.example"],
    "catch-all twice": ["a@catch.example", "b@catch.example"],
    "catch-all and known": ["known@catch.example", "other@catch.example"],
    "loops": ["loop1@test.example", "loopa@lists.example", "self@test.example"],
    "canonical and plain": ["old@test.example", "ann@test.example"],
    "owned list and its owner": ["owned@test.example", "owner-owned@test.example"],
    "two owned lists": ["owned@test.example", "list@test.example"],
    "postmaster and ann": ["postmaster", "ann@test.example"],
}
SENDERS = {
    "null": "", "local": "ann@test.example", "local without domain": "ann", "unknown local": "nosuch@test.example", "rewritten": "private@remote.example",
    "upper case": "Private@REMOTE.example", "postmaster": "postmaster", "quoted": '"a b"@remote.example', "source route": "@x.example:one@remote.example",
    "percent": "one%remote.example@test.example", "literal": "one@[127.0.0.1]", "no domain after @": "one@", "only domain": "@remote.example",
    "long": "v" * 65 + "@remote.example", "VERP": "list-bounces+" + "x" * 180 + "=remote.example@remote.example", "very long": "v" * 400 + "@remote.example",
    "UTF-8": "gr\u00fcn@remote.example", "two @": "a@b@remote.example", "trailing dot": "one@remote.example.", "blank": "one @remote.example",
    "SIZE": "one@remote.example> SIZE=100", "SIZE 2^63": "one@remote.example> SIZE=9223372036854775808", "SIZE 2^64": "one@remote.example> SIZE=18446744073709551616", "SIZE text": "one@remote.example> SIZE=x",
    "BODY": "one@remote.example> BODY=8BITMIME", "BODY unknown": "one@remote.example> BODY=9BIT", "unknown parameter": "one@remote.example> FOO=BAR",
    "RET": "one@remote.example> RET=HDRS ENVID=x", "SMTPUTF8": "gr\u00fcn@remote.example> SMTPUTF8", "AUTH": "one@remote.example> AUTH=<>", "mailer-daemon": "MAILER-DAEMON@test.example", "list owner": "owner-list@test.example"}


def named():
    """Every envelope of the ordinary test."""
    found = [Envelope(address, [address]) for address in ADDRESSES]
    found += [Envelope(f"stranger: {address}", [address], stranger=True) for address in ADDRESSES]
    found += [Envelope(name, recipients) for name, recipients in TOGETHER.items()]
    for name, sender in SENDERS.items():
        found.append(Envelope(f"sender {name}", ["one@remote.example", "list@test.example", "refuse@remote.example"], sender))
    return found


def made_up(seed, count, without):
    """Random envelopes of 2 to 6 addresses, none of them one of those `without`."""
    die = random.Random(seed)
    plain = [each for each in ADDRESSES if shortened(each) not in without and each.isascii() and not set(each) & set("> ")]
    return [Envelope(f"seed {seed}, {n}", [die.choice(plain) for _ in range(die.randint(2, 6))]) for n in range(count)]
