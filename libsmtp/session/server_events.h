// The events of a server's session: questions that its driver answers with a Reply, and notices. Values; the
// comments describe the effect of each answer.
#pragma once
#include "libsmtp/auth/secret.h"
#include "libsmtp/message/address.h"
#include "libsmtp/protocol/client_attributes.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_verbs.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace smtp {

namespace event {
struct Connect {}; // question: 220 greets (text is ours if empty), else closed
struct Helo {
    bool extended;
    std::string name;
}; // question: 250 accepts; the list of EHLO is ours, the reply's text comes behind it
struct Mail {
    ReversePath path;
    MailParameters parameters;
}; // question
struct Rcpt {
    ForwardPath path;
    RcptParameters parameters;
}; // question
struct Data {}; // question, also before the first chunk of BDAT: 354 starts the content
struct Chunk {
    std::string_view bytes;
}; // notice: content, valid until the next call of next() or feed()
struct EndOfData {}; // question: 250 once the message is durable
struct Vrfy {
    std::string argument; // UTF-8 only if the client has asked for such replies (RFC 6531, 3.7.4.2)
}; // question
struct Etrn {
    enum class Scope : std::uint8_t {
        domain,
        with_subdomains
    }; // "name" or "#name" (queues are named by domains); "@name"
    Scope scope;
    std::string name; // lower case
}; // question
// Question: 220 starts TLS. Once that reply is sent the driver feeds nothing until it has called tls_up().
struct StartTls {};
// Question: 334 asks for an AuthLine (its text is base64 already), 235 authenticates.
struct Auth {
    std::string mechanism;         // one of those offered, in capitals
    std::optional<Secret> initial; // base64, as it came; "" if the client sent "="
};
struct AuthLine { // question, answered like Auth
    Secret text;  // base64; "*": the client gives up
};
// Question: 220 believes it. The session then starts again for the client described: Connect comes next, and
// its answer is the reply to XCLIENT.
struct Xclient {
    ClientAttributes attributes;
};
struct Xforward { // question
    ClientAttributes attributes;
};
struct Unknown {
    std::string verb, argument;
}; // question
// Notice: the session itself has refused something (syntax, order, sizes, numbers), for the log. A
// transaction this ends is reset after it.
struct Refused {
    Verb command = Verb::unknown;
    Reply reply;
};
// Notice: a client that is watched has done what it should not, before the reply to it. The driver may shut_down().
struct Violation {
    enum class Kind : std::uint8_t { pipelining, non_smtp, bare_newline };
    Kind kind;
    std::string after; // the last command: "CONNECT", "EHLO" …
    std::string text;  // what it sent, at most 100 bytes, as it came
};
// Notice: the transaction that MAIL opened is gone without EndOfData having been answered, and what XFORWARD
// said of it, also if it was never opened.
struct Reset {};
struct Quit {};     // notice; Disconnect follows
struct Disconnect { // notice, the last event of every session, once
    enum class Cause : std::uint8_t {
        quit,
        lost,
        timed_out,
        too_many_errors,
        not_smtp,
        too_early,
        turned_away,
        shut_down
    };
    Cause cause;
};
} // namespace event

using ServerEvent = std::variant<event::Connect, event::Helo, event::Mail, event::Rcpt, event::Data, event::Chunk,
                                 event::EndOfData, event::Vrfy, event::Etrn, event::StartTls, event::Auth,
                                 event::AuthLine, event::Xclient, event::Xforward, event::Unknown, event::Refused,
                                 event::Violation, event::Reset, event::Quit, event::Disconnect>;

} // namespace smtp
