#include "daemons/smtp-client/session/delivery_job.h"
#include "daemons/smtp-client/message/results.h"
#include "daemons/smtp-client/session/tls_needs.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <iterator>
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
        needs_ = tls_needs_of(context, *message_, order_.recipients, order_.route);
    } else {
        const auto message = context.messages.open(order_.queue_id, proto::delivery::file_of(order_));
        if (!message) return tls_needs_by_default(context); // why, is found again when it is handed over
        needs_ = tls_needs_of(context, *message, order_.recipients, order_.route);
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
    if (!spool::chosen_filter(message_->envelope()).empty()) order_.to_content_filter = true;
    return {};
}

spool::ReadResult<> DeliveryJob::verify_small() {
    if (!message_ || !message_->is_small()) return {};
    const auto content = message_->small_content();
    if (!content) return std::unexpected(content.error());
    return {};
}

void DeliveryJob::take_form(Form form) {
    if (form == form_) return;
    form_ = form;
    rules_.reset();
    ruled_header_.reset();
    addresses_.reset();
}

spool::ReadResult<> DeliveryJob::apply_rules(std::shared_ptr<const common::ContentRules> rules) {
    if (rules_) return {}; // for an earlier server
    rules_ = std::move(rules);
    if (rules_->header.empty() && rules_->mime.empty()) return {};
    auto ruled = ruled_header(*message_, *rules_);
    if (!ruled) return std::unexpected(ruled.error());
    ruled_header_ = std::move(ruled->header);
    findings_ = std::move(ruled->findings);
    warnings_ = std::move(ruled->warnings);
    return {};
}

std::vector<common::ContentFinding> DeliveryJob::take_findings() {
    auto out = std::exchange(findings_, {});
    if (content_) std::ranges::move(content_->take_findings(), std::back_inserter(out));
    return out;
}

std::vector<std::string> DeliveryJob::take_warnings() {
    auto out = std::exchange(warnings_, {});
    if (addresses_) std::ranges::move(addresses_->take_warnings(), std::back_inserter(out));
    if (content_) std::ranges::move(content_->take_warnings(), std::back_inserter(out));
    return out;
}

const std::optional<OutgoingHeader>& DeliveryJob::outgoing_header() const {
    return addresses_ && addresses_->header() ? addresses_->header() : ruled_header_;
}

spool::ReadResult<OutgoingAddresses::State> DeliveryJob::rewrite(GenericMaps& maps, std::function<void()> wake) {
    if (!addresses_) {
        const auto& state = message_->state();
        OutgoingAddresses::Transaction transaction;
        transaction.route = order_.route;
        for (const auto number : order_.recipients) {
            if (number >= state.recipients.size()) continue;
            const auto& recipient = state.recipients[number];
            // The queue-manager groups by reverse-path.
            if (transaction.recipients.empty()) transaction.reverse_path = state.reverse_path_of(recipient);
            transaction.recipients.push_back(recipient.address);
        }
        if (maps.tables_for_all(transaction.recipients, transaction.route).empty())
            return OutgoingAddresses::State::ready;
        addresses_ = std::make_unique<OutgoingAddresses>(*message_, maps, transaction, ruled_header_, std::move(wake));
    }
    return addresses_->prepare();
}

spool::ReadResult<Content::Prepared>
DeliveryJob::prepare(Content::Server server, const std::shared_ptr<const Signing>& signing, smtp::WallTime now) {
    if (!content_)
        content_ = std::make_unique<Content>(*message_, server, order_.to_content_filter ? nullptr : signing,
                                             added_fields(order_, *message_, now), outgoing_header(), rules_);
    return content_->prepare(now);
}

spool::ReadResult<smtp::Transaction> DeliveryJob::transaction(Reach reach) {
    smtp::Transaction out;
    if (!make_transaction(order_, *message_, common::Loop::now(), out))
        return std::unexpected(spool::Error{0, "the recipient is not in the message's file"});
    if (addresses_) {
        out.reverse_path = addresses_->sender(out.reverse_path);
        for (auto& recipient : out.recipients) recipient.address = addresses_->recipient(recipient.address);
    }
    describe(*content_, out);
    // RFC 8689 is about the way between hosts. A content filter would return the mail without it.
    if (reach == Reach::local && !order_.to_content_filter) out.require_tls = false;
    if (message_->envelope().smtputf8 && message_->content().eight_bit) {
        if (outgoing_header()) {
            out.utf8_header = !smtp::is_ascii(outgoing_header()->text);
        } else {
            const auto header = message_->read_header();
            if (!header) return std::unexpected(header.error());
            out.utf8_header = !smtp::is_ascii(*header);
        }
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
    take_form(Form::as_it_is);
    message_.reset();
}

// For the report of the delivery: the message's lock goes with it.
std::optional<spool::MessageReader> DeliveryJob::take_message() {
    content_.reset();
    take_form(Form::as_it_is);
    return std::exchange(message_, std::nullopt);
}

} // namespace smtp_client
