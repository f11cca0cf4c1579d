#include "daemons/decide/addressing/recipient_expander.h"
#include "daemons/decide/addressing/canonical_addresses.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/addressing/local_names.h"
#include "daemons/decide/addressing/mailbox_path.h"
#include "daemons/decide/routing/transport_entry.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace decide {

using spool::Fate;
using Status = TableAnswer::Status;

static std::vector<AddressKey> keys_of(const std::string& address, AddressClass where,
                                       const ExpansionSettings& settings) {
    return address_keys(address, settings.delimiter,
                        bare_names_for(address, where == AddressClass::local, settings.origin));
}

bool Expander::run(std::size_t& steps) {
    if (!std::exchange(begun_, true)) expand_address(envelope_.address, {});
    for (; !lists_.empty() && !result_.is_deferred(); --steps) {
        if (steps == 0) return false;
        step();
    }
    return true;
}

// The next place that the innermost list names, which may lead into another list.
void Expander::step() {
    auto& list = lists_.innermost();
    if (list.next == list.targets.size()) return lists_.close();
    const auto depth = lists_.size();
    const auto& target = list.targets[list.next++];
    if (list.reading)
        take(target, *list.reading, list.via);
    else
        expand_virtual_alias(target.value, list.via);
    const bool leads_on = lists_.size() > depth || target.kind == AliasTarget::Kind::include;
    if (++(leads_on ? nested_lists_ : members_) > settings_.recipients)
        result_.defer("4.3.5",
                      fmt::format("the lists for this address have more than {} targets", settings_.recipients));
}

bool Expander::too_deep(const Provenance& via) {
    if (via.depth <= settings_.depth) return false;
    result_.defer("4.3.5",
                  fmt::format("the aliases of this address are nested more than {} levels deep", settings_.depth));
    return true;
}

// --- rewriting

// A whole address, from the envelope or out of a list to another domain.
void Expander::expand_address(const std::string& text, const Provenance& via) {
    if (result_.is_deferred()) return;
    const bool bare = text.rfind('@') == text.npos;
    // Without a virtual alias local, whatever the origin: RFC 5321, 4.5.1.
    if (bare && smtp::same_ignoring_case(text, "postmaster")) return expand_virtual_alias(text, via);
    auto address = bare ? text + "@" + settings_.origin : text;
    auto canonical = canonical_recipient(address, settings_, lookups_);
    switch (canonical.status) {
    case RewrittenAddress::Status::pending: return;
    case RewrittenAddress::Status::failed: return result_.defer(canonical.invalid ? "4.3.5" : "4.3.0", canonical.why);
    case RewrittenAddress::Status::rewritten: address = std::move(canonical.address); break;
    case RewrittenAddress::Status::unchanged: break;
    }
    if (settings_.masquerade_classes.envelope_recipient)
        if (auto shown = masqueraded(settings_.masquerade, address)) address = *std::move(shown);
    expand_virtual_alias(address, via);
}

void Expander::expand_virtual_alias(const std::string& address, const Provenance& via) {
    if (result_.is_deferred()) return;
    if (settings_.tables.virtual_alias.empty()) return by_class(address, via);
    if (too_deep(via)) return;
    const auto whole = address.rfind('@') == address.npos ? address + "@" + settings_.origin : address;
    const auto key = "virtual " + settings_.folded(whole);
    if (lists_.is_open(key)) return by_class(address, via); // it keeps a copy
    const auto where = class_of(whole);
    if (!where) return;
    const auto found = lookups_.in_tables(settings_.tables.virtual_alias, keys_of(whole, *where, settings_));
    if (result_.waits_for(found.answer)) return;
    if (found.answer.status == Status::none) return by_class(address, via);
    if (!lists_.first_time(key)) return;
    auto [targets, wrong] = addresses_of(found.answer.value, whole, found.match, settings_.delimiter, settings_.origin,
                                         settings_.recipients);
    if (!wrong.empty())
        result_.add_bad_member(via, fmt::format("{}: invalid value for <{}>: {}", found.table, address, wrong));
    if (targets.size() > settings_.recipients)
        result_.defer("4.3.5", fmt::format("<{}> has more than {} virtual aliases", address, settings_.recipients));
    std::vector<AliasTarget> places;
    places.reserve(targets.size());
    for (auto& target : targets) places.push_back({AliasTarget::Kind::address, std::move(target)});
    lists_.open(key, std::move(places), {}, via.deeper());
}

