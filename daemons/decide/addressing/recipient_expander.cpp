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
using Status = TableAnswer::Status;

namespace {

std::string lower_domain(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos) return std::string(address);
    return std::string(address.substr(0, at)) + smtp::lowered(address.substr(at));
}

} // namespace

bool Expander::run(std::size_t& steps) {
    if (!std::exchange(begun_, true)) expand_address(envelope_.address, {});
    for (; !open_lists_.empty() && !is_deferred_; --steps) {
        if (steps == 0) return false;
        step();
    }
    return true;
}

// The next place that the innermost list names, which may lead into another list.
void Expander::step() {
    auto& level = open_lists_.back();
    if (level.next == level.targets.size()) {
        open_lists_.pop_back();
        return leave();
    }
    const auto depth = open_lists_.size();
    const auto& target = level.targets[level.next++];
    if (level.reading)
        take(target, *level.reading, level.via);
    else
        expand_virtual_alias(target.value, level.via);
    const bool list = open_lists_.size() > depth || target.kind == AliasTarget::Kind::include;
    if (++(list ? lists_ : members_) > settings_.recipients)
        defer("4.3.5",
              fmt::format("the lists for this address have more than {} targets", settings_.recipients));
}

void Expander::open_list(std::vector<AliasTarget>&& targets, std::optional<ListContext> reading, const Provenance& via) {
    open_lists_.push_back({std::move(targets), std::move(reading), via});
}

std::vector<ResolvedRecipient> Expander::take_result() {
    if (is_deferred_) return {std::move(deferred_)}; // all or nothing: the others would get it again
    if (bad_members_ > 1) bad_member_.text += fmt::format(" (and {} more like this)", bad_members_ - 1);
    if (bad_members_ != 0) found_.push_back(std::move(bad_member_));
    if (found_.empty() && lookups_.unanswered().empty())
        fail(envelope_.address, {}, "5.4.6",
             cut_ ? "the aliases of this address form a loop"
                  : "the alias for this address has no valid "
                    "target");
    if (found_.size() == 1) {
        auto& one = found_.front();
        if (one.fate == Fate::unknown && is_envelope_address(one)) return std::move(found_);
        one.changed = one.list || !one.delivered_to.empty() || !is_envelope_address(one);
        if (!one.changed) one.address.clear();
    } else {
        for (auto& one : found_) one.changed = true;
    }
    return std::move(found_);
}

bool Expander::is_envelope_address(const ResolvedRecipient& one) const {
    const auto& own = envelope_.address;
    if (lower_domain(one.address) == lower_domain(own)) return true;
    return own.rfind('@') == own.npos && one.fate != Fate::remote && one.address == own + "@" + settings_.origin;
}

// --- the result

ResolvedRecipient Expander::base(Fate fate, const std::string& address, const Provenance& via) const {
    ResolvedRecipient one;
    one.origin = envelope_.number;
    one.fate = fate;
    one.address = address;
    one.reverse_path = via.owner;
    one.list = !via.owner.empty();
    if (fate == Fate::remote && smtp::is_ascii(via.from)) one.delivered_to = via.from;
    return one;
}

