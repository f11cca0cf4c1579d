// Operations as people see them: what their buttons are called, and what they do. Pure.
#pragma once
#include "daemons/common/tokens/token.h"
#include "daemons/http/html/html.h"
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

namespace http::pages {

struct OperationText {
    std::string_view name;    // as in the API
    tokens::Scope scope;      // that it needs
    std::string_view button;  // "Hold"
    std::string_view meaning; // a sentence
    bool of_places = false;   // everything, a link, a queue or a pool; otherwise of messages
};

std::span<const OperationText> all_operations();
// Null: there is none.
const OperationText* message_operation(std::string_view name);
const OperationText* place_operation(std::string_view name);

// What an operation on messages has done, or would do.
html::Html result_of(const nlohmann::json& counts);

} // namespace http::pages
