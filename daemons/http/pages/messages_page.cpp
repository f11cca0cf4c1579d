#include "daemons/http/pages/messages_page.h"
#include "daemons/http/pages/parts/confirmation.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/message_parts.h"
#include "daemons/http/pages/parts/operation_texts.h"
#include "daemons/http/pages/parts/parts.h"
#include "daemons/http/pages/parts/search_words.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::empty_element;
using html::Html;
using html::Url;
using nlohmann::json;
using tokens::Scope;

namespace {

constexpr std::string_view in_queue = "50", in_history = "20"; // messages of one page
constexpr std::int64_t effort = 20'000;                        // of one search in the queue

web::Fields filters(const std::vector<std::string>& words) {
    web::Fields out;
    for (const auto& word : words) out.emplace_back("filter", word);
    return out;
}

Html search_form(std::string_view text) {
    return element("form", {{"method", "get"}, {"action", Url({"messages"})}, {"role", "search"}, {"class", "line"}},
                   text_field({.name = "q",
                               .label = "Search the queue and the history",
                               .value = text,
                               .hint = "An address, an id, or words such as state=retrying domain=*.example age=+2h "
                                       "subject=\"two words\""}),
                   button("Search"));
}

// Operations on all that the search finds in the queue.
Html bulk_form(const Page& page, std::string_view text) {
    std::vector<std::pair<std::string_view, std::string_view>> values;
    for (const auto& each : all_operations())
        if (!each.of_places && page.may(each.scope)) values.emplace_back(each.name, each.button);
    if (values.empty()) return {};
    return page.form(Url({"operations", "preview"}),
                     element("div", {{"class", "line"}}, hidden_field("q", text),
                             choice("op", "With all of these in the queue", values), asking_button("Preview")));
}

Html queued(const Page& page, const std::string& text, const ApiAnswer& answer) {
    if (!answer.good()) return html::join(heading("Queue"), note(answer.detail()));
    const auto& messages = member(answer.body, "messages");
    std::optional<Url> first, next;
    if (!page.parameter("after").empty()) first = Url({"messages"}, {{"q", text}});
    if (auto after = text_in(answer.body, "next"); !after.empty())
        next = Url({"messages"}, {{"q", text}, {"after", after}});
    if (messages.empty())
        return html::join(heading("Queue"),
                          note(next ? "No message so far matches; a part of the queue was searched."
                                    : "No message in the queue matches."),
                          pager(first, next, {.next = "Search on"}));
    return html::join(heading("Queue"), table_of(queued_messages(messages, page.now())), pager(first, next),
                      text.empty() ? Html() : bulk_form(page, text));
}

Html past(const Page& page, const std::string& text, const ApiAnswer& answer) {
    if (!answer.good()) return html::join(heading("History"), note(answer.detail()));
    const auto& messages = member(answer.body, "messages");
    std::optional<Url> newest, older;
    if (!page.parameter("older").empty()) newest = Url({"messages"}, {{"q", text}});
    if (auto from = text_in(answer.body, "next"); !from.empty())
        older = Url({"messages"}, {{"q", text}, {"older", from}});
    return html::join(heading("History"),
                      messages.empty() ? note("No message in the history matches.")
                                       : table_of(past_messages(messages, page.now())),
                      pager(newest, older, {.first = "Newest", .next = "Older"}));
}

// `content`: what is above it.
void add_history(const std::shared_ptr<Page>& page, const std::string& text, Html content) {
    const auto show = [page](Html all) {
        page->show({.title = "Messages",
                    .section = "messages",
                    .content = std::move(all),
                    .twin = "GET /v1/messages?filter=… and GET /v1/history?filter=…"});
    };
    const auto asked = history_words(words_of(text));
    if (asked.empty() || !page->parameter("after").empty()) return show(std::move(content));
    auto query = filters(asked);
    query.emplace_back("limit", in_history);
    query.emplace_back("after", page->parameter("older"));
    page->ask_any({.method = "GET", .segments = {"v1", "history"}, .parameters = std::move(query)},
                  [page, text, content = std::move(content), show](const ApiAnswer& found) {
                      show(html::join(content, past(*page, text, found)));
                  });
}

// Further parts of the history come without the queue, and those of the queue without the history.
void show_messages(const std::shared_ptr<Page>& page) {
    const auto text = page->parameter("q");
    if (!page->parameter("older").empty()) return add_history(page, text, search_form(text));
    auto wanted = filters(queue_words(words_of(text)));
    wanted.emplace_back("limit", in_queue);
    wanted.emplace_back("effort", std::to_string(effort));
    wanted.emplace_back("after", page->parameter("after"));
    page->ask_any({.method = "GET", .segments = {"v1", "messages"}, .parameters = std::move(wanted)},
                  [page, text](const ApiAnswer& answer) {
                      add_history(page, text, html::join(search_form(text), queued(*page, text, answer)));
                  });
}

void show_preview(const std::shared_ptr<Page>& page, const Form& form) {
    const auto* operation = message_operation(form.text("op"));
    if (!operation) return page->fail(400, "There is no such operation.");
    const std::string text(form.text("q"));
    json order = {{"op", operation->name}, {"filter", queue_words(words_of(text))}, {"dry_run", true}};
    page->ask({.method = "POST", .segments = {"v1", "operations"}, .body = std::move(order)},
              [page, operation, text](const json& counts) {
                  auto content = html::join(facts_of({{"Search", foreign(text)}, {"Effect", operation->meaning}}),
                                            result_of(counts));
                  const auto selection = text_in(counts, "selection");
                  if (selection.empty())
                      content += warning("These are more than 10,000 messages: narrow the search, or use the command "
                                         "\"postrider message\".");
                  else
                      content += page->form(Url({"operations"}),
                                            element("div", {{"class", "stacked"}}, hidden_field("op", operation->name),
                                                    hidden_field("selection", selection),
                                                    text_field({.name = "why", .label = "Why", .required = true}),
                                                    button(operation->button)));
                  page->show({.title = fmt::format("{}: preview", operation->button),
                              .section = "messages",
                              .content = std::move(content),
                              .twin = "POST /v1/operations"});
              });
}

void carry_out_on_selection(const std::shared_ptr<Page>& page, const Form& form) {
    const auto* operation = message_operation(form.text("op"));
    if (!operation) return page->fail(400, "There is no such operation.");
    json order = {{"op", operation->name}, {"selection", form.text("selection")}, {"why", form.text("why")}};
    page->ask({.method = "POST", .segments = {"v1", "operations"}, .body = std::move(order)},
              [page, operation](const json& counts) {
                  page->show({.title = fmt::format("{}: done", operation->button),
                              .section = "messages",
                              .content = html::join(result_of(counts), link_to(Url({"messages"}), "All messages")),
                              .twin = "POST /v1/operations"});
              });
}

} // namespace

void add_messages(PageRoutes& routes) {
    routes.get("/messages", Scope::read, show_messages);
    routes.post("/operations/preview", Scope::operate, Scope::remove, show_preview);
    routes.post("/operations", Scope::operate, Scope::remove, carry_out_on_selection);
}

} // namespace http::pages
