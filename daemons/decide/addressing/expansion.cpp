// Expands several recipients together: no duplicate copies, a fate for every recipient, and a bounded answer.
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/addressing/canonical_addresses.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/addressing/recipient_expander.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>
#include <utility>

namespace decide {

namespace {

using spool::Fate;

// The message's sender, as canonical tables and masquerading have it.
struct Sender {
    std::string path;
    std::string own; // of every recipient without another one: "" as it was
    TableAnswer::Status status = TableAnswer::Status::none;
    std::string why;
};

Sender rewritten_sender(std::string_view reverse_path, const ExpansionSettings& settings, Lookups& lookups) {
    Sender out{std::string(reverse_path), "", TableAnswer::Status::none, ""};
    if (reverse_path.empty()) return out;
    auto found = canonical_sender(reverse_path, settings, lookups);
    switch (found.status) {
    case RewrittenAddress::Status::pending: out.status = TableAnswer::Status::not_yet; return out;
    case RewrittenAddress::Status::failed:
        out.status = TableAnswer::Status::unreadable;
        out.why = std::move(found.why);
        return out;
    case RewrittenAddress::Status::rewritten: out.path = std::move(found.address); break;
    case RewrittenAddress::Status::unchanged: break;
    }
    if (settings.masquerade_classes.envelope_sender)
        if (auto shown = masqueraded(settings.masquerade, out.path)) out.path = *std::move(shown);
    if (out.path != reverse_path) out.own = out.path;
    return out;
}

// Collects the recipients of one expander after the other. A recipient named twice gets one copy: that of the envelope
// recipient with the same address, otherwise that of the first mention.
class ResultCollector {
public:
    ResultCollector(const std::vector<UnresolvedRecipient>& envelope, const ExpansionSettings& settings)
        : envelope_(envelope), bytes_(settings.bytes), mailboxes_(settings.mailboxes), folded_(settings.folded) {
        all_.reserve(envelope.size());
    }

    void take(const UnresolvedRecipient& from, std::vector<ResolvedRecipient>&& found) {
        std::size_t size = 0;
        for (const auto& one : found) size += size_of(one);
        // An unchanged address always has room; what it expands to is bounded.
        if ((found.size() > 1 || found.front().changed) && used_ + size > bytes_) {
            const bool alone = used_ == 0;
            ResolvedRecipient later;
            later.origin = from.number;
            later.fate = Fate::unknown;
            later.address = from.address;
            later.status = alone ? "4.3.5" : "4.3.2";
            later.text = alone ? "this address has too many recipients to handle at once"
                               : "other recipients are handled first, because there are many";
            found = {std::move(later)};
        } else if (found.size() > 1 || found.front().changed) {
            used_ += size;
        }
        for (auto& one : found) add(from, std::move(one));
    }

    std::vector<ResolvedRecipient> finish() {
        std::vector<ResolvedRecipient> out;
        out.reserve(all_.size());
        std::size_t i = 0;
        for (const auto& from : envelope_) {
            const auto before = out.size();
            for (; i < all_.size() && all_[i].origin == from.number; ++i)
                if (!dropped_.contains(i)) out.push_back(std::move(all_[i]));
            if (out.size() != before) continue;
            ResolvedRecipient duplicate; // every envelope recipient has a fate
            duplicate.origin = from.number;
            duplicate.fate = Fate::discard;
            duplicate.status = "2.1.5";
            duplicate.text = fmt::format("<{}> expands to recipients that already have the message", from.address);
            out.push_back(std::move(duplicate));
        }
        return out;
    }

private:
    static std::size_t size_of(const ResolvedRecipient& one) {
        return 48 + one.address.size() + one.user.size() + one.target.size() + one.transport.size() +
               one.reverse_path.size() + one.delivered_to.size() + one.status.size() + one.text.size();
    }

    void add(const UnresolvedRecipient& from, ResolvedRecipient&& one) {
        const bool gets_copy = one.fate == Fate::local || one.fate == Fate::remote;
        if (gets_copy) {
            const auto key = duplicate_key(
                {one.changed ? one.address : from.address, one.user, one.target, one.transport, from.address},
                mailboxes_, folded_);
            const auto [first, fresh] = places_.try_emplace(key, all_.size());
            if (!fresh) {
                if (one.changed || !all_[first->second].changed) return;
                dropped_.insert(first->second);
                first->second = all_.size();
            }
        }
        all_.push_back(std::move(one));
    }

