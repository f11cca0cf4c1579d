#include "daemons/common/submission/sender_rules.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

namespace {

using config::SenderRule;

bool has(const SenderRule::Words& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool is_sender(const SenderRule::Words& words, const spool::Envelope& envelope) {
    const auto address = smtp::lowered(envelope.reverse_path);
    const auto at = address.rfind('@');
    return has(words, address) || (at != address.npos && has(words, std::string_view(address).substr(at)));
}

bool applies(const SenderRule& rule, const RuledMail& mail, const spool::Envelope& envelope) {
    // "net:192.0.2.0/24 example.org": network, and domain of the sender
    const auto submitter = std::string_view(envelope.submitter).substr(0, envelope.submitter.find(' '));
    const auto listener = envelope.listener.empty() ? std::string_view("local") : std::string_view(envelope.listener);
    return (rule.sender.empty() || (mail.submitter == Submitter::trusted && is_sender(rule.sender, envelope))) &&
           (rule.submitter.empty() || has(rule.submitter, submitter)) &&
           (rule.listener.empty() || has(rule.listener, listener)) &&
           (rule.precedence.empty() || has(rule.precedence, mail.precedence));
}

struct Chosen {
    const SenderRule* rule = nullptr;
    std::string name; // "sender_rules.rules[2]"
};

// The first rule that applies and `has` such a consequence.
template <class Has>
Chosen first(const config::SenderRules& rules, const RuledMail& mail, const spool::Envelope& envelope, Has has) {
    for (std::size_t i = 0; i < rules.rules.size(); ++i)
        if (has(rules.rules[i]) && applies(rules.rules[i], mail, envelope))
            return {&rules.rules[i], fmt::format("sender_rules.rules[{}]", i + 1)};
    return {};
}

std::string not_allowed(std::string_view by, std::string_view what, const std::string& value, const Chosen& rule) {
    return fmt::format("{}: this sender may not use the {} \"{}\" ({})", by, what, value, rule.name);
}

} // namespace

std::string apply_sender_rules(const config::SenderRules& rules, const RuledMail& mail, spool::Envelope& envelope) {
    const auto priority_lane = envelope.priority > 0 ? "high" : "bulk";
    if (envelope.lane.empty() && envelope.priority != 0) envelope.lane_chosen_by = "MT-PRIORITY";
    if (!envelope.lane_chosen_by.empty()) {
        const auto& lane = envelope.lane.empty() ? std::string(priority_lane) : envelope.lane;
        const auto limit = first(rules, mail, envelope, [](const SenderRule& rule) { return rule.lanes.has_value(); });
        if (limit.rule && !has(*limit.rule->lanes, lane))
            return not_allowed(envelope.lane_chosen_by, "lane", lane, limit);
    } else if (auto by = first(rules, mail, envelope, [](const SenderRule& rule) { return !rule.lane.empty(); });
               by.rule) {
        envelope.lane = by.rule->lane;
        envelope.lane_chosen_by = std::move(by.name);
    }
    if (envelope.pool_chosen_by == control_fields[pool_field]) {
        const auto limit = first(rules, mail, envelope, [](const SenderRule& rule) { return rule.pools.has_value(); });
        if (limit.rule && !has(*limit.rule->pools, envelope.pool))
            return not_allowed(envelope.pool_chosen_by, "pool", envelope.pool, limit);
    } else if (auto by = first(rules, mail, envelope, [](const SenderRule& rule) { return !rule.pool.empty(); });
               by.rule) {
        envelope.pool = by.rule->pool;
        envelope.pool_chosen_by = std::move(by.name);
    }
    return "";
}

} // namespace common
