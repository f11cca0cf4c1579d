// bounce.soft_bounce: what the other daemons call permanent is heard as temporary, with its reason, before anybody
// else in here hears of it. Pure.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/common/proto/route.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/settings.h"
#include <string>
#include <string_view>

namespace queue_manager {

proto::categorize::Categorized softened(proto::categorize::Categorized answer);
proto::route::Routed softened(proto::route::Routed answer);
proto::delivery::Done softened(proto::delivery::Done done);
decide::queue::Reason softened(decide::queue::Reason reason);

// As the engine is to have them.
decide::queue::Settings engine_settings(const config::Config& config);

// What `postrider status` and the log say of it while it is on; "" while it is off.
std::string_view soft_bounce_notice(const config::Config& config);
std::string_view dry_bounce_notice(const config::Config& config);

} // namespace queue_manager
