// One message for some recipients of one host, as given to a client's session, and the result for each recipient.
// Values; know nothing about the session.
#pragma once
#include "libsmtp/delivery/remote_reply.h"
#include "libsmtp/protocol/client_attributes.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>
#include <vector>

namespace smtp {

struct Transaction {
    struct Recipient {
        std::string address; // without brackets
        RcptParameters parameters;
    };
    std::uint64_t id = 0;     // the driver's
    std::string reverse_path; // without brackets; "" is the null sender
    // size: of the content; body: eight_bit_mime if the content has 8-bit bytes; smtputf8: as declared by the sender
    MailParameters parameters;
    std::uint64_t longest_line = UINT64_MAX; // of the content, if known
    std::string conversion_error;            // body is eight_bit_mime: why it cannot be converted to 7bit; "" not tried
    bool utf8_header = false;                // fields of the content's header are not ASCII (RFC 6532)
    bool require_tls = false; // RFC 8689: only over verified TLS, and only to a host that offers REQUIRETLS
    bool probe = false;       // ends after RCPT: DATA is never sent; accepted recipients count as delivered
    // RFC 2852: until when; parameters.deliver_by has the mode, and its seconds are those left when MAIL is sent.
    Monotonic deliver_by{};
    // Where it came from, for a server that takes XFORWARD; none of them: it is not told.
    ClientAttributes came_from;
    std::vector<Recipient> recipients;
};

struct TransactionResult {
    std::uint64_t id = 0;
    std::vector<Verdict> verdicts;           // each one once
    std::vector<std::uint32_t> of_recipient; // for each recipient, in order: the index of its verdict
    bool dsn_relayed = false;                // the server took over the DSN parameters (RFC 3461)
    bool relaying_to_report = false;         // RFC 2852: the server did not take over BY=, or it asks for a trace
    Monotonic started{};                     // MAIL was sent, or the previous transaction was over
    Monotonic finished{};

    // Equal verdicts of many recipients are kept once.
    void set_verdict(const std::vector<std::uint32_t>& recipients, Verdict verdict);
};

} // namespace smtp
