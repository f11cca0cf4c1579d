"""The recipes of the manual (man/recipes), followed word for word on a machine that has the partner's Debian packages."""
import json
import re
import shutil
import socket
import urllib.error
import urllib.parse
import urllib.request
from functools import partial

import pytest
from dnslib import TXT

from harness.client import Client
from harness.installed import Installed
from harness.machine import Machine, listens
from harness.names import Names
from harness.recipe import Recipe
from harness.sink import Sink
from harness.watch import wait_until

pytestmark = [pytest.mark.needs("root", "mounts", "own network")]

HOST, BACKUP, PROVIDER = "192.0.2.1", "192.0.2.2", "192.0.2.3"  # mail.example.com …, as all other hosts see them


@pytest.fixture(scope="module")
def postrider(tmp_path_factory):
    place = tmp_path_factory.mktemp("installed")
    yield Installed(place)
    shutil.rmtree(place)


@pytest.fixture
def dns():
    """What every machine of the test asks: example.com, its mail server and its backup are there."""
    names = Names("127.0.0.1", 53)
    names.mx("example.com", (10, "mail.example.com"), (20, "mx2.example.com"))
    names.address_of("mail.example.com", HOST)
    names.address_of("mx2.example.com", BACKUP)
    names.address_of("smtp.provider.example", PROVIDER)
    yield names
    names.stop()


@pytest.fixture
def machine(folder, dns, network, postrider):
    """machine(recipe) → one with the packages of the recipe and a running Postrider for example.com, users ann and bob.
    machine(PACKAGE …, has_postrider=False): any other."""
    made = []
    network.add(HOST, BACKUP, PROVIDER)

    def make(*what, hostname="mail.example.com", listen="*:25", has_postrider=True):
        packages = what[0].packages if isinstance(what[0], Recipe) else what
        one = Machine(folder / f"machine{len(made)}", hostname, *packages, postrider=postrider if has_postrider else None)
        made.append(one)
        if has_postrider:
            one.install_postrider(hostname, "example.com", "ann", "bob", listen=listen)
            one.start_postrider()
        return one
    yield make
    problems = [line for each in made for line in each.problems()]
    for each in made:
        each.stop()
    assert not problems, "a daemon crashed, or was refused by its confinement:\n" + "\n".join(problems)


def test_rspamd(machine):
    recipe = Recipe("postrider-rspamd.7")
    here = machine(recipe)
    here.add_user("_rspamd", "/var/lib/rspamd")
    here.add_user("redis", "/var/lib/redis")
    here.run("mkdir -p /var/lib/rspamd /var/log/rspamd /var/lib/redis /var/log/redis; chown _rspamd /var/lib/rspamd /var/log/rspamd;"
             "chown redis /var/lib/redis /var/log/redis; chgrp redis /etc/redis /etc/redis/redis.conf")
    here.write("/usr/share/rspamd/effective_tld_names.dat", "com\nnet\n")  # compiling all of them takes half a minute
    here.write("/etc/rspamd/local.d/options.inc", "disable_hyperscan = true;\n")
    recipe.follow("CONFIGURE", here, {"rspamd": lambda: here.start_unit("rspamd", lambda: listens("11332")),
                                      "redis-server": lambda: here.start_unit("redis-server", lambda: listens("6379"))})
    spam, ham = recipe.follow("TEST", here)
    assert "554 5.7.1 Gtube pattern" in spam
    assert re.search(r"250 2\.0\.0 Ok: queued as", ham)
    assert re.search(r"^X-Spamd-Result: default: False", here.wait_mail("ann"), re.M)


