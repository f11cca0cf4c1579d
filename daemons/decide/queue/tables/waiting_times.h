// For how long a delivery that is free to go by its own time has waited before the gates of others. Exact as far as it
// goes: what is not known (before a restart, on another route) is not counted.
#pragma once
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/names.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/links.h"
#include "daemons/decide/queue/tables/queues.h"
#include <string_view>

namespace decide::queue {

class WaitingTimes {
public:
    WaitingTimes(const Step& step, const Gates& gates, const NumberedNames& pools, const Links& links,
                 const Queues& queues)
        : step_(step), gates_(gates), pools_(pools), links_(links), queues_(queues) {}

    // Until it was handed to an agent, or until now.
    GateWaits of(const Delivery& delivery) const;

private:
    const Step& step_;
    const Gates& gates_;
    const NumberedNames& pools_;
    const Links& links_;
    const Queues& queues_;
};

} // namespace decide::queue
