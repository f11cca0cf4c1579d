// MTA-STS (RFC 8461): a domain's policy that its mail be sent over verified TLS only, and only to hosts that it names:
// how to parse the DNS record and the policy's text, and which hosts a policy admits. Pure; the router fetches and
// caches both.
#pragma once
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace decide::sts {

enum class Mode : std::uint8_t {
    none,    // the domain has no policy, or no longer has one
    testing, // mail goes either way; failures are reported
    enforce, // what does not satisfy the policy is not used
    last_ = enforce,
};

std::string_view name_of(Mode mode);

inline constexpr std::size_t largest_policy = 64 * 1024; // bytes of text
inline constexpr std::size_t most_patterns = 256;
inline constexpr std::uint32_t longest_age = 31'557'600; // seconds: a year (RFC 8461, 3.2)

struct Policy {
    Mode mode = Mode::none;
    std::uint32_t max_age = 0;   // seconds, at most longest_age: longer values are reduced to that
    std::vector<std::string> mx; // "mx1.example.com", "*.example.net"; lower case. Not empty unless Mode::none
    bool operator==(const Policy&) const = default;
};

// The policy's text (RFC 8461, 3.2), at most largest_policy bytes; or what is wrong with it, in a few words. Unknown
// keys are skipped; of duplicate keys the first counts.
std::expected<Policy, std::string> parse_policy(std::string_view text);

// The id of one record "v=STSv1; id=20160831085700Z;" (RFC 8461, 3.1); nothing: it is invalid.
std::optional<std::string> parse_record(std::string_view text);
// Of all TXT records of _mta-sts.<domain>: the id, if exactly one of them is about MTA-STS and well-formed.
std::optional<std::string> find_record(std::span<const std::string> texts);

// Is this host one of those that the policy names? `host`: lower case, without a dot at the end.
bool admits(std::span<const std::string> patterns, std::string_view host);

} // namespace decide::sts
