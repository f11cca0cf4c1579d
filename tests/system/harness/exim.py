"""Debian's Exim, unpacked and not installed, as the server others send to: it offers CHUNKING and PIPELINING, keeps what
it accepts in one file, and says in its log how each message came."""
import os

from .filters import answers
from .unpacked import Service, tree


class Exim(Service):
    """Accepts mail for everybody at exim.example but nobody@; a Subject of "spam" is refused when it has all arrived."""

    def __init__(self, folder, address, port):
        place, self.home = tree("exim4-daemon-light"), folder / "exim"
        self.address, self.port, self.mail, self.log = address, port, self.home / "mail", self.home / "log"
        for each in (self.home, self.mail, self.log, self.home / "spool"):
            each.mkdir()
            os.chown(each, 65534, 65534)
        # Its user is compiled in, and unknown here, and as that user it starts itself anew: in a mount namespace of its
        # own it sees other files of users, and its tree where it would be installed.
        (self.home / "passwd").write_text("root:x:0:0::/root:/bin/sh\nDebian-exim:x:65534:65534::/:/bin/sh\n")
        (self.home / "group").write_text("root:x:0:\nDebian-exim:x:65534:\nmail:x:8:\n")
        (self.home / "conf").write_text(f"""
primary_hostname = exim.example
exim_path = /usr/sbin/exim4
spool_directory = {self.home}/spool
log_file_path = {self.log}/%slog
local_interfaces = {address}
daemon_smtp_ports = {port}
never_users =
keep_environment =
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts =
chunking_advertise_hosts = *
smtp_accept_max = 0
acl_smtp_rcpt = recipient
acl_smtp_data = message
begin acl
recipient:
  deny local_parts = nobody
       message = no such user here
  accept
message:
  deny condition = ${{if eq{{$h_subject:}}{{spam}}}}
       message = we do not want this
  accept
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  file = {self.mail}/all
  user = Debian-exim
  group = Debian-exim
  message_prefix =
  message_suffix = "-- end --\\n"
  check_string =
  escape_string =
begin retry
""")
        super().__init__(["unshare", "--mount", "sh", "-ec", f"mount --bind {self.home}/passwd /etc/passwd; mount --bind {self.home}/group /etc/group; "
                          f"mount -t overlay overlay -o lowerdir={place}/usr:/usr /usr; exec /usr/sbin/exim4 -bdf -C {self.home}/conf"], self.home,
                         lambda: answers(f"inet:{address}:{port}"))

    def said(self):
        return super().said() + "".join(f.read_text(errors="replace") for f in sorted(self.log.iterdir()))

    def arrivals(self):
        """What its log says of each message that came: " <= " lines; " K" is in those that came by BDAT."""
        log = self.log / "mainlog"
        return [line for line in (log.read_text().splitlines() if log.exists() else []) if " <= " in line]

    def mailbox(self):
        file = self.mail / "all"
        return file.read_text(errors="replace").split("-- end --\n")[:-1] if file.exists() else []
