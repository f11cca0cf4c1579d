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
    std::uint32_t instance = 0;                  // worker number; of those who write messages, their slot in incoming/
    std::string name;                            // "bounce", "smtpd/0", "smtpd/1": unique
    bool as_root = false;                        // keeps root where master has it
    bool tcp_listeners = false;                  // is handed every [listen.…]
    bool metrics_listeners = false;              // is handed every metrics.listen
    bool secrets = false;                        // is handed keys and passwords, those of its role
    std::vector<std::string_view> local_sockets; // names in local_sockets()
    std::vector<proto::Role> expects;            // who may connect to it
    unsigned stop_phase = 0;                     // 0 first
};

inline constexpr unsigned stop_phases = 4; // new mail; the queue; everybody else; who hears their last words
inline constexpr std::uint32_t first_smtpd_slot = spool::first_client_slot;

// In the order they are started.
std::vector<PlannedProcess> process_plan(const config::Config& config);

struct LocalSocket {
    std::string_view name;
    std::string_view path; // below run/
    unsigned mode;
    bool for_admins; // belongs to mta.admin_group
};
// Master's own ("master") among them.
const std::vector<LocalSocket>& local_sockets();

} // namespace common
