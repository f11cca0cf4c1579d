// What the configuration says about local submissions. A value.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/delivery/bounce.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/submission/automatic_bcc.h"
#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/sender_requests.h"
#include "daemons/common/submission/sender_rules.h"
#include "daemons/decide/queue/settings.h"
#include <string>
#include <vector>

namespace pickup {

struct Settings {
    explicit Settings(const config::Config& config);
    config::Mta mta;
    config::Submit submit;
    config::Idempotency idempotency;
    common::PoolRules pools;
    common::SenderRequestRules requests;
    config::SenderRules sender_rules;
    common::BccRules automatic_bcc;
    std::vector<std::string> recorded_fields; // header fields that the journal records
    std::string drop_directory;
    decide::queue::Settings queue; // how long messages are kept
    config::Bounce bounce;
};

} // namespace pickup
