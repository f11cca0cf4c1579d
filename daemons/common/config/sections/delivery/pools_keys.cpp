// The keys of the addresses mail goes out from.
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
            [&](std::string_view text) -> std::string {
                auto rest = text;
                const auto whose = take_word(rest), pool = take_word(rest);
                if (pool.empty() || !take_word(rest).empty())
                    return fmt::format("\"{}\": expected a sender and a pool, such as \"@example.com bulk\"", text);
                if (whose.starts_with('@') ? domain_name(whose.substr(1)).empty() : !smtp::Mailbox::parse(whose))
                    return fmt::format("\"{}\" is neither an address nor \"@domain\"", whose);
                if (!values.emplace(smtp::lowered(whose), pool).second)
                    return fmt::format("\"{}\" is listed twice", whose);
                return "";
            },
            [&] {
                std::vector<std::string> shown;
                for (const auto& [whose, pool] : values) shown.push_back(whose + " " + pool);
                return shown;
            }};
}

} // namespace

std::string SourceAddress::read(std::string_view text, SourceAddress& out) {
    auto rest = text;
    const auto address = take_word(rest), helo = take_word(rest), weight = take_word(rest);
    const auto parsed = common::IpAddress::parse(address);
    if (!parsed) return fmt::format("\"{}\": \"{}\" is not an IP address", text, address);
    if (parsed->is_wildcard()) return fmt::format("\"{}\": expected one address of this host", text);
    out = {*parsed, "", 1};
    if (!helo.empty() && (out.helo = domain_name(helo), out.helo.find('.') == std::string::npos))
        return fmt::format("\"{}\": \"{}\" is not a full host name such as \"mx1.example.com\"", text, helo);
    if (weight.empty()) return "";
    const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), out.weight);
    if (error != std::errc{} || end != weight.data() + weight.size() || out.weight < 1 ||
        out.weight > largest_weight)
        return fmt::format("\"{}\": the weight \"{}\" is not a number from 1 to {}", text, weight, largest_weight);
    return take_word(rest).empty() ? "" : fmt::format("\"{}\": expected \"address name weight\"", text);
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
        "Source addresses that connections to other systems come from. Which mail goes by a pool is said, in this order, "
        "by a field X-Postrider-Pool in its header, by its envelope sender ([pools]), by its route (route.pool); other "
        "mail goes out as the system chooses. The field and the sender count for clients that have authenticated or may "
        "relay by their network, and for programs on this host; the field is taken out of everybody's mail. A pool has "
        "queues and links of its own, so that one's trouble does not stop another's mail.",
        {
            {"addresses", list_of<SourceAddress>(s.addresses, SourceAddress::read),
             "\"ADDRESS\", \"ADDRESS NAME\" or \"ADDRESS NAME WEIGHT\": an address of this host, the name given in EHLO "
             "with it (by default smtp_client.helo; it should be the name its reverse look-up gives), and its share of "
             "the connections against the others of its family, from 1 (the default) to 1000. Servers are reached over "
             "the families there are addresses of.",
             "[\"192.0.2.1 mx1.example.com\", \"192.0.2.2 mx2.example.com 3\", \"2001:db8::1 mx1.example.com\"]"},
            {"rest", DurationKey{&s.backoff, 1s, 7 * 24h},
             "A server that refuses a connection in its banner or at EHLO is tried from the pool's next address. If that "
             "one is taken, the refused one rests so long for this link: it is used only where all others are refused "
             "too. So does one for whose sake mail is refused later (\"Client host blocked\"), and that mail goes from "
             "the next one that does not rest; see postrider-smtp-client(8).",
             ""},
        }};
}

Section section_for(Pools& s) {
    return {"pools",
            "Which senders' mail goes by which pool of source addresses; see [pool.<name>]. It is settled when a message "
            "is accepted.",
            {
                {"by_sender", pool_rules(s.by_sender),
                 "By envelope sender: \"ann@example.com vip\", or for a whole domain \"@news.example.com bulk\". The "
                 "address counts before the address without its extension, and that before the domain.",
                 "[\"@news.example.com bulk\"]"},
            }};
}

} // namespace config
