#include "daemons/postrider/queue/suppression_lines.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace postrider {

namespace {

using Names = std::array<std::string_view, 5>;
constexpr Names recipient_names = {"email", "address", "recipient", "emailaddress", "email address"};
constexpr Names reason_names = {"reason", "type", "suppressionreason", "status", "origin"};
constexpr Names reply_names = {"error", "reply", "response", "diagnostic", "details"};

std::string_view trimmed(std::string_view text) { return smtp::trimmed(text, " \t\r"); }

std::optional<std::size_t> column(const std::vector<std::string>& fields, const Names& names) {
    for (const auto name : names) // in the order of names: "reason" rather than "status"
        for (std::size_t n = 0; n < fields.size(); ++n)
            if (smtp::same_ignoring_case(trimmed(fields[n]), name)) return n;
    return {};
}

std::expected<std::optional<SuppressionLine>, std::string> from_json(std::string_view line) {
    const auto value = nlohmann::json::parse(line, nullptr, false);
    const auto text = [&](const char* key) {
        const auto found = value.find(key);
        return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!value.is_object()) return std::unexpected("is not a JSON object");
    SuppressionLine out{
        text("recipient"), {text("sender"), text("pool"), text("lane")}, text("reason"), text("reply"), 0};
    if (out.recipient.empty()) return std::unexpected("has no \"recipient\"");
    if (const auto expires = value.find("expires"); expires != value.end() && expires->is_number_integer())
        out.expires = expires->get<std::int64_t>();
    return out;
}

} // namespace

std::optional<std::vector<std::string>> csv_fields(std::string_view line, char separator) {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (std::size_t n = 0; n < line.size(); ++n) {
        const char c = line[n];
        if (quoted && c == '"' && n + 1 < line.size() && line[n + 1] == '"')
            out.back() += line[++n];
        else if (c == '"' && (quoted || trimmed(out.back()).empty()))
            quoted = !quoted;
        else if (c == separator && !quoted)
            out.emplace_back();
        else
            out.back() += c;
    }
    if (quoted) return {};
    return out;
}

std::expected<std::optional<SuppressionLine>, std::string> SuppressionReader::read(std::string_view line) {
    if (first_) line = smtp::without_byte_order_mark(line);
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) return std::nullopt;
    if (line.starts_with('{')) {
        first_ = false;
        return from_json(line);
    }
    if (first_) separator_ = line.find(',') == line.npos && line.find(';') != line.npos ? ';' : ',';
    if (first_ && line.find(separator_) == line.npos && line.find('\t') != line.npos) separator_ = '\t';
    const auto fields = csv_fields(line, separator_);
    if (!fields) return std::unexpected("has an unclosed quotation mark");
    if (std::exchange(first_, false) && column(*fields, recipient_names)) {
        recipient_ = column(*fields, recipient_names);
        reason_ = column(*fields, reason_names);
        reply_ = column(*fields, reply_names);
        return std::nullopt;
    }
    const auto field = [&](std::optional<std::size_t> at) {
        return at && *at < fields->size() ? std::string(trimmed((*fields)[*at])) : std::string();
    };
    SuppressionLine out{field(recipient_), {}, field(reason_), field(reply_), 0};
    if (out.recipient.starts_with('<') && out.recipient.ends_with('>')) // as paths are written
        out.recipient = out.recipient.substr(1, out.recipient.size() - 2);
    if (out.recipient.empty()) return std::unexpected("has no address");
    return out;
}

} // namespace postrider
