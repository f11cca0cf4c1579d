#include "daemons/decide/expansion.h"
#include "libsmtp/address.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

namespace decide {

namespace {

using Fate = FinalRecipient::Fate;

constexpr std::string_view unknown_here = "User unknown in local recipient table";

bool is_postmaster(std::string_view name) { return name == "postmaster" || name == "mailer-daemon"; }

// What can be a user's name at all; nothing else is looked up. The address was well-formed: bytes beyond
// ASCII are UTF-8.
bool can_be_user(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
               c == '$' || static_cast<unsigned char>(c) >= 0x80;
    };
    return !name.empty() && name.size() <= 64 && name.front() != '-' && name != "." && name != ".." &&
           std::all_of(name.begin(), name.end(), fits);
}

std::string without_extension(const std::string& name, char delimiter) {
    const auto at = delimiter ? name.find(delimiter, 1) : name.npos;
    return at == name.npos ? name : name.substr(0, at);
}

// Is it for somebody on this system? <postmaster> alone always is (RFC 5321, 4.5.1).
bool is_here(std::string_view address, const ExpansionSettings& settings) {
    const auto at = address.rfind('@');
    if (at != address.npos) return settings.is_local(smtp::lowered(address.substr(at + 1)));
    return settings.is_local(settings.origin) || smtp::same_ignoring_case(address, "postmaster");
}

// One envelope recipient on its way.
class Expansion {
public:
    Expansion(const EnvelopeRecipient& envelope, bool null_sender, const ExpansionSettings& settings,
              const ExpansionTables& tables, Expanded& out)
        : envelope_(envelope), null_sender_(null_sender), settings_(settings), tables_(tables), out_(out) {}

    void run();

private:
    void address(const std::string& text, bool direct, const std::string& owner, std::uint32_t depth);
    void name_here(const std::string& name, const std::string& written, bool direct, const std::string& owner,
                   std::uint32_t depth);
    bool through_alias(const std::string& name, const std::string& owner, std::uint32_t depth);
    void user_here(const std::string& name, const std::string& written, bool direct,
                   const std::string& owner);
    void add(Fate fate, const std::string& written, bool direct, const std::string& owner,
             std::string status = "", std::string text = "");
    void defer(std::string status, std::string text);
    std::string owner_of(const std::string& alias, const std::string& inherited) const;

