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

constexpr std::string_view listed = "200"; // entries on the page

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
    return html::join(heading("Suppress a recipient"),
                      page.form(Url({"suppressions"}),
                                element("div", {{"class", "stacked"}},
                                        text_field({.name = "recipient",
                                                    .label = "Recipient",
                                                    .hint = "An address, or \"@\" and a domain",
                                                    .required = true}),
                                        text_field({.name = "sender", .label = "For senders of this domain only"}),
                                        text_field({.name = "reason", .label = "Reason"}), button("Suppress"))));
}

Row entry_row(const Page& page, const json& entry) {
    const auto recipient = text_in(entry, "recipient"), sender = text_in(entry, "sender");
    const auto expires = text_in(entry, "expires"), reply = text_in(entry, "reply");
    return {foreign(recipient),
            sender.empty() ? Html("all") : foreign(sender),
            foreign(text_in(entry, "reason")),
            reply.empty() ? Html() : verbatim(reply),
            foreign(text_in(entry, "added_by")),
            distance_to(text_in(entry, "added"), page.now()),
            expires.empty() ? Html("never") : distance_to(expires, page.now()),
            page.may(Scope::suppress)
                ? action_link(Url({"suppressions", recipient}, {{"sender", sender}}), "Allow again")
                : Html()};
}

std::vector<std::string> list_words(std::string_view text) {
    auto words = words_of(text);
    for (auto& word : words)
        if (word != "all" && !word.contains('=')) word = (word.contains('@') ? "recipient=" : "domain=") + word;
    return words;
}

void show_list(const std::shared_ptr<Page>& page) {
    const auto text = page->parameter("q");
    web::Fields query = {{"limit", std::string(listed)}};
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
                      if (fmt::format("{}", rows.size()) == listed)
                          content += note(fmt::format("The first {} entries are shown: narrow the search.", listed));
                      if (!rows.empty())
                          content += table_of(
                              {"Recipients that get no mail",
                               {"Recipient", "Senders", "Reason", "Reply", "Added by", "Added", "Expires", "Action"},
                               std::move(rows)});
                      page->show({.title = "Suppression",
                                  .section = "suppressions",
                                  .content = html::join(content, entry_form(*page)),
                                  .twin = "GET /v1/suppressions"});
                  });
}

void add_to_list(const std::shared_ptr<Page>& page, const Form& form) {
    json entry = {
        {"recipient", form.text("recipient")}, {"sender", form.text("sender")}, {"reason", form.text("reason")}};
    page->ask({.method = "POST", .segments = {"v1", "suppressions"}, .body = std::move(entry)},
              [page](const json&) { page->go(Url({"suppressions"})); });
}

void ask_removal(const std::shared_ptr<Page>& page) {
    const auto recipient = page->call().value(0), sender = page->parameter("sender");
    page->show(
        {.title = "Allow mail again",
         .section = "suppressions",
         .content = html::join(
             facts_of({{"Recipient", foreign(recipient)}, {"Senders", sender.empty() ? Html("all") : foreign(sender)}}),
             page->form(Url({"suppressions", recipient}),
                        html::join(hidden_field("sender", sender), button("Allow mail again")))),
         .twin = fmt::format("DELETE /v1/suppressions/{}", recipient)});
}

void remove_from_list(const std::shared_ptr<Page>& page, const Form& form) {
    page->ask({.method = "DELETE",
               .segments = {"v1", "suppressions", page->call().value(0)},
               .parameters = {{"sender", std::string(form.text("sender"))}}},
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
