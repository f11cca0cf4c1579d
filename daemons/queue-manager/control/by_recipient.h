// Finds the delivery that each recipient of a message is in. Pure.
#pragma once
#include <cstddef>
#include <vector>

namespace queue_manager {

// By recipient, the first delivery that it is in; null: none. Deliveries that name no recipient are for all.
template <class Delivery>
std::vector<const Delivery*> by_recipient(const std::vector<Delivery>& deliveries, std::size_t recipients) {
    std::vector<const Delivery*> out(recipients);
    const auto take = [&](std::size_t number, const Delivery& delivery) {
        if (number < out.size() && out[number] == nullptr) out[number] = &delivery;
    };
    for (const auto& delivery : deliveries) {
        for (const auto number : delivery.recipients) take(number, delivery);
        for (std::size_t number = 0; delivery.recipients.empty() && number < recipients; ++number)
            take(number, delivery);
    }
    return out;
}

} // namespace queue_manager