def test_opendkim_and_opendmarc(machine, dns):
    recipe = Recipe("postrider-opendkim.7")
    here = machine(recipe)
    for name in ("opendkim", "opendmarc"):
        here.add_user(name)
        here.run(f"mkdir -p /run/{name}; chown {name} /run/{name}")
    units = {"opendkim": partial(here.start_unit, "opendkim", lambda: listens("8891")),
             "opendmarc": partial(here.start_unit, "opendmarc", lambda: listens("8893"))}
    dns.add("_dmarc.paypal.com", "TXT", TXT("v=DMARC1; p=reject"))
    recipe.follow("CONFIGURE", here, units)
    passed, rejected = recipe.follow("TEST", here)
    assert "250 2.0.0 Ok: queued as" in passed
    assert "550 5.7.1 rejected by DMARC policy for paypal.com" in rejected
    results = re.findall(r"^Authentication-Results: mail\.example\.com; (\w+=\w+)", here.wait_mail("ann"), re.M)
    assert sorted(results) == ["dkim=none", "dmarc=none", "spf=none"]

    here.run("kill $(cat /run/opendkim/opendkim.pid)")
    # It asks the root servers by itself, and validates what they say: here it has to ask ours.
    here.run("sed -i /TrustAnchorFile/d /etc/opendkim.conf; echo Nameservers 127.0.0.1 >>/etc/opendkim.conf")
    wait_until(lambda: not listens("8891"), 10, "OpenDKIM to end")
    recipe.follow("Sign with OpenDKIM", here, units)
    signed = here.wait_mail("bob", "Subject: signed")
    assert re.search(r"^DKIM-Signature: v=1; a=rsa-sha256; .*d=example.com; s=mail;", signed, re.M)

    # Once the record is published, the same message verifies when it comes from outside, and not when it was changed.
    record = "".join(re.findall(r'"(.*?)"', here.read("/etc/dkimkeys/mail.txt")))
    dns.add("mail._domainkey.example.com", "TXT", TXT([record[i:i + 200] for i in range(0, len(record), 200)]))
    dns.add("_dmarc.example.com", "TXT", TXT("v=DMARC1; p=reject"))
    content = signed.split("Delivered-To: bob@example.com\n")[1]
    with Client(HOST, 25) as c:
        c.say("EHLO mail.example.net")
        assert c.deliver("ann@example.com", ["ann@example.com"], content).startswith("250")
        assert c.deliver("ann@example.com", ["ann@example.com"], content.replace("\nhi\n", "\nho\n")).startswith("550 5.7.1 rejected by DMARC")
    assert "dmarc=pass" in here.wait_mail("ann", "dkim=pass")


def test_dovecot(machine):
    recipe = Recipe("postrider-dovecot.7")
    here = machine(recipe)
    for user in ("dovecot", "dovenull"):
        here.add_user(user)
    here.run("mkdir -p /etc/dovecot; cp -r /usr/share/dovecot/dovecot.conf /usr/share/dovecot/conf.d /etc/dovecot/\n"
             "mkdir -p /etc/dovecot/private /etc/letsencrypt/live/mail.example.com; cd /etc/letsencrypt/live/mail.example.com\n"
             "openssl req -x509 -newkey rsa:2048 -nodes -keyout privkey.pem -out fullchain.pem -subj /CN=mail.example.com -days 9\n"
             "cp fullchain.pem /etc/dovecot/private/dovecot.pem; cp privkey.pem /etc/dovecot/private/dovecot.key\n"
             "for each in imap lmtp; do echo 'protocols = $protocols' $each >/usr/share/dovecot/protocols.d/$each.protocol; done\n"
             "echo ann:secret | chpasswd")
    recipe.follow("CONFIGURE", here, {"dovecot": partial(here.start_unit, "dovecot", lambda: listens("12340"))})
    _, inbox, _, junk, sent, quota = recipe.follow("TEST", here)
    assert "Subject: test" in inbox and "X-Spam" not in inbox
    assert "X-Spam: Yes" in junk
    assert "235 2.7.0" in sent and "250 2.0.0 Ok: queued as" in sent
    assert re.search(r"User quota STORAGE +\d+ +1048576 ", quota)
    wait_until(lambda: "Subject: test" in here.run("doveadm fetch -u bob hdr mailbox INBOX all"), 10, here.said)
    # A full one: the size of a message is in its name.
    here.write("/home/ann/Maildir/cur/1.M1P1.mail,S=1400000000,W=1400000000:2,S", "Subject: large\n\n", owner="ann")
    here.run("doveadm quota recalc -u ann")
    assert "552 5.2.2 <ann@example.com>: Recipient address rejected: Mailbox is full" in here.run(
        "swaks --server mail.example.com --from test@example.net --to ann@example.com", check=False)


