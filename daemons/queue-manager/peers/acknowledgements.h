// The acknowledgements of agents' results: each is sent when the last of what it waits for lets go of it. Once this is
// destroyed, those that are left are not sent: whether all was written is not known, and the agents keep their results
// for the next queue-manager. Must not know what is waited for.
#pragma once
#include "daemons/decide/queue/events.h"
#include <functional>
#include <memory>
#include <utility>

namespace queue_manager {

class Acknowledgements {
public:
    using Send = std::function<void(decide::queue::AgentId agent, decide::queue::DeliveryId delivery)>;

    explicit Acknowledgements(Send send) : send_(std::make_shared<const Send>(std::move(send))) {}

    std::shared_ptr<void> of(decide::queue::AgentId agent, decide::queue::DeliveryId delivery) const {
        return {nullptr, [send = std::weak_ptr(send_), agent, delivery](void*) {
                    if (const auto still = send.lock()) (*still)(agent, delivery);
                }};
    }

private:
    std::shared_ptr<const Send> send_;
};

} // namespace queue_manager
