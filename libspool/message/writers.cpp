#include "libspool/message/writers.h"
#include "libspool/message/message_state.h"
#include <algorithm>

namespace spool {

namespace {

// The first field of it that only the queue-manager may record.
std::string_view decided(const EnvelopeRecipient& recipient) {
    if (recipient.fate != Fate::unknown) return "fate";
    if (!recipient.user.empty()) return "user";
    if (!recipient.target.empty()) return "target";
    if (!recipient.transport.empty()) return "transport";
    if (!recipient.policy.empty()) return "policy";
    if (!recipient.reverse_path.empty()) return "reverse path of its own";
    return {};
}

// The log and the journal show the name. With a space it is that of an import, which no node has.
bool is_node_name(std::string_view name) {
    constexpr std::size_t longest = 255;
    return name.size() <= longest && std::ranges::all_of(name, [](char c) { return c >= ' ' && c < 0x7f; });
}

Envelope without_transfer(Envelope envelope) {
    envelope.transferred.reset();
    return envelope;
}

} // namespace

std::string violates_writer_rights(const Envelope& envelope, std::uint8_t slot) {
    if (envelope.transferred) {
        const auto& state = envelope.transferred->state;
        if (slot != submission_slot) return "it came from another node, which its writer may not say";
        if (!is_node_name(envelope.transferred->node)) return "the name of the node that it came from is invalid";
        if (!state.empty() && !MessageState(without_transfer(envelope)).apply(Checkpoint{state}))
            return "its state on another node is invalid";
    }
    if (slot == submission_slot) return {};
    for (const auto& recipient : envelope.recipients)
        if (const auto field = decided(recipient); !field.empty())
            return "recipient " + recipient.address + " has a " + std::string(field) +
                   ", which its writer "
                   "may not set";
    if (!envelope.content_filter.empty() && slot == report_slot)
        return "it names a content filter, which its writer may not do";
    if (!envelope.rerouted_to.empty()) return "it is marked as rerouted, which its writer may not do";
    const bool report = envelope.origin == Origin::report || envelope.parent || envelope.pass != 0;
    if (report && slot != report_slot) return "it is a report, which its writer may not create";
    return {};
}

} // namespace spool
