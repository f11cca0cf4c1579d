// One submission, from Begin to its Answer: addresses completed, header mended, message written and
// committed, the queue-manager told. Trusts nothing in it but the uid it was made with. Knows no sockets and
// no files.
#pragma once
#include "daemons/common/idempotency/desk.h"
#include "daemons/common/idempotency/fingerprint.h"
#include "daemons/common/intake.h"
#include "daemons/common/outbox.h"
#include "daemons/common/pool_choice.h"
#include "daemons/common/proto/submit.h"
#include "daemons/common/rates.h"
#include "daemons/pickup/review.h"
#include "libsmtp/control_fields.h"
#include "libsmtp/header_scan.h"
#include "libsmtp/submission_fixup.h"
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sys/types.h>
#include <sysexits.h>

namespace pickup {

// What submissions share. Outlives them; `config` is the one in force.
struct Service {
    common::Loop& loop;
    common::Log& log;
    std::shared_ptr<const config::Config> config;
    common::Intake& intake;
    common::Outbox& outbox;
    common::idempotency::Desk& keys;
    common::Rates rates = {};
    std::shared_ptr<const Advisers> advisers = {}; // of `config`
    std::set<std::shared_ptr<class Submission>> under_review = {}; // whether anybody waits for them or not
};

// Who is told what filters refuse: the program that waits, or by a report the sender.
enum class Waits : std::uint8_t { program, nobody };

class Submission : public std::enable_shared_from_this<Submission> {
public:
    // `answered` is called once, never from within take().
    using Answered = std::function<void(const proto::submit::Answer&)>;
    static std::shared_ptr<Submission> create(Service& service, uid_t uid, Answered answered,
                                              Waits waits = Waits::program) {
        return std::shared_ptr<Submission>(new Submission(service, uid, std::move(answered), waits));
    }

    // What arrives, in order. After an answer has been decided on the rest is swallowed.
    void take(const proto::submit::Message& message);
    // Nobody waits for the answer any more. What has not ended is forgotten; what has is committed all the
    // same.
    void abandon();
    // It was refused because its user has submitted enough for now.
    bool over_limit() const { return over_limit_; }
    // A filter or its key has put it off: it alone, nothing is wrong with others.
    bool put_off() const { return put_off_; }
    // All of it is here, or it was refused.
    bool ended() const { return stage_ >= Stage::reviewing; }

    // The disk is behind: take nothing until `resume` is called.
    bool wants_pause() const { return stage_ == Stage::content && writer_->wants_pause(); }
    void on_resume(std::function<void()> resume);

private:
    enum class Stage : std::uint8_t { begin, envelope, header, content, reviewing, committing, over };
    Submission(Service& service, uid_t uid, Answered answered, Waits waits)
        : service_(service), uid_(uid), waits_(waits), answered_(std::move(answered)),
          control_(common::control_fields_of(common::Submitter::trusted, *service.config)) {}

    void begin(const proto::submit::Begin& begin);
    bool read_sender(const proto::submit::Begin& begin);
    bool read_recipients(const proto::submit::Begin& begin);
    bool add_recipient(const std::string& address, const std::string& orcpt, std::uint8_t notify);
    void import(const proto::submit::Import& import);
    bool may_import() const;
    void content(std::string_view bytes);
    void mend(const std::function<void(std::string&)>& fix);
    bool header_is_known();
    void write_mended();
    void end();
    bool within_limits();
    bool read_key();
    void claim_key();
    void claimed(common::idempotency::Decision decision);
    void proceed();
    void review();
    void reviewed(const Review::Outcome& outcome);
    void report_refusal(const smtp::Reply& reply);
    void commit();
    void committed(const spool::Result<spool::DurableReceipt>& receipt);
    void refuse(std::uint8_t status, std::string text);
    void answer(proto::submit::Answer answer);

    Service& service_;
    const uid_t uid_;
    const Waits waits_;
    Answered answered_;
    Stage stage_ = Stage::begin;
    spool::QueueId id_;
    spool::Envelope envelope_;
    std::string sender_as_given_;
    bool from_header_ = false, over_limit_ = false, put_off_ = false;
    std::uint8_t header_notify_ = 0;
    std::optional<smtp::SubmissionFixup> fixup_;
    smtp::ControlFields control_;
    std::unique_ptr<common::idempotency::Fingerprint> fingerprint_; // while it may have a key, or has one
    std::unique_ptr<common::idempotency::Hold> hold_;               // on the key, when it is this message's
    std::optional<spool::MessageWriter> writer_;
    std::optional<Review> review_;
    smtp::HeaderScan scan_;
    std::string encoded_envelope_;
    bool importing_ = false;
    std::string mended_; // content on its way from the fixup to the writer
    std::uint64_t taken_ = 0;
};

} // namespace pickup
