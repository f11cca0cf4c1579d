#include "daemons/http/browser/form.h"
#include "daemons/common/web/target.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace http {

std::expected<Form, Problem> Form::read(std::string_view body) {
    auto fields = web::parse_query(body);
    if (!fields) return std::unexpected(Problem{400, "invalid-form", "The form is not valid: " + fields.error() + "."});
    Form form;
    form.fields_ = *std::move(fields);
    return form;
}

std::string_view Form::text(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, [](const auto& each) { return std::string_view(each.first); });
    return found == fields_.end() ? std::string_view() : smtp::trimmed(found->second);
}

} // namespace http