def test_null_client(machine):
    recipe = Recipe("postrider-null-client.7")
    hub = machine(recipe, listen=f"{HOST}:25")
    hub.write("/etc/aliases", "root: ann\n")
    recipe.follow("On the hub", hub)
    client = machine(recipe, hostname="app1.example.com", listen="127.0.0.1:25")
    recipe.follow("CONFIGURE", client)
    tried, _, queue = recipe.follow("TEST", client)
    assert "accepted" in tried and "Mail queue is empty" in queue
    assert "the disk is full" in hub.wait_mail("ann", "Subject: alarm")


def certificate(machine, name, key, certificate):
    machine.run(f"mkdir -p $(dirname {key}); openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -subj /CN={name} "
                f"-addext subjectAltName=DNS:{name} -days 90")


def test_smart_host(machine):
    recipe = Recipe("postrider-smart-host.7")
    provider = machine("postfix", "dovecot-core", hostname="smtp.provider.example", has_postrider=False)
    for user in ("dovecot", "dovenull"):
        provider.add_user(user)
    certificate(provider, "smtp.provider.example", "/etc/ssl/key.pem", "/etc/ssl/cert.pem")
    provider.write("/etc/dovecot/dovecot.conf", """
protocols =
ssl = no
log_path = /var/log/dovecot
auth_mechanisms = plain login scram-sha-256
passdb {
  driver = static
  args = user=example password=secret
}
service auth {
  unix_listener postfix {
    mode = 0666
  }
}
""")
    provider.start_unit("dovecot", lambda: listens(provider.path("/run/dovecot/postfix")))
    provider.start_postfix(PROVIDER, "smtp.provider.example", "example.org", "reader", main="""
smtpd_tls_cert_file = /etc/ssl/cert.pem
smtpd_tls_key_file = /etc/ssl/key.pem
smtpd_sasl_type = dovecot
smtpd_sasl_path = /run/dovecot/postfix
""", master="""
587 inet n - n - - smtpd
    -o smtpd_tls_security_level=encrypt
    -o smtpd_sasl_auth_enable=yes
    -o smtpd_client_restrictions=permit_sasl_authenticated,reject
    -o smtpd_sender_restrictions=check_sender_access,inline:{example@provider.example=OK},reject
""")
    here = machine(recipe, listen=f"{HOST}:25")
    here.write("/etc/ssl/certs/ca-certificates.crt", provider.read("/etc/ssl/cert.pem"))
    recipe.follow("CONFIGURE", here)
    tried, _, queue = recipe.follow("TEST", here)
    assert "235 2.7.0" in tried and "Mail queue is empty" in queue
    got = provider.wait_mail("reader")
    assert "Subject: through the provider" in got and "Return-Path: <example@provider.example>" in got


def test_backup_mx(machine):
    recipe = Recipe("postrider-backup-mx.7")
    backup = machine(recipe, hostname="mx2.example.com", listen=f"{BACKUP}:25")
    recipe.follow("CONFIGURE", backup)
    taken, refused, waiting = recipe.follow("TEST", backup)
    assert "250 2.0.0 Ok: queued as" in taken and "550 5.1.1" in refused
    assert "mail.example.com" in waiting
    primary = machine("postfix", "fetchmail", has_postrider=False)
    primary.start_postfix(HOST, "mail.example.com", "example.com", "ann")
    recipe.follow("The server is back", primary)
    assert "by mx2.example.com (Postrider)" in primary.wait_mail("ann")


