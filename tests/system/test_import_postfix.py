"""`postrider import-postfix`: what Debian's Postfix says of a configuration is what the importer reads in it, and mail
takes the road with the result that the configuration describes."""
import json
import subprocess
import tomllib

import pytest

from harness.certificates import make_certificate
from harness.client import Client
from harness.mta import BUILD
from harness.postfix import Postfix
from harness.sink import Sink
from harness.stores import DovecotStore
from harness.unpacked import environment, tree
from harness.watch import wait_until
from test_client_auth import relay  # noqa: F401 (a fixture)

DEFAULT_MASTER = "smtp inet n - y - - smtpd\npickup unix n - y 60 1 pickup\nsmtp unix - - y - - smtp\nrelay unix - - y - - smtp\n"
# Where names are looked up and which host this is are not the importer's affair.
OF_THE_HOST = {"myhostname", "mydomain", "mynetworks", "mail_version", "mail_release_date", "process_id", "process_name", "config_directory"}


def postconf(*words):
    place = tree("postfix")
    return subprocess.run([place / "usr/sbin/postconf", *words], env=environment(place), capture_output=True, text=True, check=True).stdout


def settings(text):
    return {line.partition(" =")[0]: line.partition(" =")[2].strip() for line in text.splitlines()}


@pytest.fixture
def postfix(mta):
    """postfix(main, master, file=text …): a directory as /etc/postfix would be; imported, its keys by section."""
    def make(main, master=DEFAULT_MASTER, **files):
        place = mta.folder / "postfix"
        place.mkdir(exist_ok=True)
        for name, text in {"main.cf": main, "master.cf": master, **files}.items():
            (place / name).write_text(text.replace("@DIR@", str(place)))
            (place / name).chmod(0o600 if "sasl" in name else 0o644)
        said = settings(postconf("-c", place, "-n", "-x"))
        done = mta.run("postrider", "import-postfix", place, "--json")
        facts = json.loads(done.stdout)
        assert done.returncode == (78 if facts["undecided"] else 0), done.stdout + done.stderr
        ours = {each["name"]: each["value"] for each in facts["settings"] if each["file"] == "main.cf"}
        for name, value in said.items():
            assert name == "config_directory" or " ".join(ours[name].split()) == value, name  # postconf prints one blank for several
        unused = ours.keys() - said.keys()  # postconf leaves out what Postfix does not know and nothing uses
        assert all("Postfix 3.7 has no such setting" in " ".join(each["remarks"]) for each in facts["settings"] if each["name"] in unused)
        assert f"imported {facts['converted']}, with remarks {facts['converted_with_remarks']}, without a counterpart {facts['unsupported']}" in done.stderr
        mta.facts = {each["name"]: each for each in facts["settings"]}
        assert facts["configuration"] == mta.run("postrider", "import-postfix", place).stdout
        return tomllib.loads(facts["configuration"])
    return make


def take_over(mta, imported):
    """The imported configuration, but in single-user mode, on loopback ports and in the test's own directories."""
    doors = imported.pop("listen")
    assert doors["smtp"]["service"] == "relay" and doors["smtp"]["addresses"][0].endswith(":25")
    mine = mta.config
    for section, keys in imported.items():
        if section in ("route", "table", "milter", "policy", "dns_list", "pool", "access", "access_class"):
            for name, inner in keys.items():
                if section == "access":
                    inner["listeners"] = ["relay"]
                mine[f'{section}."{name}"'] = inner
        else:
            mine[section] = mine.get(section, {}) | keys
    mine["mta"]["multi_user"] = False
    mine["local"] |= {"mailbox": f"maildir:{mta.folder}/mail/{{user}}", "aliases": mine["local"].get("aliases", [])}
    mine["listen.relay"] |= {key: value for key, value in doors["smtp"].items() if key != "addresses"}
    mine["queue"] |= {"glitch_interval": "1s"}
    mta.start()


def say(mta, *recipients, sender="someone@test.example"):
    with mta.client(mta.relay_port) as c:
        c.say(f"MAIL FROM:<{sender}>")
        return [c.say(f"RCPT TO:<{each}>") for each in recipients]


