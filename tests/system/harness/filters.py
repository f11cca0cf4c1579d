"""Mail filters, a policy server and an auth server that others wrote, each with the smallest configuration that does
something, none with a way to the network. Each is a Service with an `address` in the form of the configuration."""
import socket
import subprocess
import tempfile
from pathlib import Path

from .unpacked import Service, environment, tree


def answers(address):
    """Somebody accepts connections at "inet:HOST:PORT" or "unix:PATH"."""
    kind, _, place = address.partition(":")
    host, _, port = place.rpartition(":")
    with socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET) as s:
        try:
            s.connect(place if kind == "unix" else (host, int(port)))
            return True
        except OSError:
            return False


def short_folder():
    """For sockets of programs that cannot reach a path of more than 107 bytes."""
    return Path(tempfile.mkdtemp(prefix="postrider-"))


class OpenDkim(Service):
    """Signs for test.example what users send, verifies what strangers send, and knows its own key as a published one."""

    def __init__(self, folder, address):
        self.address, place = address, tree("opendkim")
        key = folder / "dkim.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        public = subprocess.run(["openssl", "rsa", "-in", key, "-pubout", "-outform", "PEM"], check=True, capture_output=True, text=True)
        words = "".join(public.stdout.split("\n")[1:-2])
        (folder / "dkim.keys").write_text(f"mail._domainkey.test.example v=DKIM1; k=rsa; p={words}\n")
        (folder / "dkim.internal").write_text("192.0.2.1\n")
        kind, _, where = address.partition(":")
        host, _, port = where.rpartition(":")
        (folder / "opendkim.conf").write_text(f"""
Socket {f'local:{where}' if kind == 'unix' else f'inet:{port}@{host}'}
Mode sv
Domain test.example
Selector mail
KeyFile {key}
RequireSafeKeys no
Canonicalization relaxed/simple
SignHeaders From,To,Cc,Bcc,Date,Message-ID,Subject
OversignHeaders From,To,Cc,Bcc,Date,Message-ID,Subject
InternalHosts {folder}/dkim.internal
TestPublicKeys {folder}/dkim.keys
AuthservID mta.test.example
AlwaysAddARHeader yes
UMask 007
Syslog no
""")
        super().__init__([place / "usr/sbin/opendkim", "-f", "-x", folder / "opendkim.conf"], folder,
                         lambda: answers(address), environment(place))


class Rspamd(Service):
    """Scans by itself: refuses the test pattern that means spam, and does by the subject what filters do."""

    def __init__(self, folder, host, port):
        self.address, place = f"inet:{host}:{port}", tree("rspamd")
        folder = folder / "rspamd"
        folder.mkdir()
        share = place / "usr/share/rspamd"
        (folder / "tlds").write_text("example\n")  # those it brings are many, and take long
        (folder / "rules.lua").write_text("""
rspamd_config:register_symbol({name = 'SUBJECT', type = 'prefilter', callback = function(task)
  local subject = task:get_subject()
  if subject == 'later' then task:set_pre_result('soft reject', 'come back later', 'test')
  elseif subject == 'doubtful' then task:set_pre_result('add header', 'doubtful', 'test')
  elseif subject == 'loud' then
    task:set_metric_subject('*** SPAM *** loud')
    task:set_pre_result('rewrite subject', 'loud', 'test')
  elseif subject == 'marked' then
    task:set_milter_reply({add_headers = {['X-Last'] = 'below', ['X-First'] = {value = 'on top', order = 0}},
                           remove_headers = {['X-Secret'] = 0}, change_from = 'changed@remote.example'})
  end
end})
""")
        (folder / "rspamd.conf").write_text(f"""
lua = "{folder}/rules.lua"
options {{
  filters = ""; url_tld = "{folder}/tlds"; tempdir = "{folder}"; cache_file = "{folder}/symbols"; hs_cache_dir = "{folder}/";
  disable_hyperscan = true; local_addrs = [];
  dns {{ nameserver = ["127.0.0.1:1"]; timeout = 0.1s; retransmits = 1; }}
}}
logging {{ type = "console"; level = "info"; }}
actions {{ reject = 15; add_header = 6; greylist = 4; }}
worker "rspamd_proxy" {{
  bind_socket = "{host}:{port}"; milter = yes; timeout = 20s; count = 1;
  upstream "local" {{ default = yes; self_scan = yes; }}
}}
""")
        places = {"CONFDIR": place / "etc/rspamd", "LOCAL_CONFDIR": folder, "SHAREDIR": share, "RULESDIR": share / "rules",
                  "LUALIBDIR": share / "lualib", "PLUGINSDIR": share / "plugins", "DBDIR": folder, "RUNDIR": folder, "LOGDIR": folder}
        super().__init__([place / "usr/bin/rspamd", "--insecure", "-f", "-c", folder / "rspamd.conf",
                          *(f"--var={name}={value}" for name, value in places.items())], folder,
                         lambda: answers(self.address), environment(place))


