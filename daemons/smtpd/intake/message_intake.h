// One message from MAIL to the reply to its final dot: its envelope, and its content, checked, written to the spool
// and made durable. Every way out destroys the object, and whatever was not committed goes with it. Returns the
// reason for rejecting a message; must not know the session, nor the policy that applies to it.
#pragma once
#include "daemons/common/filters/milter/message.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/submission/control_fields.h"
#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/common/submission/submission_queue.h"
#include "daemons/smtpd/intake/date_text.h"
#include "daemons/smtpd/intake/envelope.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "libsmtp/message/control_fields.h"
#include "libsmtp/message/header_scan.h"
#include "libsmtp/message/submission_fixup.h"
#include "libspool/message/message_writer.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smtpd {

class MessageIntake {
public:
    // Of the worker; all outlive it.
    struct Services {
        common::SpoolWriter& spool_writer;
        common::SubmissionQueue& submission_queue;
        common::idempotency::Client& keys;
        DateText& date;
    };
    // `schedule`: schedule_of(). `rules` and `client` outlive it.
    MessageIntake(Services services, const Rules& rules, const Client& client, common::LogContext log,
                  spool::QueueId id, spool::Envelope envelope, std::string schedule);
    MessageIntake(const MessageIntake&) = delete;

    const std::string& id_text() const { return id_text_; }
    const spool::Envelope& envelope() const { return envelope_; }
    smtp::Monotonic started() const { return started_; }
    std::size_t recipients_memory() const { return memory_; } // bytes
    std::size_t held() const { return memory_ + (fixup_ ? fixup_->held() : 0); }

    // `address`: completed, for the envelope.
    void add_recipient(std::string address, smtp::event::Rcpt& rcpt);
    // "QID: client=" was logged, with the first recipient: rejections carry the id from then on.
    bool has_begun() const { return begun_; }
    // The fields, copies, other recipient, hold or discard that a policy asks for.
    void apply(const PolicyVerdict& verdict);

    // DATA was accepted: content comes. `resumed` is called whenever paused() ends.
    void begin_content(const Reception& reception, std::function<void()> resumed);
    void append(std::string_view bytes);
    bool paused() const { return paused_; } // too much waits for the disk: no more content now
    // The content is complete. The rejection found now or before; none: the message can be committed.
    std::optional<smtp::Reply> finish();

    // Then, in this order. Does it have an idempotency key?
    bool has_key() const { return !envelope_.idempotency_key.empty(); }
    // Claims the key. None: processing continues; else the message ends with this reply, 250 if it is a duplicate.
    // Called once, later.
    void claim_key(std::function<void(const std::optional<smtp::Reply>&)> decided);
    std::string message_id() const; // for the log
    // For checks of the whole message.
    milter::Message& open_for_filters();
    // The checks are done. False: it is discarded.
    bool is_kept();
    // Makes it durable and submits it to the queue. None: done; else why not, or the reply that its key ends it with,
    // as above. Called once, later.
    using NotCommitted = std::variant<common::Unavailable, smtp::Reply>;
    void commit(std::function<void(const std::optional<NotCommitted>&)> done);

private:
    enum class Last : std::uint8_t { no, yes };
    bool completes_header(const Reception& reception) const;
    std::string received_field(const Reception& reception) const;
    void store(std::string_view content, Last last);
    void update_fingerprint(std::string_view content);
    void apply_requests();
    void apply_first_decisions();
    void read_key();
    smtp::Reply end_by(const common::idempotency::Decision& decision);
    void make_durable();
    void refuse(smtp::Reply reply);
    void add_copies();
    void committed(spool::Result<spool::DurableReceipt> receipt);

    Services services_;
    const Rules& rules_;
    const Client& client_;
    common::LogContext log_;
    const common::Submitter submitter_;
    spool::QueueId id_;
    std::string id_text_;
    spool::Envelope envelope_;
    smtp::Monotonic started_;
    std::size_t memory_ = 0; // bytes its recipients hold, and its header while it is checked
    bool begun_ = false;
    std::optional<spool::MessageWriter> writer_; // from DATA on
    std::function<void()> resumed_;
    bool paused_ = false;
    std::optional<milter::Message> milter_message_; // while filters see the whole of it
    smtp::HeaderScan header_;
    std::optional<smtp::SubmissionFixup> fixup_; // on submission listeners: completes the header
    smtp::ControlFields control_;                // takes the fields addressed to us out of the header
    // Of the content as the client sent it, while it may have a key; the request beside the content; and the
    // key, once it is reserved for this message.
    std::unique_ptr<common::idempotency::Fingerprint> fingerprint_;
    std::string schedule_, request_;
    std::unique_ptr<common::idempotency::Reservation> reservation_;
    std::optional<smtp::Reply> rejection_;      // found in the content; replied at its end
    std::string fields_;                        // that policies put at the head of the header
    std::vector<std::string> added_recipients_; // recipients that policies added
    std::string redirect_;                      // not empty: the only recipient
    std::string discard_;                       // not empty: accepted and discarded, and why
    std::string hint_;                          // the envelope as it is committed
    std::function<void(const std::optional<NotCommitted>&)> done_;
};

} // namespace smtpd