def test_postsrsd(machine, dns, remote):
    recipe = Recipe("postrider-postsrsd.7")
    here = machine(recipe, listen="127.0.0.1:25")
    here.add_user("postsrsd")
    here.run("mkdir -p /var/lib/postsrsd; echo a-secret >/etc/postsrsd.secret; cp /usr/share/postsrsd/postsrsd.template /etc/default/postsrsd")
    here.write("/etc/aliases", "carol: carol@example.org\n")
    dns.mx("example.org", (10, "mx.example.org"))
    dns.address_of("mx.example.org", PROVIDER)
    sink = remote(25, PROVIDER)
    recipe.follow("CONFIGURE", here, {"postsrsd": partial(here.start_unit, "postsrsd", lambda: listens("10002"))})
    both_ways, _ = recipe.follow("TEST", here)
    srs, back = both_ways.split()
    assert re.fullmatch(r"SRS0=.*=example\.net=ann@example\.com", srs) and back == "ann@example.net"
    assert sink.wait_for_one_to("carol@example.org").sender == srs
    # A report comes back to that address, and goes to the original sender.
    dns.mx("example.net", (10, "mx.example.org"))
    here.run("swaks", "--server", "127.0.0.1", "--from", "<>", "--to", srs)
    assert sink.wait_for_one_to("ann@example.net").sender == ""


def test_mailman(machine):
    recipe = Recipe("postrider-mailman.7")
    here = machine(recipe)
    here.add_user("list", "/var/list")
    here.run("cp /usr/share/mailman3/mailman.cfg.sample /etc/mailman3/mailman.cfg\n"
             "for each in /var/lib/mailman3 /var/lib/mailman3/data /var/log/mailman3 /run/mailman3; do\n"
             "    mkdir -p $each; chown list:list $each\ndone")
    # Each runner is a Python of its own: those that the recipe does not need stay away.
    here.write("/etc/mailman3/mailman.cfg", here.read("/etc/mailman3/mailman.cfg") + "".join(
        f"[runner.{name}]\nstart: no\n" for name in ("archive", "bounces", "command", "digest", "nntp", "rest", "retry", "task", "virgin")))
    start = partial(here.start_unit, "mailman3", lambda: listens("8024"))
    recipe.follow("CONFIGURE", here, {"mailman3": start})
    *_, refused = recipe.follow("TEST", here)
    assert "550 5.1.1" in refused
    for user in ("ann", "bob"):
        assert "List-Id: <team.lists.example.com>" in here.wait_mail(user, "Subject: [Team] hello all")


def test_amavis(machine):
    recipe = Recipe("postrider-amavis.7")
    here = machine(recipe)
    here.add_user("amavis", "/var/lib/amavis")
    here.run("for each in tmp db virusmails; do mkdir -p -m 750 /var/lib/amavis/$each; done; chown -R amavis:amavis /var/lib/amavis; mkdir -p /run/amavis")
    recipe.follow("CONFIGURE", here, {
        "amavis": partial(here.start_unit, "amavis", lambda: listens(here.path("/var/lib/amavis/amavisd.sock"))),
        "amavisd-milter": lambda: (here.launch("/etc/init.d/amavisd-milter", "start"), wait_until(lambda: listens("60001"), 20, here.said))})
    clean, _, banned = recipe.follow("TEST", here)
    assert "250 2.0.0 Ok: queued as" in clean
    assert re.search(r"554 5\.7\.0 Reject, id=\S+ - BANNED: .*invoice\.pdf\.exe", banned)


def test_content_filter(machine):
    recipe = Recipe("postrider-content-filter.7")
    here = machine(recipe, listen="127.0.0.1:25")
    here.add_user("amavis", "/var/lib/amavis")
    here.run("for each in tmp db virusmails; do mkdir -p -m 750 /var/lib/amavis/$each; done; chown -R amavis:amavis /var/lib/amavis; mkdir -p /run/amavis")
    recipe.follow("CONFIGURE", here, {"amavis": partial(here.start_unit, "amavis", lambda: listens("10024"))})
    tried, logged = recipe.follow("TEST", here)
    first = re.search(r"250 2\.0\.0 Ok: queued as ([0-9A-F]+)", tried)[1]
    into = re.search(rf"{first}: to=<ann@example\.com>, relay=127\.0\.0\.1\[127\.0\.0\.1\]:10024, .*status=sent .*queued as ([0-9A-F]+)", logged)
    assert into, logged
    here.wait_log(rf"{into[1]}: to=<ann@example\.com>, .*relay=local, .*status=sent")
    assert "(amavis, port 10024)" in here.wait_mail("ann")
    # Programs' mail goes through it, too; what amavis returns comes back by way of its own report.
    here.run("printf 'Subject: from a program\\n\\nhello\\n' | sendmail -f ann@example.com ann@example.com")
    assert "Subject: from a program" in here.wait_mail("ann", "from a program")


