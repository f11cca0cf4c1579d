#include "daemons/pickup/returned.h"
#include "libsmtp/message/received.h"
#include "libsmtp/message/submission_fixup.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <fmt/format.h>

namespace pickup {

namespace {

// Up to the end of the last whole line, and not beyond the header.
std::string_view header_of(std::string_view text) {
    for (const std::string_view end : {"\n\n", "\n\r\n", "\r\r"})
        if (const auto at = text.find(end); at != text.npos) text = text.substr(0, at + 1);
    return text.substr(0, text.find_last_of("\r\n") + 1);
}

} // namespace

void ReturnedSubmission::keep(std::string_view bytes) {
    const auto room = max_kept - kept_.size();
    whole_ = whole_ && bytes.size() <= room;
    kept_ += bytes.substr(0, room);
}

void ReturnedSubmission::keep(std::string_view beginning, std::uint64_t of) {
    keep(beginning);
    whole_ = whole_ && of == beginning.size();
}

ReturnedSubmission::Made ReturnedSubmission::make(const config::Mta& mta, spool::Envelope known, spool::QueueId id,
                                                  smtp::WallTime now, std::chrono::minutes zone, bool complete) {
    whole_ = whole_ && complete;
    Made made;
    auto& envelope = made.envelope;
    envelope.arrival = now;
    envelope.origin = spool::Origin::local;
    envelope.uid = known.uid;
    envelope.submitter = known.submitter;
    envelope.ret = known.ret;
    envelope.envid = known.envid;
    envelope.smtputf8 = known.smtputf8;
    envelope.reverse_path = known.reverse_path.empty() ? "postmaster@" + mta.origin : known.reverse_path;
    envelope.recipients = std::move(known.recipients);
    if (envelope.recipients.empty()) // none was understood, and a report needs a recipient
        envelope.recipients.push_back({.address = "unknown-recipient@" + mta.origin});
    for (auto& recipient : envelope.recipients) recipient.fate = spool::Fate::failed;
    envelope.verdict = spool::Verdict::accept;
    envelope.verdict_reason = reason_;

    smtp::SubmissionOptions options;
    options.origin = mta.origin;
    options.sender = envelope.reverse_path;
    options.queue_id = id.text();
    options.now = now;
    options.zone = zone;
    options.max_header = 2 * max_kept; // never refused
    smtp::SubmissionFixup fixup(std::move(options));
    made.content = smtp::received_field_for_local(mta.hostname, envelope.uid.value_or(0), id.text(),
                                                  smtp::rfc5322_date(now, zone));
    fixup.feed(whole_ ? std::string_view(kept_) : header_of(kept_), made.content);
    fixup.finish(made.content);
    envelope.message_id = fixup.message_id();
    return made;
}

} // namespace pickup
