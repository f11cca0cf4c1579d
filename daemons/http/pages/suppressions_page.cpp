#include "daemons/http/pages/suppressions_page.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/parts.h"
#include "daemons/http/pages/parts/search_words.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;
using tokens::Scope;

namespace {

constexpr std::string_view listed = "200"; // entries of one page
constexpr const char* scope_names[] = {"sender", "pool", "lane"};

// The mail that an entry is for, as parameters of its address.
Url::Parameters scope_of(const json& entry) {
    Url::Parameters out;
    for (const auto* name : scope_names)
        if (const auto value = text_in(entry, name); !value.empty()) out.emplace_back(name, value);
    return out;
}

Html scope_text(const Url::Parameters& scope) {
    if (scope.empty()) return Html("all");
    const auto& [name, value] = scope.front(); // an entry has one at most
    return name == "sender" ? foreign(value) : html::join(name + " ", foreign(value));
}

Html list_search(std::string_view text) {
    return element("form",
                   {{"method", "get"}, {"action", Url({"suppressions"})}, {"role", "search"}, {"class", "line"}},
                   text_field({.name = "q",
                               .label = "Search the list",
                               .value = text,
                               .hint = "An address, or words such as domain=*.example kind=automatic age=+30d"}),
                   button("Search"));
}

Html entry_form(const Page& page) {
    if (!page.may(Scope::suppress)) return {};
    return html::join(
        heading("Suppress a recipient"),
        page.form(
            Url({"suppressions"}),
            element("div", {{"class", "stacked"}},
                    text_field({.name = "recipient",
                                .label = "Recipient",
                                .hint = "An address, or \"@\" and a domain",
                                .required = true}),
                    text_field({.name = "sender", .label = "Only mail from this domain"}),
                    text_field({.name = "pool", .label = "Only mail of this pool"}),
                    text_field({.name = "lane", .label = "Only mail in this lane", .hint = "high, normal or bulk"}),
                    text_field({.name = "reason", .label = "Reason"}), button("Suppress"))));
}

Row entry_row(const Page& page, const json& entry) {
    const auto recipient = text_in(entry, "recipient");
    const auto scope = scope_of(entry);
    const auto expires = text_in(entry, "expires"), reply = text_in(entry, "reply");
    return {foreign(recipient),
            scope_text(scope),
            foreign(text_in(entry, "reason")),
            reply.empty() ? Html() : verbatim(reply),
            foreign(text_in(entry, "added_by")),
            distance_to(text_in(entry, "added"), page.now()),
            expires.empty() ? Html("never") : distance_to(expires, page.now()),
            page.may(Scope::suppress) ? action_link(Url({"suppressions", recipient}, scope), "Allow again") : Html()};
}

std::vector<std::string> list_words(std::string_view text) {
    auto words = words_of(text);
    for (auto& word : words)
        if (word != "all" && !word.contains('=')) word = (word.contains('@') ? "recipient=" : "domain=") + word;
    return words;
}

void show_list(const std::shared_ptr<Page>& page) {
    const auto text = page->parameter("q");
    web::Fields query = {{"limit", std::string(listed)}, {"after", page->parameter("after")}};
    for (auto& word : list_words(text)) query.emplace_back("filter", std::move(word));
    page->ask_any({.method = "GET", .segments = {"v1", "suppressions"}, .parameters = std::move(query)},
                  [page, text](const ApiAnswer& answer) {
                      auto content = list_search(text);
                      std::vector<Row> rows;
                      for (const auto& each : member(answer.body, "suppressions"))
                          rows.push_back(entry_row(*page, each));
                      if (!answer.good())
                          content += warning(answer.detail());
                      else if (rows.empty())
                          content += note("No entry matches.");
                      if (!rows.empty())
                          content += table_of(
                              {"Recipients that get no mail",
                               {"Recipient", "Mail", "Reason", "Reply", "Added by", "Added", "Expires", "Action"},
                               std::move(rows)});
                      std::optional<Url> first, next;
                      if (!page->parameter("after").empty()) first = Url({"suppressions"}, {{"q", text}});
                      if (const auto after = text_in(answer.body, "next"); !after.empty())
                          next = Url({"suppressions"}, {{"q", text}, {"after", after}});
                      content += pager(first, next);
                      page->show({.title = "Suppression",
                                  .section = "suppressions",
                                  .content = html::join(content, entry_form(*page)),
                                  .twin = "GET /v1/suppressions"});
                  });
}

void add_to_list(const std::shared_ptr<Page>& page, const Form& form) {
    json entry = {{"recipient", form.text("recipient")}, {"reason", form.text("reason")}};
    for (const auto* name : scope_names) entry[name] = form.text(name);
    page->ask({.method = "POST", .segments = {"v1", "suppressions"}, .body = std::move(entry)},
              [page](const json&) { page->go(Url({"suppressions"})); });
}

void ask_removal(const std::shared_ptr<Page>& page) {
    const auto recipient = page->call().value(0);
    Url::Parameters scope;
    Html fields;
    for (const auto* name : scope_names)
        if (auto value = page->parameter(name); !value.empty()) {
            fields += hidden_field(name, value);
            scope.emplace_back(name, std::move(value));
        }
    page->show({.title = "Allow mail again",
                .section = "suppressions",
                .content = html::join(
                    facts_of({{"Recipient", foreign(recipient)}, {"Mail", scope_text(scope)}}),
                    page->form(Url({"suppressions", recipient}), html::join(fields, button("Allow mail again")))),
                .twin = fmt::format("DELETE /v1/suppressions/{}", recipient)});
}

void remove_from_list(const std::shared_ptr<Page>& page, const Form& form) {
    web::Fields scope;
    for (const auto* name : scope_names)
        if (const auto value = form.text(name); !value.empty()) scope.emplace_back(name, std::string(value));
    page->ask(
        {.method = "DELETE", .segments = {"v1", "suppressions", page->call().value(0)}, .parameters = std::move(scope)},
        [page](const json&) { page->go(Url({"suppressions"})); });
}

} // namespace

void add_suppressions(PageRoutes& routes) {
    routes.get("/suppressions", Scope::read, show_list);
    routes.post("/suppressions", Scope::suppress, {}, add_to_list);
    routes.get("/suppressions/{address}", Scope::suppress, ask_removal);
    routes.post("/suppressions/{address}", Scope::suppress, {}, remove_from_list);
}

} // namespace http::pages
