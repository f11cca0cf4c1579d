#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>

namespace smtp {

namespace {

auto bad(std::string_view why) { return std::unexpected(Malformed{std::string(why)}); }

constexpr bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// atext of RFC 5321, the characters of a dot-string, and of RFC 6531. UTF-8 is validated elsewhere, as a whole.
bool is_atext(char c) {
    return is_letter(c) || is_digit(c) || is_beyond_ascii(c) ||
           std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
}

// Dots are accepted anywhere: "a..b" and ".a" are not dot-strings by the RFC, but such addresses exist.
bool is_dot_string(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_atext(c) || c == '.'; });
}

// Past the closing quote of the quoted string that begins at `at`; npos if it does not close.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
    for (std::size_t i = at + 1; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            return i + 1;
    }
    return text.npos;
}

std::expected<std::string, Malformed> unquote(std::string_view quoted) { // with its quotes
    std::string out;
    for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
        if (quoted[i] == '\\') ++i;
        if (!is_printable(quoted[i]) && !is_beyond_ascii(quoted[i]))
            return bad("invalid character in quoted local part");
        out.push_back(quoted[i]);
    }
    if (out.empty()) return bad("empty local part");
    return out;
}

// The local part at the start of `text`; removes it from there.
std::expected<std::string, Malformed> take_local_part(std::string_view& text) {
    std::size_t end = 0;
    const bool quoted = text.starts_with('"');
    if (quoted)
        end = end_of_quoted(text, 0);
    else
        end = std::min(text.find('@'), text.size());
    if (end == text.npos) return bad("quote is not closed");
    const auto written = text.substr(0, end);
    if (written.empty()) return bad("empty local part");
    if (written.size() > max_local_part) return bad("local part longer than 255");
    if (!is_utf8_text(written)) return bad("local part is not UTF-8");
    text.remove_prefix(end);
    if (quoted) return unquote(written);
    if (!is_dot_string(written)) return bad("invalid character in local part");
    return std::string(written);
}

// "@a,@b:" before an address: routes are no longer followed (RFC 5321, appendix C).
std::expected<std::string_view, Malformed> drop_route(std::string_view path) {
    while (path.starts_with('@')) {
        const auto end = path.find_first_of(",:");
        if (end == path.npos || !valid_domain(path.substr(1, end - 1))) return bad("bad source route");
        const bool last = path[end] == ':';
        path.remove_prefix(end + 1);
        if (last) return path;
        if (!path.starts_with('@')) return bad("bad source route");
    }
    return path;
}

} // namespace

bool valid_domain(std::string_view domain) {
    constexpr std::size_t longest = 63, longest_u_label = 252; // bytes; 63 characters of four
    if (domain.empty() || domain.size() > max_domain || !is_utf8_text(domain)) return false;
    while (true) {
        const auto dot = std::min(domain.find('.'), domain.size());
        const auto label = domain.substr(0, dot);
        if (label.empty() || label.size() > (is_ascii(label) ? longest : longest_u_label) || label.front() == '-' ||
            label.back() == '-')
            return false;
        for (char c : label)
            if (!is_letter(c) && !is_digit(c) && !is_beyond_ascii(c) && c != '-' && c != '_') return false;
        if (dot == domain.size()) return true;
        domain.remove_prefix(dot + 1);
    }
}

