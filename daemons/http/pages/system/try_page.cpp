#include "daemons/http/pages/system/try_page.h"
#include "daemons/http/backend/later.h"
#include "daemons/http/pages/parts/fields.h"
#include "daemons/http/pages/parts/marks.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/parts.h"
#include <algorithm>
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;
using tokens::Scope;

namespace {

constexpr auto longest_trial = std::chrono::minutes(1);
constexpr std::size_t most_steps = 500; // on the page
constexpr std::string_view every_host = "every", with_dialogue = "with";

struct Trial {
    std::string address, from, host, hosts, dialogue;
};

Html trial_form(const Page& page, const Trial& trial) {
    return page.form(
        Url({"try"}),
        element("div", {{"class", "stacked"}},
                text_field({.name = "address", .label = "To", .value = trial.address, .required = true}),
                text_field({.name = "from",
                            .label = "From",
                            .value = trial.from,
                            .hint = "Empty: the null sender, which servers may treat differently"}),
                text_field({.name = "host",
                            .label = "Only this host",
                            .value = trial.host,
                            .hint = "HOST or HOST:PORT in place of the route's; empty: as a delivery would go"}),
                choice_of("hosts", "Hosts", {{"first", "until one answers"}, {every_host, "every one"}}, trial.hosts),
                choice_of("dialogue", "Dialogue", {{"without", "not shown"}, {with_dialogue, "shown"}}, trial.dialogue),
                button("Try")));
}

Html finding_of(std::string_view finding) {
    if (finding == "good") return marked(Mark::good, "ok");
    if (finding == "temporary") return marked(Mark::near, "would wait");
    if (finding == "permanent") return marked(Mark::bad, "fails");
    return "note";
}

Html what_of(const json& step) {
    Html out;
    for (const auto* name : {"recipient", "host"})
        if (const auto text = text_in(step, name); !text.empty()) out += html::join(foreign(text), " ");
    out += verbatim(text_in(step, "text"));
    if (const auto advice = text_in(step, "advice"); !advice.empty()) out += html::join(" ", foreign(advice));
    return out;
}

Row step_row(const json& step) {
    const auto name = text_in(step, "step");
    const auto seconds = static_cast<double>(number_in(step, "at_us")) / 1e6;
    const bool said = name == "client" || name == "server";
    return {said ? Html(name == "client" ? "we say" : "server says") : Html(name),
            said ? Html() : finding_of(text_in(step, "finding")), fmt::format("{:.3f}", seconds),
            said ? verbatim(text_in(step, "text")) : what_of(step)};
}

// Of the last line; nothing: it has not come.
const json* result_in(const json& steps) {
    return !steps.empty() && text_in(steps.back(), "step") == "result" ? &steps.back() : nullptr;
}

Html rules_in(const json& steps) {
    std::vector<std::string> seen;
    Html out;
    for (const auto& each : steps) {
        if (text_in(each, "step") != "route") continue;
        const auto rule = text_in(each, "rule");
        if (std::ranges::find(seen, rule) != seen.end()) continue;
        seen.push_back(rule);
        if (!out.empty()) out += ", ";
        out += rule.empty() ? Html("none: by the DNS, or as asked for") : foreign(fmt::format("[route.\"{}\"]", rule));
    }
    return out;
}

Html outcome(const ApiAnswer& answer) {
    if (!answer.good()) return warning(answer.detail());
    const auto& steps = answer.body;
    Html out;
    if (const auto* result = result_in(steps)) {
        const auto advice = text_in(*result, "advice");
        out += facts_of(
            {{"Result", html::join(finding_of(text_in(*result, "finding")), ": ", verbatim(text_in(*result, "text")))},
             {"What to do", advice.empty() ? Html() : foreign(advice)},
             {"Rule that decides the route", rules_in(steps)}});
    } else if (!answer.whole) {
        out += warning(html::join("It has been ended: it took more than ", span_text(longest_trial),
                                  ", or had more to say than a page can show. \"postrider try\" waits longer."));
    } else {
        const auto error = steps.empty() ? std::string() : text_in(steps.back(), "error");
        out += warning(
            html::join("It has ended without a result", error.empty() ? Html(".") : html::join(": ", foreign(error))));
    }
    std::vector<Row> rows;
    for (const auto& each : steps)
        if (each.contains("step") && rows.size() < most_steps) rows.push_back(step_row(each));
    if (steps.size() > most_steps) out += note(fmt::format("The first {} steps are shown.", most_steps));
    return out += table_of({"Steps", {"Step", "Finding", "Seconds#", "What"}, std::move(rows)});
}

void show_form(const std::shared_ptr<Page>& page) {
    const Trial trial{.address = page->parameter("address"),
                      .from = page->parameter("from"),
                      .host = {},
                      .hosts = {},
                      .dialogue = {}};
    page->show({.title = "Try a delivery",
                .section = "try",
                .content = html::join(note("Goes the way that a message would, as far as RCPT: no message is sent."),
                                      trial_form(*page, trial),
                                      note(html::join("What the access rules say to a client at the door: ",
                                                      verbatim("postrider try --client IP"), "."))),
                .twin = "POST /v1/try"});
}

void try_address(Later& later, const std::shared_ptr<Page>& page, const Form& form) {
    const auto text = [&form](std::string_view name) { return std::string(form.text(name)); };
    Trial trial{text("address"), text("from"), text("host"), text("hosts"), text("dialogue")};
    json order = {{"address", trial.address},
                  {"from", trial.from == "<>" ? "" : trial.from},
                  {"host", trial.host},
                  {"every_host", trial.hosts == every_host},
                  {"dialogue", trial.dialogue == with_dialogue}};
    const auto give_up = page->collect(
        {.method = "POST", .segments = {"v1", "try"}, .body = std::move(order)},
        [page, trial = std::move(trial)](const ApiAnswer& answer) {
            page->show({.status = answer.good() ? 200 : answer.status,
                        .title = fmt::format("Try a delivery to {}", trial.address),
                        .section = "try",
                        .content = html::join(outcome(answer), heading("Again"), trial_form(*page, trial)),
                        .twin = "POST /v1/try"});
        });
    later.after(longest_trial, give_up);
}

} // namespace

void add_try(PageRoutes& routes, common::Loop& loop) {
    routes.get("/try", Scope::operate, show_form);
    routes.post("/try", Scope::operate, {},
                [later = std::make_shared<Later>(loop)](const std::shared_ptr<Page>& page, const Form& form) {
                    try_address(*later, page, form);
                });
}

} // namespace http::pages
