// The name servers in use, as text for an operator: which ones, and where they are configured.
#pragma once
#include "daemons/common/net/network.h"
#include <span>
#include <string>
#include <string_view>

namespace dns {

enum class ServersFrom : std::uint8_t { dns_servers, resolv_conf };

// "asked 127.0.0.1:5353, from dns.servers"; "asked 192.0.2.1 and 192.0.2.2, from /etc/resolv.conf"; also says which
// server is asked if that file lists none. The usual port is left out, and so are all but the first few servers.
// `resolv_conf`: its text, null if it cannot be read; not used where dns.servers is set.
std::string servers_text(std::span<const common::Endpoint> servers, ServersFrom from, const std::string* resolv_conf);

} // namespace dns
