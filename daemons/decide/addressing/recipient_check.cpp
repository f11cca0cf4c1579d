#include "daemons/decide/addressing/recipient_check.h"
#include "daemons/decide/addressing/canonical_addresses.h"
#include "daemons/decide/addressing/local_names.h"
#include "daemons/decide/rewriting/lookups.h"
#include "daemons/decide/routing/transport_entry.h"
#include "libsmtp/message/address.h"
#include <optional>

namespace decide {

namespace {

using Verdict = RecipientCheck::Verdict;
using Status = TableAnswer::Status;

constexpr std::string_view not_now = "unverified address: a table cannot be read, try again later";

class Check {
public:
    Check(const ExpansionSettings& settings, const ExpansionTables& tables) : settings_(settings), lookups_(tables) {}

    RecipientCheck run(std::string_view text) {
        auto out = judged(std::string(text));
        if (out.verdict == Verdict::pending) out.unanswered = std::move(lookups_.unanswered());
        return out;
    }

private:
    static RecipientCheck unknown(std::string status, std::string text) {
        return {.verdict = Verdict::unknown, .status = std::move(status), .text = std::move(text)};
    }
    static RecipientCheck unknown(AddressClass where) {
        return unknown("5.1.1", std::string(unknown_recipient(where)));
    }
    // The reply while there is no answer; nothing if there is one.
    static std::optional<RecipientCheck> wait_for(Status status) {
        if (status == Status::not_yet) return RecipientCheck{Verdict::pending};
        if (status == Status::unreadable)
            return RecipientCheck{.verdict = Verdict::try_later, .text = std::string(not_now)};
        return {};
    }
    ClassAnswer class_of(std::string_view address) {
        return settings_.class_of(smtp::lowered(AddressParts::of(address).domain), lookups_);
    }
    // With the keys that the class of its domain has; or what keeps that from being known.
    Lookups::Found in_tables(const std::vector<std::string>& tables, std::string_view address) {
        if (tables.empty()) return {};
        auto where = class_of(address);
        if (!where) return {std::move(where.error())};
        const auto bare = bare_names_for(address, *where == AddressClass::local, settings_.origin);
        return lookups_.in_tables(tables, address_keys(address, settings_.delimiter, bare));
    }

    RecipientCheck judged(std::string address) {
        const bool bare = address.rfind('@') == address.npos;
        if (bare && smtp::same_ignoring_case(address, "postmaster")) return {};
        if (bare) address += "@" + settings_.origin;
        if (const auto suppressed = lookups_.suppressed(address); suppressed.status == Status::found)
            return {.verdict = Verdict::unknown, .status = "5.7.1", .text = suppressed.value, .suppressed = true};
        else if (const auto word = wait_for(suppressed.status))
            return *word;
        auto canonical = canonical_recipient(address, settings_, lookups_);
        if (canonical.status == RewrittenAddress::Status::pending) return *wait_for(Status::not_yet);
        if (canonical.status == RewrittenAddress::Status::failed)
            return canonical.invalid ? RecipientCheck{.verdict = Verdict::try_later, .text = std::string(not_now)}
                                     : *wait_for(Status::unreadable);
        if (canonical.status == RewrittenAddress::Status::rewritten) address = std::move(canonical.address);
        ours_ = ours_ || canonical.listed;
        if (settings_.masquerade_classes.envelope_recipient)
            if (auto shown = masqueraded(settings_.masquerade, address)) address = *std::move(shown);
        const auto alias = in_tables(settings_.tables.virtual_alias, address);
        if (const auto word = wait_for(alias.answer.status)) return *word;
        if (alias.answer.status == Status::found) return {};
        const auto moved = in_tables(settings_.tables.relocated, address);
        if (const auto word = wait_for(moved.answer.status)) return *word;
        if (moved.answer.status == Status::found)
            return unknown("5.1.6", "User has moved to " + smtp::printable(moved.answer.value, 300));
        return in_class(address);
    }

