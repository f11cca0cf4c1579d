// An address's way: rewritten, through the virtual aliases, to its class, by its transport.
#include "daemons/decide/addressing/recipient_expander.h"
#include "daemons/decide/addressing/mailbox_path.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace decide {

using spool::Fate;
using Said = TableAnswer::Said;

namespace {

std::string lower_domain(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos) return std::string(address);
    return std::string(address.substr(0, at)) + smtp::lowered(address.substr(at));
}

} // namespace

bool Road::go_on(std::size_t& steps) {
    if (!std::exchange(begun_, true)) rewritten(envelope_.address, {});
    for (; !levels_.empty() && !is_deferred_; --steps) {
        if (steps == 0) return false;
        step();
    }
    return true;
}

// The next place that the innermost list names, which may lead into another list.
void Road::step() {
    auto& level = levels_.back();
    if (level.next == level.targets.size()) {
        levels_.pop_back();
        return leave();
    }
    const auto depth = levels_.size();
    const auto& target = level.targets[level.next++];
    if (level.reading)
        take(target, *level.reading, level.via);
    else
        through_virtual(target.value, level.via);
    const bool list = levels_.size() > depth || target.kind == AliasTarget::Kind::include;
    if (++(list ? lists_ : members_) > settings_.recipients)
        defer("4.3.5", fmt::format("the lists for this address name more than {} places", settings_.recipients));
}

void Road::go_through(std::vector<AliasTarget>&& targets, std::optional<Reading> reading, const Via& via) {
    levels_.push_back({std::move(targets), std::move(reading), via});
}

std::vector<ResolvedRecipient> Road::end() {
    if (is_deferred_) return {std::move(deferred_)}; // all or nothing: the others would get it again
    if (wrong_members_ > 1) wrong_.text += fmt::format(" (and {} more like this)", wrong_members_ - 1);
    if (wrong_members_ != 0) found_.push_back(std::move(wrong_));
    if (found_.empty() && lookups_.needed().empty())
        fail(envelope_.address, {}, "5.4.6",
             cut_ ? "the aliases of this address lead back to itself" : "the alias for this address leads nowhere");
    if (found_.size() == 1) {
        auto& one = found_.front();
        if (one.fate == Fate::unknown && is_envelopes(one)) return std::move(found_);
        one.changed = one.list || !one.delivered_to.empty() || !is_envelopes(one);
        if (!one.changed) one.address.clear();
    } else {
        for (auto& one : found_) one.changed = true;
    }
    return std::move(found_);
}

bool Road::is_envelopes(const ResolvedRecipient& one) const {
    const auto& own = envelope_.address;
    if (lower_domain(one.address) == lower_domain(own)) return true;
    return own.rfind('@') == own.npos && one.fate != Fate::remote && one.address == own + "@" + settings_.origin;
}

// --- what a road comes to

ResolvedRecipient Road::base(Fate fate, const std::string& address, const Via& via) const {
    ResolvedRecipient one;
    one.origin = envelope_.number;
    one.fate = fate;
    one.address = address;
    one.reverse_path = via.owner;
    one.list = !via.owner.empty();
    if (fate == Fate::remote && smtp::is_ascii(via.from)) one.delivered_to = via.from;
    return one;
}

void Road::add(ResolvedRecipient one) {
    if (found_.size() >= settings_.recipients)
        return defer("4.3.5", fmt::format("the alias for this address has more than {} recipients",
                                          settings_.recipients));
    if (one.target.empty() && (one.fate == Fate::local || one.fate == Fate::remote)) {
        const auto suppressed = lookups_.suppressed(lower_domain(one.address));
        if (wait_for(suppressed)) return;
        if (suppressed.said == Said::found) {
            one.fate = Fate::failed;
            one.status = "5.7.1";
            one.text = suppressed.value;
            one.suppressed = true;
            one.user.clear();
            one.transport.clear();
        }
    }
    found_.push_back(std::move(one));
}

void Road::fail(const std::string& address, const Via& via, std::string status, std::string text) {
    auto one = base(Fate::failed, address, via);
    one.status = std::move(status);
    one.text = std::move(text);
    add(std::move(one));
}

// The envelope's own is the sender's mistake, what tables made of it is ours.
void Road::no_address(const std::string& address, const Via& via, std::string_view why) {
    if (address == envelope_.address || address == envelope_.address + "@" + settings_.origin)
        return fail(address, via, "5.1.3", fmt::format("bad address: {}", why));
    wrong_member(via, fmt::format("it leads to \"{}\", which is no address: {}", smtp::printable(address, 100), why));
}

// It waits under the envelope's address, which is looked up again: from the beginning, as the first time.
void Road::wrong_member(const Via& via, std::string text, std::string status) {
    if (wrong_members_++ != 0) return;
    wrong_ = base(Fate::unknown, envelope_.address, via);
    wrong_.status = std::move(status);
    wrong_.text = std::move(text);
}

void Road::defer(std::string status, std::string text) {
    if (is_deferred_) return;
    is_deferred_ = true;
    deferred_.origin = envelope_.number;
    deferred_.fate = Fate::unknown;
    deferred_.address = envelope_.address;
    deferred_.status = std::move(status);
    deferred_.text = std::move(text);
}