// --- classes

// Nothing: it is pending, or a table cannot be read, for which all of it waits.
std::optional<AddressClass> Expander::class_of(std::string_view address) {
    const auto where = settings_.class_of(smtp::lowered(AddressParts::of(address).domain), lookups_);
    if (where) return *where;
    result_.waits_for(where.error());
    return {};
}

void Expander::by_class(const std::string& address, const Provenance& via) {
    if (result_.is_deferred()) return;
    const bool bare = address.rfind('@') == address.npos;
    const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
    if (!parsed) return result_.reject_address(address, via, parsed.error().why);
    if (parsed->bare() != bare) return result_.reject_address(address, via, "domain is missing");
    const auto known = bare ? AddressClass::local : class_of(address);
    if (!known) return;
    const auto where = *known;
    const auto written = bare ? address + "@" + settings_.origin : address;
    if (!bare && relocated(address, where, via)) return;
    const auto unknown = [&] { result_.fail(written, via, "5.1.1", std::string(unknown_recipient(where))); };
    switch (where) {
    case AddressClass::local: {
        if (!bare && by_transport(address, via)) return;
        return expand_local_name(settings_.folded(parsed->local_part), written, via);
    }
    case AddressClass::virtual_alias: // a virtual alias would have led elsewhere
        if (lists_.is_open("virtual " + settings_.folded(address))) result_.cut_loop();
        if (!result_.has_loop()) unknown();
        return;
    case AddressClass::virtual_mailbox: return deliver_to_virtual_mailbox(address, via);
    case AddressClass::relay:
        if (!settings_.tables.relay_recipients.empty()) {
            const auto found = lookups_.in_tables(settings_.tables.relay_recipients,
                                                  address_keys(address, settings_.delimiter, BareNames::no));
            if (result_.waits_for(found.answer)) return;
            if (found.answer.status == Status::none) return unknown();
        }
        [[fallthrough]];
    case AddressClass::remote:
        if (!by_transport(address, via)) deliver_remotely(address, where, via);
    }
}

// True: the address has moved, or that is not known yet.
bool Expander::relocated(const std::string& address, AddressClass address_class, const Provenance& via) {
    if (settings_.tables.relocated.empty()) return false;
    const auto found = lookups_.in_tables(settings_.tables.relocated, keys_of(address, address_class, settings_));
    if (result_.waits_for(found.answer)) return true;
    if (found.answer.status == Status::none) return false;
    result_.fail(address, via, "5.1.6", "User has moved to " + smtp::printable(found.answer.value, 300));
    return true;
}

