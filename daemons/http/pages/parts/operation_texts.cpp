#include "daemons/http/pages/parts/operation_texts.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/parts.h"
#include <algorithm>

namespace http::pages {

using html::Html;
using tokens::Scope;

namespace {

constexpr OperationText operation_texts[] = {
    {"force", Scope::operate, "Retry now", "Due deliveries are tried at once, regardless of the retry schedule."},
    {"hold", Scope::operate, "Hold", "Nothing is delivered until it is released."},
    {"release", Scope::operate, "Release", "What is held is delivered again."},
    {"requeue", Scope::operate, "Resolve again", "Recipients that are not finished are resolved again."},
    {"expire", Scope::remove, "Return to sender",
     "Recipients that are not finished expire now, and the sender gets a report."},
    {"remove", Scope::remove, "Remove",
     "It leaves the queue without a report to the sender. \"postrider message restore\" can undo this for a while."},
    {"force", Scope::operate, "Retry now", "Its mail is tried at once, regardless of the retry schedule.", true},
    {"pause", Scope::operate, "Pause", "Nothing is delivered there until it is resumed, also after a restart.", true},
    {"resume", Scope::operate, "Resume", "Delivery continues.", true},
};

const OperationText* operation_named(std::string_view name, bool of_places) {
    const auto found = std::ranges::find_if(
        operation_texts, [&](const auto& each) { return each.name == name && each.of_places == of_places; });
    return found == std::end(operation_texts) ? nullptr : found;
}

} // namespace

std::span<const OperationText> all_operations() { return operation_texts; }

const OperationText* message_operation(std::string_view name) { return operation_named(name, false); }

const OperationText* place_operation(std::string_view name) { return operation_named(name, true); }

Html result_of(const nlohmann::json& counts) {
    const auto count = [&](std::string_view name) -> Html {
        const auto number = number_in(counts, name);
        return number > 0 ? Html(count_text(number, "message", "messages")) : Html();
    };
    const bool dry = flag_in(counts, "dry_run");
    return facts_of({{"Selected", count_text(number_in(counts, "matched"), "message", "messages")},
                     {"Would be changed", dry ? Html(count_text(number_in(counts, "would_change"))) : Html()},
                     {"Changed", dry ? Html() : Html(count_text(number_in(counts, "changed")))},
                     {"Unchanged: already so, or gone", count("skipped")},
                     {"Being delivered: may still arrive", count("in_flight")},
                     {"Still waiting: paused", count("still_paused")}});
}

} // namespace http::pages
