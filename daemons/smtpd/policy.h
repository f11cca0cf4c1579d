// Who may send what to whom: relay control and the completion of bare addresses. Pure: rules, a client and an
// address in, a judgement out. With no matching permission the answer is 554 5.7.1.
#pragma once
#include "daemons/common/network.h"
#include "daemons/smtpd/rules.h"
#include "libsmtp/address.h"
#include "libsmtp/reply.h"

namespace smtpd {

// Who is at the other end of a connection.
struct Client {
    common::IpAddress address;
    std::uint16_t port = 0;
    std::string address_text;     // "192.0.2.1"
    std::string name = "unknown"; // confirmed by its address, or "unknown"
    std::string user;             // who it is by AUTH; "" not known
    std::string auth_method;      // by which mechanism
    std::string network;          // "192.0.2.1" or "2001:db8::/64": what limits and fairness count

    std::string peer() const { return name + "[" + address_text + "]"; }
};
Client client_of(const common::Endpoint& endpoint);

struct Judgement {
    enum class Kind : std::uint8_t {
        accept,
        check, // one of ours: does the recipient exist?
        refuse,
    };
    Kind kind = Kind::accept;
    std::string address; // what goes into the envelope; bare local parts completed
    smtp::Reply reply;   // refuse
};

Judgement judge_sender(const Rules& rules, const Client& client, const smtp::ReversePath& path);
Judgement judge_recipient(const Rules& rules, const Client& client, const smtp::ForwardPath& path);

} // namespace smtpd
