// A day's TLS sessions with other systems, counted by domain and policy: what the reports of RFC 8460 say. A
// value without a clock; bounded, whatever is counted.
#pragma once
#include "daemons/decide/tls/tls_outcome.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace router {

struct TlsFailures { // alike
    decide::TlsResult result = decide::TlsResult::validation_failure;
    std::string sender, host, address, reason;
    std::uint64_t sessions = 0;
    std::string helo = {}; // what the host calls itself
    bool same(const TlsFailures& other) const {
        return result == other.result && sender == other.sender && host == other.host && address == other.address &&
               reason == other.reason && helo == other.helo;
    }
};

struct TlsPolicyTotals {
    decide::TlsPolicyType type = decide::TlsPolicyType::none;
    std::vector<std::string> text;   // tlsa: the records; sts: the policy's lines
    std::vector<std::string> hosts;  // sts: its mx
    std::uint64_t good = 0, bad = 0; // sessions
    std::vector<TlsFailures> failures;
};

class TlsTotals {
public:
    static constexpr std::size_t max_domains = 10'000; // more are not counted
    static constexpr std::size_t max_policies = 10;    // of a domain
    static constexpr std::size_t max_failures = 100;   // kinds, of a policy; more count in `bad` alone

    // `text`, `hosts`: the policy that was found, as above.
    void count(const decide::TlsOutcome& outcome, std::uint64_t sessions, const std::vector<std::string>& text,
               const std::vector<std::string>& hosts);

    std::map<std::string, std::vector<TlsPolicyTotals>> domains;

    // For the disk; nothing: the text is none of ours.
    std::string encode() const;
    static std::optional<TlsTotals> decode(std::string_view text);
};

} // namespace router