def test_every_setting_of_postfix_is_known(folder):
    (folder / "main.cf").write_text("")
    (folder / "master.cf").write_text((tree("postfix") / "usr/share/postfix/master.cf.dist").read_text())
    theirs = settings(postconf("-c", folder, "-d"))  # those of each of its transports among them
    assert len(theirs) > 1000
    done = subprocess.run([BUILD / "daemons/import-postfix/setting_map", "--look"], input="".join(f"{name}\n" for name in theirs),
                          capture_output=True, text=True, check=True)
    ours = {}
    for line in done.stdout.splitlines():
        text, _, row = line.partition("\t")
        assert row != "?", f"{text}: no row of the table is about it"
        ours |= settings(text)
    assert {n: v for n, v in ours.items() if n not in OF_THE_HOST} == {n: v for n, v in theirs.items() if n not in OF_THE_HOST}


def test_names_are_put_in_as_postfix_does(postfix):
    postfix("""compatibility_level = 3.6
myhostname = mx.$mydomain
mydomain = names.example
empty_one =
full_one = $empty_one
always_bcc = ${full_one?yes}${full_one:no}-${empty_one?yes}${empty_one:no}-${full_one?{a}:{b}}$$x$(mail_name)
relayhost = ${ mydomain }
mail_name = ${{$compatibility_level} >=level {3.6} ? {new} : {old}}${{$compatibility_level} <level {3.10} ? {x}:{y}}
smtpd_banner = ${{1} < {10} ? {x}:{y}}${{b} < {a}?{p}:{q}}${{10} >= {9}?{n}}
local_transport = error:${empty_one?{x { y } z}}${empty_one:{ no mail }}here
mydestination = $myhostname,
    # remark

\tlocalhost.$mydomain   localhost
mynetworks = 127.0.0.0/8,
   [::1]/128
unheard_of = $mydestination
body_checks = pcre:/etc/${mydomain}/x
mailbox_command = /bin/x $USER
smtp_helo_name = $myhostname
queue_directory=/var/spool/${mydomain}
""")


def test_debians_own_configuration(mta, postfix):
    share = tree("postfix") / "usr/share/postfix"
    main = (share / "main.cf.debian").read_text() + (share / "main.cf.tls").read_text()
    certificate, key = make_certificate(mta.folder, "mx.debian.example")
    main = main.replace("/etc/ssl/certs/ssl-cert-snakeoil.pem", str(certificate)).replace("/etc/ssl/private/ssl-cert-snakeoil.key", str(key))
    main += "mynetworks = 127.0.0.0/8 [::ffff:127.0.0.0]/104 [::1]/128\nalias_maps = hash:@DIR@/aliases\nmydestination = $myhostname, debian.example\nmyhostname = mx.debian.example\n"
    imported = postfix(main, (share / "master.cf.dist").read_text(), aliases=f"info: {mta.user}\n")
    assert imported["smtp_client"]["tls"] == "may"
    assert not [name for name, each in mta.facts.items() if each["result"] != "converted"]
    assert imported["tls"]["certificates"] == [str(certificate)] and imported["listen"]["smtp"]["tls"] == "offer"
    assert imported["relay"]["networks"] == ["127.0.0.0/8", "[::1]/128"]
    take_over(mta, imported)
    assert say(mta, "info@debian.example", "nobody@debian.example")[0].startswith("250")
    mta.submit("info@debian.example", port=mta.relay_port)
    assert mta.wait_mailbox(1)


@pytest.mark.needs("root")
def test_satellite_sends_all_by_its_relay_host_with_its_account(mta, relay, postfix):  # noqa: F811
    relay.start()
    imported = postfix(f"""compatibility_level = 3.6
myhostname = satellite.example
myorigin = $myhostname
mydestination = $myhostname, localhost
inet_interfaces = loopback-only
mynetworks = 127.0.0.0/8
relayhost = {relay.at}
smtp_sasl_auth_enable = yes
smtp_sasl_password_maps = hash:@DIR@/sasl_passwd
smtp_sasl_security_options = noanonymous
smtp_sasl_tls_security_options = $smtp_sasl_security_options
smtp_tls_security_level = encrypt
smtp_destination_concurrency_limit = 2
delay_warning_time = 1h
""", sasl_passwd=f"{relay.at}\tann:secret\n")
    assert imported["listen"]["smtp"]["addresses"] == ["127.0.0.1:25", "[::1]:25"]
    assert imported["queue"]["delay_notice"] == "1h"
    assert not [name for name, each in mta.facts.items() if each["result"] == "unsupported"]
    take_over(mta, imported)
    queue_id = mta.submit("bob@remote.example", port=mta.relay_port)
    mta.wait_log(rf"{queue_id}: to=<bob@remote.example>, relay=.*status=sent")
    relay.sink.wait_for_one_to("bob@remote.example")
    assert relay.logged("sasl_username=ann")