def test_prometheus(machine):
    recipe = Recipe("postrider-prometheus.7")
    here = machine(recipe)
    here.add_user("prometheus", "/var/lib/prometheus")
    here.run("mkdir -p /var/lib/prometheus; chown -R prometheus /var/lib/prometheus")

    def start():
        here.run("sed -i 's/scrape_interval: 15s/scrape_interval: 1s/' /etc/prometheus/prometheus.yml")  # so that the test takes seconds
        here.start_unit("prometheus", lambda: scraped("up") == ["1"])

    def start_alertmanager():
        here.run("mkdir -p /var/lib/prometheus/alertmanager; chown prometheus /var/lib/prometheus/alertmanager\n"
                 "sed -i 's/group_wait: 30s/group_wait: 0s/' /etc/prometheus/alertmanager.yml")
        here.start_unit("prometheus-alertmanager", lambda: listens("9093"))
    here.write("/etc/aliases", "postmaster: ann\n")
    recipe.follow("CONFIGURE", here, {"prometheus": start, "prometheus-alertmanager": start_alertmanager})
    metrics, up, *_ = recipe.follow("TEST", here)
    here.wait_mail("ann", "Subject: [FIRING:1]  (test)")
    assert "# TYPE postrider_" in metrics and "=> 1 @" in up
    board = json.loads(here.run("cat", "/usr/share/doc/postrider/examples/grafana-dashboard.json"))
    for expression in [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]:
        scraped(expression.replace("$__rate_interval", "1m"))


def scraped(expression):
    """The values that Prometheus has for it."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": expression}), timeout=10) as reply:
            return [each["value"][1] for each in json.load(reply)["data"]["result"]]
    except urllib.error.URLError as why:
        if isinstance(why, urllib.error.HTTPError) and why.code == 400:
            raise
        return None  # it is not ready


@pytest.fixture
def nobody_is_banned_afterwards(network):
    """The packet filter is the network's, which the next test of this process has too."""
    yield
    sink = Sink(HOST, 25)
    socket.create_connection((HOST, 25), timeout=10, source_address=(HOST, 0)).close()
    sink.stop()


def test_log_tools(nobody_is_banned_afterwards, machine):
    recipe = Recipe("postrider-log-tools.7")
    here = machine(recipe)
    for section in ("CONFIGURE", "pflogsumm", "logwatch"):
        recipe.follow(section, here)
    for n in range(6):
        here.run("swaks", "--server", "mail.example.com", "--from", "guess@example.net", "--to", f"nouser{n}@example.com", check=False)
    here.write("/etc/fail2ban/jail.d/test.conf", "[DEFAULT]\nignoreself = false\n")  # the client has an address of this host's
    recipe.follow("fail2ban", here, {"fail2ban": partial(here.start_unit, "fail2ban", lambda: "pong" in here.run("fail2ban-client ping", check=False))})
    wait_until(lambda: "192.0.2.1" in here.run("fail2ban-client status postfix"), 20, lambda: f"a ban\n{here.read('/var/log/fail2ban.log')}")
    here.configure('[http]\nlisten = ["0.0.0.0:9587"]\ninsecure = true\n')
    here.restart_postrider()
    recipe.follow("The API", here)
    for _ in range(5):
        here.run("curl", "-sS", "-H", "Authorization: Bearer prt_guess", "http://mail.example.com:9587/v1/status", check=False)
    wait_until(lambda: "192.0.2.1" in here.run("fail2ban-client status postrider-http"), 20, lambda: f"a ban\n{here.read('/var/log/fail2ban.log')}")
    summary, report, found, status = recipe.follow("TEST", here)
    assert re.search(r"^ +6 +rejected", summary, re.M) and re.search(r"^ +6 +5xx Reject unknown user", report, re.M)
    assert "6 matched" in found and re.search(r"Banned IP list:\s192\.0\.2\.1$", status, re.M)
    assert "192.0.2.1" in here.run("nft list ruleset")
