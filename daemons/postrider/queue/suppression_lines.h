// What other systems' suppression lists look like, as entries for ours: plain addresses, CSV with or without a
// first line of names (as SendGrid, Mailgun, Postmark and others export), and the JSON lines of our own listing.
// Pure; addresses are judged by the queue-manager.
#pragma once
#include "daemons/decide/message/suppression.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

struct SuppressionLine {
    std::string recipient;
    decide::SuppressionScope scope;
    std::string reason, reply;
    std::int64_t expires = 0; // seconds since 1970; 0: not given
    bool operator==(const SuppressionLine&) const = default;
};

// The fields of a CSV line (RFC 4180: "a ""b"", c",d); nothing: a quote is not closed.
std::optional<std::vector<std::string>> csv_fields(std::string_view line, char separator);

class SuppressionReader {
public:
    // The next line, without its end. Nothing: it holds no entry (empty, "#…", the line of names). An error says
    // what is wrong with it.
    std::expected<std::optional<SuppressionLine>, std::string> read(std::string_view line);

private:
    bool first_ = true;
    char separator_ = ',';
    std::optional<std::size_t> recipient_ = 0, reason_ = 1, reply_; // columns
};

} // namespace postrider
