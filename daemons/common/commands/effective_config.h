// How a command finds the MTA that runs, whatever has become of the configuration file since: by the file if it is good;
// else by what master took over and keeps readable for everybody, in a file of its own beside the configuration's
// name, for as long as it runs; else by what can be understood of the file. Only for who talks to the MTA or its
// spool: what starts, reloads or judges a configuration takes the file alone (config::load).
//
// What is kept is little, and no secret: where the spool is, what the system is called, what a submission may be.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/problem.h"
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/system/master.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/spool.h"
#include "libspool/disk/result.h"
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct EffectiveConfig {
    EffectiveConfig(const config::Config& config, std::string warning);
    // Not out of the file itself: all but what effective_config_text() has are defaults.
    config::Mta mta;
    config::Spool spool;
    config::Local local;
    config::Submit submit;
    config::Master master;
    config::Idempotency idempotency;
    std::vector<config::Pool> pools;
    config::Pools pool_choice;
    std::string warning; // "" or, in one line, what is wrong with the file and what is used instead
};

// `given`: what -c says; "" nothing. Files that the configuration names need not be there: mail may wait for them, no
// command does. The error: nothing is known of where the MTA is.
std::expected<EffectiveConfig, std::vector<config::Problem>> effective_config(std::string_view given);

// For master: at its start and after a reload, and at its end. `config.file` is absolute.
spool::Result<> publish_effective_config(const config::Config& config);
void remove_effective_config(const config::Config& config);

// What is published: itself a configuration.
std::string effective_config_text(const config::Config& config);

} // namespace common
