// What a browser sends of a form (application/x-www-form-urlencoded). Pure.
#pragma once
#include "daemons/common/web/message.h"
#include "daemons/http/requests/problem.h"
#include <expected>
#include <string_view>

namespace http {

inline constexpr std::string_view form_type = "application/x-www-form-urlencoded";
inline constexpr std::size_t largest_form = 8 * 1024; // bytes

class Form {
public:
    static std::expected<Form, Problem> read(std::string_view body);

    // Without blanks at its ends; "" if there is none.
    std::string_view text(std::string_view name) const;

private:
    web::Fields fields_;
};

} // namespace http
