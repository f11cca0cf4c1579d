// The keys of rules by sender, and the form of a rule.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/sender_rules.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <fmt/ranges.h>

namespace config {

namespace {

using Words = SenderRule::Words;

Words split(std::string_view text, char separator) {
    Words out;
    while (!text.empty()) {
        const auto end = std::min(text.find(separator), text.size());
        if (end > 0) out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

bool is_lane(std::string_view word) { return std::ranges::find(lane_names, word) != std::end(lane_names); }

Refusal unless_lanes(const Words& words) {
    for (const auto& word : words)
        if (!is_lane(word)) return fmt::format("\"{}\" is not a lane: expected {}", word, fmt::join(lane_names, ", "));
    return std::nullopt;
}

Refusal unless_senders(Words& words) {
    for (auto& word : words) {
        if (word.starts_with('@') ? domain_name(word.substr(1)).empty() : !smtp::Mailbox::parse(word))
            return fmt::format("\"{}\" is not a valid address or \"@domain\"", word);
        word = smtp::lowered(word);
    }
    return std::nullopt;
}

Refusal unless_submitters(const Words& words) {
    for (const auto& word : words)
        if (word.size() < 5 || !(word.starts_with("sasl:") || word.starts_with("uid:") || word.starts_with("net:") ||
                                 word.starts_with("cert:")))
            return fmt::format("\"{}\" is not a submitter: expected sasl:USER, cert:NAME, uid:NUMBER or net:NETWORK",
                               word);
    return std::nullopt;
}

Refusal take_condition(std::string_view name, Words values, SenderRule& out) {
    if (values.empty()) return fmt::format("{}= has no value", name);
    auto* const given = name == "sender"       ? &out.sender
                        : name == "submitter"  ? &out.submitter
                        : name == "listener"   ? &out.listener
                        : name == "precedence" ? &out.precedence
                                               : nullptr;
    if (!given)
        return fmt::format("\"{}\" is not a condition: expected sender, submitter, listener or precedence", name);
    if (!given->empty()) return fmt::format("{}= is given twice", name);
    *given = std::move(values);
    if (given == &out.sender) return unless_senders(*given);
    if (given == &out.submitter) return unless_submitters(*given);
    if (given == &out.precedence)
        for (auto& word : *given) word = smtp::lowered(word);
    return std::nullopt;
}

Refusal take_consequence(std::string_view name, std::string_view value, SenderRule& out) {
    if (value.empty()) return fmt::format("{}= has no value", name);
    if (name == "lane" || name == "pool") {
        auto& given = name == "lane" ? out.lane : out.pool;
        if (!given.empty()) return fmt::format("{}= is given twice", name);
        given = value;
        return name == "lane" ? unless_lanes({given}) : std::nullopt;
    }
    if (name != "lanes" && name != "pools")
        return fmt::format("\"{}\" is not a consequence: expected lane, pool, lanes or pools", name);
    auto& given = name == "lanes" ? out.lanes : out.pools;
    if (given) return fmt::format("{}= is given twice", name);
    given = value == "none" ? Words{} : split(value, ',');
    return name == "lanes" ? unless_lanes(*given) : std::nullopt;
}

} // namespace

Refusal SenderRule::read(std::string_view text, SenderRule& out) {
    bool then = false, any = false;
    for (const auto& word : split(text, ' ')) {
        if (word == "->" && !then) {
            then = true;
            continue;
        }
        const auto equals = word.find('=');
        if (equals == word.npos)
            return fmt::format("\"{}\": \"{}\": expected NAME=VALUE, or -> between conditions and consequences", text,
                               word);
        const auto name = std::string_view(word).substr(0, equals), value = std::string_view(word).substr(equals + 1);
        auto refusal = then ? take_consequence(name, value, out) : take_condition(name, split(value, ','), out);
        if (refusal) return fmt::format("\"{}\": {}", text, *refusal);
        any = any || then;
    }
    if (!any)
        return fmt::format("\"{}\": expected conditions, -> and consequences, such as \"sender=@example.com -> "
                           "lane=bulk\"",
                           text);
    return std::nullopt;
}

std::string SenderRule::to_string() const {
    std::string out;
    const auto add = [&](std::string_view name, const Words& words) {
        if (!words.empty()) out += fmt::format("{}={} ", name, fmt::join(words, ","));
    };
    add("sender", sender);
    add("submitter", submitter);
    add("listener", listener);
    add("precedence", precedence);
    out += "->";
    if (!lane.empty()) out += " lane=" + lane;
    if (!pool.empty()) out += " pool=" + pool;
    if (lanes) out += fmt::format(" lanes={}", lanes->empty() ? "none" : fmt::format("{}", fmt::join(*lanes, ",")));
    if (pools) out += fmt::format(" pools={}", pools->empty() ? "none" : fmt::format("{}", fmt::join(*pools, ",")));
    return out;
}

Section section_for(SenderRules& s) {
    return {
        "sender_rules",
        "Lane and pool of mail by who submits it, and what submitters may ask for. The rules are read from top to "
        "bottom when a message is accepted; postrider explain names the one that has decided.",
        {
            {"rules", list_of<SenderRule>(s.rules, SenderRule::read),
             "\"CONDITION... -> CONSEQUENCE...\". Conditions, all of which must hold, with alternatives separated by "
             "commas: sender=ADDRESS or sender=@DOMAIN (envelope sender; only in mail of clients that may relay and of "
             "programs on this host, because others can write any sender); submitter=sasl:USER, cert:NAME, uid:NUMBER "
             "or net:NETWORK; listener=NAME, or listener=local for programs on this host; precedence=WORD (header "
             "field Precedence, such as bulk, list or junk). A rule without conditions applies to all mail. "
             "Consequences: lane=high|normal|bulk; pool=NAME; lanes=LANE,... and pools=NAME,... (or none): what a "
             "submitter may ask for in X-Postrider-Lane, MT-PRIORITY and X-Postrider-Pool; other requests are refused "
             "(554 5.6.0). Of each kind of consequence, the first rule that applies and has it decides. What a "
             "submitter asks for, and may, takes precedence over lane= and pool=; pool= takes precedence over [pools] "
             "by_sender.",
             "[\"submitter=sasl:shop -> lanes=high,normal\", \"precedence=bulk,list,junk -> lane=bulk\"]"},
        }};
}

} // namespace config
