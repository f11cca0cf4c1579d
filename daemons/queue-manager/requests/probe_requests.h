// Answers requests for a test delivery (`postrider try`): reads the order, and passes each step on to the
// client as it comes.
#pragma once
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/requests/replies.h"
#include <nlohmann/json_fwd.hpp>

namespace queue_manager {

class ProbeRequests {
public:
    // `probes` outlive it.
    ProbeRequests(DeliveryProbes& probes, Replies replies) : probes_(probes), replies_(replies) {}
    ProbeRequests(const ProbeRequests&) = delete;

    void attempt(const Request& request, const nlohmann::json& body);

private:
    DeliveryProbes& probes_;
    Replies replies_;
};

} // namespace queue_manager
