#include "daemons/common/submission/forwarded_requests.h"
#include "daemons/common/submission/control_fields.h"
#include "libsmtp/message/control_fields.h"
#include "libsmtp/protocol/deliver_by.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace common {

namespace {

// Of where a message came from; a message of a program of this system has no listener.
struct SourceWord {
    std::string_view name;
    std::string spool::Envelope::* place;
};
constexpr SourceWord source_words[] = {
    {"listener", &spool::Envelope::listener},
    {"submitter", &spool::Envelope::submitter},
    {"user", &spool::Envelope::sasl_user},
    {"method", &spool::Envelope::sasl_method},
    {"name", &spool::Envelope::client_name},
    {"address", &spool::Envelope::client_address},
    {"helo", &spool::Envelope::helo},
    {"protocol", &spool::Envelope::protocol},
    {"lane-chosen-by", &spool::Envelope::lane_chosen_by},
    {"pool-chosen-by", &spool::Envelope::pool_chosen_by},
};
static_assert(smtp::ControlFields::longest_value > 900);
constexpr std::size_t longest_source = 900; // what comes later in the list is left out

void add(std::string& out, std::size_t field, std::string_view value) {
    if (!value.empty()) out += fmt::format("{}: {}\r\n", control_fields[field], value);
}

// As in URLs: everything but letters, digits and a few others as "%C3".
std::string encoded(std::string_view value) {
    constexpr std::string_view plain = "-._:@/[]";
    std::string out;
    for (const char c : value)
        if (smtp::is_letter(c) || (c >= '0' && c <= '9') || plain.find(c) != plain.npos)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return out;
}

// Nothing: it was not made by encoded(), or has a control character.
std::optional<std::string> decoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto c = static_cast<unsigned char>(text[i]);
        if (c == '%') {
            if (i + 2 >= text.size()) return {};
            const auto high = digits.find(text[i + 1]), low = digits.find(text[i + 2]);
            if (high == digits.npos || low == digits.npos) return {};
            c = static_cast<unsigned char>(high << 4 | low);
            i += 2;
        }
        if (c < 0x20 || c == 0x7f) return {};
        out += static_cast<char>(c);
    }
    return out;
}

std::string mode_of(const spool::Envelope& envelope) {
    return fmt::format("{}{}", envelope.late == smtp::LateMail::give_back ? "R" : "N",
                       envelope.deliver_by_trace ? "T" : "");
}

} // namespace

std::string fields_of_requests(const spool::Envelope& envelope, std::string_view lane, smtp::WallTime now) {
    std::string out;
    add(out, source_field, source_text(envelope));
    add(out, pool_field, envelope.pool);
    if (envelope.expiry && *envelope.expiry > now) add(out, expires_field, smtp::rfc3339_date(*envelope.expiry));
    if (envelope.deliver_by && *envelope.deliver_by > now)
        add(out, deliver_by_field, fmt::format("{};{}", smtp::rfc3339_date(*envelope.deliver_by), mode_of(envelope)));
    add(out, lane_field, lane);
    add(out, policy_field, envelope.retry_policy);
    for (const auto& each : envelope.meta) out += fmt::format("{}{}: {}\r\n", meta_field, each.name, each.value);
    return out;
}

std::string source_text(const spool::Envelope& envelope) {
    std::string out;
    for (const auto& [name, place] : source_words) {
        const auto& value = envelope.*place;
        if (value.empty()) continue;
        const auto word = fmt::format("{}{}={}", out.empty() ? "" : "\r\n ", name, encoded(value));
        if (out.size() + word.size() <= longest_source) out += word;
    }
    return out;
}

bool restore_source(std::string_view text, spool::Envelope& envelope) {
    spool::Envelope found;
    while (!text.empty()) {
        const auto begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
        text.remove_prefix(begin);
        const auto word = text.substr(0, text.find_first_of(" \t\r\n"));
        text.remove_prefix(word.size());
        if (word.empty()) break;
        const auto equals = word.find('=');
        const auto known = std::ranges::find(source_words, word.substr(0, equals), &SourceWord::name);
        if (equals == word.npos || known == std::end(source_words)) return false;
        auto value = decoded(word.substr(equals + 1));
        if (!value) return false;
        found.*known->place = *std::move(value);
    }
    if (found.submitter.empty()) return false;
    for (const auto& each : source_words) envelope.*each.place = std::move(found.*each.place);
    envelope.client_port = 0;
    if (envelope.listener.empty()) envelope.origin = spool::Origin::local;
    return true;
}

} // namespace common
