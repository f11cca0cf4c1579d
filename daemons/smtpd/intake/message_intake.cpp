#include "daemons/smtpd/intake/message_intake.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/common/submission/automatic_bcc.h"
#include "daemons/common/submission/forwarded_requests.h"
#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/recorded_fields.h"
#include "libsmtp/message/received.h"
#include "libsmtp/text/utf8.h"
#include <utility>

namespace smtpd {

using smtp::Reply;

static constexpr std::size_t longest_additions = 512; // about what completing a header adds

// Whether it comes back from a content filter: all that concerns its client and its header has been done.
static bool is_filtered(const Rules& rules) { return rules.listener.service == config::Service::filtered; }

// The fields that are taken out of it. A key in filtered mail is its sender's own text, or was claimed before.
static std::span<const std::string_view> control_fields_for(const Rules& rules, common::Submitter submitter) {
    return common::control_fields_of(is_filtered(rules) ? common::Submitter::stranger : submitter,
                                     rules.config->idempotency);
}

static common::Submitter submitter_of(const Rules& rules, const Client& client) {
    return may_relay(rules, client) ? common::Submitter::trusted : common::Submitter::stranger;
}

MessageIntake::MessageIntake(Services services, const Rules& rules, const Client& client, common::LogContext log,
                             spool::QueueId id, spool::Envelope envelope, std::string schedule)
    : services_(services), rules_(rules), client_(client), log_(log), submitter_(submitter_of(rules, client)), id_(id),
      id_text_(id.text()), envelope_(std::move(envelope)), started_(common::Loop::now().monotonic),
      header_(rules.config->recorded_fields), control_(control_fields_for(rules, submitter_), common::meta_field),
      schedule_(std::move(schedule)) {}

// --- envelope

void MessageIntake::add_recipient(std::string address, smtp::event::Rcpt& rcpt) {
    begun_ = true;
    auto& recipient = envelope_.recipients.emplace_back();
    recipient.address = std::move(address);
    if (rcpt.path.mailbox.bare()) {
        auto original = rcpt.path.text();
        if (original != recipient.address) recipient.original = std::move(original);
    }
    recipient.orcpt = std::move(rcpt.parameters.orcpt);
    recipient.notify = static_cast<spool::Notify>(rcpt.parameters.notify.bits());
    constexpr std::size_t around = 2 * sizeof recipient + 64; // the vector's growth, the heap's own
    memory_ += around + recipient.address.size() + recipient.original.size() + recipient.orcpt.size();
}

void MessageIntake::apply(const PolicyVerdict& verdict) {
    for (const auto& field : verdict.fields) fields_ += field + "\r\n";
    added_recipients_.insert(added_recipients_.end(), verdict.added_recipients.begin(), verdict.added_recipients.end());
    if (!verdict.redirect.empty()) redirect_ = verdict.redirect;
    if (!verdict.content_filter.empty() && !is_filtered(rules_)) // else it comes from one
        envelope_.content_filter = verdict.content_filter;
    if (discard_.empty()) discard_ = verdict.discard;
    if (!verdict.hold.empty() && envelope_.verdict == spool::Verdict::accept) {
        envelope_.verdict = spool::Verdict::hold;
        envelope_.verdict_reason = verdict.hold;
    }
}

void MessageIntake::add_copies() {
    for (const auto& copy : added_recipients_) common::add_bcc_recipient(envelope_, copy);
}

// --- content

void MessageIntake::begin_content(const Reception& reception, std::function<void()> resumed) {
    using HeaderCompletion = smtp::SubmissionOptions::HeaderCompletion;
    resumed_ = std::move(resumed);
    const auto received = received_field(reception); // names a single recipient: before copies are added
    request_ = decide::idempotency::request_of(envelope_, schedule_);
    if (submitter_ == common::Submitter::trusted && rules_.config->idempotency.enabled && !is_filtered(rules_))
        fingerprint_ = std::make_unique<common::idempotency::Fingerprint>();
    add_copies();
    added_recipients_.clear();
    writer_.emplace(services_.spool_writer.write(id_, envelope_));
    writer_->append(received);
    if (!fields_.empty()) writer_->append(fields_);
    if (!completes_header(reception)) return;
    const bool submission = rules_.listener.service == config::Service::submission;
    fixup_.emplace(smtp::SubmissionOptions{
        .origin = rules_.config->mta.origin,
        .sender = envelope_.reverse_path,
        .full_name = {},
        .queue_id = id_text_,
        .now = envelope_.arrival,
        .zone = services_.date.zone(),
        // On relay listeners completing the header must not refuse one that would pass otherwise.
        .max_header = submission ? smtp::SubmissionOptions{}.max_header : rules_.config->smtpd.header_size,
        // Programs of this host may relay messages from elsewhere; users of submission listeners do not.
        .transit = submission ? HeaderCompletion::complete : HeaderCompletion::leave});
}

// Does the message start its way here? Then the fields that every message must have are added.
bool MessageIntake::completes_header(const Reception& reception) const {
    if (rules_.listener.service == config::Service::submission) return true;
    if (is_filtered(rules_)) return false;
    return !reception.forwarded && submitter_ == common::Submitter::trusted &&
           common::contains(rules_.config->smtpd.complete_headers, client_.address);
}

std::string MessageIntake::received_field(const Reception& reception) const {
    const auto& recipients = envelope_.recipients;
    const auto tls = reception.tls ? reception.tls->text() : std::string();
    const auto* shown = reception.tls ? reception.tls->certificate.get() : nullptr;
    // An address beyond ASCII would make the header one that only SMTPUTF8 can carry.
    const bool named = recipients.size() == 1 && smtp::is_ascii(recipients.front().address);
    return smtp::received_field({
        .helo = reception.helo,
        .name = client_.name,
        .address = client_.address_text,
        .by = rules_.normal.hostname,
        .protocol = reception.protocol,
        .tls = tls,
        .id = id_text_,
        .recipient = named ? std::string_view(recipients.front().address) : std::string_view(),
        .date = services_.date.at(common::Loop::now().wall),
        .client_certificate = shown ? std::string_view(shown->subject) : std::string_view(),
        .certificate_issuer = shown ? std::string_view(shown->issuer) : std::string_view(),
        .certificate_verified = shown && shown->problem.empty(),
    });
}

static std::optional<Reply> check_header(const smtp::HeaderScan& header, const config::Smtpd& limits) {
    if (header.received() > limits.received_fields) return Reply{554, {5, 4, 6}, "Error: too many hops"};
    if (header.size() > limits.header_size) return Reply{552, {5, 3, 4}, "Error: message header is too large"};
    if (header.fields() > limits.header_fields) return Reply{554, {5, 6, 0}, "Error: too many header fields"};
    return {};
}

void MessageIntake::append(std::string_view bytes) {
    if (!header_.ended()) { // also of a refused message: the more severe reason is reported
        header_.feed(bytes);
        if (auto refusal = check_header(header_, rules_.config->smtpd)) refuse(*std::move(refusal));
    }
    if (rejection_) return;
    store(bytes, Last::no);
    if (rejection_ || !writer_->wants_pause()) return;
    paused_ = true;
    services_.spool_writer.check_memory();
    writer_->on_resume([this] {
        paused_ = false;
        resumed_();
    });
}

// The content on its way to the spool; `last` is not followed by more.
void MessageIntake::store(std::string_view content, Last last) {
    std::string fixed;
    if (fixup_) {
        using State = smtp::SubmissionFixup::State;
        fixed.reserve(content.size() + longest_additions);
        fixup_->feed(content, fixed);
        const auto state = last == Last::yes ? fixup_->finish(fixed) : fixup_->state();
        if (state == State::refused)
            return refuse({554, {5, 6, 0}, "Error: " + smtp::printable(fixup_->problem(), 200)});
        content = fixed;
    }
    std::string kept;
    if (!control_.ended()) {
        kept.reserve(content.size());
        control_.feed(content, kept);
        if (last == Last::yes) control_.finish(kept);
        content = kept;
    }
    writer_->append(content);
    update_fingerprint(content);
}

// The client gets the reply at the final dot; until then content is only read.
void MessageIntake::refuse(Reply reply) {
    rejection_ = std::move(reply);
    writer_.reset();
}

std::optional<Reply> MessageIntake::finish() {
    if (!rejection_) store({}, Last::yes);
    if (!rejection_) apply_requests();
    if (!rejection_) read_key();
    if (!rejection_) envelope_.tls_optional = header_.tls_optional();
    return rejection_;
}

// The header is known: puts what it asks of this system into the envelope.
void MessageIntake::apply_requests() {
    if (is_filtered(rules_)) return apply_first_decisions();
    auto wrong = common::choose_pool(rules_.config->pools, submitter_, control_.value(common::pool_field), envelope_);
    if (wrong.empty()) wrong = common::apply_sender_requests(rules_.config->requests, submitter_, control_, envelope_);
    if (wrong.empty())
        wrong = common::apply_sender_rules(rules_.config->sender_rules, {submitter_, header_.precedence()}, envelope_);
    if (!wrong.empty()) refuse({554, {5, 6, 0}, "Error: " + wrong});
}

// Lane and pool were chosen, and requests allowed, when it came for the first time.
void MessageIntake::apply_first_decisions() {
    envelope_.returned_to = rules_.listener.name;
    const auto source = control_.value(common::source_field);
    if (source.empty() || !common::restore_source(source, envelope_))
        log_.info("{}: comes back from a content filter without X-Postrider-Source: as mail of the filter's own",
                  id_text_);
    const auto pool_chosen_by = envelope_.pool_chosen_by, lane_chosen_by = envelope_.lane_chosen_by;
    const auto pool = control_.value(common::pool_field);
    constexpr auto trusted = common::Submitter::trusted;
    auto wrong = pool.empty() ? std::string() : common::choose_pool(rules_.config->pools, trusted, pool, envelope_);
    if (wrong.empty()) wrong = common::apply_sender_requests(rules_.config->requests, trusted, control_, envelope_);
    // It was accepted once: a pool that is no longer there is no reason to return it.
    if (!wrong.empty()) log_.info("{}: comes back from a content filter: {}: left out", id_text_, wrong);
    envelope_.pool_chosen_by = pool_chosen_by;
    envelope_.lane_chosen_by = lane_chosen_by;
}

// --- the Idempotency-Key: honoured for clients that may relay, and claimed once the content is known, before
// policy and filters see it. A duplicate ends there.

// The content as it goes to the spool.
void MessageIntake::update_fingerprint(std::string_view content) {
    if (!fingerprint_) return;
    if (control_.ended() && control_.count(common::key_field) == 0)
        fingerprint_.reset(); // most mail has none
    else
        fingerprint_->feed(content);
}

void MessageIntake::read_key() {
    if (!fingerprint_) return;
    const auto key = decide::idempotency::key_in(control_, common::key_field);
    if (!key) return refuse({554, {5, 6, 0}, "Error: " + key.error()});
    if (key->empty()) return;
    envelope_.idempotency_key = *key;
    envelope_.idempotency_digest = fingerprint_->finish(request_ + common::text_of_sender_requests(control_));
}

void MessageIntake::claim_key(std::function<void(const std::optional<Reply>&)> decided) {
    services_.keys.claim(envelope_, id_, rules_.listener.idempotency_match,
                         [this, decided = std::move(decided)](common::idempotency::Decision decision) {
                             reservation_ = std::move(decision.hold);
                             if (reservation_) return decided({});
                             decided(end_by(decision));
                         });
}

Reply MessageIntake::end_by(const common::idempotency::Decision& decision) {
    if (decision.duplicate_of) {
        log_.info("{}: {}", id_text_, decision.duplicate_text(envelope_.idempotency_key));
        auto event = common::duplicate_event(envelope_, id_, *decision.duplicate_of);
        event.listener = rules_.listener.name;
        services_.submission_queue.tell_of_duplicate(std::move(event));
    }
    return decision.reply;
}

// --- the end

std::string MessageIntake::message_id() const {
    return fixup_ ? smtp::printable(fixup_->message_id(), 998) : header_.message_id();
}

milter::Message& MessageIntake::open_for_filters() {
    memory_ += header_.size();
    return milter_message_.emplace(*writer_, envelope_);
}

bool MessageIntake::is_kept() {
    if (milter_message_) {
        add_copies();
        if (envelope_.recipients.empty()) {
            log_.info("{}: discard: a filter has removed all recipients", id_text_);
            discard_ = "no recipients";
        }
    }
    return discard_.empty();
}

void MessageIntake::commit(std::function<void(const std::optional<NotCommitted>&)> done) {
    done_ = std::move(done);
    if (!reservation_) return make_durable();
    services_.keys.secure(*reservation_, rules_.listener.idempotency_match,
                          [this](const std::optional<common::idempotency::Decision>& decision) {
                              if (!decision) return make_durable();
                              reservation_.reset();
                              const auto done = std::move(done_); // may destroy this
                              done(end_by(*decision));
                          });
}

void MessageIntake::make_durable() {
    if (!redirect_.empty()) {
        envelope_.recipients.assign(1, {});
        envelope_.recipients.front().address = redirect_;
    }
    if (rules_.listener.content_filter.empty() &&
        envelope_.content_filter.empty()) // else when it has come back from there
        common::add_automatic_bcc(rules_.config->automatic_bcc, envelope_);
    envelope_.message_id = message_id();
    common::record_fields(header_, envelope_);
    if (milter_message_)
        milter_message_->seal();
    else
        writer_->set_envelope(envelope_);
    CRASH_POINT("smtpd.before_sync");
    hint_ = writer_->encoded_envelope();
    services_.spool_writer.commit(
        *writer_, [this](spool::Result<spool::DurableReceipt> receipt) { committed(std::move(receipt)); });
}

void MessageIntake::committed(spool::Result<spool::DurableReceipt> receipt) {
    const auto done = std::move(done_); // may destroy this
    if (!receipt) {
        log_.warning("{}: not queued: {}", id_text_, receipt.error().what);
        return done(common::SpoolWriter::unavailable_after(receipt.error()));
    }
    CRASH_POINT("smtpd.after_sync");
    services_.submission_queue.submit(*receipt, hint_);
    if (reservation_) return services_.keys.confirm(std::move(reservation_), [done] { done({}); });
    done({});
}

} // namespace smtpd
