#include "daemons/smtpd/policy/policy_protocol.h"
#include "libsmtp/text/trim.h"
#include <fmt/format.h>

namespace smtpd {

std::string policy_request(Stage stage, const PolicyContext& context) {
    std::string out = "request=smtpd_access_policy\n";
    const auto add = [&](std::string_view name, std::string_view value) {
        out += name;
        out += '=';
        for (const char c : value) out += c == '\n' || c == '\r' || c == '\0' ? '?' : c;
        out += '\n';
    };
    add("protocol_state", command_of(stage));
    add("protocol_name", context.protocol);
    add("helo_name", context.helo);
    add("queue_id", context.queue_id);
    add("sender", context.sender);
    add("recipient", context.recipient);
    add("recipient_count", std::to_string(stage < Stage::data ? 0 : context.recipients));
    add("client_address", context.client.address_text);
    add("client_name", context.client.name);
    add("client_port", std::to_string(context.client.port));
    add("reverse_client_name", context.client.reverse_name.empty() ? context.client.name : context.client.reverse_name);
    add("server_address", context.client.server_address);
    add("server_port", context.client.server_port == 0 ? "" : std::to_string(context.client.server_port));
    add("instance", context.instance);
    add("size", std::to_string(context.size));
    add("sasl_method", context.sasl_method);
    add("sasl_username", context.sasl_user);
    add("sasl_sender", context.sasl_sender);
    const auto* certificate = context.certificate.get();
    add("ccert_subject", context.tls_peer); // names only if an authority vouches for them, as Postfix does
    add("ccert_issuer", certificate && certificate->problem.empty() ? certificate->issuer : "");
    add("ccert_fingerprint", certificate ? certificate->fingerprint : "");
    add("ccert_pubkey_fingerprint", certificate ? certificate->key_fingerprint : "");
    add("encryption_protocol", context.tls_version);
    add("encryption_cipher", context.tls_cipher);
    add("etrn_domain", "");
    add("stress", context.stressed ? "yes" : "");
    add("policy_context", context.listener);
    out += '\n';
    return out;
}

PolicyAnswer::State PolicyAnswer::feed(std::string_view bytes) {
    for (const char c : bytes) {
        if (state_ != State::incomplete) return state_ = State::malformed; // more than one answer
        if (++size_ > limit || c == '\0') return state_ = State::malformed;
        if (c != '\n') {
            line_ += c;
            continue;
        }
        if (line_.ends_with('\r')) line_.pop_back();
        if (line_.empty()) {
            size_ = 0;
            state_ = action_.empty() ? State::malformed : State::complete;
        } else if (line_.starts_with("action=")) {
            action_ = line_.substr(7);
        } else if (line_.find('=') == line_.npos) {
            return state_ = State::malformed;
        }
        line_.clear();
    }
    return state_;
}

std::string rejection_text(Stage stage, const PolicyContext& context, std::string_view text) {
    std::string what, how;
    switch (stage) {
    case Stage::connect: what = context.client.peer(), how = "Client host rejected"; break;
    case Stage::helo: what = context.helo, how = "Helo command rejected"; break;
    case Stage::mail: what = context.sender, how = "Sender address rejected"; break;
    case Stage::rcpt: what = context.recipient, how = "Recipient address rejected"; break;
    case Stage::data: what = "DATA", how = "Data command rejected"; break;
    case Stage::end_of_data: what = "END-OF-MESSAGE", how = "End-of-data rejected"; break;
    case Stage::unknown: what = context.command, how = "Command rejected"; break;
    }
    return fmt::format("<{}>: {}: {}", smtp::printable(what, 320), how, smtp::printable(text, 400));
}

namespace {

// The first word; the rest stays.
std::string_view take_word(std::string_view& text) {
    text = smtp::trimmed(text);
    const auto word = text.substr(0, text.find_first_of(" \t"));
    text = smtp::trimmed(text.substr(word.size()));
    return word;
}

PolicyVerdict refusal(int code, smtp::EnhancedStatus status, std::string_view text, Stage stage,
                      const PolicyContext& context) {
    auto rest = text;
    if (const auto given = smtp::EnhancedStatus::parse(take_word(rest)); given && given->klass == code / 100)
        status = *given, text = rest;
    if (text.empty()) text = code / 100 == 5 ? "Access denied" : "Try again later";
    return PolicyVerdict::rejection({code, status, rejection_text(stage, context, text)});
}

bool is_field(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == 0 || colon == text.npos) return false;
    for (const char c : text.substr(0, colon))
        if (c <= ' ' || c >= 0x7f) return false;
    return text.find_first_of(std::string_view("\0\r\n", 3)) == text.npos;
}

} // namespace

std::expected<PolicyVerdict, smtp::Malformed> parse_policy_action(std::string_view action, Stage stage,
                                                                  const PolicyContext& context) {
    auto text = action;
    const auto first = take_word(text);
    const auto word = smtp::lowered(first);
    const auto told = [&](std::string_view otherwise) {
        return text.empty() ? std::string(otherwise) : smtp::printable(text, 400);
    };
    PolicyVerdict verdict;
    const auto unknown = [&](std::string_view why) {
        return std::unexpected(smtp::Malformed{fmt::format("{}: \"{}\"", why, smtp::printable(action, 100))});
    };
    if (word == "dunno") return verdict;
    if (word == "ok" || word == "permit") {
        verdict.kind = PolicyVerdict::Kind::permit;
        return verdict;
    }
    if (word == "reject") return refusal(554, {5, 7, 1}, text, stage, context);
    if (word == "defer" || word == "defer_if_permit" || word == "defer_if_reject")
        return refusal(450, {4, 7, 1}, text, stage, context);
    if (word.size() == 3 && (word[0] == '4' || word[0] == '5')) {
        const auto code = smtp::parse_number(word, 599);
        if (!code) return unknown("invalid reply code");
        const auto klass = static_cast<std::uint16_t>(*code / 100);
        return refusal(static_cast<int>(*code), {klass, 7, 1}, text, stage, context);
    }
    if (word == "warn" || word == "info") {
        verdict.warning = told("warned");
        return verdict;
    }
    if (stage < Stage::mail) return unknown("an action that needs a message");
    if (word == "hold") {
        verdict.hold = told("held by policy");
        return verdict;
    }
    if (word == "discard") {
        verdict.discard = told("discarded by policy");
        return verdict;
    }
    if (word == "prepend") {
        if (stage == Stage::end_of_data) return unknown("too late to add a header field");
        if (!is_field(text)) return unknown("not a header field");
        verdict.fields.emplace_back(text);
        return verdict;
    }
    if (word == "bcc") {
        if (!smtp::ForwardPath::parse(text)) return unknown("not an address");
        verdict.added_recipients.emplace_back(text);
        return verdict;
    }
    return unknown("unknown action");
}

} // namespace smtpd
