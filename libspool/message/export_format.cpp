#include "libspool/message/export_format.h"
#include <utility>

namespace spool {

namespace {
constexpr std::size_t piece_size = 256 * 1024;
}

ReadResult<> export_message(Disk& disk, QueueId id, const std::function<Result<>(std::string_view)>& take) {
    // Locked, so that a reused file keeps this message until it is copied.
    auto reader = MessageReader::open(disk, id, Location::messages, ReadLock::shared);
    if (!reader) return ReadResult<>(std::unexpect, std::move(reader).error());
    for (std::uint64_t at = 0; at < reader->size();) {
        const auto piece = reader->piece(at);
        if (!piece) return std::unexpected(piece.error());
        at += piece->size();
    }
    // What is appended meanwhile may be cut off: a torn end is not damage.
    std::string piece(piece_size, '\0');
    for (std::uint64_t at = 0;;) {
        const auto n = reader->read_stored(at, piece);
        if (!n) return std::unexpected(n.error());
        if (*n == 0) return {};
        if (auto taken = take(std::string_view(piece).substr(0, *n)); !taken) return std::unexpected(taken.error());
        at += *n;
    }
}

EnvelopeRecipient present_form(const MessageState& state, const RecipientState& recipient) {
    auto form = state.envelope_of(recipient);
    if (form.address != recipient.address && form.original.empty()) form.original = form.address;
    form.address = recipient.address;
    form.fate = recipient.fate;
    form.user = recipient.user;
    form.target = recipient.target;
    form.transport = recipient.transport;
    form.reverse_path = recipient.reverse_path;
    return form;
}

Envelope remaining_envelope(const MessageState& state) {
    Envelope out = state.envelope;
    out.recipients.clear();
    out.edits = {}; // the content that goes with it is read as edited
    out.transferred.reset();
    for (const auto& recipient : state.recipients) {
        if (recipient.accounted_for()) continue; // kept: failed but not reported, to be tried once more
        out.recipients.push_back(present_form(state, recipient));
    }
    if (state.held) {
        if (out.verdict == Verdict::accept) out.verdict = Verdict::hold;
        out.verdict_reason = state.held_why;
    } else {
        out.verdict = Verdict::accept;
        out.verdict_reason.clear();
    }
    out.idempotency_key_reused = false; // as with verdict_reason: tried once more
    out.priority = state.priority;
    out.lane = state.lane;
    out.expiry = state.expiry;
    if (state.free_from) out.not_before = state.free_from;
    out.lifetime = state.lifetime;
    out.retry_policy = state.retry_policy;
    out.retry_values = state.retry_values;
    out.rerouted_to = state.rerouted_to;
    return out;
}

Envelope transfer_envelope(const MessageState& state, std::string node, QueueId id, std::uint32_t generation) {
    auto without = state;
    without.transfer = {};
    Envelope out = std::move(without.envelope);
    out.edits = {}; // the content that goes with it is read as edited
    out.transferred = TransferOrigin{.node = std::move(node),
                                     .id = id,
                                     .generation = generation,
                                     .time = {},
                                     .digest = {},
                                     .state = without.checkpoint().state};
    return out;
}

std::string transfer_request(const Envelope& envelope) {
    std::string out = envelope.reverse_path;
    for (const auto& recipient : envelope.recipients) out += "\n" + recipient.address;
    return out;
}

} // namespace spool
