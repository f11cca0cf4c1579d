#include "daemons/http/pages/frame/layout.h"
#include "daemons/http/pages/frame/assets.h"
#include "daemons/http/requests/host_check.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::empty_element;
using html::Html;
using html::Url;
using tokens::Scope;

namespace {

struct Section {
    std::string_view name, title;
    Url where;
    Scope scope;
};

const std::vector<Section>& sections() {
    static const std::vector<Section> all = {
        {"now", "Now", Url({}), Scope::read},
        {"messages", "Messages", Url({"messages"}), Scope::read},
        {"links", "Links", Url({"links"}), Scope::read},
        {"senders", "Senders", Url({"senders"}), Scope::read},
        {"door", "Door", Url({"door"}), Scope::read},
        {"suppressions", "Suppression", Url({"suppressions"}), Scope::read},
        {"events", "Events", Url({"events"}), Scope::read},
        {"try", "Try", Url({"try"}), Scope::operate},
        {"hooks", "Hooks", Url({"hooks"}), Scope::read},
        {"settings", "Settings", Url({"settings"}), Scope::read},
    };
    return all;
}

// Nothing but what this server has, nothing inside a page that could run, no frames. Referrer-Policy: with no-referrer
// browsers would send "Origin: null" with forms.
const web::Fields& security_fields() {
    static const web::Fields fields = {
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
         "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    };
    return fields;
}

Html head(const View& view, std::string_view host) {
    return element("head", {}, empty_element("meta", {{"charset", "utf-8"}}),
                   empty_element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}),
                   empty_element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}),
                   element("title", {}, fmt::format("{} · {} · Postrider", view.title, host)),
                   empty_element("link", {{"rel", "icon"}, {"href", url_of("icon.svg")}}),
                   empty_element("link", {{"rel", "stylesheet"}, {"href", url_of("page.css")}}),
                   element("script", {{"type", "module"}, {"src", url_of("page.js")}}));
}

Html navigation(const View& view, const Caller& caller) {
    Html items;
    for (const auto& each : sections()) {
        if (!caller.scopes.has(each.scope)) continue;
        const auto link = each.name == view.section
                              ? element("a", {{"href", each.where}, {"aria-current", "page"}}, each.title)
                              : element("a", {{"href", each.where}}, each.title);
        items += element("li", {}, link);
    }
    return element("nav", {{"aria-label", "Pages"}}, element("ul", {}, items));
}

Html session(const Caller& caller) {
    const auto& principal = caller.principal;
    const auto form = element("form", {{"method", "post"}, {"action", Url({"logout"})}},
                              element("button", {{"type", "submit"}, {"class", "quiet"}}, "Log out"));
    return element(
        "div", {{"class", "session"}},
        element("span", {}, principal.name.empty() ? fmt::format("user with id {}", principal.uid) : principal.name),
        form);
}

Html body(const View& view, std::string_view host, const Caller* caller) {
    auto top = element("a", {{"class", "brand"}, {"href", Url({})}}, "Postrider",
                       element("span", {{"class", "host"}}, " ", host));
    if (caller) top += navigation(view, *caller) += session(*caller);
    Html foot = "Postrider " POSTRIDER_VERSION;
    if (!view.twin.empty()) foot += html::join(" · the same for programs: ", element("code", {}, view.twin));
    const auto content = html::join(element("h1", {}, view.title), view.content);
    return element("body", {}, element("a", {{"class", "skip"}, {"href", Url::within("main")}}, "Skip to the content"),
                   element("header", {}, top),
                   view.live ? element("main", {{"id", "main"}, {"data-live"}}, content)
                             : element("main", {{"id", "main"}}, content),
                   element("footer", {}, foot));
}

} // namespace

web::Response response_with(const View& view, const web::Request& request, const Caller* caller) {
    const auto host = name_in(request.header("host"));
    return {.status = view.status,
            .type = "text/html; charset=utf-8",
            .body = html::document(
                element("html", {{"lang", "en"}}, html::join(head(view, host), body(view, host, caller)))),
            .headers = security_fields()};
}

web::Response redirect_to(const Url& where) {
    web::Response response{.status = 303, .type = {}, .body = {}, .headers = security_fields()};
    response.headers.emplace_back("Location", where.text());
    return response;
}

} // namespace http::pages
