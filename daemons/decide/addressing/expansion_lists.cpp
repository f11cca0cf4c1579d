// What names on this system lead to: aliases and the lists they are, .forward files, users.
#include "daemons/decide/addressing/recipient_expander.h"
#include "libsmtp/message/address.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide {

using spool::Fate;
using Status = AliasAnswer::Status;

bool is_postmaster(std::string_view name) { return name == "postmaster" || name == "mailer-daemon"; }

// The address was well-formed: bytes beyond ASCII are UTF-8.
bool can_be_user(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
               c == '$' || static_cast<unsigned char>(c) >= 0x80;
    };
    return !name.empty() && name.size() <= 64 && name.front() != '-' && name != "." && name != ".." &&
           std::ranges::all_of(name, fits);
}

std::string without_extension(const std::string& name, char delimiter) {
    return std::string(AddressParts{name, {}}.name(delimiter));
}

// Out of a list: names of this system go on with aliases and users, as Postfix has it; what leaves it begins
// again.
void Expander::expand_list_member(const std::string& text, const Provenance& via) {
    if (is_deferred_) return;
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are nested more than {} levels deep",
                                          settings_.depth));
    const auto address = text.rfind('@') == text.npos ? text + "@" + settings_.origin : text;
    const auto where = settings_.class_of(smtp::lowered(AddressParts::of(address).domain));
    if (where == AddressClass::local) return by_class(address, via);
    expand_address(text, via);
}

// Aliases for the whole name, then for what stands before the delimiter; then users in the same way.
void Expander::expand_local_name(const std::string& name, const std::string& address, const Provenance& via) {
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are nested more than {} levels deep",
                                          settings_.depth));
    if (expand_alias(name, address, via)) return;
    const auto plain = without_extension(name, settings_.delimiter);
    if (plain != name && expand_alias(plain, address, via)) return;
    if (plain == "mailer-daemon" && !is_open("alias postmaster")) // the postmaster, whoever that is
        return expand_list_member("postmaster", via.deeper());
    if (is_postmaster(plain) && plain != settings_.folded(settings_.postmaster) && !is_open("alias " + plain)) {
        open_.push_back("alias " + plain);
        return open_list({{AliasTarget::Kind::address, settings_.postmaster}}, ListContext{}, via.deeper());
    }
    deliver_to_user(name, address, via, false);
}

// False: there is no such alias, or we come from it.
bool Expander::expand_alias(const std::string& name, const std::string& address, const Provenance& via) {
    const auto key = "alias " + name;
    if (is_open(key)) return false;
    auto answer = lookups_.alias(name);
    if (answer.status == Status::none) return false;
    if (answer.status == Status::unreadable) defer("4.3.0", answer.why);
    if (answer.status != Status::found) return true;
    const auto owner = owner_of(name, via.owner);
    if (enter(key) == Entry::done) return true; // its members are there already
    if (loops(address, via))
        leave();
    else
        open_list(std::move(answer.targets),
                  ListContext{ListContext::From::aliases, "alias " + name, answer.run_as, "", address},
                  Provenance{owner, via.depth}.inside(address));
    return true;
}

// True: the message went on from there before, and has come back; or that is not known now.
bool Expander::loops(const std::string& address, const Provenance& via) {
    const auto before = lookups_.delivered_before(address);
    if (wait_for(before)) return true;
    if (before.status == TableAnswer::Status::none) return false;
    fail(address, via, "5.4.6", "mail forwarding loop for " + smtp::printable(address, 320));
    return true;
}

// A list with an owner: reports go to the owner, not to whoever wrote to the list.
std::string Expander::owner_of(const std::string& alias, const std::string& inherited) {
    if (sender_.empty() || alias.starts_with("owner-")) return inherited;
    const auto owner = "owner-" + alias;
    const auto answer = lookups_.alias(owner);
    if (answer.status == Status::unreadable) defer("4.3.0", answer.why);
    return answer.status == Status::found ? smtp::Mailbox{owner, settings_.origin}.text() : inherited;
}

// True: the user's own file says where it goes; or that is not known now.
bool Expander::expand_forward(const std::string& user, const std::string& extension, const std::string& address,
                           const Provenance& via) {
    const auto key = "forward " + user;
    if (is_open(key)) return false; // the file names its user: the mailbox
    auto answer = lookups_.forward(user, extension);
    if (answer.status == Status::none || (answer.status == Status::found && answer.targets.empty())) return false;
    if (answer.status == Status::unreadable) defer("4.3.0", answer.why);
    if (answer.status != Status::found) return true;
    if (via.depth > settings_.depth) {
        defer("4.3.5", fmt::format("the aliases of this address are nested more than {} levels deep",
                                   settings_.depth));
        return true;
    }
    if (!done_.insert(key + "\n" + extension).second) return true; // another extension may have a file of its own
    if (loops(address, via)) return true;
    open_.push_back(key);
    open_list(std::move(answer.targets), ListContext{ListContext::From::forward, user + "'s .forward", user, user, address},
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
    case AliasTarget::Kind::wrong: return add_bad_member(via, fmt::format("{}: {}", reading.name, target.value));
    }
}

// "\ann", or "\ann@here": her mailbox, whatever aliases and her own file say.
void Expander::deliver_to_local_mailbox(const std::string& text, const Provenance& via) {
    const auto parsed = smtp::Mailbox::parse_bare_allowed(text);
    if (!parsed) return reject_address(text, via, parsed.error().why);
    if (!parsed->bare() && settings_.class_of(smtp::lowered(parsed->domain)) != AddressClass::local)
        return expand_list_member(text, via);
    const auto address = smtp::Mailbox{parsed->local_part, parsed->bare() ? settings_.origin : parsed->domain}.text();
    deliver_to_user(settings_.folded(parsed->local_part), address, via, true);
}

