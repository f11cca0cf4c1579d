#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/common/text/idn.h"
#include <algorithm>

namespace smtpd {

using Kind = RelayDecision::Kind;

static RelayDecision refuse(int code, smtp::EnhancedStatus status, std::string text) {
    return {Kind::reject, {}, {code, status, std::move(text)}};
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
    if (endpoint.address.is_loopback()) client.name = "localhost"; // RFC 6761: no query needed
    return client;
}

Client client_without_address() {
    Client client;
    client.address_text = client.network = "unknown";
    return client;
}

std::expected<Client, smtp::Reply> apply_xclient(const Client& former, const smtp::ClientAttributes& described) {
    const auto text_of = [](const auto& attribute) { return attribute ? attribute->value : std::string(); };
    const auto bad = [](std::string_view name) {
        return std::unexpected(smtp::Reply{501, {5, 5, 4}, "Error: bad value of " + std::string(name)});
    };
    const auto number = [](const std::string& text) {
        return static_cast<std::uint16_t>(smtp::parse_number(text, 65535).value_or(0));
    };
    Client client = former;
    if (described.address) {
        const auto text = text_of(described.address);
        const auto address = common::IpAddress::parse(text);
        if (!text.empty() && !address) return bad("ADDR");
        client = address ? client_of({*address, 0}) : client_without_address();
        client.server_address = former.server_address;
        client.server_port = former.server_port;
    }
    if (described.name) client.name = described.name->value.empty() ? "unknown" : described.name->value;
    if (described.port) client.port = number(described.port->value);
    if (described.reverse_name) client.reverse_name = described.reverse_name->value;
    if (described.dest_address) {
        client.server_address = text_of(described.dest_address);
        if (!client.server_address.empty() && !common::IpAddress::parse(client.server_address)) return bad("DESTADDR");
    }
    if (described.dest_port) client.server_port = number(described.dest_port->value);
    client.certificate = nullptr; // it is the proxy's
    client.permission = {};
    client.user = text_of(described.login);
    client.auth_method = client.user.empty() ? "" : "XCLIENT";
    return client;
}

bool may_relay(const Rules& rules, const Client& client) {
    if (!client.user.empty()) return true;
    // Content filters are known by their addresses only: their mail is not examined again.
    if (rules.listener.service != config::Service::filtered &&
        client.permission.kind == CertificatePermission::Kind::permitted)
        return true;
    const auto& networks =
        rules.listener.names_its_clients() ? rules.listener.submitters : rules.config->relay.networks;
    return common::contains(networks, client.address);
}

std::string certificate_obstacle(const Rules& rules, const Client& client) {
    const auto& relay = rules.config->relay;
    if (!rules.listener.client_certificates || (relay.client_certificates.empty() && !relay.verified_certificates))
        return "";
    return client.certificate ? client.permission.why : "it has shown none";
}

static constexpr std::string_view lookup_failure = "Temporary lookup failure";

// A client that may not relay; temporarily, where this is not known.
static RelayDecision refuse_relaying(const Client& client, std::string about, int code, smtp::EnhancedStatus status,
                                     std::string_view text) {
    const bool unknown = client.permission.kind == CertificatePermission::Kind::unavailable;
    auto out = unknown ? refuse(451, {4, 3, 0}, about + std::string(lookup_failure))
                       : refuse(code, status, about + std::string(text));
    out.not_permitted = true;
    return out;
}

static std::string complete(const Rules& rules, const smtp::Mailbox& mailbox) {
    return mailbox.text() + "@" + rules.config->mta.origin;
}

static std::string folded(const Rules& rules, const smtp::Mailbox& sender) {
    return idn::folded(sender.bare() ? complete(rules, sender) : sender.text());
}

// A user without a domain has that name in all local domains.
static bool has_name_of_user(const std::string& address, const std::string& user) {
    const auto name = idn::folded(user);
    return name.find('@') == name.npos && address.substr(0, address.rfind('@')) == name;
}

// Is this address the user's own? The password file lists addresses besides the one that is the user's name.
static bool owns(const Rules& rules, const std::string& user, const smtp::Mailbox& sender,
                 const decide::ClassAnswer& where) {
    const auto address = folded(rules, sender);
    const auto domain = std::string_view(address).substr(address.rfind('@') + 1);
    if (address == idn::folded(user)) return true;
    if (has_name_of_user(address, user) &&
        (where == decide::AddressClass::local || domain == smtp::lowered(rules.config->mta.origin)))
        return true;
    const auto* entry = rules.passwords->find(user);
    return entry && std::ranges::any_of(entry->addresses, [&](const auto& each) {
               return each == address || (each.starts_with('@') && std::string_view(each).substr(1) == domain);
           });
}

std::string sender_domain(const Rules& rules, const Client& client, const smtp::ReversePath& path) {
    if (path.null() || path.mailbox->bare() || client.user.empty() || !rules.config->auth.sender_match) return "";
    const bool by_name = has_name_of_user(folded(rules, *path.mailbox), client.user);
    return by_name ? idn::ascii_domain(path.mailbox->domain) : "";
}

RelayDecision evaluate_sender(const Rules& rules, const Client& client, const smtp::ReversePath& path,
                              const decide::ClassAnswer& where) {
    const bool trusted = may_relay(rules, client);
    if (rules.listener.service == config::Service::filtered && !trusted)
        return refuse(550, {5, 7, 1}, "Access denied: only content filters send mail here");
    if (rules.listener.service == config::Service::submission && !trusted)
        return refuse_relaying(client, "", 530, {5, 7, 0}, "Authentication required");
    if (path.null()) return {Kind::accept, {}, {}};
    if (rules.config->auth.sender_match && !client.user.empty() && !owns(rules, client.user, *path.mailbox, where)) {
        const auto about = "<" + path.text() + ">: Sender address rejected: ";
        if (!where) return refuse(451, {4, 3, 0}, about + std::string(lookup_failure));
        return refuse(553, {5, 7, 1}, about + "not owned by user " + client.user);
    }
    if (!path.mailbox->bare() && idn::ascii_domain(path.mailbox->domain).empty())
        return refuse(550, {5, 1, 8}, "<" + path.text() + ">: Sender address rejected: Domain not found");
    if (!path.mailbox->bare()) return {Kind::accept, path.text(), {}};
    if (trusted) return {Kind::accept, complete(rules, *path.mailbox), {}};
    return refuse(553, {5, 1, 7}, "<" + path.text() + ">: Sender address rejected: need fully-qualified address");
}

std::string recipient_domain(const Rules& rules, const smtp::ForwardPath& path) {
    if (path.bare_postmaster()) return "";
    return path.mailbox.bare() ? smtp::lowered(rules.config->mta.origin) : idn::ascii_domain(path.mailbox.domain);
}

// user%remote.example: an ordinary name here, but the next host may take it for user@remote.example.
static bool leads_on(const smtp::Mailbox& recipient) {
    return recipient.local_part.find_first_of("%!@") != std::string::npos;
}

RelayDecision evaluate_recipient(const Rules& rules, const Client& client, const smtp::ForwardPath& path,
                                 const decide::ClassAnswer& where) {
    const auto& settings = *rules.config;
    const auto text = path.text();
    if (path.bare_postmaster()) return {Kind::accept, text, {}};
    const bool trusted = may_relay(rules, client);
    auto address = text;
    if (path.mailbox.bare()) {
        if (!trusted)
            return refuse(550, {5, 1, 3}, "<" + text + ">: Recipient address rejected: need fully-qualified address");
        address = complete(rules, path.mailbox);
    }
    if (recipient_domain(rules, path).empty())
        return refuse(550, {5, 1, 2}, "<" + text + ">: Recipient address rejected: Domain not found");
    using enum decide::AddressClass;
    if (!where) { // the mail of who may relay waits in the queue, wherever it goes
        if (trusted) return {Kind::accept, address, {}};
        return refuse(451, {4, 3, 0}, "<" + text + ">: " + std::string(lookup_failure));
    }
    if (*where == remote && !trusted)
        return refuse_relaying(client, "<" + text + ">: ", 554, {5, 7, 1}, "Relay access denied");
    const bool listed = *where == relay ? !settings.relay.recipients.empty() : *where != remote;
    const bool wanted = settings.smtpd.check_recipients && (*where != local || settings.local.check_recipients);
    const bool passed_on = *where == relay || (*where == local && !wanted); // to a host that may relay for us
    if (!trusted && passed_on && leads_on(path.mailbox))
        return refuse_relaying(client, "<" + text + ">: ", 554, {5, 7, 1}, "Relay access denied");
    // These may reject any recipient.
    const auto& tables = settings.addresses;
    const bool closed = *where != remote && settings.smtpd.check_recipients &&
                        !(tables.transport.tables.empty() && tables.relocated.tables.empty());
    return {(listed && wanted) || closed ? Kind::check : Kind::accept, address, {}};
}

smtp::Reply reply_for(common::Unavailable why) {
    if (why == common::Unavailable::refused)
        return {452, {4, 3, 0}, "The journal of mail cannot be written; try again later"};
    if (why == common::Unavailable::full) return {452, {4, 3, 1}, "Insufficient system storage"};
    if (why == common::Unavailable::memory)
        return {452, {4, 3, 1}, "Error: too much mail is being received, try again later"};
    return {451, {4, 3, 0}, "Error: queue file write error"};
}

} // namespace smtpd
