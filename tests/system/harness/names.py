"""A name server on loopback (UDP and TCP). The system's resolver is never asked.

    names.zone("example.org", mx=[(10, "mx1.example.org")])
    names.address("mx1.example.org", "127.0.0.2")
    names.fails("broken.example", "servfail")             servfail, timeout, garbage, refused, bare-nxdomain
"""
import socket
import threading

from dnslib import A, AAAA, CNAME, DNSHeader, DNSRecord, MX, NS, PTR, QTYPE, RCODE, RR, SOA, SRV


class Names:
    def __init__(self, address, port):
        self.address, self.port = address, port
        self.records, self.failures, self.asked = {}, {}, []
        self.asked_by_tcp = 0
        self.validates = False  # sets the AD bit
        self.lock = threading.Lock()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, port))
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind((address, port))
        self.tcp.listen(16)
        self.stopped = False
        self.threads = [threading.Thread(target=serve, daemon=True) for serve in (self.serve_udp, self.serve_tcp)]
        for each in self.threads:
            each.start()

    # -- what tests say

    def add(self, name, kind, data, ttl=60):
        self.records.setdefault((name.lower().rstrip("."), kind), []).append((data, ttl))

    def address_of(self, name, *addresses, ttl=60):
        for address in addresses:
            self.add(name, "AAAA" if ":" in address else "A", AAAA(address) if ":" in address else A(address), ttl)

    def mx(self, domain, *hosts, ttl=60):
        """hosts: (preference, name)."""
        for preference, host in hosts:
            self.add(domain, "MX", MX(host or ".", preference), ttl)

    def srv(self, name, *records):
        """records: (priority, weight, port, target)."""
        for priority, weight, port, target in records:
            self.add(name, "SRV", SRV(priority, weight, port, target))

    def null_mx(self, domain):
        self.add(domain, "MX", MX(".", 0))

    def alias(self, name, target):
        self.add(name, "CNAME", CNAME(target))

    def pointer(self, address, name):
        self.add(".".join(reversed(address.split("."))) + ".in-addr.arpa", "PTR", PTR(name))

    def name_server(self, zone, host):
        self.add(zone, "NS", NS(host))

    def publish(self, zone_file, ttl=60):
        """The records of a zone file; a text of it."""
        for rr in RR.fromZone(zone_file):
            self.add(str(rr.rname), QTYPE[rr.rtype], rr.rdata, ttl)

    def fails(self, name, how, kind=None):
        self.failures[(name.lower(), kind)] = how

    def heals(self, name, kind=None):
        self.failures.pop((name.lower(), kind), None)

    def times_asked(self, name, kind):
        with self.lock:
            return self.asked.count((name.lower(), kind))

    # -- life

    def serve_udp(self):
        while True:
            try:
                query, peer = self.udp.recvfrom(4096)
            except OSError:
                return
            if self.stopped:
                return
            answer = self.answer(query, over_tcp=False)
            if answer is not None:
                try:
                    self.udp.sendto(answer, peer)
                except OSError:
                    return

    def serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    size = int.from_bytes(connection.recv(2), "big")
                    answer = self.answer(connection.recv(size), over_tcp=True) if size else None
                    if answer is not None:
                        connection.sendall(len(answer).to_bytes(2, "big") + answer)
                except OSError:
                    pass

    def answer(self, query, over_tcp):
        request = DNSRecord.parse(query)
        name, kind = str(request.q.qname).lower().rstrip("."), QTYPE[request.q.qtype]
        with self.lock:
            self.asked.append((name, kind))
            self.asked_by_tcp += over_tcp
        how = self.failures.get((name, kind)) or self.failures.get((name, None))
        if how == "timeout":
            return None
        if how == "garbage":
            return query[:2] + b"\x81\x80" + b"\xff" * 40
        reply = DNSRecord(DNSHeader(id=request.header.id, qr=1, aa=1, ra=1, rd=request.header.rd), q=request.q)
        reply.header.ad = int(self.validates)
        if how in ("servfail", "refused"):
            reply.header.rcode = getattr(RCODE, how.upper())
            return reply.pack()
        if how == "bare-nxdomain":
            reply.header.rcode = RCODE.NXDOMAIN
            return reply.pack()
        target = name
        for _ in range(8):
            alias = self.records.get((target, "CNAME"))
            if not alias or kind == "CNAME":
                break
            data, ttl = alias[0]
            reply.add_answer(RR(target, QTYPE.CNAME, rdata=data, ttl=ttl))
            target = str(data.label).lower().rstrip(".")
        found = self.records.get((target, kind), [])
        for data, ttl in found:
            reply.add_answer(RR(target, getattr(QTYPE, kind), rdata=data, ttl=ttl))
        if not found:
            if not any(n == target or n.endswith("." + target) for n, _ in self.records):
                reply.header.rcode = RCODE.NXDOMAIN
            zone = ".".join(target.split(".")[-2:])
            reply.add_auth(RR(zone, QTYPE.SOA, rdata=SOA("ns." + zone, "hostmaster." + zone, (1, 60, 60, 60, 2)), ttl=2))
        packed = reply.pack()
        if not over_tcp and len(packed) > 1232:
            reply = DNSRecord(DNSHeader(id=request.header.id, qr=1, aa=1, tc=1), q=request.q)
            packed = reply.pack()
        return packed

    def stop(self):
        """The address is free then: a thread that waits at a socket keeps it until it is woken."""
        self.stopped = True
        for each in (self.udp, self.tcp):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()
        for each in self.threads:
            each.join(5)