static bool valid_ipv4(std::string_view text) {
    for (int part = 0; part < 4; ++part) {
        const auto dot = std::min(text.find('.'), text.size());
        const auto digits = text.substr(0, dot);
        if (digits.size() > 3 || !parse_number(digits, 255)) return false;
        if ((dot == text.size()) != (part == 3)) return false;
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return text.empty();
}

static bool valid_ipv6(std::string_view text) {
    int groups = 0;
    bool gap = false;
    if (text.starts_with("::")) {
        gap = true;
        text.remove_prefix(2);
        if (text.empty()) return true;
    }
    while (true) {
        const auto colon = std::min(text.find(':'), text.size());
        const auto group = text.substr(0, colon);
        if (colon == text.size() && group.find('.') != group.npos) {
            if (!valid_ipv4(group)) return false;
            groups += 2;
            break;
        }
        const auto is_hex = [](char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); };
        if (group.empty() || group.size() > 4 || !std::all_of(group.begin(), group.end(), is_hex)) return false;
        ++groups;
        if (colon == text.size()) break;
        text.remove_prefix(colon + 1);
        if (text.starts_with(':')) {
            if (std::exchange(gap, true)) return false;
            text.remove_prefix(1);
            if (text.empty()) break;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

bool valid_literal(std::string_view literal) {
    if (literal.size() < 3 || !literal.starts_with('[') || !literal.ends_with(']')) return false;
    const auto inside = literal.substr(1, literal.size() - 2);
    constexpr std::string_view tag = "IPv6:";
    return starts_with_ignoring_case(inside, tag) ? valid_ipv6(inside.substr(tag.size())) : valid_ipv4(inside);
}

std::expected<Mailbox, Malformed> Mailbox::parse_bare_allowed(std::string_view text) {
    const bool too_long = text.size() > max_address;
    auto local_part = take_local_part(text);
    if (!local_part) return std::unexpected(std::move(local_part).error());
    if (text.empty()) return Mailbox{*std::move(local_part), {}};
    if (text.front() != '@') return bad("invalid character after local part");
    text.remove_prefix(1);
    if (text.size() > max_domain) return bad("domain longer than 255");
    if (text.starts_with('[') ? !valid_literal(text) : !valid_domain(text)) return bad("bad domain");
    if (too_long) return bad("address longer than 320");
    return Mailbox{*std::move(local_part), std::string(text)};
}

std::expected<Mailbox, Malformed> Mailbox::parse(std::string_view text) {
    auto mailbox = parse_bare_allowed(text);
    if (mailbox && mailbox->bare()) return bad("domain is missing");
    return mailbox;
}

std::string Mailbox::text() const {
    std::string out;
    out.reserve(local_part.size() + 1 + domain.size());
    if (is_dot_string(local_part)) {
        out = local_part;
    } else {
        out = '"';
        for (char c : local_part) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        out += '"';
    }
    if (!domain.empty()) out.append(1, '@').append(domain);
    return out;
}

// "ann@192.0.2.1" lacks its brackets: no domain has a name like that, so no reply could be sent there.
static std::expected<Mailbox, Malformed> parse_mailbox_of_path(std::string_view text) {
    auto mailbox = Mailbox::parse_bare_allowed(text);
    const auto in_number = [](char c) { return is_digit(c) || c == '.'; };
    if (mailbox && !mailbox->bare() && std::ranges::all_of(mailbox->domain, in_number))
        return bad("an address as domain needs brackets");
    return mailbox;
}

std::expected<ReversePath, Malformed> ReversePath::parse(std::string_view inside) {
    if (inside.empty()) return ReversePath{};
    const auto address = drop_route(inside);
    if (!address) return std::unexpected(address.error());
    auto mailbox = parse_mailbox_of_path(*address);
    if (!mailbox) return std::unexpected(std::move(mailbox).error());
    return ReversePath{*std::move(mailbox)};
}

std::expected<ForwardPath, Malformed> ForwardPath::parse(std::string_view inside) {
    if (inside.empty()) return bad("empty address");
    const auto address = drop_route(inside);
    if (!address) return std::unexpected(address.error());
    auto mailbox = parse_mailbox_of_path(*address);
    if (!mailbox) return std::unexpected(std::move(mailbox).error());
    return ForwardPath{*std::move(mailbox)};
}

std::expected<SplitPath, Malformed> split_path(std::string_view argument) {
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    if (argument.empty()) return bad("address is missing");
    const bool brackets = argument.front() == '<';
    if (brackets) argument.remove_prefix(1);
    std::size_t end = 0;
    while (end < argument.size() && argument[end] != (brackets ? '>' : ' ')) {
        if (argument[end] == '"')
            end = end_of_quoted(argument, end);
        else
            ++end;
        if (end == argument.npos) return bad("quote is not closed");
    }
    if (brackets && end == argument.size()) return bad("'>' is missing");
    SplitPath split{argument.substr(0, end), argument.substr(std::min(end + brackets, argument.size()))};
    if (!split.parameters.empty() && split.parameters.front() != ' ') return bad("space is missing after '>'");
    const auto first = std::min(split.parameters.find_first_not_of(' '), split.parameters.size());
    split.parameters.remove_prefix(first);
    const auto last = split.parameters.find_last_not_of(' ');
    split.parameters = split.parameters.substr(0, last + 1);
    return split;
}

} // namespace smtp
