"""The DNS as others built it: zones signed and served by Knot, and a validating Unbound in front, which has the zones'
keys as trust anchors. Both out of their Debian packages, unpacked, on loopback.

    dns = Dnssec(folder, {"signed.example": [("mx", "A", "192.0.2.1"), …], "plain.example": […]},
                 signed=["signed.example"], forged=[])

A forged zone is signed, but not by the key that the resolver trusts: nothing in it can be had.
"""
import subprocess

from dnslib import DNSRecord

from .unpacked import Service, environment, tree

KNOT, UNBOUND = "127.0.0.54", "127.0.0.55"


def says(address, name, kind):
    """Does the server answer that question with records?"""
    try:
        reply = DNSRecord.parse(DNSRecord.question(name, kind).send(address, 53, timeout=2))
        return bool(reply.rr)
    except OSError:
        return False


class Dnssec:
    def __init__(self, folder, zones, signed, forged=()):
        self.address, self.port = UNBOUND, 53
        self.services = []
        folder.mkdir()
        try:
            self.start_knot(folder, zones, [*signed, *forged])
            anchors = [self.anchor(zone) for zone in signed] + [wrong(self.anchor(zone)) for zone in forged]
            self.start_unbound(folder, zones, anchors)
        except BaseException:
            self.stop()
            raise

    def start_knot(self, folder, zones, signed):
        self.knot, self.knot_config = tree("knot"), folder / "knot.conf"
        for name, records in zones.items():
            lines = [f"{name}. 60 SOA ns.{name}. root.{name}. 1 60 60 600 5", f"{name}. 60 NS ns.{name}.", f"ns.{name}. 60 A {KNOT}"]
            lines += [f"{owner + '.' if owner != '@' else ''}{name}. 60 {kind} {data}" for owner, kind, data in records]
            (folder / f"{name}.zone").write_text("\n".join(lines) + "\n")
        self.knot_config.write_text(f"""
server:
  rundir: "{folder}"
  listen: {KNOT}@53
log:
  - target: stderr
    any: warning
database:
  storage: "{folder}"
template:
  - id: default
    storage: "{folder}"
zone:
""" + "".join(f'  - domain: {name}\n    file: "{name}.zone"\n    zonefile-sync: -1\n    journal-content: none\n'
              + (f"    dnssec-signing: on\n" if name in signed else "") for name in zones))
        self.services.append(Service([self.knot / "usr/sbin/knotd", "-c", self.knot_config], folder,
                                     lambda: all(says(KNOT, zone, "DNSKEY") for zone in signed), environment(self.knot)))

    def anchor(self, zone):
        """Its key's DS record."""
        said = subprocess.run([self.knot / "usr/sbin/keymgr", "-c", self.knot_config, f"{zone}.", "ds"], env=environment(self.knot),
                              check=True, capture_output=True, text=True).stdout
        return next(line for line in said.splitlines() if line.split()[4] == "2")  # by SHA-256

    def start_unbound(self, folder, zones, anchors):
        place, config = tree("unbound"), folder / "unbound.conf"
        config.write_text(f"""
server:
  interface: {UNBOUND}
  port: 53
  access-control: 127.0.0.0/8 allow
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "{folder}"
  pidfile: "{folder}/unbound.pid"
  use-syslog: no
  do-ip6: no
  do-not-query-localhost: no
  module-config: "validator iterator"
""" + "".join(f'  trust-anchor: "{anchor}"\n' for anchor in anchors)
                          + "".join(f"stub-zone:\n  name: {zone}\n  stub-addr: {KNOT}\n" for zone in zones)
                          + "remote-control:\n  control-enable: no\n")
        first = next(iter(zones))
        self.services.append(Service([place / "usr/sbin/unbound", "-d", "-c", config], folder,
                                     lambda: says(UNBOUND, first, "SOA"), environment(place)))

    def stop(self):
        while self.services:
            self.services.pop().stop()


def wrong(anchor):
    *words, digest = anchor.split()
    return " ".join([*words, digest[::-1]])
