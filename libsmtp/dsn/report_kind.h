// What a report to the sender is about (RFC 3464), from the decision that one is due to the message that is
// sent.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smtp {

enum class ReportKind : std::uint8_t {
    failed, // an NDR
    delayed,
    delivered,
    relayed,
    expanded,
    status, // of recipients that fared differently: each says its own
    last_ = status,
};
constexpr std::string_view name_of(ReportKind kind) {
    constexpr std::string_view names[] = {"failed", "delayed", "delivered", "relayed", "expanded", "status"};
    return names[static_cast<std::size_t>(kind)];
}

} // namespace smtp
