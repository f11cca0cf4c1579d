// Mail addresses and SMTP paths (RFC 5321, 4.1.2): text to value and back. Parsing gives a value or an error, never a
// value and leftovers; no value contains a NUL, CR or LF. Non-ASCII bytes are the UTF-8 of RFC 6531, well-formed and
// unchanged: nothing is normalised here. The session decides whether a peer may use them. Knows no DNS, no local
// domains, no IDNA.
#pragma once
#include "libsmtp/text/text.h"
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace smtp {

// Bytes as written, with quotes. RFC 5321, 4.5.3.1.1, has 64 for the local part and recommends accepting more where
// possible: senders with a recipient in them (VERP, SRS) need it, and other servers accept it.
inline constexpr std::size_t max_local_part = 255;
inline constexpr std::size_t max_domain = 255;
inline constexpr std::size_t max_address = 320; // of both, with the @

// local@domain. The local part is kept without quotes and backslashes ("a b"@x is a b, x) and in its own
// case; text() quotes it again where it must be. The domain is kept as written: a name, or a literal in
// brackets.
struct Mailbox {
    std::string local_part;
    std::string domain; // "" only for a bare local part (see ForwardPath)

    // "local@domain", all of `text`. A bare local part is an error.
    static std::expected<Mailbox, Malformed> parse(std::string_view text);
    // As parse(), or a bare local part, which gets an empty domain.
    static std::expected<Mailbox, Malformed> parse_bare_allowed(std::string_view text);

    // "local@domain" with quotes if the local part needs them; the bare local part if the domain is empty.
    std::string text() const;
    bool has_literal() const { return domain.starts_with('['); }
    bool bare() const { return domain.empty(); }
    // Domains compare without case, local parts with it.
    bool operator==(const Mailbox& other) const {
        return local_part == other.local_part && same_ignoring_case(domain, other.domain);
    }
};

// The sender of a message: a mailbox, or the null sender (<>).
struct ReversePath {
    std::optional<Mailbox> mailbox;

    // `inside`: the text between < and >; source routes ("@a,@b:") are dropped. A bare local part is accepted here:
    // whether it is allowed is a matter of policy.
    static std::expected<ReversePath, Malformed> parse(std::string_view inside);
    bool null() const { return !mailbox; }
    std::string text() const { return mailbox ? mailbox->text() : std::string(); } // without brackets
    bool operator==(const ReversePath&) const = default;
};

// The destination of a message: a mailbox, or a bare local part (<postmaster> by the RFC, others by policy).
struct ForwardPath {
    Mailbox mailbox;

    static std::expected<ForwardPath, Malformed> parse(std::string_view inside);
    bool bare_postmaster() const { return mailbox.bare() && same_ignoring_case(mailbox.local_part, "postmaster"); }
    std::string text() const { return mailbox.text(); }
    bool operator==(const ForwardPath&) const = default;
};

// Splits "<path> parameters" (what follows FROM: or TO:, leading spaces allowed) into the text between the brackets and
// the parameters. '>' and spaces inside a quoted local part belong to the path. An address without brackets is accepted
// as well, up to the first space.
struct SplitPath {
    std::string_view inside, parameters;
};
std::expected<SplitPath, Malformed> split_path(std::string_view argument);

// A name: labels of letters, digits, '-' and '_', each 1 to 63 long, not beginning or ending in '-', 255 in all. Labels
// with UTF-8 in them (U-labels) may be longer; their meaning to the DNS is not checked.
bool valid_domain(std::string_view domain);
// "[192.0.2.1]" or "[IPv6:2001:db8::1]".
bool valid_literal(std::string_view literal);

} // namespace smtp
