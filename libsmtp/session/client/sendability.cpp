#include "libsmtp/session/client/sendability.h"
#include "libsmtp/message/address.h"
#include "libsmtp/session/client/verdicts.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace smtp {
namespace {

// Why the address must not be put into a command, "" if it may: an invalid address could end the command early, or
// continue it as parameters.
std::string not_sendable(std::string_view address) {
    const auto mailbox = Mailbox::parse_bare_allowed(address);
    return mailbox ? "" : mailbox.error().why;
}

// Does the message need the extension of RFC 6531 as it is? The sender's declaration counts only if headers of its
// parts may contain UTF-8.
bool needs_smtputf8(const Transaction& message) {
    return message.utf8_header || !is_ascii(message.reverse_path) ||
           (message.parameters.smtputf8 && message.parameters.body == Body::eight_bit_mime) ||
           std::ranges::any_of(message.recipients, [](auto& to) { return !is_ascii(to.address); });
}

// RFC 2852, 4.1.4: a message that is returned when it is late is not sent to a server that would not know. "" it may be
// sent.
std::string too_late_for(const Transaction& message, const ServerTraits& server, Monotonic now) {
    const auto& by = message.parameters.deliver_by;
    if (!by || by->late != LateMail::give_back) return "";
    const auto left = seconds_left(message, now);
    if (left <= 0) return "not delivered within the time that the sender has set (BY)";
    if (server.options.protocol == Protocol::lmtp) return ""; // that delivers it
    if (!server.extensions.deliver_by)
        return fmt::format("message must be delivered in time (BY), and host {} does not offer DELIVERBY",
                           server.options.peer);
    const auto least = server.extensions.shortest_deliver_by;
    if (static_cast<std::uint32_t>(left) < least)
        return fmt::format("message must be delivered within {} s (BY), and host {} wants at least {} s", left,
                           server.options.peer, least);
    return "";
}

// Why the server cannot take the message, whatever its recipients are.
std::optional<Verdict> refusal_of_message(const Transaction& message, const ServerTraits& server, Monotonic now) {
    const auto refuse = [](std::string_view status, std::string_view text) {
        return refusal(Stage::mail, status, text);
    };
    const auto& [options, extensions, security] = server;
    const auto size = message.parameters.size.value_or(0);
    if (extensions.size_limit != 0 && size > extensions.size_limit)
        return refuse("5.3.4", fmt::format("message size {} exceeds size limit {} of server {}", size,
                                           extensions.size_limit, options.peer));
    if (const auto why = too_late_for(message, server, now); !why.empty()) return refuse("5.4.7", why);
    const bool verified = security == ChannelSecurity::verified;
    if (message.require_tls && !(verified && extensions.require_tls))
        return refuse("5.7.30",
                      fmt::format("message requires TLS on the whole path (REQUIRETLS), and host {} {}", options.peer,
                                  security == ChannelSecurity::plain ? "was reached without"
                                  : !verified                        ? "has no certificate that proves its name"
                                                                     : "does not offer REQUIRETLS"));
    if (message.parameters.body == Body::eight_bit_mime && !extensions.eight_bit_mime)
        return refuse(
            "5.6.3",
            message.conversion_error.empty()
                ? fmt::format("message has 8-bit content, and 8BITMIME was not offered by host {}", options.peer)
                : fmt::format(
                      "message has 8-bit content that cannot be converted ({}), and 8BITMIME was not offered by host "
                      "{}",
                      message.conversion_error, options.peer));
    if (const auto why = not_sendable(message.reverse_path); !message.reverse_path.empty() && !why.empty())
        return refuse("5.1.7", "sender address cannot be sent: " + why);
    return {};
}

// Does the address fit into ASCII? Its domain may become A-labels.
bool fit_into_ascii(std::string& address, const ClientOptions& options) {
    if (is_ascii(address)) return true;
    auto mailbox = Mailbox::parse(address);
    if (!mailbox || !is_ascii(mailbox->local_part) || !options.ascii_domain) return false;
    mailbox->domain = options.ascii_domain(mailbox->domain);
    if (mailbox->domain.empty()) return false;
    address = mailbox->text();
    return true;
}

// For a server without SMTPUTF8: domains become A-labels; what cannot be expressed in ASCII is rejected (RFC 6531, 3.2:
// never sent anyway).
void convert_to_ascii(Transaction& message, std::vector<std::uint32_t>& pending, TransactionResult& result,
                      const ClientOptions& options) {
    const auto without = fmt::format("SMTPUTF8 was not offered by host {}", options.peer);
    const auto refuse_all = [&](std::string_view status, std::string_view what) {
        result.set_verdict(pending, refusal(Stage::mail, status, fmt::format("{}, and {}", what, without)));
        pending.clear();
    };
    if (message.utf8_header) return refuse_all("5.6.9", "message has header fields that are not ASCII");
    if (!fit_into_ascii(message.reverse_path, options)) return refuse_all("5.6.7", "sender address is not ASCII");
    std::erase_if(pending, [&](std::uint32_t recipient) {
        if (fit_into_ascii(message.recipients[recipient].address, options)) return false;
        result.set_verdict(
            {recipient}, refusal(Stage::rcpt, "5.6.7", fmt::format("recipient address is not ASCII, and {}", without)));
        return true;
    });
}

} // namespace

std::int32_t seconds_left(const Transaction& message, Monotonic now) {
    const auto left = std::chrono::floor<std::chrono::seconds>(message.deliver_by - now).count();
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(left, -DeliverBy::longest, DeliverBy::longest));
}

bool drop_unsendable(Transaction& message, std::vector<std::uint32_t>& pending, TransactionResult& result,
                     const ServerTraits& server, Monotonic now) {
    if (auto why = refusal_of_message(message, server, now)) {
        result.set_verdict(pending, *std::move(why));
        pending.clear();
        return false;
    }
    std::erase_if(pending, [&](std::uint32_t recipient) {
        const auto why = not_sendable(message.recipients[recipient].address);
        if (why.empty()) return false;
        result.set_verdict({recipient}, refusal(Stage::rcpt, "5.1.3", "recipient address cannot be sent: " + why));
        return true;
    });
    if (!needs_smtputf8(message)) return false;
    if (!server.extensions.smtputf8) convert_to_ascii(message, pending, result, server.options);
    return server.extensions.smtputf8;
}

} // namespace smtp
