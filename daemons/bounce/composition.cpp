#include "daemons/bounce/composition.h"
#include "daemons/common/submission/lifetime.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/message/dsn_requests.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/header.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>

namespace bounce {
namespace {

using smtp::ReportKind;

bool notify_wants(ReportKind kind, spool::Notify notify) {
    switch (kind) {
    case ReportKind::failed: return spool::wants_failure(notify);
    case ReportKind::delayed: return spool::wants_delay(notify);
    case ReportKind::status: return true; // asked for in another way
    default: return spool::wants_success(notify);
    }
}

smtp::dsn::Action action_of(ReportKind fared, spool::Trace trace) {
    using smtp::dsn::Action;
    if (trace != spool::Trace::verify) return smtp::dsn::action_of(fared);
    const bool good = fared == ReportKind::delivered || fared == ReportKind::relayed;
    return good ? Action::deliverable : fared == ReportKind::expanded ? Action::expanded : Action::undeliverable;
}

smtp::WallTime time_of(std::int64_t microseconds) { return smtp::WallTime(std::chrono::microseconds(microseconds)); }

smtp::dsn::Return returns_of(const Settings& settings, const Addressee& addressee, const spool::Envelope& envelope,
                             bool of_list) {
    const bool over_quota = std::all_of(addressee.recipients.begin(), addressee.recipients.end(), [](const auto& r) {
        return r.reason.status == "4.2.2" || r.reason.status == "5.2.2";
    });
    if (over_quota && settings.over_quota_few_headers) return smtp::dsn::Return::few_headers;
    const bool headers = (!of_list && envelope.ret == smtp::Ret::headers) || envelope.require_tls;
    return headers ? smtp::dsn::Return::headers : smtp::dsn::Return::full;
}

bool key_was_reused(const spool::Envelope& envelope) {
    // Files written before the envelope had the field show it by this text alone. No other reason of ours begins like
    // this.
    constexpr std::string_view formerly = "5.6.0 Error: Idempotency-Key was used for other content";
    return envelope.idempotency_key_reused || envelope.verdict_reason.starts_with(formerly);
}

smtp::dsn::Recipient describe(const spool::ReportRecipient& reported, const spool::MessageState& state,
                              const decide::DsnRequests& wishes) {
    smtp::dsn::Recipient out;
    out.final_recipient = state.recipients[reported.number].address;
    out.original_recipient = wishes.original_recipient(reported.number);
    out.reason = reported.reason;
    if (reported.reason.remote_reply.empty() && reported.reason.suppressed)
        out.advice = fmt::format("This mail system does not send mail to that address, because it is on the "
                                 "system's suppression list. The administrator can remove it from the list "
                                 "(postrider suppress remove {}).",
                                 out.final_recipient);
    if (reported.reason.remote_reply.empty() && key_was_reused(state.envelope))
        out.advice = "The program that sent it identifies its messages by keys (Idempotency-Key:), and has already "
                     "used this key for another message. Each message needs a key of its own.";
    if (reported.last_attempt != 0) out.last_attempt = time_of(reported.last_attempt);
    return out;
}

// The recipient of a report, with the domain in ASCII (A-labels) if that makes the whole address ASCII: then every
// host on the way accepts the report.
std::string ascii_where_possible(const std::string& address) {
    const auto mailbox = smtp::Mailbox::parse(address);
    if (!mailbox || smtp::is_ascii(address) || !smtp::is_ascii(mailbox->local_part)) return address;
    smtp::Mailbox out = *mailbox;
    out.domain = idn::ascii_domain(mailbox->domain);
    return out.domain.empty() ? address : out.text();
}

} // namespace

Settings settings_of(const config::Bounce& bounce, const config::Mta& mta, const decide::queue::Settings& queue,
                     Wordings wordings) {
    const auto copies = [&](std::string_view what) { return std::ranges::count(bounce.postmaster_copy, what) > 0; };
    return {mta.hostname,
            mta.origin,
            bounce.display_name,
            bounce.full_content_limit,
            bounce.over_quota_partial_headers,
            common::lifetime_of("", queue),
            bounce.dry_bounce,
            {copies("failed"), copies("delayed"), copies("undeliverable")},
            std::move(wordings)};
}

std::vector<Addressee> addressees_of(const proto::report::Report& report, const spool::MessageState& state) {
    std::vector<Addressee> out;
    const decide::DsnRequests wishes(state);
    for (const spool::ReportRecipient& reported : report.recipients) {
        if (reported.number >= state.recipients.size()) continue;
        const spool::RecipientState& recipient = state.recipients[reported.number];
        const bool relaying = report.kind == ReportKind::relayed && wishes.reports_relaying(reported.number);
        if (!relaying && !notify_wants(report.kind, wishes.notify(reported.number))) continue;
        // The status of an address is reported to the sender who asked, not to the owner of a list on the way.
        std::string path =
            report.kind == ReportKind::status ? state.envelope.reverse_path : state.reverse_path_of(recipient);
        if (path == "<>") path.clear();
        auto addressee =
            std::find_if(out.begin(), out.end(), [&](const Addressee& a) { return a.reverse_path == path; });
        if (addressee == out.end()) addressee = out.insert(out.end(), Addressee{path, {}});
        addressee->recipients.push_back(reported);
    }
    return out;
}

namespace {

// Whether the postmaster gets a copy of such a report. `told`: the sender gets it, too.
bool wants_copy(const Settings::PostmasterCopy& wants, ReportKind kind, bool told) {
    switch (kind) {
    case ReportKind::failed: return told ? wants.failed : wants.undeliverable;
    case ReportKind::delayed: return told && wants.delayed;
    default: return false;
    }
}

} // namespace

std::vector<Addressee> postmaster_copies(const Settings& settings, ReportKind kind,
                                         const std::vector<Addressee>& addressees) {
    std::vector<Addressee> out;
    const auto& wants = settings.postmaster_copy;
    for (const Addressee& each : addressees) {
        const bool told = !each.reverse_path.empty();
        const bool is_itself = told && each.reverse_path == fmt::format("postmaster@{}", settings.origin);
        if (wants_copy(wants, kind, told) && !is_itself) out.push_back({each.reverse_path, each.recipients, true});
    }
    return out;
}

bool needs_content(const proto::report::Report& report, const spool::MessageState& state) {
    const bool of_list = std::ranges::any_of(report.recipients, [&](const auto& each) {
        return each.number < state.recipients.size() && state.recipients[each.number].list;
    });
    return report.kind == ReportKind::failed && (of_list || state.envelope.ret != smtp::Ret::headers);
}

Composition compose(const Settings& settings, const proto::report::Report& report, const Addressee& addressee,
                    const spool::MessageState& state, const OriginalMessage& original, spool::QueueId report_id,
                    Clock clock) {
    const decide::DsnRequests wishes(state);
    const bool of_list = wishes.is_of_list(addressee.recipients.front().number);
    smtp::dsn::Report dsn;
    dsn.kind = report.kind;
    dsn.host = settings.hostname;
    dsn.from = fmt::format("MAILER-DAEMON@{}", settings.origin);
    dsn.display_name = settings.display_name;
    dsn.postmaster = fmt::format("postmaster@{}", settings.origin);
    dsn.sender = ascii_where_possible(addressee.reverse_path);
    if (addressee.postmaster) dsn.copy_to = dsn.postmaster;
    dsn.smtputf8 = state.envelope.smtputf8;
    dsn.queue_id = original.queue_id.text();
    dsn.report_id = report_id.text();
    if (!of_list) dsn.envelope_id = state.envelope.envid;
    dsn.arrival = state.envelope.arrival;
    if (!of_list) dsn.deliver_by = state.envelope.deliver_by;
    dsn.now = clock.now;
    dsn.zone = clock.zone;
    if (report.retry_until != 0) dsn.retry_until = time_of(report.retry_until);
    for (const auto& recipient : addressee.recipients) {
        auto& described = dsn.recipients.emplace_back(describe(recipient, state, wishes));
        if (report.kind == ReportKind::status) described.action = action_of(recipient.kind, state.envelope.trace);
    }
    dsn.content = original.content;
    dsn.content_complete = original.content_complete;
    dsn.returns = returns_of(settings, addressee, state.envelope, of_list);
    if (addressee.postmaster && dsn.returns == smtp::dsn::Return::full) dsn.returns = smtp::dsn::Return::headers;
    dsn.full_content_limit = settings.full_content_limit;
    dsn.wording = settings.wordings[static_cast<std::size_t>(dsn.kind)];

    Composition out;
    const std::string id = report_id.text();
    out.content = fmt::format("Received: by {} (Postrider)\r\n\tid {}; {}\r\n", settings.hostname, id,
                              smtp::rfc5322_date(clock.now, clock.zone));
    out.content += smtp::dsn::compose(dsn);

    spool::EnvelopeRecipient sender;
    sender.address = addressee.postmaster ? dsn.copy_to : dsn.sender;
    if (addressee.postmaster) sender.notify = spool::Notify::never; // no report if the copy cannot be delivered
    out.envelope.recipients = {std::move(sender)};
    out.envelope.arrival = clock.now;
    out.envelope.lifetime = settings.lifetime;
    out.envelope.origin = spool::Origin::report;
    out.envelope.submitter = "report";
    out.envelope.body = smtp::is_ascii(out.content) ? spool::Body::seven_bit : spool::Body::eight_bit;
    out.envelope.require_tls = state.envelope.require_tls;
    out.envelope.smtputf8 = smtp::dsn::needs_smtputf8(dsn);
    out.envelope.parent = original.queue_id;
    out.envelope.pass = state.ndr_passes + 1;
    out.envelope.message_id = smtp::dsn::message_id(dsn);
    return out;
}

std::string_view report_name(ReportKind kind) {
    switch (kind) {
    case ReportKind::failed: return "sender non-delivery notification";
    case ReportKind::delayed: return "sender delay notification";
    default: return "sender delivery status notification";
    }
}

} // namespace bounce