void Expander::add(ResolvedRecipient one) {
    if (found_.size() >= settings_.recipients)
        return defer("4.3.5", fmt::format("the alias for this address has more than {} recipients",
                                          settings_.recipients));
    if (one.target.empty() && (one.fate == Fate::local || one.fate == Fate::remote)) {
        const auto suppressed = lookups_.suppressed(lower_domain(one.address));
        if (wait_for(suppressed)) return;
        if (suppressed.status == Status::found) {
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

void Expander::fail(const std::string& address, const Provenance& via, std::string status, std::string text) {
    auto one = base(Fate::failed, address, via);
    one.status = std::move(status);
    one.text = std::move(text);
    add(std::move(one));
}

// The envelope's own is the sender's mistake, what tables made of it is ours.
void Expander::reject_address(const std::string& address, const Provenance& via, std::string_view why) {
    if (address == envelope_.address || address == envelope_.address + "@" + settings_.origin)
        return fail(address, via, "5.1.3", fmt::format("bad address: {}", why));
    add_bad_member(via, fmt::format("it leads to \"{}\", which is not a valid address: {}",
                                    smtp::printable(address, 100), why));
}

// It waits under the envelope's address, which is looked up again: from the beginning, as the first time.
void Expander::add_bad_member(const Provenance& via, std::string text, std::string status) {
    if (bad_members_++ != 0) return;
    bad_member_ = base(Fate::unknown, envelope_.address, via);
    bad_member_.status = std::move(status);
    bad_member_.text = std::move(text);
}

void Expander::defer(std::string status, std::string text) {
    if (is_deferred_) return;
    is_deferred_ = true;
    deferred_.origin = envelope_.number;
    deferred_.fate = Fate::unknown;
    deferred_.address = envelope_.address;
    deferred_.status = std::move(status);
    deferred_.text = std::move(text);
}

bool Expander::wait_for(const TableAnswer& answer) {
    if (answer.status == Status::unreadable) defer("4.3.0", answer.why);
    return answer.status == Status::unreadable || answer.status == Status::not_yet;
}

bool Expander::is_open(const std::string& key) const { return std::ranges::find(open_, key) != open_.end(); }

Expander::Entry Expander::enter(const std::string& key) {
    if (is_open(key)) return Entry::inside;
    if (!done_.insert(key).second) return Entry::done;
    open_.push_back(key);
    return Entry::fresh;
}

// --- rewriting

// A whole address, from the envelope or out of a list to another domain.
void Expander::expand_address(const std::string& text, const Provenance& via) {
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
        if (found.answer.status == Status::found) {
            auto to = addresses_of(found.answer.value, address, found.match, settings_.delimiter, settings_.origin, 1);
            if (!to.error.empty())
                return defer("4.3.5",
                             fmt::format("{}: invalid value for <{}>: {}", found.table, address, to.error));
            address = std::move(to.addresses.front());
        }
    }
    expand_virtual_alias(address, via);
}

void Expander::expand_virtual_alias(const std::string& address, const Provenance& via) {
    if (is_deferred_) return;
    if (settings_.tables.virtual_alias.empty()) return by_class(address, via);
    if (via.depth > settings_.depth)
        return defer("4.3.5", fmt::format("the aliases of this address are nested more than {} levels deep",
                                          settings_.depth));
    const auto key = "virtual " + settings_.folded(address);
    if (is_open(key)) return by_class(address, via); // it keeps a copy
    const auto where = settings_.class_of(smtp::lowered(AddressParts::of(address).domain));
    const auto found = lookups_.in_tables(
        settings_.tables.virtual_alias,
        address_keys(address, settings_.delimiter, where == AddressClass::local ? BareNames::yes : BareNames::no));
    if (wait_for(found.answer)) return;
    if (found.answer.status == Status::none) return by_class(address, via);
    if (enter(key) == Entry::done) return;
    auto [targets, wrong] = addresses_of(found.answer.value, address, found.match, settings_.delimiter,
                                               settings_.origin, settings_.recipients);
    if (!wrong.empty())
        add_bad_member(via, fmt::format("{}: invalid value for <{}>: {}", found.table, address, wrong));
    if (targets.size() > settings_.recipients)
        defer("4.3.5", fmt::format("<{}> has more than {} virtual aliases", address, settings_.recipients));
    std::vector<AliasTarget> places;
    places.reserve(targets.size());
    for (auto& target : targets) places.push_back({AliasTarget::Kind::address, std::move(target)});
    open_list(std::move(places), {}, via.deeper());
}

// --- classes

void Expander::by_class(const std::string& address, const Provenance& via) {
    if (is_deferred_) return;
    const auto parts = AddressParts::of(address);
    const bool bare = address.rfind('@') == address.npos;
    const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
    if (!parsed) return reject_address(address, via, parsed.error().why);
    if (parsed->bare() != bare) return reject_address(address, via, "domain is missing");
    auto where = bare ? AddressClass::local : settings_.class_of(smtp::lowered(parts.domain));
    const auto written = bare ? address + "@" + settings_.origin : address;
    if (!bare && relocated(address, where, via)) return;
    const auto unknown = [&] { fail(written, via, "5.1.1", std::string(unknown_recipient(where))); };
    switch (where) {
    case AddressClass::local: {
        if (!bare && by_transport(address, via)) return;
        return expand_local_name(settings_.folded(parsed->local_part), written, via);
    }
    case AddressClass::virtual_alias: // a virtual alias would have led elsewhere
        cut_ = cut_ || is_open("virtual " + settings_.folded(address));
        return cut_ ? void() : unknown();
    case AddressClass::virtual_mailbox: return deliver_to_virtual_mailbox(address, via);
    case AddressClass::relay:
        if (!settings_.tables.relay_recipients.empty()) {
            const auto found = lookups_.in_tables(settings_.tables.relay_recipients,
                                                  address_keys(address, settings_.delimiter, BareNames::no));
            if (wait_for(found.answer)) return;
            if (found.answer.status == Status::none) return unknown();
        }
        [[fallthrough]];
    case AddressClass::remote:
        if (!by_transport(address, via)) deliver_remotely(address, via);
    }
}

// True: it is no more; or that is not known now.
bool Expander::relocated(const std::string& address, AddressClass address_class, const Provenance& via) {
    if (settings_.tables.relocated.empty()) return false;
    const auto bare = address_class == AddressClass::local ? BareNames::yes : BareNames::no;
    const auto found =
        lookups_.in_tables(settings_.tables.relocated, address_keys(address, settings_.delimiter, bare));
    if (wait_for(found.answer)) return true;
    if (found.answer.status == Status::none) return false;
    fail(address, via, "5.1.6", "User has moved to " + smtp::printable(found.answer.value, 300));
    return true;
}

// True: a transport table says where it goes; or that is not known now.
bool Expander::by_transport(const std::string& address, const Provenance& via) {
    if (settings_.tables.transport.empty()) return false;
    const auto found =
        lookups_.in_tables(settings_.tables.transport, transport_keys(address, settings_.delimiter));
    if (wait_for(found.answer)) return true;
    if (found.answer.status == Status::none) return false;
    const auto word = TransportEntry::parse(found.answer.value);
    if (!word) {
        defer("4.3.5", fmt::format("a transport table has \"{}\" for <{}>: not a valid next hop",
                                   smtp::printable(found.answer.value, 100), address));
        return true;
    }
    using Kind = TransportEntry::Kind;
    switch (word->kind) {
    case Kind::as_usual: return false;
    case Kind::defer: defer(word->status, word->value); return true;
    case Kind::local: {
        const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
        if (parsed) expand_local_name(settings_.folded(parsed->local_part), address, via);
        return true;
    }
    case Kind::mailbox:
        if (settings_.mailbox.empty())
            defer("4.3.5", fmt::format("a transport table has \"virtual:\" for <{}>, but "
                                       "virtual_mailbox.deliver is not set",
                                       address));
        else if (const auto value = mailbox_of(address, via))
            deliver_to_mailbox(address, *value, via);
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

void Expander::deliver_to_virtual_mailbox(const std::string& address, const Provenance& via) {
    const auto value = mailbox_of(address, via);
    if (value && !by_transport(address, via)) deliver_to_mailbox(address, *value, via);
}

// What the tables of mailboxes say of it, "" where there are none. Empty: it has none, or that is not known now.
std::optional<std::string> Expander::mailbox_of(const std::string& address, const Provenance& via) {
    if (settings_.tables.mailboxes.empty()) return std::string();
    auto found =
        lookups_.in_tables(settings_.tables.mailboxes, address_keys(address, settings_.delimiter, BareNames::no));
    if (wait_for(found.answer)) return {};
    if (found.answer.status == Status::found) return std::move(found.answer.value);
    fail(address, via, "5.1.1", std::string(unknown_recipient(AddressClass::virtual_mailbox)));
    return {};
}

void Expander::deliver_to_mailbox(const std::string& address, const std::string& value, const Provenance& via) {
    if (!is_mailbox_pattern(settings_.mailbox)) {
        auto one = base(Fate::remote, address, via);
        one.transport = settings_.mailbox;
        return add(std::move(one));
    }
    const auto parts = AddressParts::of(address);
    auto place = mailbox_path(settings_.mailbox, settings_.folded(parts.name(settings_.delimiter)),
                               smtp::lowered(parts.domain), value);
    if (place.empty())
        return fail(address, via, "5.1.3", "no mailbox can have this name");
    auto one = base(Fate::local, address, via);
    one.target = std::move(place);
    one.user = settings_.mailbox_user;
    add(std::move(one));
}

// To the rest of the world: by the sender's own relay, where no route of the domain's says otherwise.
void Expander::deliver_remotely(const std::string& address, const Provenance& via) {
    auto one = base(Fate::remote, address, via);
    const auto domain = smtp::lowered(AddressParts::of(address).domain);
    if (!settings_.tables.sender_relay.empty() && !(settings_.has_route && settings_.has_route(domain)) &&
        settings_.class_of(domain) == AddressClass::remote) {
        const auto keys = sender_.empty() ? std::vector{AddressKey{"<>", AddressKey::Match::whole}}
                                          : address_keys(sender_, settings_.delimiter, BareNames::no);
        const auto found = lookups_.in_tables(settings_.tables.sender_relay, keys);
        if (wait_for(found.answer)) return;
        if (found.answer.status == Status::found) {
            const auto word = TransportEntry::parse(found.answer.value);
            using Kind = TransportEntry::Kind;
            if (word && word->kind == Kind::defer) return defer(word->status, word->value);
            if (!word || (word->kind != Kind::next_hop && word->kind != Kind::as_usual))
                return defer("4.3.5", fmt::format("a sender_relay table has \"{}\" for <{}>: not a valid "
                                                  "next hop",
                                                  smtp::printable(found.answer.value, 100), sender_));
            one.transport = word->value; // "": as usual
        }
    }
    add(std::move(one));
}

} // namespace decide