@pytest.mark.needs("mounts")
def test_hub_with_alias_domains_and_a_store_by_lmtp(mta, block, postfix):
    store = DovecotStore(mta.folder, block.host(20), block.port(), "ann", "bob")
    try:
        imported = postfix(f"""compatibility_level = 3.6
myhostname = hub.example
mydestination = $myhostname
mynetworks = 127.0.0.0/8
virtual_alias_maps = hash:@DIR@/virtual
virtual_mailbox_domains = boxes.example
virtual_mailbox_maps = texthash:@DIR@/boxes
virtual_transport = lmtp:unix:{store.socket}
relocated_maps = inline:{{ {{ gone@boxes.example = somewhere else }} }}
recipient_delimiter = +
header_checks = pcre:@DIR@/checks
nested_header_checks =
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination, reject_rbl_client bl.hub.example
""", virtual="# a domain of aliases\nlists.example  anything\nteam@lists.example ann@boxes.example,\n  bob@boxes.example\n",
                           boxes="ann@boxes.example x\nbob@boxes.example x\n", checks="/^Subject: lottery/ REJECT no lotteries\n")
        assert imported["virtual_alias"]["domain_tables"] == imported["virtual_alias"]["tables"] == [f"text:{mta.folder}/postfix/virtual"]
        assert "bl.hub.example" in imported["dns_list"]
        take_over(mta, imported)
        replies = say(mta, "team@lists.example", "nobody@lists.example", "bob+x@boxes.example", "nobody@boxes.example", "gone@boxes.example")
        assert [reply[:3] for reply in replies] == ["250", "550", "250", "550", "550"], replies
        assert "5.1.6" in replies[4]
        mta.submit("team@lists.example", port=mta.relay_port)
        for user in ("ann", "bob"):
            wait_until(lambda: store.mailbox(user), 15, lambda: f"{user}'s mail\n{store.said()}\n{mta.last_words()}")
        with mta.client(mta.relay_port) as c:
            assert c.deliver("a@test.example", ["ann@boxes.example"], "Subject: lottery\r\n\r\nx\r\n").startswith("550")
    finally:
        store.stop()


def test_backup_mx_takes_mail_for_its_domains_and_no_others(mta, block, postfix):
    first, second = Sink(block.host(30), block.port()), Sink(block.host(31), block.port())
    try:
        imported = postfix("""compatibility_level = 3.6
myhostname = mx2.example
mydestination =
local_transport = error:no local mail
mynetworks = 127.0.0.200/32
relay_domains = one.example, hash:@DIR@/domains
relay_recipient_maps = hash:@DIR@/recipients
transport_maps = hash:@DIR@/transport
maximal_queue_lifetime = 10
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
""", domains="two.example  x\n", recipients="ann@one.example x\n@two.example x\n",
                           transport=f"one.example  smtp:[{first.address}]:{first.port}\ntwo.example relay:[{second.address}]:{second.port}\n")
        assert imported["relay"]["domains"] == ["one.example", ".one.example"]
        assert imported["relay"]["domain_tables"] == [f"text:{mta.folder}/postfix/domains"] and imported["relay"]["parent_domains"]
        assert imported["queue"]["expiry"] == "10d"
        take_over(mta, imported)
        replies = say(mta, "ann@one.example", "bob@one.example", "anybody@two.example", "else@three.example")
        assert [reply[:3] for reply in replies] == ["250", "550", "250", "554"], replies
        mta.submit(["ann@one.example", "anybody@two.example"], port=mta.relay_port)
        first.wait_for_one_to("ann@one.example")
        second.wait_for_one_to("anybody@two.example")
    finally:
        first.stop(), second.stop()


