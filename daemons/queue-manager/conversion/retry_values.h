// A retry policy between the engine and a message's file. Pure.
#pragma once
#include "daemons/decide/queue/settings.h"
#include "libspool/format/envelope.h"
#include <optional>
#include <span>
#include <string_view>

namespace queue_manager {

spool::RetryValues values_of(const decide::queue::RetryPolicy& policy);
decide::queue::RetryPolicy policy_of(std::string_view name, const spool::RetryValues& values);

// The current policy of that name: one of `all`, or "exchange", the built-in schedule. Nullopt: there is no such
// policy.
std::optional<decide::queue::RetryPolicy> policy_named(std::string_view name,
                                                       std::span<const decide::queue::RetryPolicy> all);

} // namespace queue_manager
