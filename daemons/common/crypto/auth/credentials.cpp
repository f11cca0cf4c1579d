#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/net/network.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/text/trim.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace auth {

namespace {

constexpr std::size_t longest_line = 8192;

std::string canonical_host(std::string_view text) {
    if (const auto address = common::IpAddress::parse(text)) return address->to_string();
    return idn::ascii_domain(text);
}

// "host", "host:587", "[192.0.2.1]:587", "[2001:db8::1]".
bool read_place(std::string_view text, Account& account) {
    std::string_view host = text, port;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == text.npos) return false;
        host = text.substr(1, close - 1);
        port = text.substr(close + 1);
    } else if (const auto colon = text.find(':'); colon != text.npos) {
        host = text.substr(0, colon);
        port = text.substr(colon);
    }
    if (!port.empty()) {
        const auto number = smtp::parse_number(port.substr(1), 65535);
        if (port.front() != ':' || !number || *number == 0) return false;
        account.port = static_cast<std::uint16_t>(*number);
    }
    account.host = canonical_host(host);
    return !account.host.empty() && account.host.find_first_of(" \t,/@") == account.host.npos;
}

bool is_text(std::string_view text) { // UTF-8 is allowed, but nothing that could end a line or a field
    return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// "" or what is wrong.
std::string_view read_line(std::string_view line, Account& account) {
    if (line.size() > longest_line) return "too long";
    const auto blank = line.find_first_of(" \t");
    if (!read_place(line.substr(0, blank), account)) return "does not begin with HOST or HOST:PORT";
    if (blank == line.npos) return "no user";
    line = smtp::trimmed(line.substr(blank));
    const auto bar = line.find('|'), colon = line.find(':');
    if (bar != line.npos && bar > 0 && bar < colon && (line[bar - 1] == ' ' || line[bar - 1] == '\t')) {
        account.user = smtp::trimmed(line.substr(0, bar));
        account.command = smtp::trimmed(line.substr(bar + 1));
        if (account.command.empty()) return "no command after \"|\"";
    } else if (colon == line.npos) {
        return "neither USER:PASSWORD nor USER |COMMAND";
    } else {
        account.user = line.substr(0, colon);
        account.password = smtp::Secret(std::string(line.substr(colon + 1)));
        if (account.password.empty()) return "no password";
    }
    if (account.user.empty() || account.user.size() > 255) return "no user, or one longer than 255 bytes";
    if (!is_text(account.user) || !is_text(account.password.reveal()) || !is_text(account.command))
        return "control characters";
    return "";
}

} // namespace

std::string Account::name() const {
    const auto shown = host.find(':') == host.npos ? host : "[" + host + "]";
    return port == 0 ? fmt::format("{} at {}", user, shown) : fmt::format("{} at {}:{}", user, shown, port);
}

std::expected<Credentials, smtp::Malformed> Credentials::parse(std::string_view text) {
    text = smtp::without_byte_order_mark(text);
    Credentials out;
    std::set<std::tuple<std::string, std::uint16_t, std::string>> taken;
    for (std::size_t number = 1; !text.empty(); ++number) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        line = smtp::trimmed(line);
        if (line.empty() || line.front() == '#') continue;
        const auto bad = [&](std::string_view why) {
            return std::unexpected(smtp::Malformed{fmt::format("line {}: {}", number, why)});
        };
        Account account;
        if (const auto why = read_line(line, account); !why.empty()) return bad(why);
        if (out.accounts.size() == max_accounts) return bad(fmt::format("more than {} accounts", max_accounts));
        if (!taken.emplace(account.host, account.port, account.user).second)
            return bad("this user already has an account at this host and port");
        out.accounts.push_back(std::move(account));
    }
    return out;
}

const Account* Credentials::find(std::string_view host, std::uint16_t port, std::string_view user) const {
    if (accounts.empty()) return nullptr;
    const auto wanted = canonical_host(host);
    const Account* any = nullptr;
    for (const auto& each : accounts) {
        if (each.host != wanted || (!user.empty() && each.user != user)) continue;
        if (each.port == port) return &each;
        if (each.port == 0 && !any) any = &each;
    }
    return any;
}

const Account* Credentials::named(std::string_view name) const {
    const auto found = std::ranges::find_if(accounts, [&](const auto& each) { return each.name() == name; });
    return found == accounts.end() ? nullptr : &*found;
}

} // namespace auth