@pytest.mark.parametrize("main, said", [
    ("a = $b\nb = $a\n", r"main.cf:1: a: ${b} refers to itself (b, a, b)"),
    ("relocated_maps = hash:/dev/zero\n", "main.cf:1: relocated_maps: /dev/zero: not a regular file"),
    (b"ok = 1\nmyorigin = \xe4\xf6\n", "main.cf:2: not UTF-8"),
    (lambda: b"#" * 9_000_000, "limit 8388608"),
    ("no equals sign\n", "main.cf:1: "),
    (None, "main.cf: No such file or directory"),
], ids=["cycle", "device", "encoding", "huge", "no-equals", "no-file"])
def test_what_is_broken_is_named_and_nothing_is_written(mta, main, said):
    place, out = mta.folder / "broken", mta.folder / "out.toml"
    place.mkdir()
    if main is not None:
        (place / "main.cf").write_bytes(main.encode() if isinstance(main, str) else main if isinstance(main, bytes) else main())
    done = mta.run("postrider", "import-postfix", place, "-o", out)
    assert done.returncode == 65 and said in done.stderr and done.stdout == "", done.stderr
    assert not out.exists()


def test_what_guards_stays_for_check_to_refuse(mta):
    """A table that is missing or of a foreign type, a certificate, a list of domains: none is dropped, each is named."""
    place, out = mta.folder / "copied", mta.folder / "out.toml"
    place.mkdir()
    (place / "main.cf").write_text("""myhostname = mx.copied.example
relay_domains = a.example, /none/domains
relay_recipient_maps = hash:/none/recipients
virtual_alias_maps = mysql:/etc/postfix/aliases.cf
smtpd_tls_cert_file = /none/certificate.pem
smtpd_tls_security_level = encrypt
smtpd_soft_error_limit = 123456789012
""")
    (place / "master.cf").write_text(DEFAULT_MASTER)
    done = mta.run("postrider", "import-postfix", place, "-o", out)
    assert done.returncode == 78 and "incomplete" in done.stderr, done.stderr
    made = tomllib.loads(out.read_text())
    assert made["relay"]["domains"] == ["a.example", ".a.example", "/none/domains"]
    assert made["relay"]["recipients"] == ["text:/none/recipients"]
    assert made["virtual_alias"]["tables"] == ["mysql:/etc/postfix/aliases.cf"]
    assert made["tls"]["certificates"] == ["/none/certificate.pem"] and made["listen"]["smtp"]["tls"] == "require"
    assert "soft_errors" not in made["smtpd"]  # a number out of range: ours is as good
    said = mta.run("postrider", "check", "-c", out)
    assert said.returncode == 78
    assert "/none/domains" in said.stderr and "/none/domains" in done.stderr, (said.stderr, done.stderr)
    # Settled by hand, one after the other: what is missing is asked for last.
    text = out.read_text().replace(', "/none/domains"', "")
    out.write_text(text)
    said = mta.run("postrider", "check", "-c", out)
    assert said.returncode == 78, said.stderr
    for each in ("/none/recipients", "/none/certificate.pem", "/etc/postfix/aliases.cf"):
        assert each in said.stderr, said.stderr


def test_what_guarded_and_is_lost_is_for_the_operator_to_decide(mta):
    """A virus filter, a restriction that is not here, a cleanup service that hides clients: the configuration is refused until each
    line about them was deleted."""
    place, out = mta.folder / "guarded", mta.folder / "out.toml"
    place.mkdir()
    (place / "main.cf").write_text("""myhostname = mx.guarded.example
content_filter = amavis:[127.0.0.1]:10024
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination,
  reject_unlisted_sender, reject_rbl_client bl.example
smtp_generic_maps = hash:/etc/postfix/generic
""")
    (place / "master.cf").write_text(DEFAULT_MASTER + "submission inet n - y - - smtpd -o cleanup_service_name=hide -o smtpd_client_restrictions=permit_mynetworks,reject\n"
                                     "hide unix n - y - 0 cleanup\n  -o header_checks=regexp:/etc/postfix/received\n")
    done = mta.run("postrider", "import-postfix", place, "-o", out)
    assert done.returncode == 78 and "decide about 3 lines of [undecided]" in done.stderr, done.stderr
    expected = ["main.cf:2 content_filter = amavis:[127.0.0.1]:10024",
                "main.cf:3 smtpd_recipient_restrictions: reject_unlisted_sender",
                "master.cf:6 hide unix: header_checks = regexp:/etc/postfix/received"]
    assert list(tomllib.loads(out.read_text())["undecided"]) == expected
    facts = json.loads(mta.run("postrider", "import-postfix", place, "--json").stdout)
    assert [f"{each['file']}:{each['line']} {each['guard']}" for each in facts["undecided"]] == expected
    assert "not applied to mail of submission inet" in facts["undecided"][2]["advice"]
    said = mta.run("postrider", "check", "-c", out)
    assert said.returncode == 78
    lines = out.read_text().splitlines(keepends=True)
    for guard in expected:
        number = next(n for n, line in enumerate(lines, 1) if line.startswith(f'"{guard}"'))
        assert f"out.toml:{number}:1: undecided: {guard}: " in said.stderr, said.stderr
    # One decision more at each step; the last one leaves nothing to decide.
    for left in (2, 1, 0):
        lines.pop(next(n for n, line in enumerate(lines) if line.startswith('"ma')))
        out.write_text("".join(lines))
        said = mta.run("postrider", "check", "-c", out)
        assert said.stderr.count("undecided: ") == left, said.stderr


