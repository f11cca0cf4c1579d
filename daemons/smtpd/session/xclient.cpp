// How a Connection takes a listed peer's word for whom it speaks: XCLIENT makes the session another client's,
// XFORWARD tells the log where a message came from before. TLS stays what it is: it is between the peer and
// us. (The PROXY protocol is over before there is a Connection.)
#include "daemons/smtpd/session/connection.h"

namespace smtpd {

// By whose connection it is, not by whom it speaks for; so it may speak for one after the other.
void Connection::grant_rights() {
    const auto& listener = rules_->listener;
    session_.grant({common::contains(listener.xclient_networks, peer_.address),
                    common::contains(listener.xforward_networks, peer_.address),
                    common::contains(rules_->config->smtpd.bare_newline_networks, peer_.address)});
}

// Nothing of the former client stays: limits, lists, filters and policy are asked about the new one.
void Connection::operator()(smtp::event::Xclient& xclient) {
    auto client = apply_xclient(client_, xclient.attributes);
    if (!client) return reject(smtp::Verb::xclient, client.error());
    if (auto over = too_many_connections_of(client->user)) return reject(smtp::Verb::xclient, *over);
    client_ = *std::move(client);
    named_by_proxy_ = xclient.attributes.name || !xclient.attributes.address;
    name_lookup_.reset();
    worker_.loop.defer([gone = std::shared_ptr(std::move(policy_chain_))] {}); // a check of it may be the one that calls
    xforward_.reset();
    last_rejection_ = {};
    const auto& limits = rules_->listener.limits;
    worker_.client_limits.release(counted_network_);
    admission_ = worker_.client_limits.admit(client_.network,
                                       {limits.sessions_per_network, limits.connections_per_minute},
                                       common::Loop::now().monotonic);
    counted_network_ = admission_ == ClientLimits::Admission::admitted ? client_.network : "";
    answer({220, {}, ""});
}

void Connection::operator()(smtp::event::Xforward& xforward) {
    if (!xforward_) xforward_ = std::make_unique<smtp::ClientAttributes>();
    using Part = smtp::ClientAttributes::Attribute smtp::ClientAttributes::*;
    for (const Part part : {&smtp::ClientAttributes::name, &smtp::ClientAttributes::address,
                            &smtp::ClientAttributes::ident})
        if (xforward.attributes.*part) xforward_.get()->*part = std::move(xforward.attributes.*part);
    answer({250, {2, 0, 0}, "Ok"});
}

// For the log, behind the client itself.
std::string Connection::forwarded_text() const {
    if (!xforward_) return "";
    const auto text_of = [](const smtp::ClientAttributes::Attribute& attribute) {
        return attribute && !attribute->value.empty() ? attribute->value : "unknown";
    };
    std::string out;
    if (xforward_->ident) out += ", orig_queue_id=" + text_of(xforward_->ident);
    if (xforward_->name || xforward_->address)
        out += ", orig_client=" + text_of(xforward_->name) + "[" + text_of(xforward_->address) + "]";
    return out;
}

} // namespace smtpd