    const EnvelopeRecipient& envelope_;
    bool null_sender_;
    const ExpansionSettings& settings_;
    const ExpansionTables& tables_;
    Expanded& out_;
    std::vector<FinalRecipient> found_;
    std::vector<std::string> open_;        // aliases being expanded, outermost first
    std::unordered_set<std::string> done_; // aliases expanded already: lists that share members of members
    FinalRecipient deferred_;
    bool is_deferred_ = false, cut_ = false;
};

void Expansion::run() {
    address(envelope_.address, true, "", 0);
    if (is_deferred_) {
        // All or nothing: the others would get it again when this is tried again.
        out_.recipients.push_back(std::move(deferred_));
        return;
    }
    if (found_.empty() && out_.users_needed.empty())
        add(Fate::failed, envelope_.address, true, "", "5.4.6",
            cut_ ? "the aliases of this address lead back to itself"
                 : "the alias for this address leads nowhere");
    std::move(found_.begin(), found_.end(), std::back_inserter(out_.recipients));
}

void Expansion::defer(std::string status, std::string text) {
    if (is_deferred_) return;
    is_deferred_ = true;
    deferred_.index = envelope_.index;
    deferred_.fate = Fate::deferred;
    deferred_.address = envelope_.address;
    deferred_.status = std::move(status);
    deferred_.text = std::move(text);
}

void Expansion::add(Fate fate, const std::string& written, bool direct, const std::string& owner,
                    std::string status, std::string text) {
    if (found_.size() >= settings_.recipients)
        return defer("4.3.5", fmt::format("the alias for this address has more than {} recipients",
                                          settings_.recipients));
    FinalRecipient one;
    one.index = envelope_.index;
    one.fate = fate;
    one.changed = !direct;
    if (!direct) one.address = written;
    one.reverse_path = owner;
    one.status = std::move(status);
    one.text = std::move(text);
    found_.push_back(std::move(one));
}

void Expansion::address(const std::string& text, bool direct, const std::string& owner, std::uint32_t depth) {
    if (is_deferred_) return;
    const bool bare = text.rfind('@') == text.npos;
    const auto written = bare ? text + "@" + settings_.origin : text;
    const bool here = is_here(text, settings_);
    if (!here) return add(Fate::remote, written, direct && !bare, owner);
    const auto parsed = smtp::Mailbox::parse_bare_allowed(text);
    if (!parsed)
        return add(Fate::failed, written, direct, owner, "5.1.3", "bad address: " + parsed.error().why);
    name_here(settings_.folded(parsed->local_part), written, direct, owner, depth);
}

// Aliases for the whole name, then for what stands before the delimiter; then users in the same way.
void Expansion::name_here(const std::string& name, const std::string& written, bool direct,
                          const std::string& owner, std::uint32_t depth) {
    if (depth > settings_.depth)
        return defer("4.3.5",
                     fmt::format("the aliases of this address are more than {} deep", settings_.depth));
    if (through_alias(name, owner, depth)) return;
    const auto plain = without_extension(name, settings_.delimiter);
    if (plain != name && through_alias(plain, owner, depth)) return;
    if (is_postmaster(plain) && plain != settings_.folded(settings_.postmaster) &&
        std::find(open_.begin(), open_.end(), plain) == open_.end()) {
        open_.push_back(plain);
        address(settings_.postmaster, false, owner, depth + 1);
        open_.pop_back();
        return;
    }
    user_here(name, written, direct, owner);
}

// False: there is no such alias, or we come from it.
bool Expansion::through_alias(const std::string& name, const std::string& owner, std::uint32_t depth) {
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) return false;
    auto answer = tables_.alias(name);
    if (answer.said == AliasAnswer::Said::none) return false;
    if (answer.said == AliasAnswer::Said::unreadable) {
        defer("4.3.0", std::move(answer.why));
        return true;
    }
    if (!done_.insert(name).second) return true; // its members are there already
    const auto from = owner_of(name, owner);
    open_.push_back(name);
    for (const auto& target : answer.targets) {
        if (is_deferred_) break;
        switch (target.kind) {
        case AliasTarget::Kind::address: address(target.value, false, from, depth + 1); break;
        case AliasTarget::Kind::user:
            user_here(settings_.folded(target.value), target.value + "@" + settings_.origin, false, from);
            break;
        case AliasTarget::Kind::command:
            defer("4.3.5", fmt::format("alias {}: delivery to a command is not supported", name));
            break;
        case AliasTarget::Kind::file:
            defer("4.3.5", fmt::format("alias {}: delivery to a file is not supported", name));
            break;
        case AliasTarget::Kind::include:
            defer("4.3.5", fmt::format("alias {}: :include: is not supported", name));
            break;
        }
    }
    open_.pop_back();
    return true;
}

// A list with an owner: reports go to the owner, not to whoever wrote to the list.
std::string Expansion::owner_of(const std::string& alias, const std::string& inherited) const {
    if (null_sender_ || alias.starts_with("owner-")) return inherited;
    const auto owner = "owner-" + alias;
    if (tables_.alias(owner).said != AliasAnswer::Said::found) return inherited;
    return owner + "@" + settings_.origin;
}

void Expansion::user_here(const std::string& name, const std::string& written, bool direct,
                          const std::string& owner) {
    for (const auto& candidate : {name, without_extension(name, settings_.delimiter)}) {
        if (!can_be_user(candidate)) continue;
        switch (tables_.user(candidate)) {
        case UserAnswer::known:
            add(Fate::local, written, direct, owner);
            if (!is_deferred_) found_.back().user = candidate;
            return;
        case UserAnswer::not_yet: out_.users_needed.insert(candidate); return;
        case UserAnswer::unreadable:
            return defer("4.3.0", fmt::format("user {} cannot be looked up", candidate));
        case UserAnswer::unknown: break;
        }
    }
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
        cut_ = true; // an alias that leads back to itself, and nobody of that name
        return;
    }
    add(Fate::failed, written, direct, owner, "5.1.1",
        fmt::format("unknown user: \"{}\"", smtp::printable(name, 100)));
}