@pytest.mark.needs("root", "mounts")
@pytest.mark.parametrize("settings", [
    {"mydestination": "", "local_recipient_maps": "", "local_transport": "error:no local mail"},
    {"mydestination": "local.example", "local_recipient_maps": ""},
    {"mydestination": "local.example", "smtpd_reject_unlisted_recipient": "no",
     "smtpd_recipient_restrictions": "reject_unauth_destination, reject_unlisted_recipient"},
    {"mydestination": "local.example", "smtpd_reject_unlisted_recipient": "no"},
    {"mydestination": "local.example", "local_recipient_maps": "inline:{ {ann = x} }"},
    {"mydestination": "local.example", "local_recipient_maps": "$alias_maps inline:{ {@local.example = x} }"},
], ids=["gateway", "local", "listed", "unchecked", "table", "domain"])
def test_whom_a_gateway_knows_is_whom_postfix_knows(mta, block, postfix, settings):
    """Recipients of each class: what Debian's Postfix replies with the same settings, Postrider replies."""
    main = {"compatibility_level": "3.6", "myhostname": "gate.example", "mynetworks": "127.0.0.99/32", "alias_maps": "",
            "smtpd_relay_restrictions": "permit_mynetworks, reject_unauth_destination",
            "relay_domains": "relay.example, open.example", "virtual_alias_domains": "alias.example",
            "relay_recipient_maps": "inline:{ {ann@relay.example = x} {@open.example = x} }",
            "virtual_alias_maps": "inline:{ {ann@alias.example = ann@relay.example} }",
            "virtual_mailbox_domains": "boxes.example", "virtual_mailbox_maps": "inline:{ {ann@boxes.example = x} }",
            "virtual_transport": "lmtp:inet:127.0.0.1:24", **settings}
    imported = postfix("".join(f"{name} = {value}\n" for name, value in main.items()))
    theirs = mta.folder / "theirs"
    theirs.mkdir()
    server = Postfix(theirs, block.host(77), block.port(), **{"local_recipient_maps": "proxy:unix:passwd.byname $alias_maps", **main})
    try:
        take_over(mta, imported)
        recipients = [f"{user}@{domain}" for user in ("ann", "nobody-at-all")
                      for domain in ("relay.example", "open.example", "alias.example", "boxes.example", "local.example", "else.example")]
        with Client(server.address, server.port) as c:
            c.say("EHLO client.example")
            c.say("MAIL FROM:<someone@test.example>")
            expected = [c.say(f"RCPT TO:<{each}>")[:3] for each in recipients]
        assert expected[0] == "250" and expected[-1] == "554"
        assert dict(zip(recipients, [reply[:3] for reply in say(mta, *recipients)])) == dict(zip(recipients, expected))
    finally:
        server.stop()


def test_a_file_that_is_there_stays(mta):
    place, out = mta.folder / "small", mta.folder / "out.toml"
    place.mkdir()
    (place / "main.cf").write_text("myhostname = a.example\n")
    out.write_text("precious")
    done = mta.run("postrider", "import-postfix", place, "-o", out)
    assert done.returncode == 73 and "already exists" in done.stderr and out.read_text() == "precious"
