#include "daemons/queue-manager/fleet/fleet_link.h"

namespace queue_manager {

using namespace proto::fleet;

FleetLink::FleetLink(Dependencies dependencies)
    : deps_(std::move(dependencies)),
      service_(deps_.loop, {[] {}, [] {}, [this](Message&& message) { received(message); }}) {}

void FleetLink::received(const Message& message) {
    if (std::holds_alternative<AskFacts>(message)) service_.ask(deps_.facts());
}

} // namespace queue_manager
