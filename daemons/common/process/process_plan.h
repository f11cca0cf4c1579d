// Which processes a configuration requires, what each is given, and which peers each accepts: the table of
// the architecture as a function. Pure; used by master to start them and by `postrider check` to print them.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/proto/hello.h"
#include "libspool/message/writers.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct PlannedProcess {
    proto::Role role;
    std::uint32_t instance = 0;                  // worker number; for writers of messages, their slot in incoming/
    std::string name;                            // "bounce", "smtpd/0", "smtpd/1": unique
    bool as_root = false;                        // keeps root where master has it
    bool tcp_listeners = false;                  // gets every [listen.…]
    bool metrics_listeners = false;              // gets every metrics.listen
    bool http_listeners = false;                 // gets every http.listen
    bool secrets = false;                        // gets keys and passwords, those of its role
    std::vector<std::string_view> local_sockets; // names in local_sockets()
    std::vector<proto::Role> expects;            // roles that may connect to it
    unsigned stop_phase = 0;                     // 0 first
};

inline constexpr unsigned stop_phases = 4; // new mail; the queue; all others; the servers they still use
inline constexpr std::uint32_t first_smtpd_slot = spool::first_client_slot;

// In the order they are started.
std::vector<PlannedProcess> process_plan(const config::Config& config);

// Does it name tables that the process maps queries?
bool names_databases(const config::Config& config);

struct LocalSocket {
    std::string_view name;
    std::string_view path; // below run/
    unsigned mode;
    bool for_admins;             // belongs to mta.admin_group
    bool only_if_served = false; // is there only while a process of the plan serves it: its clients need not wait
};
// Including master's own ("master").
const std::vector<LocalSocket>& local_sockets();

} // namespace common