bool Road::wait_for(const TableAnswer& answer) {
    if (answer.said == Said::unreadable) defer("4.3.0", answer.why);
    return answer.said == Said::unreadable || answer.said == Said::not_yet;
}

bool Road::is_open(const std::string& key) const { return std::ranges::find(open_, key) != open_.end(); }

Road::Entry Road::enter(const std::string& key) {
    if (is_open(key)) return Entry::inside;
    if (!done_.insert(key).second) return Entry::done;
    open_.push_back(key);
    return Entry::fresh;
}

// --- rewriting

// A whole address, from the envelope or out of a list to another domain.
void Road::rewritten(const std::string& text, const Via& via) {
    if (is_deferred_) return;
    const bool bare = text.rfind('@') == text.npos;
    if (bare && smtp::same_ignoring_case(text, "postmaster")) // somebody, whatever the origin: RFC 5321, 4.5.1
        return by_class(text, via);
    auto address = bare ? text + "@" + settings_.origin : text;
    const auto& tables = settings_.tables.recipient_canonical;
    if (!tables.empty()) {
        const bool names = settings_.class_of(smtp::lowered(AddressParts::of(address).domain)) == AddressClass::local;
        const auto found = lookups_.in_tables(
            tables, address_keys(address, settings_.delimiter, names ? BareNames::yes : BareNames::no));
        if (wait_for(found.answer)) return;
        if (found.answer.said == Said::found) {
            auto to = addresses_of(found.answer.value, address, found.match, settings_.delimiter, settings_.origin, 1);
            if (!to.wrong.empty()) return defer("4.3.5", fmt::format("{} says of <{}>: {}", found.table, address, to.wrong));
            address = std::move(to.addresses.front());
        }
    }
    through_virtual(address, via);
}

void Road::through_virtual(const std::string& address, const Via& via) {
    if (is_deferred_) return;
    if (settings_.tables.virtual_alias.empty()) return by_class(address, via);
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are more than {} deep", settings_.depth));
    const auto key = "virtual " + settings_.folded(address);
    if (is_open(key)) return by_class(address, via); // it keeps a copy
    const auto where = settings_.class_of(smtp::lowered(AddressParts::of(address).domain));
    const auto found = lookups_.in_tables(
        settings_.tables.virtual_alias,
        address_keys(address, settings_.delimiter, where == AddressClass::local ? BareNames::yes : BareNames::no));
    if (wait_for(found.answer)) return;
    if (found.answer.said == Said::none) return by_class(address, via);
    if (enter(key) == Entry::done) return;
    auto [targets, wrong] = addresses_of(found.answer.value, address, found.match, settings_.delimiter,
                                               settings_.origin, settings_.recipients);
    if (!wrong.empty()) wrong_member(via, fmt::format("{} says of <{}>: {}", found.table, address, wrong));
    if (targets.size() > settings_.recipients)
        defer("4.3.5", fmt::format("<{}> has more than {} virtual aliases", address, settings_.recipients));
    std::vector<AliasTarget> places;
    places.reserve(targets.size());
    for (auto& target : targets) places.push_back({AliasTarget::Kind::address, std::move(target)});
    go_through(std::move(places), {}, via.deeper());
}

// --- classes

void Road::by_class(const std::string& address, const Via& via) {
    if (is_deferred_) return;
    const auto parts = AddressParts::of(address);
    const bool bare = address.rfind('@') == address.npos;
    const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
    if (!parsed) return no_address(address, via, parsed.error().why);
    if (parsed->bare() != bare) return no_address(address, via, "domain is missing");
    auto where = bare ? AddressClass::local : settings_.class_of(smtp::lowered(parts.domain));
    const auto written = bare ? address + "@" + settings_.origin : address;
    if (!bare && relocated(address, where, via)) return;
    const auto unknown = [&] { fail(written, via, "5.1.1", std::string(unknown_recipient(where))); };
    switch (where) {
    case AddressClass::local: {
        if (!bare && by_transport(address, via)) return;
        return name_here(settings_.folded(parsed->local_part), written, via);
    }
    case AddressClass::virtual_alias: // a virtual alias would have led elsewhere
        cut_ = cut_ || is_open("virtual " + settings_.folded(address));
        return cut_ ? void() : unknown();
    case AddressClass::virtual_mailbox: return mailbox_elsewhere(address, via);
    case AddressClass::relay:
        if (!settings_.tables.relay_recipients.empty()) {
            const auto found = lookups_.in_tables(settings_.tables.relay_recipients,
                                                  address_keys(address, settings_.delimiter, BareNames::no));
            if (wait_for(found.answer)) return;
            if (found.answer.said == Said::none) return unknown();
        }
        [[fallthrough]];
    case AddressClass::elsewhere:
        if (!by_transport(address, via)) away(address, via);
    }
}

