// One submission, from Begin to its Answer: completes addresses, corrects the header, writes and commits the message,
// notifies the queue-manager. Trusts nothing in it but the uid it was made with. Knows no sockets and no files.
#pragma once
#include "daemons/common/ipc/operators.h"
#include "daemons/common/proto/relayed_submission.h"
#include "daemons/common/proto/submit.h"
#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/rate_limits.h"
#include "daemons/common/submission/recipient_checker.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/common/submission/submission_queue.h"
#include "daemons/pickup/content_filters.h"
#include "daemons/pickup/returned.h"
#include "daemons/pickup/settings.h"
#include "daemons/pickup/submitted_envelope.h"
#include "daemons/pickup/suppressed_recipients.h"
#include "libsmtp/message/control_fields.h"
#include "libsmtp/message/header_scan.h"
#include "libsmtp/message/submission_fixup.h"
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sys/types.h>
#include <sysexits.h>

namespace pickup {

// Whether a message may come with its state (Import): only an operator's may.
// transfers: only another node's, with the name of the transfer.
enum class ImportPolicy : std::uint8_t { rejected, accepted, transfers };

// What submissions share. Outlives them; `config` is the one in force.
struct SubmissionContext {
    common::Loop& loop;
    common::Log& log;
    std::shared_ptr<const Settings> config;
    common::SpoolWriter& spool_writer;
    common::SubmissionQueue& submission_queue;
    common::idempotency::Client& keys;
    common::RecipientChecker& recipients;
    common::RateLimiter rates = {};
    common::Operators operators = {};                               // who may import
    std::shared_ptr<const ContentFilters> filters = {};             // of `config`
    std::set<std::shared_ptr<class Submission>> being_checked = {}; // whether a program waits for them or not
};

// Whether a rejection is reported to the program that waits, or by mail to the sender (or the postmaster).
enum class RejectionNotice : std::uint8_t { to_program, by_report };

// Whose message it is, if a daemon submits it for a client that it has authenticated: nothing, the user's.
struct RelayedClient {
    std::string submitter, address;
};

class Submission : public std::enable_shared_from_this<Submission> {
public:
    // `answered` is called once, never from within take().
    using Answered = std::function<void(const proto::submit::Answer&)>;
    static std::shared_ptr<Submission> create(SubmissionContext& context, uid_t uid, Answered answered,
                                              RejectionNotice notice = RejectionNotice::to_program,
                                              ImportPolicy import_policy = ImportPolicy::rejected,
                                              std::optional<RelayedClient> client = {}) {
        return std::shared_ptr<Submission>(
            new Submission(context, uid, std::move(answered), notice, import_policy, std::move(client)));
    }

    // The key of a submission that has none of its own; before anything arrives.
    void set_key(std::string key) { own_key_ = std::move(key); }
    // What arrives, in order. After an answer has been decided, the rest is ignored.
    void take(const proto::submit::Message& message);
    // The answer is no longer wanted. A submission that has not ended is dropped; one that has is committed anyway.
    void abandon();
    // No program waits, and what follows cannot be read: what was understood so far is returned to its sender.
    void abort_unreadable(std::string why);
    // It was rejected because its user has submitted enough for now.
    bool over_limit() const { return over_limit_; }
    // It was rejected because no mail at all can be accepted now.
    bool mail_refused() const { return mail_refused_; }
    // Answered 0, and permanently rejected: what was committed is a message that its sender gets a report about.
    const ReturnedSubmission* returned() const { return returned_ ? &*returned_ : nullptr; }
    // A filter or its key has deferred it: this one only, others are not affected.
    bool deferred() const { return deferred_; }
    // Once it is answered: why it was refused; whether it was a duplicate by its key; and, of a relayed one, which of
    // its recipients it was not accepted for.
    proto::relayed_submission::Cause cause() const { return cause_; }
    bool duplicate() const { return duplicate_; }
    const std::string& first_node() const { return first_node_; } // which accepted the first one; "": this one
    const std::vector<SuppressedRecipients::Suppressed>& left_out() const { return left_out_; }
    const std::string& message_id() const { return envelope_.message_id; }
    // All of it is here, or it was rejected.
    bool ended() const { return stage_ >= Stage::filtering; }

