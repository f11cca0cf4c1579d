// The wording of a delivery status notification: what a person reads, and
// how a text is made safe for a field. Used only by the composer in dsn.cpp.
#pragma once
#include "libsmtp/dsn/dsn.h"
#include <string>
#include <string_view>

namespace smtp::dsn {

enum class Charset : std::uint8_t { ascii, utf8 };

bool is_7bit(std::string_view text); // no NUL either

// One line: control characters become blanks, what the charset cannot hold becomes '?'.
std::string printable(std::string_view text, Charset charset);

// "Name: value" CRLF, folded at blanks so that lines stay short; a word of over 900 bytes is cut.
std::string folded_field(std::string_view name, std::string_view value);

// `status` if it is one and its class can go with the action, else the nearest that does.
// What became of a recipient.
Action action_of(const Recipient& recipient, const Report& report);

std::string fitting_status(std::string_view status, Action action);

// The placeholders of `wording` filled in, lines wrapped where ours, CRLF.
std::string human_text(const Report& report, std::string_view wording);

} // namespace smtp::dsn
