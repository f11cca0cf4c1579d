// Whether this host is fit to send mail, from what was found out about it: names, addresses, port 25, name servers,
// clock. Pure.
#pragma once
#include "daemons/common/net/dns/answer.h"
#include "daemons/postrider/setup/finding.h"
#include <string>
#include <vector>

namespace postrider::setup {

struct ReverseName {
    common::IpAddress address;
    std::string confirmed; // the name of its PTR record, if that has the address; "" none
    std::string reverse;   // the first one, confirmed or not; "" none
};

// An attempt to reach another host's SMTP server.
struct OutgoingTest {
    std::string next_hop; // all mail goes to this host by the configuration: nothing was tried; "" it does not
    std::string server;   // "gmail-smtp-in.l.google.com[192.0.2.9]:25"; "" there was none to be tried
    std::string greeting; // its first line; "" none came
    std::string error;    // why not
};

struct HostFacts {
    std::string host;                 // mta.hostname
    dns::Answer ipv4, ipv6;           // its A and AAAA records
    std::vector<ReverseName> reverse; // of each of these addresses
    OutgoingTest outgoing;
    bool trusts_name_servers = false; // all of them are on this host, and may say what is secure
    dns::Answer signed_zone;          // NS records of a zone that is signed
    bool clock_synchronized = false;
};

inline constexpr std::string_view zone_known_to_be_signed = "org";

std::vector<Finding> findings_of(const HostFacts& facts);

} // namespace postrider::setup
