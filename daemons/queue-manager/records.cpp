#include "daemons/queue-manager/records.h"
#include "daemons/decide/queue/observed.h"
#include <algorithm>
#include <map>

namespace queue_manager {

namespace {

decide::queue::Outcome outcome_of(proto::delivery::Outcome outcome) {
    switch (outcome) {
    case proto::delivery::Outcome::delivered: return decide::queue::Outcome::delivered;
    case proto::delivery::Outcome::deferred: return decide::queue::Outcome::deferred;
    case proto::delivery::Outcome::failed: return decide::queue::Outcome::failed;
    }
    return decide::queue::Outcome::deferred;
}

} // namespace

std::optional<decide::queue::ReportKind> kind_of(decide::ReportWishes::Expansion expansion) {
    using Expansion = decide::ReportWishes::Expansion;
    using decide::queue::ReportKind;
    if (expansion == Expansion::nothing) return {};
    return expansion == Expansion::expanded ? ReportKind::expanded : ReportKind::delivered;
}

spool::Decided failed_untried(std::vector<std::uint32_t> recipients, const decide::queue::Reason& reason,
                              std::string_view who, smtp::WallTime now) {
    return {.recipients = std::move(recipients),
            .status = spool::Status::failed,
            .time = now,
            .reply = {.status = reason.status, .text = reason.text, .suppressed = reason.suppressed},
            .who = std::string(who)};
}

bool is_suppressed(const spool::RecipientState& recipient) {
    // Files written before Reply had the field say it by this text alone. Nothing else of ours began so.
    constexpr std::string_view formerly = "on the suppression list since ";
    return recipient.reply.suppressed || (recipient.reply.code == 0 && recipient.reply.text.starts_with(formerly));
}

std::string host_name_of(const std::string& host) { return host.substr(0, host.find('[')); }

decide::queue::Reason reason_of(const proto::delivery::Reply& reply, const std::string& host) {
    return {reply.status, reply.text, reply.said, reply.said.empty() ? std::string() : host_name_of(host),
            reply.stage, reply.code, reply.seen, reply.at};
}

smtp::WallTime from_wire(std::int64_t microseconds) { return smtp::WallTime(smtp::Duration(microseconds)); }
std::int64_t to_wire(smtp::WallTime time) { return time.time_since_epoch().count(); }

Result::Result(const proto::delivery::Done& done, Agent agent) : done_(done), agent_(agent) {
    using namespace decide::queue;
    reasons_.reserve(done.replies.size());
    for (const auto& reply : done.replies) reasons_.push_back(reason_of(reply, done.host));
    results_.reserve(done.results.size());
    for (const auto& each : done.results) {
        decide::queue::Result result{.number = each.recipient, .outcome = outcome_of(each.outcome)};
        if (result.outcome == Outcome::delivered) {
            result.report = success(each);
            if (each.reply < reasons_.size()) result.reason = &reasons_[each.reply];
        } else if (each.reply < done.replies.size()) {
            const auto& reply = done.replies[each.reply];
            const decide::Observation seen{reply.stage, reply.code, reply.status, done_.final_delivery};
            result = observed(each.recipient, result.outcome, seen, reasons_[each.reply]);
            event_.dropped = event_.dropped || decide::dropped(seen);
        }
        results_.push_back(result);
    }
    event_.connection = done.connection;
    event_.delivery = done.delivery;
    event_.id = done.queue_id;
    event_.results = results_;
}

const proto::delivery::RecipientResult* Result::result_of(decide::queue::RecipientNumber number) const {
    auto found = std::ranges::find(done_.results, number, &proto::delivery::RecipientResult::recipient);
    return found == done_.results.end() ? nullptr : &*found;
}

decide::queue::SuccessReport Result::success(const proto::delivery::RecipientResult& result) const {
    using decide::queue::SuccessReport;
    if (!result.report_success || result.outcome != proto::delivery::Outcome::delivered) return SuccessReport::none;
    return agent_ == Agent::local || done_.final_delivery ? SuccessReport::delivered : SuccessReport::relayed;
}

static_assert(static_cast<int>(spool::Outcome::delivered) == static_cast<int>(proto::delivery::Outcome::delivered) &&
              static_cast<int>(spool::Outcome::deferred) == static_cast<int>(proto::delivery::Outcome::deferred) &&
              static_cast<int>(spool::Outcome::failed) == static_cast<int>(proto::delivery::Outcome::failed));
static_assert(static_cast<int>(spool::Success::untold) == static_cast<int>(decide::queue::SuccessReport::none) &&
              static_cast<int>(spool::Success::delivered) == static_cast<int>(decide::queue::SuccessReport::delivered) &&
              static_cast<int>(spool::Success::relayed) == static_cast<int>(decide::queue::SuccessReport::relayed));

spool::Attempt Result::record(const proto::delivery::RecipientResult& result) const {
    spool::Attempt attempt;
    attempt.time = from_wire(done_.started);
    attempt.host = done_.host;
    attempt.tls = done_.tls;
    attempt.source = done_.source;
    attempt.outcome = static_cast<spool::Outcome>(result.outcome); // the same outcomes in the same order
    attempt.success = static_cast<spool::Success>(success(result)); // the same in the same order
    if (result.reply < done_.replies.size()) {
        const auto& reply = done_.replies[result.reply];
        attempt.reply = {reply.code, reply.status, reply.text, reply.stage, reply.seen};
        attempt.in_doubt = reply.in_doubt;
    }
    return attempt;
}

std::optional<spool::Attempt> Result::attempt(std::span<const decide::queue::RecipientNumber> numbers) const {
    if (numbers.empty()) return {};
    const auto* result = result_of(numbers.front());
    if (result == nullptr) return {};
    auto attempt = record(*result);
    attempt.recipients.assign(numbers.begin(), numbers.end());
    return attempt;
}

std::vector<spool::Property> Result::failed_attempts() const {
    std::map<std::uint32_t, spool::Attempt> by_reply;
    for (const auto& result : done_.results) {
        if (result.outcome != proto::delivery::Outcome::failed) continue;
        auto [place, fresh] = by_reply.try_emplace(result.reply);
        if (fresh) place->second = record(result);
        place->second.recipients.push_back(result.recipient);
    }
    std::vector<spool::Property> out;
    for (auto& [reply, attempt] : by_reply) out.emplace_back(std::move(attempt));
    return out;
}

} // namespace queue_manager
