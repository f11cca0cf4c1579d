"""Debian's Postfix, unpacked and not installed, as the server others send to: its smtpd as the package configures it,
and one mailbox behind it. Its commands are run where it runs."""
import mailbox
import os
import subprocess

from .filters import answers
from .unpacked import Service, tree

ACCOUNTS = ("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\npostfix:x:64990:64990::/:/bin/sh\n"
            "reader:x:64995:64995::/:/bin/sh\n")
GROUPS = "root:x:0:\nnogroup:x:65534:\npostfix:x:64990:\npostdrop:x:64991:\nreader:x:64995:\n"


class Postfix(Service):
    """Takes mail for reader@postfix.example; whoever else lives there it does not know. `settings`: of main.cf.
    `resolver`: the address of the name server it asks. `accounts`, `groups`: lines of passwd(5) and group(5) that it sees
    besides. `prepare`: a script that is run where it will run, before it starts."""

    def __init__(self, folder, address, port, resolver=None, accounts="", groups="", prepare="", **settings):
        place, self.home = tree("postfix"), folder / "postfix"
        self.address, self.port = address, port
        self.log = self.home / "log"
        for each in (self.home, self.home / "mail", self.home / "scratch"):
            each.mkdir()
        os.chmod(self.home / "mail", 0o1777)
        (self.home / "passwd").write_text(ACCOUNTS + accounts)
        (self.home / "group").write_text(GROUPS + groups)
        given = {"compatibility_level": "3.6", "myhostname": "mx.postfix.example", "mydestination": "postfix.example",
                 "mynetworks": "127.0.0.99/32", "local_recipient_maps": "inline:{reader=x}", "alias_maps": "",
                 "alias_database": "", "mail_spool_directory": f"{self.home}/mail/", "maillog_file": str(self.log),
                 "maillog_file_prefixes": str(self.home), "biff": "no", "inet_protocols": "ipv4", "inet_interfaces": "all",
                 "smtpd_peername_lookup": "no", **settings}
        (self.home / "main.cf").write_text("".join(f"{name} = {value}\n" for name, value in given.items()))
        # It looks for its files, users and queue where they would be installed: in a mount namespace of its own they are.
        scratch = self.home / "scratch"
        script = f"""
            mount -t tmpfs tmpfs {scratch}
            mkdir {scratch}/etc {scratch}/etc-work {scratch}/var {scratch}/var-work
            mount -t overlay overlay -o lowerdir={place}/usr:/usr /usr
            mount -t overlay overlay -o lowerdir={place}/etc:/etc,upperdir={scratch}/etc,workdir={scratch}/etc-work /etc
            mount -t overlay overlay -o lowerdir=/var,upperdir={scratch}/var,workdir={scratch}/var-work /var
            cp {self.home}/passwd /etc/passwd
            cp {self.home}/group /etc/group
            sed 's/^smtp *inet/{address}:{port} inet/' /usr/share/postfix/master.cf.dist >/etc/postfix/master.cf
            cp {self.home}/main.cf /etc/postfix/main.cf
            {f"echo nameserver {resolver} >/etc/resolv.conf" if resolver else ""}
            mkdir -p /var/spool/postfix /var/lib/postfix
            chmod 755 /var/spool/postfix
            chown postfix /var/lib/postfix
            {prepare}
            postfix check
            exec /usr/lib/postfix/sbin/master -d"""
        super().__init__(["unshare", "--mount", "sh", "-ec", script], self.home, lambda: answers(f"inet:{address}:{port}"))

    def said(self):
        return super().said() + (self.log.read_text(errors="replace")[-4000:] if self.log.exists() else "")

    def run(self, *command, input=None):
        """One of its commands, as root; returns the finished process."""
        given = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        return subprocess.run(["nsenter", "--mount", "--target", str(self.process.pid), *map(str, command)],
                              capture_output=True, text=True, timeout=30, **given)

    def messages(self):
        box = self.home / "mail" / "reader"
        return list(mailbox.Maildir(box, create=False)) if (box / "new").is_dir() else []
