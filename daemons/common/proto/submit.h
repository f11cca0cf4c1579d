// sendmail ↔ pickup: one message from a program on this host. The files of drop/ contain the same frames,
// without the answer. No Hello: every user may connect; the kernel identifies them, and nothing sent here is
// trusted.
//
//   Begin [Requests] Recipients… Content… End   from sendmail; nothing is submitted before End has arrived
//   Import… Content… End from `postrider spool import`, operators only (common/operators.h): a message of another spool
//   Answer               from pickup, at any time; then it closes
#pragma once
#include "libsmtp/protocol/parameters.h"
#include "libspool/delivery/delivery_facts.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::submit {

inline constexpr std::uint32_t version = 2;
inline constexpr std::size_t largest_content = 64 * 1024; // bytes in one Content or Import
inline constexpr std::size_t largest_envelope = 64 * 1024 * 1024;

struct Recipient {
    std::string list;        // an address list as the argument gave it: "a@x, Name <b@y>"
    std::string orcpt;       // "rfc822;user@example.org", decoded; "" for none
    std::uint8_t notify = 0; // 1 never, 2 success, 4 failure, 8 delay; 0 unspecified
    static void fields(auto& m, auto& f) {
        f("list", m.list);
        f("orcpt", m.orcpt);
        f("notify", m.notify);
    }
};

enum class Body : std::uint8_t { unspecified, seven_bit, eight_bit, last_ = eight_bit };

struct Begin {
    std::uint32_t version = submit::version;
    std::string sender;    // "" is the null sender; a bare name is completed
    std::string full_name; // for a missing From:
    std::vector<Recipient> recipients;
    bool from_header = false;       // -t: To, Cc and Bcc as well
    std::uint8_t header_notify = 0; // NOTIFY for those
    smtp::Ret ret = smtp::Ret::unspecified;
    std::string envid;
    Body body = Body::unspecified;
    bool smtputf8 = false;
    bool require_tls = false;
    std::int32_t zone = 0; // minutes east of UTC, for a missing Date:
    spool::Trace trace = spool::Trace::none;
    std::string requests; // not in its frame: sent as Requests
    static void fields(auto& m, auto& f) {
        f("version", m.version);
        f("sender", m.sender);
        f("full_name", m.full_name);
        f("recipients", m.recipients);
        f("from_header", m.from_header);
        f("header_notify", m.header_notify);
        f("ret", m.ret);
        f("envid", m.envid);
        f("body", m.body);
        f("smtputf8", m.smtputf8);
        f("require_tls", m.require_tls);
        f("zone", m.zone);
        f("trace", m.trace);
    }
};

// Those that Begin had no room for: further ones, of which several such messages may follow.
struct Recipients {
    std::vector<Recipient> recipients;
    static void fields(auto& m, auto& f) { f("recipients", m.recipients); }
};

// An envelope as the spool has it, in pieces; the content that follows is taken as it is.
struct Import {
    std::uint32_t version = submit::version;
    std::string piece; // of spool::encode(Envelope)
    bool more = false; // a further Import follows
    static void fields(auto& m, auto& f) {
        f("version", m.version);
        f("piece", m.piece);
        f("more", m.more);
    }
};

struct Content { // the message as the program wrote it: LF or CRLF line ends
    std::string bytes;
    static void fields(auto& m, auto& f) { f("bytes", m.bytes); }
};

struct End {
    static void fields(auto&, auto&) {}
};

struct Answer {
    std::uint8_t status = 0; // of sysexits.h: 0 durable, 64 no recipients, 65 bad data, 75 try again …
    std::string queue_id;    // status 0
    std::string text;        // one line for the user; of status 0 only where nothing is sent
    static void fields(auto& m, auto& f) {
        f("status", m.status);
        f("queue_id", m.queue_id);
        f("text", m.text);
    }
};

// Header fields addressed to this system, as if they began the header (common/submission/sender_requests.h).
struct Requests {
    std::string header;
    static void fields(auto& m, auto& f) { f("header", m.header); }
};

using Message = std::variant<Begin, Content, End, Answer, Import, Recipients, Requests>;

} // namespace proto::submit
