// What leads to a question before something is done that cannot be taken back. The question is a page; the script shows
// that page in a dialog, where there is a script. Pure.
#pragma once
#include "daemons/http/html/html.h"
#include <string_view>

namespace http::pages {

// To a page that asks.
html::Html asking_link(const html::Url& where, std::string_view text);
// Sends a form whose answer is a page that asks.
html::Html asking_button(std::string_view text);

} // namespace http::pages