// True: it is no more; or that is not known now.
bool Road::relocated(const std::string& address, AddressClass address_class, const Via& via) {
    if (settings_.tables.relocated.empty()) return false;
    const auto bare = address_class == AddressClass::local ? BareNames::yes : BareNames::no;
    const auto found =
        lookups_.in_tables(settings_.tables.relocated, address_keys(address, settings_.delimiter, bare));
    if (wait_for(found.answer)) return true;
    if (found.answer.said == Said::none) return false;
    fail(address, via, "5.1.6", "User has moved to " + smtp::printable(found.answer.value, 300));
    return true;
}

// True: a transport table says where it goes; or that is not known now.
bool Road::by_transport(const std::string& address, const Via& via) {
    if (settings_.tables.transport.empty()) return false;
    const auto found =
        lookups_.in_tables(settings_.tables.transport, transport_keys(address, settings_.delimiter));
    if (wait_for(found.answer)) return true;
    if (found.answer.said == Said::none) return false;
    const auto word = TransportWord::parse(found.answer.value);
    if (!word) {
        defer("4.3.5", fmt::format("a transport table says \"{}\" of <{}>: that is no next hop",
                                   smtp::printable(found.answer.value, 100), address));
        return true;
    }
    using Kind = TransportWord::Kind;
    switch (word->kind) {
    case Kind::as_usual: return false;
    case Kind::defer: defer(word->status, word->value); return true;
    case Kind::local: {
        const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
        if (parsed) name_here(settings_.folded(parsed->local_part), address, via);
        return true;
    }
    case Kind::mailbox:
        if (settings_.mailbox.empty())
            defer("4.3.5", fmt::format("a transport table says \"virtual:\" of <{}>, but virtual_mailbox.deliver does "
                                       "not say where such mailboxes are", address));
        else if (const auto value = mailbox_of(address, via))
            into_mailbox(address, *value, via);
        return true;
    case Kind::next_hop:
    case Kind::discard:
    case Kind::fail: break;
    }
    auto one = base(word->kind == Kind::next_hop  ? Fate::remote
                    : word->kind == Kind::discard ? Fate::discard
                                                  : Fate::failed,
                    address, via);
    if (word->kind == Kind::next_hop) {
        one.transport = word->value;
    } else {
        one.status = word->status;
        one.text = word->kind == Kind::discard ? "discarded: " + word->value : word->value;
    }
    add(std::move(one));
    return true;
}

void Road::mailbox_elsewhere(const std::string& address, const Via& via) {
    const auto value = mailbox_of(address, via);
    if (value && !by_transport(address, via)) into_mailbox(address, *value, via);
}

// What the tables of mailboxes say of it, "" where there are none. Empty: it has none, or that is not known now.
std::optional<std::string> Road::mailbox_of(const std::string& address, const Via& via) {
    if (settings_.tables.mailboxes.empty()) return std::string();
    auto found =
        lookups_.in_tables(settings_.tables.mailboxes, address_keys(address, settings_.delimiter, BareNames::no));
    if (wait_for(found.answer)) return {};
    if (found.answer.said == Said::found) return std::move(found.answer.value);
    fail(address, via, "5.1.1", std::string(unknown_recipient(AddressClass::virtual_mailbox)));
    return {};
}

void Road::into_mailbox(const std::string& address, const std::string& value, const Via& via) {
    if (!is_mailbox_pattern(settings_.mailbox)) {
        auto one = base(Fate::remote, address, via);
        one.transport = settings_.mailbox;
        return add(std::move(one));
    }
    const auto parts = AddressParts::of(address);
    auto place = mailbox_place(settings_.mailbox, settings_.folded(parts.name(settings_.delimiter)),
                               smtp::lowered(parts.domain), value);
    if (place.empty())
        return fail(address, via, "5.1.3", "no mailbox can have this name");
    auto one = base(Fate::local, address, via);
    one.target = std::move(place);
    one.user = settings_.mailbox_user;
    add(std::move(one));
}

// To the rest of the world: by the sender's own relay, where no route of the domain's says otherwise.
void Road::away(const std::string& address, const Via& via) {
    auto one = base(Fate::remote, address, via);
    const auto domain = smtp::lowered(AddressParts::of(address).domain);
    if (!settings_.tables.sender_relay.empty() && !(settings_.has_route && settings_.has_route(domain)) &&
        settings_.class_of(domain) == AddressClass::elsewhere) {
        const auto keys = sender_.empty() ? std::vector{AddressKey{"<>", AddressKey::Match::whole}}
                                          : address_keys(sender_, settings_.delimiter, BareNames::no);
        const auto found = lookups_.in_tables(settings_.tables.sender_relay, keys);
        if (wait_for(found.answer)) return;
        if (found.answer.said == Said::found) {
            const auto word = TransportWord::parse(found.answer.value);
            using Kind = TransportWord::Kind;
            if (word && word->kind == Kind::defer) return defer(word->status, word->value);
            if (!word || (word->kind != Kind::next_hop && word->kind != Kind::as_usual))
                return defer("4.3.5", fmt::format("a sender_relay table says \"{}\" of <{}>: that is no next hop",
                                                  smtp::printable(found.answer.value, 100), sender_));
            one.transport = word->value; // "": as usual
        }
    }
    add(std::move(one));
}

} // namespace decide
