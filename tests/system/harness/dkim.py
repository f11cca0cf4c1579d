"""What others say of our DKIM signatures: dkimpy (by the test's name server) and OpenDKIM. And keys to sign with."""
import json
import re
import subprocess

from dnslib import QTYPE, TXT, DNSRecord

from .unpacked import environment, tree


class Keys:
    """Makes keys with `postrider dkim-key` and publishes them on the test's name server."""

    def __init__(self, mta, names):
        self.mta, self.names, self.records = mta, names, {}

    def make(self, domain, selector, *options):
        """"selector file", as the configuration has it."""
        file = self.mta.folder / f"{selector}.{domain}.pem"
        done = self.mta.run("postrider", "dkim-key", domain, selector, "--json", "--file", file, *options, check=True)
        made = json.loads(done.stdout)
        self.publish(made["name"], made["record"])
        return f"{selector} {file}"

    def publish(self, name, record):
        self.records[name] = record
        self.names.add(name, "TXT", TXT([record[i:i + 200] for i in range(0, len(record), 200)]))

    def look_up(self, name, timeout=5):
        answer = DNSRecord.parse(DNSRecord.question(name.decode(), "TXT").send(self.names.address, self.names.port, tcp=True))
        found = [b"".join(r.rdata.data) for r in answer.rr if r.rtype == QTYPE.TXT]
        return found[0] if found else None


def signatures(content):
    """The tags of each DKIM-Signature field, from the top."""
    header = content.partition(b"\r\n\r\n")[0].decode()
    fields = re.findall(r"^DKIM-Signature:([^\r\n]*(?:\r\n[ \t][^\r\n]*)*)", header, re.M | re.I)
    return [dict((k.strip(), re.sub(r"\s+", "", v)) for k, _, v in (t.partition("=") for t in f.split(";") if t.strip()))
            for f in fields]


def verified_by_dkimpy(content, keys):
    """For each signature: is it good?"""
    import dkim

    def good(number):
        try:
            return dkim.DKIM(content, minkey=1024).verify(idx=number, dnsfunc=keys.look_up)
        except dkim.ValidationError:  # of the body's hash
            return False
    return [good(number) for number in range(len(signatures(content)))]


def verified_by_opendkim(content, keys, folder):
    """Does OpenDKIM find a good signature (RSA: it knows no other)?"""
    place = tree("opendkim")
    (folder / "published").write_text("".join(f"{name} {record}\n" for name, record in keys.records.items()))
    (folder / "opendkim.conf").write_text(f"Mode v\nTestPublicKeys {folder}/published\nSyslog no\nOn-BadSignature reject\n"
                                          "On-NoSignature reject\nOn-KeyNotFound reject\n")
    (folder / "signed").write_bytes(content)
    done = subprocess.run([place / "usr/sbin/opendkim", "-x", folder / "opendkim.conf", "-t", folder / "signed"], cwd=folder,
                          env=environment(place), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout + done.stderr