// True: a transport table has its next hop, or that is not known yet.
bool Expander::by_transport(const std::string& address, const Provenance& via) {
    if (settings_.tables.transport.empty()) return false;
    const auto found = lookups_.in_tables(settings_.tables.transport, transport_keys(address, settings_.delimiter));
    if (result_.waits_for(found.answer)) return true;
    if (found.answer.status == Status::none) return false;
    const auto word = TransportEntry::parse(found.answer.value, settings_.transports);
    if (!word) {
        result_.defer("4.3.5", fmt::format("a transport table has \"{}\" for <{}>: not a valid next hop",
                                           smtp::printable(found.answer.value, 100), address));
        return true;
    }
    using Kind = TransportEntry::Kind;
    switch (word->kind) {
    case Kind::as_usual: return false;
    case Kind::defer: result_.defer(word->status, word->value); return true;
    case Kind::local: {
        const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
        if (parsed) expand_local_name(settings_.folded(parsed->local_part), address, via);
        return true;
    }
    case Kind::mailbox:
        if (settings_.mailbox.empty())
            result_.defer(
                "4.3.5",
                fmt::format("a transport table has \"virtual:\" for <{}>, but virtual_mailbox.deliver is not set",
                            address));
        else if (const auto value = mailbox_of(address, via))
            deliver_to_mailbox(address, *value, via);
        return true;
    case Kind::command: deliver_to_program(word->value, address, via); return true;
    case Kind::next_hop:
    case Kind::discard:
    case Kind::fail: break;
    }
    auto one = result_.base(word->kind == Kind::next_hop  ? Fate::remote
                            : word->kind == Kind::discard ? Fate::discard
                                                          : Fate::failed,
                            address, via);
    if (word->kind == Kind::next_hop) {
        one.transport = word->value;
    } else {
        one.status = word->status;
        one.text = word->kind == Kind::discard ? "discarded: " + word->value : word->value;
    }
    result_.add(std::move(one));
    return true;
}

void Expander::deliver_to_virtual_mailbox(const std::string& address, const Provenance& via) {
    const auto value = mailbox_of(address, via);
    if (value && !by_transport(address, via)) deliver_to_mailbox(address, *value, via);
}

// The value in the mailbox tables, "" without tables. Empty: not listed, or not known yet.
std::optional<std::string> Expander::mailbox_of(const std::string& address, const Provenance& via) {
    if (settings_.tables.mailboxes.empty()) return std::string();
    auto found =
        lookups_.in_tables(settings_.tables.mailboxes, address_keys(address, settings_.delimiter, BareNames::no));
    if (result_.waits_for(found.answer)) return {};
    if (found.answer.status == Status::found) return std::move(found.answer.value);
    result_.fail(address, via, "5.1.1", std::string(unknown_recipient(AddressClass::virtual_mailbox)));
    return {};
}

void Expander::deliver_to_mailbox(const std::string& address, const std::string& value, const Provenance& via) {
    if (const auto program = name_of_command(settings_.mailbox); !program.empty())
        return deliver_to_program(program, address, via);
    if (!is_mailbox_pattern(settings_.mailbox)) {
        auto one = result_.base(Fate::remote, address, via);
        one.transport = settings_.mailbox;
        return result_.add(std::move(one));
    }
    const auto parts = AddressParts::of(address);
    auto place = mailbox_path(settings_.mailbox, settings_.folded(parts.name(settings_.delimiter)),
                              smtp::lowered(parts.domain), value);
    if (place.empty()) return result_.fail(address, via, "5.1.3", "no mailbox can have this name");
    auto one = result_.base(Fate::local, address, via);
    one.target = std::move(place);
    one.user = settings_.mailbox_user;
    result_.add(std::move(one));
}

// To one of [command.<name>], which exists.
void Expander::deliver_to_program(std::string_view name, const std::string& address, const Provenance& via) {
    const auto& programs = settings_.transports.commands;
    const auto found = std::ranges::find(programs, name);
    if (found == programs.end()) return result_.defer("4.3.5", fmt::format("there is no [command.{}]", name));
    auto one = result_.base(Fate::local, address, via);
    one.target = command_target(name);
    one.user = settings_.program_users[static_cast<std::size_t>(found - programs.begin())];
    result_.add(std::move(one));
}

