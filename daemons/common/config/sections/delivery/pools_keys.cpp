// The keys of source addresses of outgoing mail.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/config/sections/key_tables.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <charconv>

namespace config {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t largest_weight = 1000;

std::string_view take_word(std::string_view& text) {
    const auto begin = std::min(text.find_first_not_of(" \t"), text.size());
    const auto end = std::min(text.find_first_of(" \t", begin), text.size());
    const auto word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

// Lines "pattern pool": "ann@example.org vip", "@news.example.org bulk".
ListKey pool_rules(std::map<std::string, std::string, std::less<>>& values) {
    return {[&] { values.clear(); },
            [&](std::string_view text) -> Refusal {
                auto rest = text;
                const auto whose = take_word(rest), pool = take_word(rest);
                if (pool.empty() || !take_word(rest).empty())
                    return fmt::format("\"{}\": expected a sender and a pool, such as \"@example.com bulk\"", text);
                if (whose.starts_with('@') ? domain_name(whose.substr(1)).empty() : !smtp::Mailbox::parse(whose))
                    return fmt::format("\"{}\" is not a valid address or \"@domain\"", whose);
                if (!values.emplace(smtp::lowered(whose), pool).second)
                    return fmt::format("\"{}\" is listed twice", whose);
                return std::nullopt;
            },
            [&] {
                std::vector<std::string> shown;
                for (const auto& [whose, pool] : values) shown.push_back(whose + " " + pool);
                return shown;
            }};
}

} // namespace

Refusal SourceAddress::read(std::string_view text, SourceAddress& out) {
    auto rest = text;
    const auto address = take_word(rest), helo = take_word(rest), weight = take_word(rest);
    const auto parsed = common::IpAddress::parse(address);
    if (!parsed) return fmt::format("\"{}\": \"{}\" is not a valid IP address", text, address);
    if (parsed->is_wildcard()) return fmt::format("\"{}\": expected a single address of this host", text);
    out = {*parsed, "", 1};
    if (!helo.empty() && (out.helo = domain_name(helo), out.helo.find('.') == std::string::npos))
        return fmt::format("\"{}\": \"{}\" is not a fully qualified host name: expected one such as "
                           "\"mx1.example.com\"",
                           text, helo);
    if (weight.empty()) return std::nullopt;
    const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), out.weight);
    if (error != std::errc{} || end != weight.data() + weight.size() || out.weight < 1 || out.weight > largest_weight)
        return fmt::format("\"{}\": \"{}\" is not a valid weight: expected an integer from 1 to "
                           "{}",
                           text, weight, largest_weight);
    if (take_word(rest).empty()) return std::nullopt;
    return fmt::format("\"{}\": expected \"address name weight\"", text);
}

std::string SourceAddress::to_string() const {
    auto out = address.to_string();
    if (!helo.empty()) out += " " + helo;
    if (weight != 1) out += fmt::format(" {}", weight);
    return out;
}

Section section_for(Pool& s) {
    return {
        "pool.<name>",
        "Source addresses of connections to other systems. The pool for a message is selected, in this order, by a "
        "field X-Postrider-Pool in its header, by its envelope sender ([pools]), by its route (route.pool); for "
        "other mail the system chooses the source address. The field and the sender are used only for clients that "
        "have authenticated or may relay because of their network, and for programs on this host; the field is "
        "removed from all mail. A pool has queues and links of its own, so that problems of one pool do not stop the "
        "mail of another.",
        {
            {"addresses", list_of<SourceAddress>(s.addresses, SourceAddress::read),
             "Source addresses: \"ADDRESS\", \"ADDRESS NAME\" or \"ADDRESS NAME WEIGHT\". ADDRESS is an address of "
             "this host; NAME is the name sent in EHLO from it (the default is smtp_client.helo; it should be the "
             "name that a reverse lookup of the address returns); WEIGHT is its share of the connections relative to "
             "the other addresses of its family, from 1 (the default) to 1000. Servers are reached only over address "
             "families that the pool has addresses of.",
             "[\"192.0.2.1 mx1.example.com\", \"192.0.2.2 mx2.example.com 3\", \"2001:db8::1 mx1.example.com\"]"},
            {"backoff", DurationKey{&s.backoff, 1s, 7 * 24h},
             "How long a rejected source address backs off. A server that rejects a connection in its greeting or at "
             "EHLO is tried from the pool's next address. If that one is accepted, the rejected one backs off for this "
             "time for this link: it is used only if all others are rejected too. An address because of which mail is "
             "rejected later (\"Client host blocked\") backs off as well, and that mail is sent from the next address "
             "that is not backing off; see postrider-smtp-client(8).",
             ""},
        }};
}

Section section_for(Pools& s) {
    return {"pools",
            "Selection of pools of source addresses by sender; see [pool.<name>]. The pool is determined when a "
            "message is accepted.",
            {
                {"by_sender", pool_rules(s.by_sender),
                 "Pools by envelope sender: \"ann@example.com vip\", or for a whole domain \"@news.example.com "
                 "bulk\". The address takes precedence over the address without its extension, and that over the "
                 "domain.",
                 "[\"@news.example.com bulk\"]"},
            }};
}

} // namespace config
