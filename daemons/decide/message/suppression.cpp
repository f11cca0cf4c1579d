#include "daemons/decide/message/suppression.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace decide {

namespace {

constexpr char between = '\0';                                         // recipient and scope in a key; in no address
constexpr std::string_view pool_scope = "pool=", lane_scope = "lane="; // in no domain
constexpr std::size_t longest_pool = 63;

std::string folded(const smtp::Mailbox& mailbox, const NameFolding& folding) {
    auto domain = mailbox.has_literal() ? smtp::lowered(mailbox.domain) : folding.domain(mailbox.domain);
    if (domain.empty()) domain = smtp::lowered(mailbox.domain);
    return folding.local(mailbox.local_part) + "@" + domain;
}

std::expected<std::string, std::string> domain_of(std::string_view written, const NameFolding& folding) {
    if (written.starts_with('@')) written.remove_prefix(1);
    const auto domain = smtp::valid_domain(written) ? folding.domain(written) : std::string();
    if (domain.empty())
        return std::unexpected(fmt::format("\"{}\" is not a valid domain", smtp::printable(written, 100)));
    return domain;
}

// Three numbers, or * in the place of the second or third.
bool is_status_pattern(std::string_view text) {
    int parts = 0;
    for (bool more = true; more; ++parts) {
        const auto dot = text.find('.');
        const auto part = text.substr(0, dot);
        more = dot != text.npos;
        text.remove_prefix(more ? dot + 1 : text.size());
        const bool digits =
            !part.empty() && part.size() <= 3 && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
        if (parts == 0 ? part != "5" : !digits && part != "*") return false;
    }
    return parts == 3;
}

} // namespace

std::expected<std::string, std::string> suppression_recipient(std::string_view written, const NameFolding& folding) {
    const bool bare = written.find('@') == written.npos;
    if (bare && written.find('.') == written.npos) // half an address, more often than a domain
        return std::unexpected(
            fmt::format("\"{}\" is neither an address nor a domain; write a domain without a dot as @WORD",
                        smtp::printable(written, 100)));
    if (bare || written.starts_with('@')) {
        auto domain = domain_of(written, folding);
        if (!domain)
            return std::unexpected(
                fmt::format("\"{}\" is neither an address nor a domain", smtp::printable(written, 100)));
        return "@" + *domain;
    }
    const auto mailbox = smtp::Mailbox::parse(written);
    if (!mailbox)
        return std::unexpected(
            fmt::format("\"{}\" is not a valid address: {}", smtp::printable(written, 100), mailbox.error().why));
    return folded(*mailbox, folding);
}

std::expected<SuppressionScope, std::string> suppression_scope(const SuppressionScope& written,
                                                               const NameFolding& folding) {
    if (!written.sender.empty() + !written.pool.empty() + !written.lane.empty() > 1)
        return std::unexpected("an entry is for mail of one sender's domain, of one pool or in one lane");
    auto out = written;
    if (!written.sender.empty()) {
        auto domain = domain_of(written.sender, folding);
        if (!domain) return std::unexpected("the sender's domain: " + domain.error());
        out.sender = *std::move(domain);
    }
    const auto in_name = [](char c) { return c > ' ' && c < '\x7f'; };
    if (written.pool.size() > longest_pool || !std::ranges::all_of(written.pool, in_name))
        return std::unexpected(fmt::format("\"{}\" is not the name of a pool", smtp::printable(written.pool, 100)));
    if (!written.lane.empty() && written.lane != "high" && written.lane != "normal" && written.lane != "bulk")
        return std::unexpected(
            fmt::format("the lane \"{}\": expected high, normal or bulk", smtp::printable(written.lane, 100)));
    return out;
}

std::string scope_text(const SuppressionScope& scope) {
    if (!scope.sender.empty()) return "mail from " + scope.sender;
    if (!scope.pool.empty()) return "mail of pool " + scope.pool;
    return scope.lane.empty() ? "" : "mail in lane " + scope.lane;
}

