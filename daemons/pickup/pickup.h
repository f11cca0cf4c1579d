// The pickup daemon: takes mail from programs on this host, over the submit socket and out of the drop
// directory, and commits it to the spool like any writer.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/logging/problems.h"
#include "daemons/pickup/submit_listener.h"
#include "daemons/pickup/drop.h"

namespace pickup {

class Pickup final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Pickup>> create(common::Surroundings& surroundings,
                                                         common::Orders orders);
    void reconfigure(common::Orders orders) override;
    void measure(common::Figures& figures) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    Pickup(common::Surroundings& surroundings, const config::Config& config,
           std::unique_ptr<common::Troubles> troubles, std::unique_ptr<common::Intake> intake);
    void check_stopped();

    std::unique_ptr<common::Troubles> troubles_;
    std::unique_ptr<common::Intake> intake_;
    common::idempotency::Desk keys_;
    common::Outbox outbox_;
    Service service_;
    std::unique_ptr<Door> door_;
    Drop drop_;
    common::Timer stop_check_;
    std::function<void()> stopped_;
};

} // namespace pickup
