#include "libsmtp/protocol/parameters.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace smtp {

namespace {

auto bad(std::string_view why) { return std::unexpected(Malformed{std::string(why)}); }

// One parameter: its value goes to the struct, or the reason why not comes back ("" if all is well).
using Text = std::optional<std::string_view>; // nothing: no '=' was there

constexpr std::size_t max_envid = 100, max_orcpt = 500; // as written (RFC 3461, 4.2 and 4.4)

std::string_view take_size(Text value, MailParameters& out) {
    if (!value || value->empty() || !std::all_of(value->begin(), value->end(), is_digit)) return "SIZE needs a number";
    const auto digits = value->substr(std::min(value->find_first_not_of('0'), value->size() - 1));
    out.size = parse_number(digits).value_or(UINT64_MAX); // whatever has more digits is too large as well
    return {};
}

std::string_view take_body(Text value, MailParameters& out) {
    if (value && same_ignoring_case(*value, "7BIT"))
        out.body = Body::seven_bit;
    else if (value && same_ignoring_case(*value, "8BITMIME"))
        out.body = Body::eight_bit_mime;
    else
        return "BODY is 7BIT or 8BITMIME";
    return {};
}

std::string_view take_ret(Text value, MailParameters& out) {
    if (value && same_ignoring_case(*value, "FULL"))
        out.ret = Ret::full;
    else if (value && same_ignoring_case(*value, "HDRS"))
        out.ret = Ret::headers;
    else
        return "RET is FULL or HDRS";
    return {};
}

std::string_view take_envid(Text value, MailParameters& out) {
    if (!value || value->empty() || value->size() > max_envid) return "ENVID needs 1 to 100 characters of xtext";
    auto decoded = decode_xtext(*value);
    if (!decoded || decoded->empty()) return "ENVID is not xtext";
    out.envid = *std::move(decoded);
    return {};
}

std::string_view take_auth(Text value, MailParameters& out) {
    if (!value || value->empty() || value->size() > max_orcpt) return "AUTH needs an address or <>";
    auto decoded = decode_xtext(*value);
    if (!decoded || (*decoded != "<>" && !Mailbox::parse(*decoded))) return "AUTH needs an address or <>";
    out.auth = *std::move(decoded);
    return {};
}

std::string_view take_hold_for(Text value, MailParameters& out) {
    const auto seconds = value && value->size() <= 9 ? parse_number(*value) : std::nullopt;
    if (!seconds) return "HOLDFOR needs a number of seconds";
    out.hold_for = static_cast<std::uint32_t>(*seconds);
    return {};
}

std::string_view take_hold_until(Text value, MailParameters& out) {
    if (value) out.hold_until = parse_rfc3339(*value);
    return out.hold_until ? "" : "HOLDUNTIL needs a time such as 2026-11-20T16:00:00Z";
}

std::string_view take_deliver_by(Text value, MailParameters& out) {
    if (value) out.deliver_by = parse_deliver_by(*value);
    return out.deliver_by ? "" : "BY needs seconds and a mode such as 3600;R or 3600;N, and with R more than 0 seconds";
}

std::string_view take_priority(Text value, MailParameters& out) {
    const bool negative = value && value->starts_with('-');
    const auto digits = value ? value->substr(negative) : std::string_view();
    const auto level = digits.size() == 1 ? parse_number(digits, 9) : std::nullopt;
    if (!level) return "MT-PRIORITY is a number from -9 to 9";
    out.priority = negative ? -static_cast<int>(*level) : static_cast<int>(*level);
    return {};
}

std::string_view take_smtputf8(Text value, MailParameters& out) {
    out.smtputf8 = true;
    return value ? "SMTPUTF8 takes no value" : "";
}

std::string_view take_require_tls(Text value, MailParameters& out) {
    out.require_tls = true;
    return value ? "REQUIRETLS takes no value" : "";
}

std::string_view take_notify(Text value, RcptParameters& out) {
    auto notify = Notify::parse(value.value_or(""));
    if (!notify) return "NOTIFY is NEVER or a list of SUCCESS, FAILURE, DELAY";
    out.notify = *notify;
    return {};
}

std::string_view take_orcpt(Text value, RcptParameters& out) {
    if (!value || value->size() > max_orcpt) return "ORCPT needs type;address of at most 500 characters";
    auto decoded = decode_orcpt(*value);
    if (!decoded) return "ORCPT is not type;xtext";
    out.orcpt = *std::move(decoded);
    return {};
}

template <class Out> struct ParameterRow {
    std::string_view keyword;
    bool (*offered)(const Capabilities&);
    std::string_view (*take)(Text value, Out& out);
};

constexpr ParameterRow<MailParameters> mail_rows[] = {
    {"SIZE", [](const Capabilities& c) { return c.size.has_value(); }, take_size},
    {"BODY", [](const Capabilities& c) { return c.eight_bit_mime; }, take_body},
    {"RET", [](const Capabilities& c) { return c.dsn; }, take_ret},
    {"ENVID", [](const Capabilities& c) { return c.dsn; }, take_envid},
    {"HOLDFOR", [](const Capabilities& c) { return c.future_release != 0; }, take_hold_for},
    {"HOLDUNTIL", [](const Capabilities& c) { return c.future_release != 0; }, take_hold_until},
    {"BY", [](const Capabilities& c) { return c.deliver_by; }, take_deliver_by},
    {"MT-PRIORITY", [](const Capabilities& c) { return c.mt_priority; }, take_priority},
    {"AUTH", [](const Capabilities& c) { return !c.auth.empty(); }, take_auth},
    {"SMTPUTF8", [](const Capabilities& c) { return c.smtputf8; }, take_smtputf8},
    {"REQUIRETLS", [](const Capabilities& c) { return c.require_tls; }, take_require_tls},
};

constexpr ParameterRow<RcptParameters> rcpt_rows[] = {
    {"NOTIFY", [](const Capabilities& c) { return c.dsn; }, take_notify},
    {"ORCPT", [](const Capabilities& c) { return c.dsn; }, take_orcpt},
};

auto refused(int code, std::string text) { return std::unexpected(Reply{code, {5, 5, 4}, std::move(text)}); }

template <class Out, std::size_t N>
std::expected<Out, Reply> parse_with(const ParameterRow<Out> (&rows)[N], std::string_view text,
                                     const Capabilities& offered) {
    Out out;
    unsigned seen = 0; // a bit per row
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, end);
        text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
        if (word.empty()) continue;
        const auto equals = word.find('=');
        const auto keyword = word.substr(0, equals);
        const auto row = std::find_if(std::begin(rows), std::end(rows), [&](auto& r) {
            return same_ignoring_case(r.keyword, keyword) && r.offered(offered);
        });
        if (row == std::end(rows)) return refused(555, "Unsupported option: " + printable(word, 100));
        const unsigned bit = 1u << (row - std::begin(rows));
        if (seen & bit) return refused(501, std::string(row->keyword) + " is given twice");
        seen |= bit;
        const auto why = row->take(equals == word.npos ? Text() : Text(word.substr(equals + 1)), out);
        if (!why.empty()) return refused(501, std::string(why));
    }
    return out;
}

