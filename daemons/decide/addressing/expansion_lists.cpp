// What names on this system lead to: aliases and the lists they are, .forward files, users.
#include "daemons/decide/addressing/recipient_expander.h"
#include "libsmtp/message/address.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide {

using spool::Fate;
using Said = AliasAnswer::Said;

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
// anew.
void Road::named_in_list(const std::string& text, const Via& via) {
    if (is_deferred_) return;
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are more than {} deep", settings_.depth));
    const auto address = text.rfind('@') == text.npos ? text + "@" + settings_.origin : text;
    const auto where = settings_.class_of(smtp::lowered(AddressParts::of(address).domain));
    if (where == AddressClass::local) return by_class(address, via);
    rewritten(text, via);
}

// Aliases for the whole name, then for what stands before the delimiter; then users in the same way.
void Road::name_here(const std::string& name, const std::string& address, const Via& via) {
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are more than {} deep", settings_.depth));
    if (through_alias(name, address, via)) return;
    const auto plain = without_extension(name, settings_.delimiter);
    if (plain != name && through_alias(plain, address, via)) return;
    if (plain == "mailer-daemon" && !is_open("alias postmaster")) // the postmaster, whoever that is
        return named_in_list("postmaster", via.deeper());
    if (is_postmaster(plain) && plain != settings_.folded(settings_.postmaster) && !is_open("alias " + plain)) {
        open_.push_back("alias " + plain);
        return go_through({{AliasTarget::Kind::address, settings_.postmaster}}, Reading{}, via.deeper());
    }
    user_here(name, address, via, false);
}

// False: there is no such alias, or we come from it.
bool Road::through_alias(const std::string& name, const std::string& address, const Via& via) {
    const auto key = "alias " + name;
    if (is_open(key)) return false;
    auto answer = lookups_.alias(name);
    if (answer.said == Said::none) return false;
    if (answer.said == Said::unreadable) defer("4.3.0", answer.why);
    if (answer.said != Said::found) return true;
    const auto owner = owner_of(name, via.owner);
    if (enter(key) == Entry::done) return true; // its members are there already
    if (loops(address, via))
        leave();
    else
        go_through(std::move(answer.targets), Reading{Reading::From::aliases, "alias " + name, answer.run_as, "", address},
                   Via{owner, via.depth}.inside(address));
    return true;
}

// True: the message went on from there before, and has come back; or that is not known now.
bool Road::loops(const std::string& address, const Via& via) {
    const auto before = lookups_.delivered_before(address);
    if (wait_for(before)) return true;
    if (before.said == TableAnswer::Said::none) return false;
    fail(address, via, "5.4.6", "mail forwarding loop for " + smtp::printable(address, 320));
    return true;
}

// A list with an owner: reports go to the owner, not to whoever wrote to the list.
std::string Road::owner_of(const std::string& alias, const std::string& inherited) {
    if (sender_.empty() || alias.starts_with("owner-")) return inherited;
    const auto owner = "owner-" + alias;
    const auto answer = lookups_.alias(owner);
    if (answer.said == Said::unreadable) defer("4.3.0", answer.why);
    return answer.said == Said::found ? smtp::Mailbox{owner, settings_.origin}.text() : inherited;
}

// True: the user's own file says where it goes; or that is not known now.
bool Road::through_forward(const std::string& user, const std::string& extension, const std::string& address,
                           const Via& via) {
    const auto key = "forward " + user;
    if (is_open(key)) return false; // the file names its user: the mailbox
    auto answer = lookups_.forward(user, extension);
    if (answer.said == Said::none || (answer.said == Said::found && answer.targets.empty())) return false;
    if (answer.said == Said::unreadable) defer("4.3.0", answer.why);
    if (answer.said != Said::found) return true;
    if (via.depth > settings_.depth) {
        defer("4.3.5", fmt::format("the aliases of this address are more than {} deep", settings_.depth));
        return true;
    }
    if (!done_.insert(key + "\n" + extension).second) return true; // another extension may have a file of its own
    if (loops(address, via)) return true;
    open_.push_back(key);
    go_through(std::move(answer.targets), Reading{Reading::From::forward, user + "'s .forward", user, user, address},
               via.inside(address));
    return true;
}

void Road::take(const AliasTarget& target, const Reading& reading, const Via& via) {
    switch (target.kind) {
    case AliasTarget::Kind::address: return named_in_list(target.value, via);
    case AliasTarget::Kind::user: return mailbox_here(target.value, via);
    case AliasTarget::Kind::command:
    case AliasTarget::Kind::file: return place(target, reading, via);
    case AliasTarget::Kind::include: return through_include(target, reading, via);
    case AliasTarget::Kind::wrong: return wrong_member(via, fmt::format("{}: {}", reading.name, target.value));
    }
}

