#include "libspool/format/envelope.h"
#include "libspool/format/fields.h"
#include <algorithm>

namespace spool {

namespace {
// Text that becomes part of an SMTP command or a log line must not be able to end it.
bool is_one_line(std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return c == '\0' || c == '\r' || c == '\n'; });
}
} // namespace

std::string encode(const Envelope& envelope) { return fields::Writer::bytes_of(envelope); }

std::expected<Envelope, Malformed> decode(std::string_view bytes) {
    auto envelope = fields::read<Envelope>(bytes, "envelope");
    if (!envelope) return envelope;
    const auto odd = [](std::string_view what) {
        return std::unexpected(Malformed{"envelope: " + std::string(what) + " contains a control character"});
    };
    if (!is_one_line(envelope->reverse_path)) return odd("the reverse-path");
    if (!is_one_line(envelope->envid)) return odd("the envelope id");
    for (const auto& change : envelope->edits.changes)
        if (change.what != FieldEdit::What::remove && !is_one_field(change.text))
            return std::unexpected(Malformed{"envelope: an edit is not a header field"});
    if (envelope->transferred && !envelope->transferred->id.valid())
        return std::unexpected(Malformed{"envelope: it came from another node, and its queue id there is missing"});
    for (const auto& recipient : envelope->recipients) {
        if (recipient.address.empty()) return std::unexpected(Malformed{"envelope: recipient without address"});
        if (!is_one_line(recipient.address) || !is_one_line(recipient.original)) return odd("a recipient");
        if (!is_one_line(recipient.orcpt)) return odd("an original recipient");
        if (!is_one_line(recipient.reverse_path)) return odd("a recipient's reverse-path");
    }
    return envelope;
}

} // namespace spool
