#include "daemons/pickup/submission.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/common/submission/automatic_bcc.h"
#include "daemons/common/submission/lifetime.h"
#include "daemons/common/submission/recorded_fields.h"
#include "libsmtp/message/received.h"
#include "libsmtp/text/date.h"
#include "libspool/message/export_format.h"
#include "libspool/message/writers.h"
#include <algorithm>
#include <fmt/format.h>

namespace pickup {

using namespace proto::submit;
using namespace std::chrono_literals;

namespace {

constexpr spool::QueueId no_message{1ULL << 8};         // of slot 0, which no writer has
constexpr auto answer_within = std::chrono::minutes(5); // sendmail -bv: what is not known by then is reported as such

const char* reason_of(common::Unavailable why) {
    if (why == common::Unavailable::refused) return "the journal cannot be written, try again later";
    if (why == common::Unavailable::memory) return "too much mail is being received, try again later";
    return why == common::Unavailable::full ? "the mail queue is full, try again later"
                                            : "the mail queue cannot be written, try again later";
}

} // namespace

void Submission::take(const Message& message) {
    if (ended()) return;
    if (stage_ == Stage::returning) {
        if (const auto* more = std::get_if<Content>(&message)) returned_->keep(more->bytes);
        if (std::holds_alternative<End>(message)) return_to_sender(true);
        return;
    }
    complete_ = std::holds_alternative<End>(message);
    if (const auto* first = std::get_if<Begin>(&message)) {
        if (stage_ != Stage::begin) return refuse(EX_PROTOCOL, "a second beginning");
        return begin(*first);
    }
    if (const auto* piece = std::get_if<Import>(&message)) return import(*piece);
    if (stage_ == Stage::begin || stage_ == Stage::envelope) return refuse(EX_PROTOCOL, "no beginning");
    if (const auto* others = std::get_if<Recipients>(&message)) {
        if (stage_ != Stage::header || taken_ > 0 || importing_)
            return refuse(EX_PROTOCOL, "recipients after the content");
        return static_cast<void>(add_recipients(others->recipients));
    }
    if (const auto* asked = std::get_if<Requests>(&message)) return take_requests(asked->header);
    if (const auto* more = std::get_if<Content>(&message)) return content(more->bytes);
    if (std::holds_alternative<End>(message)) return end();
    refuse(EX_PROTOCOL, "unexpected answer");
}

void Submission::begin(const Begin& begin) {
    envelope_.uid = uid_;
    envelope_.submitter = "uid:" + std::to_string(uid_);
    if (client_) {
        envelope_.submitter = client_->submitter;
        envelope_.client_address = client_->address;
        envelope_.protocol = "HTTP";
    }
    constexpr auto other_version = "sendmail and the running mail system are of different versions";
    if (begin.version != version && notice_ == RejectionNotice::to_program) return refuse(EX_TEMPFAIL, other_version);
    sender_as_given_ = begin.sender.substr(0, 300);
    if (!passes(set_sender(envelope_, begin.sender, context_.config->mta.origin)) || !read_recipients(begin)) return;
    if (begin.version != version)
        return refuse(EX_PROTOCOL, other_version); // what lies there will be no other tomorrow
    if (!admit()) return;
    const auto now = common::Loop::now().wall;
    const auto zone = std::chrono::minutes(std::clamp(begin.zone, -24 * 60, 24 * 60));

    envelope_.arrival = now;
    envelope_.lifetime = common::lifetime_of(envelope_.reverse_path, context_.config->queue);
    envelope_.origin = spool::Origin::local;
    envelope_.trace = begin.trace;
    if (envelope_.trace == spool::Trace::verify) envelope_.expiry = now + answer_within;
    if (!passes(set_options(envelope_, begin))) return;

    smtp::SubmissionOptions options;
    options.recipients = begin.from_header ? smtp::RecipientSource::header : smtp::RecipientSource::arguments;
    options.origin = context_.config->mta.origin;
    options.sender = envelope_.reverse_path;
    options.full_name = is_one_line(begin.full_name) && begin.full_name.size() < 500 ? begin.full_name : std::string();
    options.queue_id = id_.text();
    options.now = now;
    options.zone = zone;
    fixup_.emplace(std::move(options));
    if (context_.config->idempotency.enabled) fingerprint_ = std::make_unique<common::idempotency::Fingerprint>();
    stage_ = Stage::header;
    rewritten_ = received_field(now, zone);
}

std::string Submission::received_field(smtp::WallTime now, std::chrono::minutes zone) const {
    const auto id = id_.text(), date = smtp::rfc5322_date(now, zone);
    if (!client_ || client_->address.empty())
        return smtp::received_field_for_local(context_.config->mta.hostname, uid_, id, date);
    return smtp::received_field({.helo = {},
                                 .name = "unknown",
                                 .address = client_->address,
                                 .by = context_.config->mta.hostname,
                                 .protocol = "HTTP",
                                 .tls = {},
                                 .id = id,
                                 .recipient = {},
                                 .date = date});
}

std::string Submission::source_text() const {
    if (!client_) return fmt::format("uid={}", uid_);
    return fmt::format("submitter={} client={}", client_->submitter, client_->address);
}

// False: refused.
bool Submission::admit() {
    const auto id = context_.spool_writer.admit(0, common::Loop::now());
    if (id) {
        id_ = *id;
        return true;
    }
    turn_away(id.error());
    return false;
}

void Submission::turn_away(common::Unavailable why) {
    mail_refused_ = true;
    cause_ = proto::relayed_submission::Cause::unavailable;
    refuse(EX_TEMPFAIL, reason_of(why));
}

// Without its name in the store of keys, a transfer that is repeated would become a second message. False: refused.
bool Submission::transfers_allowed() {
    if (context_.config->idempotency.enabled) return true;
    refuse(EX_TEMPFAIL, "messages of other nodes need idempotency.enabled");
    return false;
}

// A message from another spool: its envelope is trusted, because an operator submits it.
void Submission::import(const Import& import) {
    if (stage_ != Stage::begin && stage_ != Stage::envelope) return refuse(EX_PROTOCOL, "a second beginning");
    if (import_policy_ == ImportPolicy::rejected)
        return refuse(EX_NOPERM, "only root and members of mta.admin_group may import messages");
    if (import.version != version)
        return refuse(EX_TEMPFAIL, "postrider and the running mail system are of different versions");
    stage_ = Stage::envelope;
    encoded_envelope_ += import.piece;
    if (encoded_envelope_.size() > largest_envelope) return refuse(EX_DATAERR, "the envelope is too large");
    if (import.more) return;
    auto envelope = spool::decode(encoded_envelope_);
    if (!envelope) return refuse(EX_DATAERR, "invalid envelope: " + envelope.error().why);
    if (envelope->recipients.empty()) return refuse(EX_DATAERR, "no recipients");
    if (import_policy_ == ImportPolicy::transfers && (!envelope->transferred || envelope->transferred->node.empty()))
        return refuse(EX_DATAERR, "the message does not say which node it comes from");
    if (import_policy_ == ImportPolicy::transfers && envelope->transferred->node.contains(' '))
        return refuse(EX_DATAERR, "no node has the name that the message gives");
    if (const auto wrong = spool::violates_writer_rights(*envelope, spool::submission_slot); !wrong.empty())
        return refuse(EX_DATAERR, wrong);
    envelope_ = *std::move(envelope);
    if (envelope_.lifetime == 0)
        envelope_.lifetime = common::lifetime_of(envelope_.reverse_path, context_.config->queue);
    importing_ = true;
    if (envelope_.transferred) {
        if (import_policy_ == ImportPolicy::transfers && !transfers_allowed()) return;
        fingerprint_ = std::make_unique<common::idempotency::Fingerprint>();
        envelope_.transferred->time = common::Loop::now().wall;
    }
    const auto admitted = context_.spool_writer.admit(0, common::Loop::now());
    if (!admitted && import_policy_ == ImportPolicy::transfers) { // it may be here already
        not_admitted_ = admitted.error();
        stage_ = Stage::content;
        return;
    }
    if (!admitted) return turn_away(admitted.error());
    id_ = *admitted;
    writer_.emplace(context_.spool_writer.write(id_, envelope_));
    encoded_envelope_ = writer_->encoded_envelope();
    stage_ = Stage::content;
    if (const auto& from = envelope_.transferred; from && import_policy_ == ImportPolicy::transfers)
        context_.log.info("{}: message {} of node {} from=<{}>", id_.text(), from->id.text(), from->node,
                          envelope_.reverse_path);
    else
        context_.log.info("{}: imported by uid={} from=<{}>", id_.text(), uid_, envelope_.reverse_path);
    context_.log.context("cleanup").info("{}: message-id={}", id_.text(), envelope_.message_id);
}

bool Submission::read_recipients(const Begin& begin) {
    from_header_ = begin.from_header;
    header_notify_ = begin.header_notify;
    if (begin.recipients.empty() && !from_header_) {
        refuse(EX_USAGE, "no recipients");
        return false;
    }
    if (!add_recipients(begin.recipients)) return false;
    if (envelope_.recipients.empty() && !from_header_) {
        refuse(EX_USAGE, "no recipients");
        return false;
    }
    return true;
}

bool Submission::add_recipients(const std::vector<Recipient>& recipients) {
    return passes(pickup::add_recipients(envelope_, recipients,
                                         {context_.config->mta.origin, context_.config->submit.recipients}));
}

bool Submission::passes(Accepted&& checked) {
    if (!checked) refuse(checked.error().exit_status, std::move(checked.error().text));
    return checked.has_value();
}

void Submission::take_requests(std::string_view header) {
    if (stage_ != Stage::header || taken_ > 0 || importing_) return refuse(EX_PROTOCOL, "requests after the content");
    std::string others;
    if (header.ends_with("\r\n")) control_.feed(header, others);
    if (!header.ends_with("\r\n") || !others.empty() || control_.ended())
        refuse(EX_PROTOCOL, "fields that are not requests");
}

void Submission::content(std::string_view bytes) {
    if (importing_ && bytes.size() <= largest_content) {
        if (fingerprint_) fingerprint_->feed(bytes);
        return writer_ ? writer_->append(bytes) : void();
    }
    taken_ += bytes.size();
    if (bytes.size() > largest_content) return refuse(EX_PROTOCOL, "too much content at once");
    if (notice_ == RejectionNotice::by_report)
        beginning_ +=
            bytes.substr(0, ReturnedSubmission::max_kept - std::min(ReturnedSubmission::max_kept, beginning_.size()));
    if (taken_ > context_.config->submit.message_size)
        return refuse(EX_DATAERR,
                      "the message is larger than " + std::to_string(context_.config->submit.message_size) + " bytes",
                      "5.3.4");
    rewrite([&](std::string& content) { fixup_->feed(bytes, content); });
    if (header_complete()) write_rewritten();
}

// The fixup's output, without the fields addressed to us.
void Submission::rewrite(const std::function<void(std::string&)>& fix) {
    if (control_.ended()) return fix(rewritten_);
    std::string content;
    fix(content);
    control_.feed(content, rewritten_);
}

// The header has been read: the envelope is complete. False: not yet, or refused.
bool Submission::header_complete() {
    if (fixup_->state() == smtp::SubmissionFixup::State::refused) {
        refuse(EX_DATAERR, fixup_->problem());
        return false;
    }
    if (fixup_->state() == smtp::SubmissionFixup::State::header) return false;
    if (writer_) return true;
    if (from_header_) {
        for (const auto& address : fixup_->recipients())
            if (!passes(add_recipient(envelope_, address, {}, header_notify_, context_.config->submit.recipients)))
                return false;
        if (envelope_.recipients.empty()) {
            refuse(EX_USAGE, "no recipients in the header");
            return false;
        }
    }
    envelope_.smtputf8 = envelope_.smtputf8 || has_utf8_header(rewritten_);
    envelope_.message_id = fixup_->message_id();
    scan();
    common::record_fields(scan_, envelope_);
    constexpr auto trusted = common::Submitter::trusted;
    auto wrong = common::choose_pool(context_.config->pools, trusted, control_.value(common::pool_field), envelope_);
    if (wrong.empty()) wrong = common::apply_sender_requests(context_.config->requests, trusted, control_, envelope_);
    if (wrong.empty()) {
        smtp::HeaderScan header;
        header.feed(rewritten_);
        wrong = common::apply_sender_rules(context_.config->sender_rules, {trusted, header.precedence()}, envelope_);
    }
    if (!wrong.empty()) {
        refuse(EX_DATAERR, wrong);
        return false;
    }
    writer_.emplace(context_.spool_writer.write(id_, envelope_));
    encoded_envelope_ = writer_->encoded_envelope();
    stage_ = Stage::content;
    context_.log.info("{}: {} from=<{}>", id_.text(), source_text(), sender_as_given_);
    context_.log.context("cleanup").info("{}: message-id={}", id_.text(), envelope_.message_id);
    return true;
}

// What is new of it.
void Submission::scan() {
    scan_.feed(std::string_view(rewritten_).substr(scanned_));
    scanned_ = rewritten_.size();
}

void Submission::write_rewritten() {
    scan();
    if (scan_.received() > smtp::max_hops) return refuse(EX_DATAERR, "the message is looping", "5.4.6");
    writer_->append(rewritten_);
    if (control_.ended() && control_.count(common::key_field) == 0 && own_key_.empty())
        fingerprint_.reset(); // most mail has no key
    if (fingerprint_) fingerprint_->feed(rewritten_);
    rewritten_.clear();
    scanned_ = 0;
}

// Of the user, in messages and in KiB.
bool Submission::within_limits() {
    if (client_) return true; // http has limits of its own for its clients
    const auto& limits = context_.config->submit;
    const auto now = common::Loop::now().monotonic;
    const auto kib = [](std::uint64_t bytes) { return static_cast<std::uint32_t>((bytes + 1023) / 1024); };
    const auto user = std::to_string(uid_);
    return context_.rates.take("messages " + user, limits.user_messages_per_hour, 1h, now) &&
           context_.rates.take("KiB " + user, kib(limits.user_bytes_per_hour), 1h, now, kib(taken_));
}

void Submission::end() {
    if (!importing_) {
        rewrite([&](std::string& content) { fixup_->finish(content); });
        control_.finish(rewritten_);
        if (!header_complete()) return;
        write_rewritten();
        if (!writer_) return; // refused
        over_limit_ = !within_limits();
        if (over_limit_) return refuse(EX_TEMPFAIL, "you have submitted too much mail lately, try again later");
    }
    if (importing_) return end_import();
    if (envelope_.trace == spool::Trace::verify) return commit(); // it is never read
    envelope_.tls_optional = scan_.tls_optional();
    if (!read_key()) return;
    if (!envelope_.idempotency_key.empty()) return claim_key();
    proceed();
}

// It was accepted before, with all decisions about it made. A transfer becomes one message, however often it comes. If
// no mail is taken now, a repetition still gets its answer: the id with which the name is claimed is then one that no
// message ever has, and the claim goes when it has been answered.
void Submission::end_import() {
    if (import_policy_ == ImportPolicy::transfers && !transfers_allowed()) return; // as of a reload meanwhile
    if (!envelope_.transferred || envelope_.transferred->node.empty() || !context_.config->idempotency.enabled)
        return commit();
    envelope_.transferred->digest = fingerprint_->finish(spool::transfer_request(envelope_));
    if (writer_) writer_->set_envelope(envelope_);
    stage_ = Stage::filtering;
    context_.keys.claim_transfer(
        *envelope_.transferred, not_admitted_ ? no_message : id_,
        [self = shared_from_this()](common::idempotency::Decision decision) { self->claimed(std::move(decision)); });
}

// ---- its Idempotency-Key: claimed once all of it is here, before filters see it. A duplicate ends there, with the
// queue id of the first one.

// False: refused.
bool Submission::read_key() {
    if (!fingerprint_) return true;
    auto key = decide::idempotency::key_in(control_, common::key_field);
    if (!key) {
        refuse(EX_DATAERR, key.error());
        return false;
    }
    if (key->empty()) key = own_key_;
    if (key->empty()) return true;
    envelope_.idempotency_key = *std::move(key);
    envelope_.idempotency_digest = fingerprint_->finish(decide::idempotency::request_of(envelope_, {}) +
                                                        common::text_of_sender_requests(control_));
    return true;
}

void Submission::claim_key() {
    stage_ = Stage::filtering;
    context_.keys.claim(
        envelope_, id_, context_.config->idempotency.match,
        [self = shared_from_this()](common::idempotency::Decision decision) { self->claimed(std::move(decision)); });
}

void Submission::claimed(common::idempotency::Decision decision) {
    if (not_admitted_ && !decision.duplicate_of && !decision.busy && !decision.other_content)
        return turn_away(*not_admitted_);
    if (decision.hold) {
        hold_ = std::move(decision.hold);
        if (importing_) return commit();
        return proceed();
    }
    if (decision.duplicate_of && importing_) {
        context_.log.info("{}message {} of node {} is here already, as {}", id_.valid() ? id_.text() + ": " : "",
                          envelope_.transferred->id.text(), envelope_.transferred->node, decision.duplicate_of->text());
        stage_ = Stage::over;
        writer_.reset();
        duplicate_ = true;
        return answer({EX_OK, decision.duplicate_of->text(), "not imported: it is here already"});
    }
    if (decision.duplicate_of) {
        context_.log.info("{}: {}", id_.text(), decision.duplicate_text(envelope_.idempotency_key));
        context_.submission_queue.tell_of_duplicate(common::duplicate_event(envelope_, id_, *decision.duplicate_of));
        stage_ = Stage::over;
        writer_.reset();
        duplicate_ = true;
        first_node_ = decision.node;
        return answer(
            {EX_OK, decision.duplicate_of->text(),
             fmt::format("not sent: according to its idempotency key it is a duplicate of {}", decision.first_text())});
    }
    using proto::relayed_submission::Cause;
    deferred_ = !decision.reply.permanent();
    cause_ = decision.busy ? Cause::key_busy : decision.other_content ? Cause::key_reused : Cause::unavailable;
    if (deferred_) return refuse(EX_TEMPFAIL, decision.reply.text);
    if (importing_ && decision.other_content)
        return refuse(EX_DATAERR, fmt::format("this transfer brought another message before, which is here as {}",
                                              decision.existing.text()));
    if (notice_ == RejectionNotice::to_program) return refuse(EX_DATAERR, decision.reply.text);
    envelope_.idempotency_key.clear(); // the report's reason is of another message's key
    envelope_.idempotency_digest.clear();
    envelope_.idempotency_key_reused = true;
    report_refusal(decision.reply);
}

void Submission::proceed() {
    const bool waits = notice_ == RejectionNotice::to_program;
    if (waits && context_.recipients.any_suppressed()) return check_suppressed();
    pass_on();
}

// ---- suppressed recipients: a message for them only is refused. Otherwise the other recipients get it, and a report
// about the suppressed ones comes later.

void Submission::check_suppressed() {
    stage_ = Stage::filtering;
    context_.being_checked.insert(shared_from_this());
    suppressed_.emplace(context_.recipients);
    suppressed_->find(envelope_, [this](const std::vector<SuppressedRecipients::Suppressed>& found) {
        context_.loop.defer([self = shared_from_this(), found] {
            self->suppressed_.reset();
            self->context_.being_checked.erase(self);
            self->suppressed(found);
        });
    });
}

void Submission::suppressed(const std::vector<SuppressedRecipients::Suppressed>& found) {
    if (found.size() < envelope_.recipients.size()) {
        if (client_) leave_out(found);
        return pass_on();
    }
    cause_ = proto::relayed_submission::Cause::suppressed;
    if (client_) left_out_ = found;
    const auto others = found.size() > 1 ? fmt::format(" (and {} more recipients)", found.size() - 1) : "";
    deferred_ = context_.config->bounce.soft_bounce;
    refuse(deferred_ ? EX_TEMPFAIL : EX_NOPERM,
           fmt::format("{}: {}{}", found.front().address, found.front().reason, others));
}

// Its client learns at once which recipients are not accepted, as at RCPT.
void Submission::leave_out(const std::vector<SuppressedRecipients::Suppressed>& found) {
    left_out_ = found;
    std::set<std::string_view> addresses;
    for (const auto& each : found) addresses.insert(each.address);
    std::erase_if(envelope_.recipients, [&](const auto& each) { return addresses.contains(each.address); });
}

void Submission::pass_on() {
    if (context_.filters->none()) {
        if (add_automatic_bcc() || envelope_.tls_optional || hold_ || !left_out_.empty())
            writer_->set_envelope(envelope_);
        return commit();
    }
    run_filters();
}

// Of mail for a content filter, when it has come back.
bool Submission::add_automatic_bcc() {
    if (!context_.config->submit.content_filter.empty() || !envelope_.content_filter.empty()) return false;
    return common::add_automatic_bcc(context_.config->automatic_bcc, envelope_);
}

void Submission::run_filters() {
    stage_ = Stage::filtering;
    context_.being_checked.insert(shared_from_this());
    filter_run_.emplace(context_.loop, context_.log, context_.filters, context_.config->mta.hostname, id_.text(),
                        *writer_, envelope_);
    filter_run_->begin([this](const FilterRun::Outcome& outcome) {
        // The filters go when they have finished speaking.
        context_.loop.defer([self = shared_from_this()] {
            self->filter_run_.reset();
            self->context_.being_checked.erase(self);
        });
        filters_finished(outcome);
    });
}

void Submission::filters_finished(const FilterRun::Outcome& outcome) {
    const bool permanent = outcome.refusal && outcome.refusal->permanent() && !context_.config->bounce.soft_bounce;
    if (permanent && notice_ == RejectionNotice::by_report && !envelope_.recipients.empty())
        return report_refusal(*outcome.refusal);
    if (outcome.refusal) {
        deferred_ = !permanent;
        return refuse(deferred_ ? EX_TEMPFAIL : EX_UNAVAILABLE, outcome.refusal->line());
    }
    if (outcome.discard || envelope_.recipients.empty()) {
        if (!outcome.discard)
            context_.log.context("cleanup").info("{}: discard: a filter has removed all recipients", id_.text());
        stage_ = Stage::over;
        return context_.loop.defer([self = shared_from_this()] {
            self->writer_.reset();
            self->answer({EX_OK, self->id_.text(), {}});
        });
    }
    add_automatic_bcc();
    filter_run_->seal();
    commit();
}

// Its program has gone long ago: the message is accepted, and returned to its sender.
void Submission::report_refusal(const smtp::Reply& reply) {
    for (auto& recipient : envelope_.recipients) recipient.fate = spool::Fate::failed;
    envelope_.verdict = spool::Verdict::accept;
    envelope_.verdict_reason = (reply.status.given() ? reply.status.text() + " " : "") + reply.text;
    std::ranges::replace(envelope_.verdict_reason, '\n', ' ');
    if (filter_run_)
        filter_run_->seal();
    else
        writer_->set_envelope(envelope_);
    commit();
}

void Submission::abort_unreadable(std::string why) {
    if (ended()) return;
    if (stage_ != Stage::returning) refuse(EX_DATAERR, std::move(why));
    if (stage_ == Stage::returning) return_to_sender(false);
}

// Rejected, and no program waits for the answer: its sender gets a report.
void Submission::return_to_sender(bool complete) {
    if (!admit()) return; // a later scan finds it again
    const auto now = common::Loop::now().wall;
    auto made =
        returned_->make(context_.config->mta, std::move(envelope_), id_, now, std::chrono::minutes(0), complete);
    envelope_ = std::move(made.envelope);
    context_.log.info("{}: uid={} from=<{}>", id_.text(), uid_, envelope_.reverse_path);
    writer_.emplace(context_.spool_writer.write(id_, envelope_));
    writer_->append(made.content);
    commit();
}

// Its key is claimed for the other nodes again: filters may have taken long.
void Submission::secure_key() {
    stage_ = Stage::committing;
    context_.keys.secure(*hold_, context_.config->idempotency.match,
                         [self = shared_from_this()](std::optional<common::idempotency::Decision> decision) {
                             if (!decision) return self->make_durable();
                             self->hold_.reset();
                             self->claimed(*std::move(decision));
                         });
}

void Submission::commit() {
    if (hold_) return secure_key();
    make_durable();
}

void Submission::make_durable() {
    encoded_envelope_ = writer_->encoded_envelope();
    stage_ = Stage::committing;
    CRASH_POINT("pickup.before_sync");
    context_.spool_writer.commit(*writer_, [self = shared_from_this()](spool::Result<spool::DurableReceipt> receipt) {
        self->committed(receipt);
    });
}

void Submission::committed(const spool::Result<spool::DurableReceipt>& receipt) {
    stage_ = Stage::over;
    if (!receipt) {
        cause_ = proto::relayed_submission::Cause::unavailable;
        return answer({EX_TEMPFAIL, {}, reason_of(common::SpoolWriter::unavailable_after(receipt.error()))});
    }
    CRASH_POINT("pickup.after_sync");
    context_.submission_queue.submit(*receipt, encoded_envelope_);
    if (hold_)
        return context_.keys.confirm(std::move(hold_),
                                     [self = shared_from_this()] { self->answer({EX_OK, self->id_.text(), {}}); });
    answer({EX_OK, id_.text(), {}});
}

void Submission::abandon() {
    answered_ = nullptr;
    if (ended()) return;
    stage_ = Stage::over;
    writer_.reset();
}

void Submission::on_resume(std::function<void()> resume) {
    if (writer_) writer_->on_resume(std::move(resume));
}

void Submission::refuse(std::uint8_t status, std::string text, std::string_view code) {
    stage_ = Stage::over;
    writer_.reset();
    std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, '?');
    const auto id = id_.valid() ? id_.text() + ": " : "";
    if (client_)
        context_.log.warning("{}submission over HTTP by {} refused: {}", id, client_->submitter, text);
    else
        context_.log.warning("{}submission by uid={} refused: {}", id, uid_, text);
    if (notice_ == RejectionNotice::by_report && status != EX_TEMPFAIL) {
        returned_.emplace(std::string(code) + " " + text);
        returned_->keep(std::exchange(beginning_, {}), taken_);
        stage_ = complete_ ? Stage::filtering : Stage::returning;
        if (complete_) context_.loop.defer([self = shared_from_this()] { self->return_to_sender(true); });
        return;
    }
    context_.loop.defer(
        [self = shared_from_this(), status, text = std::move(text)] { self->answer({status, {}, text}); });
}

void Submission::answer(Answer answer) {
    if (auto answered = std::exchange(answered_, nullptr)) answered(answer);
}

} // namespace pickup
