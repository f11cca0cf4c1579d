#include "daemons/common/web/message.h"
#include <algorithm>
#include <fmt/format.h>

namespace web {

namespace {

std::string_view first(const Fields& fields, std::string_view name) {
    const auto found = std::ranges::find(fields, name, [](const auto& each) { return std::string_view(each.first); });
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

} // namespace

std::string Client::text() const {
    if (user) return fmt::format("uid={}", user->uid);
    return address ? address->to_string() : std::string("unknown");
}

std::string_view Request::header(std::string_view lower_case_name) const { return first(headers, lower_case_name); }

std::string_view Request::parameter(std::string_view name) const { return first(parameters, name); }

bool Request::has_header(std::string_view lower_case_name) const {
    return std::ranges::any_of(headers, [&](const auto& each) { return each.first == lower_case_name; });
}

} // namespace web
