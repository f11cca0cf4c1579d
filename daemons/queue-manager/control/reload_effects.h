// What a configuration would do to mail that is queued, compared with the one in force: which of it would go back to
// its senders, go another way, be limited, be tried at other times, come from other addresses or need more TLS. Pure:
// knows the routes' words, not what the router finds when it asks the DNS.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/decide/queue/listing.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

struct ReloadEffect {
    enum class What : std::uint8_t { returned, rerouted, limited, rescheduled, secured, sourced };
    What what = What::rerouted;
    std::string queue, link;      // as they are now
    std::uint32_t deliveries = 0; // queued there; of a message, one for each queue that has recipients of it
    std::string how;              // "from [relay.example.net]:25 to its MX hosts"
    bool operator==(const ReloadEffect&) const = default;
};
std::string_view word_of(ReloadEffect::What what);

// In the order of `queues`, of each in that of What; those without mail have none.
std::vector<ReloadEffect> reload_effects(const config::Config& in_force, const config::Config& to_be,
                                         std::span<const decide::queue::QueueInfo> queues);

} // namespace queue_manager
