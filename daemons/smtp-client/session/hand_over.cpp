#include "daemons/smtp-client/session/hand_over.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/common/runtime/loop.h"

namespace smtp_client {

using common::Loop;
using Result = HandOver::Result;

namespace {

HandOver refused(const spool::ReadError& error) { return {Result::refused, {}, error}; }

void log_changes(DeliveryJob& job, const HostSession& host) {
    const auto id = job.order().queue_id.text();
    for (const auto& finding : job.take_findings())
        host.log().info("{}: {}: {}: {}", id, common::verb_of(finding.action), finding.subject,
                        smtp::printable(finding.text, 400));
    for (const auto& warning : job.take_warnings()) host.log().warning("{}: {}", id, warning);
}

// The header as rules change it, and the addresses with which it leaves. Nothing: they are known.
std::optional<HandOver> show_as_others_see_it(ClientContext& context, DeliveryJob& job, HostSession& host,
                                              const std::function<void()>& wake) {
    const bool rewrites = context.generic && context.generic->any();
    if (!rewrites) job.keep_addresses();
    if (!rewrites && !context.outgoing_rules) return std::nullopt;
    const bool stays = host.host().host.protocol == smtp::Protocol::lmtp || job.order().to_content_filter;
    job.take_form(stays ? DeliveryJob::Form::as_it_is : DeliveryJob::Form::as_others_see_it);
    if (stays) return std::nullopt;
    if (context.outgoing_rules)
        if (const auto ruled = job.apply_rules(context.outgoing_rules); !ruled) return refused(ruled.error());
    if (!rewrites) return std::nullopt;
    const auto rewritten = job.rewrite(*context.generic, wake);
    if (!rewritten) return refused(rewritten.error());
    if (*rewritten == OutgoingAddresses::State::waits) return HandOver{Result::waits};
    if (*rewritten == OutgoingAddresses::State::failed)
        return HandOver{Result::deferred, "addresses cannot be rewritten: " + job.addresses()->why()};
    return std::nullopt;
}

HandOver hand_over_message(ClientContext& context, DeliveryJob& job, HostSession& host,
                           const std::function<void()>& wake) {
    if (auto pauses = show_as_others_see_it(context, job, host, wake)) return *std::move(pauses);
    auto& session = host.session();
    const auto server =
        session.extensions().eight_bit_mime ? Content::Server::takes_eight_bit : Content::Server::takes_seven_bit;
    const auto prepared = job.prepare(server, context.signing, Loop::now().wall);
    if (!prepared) return refused(prepared.error());
    if (*prepared == Content::Prepared::not_yet) return {Result::not_yet};
    if (context.outgoing_rules || job.addresses()) log_changes(job, host);
    if (!job.unsigned_because().empty())
        host.log().warning("{}: not signed (DKIM): {}", job.order().queue_id.text(), job.unsigned_because());
    auto transaction = job.transaction(reach_of(host.host()));
    if (!transaction) return refused(transaction.error());
    session.deliver(*std::move(transaction), Loop::now().monotonic);
    return {Result::handed_over};
}

} // namespace

HandOver hand_over(ClientContext& context, DeliveryJob& job, HostSession& host, SourceAddresses& sources,
                   const std::function<void()>& wake) {
    if (const auto opened = job.open(context); !opened) return refused(opened.error());
    if (const auto intact = job.verify_small(); !intact) return refused(intact.error());
    const auto& order = job.order();
    const auto& tls = host.tls();
    const auto needs = job.needs(context, reach_of(host.host()));
    if (!tls.admits(needs, tls.dane_applies(order.secure),
                    order.sts)) { // the connection was made for mail that needs less
        job.close();
        return {Result::not_now};
    }
    auto& session = host.session();
    if (job.probe()) {
        session.deliver(*job.probe(), Loop::now().monotonic);
        return {Result::handed_over};
    }
    if (job.message().envelope().require_tls && !host.host().local()) {
        const bool offered = session.extensions().require_tls;
        if (auto why = tls.missing_requirement(needs.domain, offered, order.secure, order.sts); !why.empty())
            return {Result::requirement_missing, std::move(why)};
    }
    if (sources.has_pool() && sources.switch_to_preferred(job.last_deferral_source(context)))
        return {Result::other_source};
    return hand_over_message(context, job, host, wake);
}

void send_content(DeliveryJob& job, HostSession& host, DeliveryJob::From from) {
    auto& session = host.session();
    const auto now = Loop::now().monotonic;
    const auto piece = job.next_piece(from);
    if (!piece) {
        const auto why = spool::text_of(piece.error());
        host.log().warning("{}: {}", job.order().queue_id.text(), why);
        return session.content_broken(why);
    }
    if (!piece->is_last) return session.content(piece->bytes, now);
    CRASH_POINT("smtp-client.before_dot");
    session.content_end(now, piece->bytes);
    host.note_final_dot();
}

} // namespace smtp_client
