// The first frame of every connection between daemons, both ways. A peer that does not send it is closed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto {

// Raised with any change to any conversation: an upgrade restarts all daemons, so nothing older is spoken.
inline constexpr std::uint32_t version = 11;

enum class Role : std::uint8_t {
    master,
    smtpd,
    pickup,
    categorizer,
    router,
    queue_manager,
    smtp_client,
    local,
    bounce,
    metrics,
    events,
    http,
    transfer,
    maps,
    fleet,
    last_ = fleet,
};

// "queue-manager", "smtp-client" …: the program's name.
constexpr std::string_view name_of(Role role) {
    constexpr std::string_view names[] = {"master",        "smtpd",       "pickup",   "categorizer", "router",
                                          "queue-manager", "smtp-client", "local",    "bounce",      "metrics",
                                          "events",        "http",        "transfer", "maps",        "fleet"};
    return names[static_cast<std::size_t>(role)];
}

namespace hello {

// Who connects, what conversation it wants, and the token by which master vouches for its role.
struct Hello {
    std::string conversation; // "submission", "delivery" …
    std::uint32_t version = proto::version;
    Role role = Role::master;
    std::uint32_t instance = 0; // which of several equal workers; a writer's slot
    std::string token;
    static void fields(auto& m, auto& f) {
        f("conversation", m.conversation);
        f("version", m.version);
        f("role", m.role);
        f("instance", m.instance);
        f("token", m.token);
    }
};

struct Welcome {
    std::uint32_t version = proto::version;
    static void fields(auto& m, auto& f) { f("version", m.version); }
};

using Message = std::variant<Hello, Welcome>;

} // namespace hello
} // namespace proto