int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

} // namespace

std::expected<MailParameters, Reply> parse_mail_parameters(std::string_view text, const Capabilities& offered) {
    auto read = parse_with(mail_rows, text, offered);
    if (read && read->hold_for && read->hold_until) return refused(501, "HOLDFOR and HOLDUNTIL exclude each other");
    if (read && read->hold_for.value_or(0) > offered.future_release)
        return refused(501, "HOLDFOR exceeds the offered maximum");
    return read;
}

std::expected<RcptParameters, Reply> parse_rcpt_parameters(std::string_view text, const Capabilities& offered) {
    return parse_with(rcpt_rows, text, offered);
}

std::expected<Notify, Malformed> Notify::parse(std::string_view text) {
    Notify out;
    while (true) {
        const auto end = std::min(text.find(','), text.size());
        const auto word = text.substr(0, end);
        bool* const flag = same_ignoring_case(word, "NEVER")     ? &out.never
                           : same_ignoring_case(word, "SUCCESS") ? &out.success
                           : same_ignoring_case(word, "FAILURE") ? &out.failure
                           : same_ignoring_case(word, "DELAY")   ? &out.delay
                                                                 : nullptr;
        if (!flag) return bad("unknown word in NOTIFY");
        if (*flag) return bad("duplicate word in NOTIFY");
        *flag = true;
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    if (out.never && (out.success || out.failure || out.delay)) return bad("NEVER must be the only word in NOTIFY");
    return out;
}

std::string Notify::text() const {
    std::string out;
    const auto add = [&out](bool set, std::string_view word) {
        if (!set) return;
        if (!out.empty()) out += ',';
        out += word;
    };
    add(never, "NEVER");
    add(success, "SUCCESS");
    add(failure, "FAILURE");
    add(delay, "DELAY");
    return out;
}

std::uint8_t Notify::bits() const {
    return static_cast<std::uint8_t>(never | success << 1 | failure << 2 | delay << 3);
}

Notify Notify::from_bits(std::uint8_t bits) {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
}

std::expected<std::string, Malformed> decode_xtext(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '=' || c <= 0x20 || c >= 0x7f) return bad("character not allowed in xtext");
        if (c == '+') {
            if (i + 2 >= text.size()) return bad("xtext cut short");
            const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
            if (high < 0 || low < 0) return bad("invalid hexadecimal in xtext");
            c = static_cast<char>(high << 4 | low);
            if (!is_printable(c)) return bad("xtext encodes an unprintable character");
            i += 2;
        }
        out.push_back(c);
    }
    return out;
}

