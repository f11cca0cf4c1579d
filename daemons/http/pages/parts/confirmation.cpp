#include "daemons/http/pages/parts/confirmation.h"

namespace http::pages {

html::Html asking_link(const html::Url& where, std::string_view text) {
    return html::element("a", {{"class", "button"}, {"href", where}, {"data-ask"}}, text);
}

html::Html asking_button(std::string_view text) {
    return html::element("button", {{"type", "submit"}, {"data-ask"}}, text);
}

} // namespace http::pages
