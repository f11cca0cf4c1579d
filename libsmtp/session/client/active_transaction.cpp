#include "libsmtp/session/client/active_transaction.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace smtp {
namespace {

constexpr std::uint32_t no_verdict = UINT32_MAX; // in of_recipient, while under way

} // namespace

ActiveTransaction::ActiveTransaction(Transaction transaction) : message_(std::move(transaction)) {
    result_.id = message_.id;
    result_.of_recipient.assign(message_.recipients.size(), no_verdict);
    pending_.resize(message_.recipients.size());
    std::iota(pending_.begin(), pending_.end(), 0);
}

void ActiveTransaction::drop_unsendable(const ServerTraits& server, Monotonic now) {
    utf8_ = smtp::drop_unsendable(message_, pending_, result_, server, now);
    const auto& by = message_.parameters.deliver_by;
    const bool relays = server.options.protocol == Protocol::smtp; // in LMTP it is delivered
    result_.relaying_to_report = by && relays && (!server.extensions.deliver_by || by->trace);
}

std::optional<DeliverBy> ActiveTransaction::deliver_by(const ServerExtensions& server, Monotonic now) const {
    if (!server.deliver_by || !message_.parameters.deliver_by) return {};
    auto by = *message_.parameters.deliver_by;
    by.seconds = seconds_left(message_, now);
    return by;
}

std::string_view ActiveTransaction::next_xforward(const ServerExtensions& server) {
    if (server.xforward.empty()) return {};
    if (!xforward_) xforward_ = xforward_commands(message_.came_from, server.xforward);
    const auto rest = std::string_view(*xforward_).substr(xforwarded_);
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    xforwarded_ += line.size();
    return line;
}

bool ActiveTransaction::begin_round(const RoundLimits& limits, Monotonic now) {
    round_ = take_round(limits);
    if (round_.empty()) return false;
    xforwarded_ = 0; // a transaction forgets it
    for (auto recipient : round_) result_.of_recipient[recipient] = no_verdict;
    if (!begun_) result_.started = now;
    begun_ = true;
    phase_ = Phase::mail;
    return true;
}

// Takes them off pending_: as many as this server takes at once, of as many domains (RFC 9422).
std::vector<std::uint32_t> ActiveTransaction::take_round(const RoundLimits& limits) {
    std::vector<std::uint32_t> round;
    if (limits.domains == SIZE_MAX) {
        const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(std::min(pending_.size(), limits.recipients));
        round.assign(pending_.begin(), end);
        pending_.erase(pending_.begin(), end);
        return round;
    }
    std::set<std::string> domains;
    std::erase_if(pending_, [&](std::uint32_t recipient) {
        const std::string_view address = message_.recipients[recipient].address;
        auto domain = lowered(address.substr(std::min(address.rfind('@'), address.size())));
        const bool no_more_domains = domains.size() == limits.domains && !domains.contains(domain);
        if (round.size() == limits.recipients || no_more_domains) return false;
        domains.insert(std::move(domain));
        round.push_back(recipient);
        return true;
    });
    return round;
}

std::uint32_t ActiveTransaction::next_recipient() {
    const auto recipient = round_[asked_];
    if (++asked_ == round_.size()) phase_ = Phase::data;
    return recipient;
}

void ActiveTransaction::begin_content(Framing framing) {
    chunked_ = framing == Framing::chunked;
    phase_ = Phase::content;
}

void ActiveTransaction::refuse_mail(Verdict why) {
    refused_ = true;
    round_.insert(round_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    result_.set_verdict(round_, std::move(why));
}

void ActiveTransaction::refuse_message(Verdict why) {
    if (accepted_.empty()) return;
    accepted_.insert(accepted_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    set_verdict_of_accepted(std::move(why));
}

void ActiveTransaction::refuse_pending(Verdict why) {
    result_.set_verdict(pending_, std::move(why));
    pending_.clear();
}

bool ActiveTransaction::requeue_postponed() {
    pending_.insert(pending_.begin(), too_many_.begin(), too_many_.end());
    return !too_many_.empty();
}

void ActiveTransaction::end_round() {
    round_.clear();
    accepted_.clear();
    too_many_.clear();
    asked_ = 0;
    refused_ = chunked_ = got_421_ = false;
    phase_ = Phase::waiting;
}

TransactionResult ActiveTransaction::finish(DsnRelayed dsn, Monotonic now) {
    result_.finished = now;
    result_.dsn_relayed = dsn == DsnRelayed::yes;
    return std::move(result_);
}

TransactionResult ActiveTransaction::interrupt(Verdict why, DsnRelayed dsn, Monotonic now) {
    if (why.in_doubt) { // but not for those whose round had not come
        Verdict untouched = why;
        untouched.in_doubt = false;
        result_.set_verdict(pending_, std::move(untouched));
    }
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < result_.of_recipient.size(); ++i)
        if (result_.of_recipient[i] == no_verdict) left.push_back(i);
    result_.set_verdict(left, std::move(why));
    return finish(dsn, now);
}

} // namespace smtp
