// The parameters of MAIL and RCPT (RFC 1870, 2852, 6152, 3461, 4865, 4954, 6531, 6710, 8689): "SIZE=100 BODY=8BITMIME
// RET=HDRS ENVID=x SMTPUTF8". Strict: an unknown, repeated or ill-formed parameter rejects the command. A new extension
// is one more field here and one row in the table of parameters.cpp; it is only accepted if Capabilities offers it.
#pragma once
#include "libsmtp/protocol/capabilities.h"
#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

enum class Body : std::uint8_t { seven_bit, eight_bit_mime, last_ = eight_bit_mime };
enum class Ret : std::uint8_t { unspecified, full, headers, last_ = headers };

// NOTIFY: when to send the sender a report for a recipient. None set: not given, which means failure (and delay).
struct Notify {
    bool never = false, success = false, failure = false, delay = false;

    bool given() const { return never || success || failure || delay; }
    // "NEVER" or "SUCCESS,FAILURE,DELAY" or "": as in the parameter.
    std::string text() const;
    static std::expected<Notify, Malformed> parse(std::string_view text);
    std::uint8_t bits() const; // 1 never, 2 success, 4 failure, 8 delay: for storage
    static Notify from_bits(std::uint8_t bits);
    bool operator==(const Notify&) const = default;
};

struct MailParameters {
    std::optional<std::uint64_t> size;     // SIZE=
    Body body = Body::seven_bit;           // BODY=
    Ret ret = Ret::unspecified;            // RET=
    std::string envid;                     // ENVID=, decoded; "": not given
    std::optional<std::uint32_t> hold_for; // HOLDFOR= (RFC 4865), seconds
    std::optional<WallTime> hold_until;    // HOLDUNTIL=
    std::optional<DeliverBy> deliver_by;   // BY= (RFC 2852)
    int priority = 0;                      // MT-PRIORITY= (RFC 6710), -9 to 9
    bool smtputf8 = false;                 // SMTPUTF8 (RFC 6531)
    bool require_tls = false;              // REQUIRETLS (RFC 8689)
    std::string auth;                      // AUTH= (RFC 4954), decoded: an address, "<>", or "": not given
    bool operator==(const MailParameters&) const = default;
};

struct RcptParameters {
    Notify notify;     // NOTIFY=
    std::string orcpt; // ORCPT=: "rfc822;user@example.org", "utf-8;jörg@example.org" (RFC 6533), the address
                       // decoded; "": not given
    bool operator==(const RcptParameters&) const = default;
};

// The text after the path. The error is the reply to send: 501 5.5.4 ill-formed or repeated, 555 5.5.4 unknown or not
// offered.
std::expected<MailParameters, Reply> parse_mail_parameters(std::string_view text, const Capabilities& offered);
std::expected<RcptParameters, Reply> parse_rcpt_parameters(std::string_view text, const Capabilities& offered);

// xtext (RFC 3461, 4). Decoding rejects +hex that is ill-formed or encodes a byte outside 0x20..0x7e.
std::expected<std::string, Malformed> decode_xtext(std::string_view text);
std::string encode_xtext(std::string_view text);
// ORCPT's two halves, "type;address"; the address as xtext on the wire (of type utf-8: as in RFC 6533, 3),
// decoded in the value.
std::expected<std::string, Malformed> decode_orcpt(std::string_view text);
enum class WireText : std::uint8_t { ascii, utf8 }; // allowed in a command: utf8 after MAIL … SMTPUTF8
std::string encode_orcpt(std::string_view orcpt, WireText wire = WireText::ascii);
// An address of type utf-8 in ASCII (RFC 6533, 3): "j\x{F6}rg@example.org". Decoding accepts raw UTF-8, too.
std::string encode_utf8_address(std::string_view address, WireText wire = WireText::ascii);
std::expected<std::string, Malformed> decode_utf8_address(std::string_view text);

} // namespace smtp