std::string encode_xtext(std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (char c : text) {
        if (c > 0x20 && c < 0x7f && c != '+' && c != '=') {
            out.push_back(c);
        } else {
            out.push_back('+');
            out.push_back(digits[static_cast<unsigned char>(c) >> 4]);
            out.push_back(digits[c & 15]);
        }
    }
    return out;
}

// What RFC 6533 lets stand for itself in an address of type utf-8.
static bool is_qchar(char c) { return c > 0x20 && c < 0x7f && c != '+' && c != '=' && c != '\\'; }

// The scalar value of the well-formed character of `length` bytes.
static char32_t code_point(std::string_view character) {
    char32_t out =
        static_cast<unsigned char>(character[0]) & (character.size() == 1 ? 0x7F : 0xFF >> (character.size() + 1));
    for (char c : character.substr(1)) out = out << 6 | (static_cast<unsigned char>(c) & 0x3F);
    return out;
}

static void append_utf8(std::string& out, std::uint32_t point) {
    const auto add = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (point < 0x80) return add(point);
    if (point < 0x800)
        add(0xC0 | point >> 6);
    else if (point < 0x10000)
        add(0xE0 | point >> 12), add(0x80 | (point >> 6 & 0x3F));
    else
        add(0xF0 | point >> 18), add(0x80 | (point >> 12 & 0x3F)), add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
}

std::string encode_utf8_address(std::string_view address, WireText wire) {
    std::string out;
    while (!address.empty()) {
        const auto character = address.substr(0, std::max<std::size_t>(utf8_length(address), 1));
        address.remove_prefix(character.size());
        if (is_qchar(character[0]) || (character.size() > 1 && wire == WireText::utf8))
            out += character;
        else
            out += fmt::format("\\x{{{:02X}}}", static_cast<std::uint32_t>(code_point(character)));
    }
    return out;
}

std::expected<std::string, Malformed> decode_utf8_address(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        if (!text.starts_with("\\x{")) {
            const auto length = utf8_length(text);
            if (length == 0 || (length == 1 && !is_qchar(text[0]))) return bad("invalid character in a utf-8 address");
            out += text.substr(0, length);
            text.remove_prefix(length);
            continue;
        }
        const auto end = text.find('}');
        const auto digits = text.substr(0, std::min(end, text.size())).substr(3);
        std::uint32_t point = 0;
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), point, 16);
        if (end == text.npos || digits.size() < 2 || digits.size() > 6 || error != std::errc() ||
            stop != digits.data() + digits.size() || point > 0x10FFFF)
            return bad("invalid \\x{…} in a utf-8 address");
        append_utf8(out, point);
        text.remove_prefix(end + 1);
    }
    for (char c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return bad("control character in a utf-8 address");
    if (!is_utf8_text(out)) return bad("a utf-8 address is not UTF-8"); // surrogates were named
    return out;
}

static bool is_utf8_type(std::string_view type) { return same_ignoring_case(type, "utf-8"); }

std::expected<std::string, Malformed> decode_orcpt(std::string_view text) {
    const auto semicolon = text.find(';');
    if (semicolon == text.npos || semicolon == 0) return bad("no address type");
    const auto type = text.substr(0, semicolon);
    for (char c : type)
        if (!is_letter(c) && !is_digit(c) && c != '-') return bad("invalid address type");
    const auto written = text.substr(semicolon + 1);
    auto address = is_utf8_type(type) ? decode_utf8_address(written) : decode_xtext(written);
    if (!address) return address;
    if (address->empty()) return bad("empty address");
    return std::string(type) + ';' + *address;
}

std::string encode_orcpt(std::string_view orcpt, WireText wire) {
    const auto semicolon = orcpt.find(';');
    if (semicolon == orcpt.npos) return encode_xtext(orcpt);
    const auto type = orcpt.substr(0, semicolon), address = orcpt.substr(semicolon + 1);
    return std::string(type) + ';' + (is_utf8_type(type) ? encode_utf8_address(address, wire) : encode_xtext(address));
}

} // namespace smtp
