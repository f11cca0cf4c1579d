#include "daemons/simulate/from_log/log_line.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace postrider::simulate::from_log {

using namespace std::chrono_literals;

namespace {

bool skip(std::string_view& text, std::string_view what) {
    if (!text.starts_with(what)) return false;
    text.remove_prefix(what.size());
    return true;
}

// Reads a number of 1 to `most` digits.
std::optional<unsigned> digits(std::string_view& text, std::size_t most) {
    unsigned value = 0;
    const auto part = text.substr(0, most);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || part.front() == '-') return {};
    text.remove_prefix(static_cast<std::size_t>(end - part.data()));
    return value;
}

// "19:52:02", "19:52:02.123456"
std::optional<smtp::Duration> clock(std::string_view& text) {
    const auto hours = digits(text, 2);
    if (!hours || !skip(text, ":")) return {};
    const auto minutes = digits(text, 2);
    if (!minutes || !skip(text, ":")) return {};
    const auto seconds = digits(text, 2);
    if (!seconds || *hours > 23 || *minutes > 59 || *seconds > 60) return {};
    smtp::Duration out = std::chrono::hours(*hours) + std::chrono::minutes(*minutes) + std::chrono::seconds(*seconds);
    if (text.size() > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9') {
        text.remove_prefix(1);
        for (std::int64_t unit = 100'000; !text.empty() && text[0] >= '0' && text[0] <= '9';
             unit /= 10, text.remove_prefix(1))
            out += std::chrono::microseconds(unit * (text[0] - '0'));
    }
    return out;
}

bool is_date(const LogTime& t) { return t.month >= 1 && t.month <= 12 && t.day >= 1 && t.day <= 31; }

std::optional<LogTime> rfc3339(std::string_view& text) {
    LogTime out;
    const auto year = digits(text, 4);
    if (!year || *year < 1970 || !skip(text, "-")) return {};
    const auto month = digits(text, 2);
    if (!month || !skip(text, "-")) return {};
    const auto day = digits(text, 2);
    if (!day || !(skip(text, "T") || skip(text, " "))) return {};
    const auto time = clock(text);
    if (!time) return {};
    out = {static_cast<int>(*year), *month, *day, *time, {}};
    if (!skip(text, "Z") && !text.empty() && (text[0] == '+' || text[0] == '-')) {
        const bool west = text[0] == '-';
        text.remove_prefix(1);
        const auto hours = digits(text, 2);
        skip(text, ":");
        const auto minutes = digits(text, 2);
        if (!hours || !minutes || *hours > 14 || *minutes > 59) return {};
        out.zone = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
        if (west) out.zone = -out.zone;
    }
    return is_date(out) ? std::optional(out) : std::nullopt;
}

// "Nov  3 19:52:02"
std::optional<LogTime> rfc3164(std::string_view& text) {
    const auto month = std::ranges::find(smtp::month_names, text.substr(0, 3));
    if (month == smtp::month_names.end()) return {};
    text.remove_prefix(3);
    if (!skip(text, " ")) return {};
    skip(text, " ");
    const auto day = digits(text, 2);
    if (!day || !skip(text, " ")) return {};
    const auto time = clock(text);
    if (!time) return {};
    const LogTime out{0, static_cast<unsigned>(month - smtp::month_names.begin()) + 1, *day, *time, {}};
    return is_date(out) ? std::optional(out) : std::nullopt;
}

bool is_id(std::string_view word) {
    return word.size() >= 5 && word.size() <= 32 && std::ranges::all_of(word, [](unsigned char c) {
               return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
           });
}

// Reads and removes "key=value, ".
std::optional<std::string_view> value(std::string_view& text, std::string_view key) {
    if (!skip(text, key)) return {};
    const auto end = std::min(text.find(", "), text.size());
    const auto out = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    return out;
}

std::optional<smtp::Duration> seconds(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !(number >= 0 && number <= 400 * 86400.0))
        return {};
    return smtp::Duration(std::llround(number * 1e6));
}

