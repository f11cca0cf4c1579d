// The command line of sendmail(1), mailq(1) and newaliases(1): what callers of thirty years write. Words in, a value
// out; does nothing.
#pragma once
#include "daemons/common/proto/submit.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sendmail {

enum class Mode : std::uint8_t {
    deliver, // -bm: a message on standard input
    smtp,    // -bs: SMTP on standard input and output
    list,    // -bp, mailq
    aliases, // -bi, -I, newaliases
    verify,  // -bv: what would happen to mail for the recipients; nothing is read or delivered
    flush,   // -q, -qI, -qR
    nothing, // -q30m and the like: accepted, nothing to do
};

enum class DotHandling : std::uint8_t { end_message, literal };

struct Options {
    Mode mode = Mode::deliver;
    std::string config;                          // -C
    std::optional<std::string> sender;           // -f, -r: the last one; "" the null sender
    std::string full_name;                       // -F
    DotHandling dots = DotHandling::end_message; // -i, -oi
    bool from_header = false;                    // -t
    std::vector<std::string> recipients;
    std::uint8_t notify = 0; // -N
    smtp::Ret ret = smtp::Ret::unspecified;
    std::string envid; // -V
    proto::submit::Body body = proto::submit::Body::unspecified;
    bool smtputf8 = false, require_tls = false; // -O
    std::string requests;                // -O: header fields for this system (common/submission/sender_requests.h)
    bool verbose = false;                // -v: the sender gets a report on the first attempt
    std::string only_message, only_site; // -qI<id>, -qR<site>
};

// `name`: what the program was called. An error is a line for the user: exit 64.
std::expected<Options, std::string> parse_options(std::string_view name, const std::vector<std::string>& words);

} // namespace sendmail
