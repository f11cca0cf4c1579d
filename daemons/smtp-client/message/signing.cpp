#include "daemons/smtp-client/message/signing.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/message/header.h"
#include <algorithm>

namespace smtp_client {

using decide::MailOrigin;

namespace {

constexpr std::size_t longest_from = 64 * 1024;

// As the rules have it; "" where there is none.
std::string domain_of_from(std::string_view header) {
    const auto block = smtp::scan_header(header);
    const smtp::HeaderField* from = nullptr;
    for (const auto& field : block.fields) {
        if (!field.is("From")) continue;
        if (from) return ""; // more than one From: the author is ambiguous
        from = &field;
    }
    if (!from || from->value.size() > longest_from) return "";
    const auto addresses = smtp::parse_address_list(from->value);
    if (!addresses || addresses->empty()) return "";
    return idn::ascii_domain(addresses->front().domain);
}

std::string domain_of_sender(const std::string& reverse_path) {
    const auto at = reverse_path.rfind('@');
    return at == reverse_path.npos ? "" : idn::ascii_domain(std::string_view(reverse_path).substr(at + 1));
}

} // namespace

Signing::Signing(std::vector<decide::SigningRule> rules, std::vector<common::Network> relay_networks,
                 const std::vector<config::Listener>& listeners, const proto::secrets::Client& secrets,
                 common::Log& log)
    : rules_(std::move(rules)), relay_networks_(std::move(relay_networks)) {
    for (const auto& listener : listeners)
        if (listener.service == config::Service::submission) submission_.insert(listener.name);
    for (const auto& [file, text] : secrets.signing_keys)
        if (auto key = dkim::SigningKey::read(text, file))
            keys_.emplace(file, *std::move(key));
        else
            log.error("DKIM: {}", key.error().what);
}

MailOrigin Signing::came(const spool::Envelope& envelope) const {
    if (envelope.origin == spool::Origin::report) return MailOrigin::reports;
    if (!envelope.returned_to.empty() && envelope.listener == envelope.returned_to)
        return MailOrigin::other; // a content filter's own, or it lost the field that says where it came from
    if (envelope.listener.empty()) return MailOrigin::local;
    MailOrigin out{};
    if (submission_.contains(envelope.listener)) out = out | MailOrigin::submission;
    if (!envelope.sasl_user.empty()) out = out | MailOrigin::authenticated;
    if (const auto client = common::IpAddress::parse(envelope.client_address);
        client && common::contains(relay_networks_, *client))
        out = out | MailOrigin::networks;
    return out == MailOrigin{} ? MailOrigin::other : out;
}

const decide::SigningRule* Signing::rule_for(const spool::Envelope& envelope, std::string_view header) const {
    if (rules_.empty()) return nullptr;
    return decide::signing_rule(rules_, domain_of_from(header), domain_of_sender(envelope.reverse_path),
                                came(envelope));
}

std::string Signing::fields(const decide::SigningRule& rule, std::string_view header, std::string_view body_hash,
                            smtp::WallTime now, std::string& why) const {
    const auto block = smtp::scan_header(header);
    if (block.end == smtp::HeaderEnd::not_a_field) {
        why = "its header does not end with an empty line";
        return "";
    }
    const auto names = smtp::dkim::signed_fields(block);
    if (!names) {
        why = "it does not have exactly one From field, or has too many fields to sign";
        return "";
    }
    std::string out;
    for (const auto& [selector, file] : rule.keys) {
        const auto key = keys_.find(file);
        if (key == keys_.end()) {
            why = file + " contains no usable key";
            continue;
        }
        smtp::dkim::Signature signature;
        signature.domain = rule.domain;
        signature.selector = selector;
        signature.algorithm = key->second.algorithm();
        signature.time = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
        if (rule.lifetime != smtp::Duration{})
            signature.expiration =
                signature.time + std::chrono::duration_cast<std::chrono::seconds>(rule.lifetime).count();
        const auto field = smtp::dkim::signature_field(block, *names, body_hash, signature,
                                                       [&](std::string_view data) { return key->second.sign(data); });
        if (field)
            out += *field;
        else
            why = "the key in " + file + " failed to sign";
    }
    return out;
}

} // namespace smtp_client
