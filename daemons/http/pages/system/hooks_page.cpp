#include "daemons/http/pages/system/hooks_page.h"
#include "daemons/http/pages/parts/marks.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/parts.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;
using tokens::Scope;

namespace {

struct HookOperation {
    std::string_view name;    // as in the API
    std::string_view button;  // "Pause"
    std::string_view meaning; // a sentence
};

constexpr HookOperation hook_operations[] = {
    {"test", "Send a test",
     "An event hook.test is sent now, whatever the hook's state; the page waits for the answer."},
    {"pause", "Pause", "Nothing is sent until it is resumed, also after a restart. Its events are kept meanwhile."},
    {"resume", "Resume", "Events are sent again, at once; a hook that was switched off is switched on."},
    {"replay", "Replay", "Events are sent again, or skipped: it continues with the event that is named."},
    {"skip", "Skip an event", "The event that is sent next is given up, and kept among those that were given up."},
};

const HookOperation* hook_operation(std::string_view name) {
    const auto found = std::ranges::find(hook_operations, name, &HookOperation::name);
    return found == std::end(hook_operations) ? nullptr : found;
}

bool is_offered(const HookOperation& operation, const json& hook) {
    const auto state = text_in(hook, "state");
    if (state == "starting") return false;
    const bool stopped = state == "paused" || state == "off";
    if (operation.name == "pause") return !stopped;
    if (operation.name == "resume") return stopped || state == "failing";
    if (operation.name == "skip") return number_in(hook, "event") > 0;
    return true;
}

Mark mark_of(std::string_view state) {
    if (state == "delivering") return Mark::good;
    if (state == "starting") return Mark::none;
    return state == "paused" ? Mark::near : Mark::bad;
}

Html state_of(const json& hook, smtp::WallTime now) {
    const auto state = text_in(hook, "state");
    auto out = marked(mark_of(state), state);
    if (const auto since = text_in(hook, "failing_since"); !since.empty() && state == "failing")
        out += html::join(", it began ", distance_to(since, now));
    return out;
}

std::string events_text(const json& hook, std::string_view name) {
    return count_text(number_in(hook, name), "event", "events");
}

Html words(const json& hook, std::string_view name) {
    const auto text = text_in(hook, name);
    return text.empty() ? Html() : verbatim(text);
}

void show_hooks(const std::shared_ptr<Page>& page) {
    page->ask({.method = "GET", .segments = {"v1", "hooks"}}, [page](const json& answer) {
        std::vector<Row> rows;
        for (const auto& each : member(answer, "hooks")) {
            const auto name = text_in(each, "hook");
            auto why = words(each, "problem");
            if (why.empty()) why = words(each, "reason");
            if (why.empty()) why = words(each, "last_answer");
            rows.push_back({link_to(Url({"hooks", name}), foreign(name)), state_of(each, page->now()),
                            count_text(number_in(each, "behind")), distance_to(text_in(each, "oldest"), page->now()),
                            count_text(number_in(each, "dead")), why});
        }
        auto content = rows.empty() ? note("No hook is configured: postrider-hook(7) describes them.")
                                    : table_of({"Hooks, to which events of the journal are sent",
                                                {"Hook", "State", "Behind#", "Waits since", "Given up#", "Last answer"},
                                                std::move(rows)});
        page->show({.title = "Hooks", .section = "hooks", .content = std::move(content), .twin = "GET /v1/hooks"});
    });
}

// Calls `then` with the hook that the path names.
void with_hook(const std::shared_ptr<Page>& page, std::function<void(const json&)> then) {
    page->ask({.method = "GET", .segments = {"v1", "hooks"}}, [page, then = std::move(then)](const json& answer) {
        for (const auto& each : member(answer, "hooks"))
            if (text_in(each, "hook") == page->call().value(0)) return then(each);
        page->fail(404, "There is no such hook.");
    });
}

Html hook_facts(const json& hook, smtp::WallTime now) {
    const auto failures = number_in(hook, "failures"), event = number_in(hook, "event");
    return facts_of({{"State", state_of(hook, now)},
                     {"Because", words(hook, "reason")},
                     {"Problem", words(hook, "problem")},
                     {"Target", words(hook, "target")},
                     {"Behind", events_text(hook, "behind")},
                     {"Sent next", event > 0 ? Html(fmt::format("event {}", event)) : Html()},
                     {"It waits since", event > 0 ? distance_to(text_in(hook, "oldest"), now) : Html()},
                     {"Last event of the journal", fmt::format("event {}", number_in(hook, "published"))},
                     {"Failures in a row", failures > 0 ? Html(count_text(failures)) : Html()},
                     {"Next attempt", failures > 0 ? distance_to(text_in(hook, "next_attempt"), now) : Html()},
                     {"Last answer", words(hook, "last_answer")},
                     {"Accepted since the start", events_text(hook, "pushed")},
                     {"Failed requests since the start", count_text(number_in(hook, "failed"))},
                     {"Given up since the start", events_text(hook, "dead")}});
}

void show_hook(const std::shared_ptr<Page>& page) {
    with_hook(page, [page](const json& hook) {
        const auto name = text_in(hook, "hook");
        auto content = hook_facts(hook, page->now());
        Html actions;
        if (page->may(Scope::admin))
            for (const auto& each : hook_operations)
                if (is_offered(each, hook)) actions += action_link(Url({"hooks", name, each.name}), each.button);
        if (!actions.empty()) content += element("div", {{"class", "actions"}}, actions);
        if (number_in(hook, "dead") > 0)
            content += note(html::join("Events that were given up: ", verbatim("postrider hook dead " + name)));
        page->show({.title = fmt::format("Hook {}", name),
                    .section = "hooks",
                    .content = std::move(content),
                    .twin = "GET /v1/hooks"});
    });
}

Html fields_of(const HookOperation& operation, const json& hook) {
    const auto event = std::to_string(number_in(hook, "event"));
    Html out;
    if (operation.name == "replay")
        out += text_field({.name = "start_at",
                           .label = "Continue with event",
                           .hint = fmt::format("From 1 to {}; {} is sent next", number_in(hook, "published") + 1,
                                               number_in(hook, "event") > 0 ? event : "what comes"),
                           .required = true});
    if (operation.name == "skip") out += hidden_field("event", event);
    if (operation.name != "test") out += text_field({.name = "why", .label = "Why"});
    return out += button(operation.button);
}

void ask_hook_operation(const std::shared_ptr<Page>& page) {
    const auto* operation = hook_operation(page->call().value(1));
    if (!operation) return page->fail(404, "There is no such operation.");
    with_hook(page, [page, operation](const json& hook) {
        const auto name = text_in(hook, "hook");
        page->show(
            {.title = fmt::format("{}: hook {}", operation->button, name),
             .section = "hooks",
             .content = html::join(facts_of({{"Effect", operation->meaning}}), hook_facts(hook, page->now()),
                                   is_offered(*operation, hook)
                                       ? page->form(Url({"hooks", name, operation->name}),
                                                    element("div", {{"class", "stacked"}}, fields_of(*operation, hook)))
                                       : warning("In this state of the hook there is nothing to do.")),
             .twin = fmt::format("POST /v1/hooks/{}/{}", name, operation->name)});
    });
}

ApiRequest order_for(const HookOperation& operation, const std::string& name, const Form& form) {
    ApiRequest request{.method = "POST", .segments = {"v1", "hooks", name, std::string(operation.name)}};
    if (operation.name == "replay") {
        const auto text = form.text("start_at");
        std::uint64_t number = 0; // which the API rejects
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{} || rest != text.data() + text.size()) number = 0;
        request.body = {{"start_at", number}, {"why", form.text("why")}};
        return request;
    }
    for (const auto* field : {"event", "why"})
        if (const auto value = form.text(field); !value.empty())
            request.parameters.emplace_back(field, std::string(value));
    return request;
}

