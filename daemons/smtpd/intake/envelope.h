// The envelope of a message from the network, made of MAIL, the client and its session. Pure.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/policy/rules.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/session/server_events.h"
#include "libsmtp/text/time_types.h"
#include "libspool/format/envelope.h"
#include <string>
#include <string_view>

namespace smtpd {

// How a message is received, for its envelope and its Received field. Views into the session.
struct Reception {
    std::string_view helo;
    std::string_view protocol;                // "ESMTPS"
    const tls::ConnectionInfo* tls = nullptr; // null: plain text
    bool forwarded = false;                   // XFORWARD described its earlier client
};

// Without recipients. `reverse_path`: completed.
spool::Envelope make_envelope(const Rules& rules, const Client& client, const Reception& reception,
                              const smtp::event::Mail& mail, std::string reverse_path, smtp::WallTime now);
// Must it be delivered (BY) before it may be sent (HOLDFOR, HOLDUNTIL)?
bool ends_before_release(const smtp::MailParameters& parameters, smtp::WallTime now);
// The parameters of FUTURERELEASE and DELIVERBY as the client wrote them; "" if there is none.
std::string schedule_of(const smtp::MailParameters& parameters);

} // namespace smtpd
