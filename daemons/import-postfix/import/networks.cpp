#include "daemons/import-postfix/import/networks.h"
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace postrider {

namespace {

using common::Network;

constexpr std::size_t most_networks = 10'000;

bool is_v4(const Network& network) { return network.base.is_v4() && network.bits >= 96; }

bool is_within(const Network& inner, const Network& outer) {
    return outer.bits <= inner.bits && outer.contains(inner.base);
}

// What of it is outside of the other: nothing, all of it, or what remains beside the path to the other.
std::vector<Network> outside(const Network& all, const Network& hole) {
    if (is_within(all, hole)) return {};
    if (!is_within(hole, all)) return {all};
    std::vector<Network> out;
    for (int bits = all.bits + 1; bits <= hole.bits; ++bits) {
        Network beside{hole.base, bits};
        for (int bit = bits; bit < 128; ++bit)
            beside.base.bytes[static_cast<std::size_t>(bit / 8)] &= static_cast<std::uint8_t>(~(0x80 >> (bit % 8)));
        beside.base.bytes[static_cast<std::size_t>((bits - 1) / 8)] ^=
            static_cast<std::uint8_t>(0x80 >> ((bits - 1) % 8));
        out.push_back(beside);
    }
    return out;
}

// Each address of one of the families; IPv4 is kept within IPv6, and is no part of it here.
std::vector<Network> everything() {
    const Network all_v4{*common::IpAddress::parse("0.0.0.0"), 96}, all{{}, 0};
    auto out = outside(all, all_v4);
    out.push_back(all_v4);
    return out;
}

// "192.0.2.0/24", "! 192.0.2.0/24" at the front of a rule: those to which it applies. As in Postfix, a network that is
// negated means others of its own family.
struct Condition {
    Network network;
    bool negated = false;

    static std::optional<Condition> take(std::string_view& text) {
        bool negated = false;
        for (text = postfix::trimmed(text); text.starts_with('!'); text = postfix::trimmed(text.substr(1)))
            negated = !negated;
        const auto word = text.substr(0, text.find_first_of(" \t"));
        text = postfix::trimmed(text.substr(word.size()));
        const auto network = Network::parse(word);
        return network ? std::optional(Condition{*network, negated}) : std::nullopt;
    }

    std::vector<Network> of(const std::vector<Network>& networks) const {
        std::vector<Network> out;
        for (const auto& each : networks) {
            if (is_v4(each) != is_v4(network)) continue;
            if (negated)
                for (const auto& rest : outside(each, network)) out.push_back(rest);
            else if (is_within(each, network))
                out.push_back(each);
            else if (is_within(network, each))
                out.push_back(network);
        }
        return out;
    }
};

// "if", "endif", without and with something behind it.
bool takes_word(std::string_view& text, std::string_view word) {
    if (!smtp::starts_with_ignoring_case(text, word)) return false;
    const auto rest = text.substr(word.size());
    if (!rest.empty() && (smtp::is_letter(rest.front()) || smtp::is_digit(rest.front()))) return false;
    text = postfix::trimmed(rest);
    return true;
}

} // namespace

std::vector<std::string> without_duplicates(const std::vector<std::string>& networks) {
    std::vector<std::string> out;
    std::set<std::string> seen;
    for (const auto& text : networks) {
        const auto network = common::Network::parse(text);
        if (seen.insert(network ? network->to_string() : text).second) out.push_back(text);
    }
    return out;
}

std::vector<std::string> own_networks(Import& import) {
    const auto style = import.value("mynetworks_style");
    std::vector<std::string> out = {"127.0.0.0/8", "::1/128"};
    const auto add = [&](std::string text) {
        if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
    };
    for (const auto& [address, bits] : import.environment.interfaces) {
        if (address.is_loopback()) continue;
        common::Network network{address, 128};
        if (style == "subnet" || style == "class") {
            network.bits = bits;
            if (style == "class" && address.is_v4())
                network.bits = 96 + (address.bytes[12] < 128 ? 8 : address.bytes[12] < 192 ? 16 : 24);
            for (int bit = network.bits; bit < 128; ++bit)
                network.base.bytes[static_cast<std::size_t>(bit / 8)] &=
                    static_cast<std::uint8_t>(~(0x80 >> (bit % 8)));
        }
        add(network.to_string());
    }
    return out;
}

std::expected<std::vector<std::string>, std::string> networks_of_rules(const std::vector<postfix::LogicalLine>& rules) {
    std::vector<std::string> out;
    std::vector<std::vector<Network>> within(1, everything()); // where the rules of each open "if" apply
    for (const auto& rule : rules) {
        const auto wrong = [&](std::string_view why) {
            return std::unexpected(fmt::format("line {}: \"{}\": {}", rule.line, postfix::excerpt(rule.text), why));
        };
        std::string_view text = rule.text;
        if (takes_word(text, "endif")) {
            if (within.size() == 1 || !text.empty()) return wrong("\"endif\" without \"if\", or with text behind it");
            within.pop_back();
            continue;
        }
        const bool opens = takes_word(text, "if");
        const auto condition = Condition::take(text);
        if (!condition) return wrong("not a network");
        if (opens != text.empty()) return wrong(opens ? "text behind the network" : "no value");
        auto networks = condition->of(within.back());
        if (networks.size() + out.size() > most_networks)
            return wrong(fmt::format("it stands for more than {} networks", most_networks));
        if (opens)
            within.push_back(std::move(networks));
        else
            for (const auto& network : networks) out.push_back(network.to_string());
    }
    return out;
}

} // namespace postrider