class Postgrey(Service):
    """Greylists everybody for a second."""

    def __init__(self, folder, address, *options):
        self.address, place = address, tree("postgrey")
        folder = folder / "postgrey"
        folder.mkdir()
        (folder / "nobody").write_text("")
        whoami = [subprocess.run(["id", flag], check=True, capture_output=True, text=True).stdout.strip() for flag in ("-un", "-gn")]
        modules = [f"-I{p}" for p in (place / "usr/share/perl5", *(place / "usr/lib/x86_64-linux-gnu/perl5").glob("5.*"))]
        kind, _, where = address.partition(":")
        super().__init__(["/usr/bin/perl", "-T", *modules, place / "usr/sbin/postgrey", f"--{kind}={where}", f"--user={whoami[0]}",
                          f"--group={whoami[1]}", f"--dbdir={folder}", f"--whitelist-clients={folder}/nobody",
                          f"--whitelist-recipients={folder}/nobody", "--auto-whitelist-clients=0", "--delay=1",
                          "--hostname=mta.test.example", *options], folder, lambda: answers(address))


class Dovecot(Service):
    """Only its auth service, with a file of users: "name:{SCHEME}password". Or broken: it can look nobody up."""

    def __init__(self, folder, *users, failure_delay="0s", broken=False):
        place, short = tree("dovecot-core"), short_folder()
        self.path, self.log = short / "auth-client", short / "log"
        self.users = folder / "dovecot-users"
        self.users.write_text("".join(f"{user}\n" for user in users))
        (folder / "out-of-order").write_text("#!/bin/sh\nexit 111\n")
        (folder / "out-of-order").chmod(0o755)
        user, group = (subprocess.run(["id", flag], check=True, capture_output=True, text=True).stdout.strip() for flag in ("-un", "-gn"))
        (folder / "dovecot.conf").write_text(f"""
base_dir = {short}/run
state_dir = {short}/state
libexec_dir = {place}/usr/lib/dovecot
log_path = {self.log}
auth_debug = yes
protocols =
listen = 127.0.0.1
ssl = no
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
import_environment = LD_LIBRARY_PATH
auth_mechanisms = plain login scram-sha-256
auth_failure_delay = {failure_delay}
passdb {{
  driver = {'checkpassword' if broken else 'passwd-file'}
  args = {folder / 'out-of-order' if broken else self.users}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service auth {{
  unix_listener {self.path} {{
    mode = 0666
  }}
}}
""")
        # Its master would start doveconf from where the package is not installed; so doveconf starts it.
        super().__init__([place / "usr/bin/doveconf", "-f", "service=master", "-c", folder / "dovecot.conf", "-m", "master", "-e",
                          place / "usr/sbin/dovecot", "-F", "-c", folder / "dovecot.conf"], folder,
                         lambda: answers(f"unix:{self.path}"), environment(place))

    def said(self):
        return super().said() + (self.log.read_text(errors="replace") if self.log.exists() else "")


class DovecotSubmission(Service):
    """Its submission server at address:port, in plain text, for users of a file ("name:{SCHEME}password") or with tokens
    that the service at `introspection` (a URL to which the token is added) knows; what it takes goes to the relay."""

    def __init__(self, folder, address, port, relay, *users, introspection=None):
        place, short = tree("dovecot-submissiond"), short_folder()
        self.place, self.log = short, short / "log"
        short.chmod(0o755)  # whoever logs people in must not be root
        (folder / "dovecot-users").write_text("".join(f"{user}\n" for user in users))
        (short / "mail").mkdir()
        (short / "mail").chmod(0o777)  # no mail is anybody's who is root, either
        (folder / "oauth2.conf").write_text(f"introspection_mode = get\nintrospection_url = {introspection}\n"
                                            "username_attribute = email\nactive_attribute = active\nactive_value = true\n")
        by_token = f"passdb {{\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = {folder}/oauth2.conf\n}}\n"
        user, group = (subprocess.run(["id", flag], check=True, capture_output=True, text=True).stdout.strip() for flag in ("-un", "-gn"))
        (folder / "dovecot.conf").write_text(f"""
base_dir = {short}/run
state_dir = {short}/state
libexec_dir = {place}/usr/lib/dovecot
log_path = {self.log}
protocols = submission
listen = {address}
ssl = no
disable_plaintext_auth = no
default_internal_user = {user}
default_internal_group = {group}
default_login_user = nobody
import_environment = LD_LIBRARY_PATH
auth_mechanisms = plain login scram-sha-256 {'xoauth2 oauthbearer' if introspection else ''}
auth_failure_delay = 0
submission_relay_host = {relay.address}
submission_relay_port = {relay.port}
mail_location = maildir:{short}/mail
{by_token if introspection else ''}
passdb {{
  driver = passwd-file
  mechanisms = plain login scram-sha-256
  args = {folder}/dovecot-users
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={short}/mail
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service submission-login {{
  chroot =
  inet_listener submission {{
    port = {port}
  }}
}}
""")
        # Its modules are only looked for where the package would have them: there, for this process alone, they are.
        as_installed = f'mount -t overlay overlay -o "lowerdir={place}/usr/lib:/usr/lib" /usr/lib && exec "$@"'
        super().__init__(["unshare", "--mount", "sh", "-c", as_installed, "sh", place / "usr/bin/doveconf", "-f", "service=master", "-c", folder / "dovecot.conf", "-m", "master", "-e",
                          place / "usr/sbin/dovecot", "-F", "-c", folder / "dovecot.conf"], folder,
                         lambda: answers(f"inet:{address}:{port}"), environment(place))

    def said(self):
        return super().said() + (self.log.read_text(errors="replace") if self.log.exists() else "")
