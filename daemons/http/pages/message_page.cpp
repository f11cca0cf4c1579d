#include "daemons/http/pages/message_page.h"
#include "daemons/http/pages/parts/confirmation.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/message_parts.h"
#include "daemons/http/pages/parts/operation_texts.h"
#include "daemons/http/pages/parts/parts.h"
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;
using tokens::Scope;

namespace {

constexpr std::string_view explained_at_once = "10";

Html optional_text(const json& message, std::string_view name) {
    const auto text = text_in(message, name);
    return text.empty() ? Html() : foreign(text);
}

bool is_queued(const json& message) { return message.contains("arrival"); }

Html envelope(const json& message, smtp::WallTime now) {
    const bool queued = is_queued(message);
    const auto sender = text_in(message, "sender");
    const auto size = number_in(message, "size");
    const auto time = [&](std::string_view name) -> Html {
        const auto text = text_in(message, name);
        return text.empty() ? Html() : distance_to(text, now);
    };
    return facts_of({{"State", text_in(message, queued ? "state" : "outcome")},
                     {"Sender", sender.empty() ? Html("<>") : foreign(sender)},
                     {"Subject", optional_text(message, "subject")},
                     {"Accepted", time(queued ? "arrival" : "accepted")},
                     {"Expires", time("expiry")},
                     {"Last event", time("last_time")},
                     {"Size", size > 0 ? Html(size_text(static_cast<std::uint64_t>(size))) : Html()},
                     {"Lane", optional_text(message, "lane")},
                     {"Pool", optional_text(message, "pool")},
                     {"Policy", optional_text(message, "policy_values")},
                     {"Submitter", optional_text(message, "submitter")},
                     {"Client", optional_text(message, "client")},
                     {"Client's name", optional_text(message, "helo")},
                     {"Protocol", optional_text(message, "protocol")},
                     {"Message-ID", optional_text(message, "message_id")},
                     {"Held by", optional_text(message, "held_by")},
                     {"Held because", optional_text(message, "held_reason")},
                     {"Rerouted to", optional_text(message, "rerouted_to")},
                     {"Content filter", optional_text(message, "content_filter")}});
}

// What the first closed gate says, and what to do.
Row queued_recipient(const json& recipient, smtp::WallTime now) {
    Html reason;
    for (const auto* name : {"reason", "waiting_for"})
        if (const auto text = text_in(recipient, name); !text.empty())
            reason += html::join(reason.empty() ? "" : " ", verbatim(text));
    if (const auto advice = text_in(recipient, "advice"); !advice.empty()) reason += html::join(" ", foreign(advice));
    const auto link = text_in(recipient, "link");
    return {foreign(text_in(recipient, "address")),
            text_in(recipient, "state"),
            link.empty() ? Html() : link_to(Url({"links", link}), foreign(link)),
            count_text(number_in(recipient, "tries")),
            distance_to(text_in(recipient, "next_attempt"), now),
            reason};
}

Row finished_recipient(const json& recipient, smtp::WallTime now) {
    const auto reply = text_in(recipient, "reply");
    return {foreign(text_in(recipient, "recipient")),     text_in(recipient, "outcome"),
            foreign(text_in(recipient, "link")),          count_text(number_in(recipient, "attempts")),
            distance_to(text_in(recipient, "time"), now), reply.empty() ? Html() : verbatim(reply)};
}

Html recipients(const Page& page, const std::string& id, const json& message) {
    const bool queued = is_queued(message);
    std::vector<Row> rows;
    for (const auto& each : member(message, "recipients"))
        rows.push_back(queued ? queued_recipient(each, page.now()) : finished_recipient(each, page.now()));
    const Url here({"messages", id});
    std::optional<Url> first, next;
    if (!page.parameter("recipients").empty()) first = here;
    if (const auto after = text_in(message, "next"); !after.empty())
        next = Url({"messages", id}, {{"recipients", after}});
    return html::join(heading(count_text(number_in(message, "recipients_total"), "Recipient", "Recipients")),
                      table_of({"Recipients",
                                {"Address", "State", "Link", "Attempts#", queued ? "Next attempt" : "Time",
                                 queued ? "Reason" : "Reply"},
                                std::move(rows)}),
                      pager(first, next));
}

Html actions(const Page& page, const std::string& id, const json& message) {
    const bool held = text_in(message, "state") == "held";
    Html out = link_to(Url({"messages", id, "explain"}), "What each recipient waits for");
    for (const auto& each : all_operations()) {
        if (each.of_places || !page.may(each.scope) || each.name == (held ? "hold" : "release")) continue;
        const Url where({"messages", id, each.name});
        out += each.scope == Scope::remove ? asking_link(where, each.button) : action_link(where, each.button);
    }
    return element("div", {{"class", "actions"}}, out);
}

Html timeline(const Page& page, const std::string& id, const ApiAnswer& answer) {
    if (!answer.good()) return {};
    std::optional<Url> first, next;
    if (!page.parameter("events").empty()) first = Url({"messages", id});
    if (const auto after = text_in(answer.body, "next"); !after.empty())
        next = Url({"messages", id}, {{"events", after}});
    return html::join(heading("What has happened"), timeline_of(member(answer.body, "events")), pager(first, next));
}

void show_message(const std::shared_ptr<Page>& page) {
    const auto id = page->call().value(0);
    const auto part = [&](std::string_view name) -> web::Fields { return {{"after", page->parameter(name)}}; };
    page->ask({.method = "GET", .segments = {"v1", "messages", id}, .parameters = part("recipients")},
              [page, id, events = part("events")](const json& message) {
                  auto content = envelope(message, page->now());
                  if (is_queued(message)) content += actions(*page, id, message);
                  content += recipients(*page, id, message);
                  page->ask_any({.method = "GET", .segments = {"v1", "messages", id, "events"}, .parameters = events},
                                [page, id, content = std::move(content)](const ApiAnswer& events) {
                                    page->show({.title = fmt::format("Message {}", id),
                                                .section = "messages",
                                                .content = html::join(content, timeline(*page, id, events)),
                                                .twin = fmt::format("GET /v1/messages/{} and …/events", id)});
                                });
              });
}

Html gates(const json& recipient) {
    std::vector<Row> rows;
    for (const auto& each : member(recipient, "gates")) {
        Html why;
        for (const auto* name : {"text", "origin", "advice"})
            if (const auto text = text_in(each, name); !text.empty())
                why += html::join(why.empty() ? "" : " · ", foreign(text));
        rows.push_back(
            {text_in(each, "gate"), flag_in(each, "open") ? "open" : "closed", why, foreign(text_in(each, "by"))});
    }
    return table_of({"Gates in their order", {"Gate", "State", "Why", "By"}, std::move(rows)});
}

void show_explanation(const std::shared_ptr<Page>& page) {
    const auto id = page->call().value(0);
    web::Fields part = {{"limit", std::string(explained_at_once)}, {"after", page->parameter("after")}};
    page->ask({.method = "GET", .segments = {"v1", "messages", id, "explain"}, .parameters = std::move(part)},
              [page, id](const json& answer) {
                  Html content = note(link_to(Url({"messages", id}), "The message"));
                  for (const auto& each : member(answer, "recipients")) {
                      const auto blocked = text_in(each, "blocked_by");
                      content += html::join(element("h2", {}, foreign(text_in(each, "address"))),
                                            element("p", {},
                                                    blocked.empty()
                                                        ? Html("Nothing keeps it.")
                                                        : html::join("It waits for: ", element("strong", {}, blocked))),
                                            gates(each));
                  }
                  std::optional<Url> first, next;
                  if (!page->parameter("after").empty()) first = Url({"messages", id, "explain"});
                  if (const auto after = text_in(answer, "next"); !after.empty())
                      next = Url({"messages", id, "explain"}, {{"after", after}});
                  page->show({.title = fmt::format("What message {} waits for", id),
                              .section = "messages",
                              .content = html::join(content, pager(first, next)),
                              .twin = fmt::format("GET /v1/messages/{}/explain", id)});
              });
}

void ask_message_operation(const std::shared_ptr<Page>& page) {
    const auto id = page->call().value(0);
    const auto* operation = message_operation(page->call().value(1));
    if (!operation) return page->fail(404, "There is no such operation.");
    page->ask({.method = "GET", .segments = {"v1", "messages", id}}, [page, id, operation](const json& message) {
        auto content = html::join(facts_of({{"Effect", operation->meaning}}), envelope(message, page->now()));
        if (is_queued(message))
            content += page->form(Url({"messages", id, operation->name}),
                                  element("div", {{"class", "stacked"}}, text_field({.name = "why", .label = "Why"}),
                                          button(operation->button)));
        else
            content += warning("The message has left the queue.");
        page->show({.title = fmt::format("{}: message {}", operation->button, id),
                    .section = "messages",
                    .content = std::move(content),
                    .twin = "POST /v1/operations"});
    });
}

void carry_out_on_message(const std::shared_ptr<Page>& page, const Form& form) {
    const auto id = page->call().value(0);
    const auto* operation = message_operation(page->call().value(1));
    if (!operation) return page->fail(404, "There is no such operation.");
    json order = {{"op", operation->name}, {"ids", {id}}, {"why", form.text("why")}};
    page->ask({.method = "POST", .segments = {"v1", "operations"}, .body = std::move(order)},
              [page, id, operation](const json& counts) {
                  if (number_in(counts, "changed") > 0 && number_in(counts, "in_flight") == 0)
                      return page->go(operation->scope == Scope::remove ? Url({"messages"}) : Url({"messages", id}));
                  page->show({.title = fmt::format("{}: message {}", operation->button, id),
                              .section = "messages",
                              .content = html::join(result_of(counts), link_to(Url({"messages", id}), "The message")),
                              .twin = "POST /v1/operations"});
              });
}

} // namespace

void add_message(PageRoutes& routes) {
    routes.get("/messages/{id}", Scope::read, show_message);
    routes.get("/messages/{id}/explain", Scope::read, show_explanation);
    routes.get("/messages/{id}/{op}", Scope::read, ask_message_operation);
    routes.post("/messages/{id}/{op}", Scope::operate, Scope::remove, carry_out_on_message);
}

} // namespace http::pages