std::string suppression_key(std::string_view recipient, const SuppressionScope& scope) {
    auto key = std::string(recipient) + between + scope.sender;
    if (!scope.pool.empty()) key.append(pool_scope).append(scope.pool);
    if (!scope.lane.empty()) key.append(lane_scope).append(scope.lane);
    return key;
}

std::optional<SuppressionKeyParts> parse_suppression_key(std::string_view key) {
    const auto at = key.find(between);
    if (at == key.npos) return {};
    SuppressionKeyParts out{.recipient = key.substr(0, at), .scope = {}};
    const auto scope = key.substr(at + 1);
    if (scope.starts_with(pool_scope))
        out.scope.pool = scope.substr(pool_scope.size());
    else if (scope.starts_with(lane_scope))
        out.scope.lane = scope.substr(lane_scope.size());
    else
        out.scope.sender = scope;
    return out;
}

std::vector<std::string> suppression_keys(std::string_view address, const SuppressionSubject& message,
                                          const NameFolding& folding) {
    const auto mailbox = smtp::Mailbox::parse(address);
    if (!mailbox) return {};
    const auto recipient = folded(*mailbox, folding);
    const auto domain = std::string_view(recipient).substr(recipient.rfind('@'));
    std::vector<std::string> out;
    const auto add = [&](const SuppressionScope& scope) {
        out.push_back(suppression_key(recipient, scope));
        out.push_back(suppression_key(domain, scope));
    };
    const auto at = message.reverse_path.rfind('@');
    const auto sender = at == std::string::npos ? std::string() : folding.domain(message.reverse_path.substr(at + 1));
    if (!sender.empty()) add({.sender = sender, .pool = {}, .lane = {}});
    if (!message.pool.empty()) add({.sender = {}, .pool = message.pool, .lane = {}});
    if (!message.lane.empty()) add({.sender = {}, .pool = {}, .lane = message.lane});
    add({});
    return out;
}

std::uint32_t address_number(std::string_view address, const NameFolding& folding) {
    const auto mailbox = smtp::Mailbox::parse(address);
    std::uint32_t h = 2166136261u; // FNV-1a
    for (unsigned char c : mailbox ? folded(*mailbox, folding) : smtp::lowered(address)) h = (h ^ c) * 16777619u;
    return h == 0 ? 1 : h;
}

std::string suppression_text(const Suppression& entry) {
    auto out = fmt::format("on the suppression list since {}", smtp::iso_date(entry.added));
    if (!entry.reason.empty()) out += ": " + entry.reason;
    if (!entry.reply.empty()) out += fmt::format(" (its server said: {})", entry.reply);
    return out;
}

std::optional<SuppressionRule> SuppressionRule::parse(std::string_view text) {
    SuppressionRule rule;
    if (text.size() >= 3 && text.find('.') != 1) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + 3, rule.code);
        if (error != std::errc{} || end != text.data() + 3 || rule.code < 500 || rule.code > 599) return {};
        text.remove_prefix(3);
        if (text.empty()) return rule;
        if (!text.starts_with(' ')) return {};
        text.remove_prefix(1);
    }
    if (!is_status_pattern(text)) return {};
    rule.status = std::string(text);
    return rule;
}

std::string SuppressionRule::to_string() const {
    if (code == 0) return status;
    return status.empty() ? std::to_string(code) : fmt::format("{} {}", code, status);
}

bool SuppressionRule::covers(int said, std::string_view seen) const {
    if (said < 500 || said > 599 || (code != 0 && code != said)) return false;
    std::string_view wanted = status;
    while (!wanted.empty()) {
        const auto w = wanted.find('.'), s = seen.find('.');
        const auto part = wanted.substr(0, w);
        if (part != "*" && part != seen.substr(0, s)) return false;
        if ((w == wanted.npos) != (s == seen.npos)) return false;
        if (w == wanted.npos) return true;
        wanted.remove_prefix(w + 1);
        seen.remove_prefix(s + 1);
    }
    return true;
}

} // namespace decide
