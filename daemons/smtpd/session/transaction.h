// A message on its way in, from MAIL to the reply to its final dot. One object; every way out destroys it,
// and what was not committed goes with it.
#pragma once
#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "daemons/common/filters/milter/message.h"
#include "daemons/common/submission/pool_choice.h"
#include "libsmtp/message/control_fields.h"
#include "libsmtp/message/header_scan.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/message/submission_fixup.h"
#include "libspool/format/envelope.h"
#include "libspool/message/message_writer.h"
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace smtpd {

struct Transaction {
    // What is said to us in the header, by whose names.
    explicit Transaction(std::span<const std::string_view> control_fields) : control(control_fields) {}

    spool::QueueId id;
    std::string id_text;
    spool::Envelope envelope;
    smtp::Monotonic started;
    std::size_t memory = 0; // bytes its recipients hold, and its header while it is looked over
    std::optional<spool::MessageWriter> writer; // from DATA on
    std::optional<milter::Message> milter_message;      // while others look at the whole of it
    smtp::HeaderScan header;
    std::optional<smtp::SubmissionFixup> fixup; // on submission listeners: completes the header
    smtp::ControlFields control; // what is said to us in the header goes no further
    // Of the message as the client has it, while it may have a key (or has one); what it asks for beside the content;
    // and the key, when it is this message's.
    std::unique_ptr<common::idempotency::Fingerprint> fingerprint;
    std::string schedule, request;
    std::unique_ptr<common::idempotency::Reservation> hold;
    std::optional<smtp::Reply> rejection;         // found in the content; told at its end
    std::string fields;                         // of those who were asked: to stand at the head of the header
    std::vector<std::string> added_recipients;            // recipients they added
    std::string discard;                        // not empty: taken and thrown away, and why
    bool client_logged = false; // "QID: client=" was written: rejections carry the id from now on

    static spool::Notify notify_of(const smtp::Notify& notify) {
        return static_cast<spool::Notify>(notify.bits());
    }
};

} // namespace smtpd