// Through the sender's own relay, if the domain is remote and has no route of its own.
void Expander::deliver_remotely(const std::string& address, AddressClass address_class, const Provenance& via) {
    auto one = result_.base(Fate::remote, address, via);
    const auto domain = smtp::lowered(AddressParts::of(address).domain);
    if (!settings_.tables.sender_relay.empty() && !(settings_.has_route && settings_.has_route(domain)) &&
        address_class == AddressClass::remote) {
        const auto keys = sender_.empty() ? std::vector{AddressKey{"<>", AddressKey::Match::whole}}
                                          : address_keys(sender_, settings_.delimiter, BareNames::no);
        const auto found = lookups_.in_tables(settings_.tables.sender_relay, keys);
        if (result_.waits_for(found.answer)) return;
        if (found.answer.status == Status::found) {
            const auto word = TransportEntry::parse_relay(found.answer.value, settings_.transports);
            using Kind = TransportEntry::Kind;
            if (word && word->kind == Kind::defer) return result_.defer(word->status, word->value);
            if (!word || (word->kind != Kind::next_hop && word->kind != Kind::as_usual))
                return result_.defer("4.3.5",
                                     fmt::format("a sender_relay table has \"{}\" for <{}>: not a valid next hop",
                                                 smtp::printable(found.answer.value, 100), sender_));
            one.transport = word->value; // "": as usual
        }
    }
    result_.add(std::move(one));
}

// --- names of this system: aliases, lists, .forward files, users

// A member of a list: local names continue with aliases and users, as in Postfix; addresses in other domains start
// again from the beginning.
void Expander::expand_list_member(const std::string& text, const Provenance& via) {
    if (result_.is_deferred()) return;
    if (too_deep(via)) return;
    const auto address = text.rfind('@') == text.npos ? text + "@" + settings_.origin : text;
    const auto where = class_of(address);
    if (!where) return;
    if (*where == AddressClass::local) return by_class(address, via);
    expand_address(text, via);
}

// Aliases for the whole name, then for the part before the delimiter; then users in the same way.
void Expander::expand_local_name(const std::string& name, const std::string& address, const Provenance& via) {
    if (too_deep(via)) return;
    if (expand_alias(name, address, via)) return;
    const auto plain = without_extension(name, settings_.delimiter);
    if (plain != name && expand_alias(plain, address, via)) return;
    if (plain == "mailer-daemon" && !lists_.is_open("alias postmaster")) // goes to the postmaster
        return expand_list_member("postmaster", via.deeper());
    if (is_postmaster(plain) && plain != settings_.folded(settings_.postmaster) && !lists_.is_open("alias " + plain)) {
        return lists_.open("alias " + plain, {{AliasTarget::Kind::address, settings_.postmaster}}, ListContext{},
                           via.deeper());
    }
    deliver_to_user(name, address, via, false);
}

// False: there is no such alias, or we come from it.
bool Expander::expand_alias(const std::string& name, const std::string& address, const Provenance& via) {
    const auto key = "alias " + name;
    if (lists_.is_open(key)) return false;
    auto answer = lookups_.alias(name);
    if (answer.status == AliasAnswer::Status::none) return false;
    if (answer.status == AliasAnswer::Status::unreadable) result_.defer("4.3.0", answer.why);
    if (answer.status != AliasAnswer::Status::found) return true;
    const auto owner = owner_of(name, via.owner);
    if (!lists_.first_time(key)) return true; // its members were already added
    if (loops(address, via)) return true;
    lists_.open(key, std::move(answer.targets),
                ListContext{ListContext::From::aliases, "alias " + name, answer.run_as, "", address},
                Provenance{owner, via.depth}.inside(address));
    return true;
}

// True: the message was sent on from there before and has come back, or that is not known yet.
bool Expander::loops(const std::string& address, const Provenance& via) {
    const auto before = lookups_.delivered_before(address);
    if (result_.waits_for(before)) return true;
    if (before.status == TableAnswer::Status::none) return false;
    result_.fail(address, via, "5.4.6", "mail forwarding loop for " + smtp::printable(address, 320));
    return true;
}

// A list with an owner: reports go to the owner, not to the sender of the message.
std::string Expander::owner_of(const std::string& alias, const std::string& inherited) {
    if (sender_.empty() || alias.starts_with("owner-")) return inherited;
    const auto owner = "owner-" + alias;
    const auto answer = lookups_.alias(owner);
    if (answer.status == AliasAnswer::Status::unreadable) result_.defer("4.3.0", answer.why);
    return answer.status == AliasAnswer::Status::found ? smtp::Mailbox{owner, settings_.origin}.text() : inherited;
}