void carry_out_on_hook(const std::shared_ptr<Page>& page, const Form& form) {
    const auto name = page->call().value(0);
    const auto* operation = hook_operation(page->call().value(1));
    if (!operation) return page->fail(404, "There is no such operation.");
    page->ask(order_for(*operation, name, form), [page, name, operation](const json& answer) {
        if (operation->name != "test") return page->go(Url({"hooks", name}));
        const bool accepted = flag_in(answer, "accepted");
        page->show({.title = fmt::format("Test of hook {}", name),
                    .section = "hooks",
                    .content = html::join(facts_of({{"Result", accepted ? marked(Mark::good, "accepted")
                                                                        : marked(Mark::bad, "not accepted")},
                                                    {"Answer", words(answer, "answer")}}),
                                          link_to(Url({"hooks", name}), "The hook")),
                    .twin = fmt::format("POST /v1/hooks/{}/test", name)});
    });
}

} // namespace

void add_hooks(PageRoutes& routes) {
    routes.get("/hooks", Scope::read, show_hooks);
    routes.get("/hooks/{name}", Scope::read, show_hook);
    routes.get("/hooks/{name}/{op}", Scope::admin, ask_hook_operation);
    routes.post("/hooks/{name}/{op}", Scope::admin, {}, carry_out_on_hook);
}

} // namespace http::pages
