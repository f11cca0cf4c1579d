#include "daemons/common/net/dns/answer.h"
#include <algorithm>
#include <arpa/nameser.h>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <netinet/in.h>
#include <optional>
#include <resolv.h>

namespace dns {

namespace {

constexpr int most_aliases = 10;

// Any name as ns_* print it, in lower case, without a dot at the end. Escapes (odd characters) stay visible.
std::string plain(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    std::string out(name);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return out;
}

struct Packet {
    std::span<const unsigned char> bytes;
    ns_msg message;

    // A compressed name inside record data.
    std::optional<std::string> name_at(const unsigned char* at) const {
        char text[NS_MAXDNAME];
        if (ns_name_uncompress(bytes.data(), bytes.data() + bytes.size(), at, text, sizeof text) < 0) return {};
        return plain(text);
    }
};

Answer failed(std::string why) {
    Answer out;
    out.why = std::move(why);
    return out;
}

// The lifetime of a negative answer (RFC 2308), from the zone's SOA; empty without one.
std::optional<std::uint32_t> negative_ttl(const Packet& packet) {
    ns_msg message = packet.message;
    const int count = ns_msg_count(message, ns_s_ns);
    for (int i = 0; i < count && i < 100; ++i) {
        ns_rr record;
        if (ns_parserr(&message, ns_s_ns, i, &record) != 0) return {};
        if (ns_rr_type(record) != ns_t_soa || ns_rr_rdlen(record) < 22) continue;
        const auto minimum = ns_get32(ns_rr_rdata(record) + ns_rr_rdlen(record) - 4);
        return static_cast<std::uint32_t>(std::min<unsigned long>(minimum, ns_rr_ttl(record)));
    }
    return {};
}

// A TXT record's strings, each preceded by its length, joined; nothing: they do not fit the record.
std::optional<std::string> text_of(std::span<const unsigned char> data) {
    std::string out;
    while (!data.empty()) {
        const std::size_t length = data[0];
        if (length >= data.size() || out.size() + length > longest_text) return {};
        out.append(reinterpret_cast<const char*>(data.data()) + 1, length);
        data = data.subspan(length + 1);
    }
    return out;
}

// Takes one record of the wanted type into the answer; odd ones are skipped.
void take(const Packet& packet, const ns_rr& record, Type type, Answer& out) {
    const unsigned char* data = ns_rr_rdata(record);
    const std::size_t size = ns_rr_rdlen(record);
    if (type == Type::mx && size >= 3) {
        auto host = packet.name_at(data + 2);
        if (!host) return;
        const auto usable = canonical_name(*host);
        if (usable.empty() && !host->empty()) return;
        out.mx.push_back({static_cast<std::uint16_t>(ns_get16(data)), usable});
    } else if (type == Type::srv && size >= 7) {
        const auto target = packet.name_at(data + 6);
        if (!target || (canonical_name(*target).empty() && !target->empty())) return;
        out.srv.push_back({static_cast<std::uint16_t>(ns_get16(data)), static_cast<std::uint16_t>(ns_get16(data + 2)),
                           static_cast<std::uint16_t>(ns_get16(data + 4)), canonical_name(*target)});
    } else if ((type == Type::ptr || type == Type::ns) && size >= 1) {
        const auto name = packet.name_at(data);
        if (!name || canonical_name(*name).empty()) return;
        out.names.push_back(canonical_name(*name));
    } else if (type == Type::txt) {
        if (auto text = text_of({data, size})) out.texts.push_back(*std::move(text));
    } else if (type == Type::cname && size >= 1) {
        const auto name = packet.name_at(data);
        if (name && !canonical_name(*name).empty()) out.names.push_back(canonical_name(*name));
    } else if (type == Type::tlsa && size >= 3) {
        out.tlsa.push_back({data[0], data[1], data[2], {reinterpret_cast<const char*>(data) + 3, size - 3}});
    } else if (type == Type::a && size == 4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        std::memcpy(&in.sin_addr, data, 4);
        out.addresses.push_back(*common::IpAddress::of(reinterpret_cast<const sockaddr*>(&in)));
    } else if (type == Type::aaaa && size == 16) {
        common::IpAddress address;
        std::memcpy(address.bytes.data(), data, 16);
        out.addresses.push_back(address);
    }
}

} // namespace

std::string canonical_name(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.empty() || name.size() > 253) return "";
    std::string out;
    out.reserve(name.size());
    std::size_t label = 0;
    for (char c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
        const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!letter && !(c == '.' && label > 0)) return "";
        label = c == '.' ? 0 : label + 1;
        if (label > 63) return "";
        out.push_back(c);
    }
    return label == 0 ? "" : out;
}

