// smtp-client → router: the results of TLS with other systems' hosts, for the reports their domains
// request (RFC 8460). Collected for a moment; what is lost with a connection is lost: it is statistics.
#pragma once
#include "daemons/decide/tls/tls_outcome.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::tls_results {

inline constexpr std::string_view conversation = "tls-results";

struct Counted {
    decide::TlsOutcome outcome;
    std::uint64_t sessions = 0;
    static void fields(auto& m, auto& f) {
        f("domain", m.outcome.domain);
        f("host", m.outcome.host);
        f("address", m.outcome.address);
        f("helo", m.outcome.helo);
        f("sender", m.outcome.sender);
        f("policy", m.outcome.policy);
        f("records", m.outcome.records);
        f("result", m.outcome.result);
        f("reason", m.outcome.reason);
        f("sessions", m.sessions);
    }
};

struct Results {
    std::vector<Counted> results;
    static void fields(auto& m, auto& f) { f("results", m.results); }
};

using Message = std::variant<Results>;

} // namespace proto::tls_results
