// Queued messages in the form of EmailEngine's outbox, so that its clients can read them. Pure.
#pragma once
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include <cstdint>
#include <expected>
#include <nlohmann/json_fwd.hpp>

namespace http {

// Of the queue-manager's answer to `messages` or `message`.
nlohmann::json outbox_message(const nlohmann::json& queued);

// Pages begin with 0.
struct OutboxPage {
    static constexpr std::uint64_t largest = 250, last_message = 10'000;
    std::uint64_t page = 0, size = 20;

    std::uint64_t first() const { return page * size; }
    std::uint64_t pages(std::uint64_t total) const { return (total + size - 1) / size; }
};
std::expected<OutboxPage, Problem> outbox_page(const web::Request& request);

} // namespace http