Answer parse_answer(std::span<const unsigned char> bytes, std::string_view name, Type type) {
    Packet packet{bytes, {}};
    if (bytes.size() > 65535 || ns_initparse(bytes.data(), static_cast<int>(bytes.size()), &packet.message) != 0)
        return failed("malformed answer");
    ns_msg& message = packet.message;
    const auto code = ns_msg_getflag(message, ns_f_rcode);
    const bool secure = ns_msg_getflag(message, ns_f_ad) != 0;
    if (ns_msg_getflag(message, ns_f_qr) == 0) return failed("malformed answer");
    if (code == ns_r_nxdomain) {
        const auto ttl = negative_ttl(packet);
        if (!ttl) return failed("NXDOMAIN without the zone's SOA");
        Answer out;
        out.said = LookupStatus::no_name;
        out.ttl = *ttl;
        out.secure = secure;
        return out;
    }
    if (code == ns_r_servfail) return failed("SERVFAIL");
    if (code == ns_r_refused) return failed("REFUSED");
    if (code != ns_r_noerror) return failed(fmt::format("answer with code {}", code));

    // Aliases first: records may come in any order.
    std::map<std::string, std::pair<std::string, std::uint32_t>> aliases;
    std::vector<ns_rr> found;
    const int count = ns_msg_count(message, ns_s_an);
    for (int i = 0; i < count && i < 500; ++i) {
        ns_rr record;
        if (ns_parserr(&message, ns_s_an, i, &record) != 0) return failed("malformed answer");
        if (ns_rr_class(record) != ns_c_in) continue;
        if (ns_rr_type(record) == ns_t_cname && type != Type::cname) {
            if (auto target = packet.name_at(ns_rr_rdata(record)))
                aliases.emplace(plain(ns_rr_name(record)),
                                std::pair(*target, static_cast<std::uint32_t>(ns_rr_ttl(record))));
        } else if (ns_rr_type(record) == static_cast<ns_type>(type) && found.size() < most_records) {
            found.push_back(record);
        }
    }
    Answer out;
    out.secure = secure;
    out.ttl = 0x7fffffff;
    std::string owner = plain(name);
    for (int i = 0; i < most_aliases; ++i) {
        const auto alias = aliases.find(owner);
        if (alias == aliases.end()) break;
        out.ttl = std::min(out.ttl, alias->second.second);
        owner = alias->second.first;
    }
    bool any = false;
    for (const auto& record : found) {
        if (plain(ns_rr_name(record)) != owner) continue;
        any = true;
        out.ttl = std::min(out.ttl, static_cast<std::uint32_t>(ns_rr_ttl(record)));
        take(packet, record, type, out);
    }
    // MX records that name no host are records nevertheless: mail does not fall back to the domain's address (RFC 5321,
    // 5.1).
    const bool only_odd = type == Type::mx && any;
    if (only_odd || !out.mx.empty() || !out.srv.empty() || !out.addresses.empty() || !out.names.empty() ||
        !out.texts.empty() || !out.tlsa.empty()) {
        out.said = LookupStatus::records;
        out.canonical = std::move(owner);
        return out;
    }
    out.said = LookupStatus::no_data;
    out.ttl = negative_ttl(packet).value_or(0);
    return out;
}

std::string reverse_name(const common::IpAddress& address) {
    const auto& b = address.bytes;
    if (address.is_v4()) return fmt::format("{}.{}.{}.{}.in-addr.arpa", b[15], b[14], b[13], b[12]);
    std::string out;
    for (std::size_t i = 16; i-- > 0;) out += fmt::format("{:x}.{:x}.", b[i] & 15, b[i] >> 4);
    return out + "ip6.arpa";
}

} // namespace dns
