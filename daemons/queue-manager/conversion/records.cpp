#include "daemons/queue-manager/conversion/records.h"
#include "daemons/decide/queue/failure_mapping.h"
#include <algorithm>
#include <map>

namespace queue_manager {

spool::StatusChanged failed_untried(std::vector<std::uint32_t> recipients, const decide::queue::Reason& reason,
                                    std::string_view who, smtp::WallTime now) {
    return {.recipients = std::move(recipients),
            .status = spool::Status::failed,
            .time = now,
            .reply = {.status = reason.status, .text = reason.text, .suppressed = reason.suppressed},
            .who = std::string(who)};
}

bool is_suppressed(const spool::RecipientState& recipient) {
    // Files written before Reply had the field indicate it by this text alone. No other text of ours began so.
    constexpr std::string_view formerly = "on the suppression list since ";
    return recipient.reply.suppressed || (recipient.reply.code == 0 && recipient.reply.text.starts_with(formerly));
}

std::string host_name_of(const std::string& host) { return host.substr(0, host.find('[')); }

decide::queue::Reason reason_of(smtp::RemoteReply reply, const std::string& host) {
    if (!reply.remote_reply.empty()) reply.remote_host = host_name_of(host);
    reply.suppressed = false; // the queue-manager decides this, not an agent
    return reply;
}

smtp::WallTime from_wire(std::int64_t microseconds) { return smtp::WallTime(smtp::Duration(microseconds)); }
std::int64_t to_wire(smtp::WallTime time) { return time.time_since_epoch().count(); }

Result::Result(const proto::delivery::Done& done, AgentKind agent) : done_(done), agent_(agent) {
    using namespace decide::queue;
    reasons_.reserve(done.replies.size());
    for (const auto& reply : done.replies) reasons_.push_back(reason_of(reply, done.host));
    results_.reserve(done.results.size());
    for (const auto& each : done.results) {
        decide::queue::Result result{.number = each.recipient, .outcome = each.outcome};
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

spool::SuccessReport Result::success(const proto::delivery::RecipientResult& result) const {
    using spool::SuccessReport;
    if (!result.report_success || result.outcome != proto::delivery::Outcome::delivered) return SuccessReport::none;
    return agent_ == AgentKind::local || done_.final_delivery ? SuccessReport::delivered : SuccessReport::relayed;
}

spool::Attempt Result::record(const proto::delivery::RecipientResult& result) const {
    spool::Attempt attempt;
    attempt.time = from_wire(done_.started);
    attempt.host = done_.host;
    attempt.tls = done_.tls;
    attempt.source = done_.source;
    attempt.outcome = result.outcome;
    attempt.pause = done_.pause;
    attempt.link = done_.backoff;
    attempt.success = success(result);
    if (result.reply < done_.replies.size()) {
        const auto& reply = done_.replies[result.reply];
        attempt.reply = {reply.code, reply.status, reply.text, reply.stage, reply.details};
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
