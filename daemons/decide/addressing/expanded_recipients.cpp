#include "daemons/decide/addressing/expanded_recipients.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"
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

std::vector<ResolvedRecipient> ExpandedRecipients::take() {
    if (is_deferred_) return {std::move(deferred_)}; // all or nothing: the others would get it again
    if (bad_members_ > 1) bad_member_.text += fmt::format(" (and {} more like this)", bad_members_ - 1);
    if (bad_members_ != 0) found_.push_back(std::move(bad_member_));
    if (found_.empty() && lookups_.unanswered().empty())
        fail(envelope_.address, {}, "5.4.6",
             cut_ ? "the aliases of this address form a loop" : "the alias for this address has no valid target");
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

bool ExpandedRecipients::is_envelope_address(const ResolvedRecipient& one) const {
    const auto& own = envelope_.address;
    if (lower_domain(one.address) == lower_domain(own)) return true;
    return own.rfind('@') == own.npos && one.fate != Fate::remote && one.address == own + "@" + settings_.origin;
}

ResolvedRecipient ExpandedRecipients::base(Fate fate, const std::string& address, const Provenance& via) const {
    ResolvedRecipient one;
    one.origin = envelope_.number;
    one.fate = fate;
    one.address = address;
    one.reverse_path = via.owner;
    one.list = !via.owner.empty();
    if (fate == Fate::remote && smtp::is_ascii(via.from)) one.delivered_to = via.from;
    return one;
}

void ExpandedRecipients::add(ResolvedRecipient one) {
    if (found_.size() >= settings_.recipients)
        return defer("4.3.5",
                     fmt::format("the alias for this address has more than {} recipients", settings_.recipients));
    if (one.target.empty() && (one.fate == Fate::local || one.fate == Fate::remote)) {
        const auto suppressed = lookups_.suppressed(lower_domain(one.address));
        if (waits_for(suppressed)) return;
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

void ExpandedRecipients::fail(const std::string& address, const Provenance& via, std::string status, std::string text) {
    auto one = base(Fate::failed, address, via);
    one.status = std::move(status);
    one.text = std::move(text);
    add(std::move(one));
}

// The envelope's own is the sender's mistake, what tables made of it is ours.
void ExpandedRecipients::reject_address(const std::string& address, const Provenance& via, std::string_view why) {
    if (address == envelope_.address || address == envelope_.address + "@" + settings_.origin)
        return fail(address, via, "5.1.3", fmt::format("bad address: {}", why));
    add_bad_member(
        via, fmt::format("it leads to \"{}\", which is not a valid address: {}", smtp::printable(address, 100), why));
}

// It waits under the envelope's address, which is looked up again: from the beginning, as the first time.
void ExpandedRecipients::add_bad_member(const Provenance& via, std::string text, std::string status) {
    if (bad_members_++ != 0) return;
    bad_member_ = base(Fate::unknown, envelope_.address, via);
    bad_member_.status = std::move(status);
    bad_member_.text = std::move(text);
}

void ExpandedRecipients::defer(std::string status, std::string text) {
    if (is_deferred_) return;
    is_deferred_ = true;
    deferred_.origin = envelope_.number;
    deferred_.fate = Fate::unknown;
    deferred_.address = envelope_.address;
    deferred_.status = std::move(status);
    deferred_.text = std::move(text);
}

bool ExpandedRecipients::waits_for(const TableAnswer& answer) {
    if (answer.status == Status::unreadable) defer("4.3.0", answer.why);
    return answer.status == Status::unreadable || answer.status == Status::not_yet;
}

} // namespace decide