    RecipientCheck in_class(const std::string& address) {
        const auto where = class_of(address);
        if (!where) return *wait_for(where.error().status);
        switch (*where) {
        case AddressClass::local: return here(address);
        case AddressClass::virtual_alias: return unknown(*where);
        case AddressClass::virtual_mailbox: return listed(*where, settings_.tables.mailboxes, address);
        case AddressClass::relay: return listed(*where, settings_.tables.relay_recipients, address);
        case AddressClass::remote: break;
        }
        return {ours_ ? Verdict::known : Verdict::not_local};
    }

    // Without a list, every address is known.
    RecipientCheck listed(AddressClass where, const std::vector<std::string>& tables, const std::string& address) {
        if (tables.empty()) return by_transport(address);
        const auto bare = where == AddressClass::local ? BareNames::yes : BareNames::no;
        const auto found = lookups_.in_tables(tables, address_keys(address, settings_.delimiter, bare));
        if (const auto word = wait_for(found.answer.status)) return *word;
        return found.answer.status == Status::none ? unknown(where) : by_transport(address);
    }

    RecipientCheck here(const std::string& address) {
        const auto parsed = smtp::Mailbox::parse(address);
        if (!parsed) return unknown("5.1.3", "bad address: " + parsed.error().why);
        const auto name = settings_.folded(parsed->local_part);
        const auto plain = without_extension(name, settings_.delimiter);
        if (settings_.known_here.everybody || is_postmaster(plain)) return by_transport(address);
        for (const auto& candidate : {name, plain}) {
            if (!settings_.known_here.aliases) break;
            const auto alias = lookups_.alias(candidate).status;
            if (alias == AliasAnswer::Status::found) return by_transport(address);
            if (alias == AliasAnswer::Status::not_yet) return {Verdict::pending};
            if (alias == AliasAnswer::Status::unreadable)
                return {.verdict = Verdict::try_later, .text = std::string(not_now)};
        }
        for (const auto& candidate : {name, plain}) {
            if (!settings_.known_here.users || !can_be_user(candidate)) continue;
            switch (lookups_.user(candidate)) {
            case UserAnswer::known:
            case UserAnswer::no_mailbox: return by_transport(address); // it waits for an alias
            case UserAnswer::not_yet: return {Verdict::pending};
            case UserAnswer::unreadable:
                return {.verdict = Verdict::try_later, .text = "user data cannot be read at the moment"};
            case UserAnswer::unknown: break;
            }
        }
        // A list says who is known; catch_all is then for mail that comes without this check.
        const auto& from = settings_.known_here;
        const bool listed_only = !settings_.tables.local_recipients.empty() || !from.users || !from.aliases;
        if (!settings_.catch_all.empty() && !listed_only) return by_transport(address);
        if (settings_.tables.local_recipients.empty()) return unknown(AddressClass::local);
        return listed(AddressClass::local, settings_.tables.local_recipients, address);
    }

    // A known recipient may still be rejected by a transport: "error:5.2.1 closed".
    RecipientCheck by_transport(const std::string& address) {
        const auto found = lookups_.in_tables(settings_.tables.transport, transport_keys(address, settings_.delimiter));
        if (const auto word = wait_for(found.answer.status)) return *word;
        if (found.answer.status == Status::none) return {};
        const auto word = TransportEntry::parse(found.answer.value, settings_.transports);
        if (word && word->kind == TransportEntry::Kind::fail) return unknown(word->status, word->value);
        return {};
    }

    const ExpansionSettings& settings_;
    Lookups lookups_;
    bool ours_ = false; // rewritten by our own tables, wherever that leads
};

} // namespace

RecipientCheck check_recipient(std::string_view address, const ExpansionSettings& settings,
                               const ExpansionTables& tables) {
    return Check(settings, tables).run(address);
}

} // namespace decide
