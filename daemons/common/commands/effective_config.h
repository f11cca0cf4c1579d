// How a command finds the running MTA, whatever has happened to the configuration file since: from the file
// if it is valid; else from the configuration that master applied and keeps readable for all users while it
// runs, in a file named after the configuration's; else from the valid part of the file. Only for commands
// that talk to the MTA or its spool: those that start, reload or check a configuration use only the file
// (config::load).
//
// The file that master keeps is small and contains no secret: the spool, the name of the system, the limits
// of a submission.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/problem.h"
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/system/history.h"
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
    config::History history;
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
