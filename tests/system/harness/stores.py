"""Mailbox stores that others wrote: Dovecot's LMTP service out of its unpacked package, by TCP and through a socket."""
import os
import subprocess

from .filters import answers, short_folder
from .unpacked import Service, environment, tree


class DovecotStore(Service):
    """Users with a Maildir each below `mail`; a quota in bytes where one is named: quotas={"bob": 1000}; tempfail: who is over it
    gets 452 4.2.2. Its plug-ins are
    looked for where the package would be installed: it sees its tree there, in a mount namespace of its own."""

    def __init__(self, folder, address, port, *users, quotas={}, tempfail=False):
        place, short = tree("dovecot-lmtpd"), short_folder()
        self.socket, self.log, self.mail = short / "lmtp", short / "log", short / "mail"
        self.address, self.port, self.short = address, port, short
        user = 65534  # nobody: Dovecot delivers to no root
        self.mail.mkdir()
        os.chown(self.mail, user, user)
        short.chmod(0o755)
        name, group_name = (subprocess.run(["id", flag], check=True, capture_output=True, text=True).stdout.strip() for flag in ("-un", "-gn"))
        known = folder / "store-users"
        known.write_text("".join(
            f"{each}::{user}:{user}::{self.mail}/{each}::" + (f"userdb_quota_rule=*:bytes={quotas[each]}" if each in quotas else "") + "\n"
            for each in users))
        (folder / "store.conf").write_text(f"""
base_dir = {short}/run
state_dir = {short}/state
log_path = {self.log}
protocols = lmtp
listen = {address}
ssl = no
default_internal_user = {name}
default_internal_group = {group_name}
default_login_user = {name}
import_environment = LD_LIBRARY_PATH
mail_location = maildir:{self.mail}/%n
mail_plugins = quota
auth_username_format = %n
postmaster_address = postmaster@test.example
quota_full_tempfail = {"yes" if tempfail else "no"}
plugin {{
  quota = maildir:User quota
}}
userdb {{
  driver = passwd-file
  args = {known}
}}
passdb {{
  driver = passwd-file
  args = {known}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service lmtp {{
  unix_listener {self.socket} {{
    mode = 0666
  }}
  inet_listener lmtp {{
    address = {address}
    port = {port}
  }}
}}
""")
        super().__init__(["unshare", "--mount", "sh", "-ec", f"mount -t overlay overlay -o lowerdir={place}/usr:/usr /usr; "
                          f"exec /usr/sbin/dovecot -F -c {folder}/store.conf"], folder,
                         lambda: answers(f"unix:{self.socket}"), environment(place))

    def said(self):
        return super().said() + (self.log.read_text(errors="replace") if self.log.exists() else "")

    def mailbox(self, user):
        new = self.mail / user / "new"
        return [p.read_text(errors="replace") for p in sorted(new.iterdir())] if new.is_dir() else []
