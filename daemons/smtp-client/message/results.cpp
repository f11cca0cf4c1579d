#include "daemons/smtp-client/message/results.h"
#include "daemons/common/submission/forwarded_requests.h"
#include "daemons/decide/message/dsn_requests.h"
#include "libspool/format/lane.h"

namespace smtp_client {

using namespace proto::delivery;

namespace {

smtp::ClientAttributes::Attribute attribute(std::string value) {
    using Kind = smtp::ClientAttribute::Kind;
    return smtp::ClientAttribute{value.empty() ? Kind::unavailable : Kind::given, std::move(value)};
}

// "" where nothing was asked for.
std::string_view lane_asked_for(const spool::MessageState& state) {
    const auto lane = spool::lane_name(state.lane, state.priority);
    return lane == "normal" && state.lane.empty() ? "" : lane;
}

// As Postfix tells its filters: programs of this system are clients on loopback.
smtp::ClientAttributes came_from(const spool::Envelope& envelope, spool::QueueId id) {
    smtp::ClientAttributes out;
    const bool local = envelope.client_address.empty();
    out.name = attribute(local ? "localhost" : envelope.client_name == "unknown" ? "" : envelope.client_name);
    out.address = attribute(local ? "127.0.0.1" : envelope.client_address);
    out.port = attribute(envelope.client_port == 0 ? "" : std::to_string(envelope.client_port));
    out.helo = attribute(local ? "localhost" : envelope.helo);
    out.protocol = attribute(envelope.protocol);
    out.ident = attribute(id.text());
    out.source = attribute(local ? "LOCAL" : "REMOTE");
    return out;
}

} // namespace

bool make_transaction(const Deliver& order, const spool::MessageReader& message, smtp::Now now,
                      smtp::Transaction& out) {
    const spool::MessageState& state = message.state();
    const spool::Envelope& envelope = state.envelope;
    const decide::DsnRequests wishes(state);
    out.id = order.delivery;
    out.probe = envelope.trace == spool::Trace::verify;
    out.require_tls = envelope.require_tls;
    out.parameters.smtputf8 = envelope.smtputf8;
    out.recipients.reserve(order.recipients.size());
    for (const auto number : order.recipients) {
        if (number >= state.recipients.size()) return false;
        const auto& recipient = state.recipients[number];
        auto& to = out.recipients.emplace_back();
        to.address = recipient.address;
        to.parameters.notify = smtp::Notify::from_bits(static_cast<std::uint8_t>(wishes.notify(number)));
        to.parameters.orcpt = wishes.original_recipient(number);
    }
    // The queue-manager groups by reverse-path: the first recipient's applies to all.
    if (order.recipients.empty()) return false;
    out.reverse_path = state.reverse_path_of(state.recipients[order.recipients[0]]);
    if (wishes.is_of_list(order.recipients[0])) return true; // mail of the list's own
    if (order.to_content_filter) out.came_from = came_from(envelope, order.queue_id);
    if (envelope.deliver_by && !order.to_content_filter) {
        out.parameters.deliver_by = smtp::DeliverBy{.late = envelope.late, .trace = envelope.deliver_by_trace};
        out.deliver_by = now.monotonic + (*envelope.deliver_by - now.wall);
    }
    out.parameters.envid = envelope.envid;
    out.parameters.ret = envelope.ret;
    return true;
}

std::string added_fields(const Deliver& order, const spool::MessageReader& message, smtp::WallTime now) {
    const auto& all = message.state().recipients;
    if (order.recipients.empty() || order.recipients[0] >= all.size()) return {};
    if (order.to_content_filter)
        return common::fields_of_requests(message.envelope(), lane_asked_for(message.state()), now);
    const auto& address = all[order.recipients[0]].delivered_to; // the same for all, like the reverse-path
    return address.empty() ? "" : "Delivered-To: " + address + "\r\n";
}

void describe(const Content& content, smtp::Transaction& out) {
    out.longest_line = content.longest_line();
    out.parameters.size = content.size();
    out.parameters.body = content.eight_bit() ? smtp::Body::eight_bit_mime : smtp::Body::seven_bit;
    out.conversion_error = content.conversion_error();
}

std::vector<decide::ReplyRule> reply_rules(const std::vector<std::string>& texts) {
    std::vector<decide::ReplyRule> out;
    for (const auto& text : texts)
        if (auto rule = decide::ReplyRule::parse(text)) out.push_back(*std::move(rule));
    return out;
}

void apply_reply_rules(const std::vector<decide::ReplyRule>& rules, smtp::Verdict& verdict) {
    const decide::Observation seen{verdict.stage, verdict.code, verdict.status};
    const auto severity = decide::reading(rules, seen);
    if (!severity) return;
    if (const auto* rule = decide::rule_for(rules, seen)) verdict.rule = rule->to_string();
    verdict.outcome = *severity == decide::Severity::temporary ? smtp::Outcome::deferred : smtp::Outcome::failed;
    verdict.status = decide::status_as(std::move(verdict.status), *severity);
}

std::string apply_reply_patterns(const common::ReplyPatterns& patterns, smtp::Verdict& verdict) {
    std::string warning;
    if (!verdict.rule.empty() || verdict.code < 400) return warning;
    const auto found = patterns.find(verdict.stage, verdict.remote_reply, warning);
    if (!found) return warning;
    const bool temporary = found->outcome == smtp::Outcome::deferred;
    verdict.rule = found->rule;
    verdict.outcome = found->outcome;
    verdict.status = decide::status_as(std::move(verdict.status),
                                       temporary ? decide::Severity::temporary : decide::Severity::permanent);
    return warning;
}

void apply_soft_bounce(smtp::Verdict& verdict) {
    if (verdict.outcome != smtp::Outcome::failed) return;
    verdict.outcome = smtp::Outcome::deferred;
    verdict.status = decide::status_as(std::move(verdict.status), decide::Severity::temporary);
}

Done make_done(const Deliver& order, const spool::MessageState& state, const smtp::TransactionResult& result) {
    Done out;
    out.delivery = order.delivery;
    out.queue_id = order.queue_id;
    out.replies.reserve(result.verdicts.size());
    for (const auto& verdict : result.verdicts) {
        out.replies.push_back(verdict);
        if (verdict.rule.empty() || out.replies.size() > proto::delivery::most_rules) continue;
        out.rules.resize(out.replies.size());
        out.rules.back() = verdict.rule;
    }
    out.results.reserve(order.recipients.size());
    const decide::DsnRequests wishes(state);
    const bool traced = state.envelope.trace != spool::Trace::none; // every result is reported
    for (std::size_t i = 0; i < order.recipients.size(); ++i) {
        auto& each = out.results.emplace_back();
        each.recipient = order.recipients[i];
        each.reply = result.of_recipient[i];
        each.outcome = result.verdicts[each.reply].outcome;
        const bool ours = (!result.dsn_relayed && spool::wants_success(wishes.notify(each.recipient))) ||
                          (result.relaying_to_report && wishes.reports_relaying(each.recipient));
        each.report_success = each.outcome == Outcome::delivered && (ours || traced);
    }
    return out;
}

Done make_done(const Deliver& order, const smtp::Verdict& verdict) {
    Done out;
    out.delivery = order.delivery;
    out.queue_id = order.queue_id;
    out.replies.push_back(verdict);
    for (const auto number : order.recipients) out.results.push_back({number, verdict.outcome, 0, false});
    return out;
}

} // namespace smtp_client
