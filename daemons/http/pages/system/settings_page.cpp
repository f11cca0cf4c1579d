#include "daemons/http/pages/system/settings_page.h"
#include "daemons/http/pages/parts/fields.h"
#include "daemons/http/pages/parts/marks.h"
#include "daemons/http/pages/parts/members.h"
#include "daemons/http/pages/parts/parts.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace http::pages {

using html::element;
using html::Html;
using html::Url;
using nlohmann::json;

namespace {

constexpr std::chrono::hours near_expiry(30 * 24), too_near_expiry(7 * 24);

// Which settings are shown.
struct Choice {
    std::string section, shown, from; // "": all; "set" or "all"; the first one's number
    bool all() const { return shown == "all" || !section.empty(); }
};

Html expiry_cell(std::string_view expires, smtp::WallTime now) {
    const auto time = smtp::parse_rfc3339(expires);
    if (!time) return "–";
    const auto left = *time - now;
    auto out = html::join(distance_to(expires, now), " ");
    if (left <= smtp::Duration::zero()) return out += marked(Mark::bad, "expired");
    if (left < too_near_expiry) return out += marked(Mark::bad, "renew it now");
    return out += left < near_expiry ? marked(Mark::near, "renew it soon") : marked(Mark::good, "good");
}

Html certificates_of(const json& answer, smtp::WallTime now) {
    std::vector<Row> rows;
    for (const auto& each : member(answer, "certificates"))
        rows.push_back({foreign(text_in(each, "subject")), text_in(each, "use"),
                        expiry_cell(text_in(each, "expires"), now), foreign(text_in(each, "file"))});
    auto out = heading("Certificates");
    if (rows.empty()) return out += note("No certificate is configured: there is no TLS for clients.");
    return out += table_of({"Certificates and their chains", {"Subject", "Use", "Expires", "File"}, std::move(rows)});
}

Html value_of(const json& setting) {
    if (flag_in(setting, "hidden")) return "hidden: it may be a secret";
    return verbatim(text_in(setting, "value"));
}

Row setting_row(const json& setting) {
    const auto section = text_in(setting, "section");
    return {foreign(fmt::format("{}.{}", section, text_in(setting, "key"))), value_of(setting),
            foreign(text_in(setting, "origin"))};
}

Html settings_choice(const Choice& choice, const json& all) {
    std::vector<std::string> names; // in their order
    std::set<std::string> known;
    for (const auto& each : member(all, "settings"))
        if (auto name = text_in(each, "section"); known.insert(name).second) names.push_back(std::move(name));
    constexpr std::size_t most_sections = 500; // in the list
    if (names.size() > most_sections) names.resize(most_sections);
    std::vector<std::pair<std::string_view, std::string_view>> sections = {{"", "all sections"}};
    for (const auto& name : names) sections.emplace_back(name, name);
    return element(
        "form", {{"method", "get"}, {"action", Url({"settings"})}, {"class", "line"}},
        choice_of("section", "Section", sections, choice.section),
        choice_of("shown", "Settings", {{"set", "that the file sets"}, {"all", "all, with defaults"}}, choice.shown),
        button("Show"));
}

Html settings_table(const Choice& choice, const json& all) {
    std::vector<const json*> shown;
    for (const auto& each : member(all, "settings"))
        if ((choice.section.empty() || text_in(each, "section") == choice.section) &&
            (choice.all() || !member(each, "line").is_null()))
            shown.push_back(&each);
    if (shown.empty()) return note("The file sets nothing here: all has its default.");
    constexpr std::size_t length = 100; // of a page
    std::size_t begin = 0;
    std::from_chars(choice.from.data(), choice.from.data() + choice.from.size(), begin);
    begin = std::min(begin, shown.size());
    const auto end = std::min(begin + length, shown.size());
    std::vector<Row> rows;
    for (auto i = begin; i < end; ++i) rows.push_back(setting_row(*shown[i]));
    const Url::Parameters same = {{"section", choice.section}, {"shown", choice.shown}};
    std::optional<Url> first, next;
    if (begin > 0) first = Url({"settings"}, same);
    if (end < shown.size()) {
        auto further = same;
        further.emplace_back("from", std::to_string(end));
        next = Url({"settings"}, further);
    }
    return html::join(table_of({"Settings in force", {"Setting", "Value", "From"}, std::move(rows)}),
                      pager(first, next));
}

void show_settings(const std::shared_ptr<Page>& page) {
    page->ask({.method = "GET", .segments = {"v1", "settings"}}, [page](const json& all) {
        const Choice choice{page->parameter("section"), page->parameter("shown"), page->parameter("from")};
        page->show(
            {.title = "Settings in force",
             .section = "settings",
             .content = html::join(
                 note(html::join("Of ", foreign(text_in(all, "file")),
                                 ", as it was last applied. Nothing can be changed here. Keys of named sections that "
                                 "the file does not set have the defaults of postrider.toml(5).")),
                 certificates_of(all, page->now()), heading("Settings"), settings_choice(choice, all),
                 settings_table(choice, all)),
             .twin = "GET /v1/settings"});
    });
}

} // namespace

void add_settings(PageRoutes& routes) { routes.get("/settings", tokens::Scope::read, show_settings); }

} // namespace http::pages
