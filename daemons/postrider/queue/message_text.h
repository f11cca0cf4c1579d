// A message in detail, as text: its envelope, its recipients with their attempts, and the gates that keep them; and the
// fields that links and queues are shown with, too.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace postrider {

// Nothing, if the value is "".
void print_field(std::string_view name, const std::string& value);
// A source address of a link's pool that the destination rejects for now.
std::string source_backoff_text(const nlohmann::json& each);

void print_message(const nlohmann::json& message); // without its recipients
void print_recipients(const nlohmann::json& message);
void print_gates(const nlohmann::json& explained); // of one recipient

} // namespace postrider
