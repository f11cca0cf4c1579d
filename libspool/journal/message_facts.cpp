#include "libspool/journal/message_facts.h"
#include <algorithm>
#include <ranges>
#include <string_view>

namespace spool::journal {

namespace {

std::string encode(const std::vector<NamedValue>& values) {
    if (values.empty()) return {};
    std::string text;
    JsonObject object(text);
    for (const auto& each : values) object.text_even_if_empty(each.name, each.value);
    return text.substr(1); // without what opens it
}

std::string_view source_of(const Envelope& envelope) {
    if (envelope.transferred) return "transfer";
    switch (envelope.origin) {
    case Origin::client: return "smtp";
    case Origin::local: return "local";
    case Origin::report: return "report";
    case Origin::copy: return "copy";
    }
    return "";
}

} // namespace

MessageFacts facts_of(const Envelope& envelope) {
    return {.known = true,
            .sender = envelope.reverse_path,
            .message_id = envelope.message_id,
            .submitter = envelope.submitter,
            .meta = encode(envelope.meta),
            .headers = encode(envelope.headers),
            .lane = envelope.lane,
            .pool = envelope.pool};
}

void append(JsonObject& event, const MessageFacts& facts) {
    if (!facts.known) return;
    event.text("message_id", facts.message_id, longest_text);
    event.text_even_if_empty("sender", facts.sender);
    event.text("submitter", facts.submitter, longest_text);
    event.object("meta", [&](JsonObject& object) { object.members(facts.meta); });
    event.object("headers", [&](JsonObject& object) { object.members(facts.headers); });
    event.text("lane", facts.lane);
    event.text("pool", facts.pool, longest_text);
}

void append_facts(JsonObject& event, const Envelope& envelope) { append(event, facts_of(envelope)); }

void append_acceptance(JsonObject& event, const Envelope& envelope, std::uint64_t size) {
    event.word("source", source_of(envelope));
    event.text("listener", envelope.listener);
    event.object("client", [&](JsonObject& client) {
        client.text("name", envelope.client_name, longest_text);
        client.text("address", envelope.client_address);
    });
    event.text("helo", envelope.helo, longest_text);
    event.text("protocol", envelope.protocol);
    event.object("auth", [&](JsonObject& auth) {
        auth.text("user", envelope.sasl_user, longest_text);
        auth.text("mechanism", envelope.sasl_method, longest_text);
    });
    event.object("tls", [&](JsonObject& tls) {
        tls.text("version", envelope.tls_version);
        tls.text("cipher", envelope.tls_cipher);
        tls.text("peer", envelope.tls_peer, longest_text);
    });
    event.number_even_if_zero("size", size);
    if (envelope.expiry) event.time("expires", *envelope.expiry);
    if (envelope.deliver_by) event.time("deliver_by", *envelope.deliver_by);
    if (envelope.not_before) event.time("not_before", *envelope.not_before);
    event.text("idempotency_key", envelope.idempotency_key, longest_text);
    event.text("envelope_id", envelope.envid, longest_text);
    if (envelope.parent) event.word("parent", envelope.parent->text());
    event.texts("recipients", envelope.recipients | std::views::take(most_recipients) |
                                  std::views::transform(&EnvelopeRecipient::address));
    event.number("recipients_total", envelope.recipients.size());
}

} // namespace spool::journal
