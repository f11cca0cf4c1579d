// Who may send what to whom: relay control and the completion of bare addresses. Pure: rules, a client and an address
// in, a decision or a reply out. With no matching permission the answer is 554 5.7.1.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/net/network.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/smtpd/policy/rules.h"
#include "libsmtp/message/address.h"
#include "libsmtp/protocol/client_attributes.h"
#include "libsmtp/protocol/reply.h"
#include <expected>
#include <memory>

namespace smtpd {

// What the certificate that a client has shown permits it. Default: nothing, as no certificate does.
struct CertificatePermission {
    enum class Kind : std::uint8_t {
        none,
        permitted,   // it may relay
        unavailable, // a table cannot be asked
    };
    Kind kind = Kind::none;
    std::string name;    // permitted: of the client, one word
    std::string why;     // else: why; "" if certificates permit nothing here
    bool listed = false; // permitted by relay.client_certificates, not only by an authority
};

// The other end of a connection.
struct Client {
    common::IpAddress address;
    std::uint16_t port = 0;
    std::string address_text;     // "192.0.2.1"
    std::string name = "unknown"; // confirmed by its address, or "unknown"
    std::string reverse_name;     // by XCLIENT: not confirmed; "" not known
    std::string server_address;   // by a balancer or XCLIENT: what it connected to; "" not known
    std::uint16_t server_port = 0;
    std::string user;                                          // authenticated user; "" none
    std::string auth_method;                                   // the mechanism
    std::shared_ptr<const tls::ClientCertificate> certificate; // that it has shown; null: none
    CertificatePermission permission;                          // by it
    std::string network; // "192.0.2.1" or "2001:db8::/64": what limits and fairness count

    std::string peer() const { return name + "[" + address_text + "]"; }
    // False: a proxy did not know it; then `address` is in no meaningful network, the texts are "unknown".
    bool has_address() const { return address != common::IpAddress{}; }
};
Client client_of(const common::Endpoint& endpoint);
// A client whose proxy does not know it either.
Client client_without_address();
// The previous client as XCLIENT redescribes it: what is not given stays as it was, except the authenticated user,
// and the name if the address changes ("unknown" until it is looked up). The error is the reply to send.
std::expected<Client, smtp::Reply> apply_xclient(const Client& former, const smtp::ClientAttributes& described);

struct RelayDecision {
    enum class Kind : std::uint8_t {
        accept,
        check, // one of ours: does the recipient exist?
        reject,
    };
    Kind kind = Kind::accept;
    std::string address;        // what goes into the envelope; bare local parts completed
    smtp::Reply reply;          // reject
    bool not_permitted = false; // reject: because the client may not relay
};

// May this client send anywhere? Then it may also say how.
bool may_relay(const Rules& rules, const Client& client);
// The domains on whose class the evaluation below depends, in lower case, as the DNS has them; "" on none.
std::string sender_domain(const Rules& rules, const Client& client, const smtp::ReversePath& path);
std::string recipient_domain(const Rules& rules, const smtp::ForwardPath& path);
// `where`: their classes. While one cannot be known, what depends on it is rejected temporarily.
RelayDecision evaluate_sender(const Rules& rules, const Client& client, const smtp::ReversePath& path,
                              const decide::ClassAnswer& where = decide::AddressClass::remote);
RelayDecision evaluate_recipient(const Rules& rules, const Client& client, const smtp::ForwardPath& path,
                                 const decide::ClassAnswer& where);

// Why its certificate does not permit the client to relay; "" where none does.
std::string certificate_obstacle(const Rules& rules, const Client& client);

// The reply to a client while the spool accepts no mail.
smtp::Reply reply_for(common::Unavailable why);

} // namespace smtpd