std::optional<Delivery> delivery(std::string_view text) {
    Delivery out;
    if (!skip(text, "to=<")) return {};
    // A quoted address may contain any character: it ends at the first ">" that is followed by the next field.
    auto end = std::min(text.find(">, relay="), text.find(">, orig_to="));
    if (end == text.npos) return {};
    out.recipient = text.substr(0, end);
    text.remove_prefix(end + 3);
    if (text.starts_with("orig_to=")) {
        end = text.find(">, relay=");
        if (end == text.npos) return {};
        text.remove_prefix(end + 3);
    }
    const auto relay = value(text, "relay=");
    if (!relay) return {};
    out.relay = Relay::parse(*relay);
    if (value(text, "conn_use=")) out.reused = true;
    const auto delay = value(text, "delay=");
    if (!delay) return {};
    const auto whole = seconds(*delay);
    if (!whole) return {};
    out.delay = *whole;
    if (const auto delays = value(text, "delays=")) {
        const auto fourth = delays->rfind('/');
        const auto third = fourth == 0 || fourth == delays->npos ? delays->npos : delays->rfind('/', fourth - 1);
        if (third != delays->npos) {
            out.connect = seconds(delays->substr(third + 1, fourth - third - 1));
            out.transmission = seconds(delays->substr(fourth + 1));
        }
    }
    value(text, "dsn=");
    if (!skip(text, "status=")) return {};
    end = std::min(text.find(' '), text.size());
    out.status = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text.starts_with('(') && text.ends_with(')')) out.text = text.substr(1, text.size() - 2);
    return out;
}

std::optional<Queued> queued(std::string_view text) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 40; // the maximum in a scenario
    Queued out;
    const auto end = text.find(">, size=");
    if (end == text.npos) return {};
    out.sender = text.substr(0, end);
    text.remove_prefix(end + std::string_view(">, size=").size());
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out.size);
    if (error != std::errc() || out.size > largest) return {};
    return out;
}

constexpr std::string_view host_failures[] = {"connect to ", "host ", "lost connection with ", "conversation with "};
bool is_host_failure(std::string_view text) {
    return std::ranges::any_of(host_failures, [&](auto each) { return text.starts_with(each); });
}

} // namespace

std::optional<LogTime> read_time(std::string_view& line) {
    return !line.empty() && line[0] >= '0' && line[0] <= '9' ? rfc3339(line) : rfc3164(line);
}

std::optional<Relay> Relay::parse(std::string_view text) {
    const auto open = text.find('['), close = text.find(']');
    if (open == text.npos || open == 0 || close == text.npos || close < open) return {};
    Relay out{text.substr(0, open)};
    text.remove_prefix(close + 1);
    if (text.empty()) return out;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), out.port);
    if (text[0] != ':' || error != std::errc() || end != text.data() + text.size() || out.port == 0) return {};
    return out;
}

std::optional<LogLine> read_line(std::string_view line) {
    line = smtp::trimmed_right(line, " \r");
    const auto when = read_time(line);
    if (!when) return {};
    LogLine out{*when, {}, Expired{}};
    // " host postfix/smtp[123]: text"
    const auto colon = line.find(": ");
    if (colon == line.npos) return {};
    auto text = line.substr(colon + 2);
    if (is_host_failure(text)) {
        out.what = HostFailure{text};
        return out;
    }
    const auto end = text.find(": ");
    if (end == text.npos || !is_id(text.substr(0, end))) return {};
    out.id = text.substr(0, end);
    text.remove_prefix(end + 2);
    if (auto found = delivery(text)) {
        out.what = *found;
        return out;
    }
    if (is_host_failure(text)) {
        out.what = HostFailure{text};
        return out;
    }
    if (skip(text, "from=<")) {
        if (text.find(">, status=expired") != text.npos) return out;
        const auto found = queued(text);
        if (!found) return {};
        out.what = *found;
        return out;
    }
    if (const auto at = text.find(" notification: "); at != text.npos && at < 60) {
        text.remove_prefix(at + std::string_view(" notification: ").size());
        if (!is_id(text)) return {};
        out.what = Reported{text};
        return out;
    }
    return {};
}

} // namespace postrider::simulate::from_log