// What is not there, or not to be believed, is a bad member like another: it waits by itself until it is fixed.
void Expander::expand_include(const AliasTarget& target, const ListContext& reading, const Provenance& via) {
    const auto& path = target.value;
    const auto missing = [&](std::string status, std::string_view why) {
        const auto line = target.line == 0 ? std::string() : fmt::format("line {}: ", target.line);
        add_bad_member(via, fmt::format("{}: {}{}", reading.name, line, why), std::move(status));
    };
    const auto named = fmt::format(":include:{}", smtp::printable(path, 200));
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are nested more than {} levels deep",
                                          settings_.depth));
    if (!path.starts_with('/')) return missing("4.3.5", named + ": expected an absolute path");
    if (++includes_ > most_includes)
        return defer("4.3.5", fmt::format("the lists for this address include more than {} files", most_includes));
    auto answer = lookups_.include(path, reading.reader);
    if (answer.status == Status::not_yet) return;
    if (answer.status == Status::unreadable) return missing("4.3.0", answer.why);
    if (answer.status == Status::none) return missing("4.3.0", named + ": missing, or not trusted");
    const auto entry = enter("include " + reading.reader + " " + path);
    if (entry != Entry::fresh) return;
    auto inside = reading;
    inside.from = reading.reader.empty() ? ListContext::From::includes : ListContext::From::forward;
    if (reading.reader.empty()) inside.run_as = answer.run_as;
    inside.name = path;
    open_list(std::move(answer.targets), std::move(inside), via.deeper());
}

// A command or a file.
void Expander::deliver_to_command_or_file(const AliasTarget& target, const ListContext& reading, const Provenance& via) {
    const bool command = target.kind == AliasTarget::Kind::command;
    const auto& permitted = command ? settings_.commands : settings_.files;
    const bool may = reading.from == ListContext::From::aliases   ? permitted.aliases
                     : reading.from == ListContext::From::forward ? permitted.forward
                                                              : permitted.includes;
    if (!may)
        return fail(reading.address, via, "5.7.1",
                    fmt::format("{}: delivery to a {} is not allowed there", reading.name,
                                command ? "command" : "file"));
    if (target.value == "/dev/null") {
        auto one = base(Fate::discard, reading.address, via);
        one.status = "2.0.0";
        one.text = fmt::format("discarded: {}: /dev/null", reading.name);
        return add(std::move(one));
    }
    if (!command && target.value.starts_with("~/") && reading.run_as.empty())
        return add_bad_member(via, fmt::format("{}: {}: there is no user here whose home directory this "
                                               "could be",
                                               reading.name, smtp::printable(target.value, 200)));
    auto one = base(Fate::local, reading.address, via);
    one.target = (command ? "|" : "") + target.value;
    one.user = reading.run_as.empty() ? settings_.default_user : reading.run_as;
    add(std::move(one));
}

// Alone: whoever else a list names gets the message. Asked about again, it finds the alias that there is by then.
void Expander::defer_for_alias(const std::string& user, const std::string& address, const Provenance& via) {
    auto one = base(Fate::unknown, address, via);
    one.status = "4.3.5";
    one.text = fmt::format("mail for {} is never written to a mailbox: create an alias for the person who "
                           "reads it; the next attempt uses it (postrider message retry makes that attempt "
                           "now)",
                           user);
    add(std::move(one));
}

void Expander::deliver_to_user(const std::string& name, const std::string& address, const Provenance& via,
                               bool mailbox_only) {
    if (is_deferred_) return;
    const auto plain = without_extension(name, settings_.delimiter);
    for (const auto& candidate : {name, plain}) {
        if (!can_be_user(candidate)) continue;
        const auto user = lookups_.user(candidate);
        switch (user) {
        case UserAnswer::no_mailbox: // … by us: where another server keeps mailboxes, it says
            if (settings_.local_transport.empty()) return defer_for_alias(candidate, address, via);
            [[fallthrough]];
        case UserAnswer::known: {
            const auto extension =
                candidate.size() < name.size() ? name.substr(candidate.size() + 1) : std::string();
            const bool own_file = user == UserAnswer::known && !mailbox_only;
            if (own_file && expand_forward(candidate, extension, address, via)) return;
            auto one = base(settings_.local_transport.empty() ? Fate::local : Fate::remote, address, via);
            one.user = candidate;
            one.transport = settings_.local_transport;
            one.delivered_to.clear(); // a mailbox of this system, wherever it is kept
            return add(std::move(one));
        }
        case UserAnswer::not_yet: return;
        case UserAnswer::unreadable: return defer("4.3.0", fmt::format("user {} cannot be looked up", candidate));
        case UserAnswer::unknown: break;
        }
        if (plain == name) break;
    }
    if (is_open("alias " + name)) {
        cut_ = true; // an alias that leads back to itself, and nobody of that name
        return;
    }
    if (!settings_.catch_all.empty()) {
        const auto entry = enter("catch-all");
        if (entry == Entry::done) return;
        if (entry == Entry::fresh)
            return open_list({{AliasTarget::Kind::address, settings_.catch_all}}, ListContext{}, via.deeper());
    }
    fail(address, via, "5.1.1", fmt::format("unknown user: \"{}\"", smtp::printable(name, 100)));
}

} // namespace decide
