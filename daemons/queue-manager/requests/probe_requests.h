// Answers requests that have a server asked about an address: a test delivery (`postrider try`), whose steps are passed
// on to the client as they come, and the verification of an address (`postrider verify`), or that it is to be
// forgotten.
#pragma once
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/verification/address_verification.h"
#include <nlohmann/json_fwd.hpp>

namespace queue_manager {

class ProbeRequests {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        spool::CommitPool& pool;
        DeliveryProbes& probes;
        AddressVerification& verification;
    };
    ProbeRequests(Dependencies dependencies, Replies replies) : deps_(dependencies), replies_(replies) {}
    ProbeRequests(const ProbeRequests&) = delete;

    void attempt(const Request& request, const nlohmann::json& body);
    void verify(const Request& request, const nlohmann::json& body);

private:
    void forget(const Request& request, const std::string& address);
    void send_result(const Request& request, const std::string& address, const AddressVerification::Result& result);

    Dependencies deps_;
    Replies replies_;
};

} // namespace queue_manager