std::string key_of(const FinalRecipient& recipient, const std::string& envelope_address) {
    if (recipient.fate == Fate::local) return "user " + recipient.user;
    const auto& address = recipient.address.empty() ? envelope_address : recipient.address;
    const auto at = address.rfind('@');
    return address.substr(0, at) +
           (at == address.npos ? "" : smtp::lowered(std::string_view(address).substr(at)));
}

// Whoever is named twice gets one copy: who was addressed directly by that address, others by the first
// mention.
void remove_duplicates(const std::vector<EnvelopeRecipient>& envelope,
                       std::vector<FinalRecipient>& recipients) {
    if (recipients.size() < 2) return;
    const auto counts = [](const FinalRecipient& r) {
        return r.fate == Fate::local || r.fate == Fate::remote;
    };
    std::unordered_set<std::string> seen;
    std::vector<bool> drop(recipients.size());
    std::size_t at = 0;
    const auto written = [&](const FinalRecipient& recipient) -> const std::string& {
        // Both lists are in the envelope's order.
        if (at >= envelope.size() || envelope[at].index != recipient.index)
            for (at = 0; at < envelope.size() && envelope[at].index != recipient.index;) ++at;
        return envelope[at].address;
    };
    for (const bool changed : {false, true})
        for (std::size_t i = 0; i < recipients.size(); ++i)
            if (counts(recipients[i]) && recipients[i].changed == changed)
                drop[i] = !seen.insert(key_of(recipients[i], written(recipients[i]))).second;

    std::vector<FinalRecipient> kept;
    kept.reserve(recipients.size());
    std::size_t i = 0;
    while (i < recipients.size()) {
        const auto index = recipients[i].index;
        const auto& address = written(recipients[i]);
        const auto before = kept.size();
        for (; i < recipients.size() && recipients[i].index == index; ++i)
            if (!drop[i]) kept.push_back(std::move(recipients[i]));
        if (kept.size() != before) continue;
        FinalRecipient duplicate; // every envelope recipient has a fate
        duplicate.index = index;
        duplicate.fate = Fate::discard;
        duplicate.status = "2.1.5";
        duplicate.text = fmt::format("<{}> leads to recipients that have the message already", address);
        kept.push_back(std::move(duplicate));
    }
    recipients = std::move(kept);
}

} // namespace

Expanded expand(const std::vector<EnvelopeRecipient>& envelope, bool null_sender,
                const ExpansionSettings& settings, const ExpansionTables& tables) {
    Expanded out;
    out.recipients.reserve(envelope.size());
    for (const auto& recipient : envelope) {
        if (recipient.address.rfind('@') == recipient.address.npos || is_here(recipient.address, settings)) {
            Expansion(recipient, null_sender, settings, tables, out).run();
            continue;
        }
        FinalRecipient remote; // the common case costs nothing more than this
        remote.index = recipient.index;
        out.recipients.push_back(std::move(remote));
    }
    if (!out.users_needed.empty())
        out.recipients.clear();
    else
        remove_duplicates(envelope, out.recipients);
    return out;
}

RecipientCheck check_recipient(std::string_view address, const ExpansionSettings& settings,
                               const ExpansionTables& tables) {
    using Verdict = RecipientCheck::Verdict;
    if (!is_here(address, settings)) return {Verdict::not_ours, "", ""};
    const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
    if (!parsed) return {Verdict::unknown, "", "bad address: " + parsed.error().why};
    const auto name = settings.folded(parsed->local_part);
    const auto plain = without_extension(name, settings.delimiter);
    if (is_postmaster(plain)) return {};
    for (const auto& candidate : {name, plain}) {
        const auto alias = tables.alias(candidate);
        if (alias.said == AliasAnswer::Said::found) return {};
        if (alias.said == AliasAnswer::Said::unreadable) return {Verdict::try_later, "", alias.why};
    }
    for (const auto& candidate : {name, plain}) {
        if (!can_be_user(candidate)) continue;
        switch (tables.user(candidate)) {
        case UserAnswer::known: return {};
        case UserAnswer::not_yet: return {Verdict::not_yet, candidate, ""};
        case UserAnswer::unreadable:
            return {Verdict::try_later, "", "user data cannot be read at the moment"};
        case UserAnswer::unknown: break;
        }
    }
    return {Verdict::unknown, "", std::string(unknown_here)};
}

} // namespace decide