    // The disk cannot keep up: pass nothing more until `resume` is called.
    bool wants_pause() const { return stage_ == Stage::content && writer_ && writer_->wants_pause(); }
    void on_resume(std::function<void()> resume);

private:
    // returning: it was rejected, no program waits, and the rest of it is still to come.
    enum class Stage : std::uint8_t { begin, envelope, header, content, returning, filtering, committing, over };
    Submission(SubmissionContext& context, uid_t uid, Answered answered, RejectionNotice notice,
               ImportPolicy import_policy, std::optional<RelayedClient> client)
        : context_(context), uid_(uid), notice_(notice), import_policy_(import_policy), client_(std::move(client)),
          answered_(std::move(answered)),
          control_(common::control_fields_of(common::Submitter::trusted, context.config->idempotency),
                   common::meta_field),
          scan_(context.config->recorded_fields) {}

    void begin(const proto::submit::Begin& begin);
    bool read_recipients(const proto::submit::Begin& begin);
    bool add_recipients(const std::vector<proto::submit::Recipient>& recipients);
    bool passes(Accepted&& checked); // refuses it otherwise
    void import(const proto::submit::Import& import);
    void take_requests(std::string_view header);
    void content(std::string_view bytes);
    void rewrite(const std::function<void(std::string&)>& fix);
    bool header_complete();
    void scan();
    void write_rewritten();
    void end();
    bool within_limits();
    bool read_key();
    void end_import();
    void claim_key();
    void claimed(common::idempotency::Decision decision);
    void proceed();
    void check_suppressed();
    void leave_out(const std::vector<SuppressedRecipients::Suppressed>& found);
    std::string received_field(smtp::WallTime now, std::chrono::minutes zone) const;
    std::string source_text() const; // "uid=1000", for the log
    void suppressed(const std::vector<SuppressedRecipients::Suppressed>& found);
    void pass_on();
    bool add_automatic_bcc();
    void run_filters();
    void filters_finished(const FilterRun::Outcome& outcome);
    void report_refusal(const smtp::Reply& reply);
    bool admit();
    void turn_away(common::Unavailable why);
    bool transfers_allowed();
    void return_to_sender(bool complete);
    void commit();
    void secure_key();
    void make_durable();
    void committed(const spool::Result<spool::DurableReceipt>& receipt);
    // `code`: of the report, if no program waits.
    void refuse(std::uint8_t status, std::string text, std::string_view code = "5.6.0");
    void answer(proto::submit::Answer answer);

    SubmissionContext& context_;
    const uid_t uid_;
    const RejectionNotice notice_;
    const ImportPolicy import_policy_;
    const std::optional<RelayedClient> client_;
    Answered answered_;
    Stage stage_ = Stage::begin;
    spool::QueueId id_;
    spool::Envelope envelope_;
    std::string sender_as_given_, own_key_;
    bool from_header_ = false, over_limit_ = false, deferred_ = false, mail_refused_ = false;
    std::uint8_t header_notify_ = 0;
    std::optional<smtp::SubmissionFixup> fixup_;
    smtp::ControlFields control_;
    std::unique_ptr<common::idempotency::Fingerprint> fingerprint_; // while it may have a key, or has one
    std::unique_ptr<common::idempotency::Reservation> hold_;        // on the key, when it is this message's
    std::optional<spool::MessageWriter> writer_;
    std::optional<SuppressedRecipients> suppressed_; // being looked up
    std::optional<FilterRun> filter_run_;
    smtp::HeaderScan scan_;
    std::string encoded_envelope_;
    proto::relayed_submission::Cause cause_ = proto::relayed_submission::Cause::other;
    bool duplicate_ = false;
    std::string first_node_;
    std::vector<SuppressedRecipients::Suppressed> left_out_;
    bool importing_ = false, complete_ = false;
    std::optional<common::Unavailable> not_admitted_; // a transfer that is only looked up: there is no writer
    std::optional<ReturnedSubmission> returned_;
    std::string beginning_;   // of the content as it came, while it may have to be returned
    std::string rewritten_;   // content on its way from the fixup to the writer
    std::size_t scanned_ = 0; // of it
    std::uint64_t taken_ = 0;
};

} // namespace pickup
