// A name server's answer as a value, and how it is parsed from the packet. Strict and bounded:
// whatever a server sends becomes an Answer with at most 50 records. Knows no network.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/hosts/srv.h"
#include "daemons/decide/tls/dane.h"
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dns {

using decide::LookupStatus;
using decide::MxRecord;
using decide::SrvRecord;
using decide::TlsaRecord;

enum class Type : std::uint16_t {
    a = 1,
    ns = 2,
    cname = 5,
    ptr = 12,
    mx = 15,
    txt = 16,
    aaaa = 28,
    srv = 33,
    tlsa = 52
};

struct Answer {
    LookupStatus said = LookupStatus::failed;
    std::uint32_t ttl = 0;                    // seconds the answer may be believed from now on
    std::vector<MxRecord> mx;                 // Type::mx
    std::vector<SrvRecord> srv;               // Type::srv
    std::vector<common::IpAddress> addresses; // Type::a, Type::aaaa
    std::vector<std::string> names;           // Type::ns, Type::ptr, Type::cname
    std::vector<std::string> texts;           // Type::txt: each record's strings put together; any bytes
    std::vector<TlsaRecord> tlsa;             // Type::tlsa
    std::string canonical;                    // records: whose they are, at the end of all aliases
    bool secure = false; // the name server has validated all of it (the AD bit), also that there is nothing
    std::string why;     // failed: "SERVFAIL", "timeout" …; for a log line
    bool operator==(const Answer&) const = default;
};

inline constexpr std::size_t most_records = 50;
inline constexpr std::size_t longest_text = 4096; // of a TXT record; longer ones are skipped

// The answer to a query for `name` (lower case, no dot at the end). Aliases (CNAME) are followed within the
// packet. `secure` is what the server says: whether it is to be believed is the caller's business.
Answer parse_answer(std::span<const unsigned char> packet, std::string_view name, Type type);

// "1.2.0.192.in-addr.arpa", "…8.b.d.0.1.0.0.2.ip6.arpa".
std::string reverse_name(const common::IpAddress& address);

// Lower case, without a dot at the end; "" if it cannot be asked for: only letters, digits, '-', '_' and
// dots.
std::string canonical_name(std::string_view name);

} // namespace dns