// True: the user's own file says where the mail goes, or that is not known yet.
bool Expander::expand_forward(const std::string& user, const std::string& extension, const std::string& address,
                              const Provenance& via) {
    const auto key = "forward " + user;
    if (lists_.is_open(key)) return false; // the file names its user: the mailbox
    auto answer = lookups_.forward(user, extension);
    if (answer.status == AliasAnswer::Status::none) return false;
    if (answer.status == AliasAnswer::Status::found && answer.targets.empty()) return false;
    if (answer.status == AliasAnswer::Status::unreadable) result_.defer("4.3.0", answer.why);
    if (answer.status != AliasAnswer::Status::found) return true;
    if (too_deep(via)) return true;
    if (!lists_.first_time(key + "\n" + extension)) return true; // another extension may have a file of its own
    if (loops(address, via)) return true;
    lists_.open(key, std::move(answer.targets),
                ListContext{ListContext::From::forward, user + "'s .forward", user, user, address},
                via.inside(address));
    return true;
}

void Expander::take(const AliasTarget& target, const ListContext& reading, const Provenance& via) {
    switch (target.kind) {
    case AliasTarget::Kind::address: return expand_list_member(target.value, via);
    case AliasTarget::Kind::user: return deliver_to_local_mailbox(target.value, via);
    case AliasTarget::Kind::command:
    case AliasTarget::Kind::file: return deliver_to_command_or_file(target, reading, via);
    case AliasTarget::Kind::include: return expand_include(target, reading, via);
    case AliasTarget::Kind::wrong:
        return result_.add_bad_member(via, fmt::format("{}: {}", reading.name, target.value));
    }
}

// "\ann", or "\ann@here": the user's mailbox, regardless of aliases and .forward.
void Expander::deliver_to_local_mailbox(const std::string& text, const Provenance& via) {
    const auto parsed = smtp::Mailbox::parse_bare_allowed(text);
    if (!parsed) return result_.reject_address(text, via, parsed.error().why);
    if (!parsed->bare()) {
        const auto where = class_of("@" + parsed->domain);
        if (!where) return;
        if (*where != AddressClass::local) return expand_list_member(text, via);
    }
    const auto address = smtp::Mailbox{parsed->local_part, parsed->bare() ? settings_.origin : parsed->domain}.text();
    deliver_to_user(settings_.folded(parsed->local_part), address, via, true);
}

// A file that is missing or not trusted is a bad member like any other: only its mail waits, until the file is fixed.
void Expander::expand_include(const AliasTarget& target, const ListContext& reading, const Provenance& via) {
    const auto& path = target.value;
    const auto missing = [&](std::string status, std::string_view why) {
        const auto line = target.line == 0 ? std::string() : fmt::format("line {}: ", target.line);
        result_.add_bad_member(via, fmt::format("{}: {}{}", reading.name, line, why), std::move(status));
    };
    const auto named = fmt::format(":include:{}", smtp::printable(path, 200));
    if (too_deep(via)) return;
    if (!path.starts_with('/')) return missing("4.3.5", named + ": expected an absolute path");
    if (++includes_ > most_includes)
        return result_.defer("4.3.5",
                             fmt::format("the lists for this address include more than {} files", most_includes));
    auto answer = lookups_.include(path, reading.reader);
    if (answer.status == AliasAnswer::Status::not_yet) return;
    if (answer.status == AliasAnswer::Status::unreadable) return missing("4.3.0", answer.why);
    if (answer.status == AliasAnswer::Status::none) return missing("4.3.0", named + ": missing, or not trusted");
    const auto key = "include " + reading.reader + " " + path;
    if (!lists_.first_time(key)) return;
    auto inside = reading;
    inside.from = reading.reader.empty() ? ListContext::From::includes : ListContext::From::forward;
    if (reading.reader.empty()) inside.run_as = answer.run_as;
    inside.name = path;
    lists_.open(key, std::move(answer.targets), std::move(inside), via.deeper());
}

