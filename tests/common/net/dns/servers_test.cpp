#include "daemons/common/net/dns/servers.h"
#include <doctest/doctest.h>
#include <vector>

using common::Endpoint;
using dns::servers_text;
using dns::ServersFrom;

namespace {

std::vector<Endpoint> at(const std::vector<const char*>& texts) {
    std::vector<Endpoint> out;
    for (const auto* text : texts) out.push_back(*Endpoint::parse(text, 53));
    return out;
}

} // namespace

TEST_CASE("who was asked for a name, and who says that they are to be asked") {
    using enum ServersFrom;
    CHECK(servers_text(at({"127.0.0.1:5353"}), dns_servers, nullptr) == "asked 127.0.0.1:5353, from dns.servers");
    CHECK(servers_text(at({"[2001:db8::1]:53", "[2001:db8::2]:54"}), dns_servers, nullptr) ==
          "asked 2001:db8::1 and [2001:db8::2]:54, from dns.servers");
    const std::string file = "# of the network\nsearch x.example\nnameserver 192.0.2.1\nnameserver\t192.0.2.2";
    CHECK(servers_text(at({"192.0.2.1", "192.0.2.2", "192.0.2.3"}), resolv_conf, &file) ==
          "asked 192.0.2.1, 192.0.2.2 and 192.0.2.3, from /etc/resolv.conf");
    CHECK(servers_text(at({"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"}), resolv_conf, &file) ==
          "asked 192.0.2.1, 192.0.2.2, 192.0.2.3 and 2 more, from /etc/resolv.conf");
    CHECK(servers_text(at({"127.0.0.1"}), resolv_conf, nullptr) ==
          "asked 127.0.0.1, because /etc/resolv.conf cannot be read");
    for (const std::string empty : {"", "\n\n", "# nameserver 192.0.2.1\nnameservers 192.0.2.1\n"})
        CHECK(servers_text(at({"127.0.0.1"}), resolv_conf, &empty) ==
              "asked 127.0.0.1, because /etc/resolv.conf lists no server");
}
