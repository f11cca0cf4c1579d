#include "daemons/http/pages/parts/period.h"
#include "daemons/http/pages/parts/members.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;

namespace {

constexpr Period periods[] = {{"1h", "Last hour"}, {"1d", "Last day"}, {"7d", "Last 7 days"}};

} // namespace

const Period& period_named(std::string_view since) {
    const auto found = std::ranges::find(periods, since, &Period::since);
    return found == std::end(periods) ? periods[1] : *found;
}

Html period_choice(std::string_view path, const Period& chosen) {
    Html out;
    for (const auto& each : periods) {
        const Url where({path}, {{"since", std::string(each.since)}});
        out += each.since == chosen.since ? element("a", {{"href", where}, {"aria-current", "true"}}, each.title)
                                          : link_to(where, each.title);
    }
    return element("nav", {{"class", "pager"}, {"aria-label", "Time"}}, out);
}

std::string_view counting_time(bool patient) { return patient ? "60" : "5"; }

Html count_notice(std::string_view path, const Period& chosen, const nlohmann::json& counted, bool patient) {
    Html out;
    if (const auto damaged = number_in(counted, "damaged"); damaged > 0)
        out += warning(
            count_text(damaged, "place in the journal cannot be read.", "places in the journal cannot be read."));
    if (flag_in(counted, "complete")) return out;
    const auto from = text_in(counted, "counted_from");
    auto text = from.empty() ? Html("Nothing could be counted in this time.")
                             : html::join("There is too much for a quick look: only what has happened since ",
                                          time_of(from), " is counted.");
    if (!patient)
        text += html::join(" ", link_to(Url({path}, {{"since", std::string(chosen.since)}, {"patient", "yes"}}),
                                        "Count for a minute"));
    return out += warning(text);
}

} // namespace http::pages