// A command or a file.
void Expander::deliver_to_command_or_file(const AliasTarget& target, const ListContext& reading,
                                          const Provenance& via) {
    const bool command = target.kind == AliasTarget::Kind::command;
    const auto& permitted = command ? settings_.commands : settings_.files;
    const bool may = reading.from == ListContext::From::aliases   ? permitted.aliases
                     : reading.from == ListContext::From::forward ? permitted.forward
                                                                  : permitted.includes;
    if (!may)
        return result_.fail(
            reading.address, via, "5.7.1",
            fmt::format("{}: delivery to a {} is not allowed there", reading.name, command ? "command" : "file"));
    if (target.value == "/dev/null") {
        auto one = result_.base(Fate::discard, reading.address, via);
        one.status = "2.0.0";
        one.text = fmt::format("discarded: {}: /dev/null", reading.name);
        return result_.add(std::move(one));
    }
    if (!command && target.value.starts_with("~/") && reading.run_as.empty())
        return result_.add_bad_member(via, fmt::format("{}: {}: there is no user here whose home directory "
                                                       "this could be",
                                                       reading.name, smtp::printable(target.value, 200)));
    auto one = result_.base(Fate::local, reading.address, via);
    one.target = (command ? "|" : "") + target.value;
    one.user = reading.run_as.empty() ? settings_.default_user : reading.run_as;
    result_.add(std::move(one));
}

// Only this one waits: other members of a list get the message. The next attempt uses the alias if it exists by then.
void Expander::defer_for_alias(const std::string& user, const std::string& address, const Provenance& via) {
    auto one = result_.base(Fate::unknown, address, via);
    one.status = "4.3.5";
    one.text = fmt::format("mail for {} is never written to a mailbox: create an alias for the person who reads it; "
                           "the next attempt uses it (postrider message retry makes that attempt now)",
                           user);
    result_.add(std::move(one));
}

void Expander::deliver_to_user(const std::string& name, const std::string& address, const Provenance& via,
                               bool mailbox_only) {
    if (result_.is_deferred()) return;
    const auto plain = without_extension(name, settings_.delimiter);
    for (const auto& candidate : {name, plain}) {
        if (!can_be_user(candidate)) continue;
        const auto user = lookups_.user(candidate);
        switch (user) {
        case UserAnswer::no_mailbox: // … by us: if another server keeps the mailboxes, it decides
            if (settings_.local_transport.empty()) return defer_for_alias(candidate, address, via);
            [[fallthrough]];
        case UserAnswer::known: {
            const auto extension = candidate.size() < name.size() ? name.substr(candidate.size() + 1) : std::string();
            const bool own_file = user == UserAnswer::known && !mailbox_only;
            if (own_file && expand_forward(candidate, extension, address, via)) return;
            auto one = result_.base(settings_.local_transport.empty() ? Fate::local : Fate::remote, address, via);
            one.user = candidate;
            one.transport = settings_.local_transport;
            one.delivered_to.clear(); // a mailbox of this system, wherever it is kept
            return result_.add(std::move(one));
        }
        case UserAnswer::not_yet: return;
        case UserAnswer::unreadable:
            return result_.defer("4.3.0", fmt::format("user {} cannot be looked up", candidate));
        case UserAnswer::unknown: break;
        }
        if (plain == name) break;
    }
    if (lists_.is_open("alias " + name)) return result_.cut_loop(); // and no user has that name
    if (const std::string key = "catch-all"; !settings_.catch_all.empty() && !lists_.is_open(key)) {
        if (!lists_.first_time(key)) return;
        return lists_.open(key, {{AliasTarget::Kind::address, settings_.catch_all}}, ListContext{}, via.deeper());
    }
    result_.fail(address, via, "5.1.1", fmt::format("unknown user: \"{}\"", smtp::printable(name, 100)));
}

} // namespace decide
