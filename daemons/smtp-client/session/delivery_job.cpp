#include "daemons/smtp-client/session/delivery_job.h"
#include "daemons/smtp-client/message/results.h"
#include "daemons/smtp-client/session/tls_needs.h"
#include "libsmtp/text/utf8.h"
#include <utility>

namespace smtp_client {

DeliveryJob::DeliveryJob(smtp::Transaction probe, bool secure, const proto::route::StsPolicy& sts) {
    order_.delivery = probe.id;
    order_.secure = secure;
    order_.sts = sts;
    probe_ = std::move(probe);
}

TlsNeeds DeliveryJob::needs(ClientContext& context, Reach reach) {
    auto needs = needs_abroad(context);
    if (reach == Reach::local) needs.level = decide::TlsLevel::none; // no attacker can be in between
    return needs;
}

TlsNeeds DeliveryJob::needs_abroad(ClientContext& context) {
    if (needs_) return *needs_;
    if (probe_) {
        needs_ = tls_needs_of(context, *probe_);
    } else if (message_) {
        needs_ = tls_needs_of(context, *message_, order_.recipients);
    } else {
        const auto message = context.messages.open(order_.queue_id, proto::delivery::file_of(order_));
        if (!message) return {context.settings.tls, ""}; // why, is found again when it is handed over
        needs_ = tls_needs_of(context, *message, order_.recipients);
    }
    return *needs_;
}

std::string DeliveryJob::last_deferral_source(ClientContext& context) {
    if (probe_) return {};
    std::optional<spool::MessageReader> looked_into;
    if (!message_) {
        auto message = context.messages.open(order_.queue_id, proto::delivery::file_of(order_));
        if (!message) return {}; // why, is found again when it is handed over
        looked_into = *std::move(message);
    }
    const auto& recipients = (message_ ? *message_ : *looked_into).state().recipients;
    for (const auto number : order_.recipients) {
        if (number >= recipients.size() || recipients[number].attempts.empty()) continue;
        const auto& last = recipients[number].attempts.back();
        if (last.outcome == spool::Outcome::deferred && last.reply.code >= 400 && last.reply.code < 500)
            return last.source;
    }
    return {};
}

spool::ReadResult<> DeliveryJob::open(ClientContext& context) {
    if (message_ || probe_) return {};
    auto message = context.messages.open(order_.queue_id, proto::delivery::file_of(order_));
    if (!message) return std::unexpected(message.error());
    message_ = *std::move(message);
    return {};
}

spool::ReadResult<> DeliveryJob::verify_small() {
    if (!message_ || !message_->is_small()) return {};
    const auto content = message_->small_content();
    if (!content) return std::unexpected(content.error());
    return {};
}

spool::ReadResult<Content::Prepared>
DeliveryJob::prepare(Content::Server server, const std::shared_ptr<const Signing>& signing, smtp::WallTime now) {
    if (!content_)
        content_ = std::make_unique<Content>(*message_, server, order_.to_content_filter ? nullptr : signing,
                                             added_fields(order_, *message_, now));
    return content_->prepare(now);
}

spool::ReadResult<smtp::Transaction> DeliveryJob::transaction(Reach reach) {
    smtp::Transaction out;
    if (!make_transaction(order_, *message_, common::Loop::now(), out))
        return std::unexpected(spool::Error{0, "the recipient is not in the message's file"});
    describe(*content_, out);
    // RFC 8689 is about the way between hosts. A content filter would return the mail without it.
    if (reach == Reach::local && !order_.to_content_filter) out.require_tls = false;
    if (message_->envelope().smtputf8 && message_->content().eight_bit) {
        const auto header = message_->read_header();
        if (!header) return std::unexpected(header.error());
        out.utf8_header = !smtp::is_ascii(*header);
    }
    return out;
}

spool::ReadResult<DeliveryJob::Piece> DeliveryJob::next_piece(From from) {
    if (from == From::start) content_->rewind();
    if (content_->at_end()) return Piece{{}, true};
    const auto piece = content_->next();
    if (!piece) {
        damaged_ = std::holds_alternative<spool::Damaged>(piece.error());
        return std::unexpected(piece.error());
    }
    return Piece{*piece, content_->at_end()};
}

void DeliveryJob::close() {
    content_.reset();
    message_.reset();
}

// For the report of the delivery: the message's lock goes with it.
std::optional<spool::MessageReader> DeliveryJob::take_message() { return std::exchange(message_, std::nullopt); }

} // namespace smtp_client