// "\ann", or "\ann@here": her mailbox, whatever aliases and her own file say.
void Road::mailbox_here(const std::string& text, const Via& via) {
    const auto parsed = smtp::Mailbox::parse_bare_allowed(text);
    if (!parsed) return no_address(text, via, parsed.error().why);
    if (!parsed->bare() && settings_.class_of(smtp::lowered(parsed->domain)) != AddressClass::local)
        return named_in_list(text, via);
    const auto address = smtp::Mailbox{parsed->local_part, parsed->bare() ? settings_.origin : parsed->domain}.text();
    user_here(settings_.folded(parsed->local_part), address, via, true);
}

// What is not there, or not to be believed, is a bad member like another: it waits by itself until it is mended.
void Road::through_include(const AliasTarget& target, const Reading& reading, const Via& via) {
    const auto& path = target.value;
    const auto missing = [&](std::string status, std::string_view why) {
        const auto line = target.line == 0 ? std::string() : fmt::format("line {}: ", target.line);
        wrong_member(via, fmt::format("{}: {}{}", reading.name, line, why), std::move(status));
    };
    const auto named = fmt::format(":include:{}", smtp::printable(path, 200));
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are more than {} deep", settings_.depth));
    if (!path.starts_with('/')) return missing("4.3.5", named + ": expected an absolute path");
    if (++includes_ > most_includes)
        return defer("4.3.5", fmt::format("the lists for this address include more than {} files", most_includes));
    auto answer = lookups_.include(path, reading.reader);
    if (answer.said == Said::not_yet) return;
    if (answer.said == Said::unreadable) return missing("4.3.0", answer.why);
    if (answer.said == Said::none) return missing("4.3.0", named + ": it is not there, or not to be believed");
    const auto entry = enter("include " + reading.reader + " " + path);
    if (entry != Entry::fresh) return;
    auto inside = reading;
    inside.from = reading.reader.empty() ? Reading::From::includes : Reading::From::forward;
    if (reading.reader.empty()) inside.run_as = answer.run_as;
    inside.name = path;
    go_through(std::move(answer.targets), std::move(inside), via.deeper());
}

// A command or a file.
void Road::place(const AliasTarget& target, const Reading& reading, const Via& via) {
    const bool command = target.kind == AliasTarget::Kind::command;
    const auto& permitted = command ? settings_.commands : settings_.files;
    const bool may = reading.from == Reading::From::aliases   ? permitted.aliases
                     : reading.from == Reading::From::forward ? permitted.forward
                                                              : permitted.includes;
    if (!may)
        return fail(reading.address, via, "5.7.1",
                    fmt::format("{}: delivery to a {} is not allowed from there", reading.name,
                                command ? "command" : "file"));
    if (target.value == "/dev/null") {
        auto one = base(Fate::discard, reading.address, via);
        one.status = "2.0.0";
        one.text = fmt::format("discarded: {}: /dev/null", reading.name);
        return add(std::move(one));
    }
    if (!command && target.value.starts_with("~/") && reading.run_as.empty())
        return wrong_member(via, fmt::format("{}: {}: nobody's home is meant there", reading.name,
                                             smtp::printable(target.value, 200)));
    auto one = base(Fate::local, reading.address, via);
    one.target = (command ? "|" : "") + target.value;
    one.user = reading.run_as.empty() ? settings_.default_user : reading.run_as;
    add(std::move(one));
}

// Alone: whoever else a list names gets the message. Asked about again, it finds the alias that there is by then.
void Road::waits_for_alias(const std::string& user, const std::string& address, const Via& via) {
    auto one = base(Fate::unknown, address, via);
    one.status = "4.3.5";
    one.text = fmt::format("no mailbox is written for {}: an alias must say who reads its mail, and the next try "
                           "finds it (postrider message retry makes that one at once)",
                           user);
    add(std::move(one));
}

void Road::user_here(const std::string& name, const std::string& address, const Via& via, bool mailbox_only) {
    if (is_deferred_) return;
    const auto plain = without_extension(name, settings_.delimiter);
    for (const auto& candidate : {name, plain}) {
        if (!can_be_user(candidate)) continue;
        const auto user = lookups_.user(candidate);
        switch (user) {
        case UserAnswer::no_mailbox: // … by us: where another server keeps mailboxes, it says
            if (settings_.local_transport.empty()) return waits_for_alias(candidate, address, via);
            [[fallthrough]];
        case UserAnswer::known: {
            const auto extension =
                candidate.size() < name.size() ? name.substr(candidate.size() + 1) : std::string();
            const bool own_file = user == UserAnswer::known && !mailbox_only;
            if (own_file && through_forward(candidate, extension, address, via)) return;
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
            return go_through({{AliasTarget::Kind::address, settings_.catch_all}}, Reading{}, via.deeper());
    }
    fail(address, via, "5.1.1", fmt::format("unknown user: \"{}\"", smtp::printable(name, 100)));
}

} // namespace decide
