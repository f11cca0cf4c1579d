// A message's content on its way through a Connection: from DATA into the spool, looked over, durable, and only then a
// 250. Who may send to whom was answered before (answers.cpp).
#include "daemons/common/submission/automatic_bcc.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/smtpd/session/connection.h"
#include "libsmtp/message/received.h"
#include "libsmtp/text/utf8.h"

namespace smtpd {

using smtp::Reply;

void Connection::operator()(smtp::event::Data&) {
    with_policy_checks(Stage::data, [this] { begin_content(); });
}

void Connection::begin_content() {
    static const Reply go_on{354, {}, "End data with <CR><LF>.<CR><LF>"};
    auto& transaction = *transaction_;
    const auto received = received_field(); // names a single recipient: before copies are added
    transaction.request = decide::idempotency::request_of(transaction.envelope, transaction.schedule);
    if (submitter() == common::Submitter::trusted && rules_->config->idempotency.enabled)
        transaction.fingerprint = std::make_unique<common::idempotency::Fingerprint>();
    for (const auto& copy : transaction.added_recipients) common::add_bcc_recipient(transaction.envelope, copy);
    transaction.added_recipients.clear();
    transaction.writer.emplace(worker_.spool_writer.write(transaction.id, transaction.envelope));
    transaction.writer->append(received);
    if (!transaction.fields.empty()) transaction.writer->append(transaction.fields);
    if (completes_header())
        transaction.fixup.emplace(smtp::SubmissionOptions{.origin = rules_->config->mta.origin,
                                                          .sender = transaction.envelope.reverse_path,
                                                          .full_name = {},
                                                          .queue_id = transaction.id_text,
                                                          .now = transaction.envelope.arrival,
                                                          .zone = worker_.date.zone(),
                                                          .max_header = max_header_size(),
                                                          .transit = transit()});
    answer(go_on);
}

// Is it a message that begins its way here? Then what every message must have is added.
bool Connection::completes_header() const {
    if (rules_->listener.service == config::Service::submission) return true;
    return !xforward_ && may_relay(*rules_, client_) &&
           common::contains(rules_->config->smtpd.complete_headers, client_.address);
}

// Programs of this host may pass on what came from elsewhere; who submits does not.
smtp::SubmissionOptions::HeaderCompletion Connection::transit() const {
    using HeaderCompletion = smtp::SubmissionOptions::HeaderCompletion;
    return rules_->listener.service == config::Service::submission ? HeaderCompletion::complete : HeaderCompletion::leave;
}

// On relay listeners nobody is refused a header for its being completed.
std::size_t Connection::max_header_size() const {
    if (rules_->listener.service == config::Service::submission) return smtp::SubmissionOptions{}.max_header;
    return rules_->config->smtpd.header_size;
}

// The content on its way to the spool; `last` is not followed by more.
void Connection::store(std::string_view content, Last last) {
    auto& transaction = *transaction_;
    std::string fixed;
    if (transaction.fixup) {
        using State = smtp::SubmissionFixup::State;
        transaction.fixup->feed(content, fixed);
        const auto state = last == Last::yes ? transaction.fixup->finish(fixed) : transaction.fixup->state();
        if (state == State::refused)
            return refuse_content(
                {554, {5, 6, 0}, "Error: " + smtp::printable(transaction.fixup->problem(), 200)});
        content = fixed;
    }
    std::string kept;
    if (!transaction.control.ended()) {
        transaction.control.feed(content, kept);
        if (last == Last::yes) transaction.control.finish(kept);
        content = kept;
    }
    transaction.writer->append(content);
    update_fingerprint(content);
}

// The header is known; the envelope will say which addresses the message goes out from.
void Connection::choose_pool() {
    auto& transaction = *transaction_;
    const auto wrong = common::choose_pool(
        rules_->config->pools, submitter(), transaction.control.value(common::pool_field), transaction.envelope);
    if (!wrong.empty()) refuse_content({554, {5, 6, 0}, "Error: " + wrong});
}

std::string Connection::received_field() {
    const auto& transaction = *transaction_;
    const auto& recipients = transaction.envelope.recipients;
    const auto tls_text = tls_ ? tls_facts_.text() : std::string();
    // An address beyond ASCII would make the header one that only SMTPUTF8 can carry.
    const bool named = recipients.size() == 1 && smtp::is_ascii(recipients.front().address);
    return smtp::received_field({
        .helo = session_.helo(),
        .name = client_.name,
        .address = client_.address_text,
        .by = rules_->normal.hostname,
        .protocol = session_.transaction_protocol(),
        .tls = tls_text,
        .id = transaction.id_text,
        .recipient = named ? std::string_view(recipients.front().address) : std::string_view(),
        .date = worker_.date.at(common::Loop::now().wall),
    });
}

static std::optional<Reply> check_header(const smtp::HeaderScan& header, const config::Smtpd& limits) {
    if (header.received() > limits.received_fields) return Reply{554, {5, 4, 6}, "Error: too many hops"};
    if (header.size() > limits.header_size)
        return Reply{552, {5, 3, 4}, "Error: message header is too large"};
    if (header.fields() > limits.header_fields) return Reply{554, {5, 6, 0}, "Error: too many header fields"};
    return {};
}

void Connection::operator()(smtp::event::Chunk& chunk) {
    auto& transaction = *transaction_;
    if (!transaction.header.ended()) { // also of a refused message: the weightier reason is told
        transaction.header.feed(chunk.bytes);
        if (auto refusal = check_header(transaction.header, rules_->config->smtpd))
            refuse_content(*std::move(refusal));
    }
    if (transaction.rejection) return;
    store(chunk.bytes, Last::no);
    if (transaction.rejection) return;
    auto& writer = *transaction.writer;
    if (!writer.wants_pause()) return;
    paused_ = true;
    worker_.spool_writer.check_memory();
    writer.on_resume([this] {
        paused_ = false;
        session_.reading_resumed(common::Loop::now().monotonic);
        pump();
    });
}

// The client is told at the final dot; until then it is only read.
void Connection::refuse_content(Reply reply) {
    transaction_->rejection = std::move(reply);
    transaction_->writer.reset();
}

void Connection::operator()(smtp::event::EndOfData&) {
    auto& transaction = *transaction_;
    if (!transaction.rejection) store({}, Last::yes);
    if (!transaction.rejection) choose_pool();
    if (!transaction.rejection) read_key();
    if (transaction.rejection) {
        reject(smtp::Verb::end_of_message, *transaction.rejection);
        return end_transaction();
    }
    transaction.envelope.tls_optional = transaction.header.tls_optional();
    if (!transaction.envelope.idempotency_key.empty()) return claim_key();
    check_content();
}

void Connection::check_content() {
    auto& transaction = *transaction_;
    const auto message_id = transaction.fixup ? smtp::printable(transaction.fixup->message_id(), 998)
                                              : transaction.header.message_id();
    worker_.log.context("cleanup").info("{}: message-id={}", transaction.id_text, // whatever becomes of it
                                    message_id.empty() ? "<>" : message_id);
    if (policy_chain_) transaction.memory += transaction.header.size();
    if (policy_chain_)
        policy_chain_->context.message = &transaction.milter_message.emplace(*transaction.writer, transaction.envelope);
    with_policy_checks(Stage::end_of_data, [this] { commit(); });
}

void Connection::commit() {
    auto& transaction = *transaction_;
    if (transaction.milter_message) {
        for (const auto& copy : transaction.added_recipients) common::add_bcc_recipient(transaction.envelope, copy);
        if (transaction.envelope.recipients.empty()) {
            log_context().info("{}: discard: a filter has removed all recipients", transaction.id_text);
            transaction.discard = "no recipients";
        }
    }
    if (!transaction.discard.empty()) {
        answer({250, {2, 0, 0}, "Ok: queued as " + transaction.id_text});
        return end_transaction();
    }
    const bool copied = common::add_automatic_bcc(rules_->config->automatic_bcc, transaction.envelope);
    if (transaction.milter_message)
        transaction.milter_message->seal();
    else if (copied || !transaction.envelope.pool.empty() || transaction.envelope.tls_optional || transaction.hold)
        transaction.writer->set_envelope(transaction.envelope);
    CRASH_POINT("smtpd.before_sync");
    worker_.spool_writer.commit(*transaction.writer, [this, hint = transaction.writer->encoded_envelope()](
                                                    spool::Result<spool::DurableReceipt> receipt) {
        committed(std::move(receipt), hint);
    });
}

void Connection::committed(spool::Result<spool::DurableReceipt> receipt, const std::string& hint) {
    auto& transaction = *transaction_;
    if (receipt) {
        CRASH_POINT("smtpd.after_sync");
        worker_.submission_queue.submit(*receipt, hint);
        if (transaction.hold) return worker_.keys.confirm(std::move(transaction.hold), [this] { confirm_queued(); });
        return confirm_queued();
    }
    log_context().warning("{}: not queued: {}", transaction.id_text, receipt.error().what);
    reject(smtp::Verb::end_of_message, reply_for(common::SpoolWriter::unavailable_after(receipt.error())));
    end_transaction();
    pump();
}

void Connection::confirm_queued() {
    // This is the instant: the receipt is what a 250 is made of.
    answer({250, {2, 0, 0}, "Ok: queued as " + transaction_->id_text});
    end_transaction();
    pump();
    CRASH_POINT("smtpd.after_reply");
}

} // namespace smtpd
