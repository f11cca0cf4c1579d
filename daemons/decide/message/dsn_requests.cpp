#include "daemons/decide/message/dsn_requests.h"
#include "libsmtp/text/utf8.h"

namespace decide {

const std::vector<DsnRequests::Successors>& DsnRequests::successors() const {
    if (!successors_.empty()) return successors_;
    successors_.resize(state_.recipients.size());
    for (std::uint32_t number = 0; number < state_.recipients.size(); ++number) {
        const auto& recipient = state_.recipients[number];
        if (recipient.origin == number) continue;
        ++successors_[recipient.origin].count;
        if (recipient.list) ++successors_[recipient.origin].of_list;
    }
    return successors_;
}

// An origin's number is always the lower one: the way back ends.
spool::Notify DsnRequests::notify(std::uint32_t recipient) const {
    const auto asked = state_.envelope_of(state_.recipients[recipient]).notify;
    if (is_of_list(recipient)) return spool::Notify::unspecified;
    if (!spool::has(asked, spool::Notify::success)) return asked;
    bool alone = true;
    for (auto at = recipient; state_.recipients[at].origin != at; at = state_.recipients[at].origin)
        alone = alone && successors()[state_.recipients[at].origin].count == 1;
    if (alone) return asked;
    const auto rest =
        static_cast<spool::Notify>(static_cast<unsigned>(asked) & ~static_cast<unsigned>(spool::Notify::success));
    return rest == spool::Notify::unspecified ? spool::Notify::never : rest;
}

bool DsnRequests::reports_relaying(std::uint32_t recipient) const {
    return state_.envelope.deliver_by && !is_of_list(recipient) && !spool::has(notify(recipient), spool::Notify::never);
}

bool DsnRequests::is_of_list(std::uint32_t recipient) const {
    for (auto at = recipient; state_.recipients[at].origin != at; at = state_.recipients[at].origin)
        if (state_.recipients[at].list) return true;
    return false;
}

std::string DsnRequests::original_recipient(std::uint32_t recipient) const {
    if (is_of_list(recipient)) return {};
    const auto& asked = state_.envelope_of(state_.recipients[recipient]);
    if (!asked.orcpt.empty()) return asked.orcpt;
    const auto& given = asked.original.empty() ? asked.address : asked.original;
    if (given == state_.recipients[recipient].address) return {};
    return (smtp::is_ascii(given) ? "rfc822;" : "utf-8;") + given;
}

std::optional<smtp::ReportKind> DsnRequests::expansion(std::size_t count, std::size_t of_list) {
    if (count > 0 && of_list == count) return smtp::ReportKind::delivered;
    if (count > 1) return smtp::ReportKind::expanded;
    return {};
}

std::optional<smtp::ReportKind> DsnRequests::expansion(std::uint32_t recipient) const {
    if (state_.recipients[recipient].status != spool::Status::expanded) return {};
    if (!spool::wants_success(notify(recipient))) return {};
    return expansion(successors()[recipient].count, successors()[recipient].of_list);
}

} // namespace decide
