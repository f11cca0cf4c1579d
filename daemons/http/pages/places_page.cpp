#include "daemons/http/pages/places_page.h"
#include "daemons/http/pages/parts/operation_texts.h"
#include "daemons/http/pages/parts/parts.h"
#include <fmt/format.h>

namespace http::pages {

using html::Html;
using html::Url;
using tokens::Scope;

namespace {

Html place_text(const std::string& scope, const std::string& name) {
    return name.empty() ? Html(scope) : html::join(scope, " ", foreign(name));
}

void ask_place_operation(const std::shared_ptr<Page>& page) {
    const auto* operation = place_operation(page->call().value(0));
    if (!operation) return page->fail(404, "There is no such operation.");
    const auto scope = page->parameter("scope"), name = page->parameter("name");
    auto fields = html::join(hidden_field("scope", scope), hidden_field("name", name));
    if (operation->name != "force") fields += text_field({.name = "why", .label = "Why"});
    fields += button(operation->button);
    page->show({.title = std::string(operation->button),
                .content = html::join(
                    facts_of({{"What", place_text(scope, name)}, {"Effect", operation->meaning}}),
                    page->form(Url({"places", operation->name}), html::element("div", {{"class", "stacked"}}, fields))),
                .twin = "POST /v1/operations"});
}

void carry_out_at_place(const std::shared_ptr<Page>& page, const Form& form) {
    const auto* operation = place_operation(page->call().value(0));
    if (!operation) return page->fail(404, "There is no such operation.");
    const std::string scope(form.text("scope")), name(form.text("name"));
    nlohmann::json order = {{"op", operation->name}, {"scope", scope}, {"name", name}, {"why", form.text("why")}};
    page->ask(
        {.method = "POST", .segments = {"v1", "operations"}, .body = std::move(order)},
        [page, scope, name](const nlohmann::json&) { page->go(scope == "link" ? Url({"links", name}) : Url({})); });
}

} // namespace

void add_places(PageRoutes& routes) {
    routes.get("/places/{op}", Scope::operate, ask_place_operation);
    routes.post("/places/{op}", Scope::operate, {}, carry_out_at_place);
}

} // namespace http::pages
