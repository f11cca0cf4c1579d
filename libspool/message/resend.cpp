#include "libspool/message/resend.h"
#include "libspool/message/export_format.h"
#include <utility>

namespace spool {

namespace {

Envelope new_envelope(const MessageState& state, QueueId id, smtp::WallTime now) {
    Envelope out = state.envelope;
    out.recipients.clear();
    out.edits = {}; // the content that goes with it is read as edited
    out.origin = Origin::copy;
    out.parent = id;
    out.pass = 0;
    out.arrival = now;
    out.lifetime = 0; // recorded when it is accepted
    out.priority = state.priority;
    out.lane = state.lane;
    out.retry_policy = state.retry_policy;
    out.retry_values = state.retry_values;
    out.not_before.reset();
    out.deliver_by.reset();
    out.late = {};
    out.deliver_by_trace = false;
    out.expiry.reset();
    out.rerouted_to.clear();
    out.verdict = Verdict::accept;
    out.verdict_reason.clear();
    out.transferred.reset();
    out.idempotency_key.clear();
    out.idempotency_digest.clear();
    out.idempotency_key_reused = false;
    return out;
}

} // namespace

Resend resend_of(const MessageState& state, QueueId id, smtp::WallTime now) {
    Resend out{.envelope = new_envelope(state, id, now), .suppressed = {}};
    for (const auto& recipient : state.recipients) {
        if (recipient.status != Status::failed && recipient.status != Status::expired) continue;
        if (recipient.reply.suppressed)
            out.suppressed.push_back(recipient.address);
        else
            out.envelope.recipients.push_back(present_form(state, recipient));
    }
    return out;
}

Envelope resend_to(const MessageState& state, QueueId id, smtp::WallTime now, std::string address) {
    auto out = new_envelope(state, id, now);
    out.recipients.push_back({.address = std::move(address)});
    return out;
}

} // namespace spool