    const std::vector<UnresolvedRecipient>& envelope_;
    std::size_t bytes_, used_ = 0;
    Mailboxes mailboxes_;
    const NameForm& folded_;
    std::vector<ResolvedRecipient> all_;
    std::unordered_map<std::string, std::size_t> places_;
    std::set<std::size_t> dropped_;
};

} // namespace

std::string duplicate_key(const RecipientIdentity& copy, Mailboxes mailboxes, const NameForm& folded) {
    const auto& [address, user, target, transport, origin] = copy;
    const auto same = [&](std::string_view text) { // ignoring case
        const auto at = std::min(text.rfind('@'), text.size());
        return folded(text.substr(0, at)) + smtp::lowered(text.substr(at));
    };
    if (target.starts_with('|')) return fmt::format("for {} at {}\n{}", same(origin), target, user);
    if (!name_of_command(target).empty()) return fmt::format("for {} at {}\n{}", same(address), target, user);
    if (!target.empty()) return fmt::format("at {}\n{}", target, user);
    const auto at = std::min(address.rfind('@'), address.size());
    const auto local = address.substr(0, at);
    if (user.empty()) return fmt::format("to {}{}", local, smtp::lowered(address.substr(at)));
    if (!transport.empty()) return fmt::format("to {}", same(address));
    if (mailboxes == Mailboxes::commands) return fmt::format("for {} user {}\n{}", same(origin), user, same(address));
    return fmt::format("user {}\n{}", user, folded(local));
}

struct Expansion::State {
    State(std::vector<UnresolvedRecipient>&& recipients, const ExpansionSettings& s, ExpansionTables&& t)
        : envelope(std::move(recipients)), settings(s), tables(std::move(t)) {}

    void expanded(const UnresolvedRecipient& recipient, std::vector<ResolvedRecipient>&& found) {
        if (!lookups.unanswered().empty()) return; // still find out what the others need
        for (auto& one : found)
            if (one.reverse_path.empty()) one.reverse_path = sender.own;
        collector.take(recipient, std::move(found));
    }

    const std::vector<UnresolvedRecipient> envelope;
    const ExpansionSettings& settings;
    const ExpansionTables tables;
    Lookups lookups{tables};
    Sender sender;
    ResultCollector collector{envelope, settings};
    std::size_t at = 0; // in the envelope
    std::optional<Expander> expander;
};

Expansion::Expansion(std::vector<UnresolvedRecipient> envelope, std::string_view reverse_path,
                     const ExpansionSettings& settings, ExpansionTables tables)
    : state_(std::make_unique<State>(std::move(envelope), settings, std::move(tables))) {
    state_->sender = rewritten_sender(reverse_path, settings, state_->lookups);
}

Expansion::~Expansion() = default;

bool Expansion::run(std::size_t steps) {
    auto& [envelope, settings, tables, lookups, sender, collector, at, expander] = *state_;
    for (; at < envelope.size(); ++at) {
        if (lookups.unanswered().size() >= settings.questions) return true;
        if (steps == 0) return false;
        if (!expander) --steps;
        const auto& recipient = envelope[at];
        if (sender.status == TableAnswer::Status::unreadable) {
            ResolvedRecipient waiting;
            waiting.origin = recipient.number;
            waiting.fate = Fate::unknown;
            waiting.address = recipient.address;
            waiting.status = "4.3.0";
            waiting.text = sender.why;
            state_->expanded(recipient, {std::move(waiting)});
            continue;
        }
        if (!expander) expander.emplace(recipient, sender.path, settings, lookups);
        if (!expander->run(steps)) return lookups.unanswered().size() >= settings.questions;
        state_->expanded(recipient, expander->take_result());
        expander.reset();
    }
    return true;
}

ExpansionResult Expansion::take_result() {
    auto& lookups = state_->lookups;
    if (!lookups.unanswered().empty()) return {{}, std::move(lookups.unanswered())};
    return {state_->collector.finish(), {}};
}

ExpansionResult expand(const std::vector<UnresolvedRecipient>& envelope, std::string_view reverse_path,
                       const ExpansionSettings& settings, const ExpansionTables& tables) {
    Expansion expansion(envelope, reverse_path, settings, tables);
    while (!expansion.run(10'000)) {
    }
    return expansion.take_result();
}

} // namespace decide
