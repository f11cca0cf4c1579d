#include "daemons/smtpd/policy.h"

namespace smtpd {

using Kind = Judgement::Kind;

static Judgement refuse(int code, smtp::EnhancedStatus status, std::string text) {
    return {Kind::refuse, {}, {code, status, std::move(text)}};
}

Client client_of(const common::Endpoint& endpoint) {
    Client client;
    client.address = endpoint.address;
    client.port = endpoint.port;
    client.address_text = endpoint.address.to_string();
    client.network = client.address_text;
    if (!endpoint.address.is_v4()) {
        common::Network network{endpoint.address, 64};
        std::fill(network.base.bytes.begin() + 8, network.base.bytes.end(), std::uint8_t{0});
        client.network = network.to_string();
    }
    if (endpoint.address.is_loopback()) client.name = "localhost"; // RFC 6761: nobody need be asked
    return client;
}

// May this client send to anywhere? (AUTH will be one more way to say yes.)
static bool may_relay(const Rules& rules, const Client& client) {
    const auto& networks = rules.listener.service == config::Service::submission
                               ? rules.listener.submitters
                               : rules.config->relay.networks;
    return common::contains(networks, client.address);
}

static std::string complete(const Rules& rules, const smtp::Mailbox& mailbox) {
    return mailbox.text() + "@" + rules.config->mta.origin;
}

Judgement judge_sender(const Rules& rules, const Client& client, const smtp::ReversePath& path) {
    const bool trusted = may_relay(rules, client);
    if (rules.listener.service == config::Service::submission && !trusted)
        return refuse(530, {5, 7, 0}, "Authentication required");
    if (path.null()) return {Kind::accept, {}, {}};
    if (!path.mailbox->bare()) return {Kind::accept, path.text(), {}};
    if (trusted) return {Kind::accept, complete(rules, *path.mailbox), {}};
    return refuse(553, {5, 1, 7}, "<" + path.text() + ">: Sender address rejected: a full address is needed");
}

Judgement judge_recipient(const Rules& rules, const Client& client, const smtp::ForwardPath& path) {
    const auto& config = *rules.config;
    const auto text = path.text();
    if (path.bare_postmaster()) return {Kind::accept, text, {}};
    const bool trusted = may_relay(rules, client);
    auto address = text;
    auto domain = smtp::lowered(path.mailbox.domain);
    if (path.mailbox.bare()) {
        if (!trusted)
            return refuse(550, {5, 1, 3},
                          "<" + text + ">: Recipient address rejected: a full address is needed");
        address = complete(rules, path.mailbox);
        domain = smtp::lowered(config.mta.origin);
    }
    if (config.is_local(domain))
        return {config.smtpd.check_recipients ? Kind::check : Kind::accept, address, {}};
    if (trusted || config.is_relay(domain)) return {Kind::accept, address, {}};
    return refuse(554, {5, 7, 1}, "<" + text + ">: Relay access denied");
}

} // namespace smtpd
