// What the configuration says about all SMTP sessions, on whichever listener. A value.
#pragma once
#include "daemons/common/config/address_classes.h"
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/delivery/bounce.h"
#include "daemons/common/config/sections/delivery/dns.h"
#include "daemons/common/config/sections/server/auth.h"
#include "daemons/common/config/sections/server/client_tests.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/smtpd.h"
#include "daemons/common/config/sections/server/tls.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/submission/automatic_bcc.h"
#include "daemons/common/submission/pool_choice.h"
#include "daemons/common/submission/sender_requests.h"
#include "daemons/common/submission/sender_rules.h"
#include "daemons/decide/queue/settings.h"
#include <vector>

namespace smtpd {

struct Settings {
    explicit Settings(const config::Config& config);
    config::Mta mta;
    config::Smtpd smtpd;
    config::Auth auth;
    config::Tls tls;
    config::Local local;
    config::Addresses addresses;
    config::Relay relay;
    config::Dns dns;
    config::Idempotency idempotency;
    std::vector<config::DnsList> dns_lists;
    config::ClientTests client_tests;
    std::vector<config::Milter> milters;
    common::PoolRules pools;
    common::SenderRequestRules requests;
    config::SenderRules sender_rules;
    common::BccRules automatic_bcc;
    std::vector<std::string> recorded_fields; // header fields that the journal records
    decide::queue::Settings queue;            // how long messages are kept
    config::Bounce bounce;
    decide::DomainClasses domains; // asked for in lower case, as the DNS has them
};

} // namespace smtpd
