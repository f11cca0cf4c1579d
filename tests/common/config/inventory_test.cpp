// The settings in force: every key of the sections that there are once, and what named ones set, with line and value.
#include "daemons/common/config/inventory.h"
#include <algorithm>
#include <doctest/doctest.h>

using config::Setting;
using config::settings_in_force;

namespace {

constexpr std::string_view text = R"([queue]
connections_mx = 7
lane_weights = [9, 3, 1]

[relay]
networks = ["192.0.2.0/24",
            "2001:db8::/32"]

[log]
syslog = true

[hook.shop]
url = "https://shop.example/a/secret"
secret_file = "shop.secret"
filter = ["text=a\"b\\c"]

[route."mail.example.org"]
next_hop = [["[a.example]:25", "[b.example]:26"], "[c.example]"]

[route.".example.net"]
next_hop = "relay.example.net"
)";

const config::System machine{.hostname = "mx.test.example", .user = "postrider"};

Setting find(const std::vector<Setting>& settings, std::string_view section, std::string_view key) {
    const auto found =
        std::ranges::find_if(settings, [&](const Setting& each) { return each.section == section && each.key == key; });
    return found == settings.end() ? Setting{} : *found;
}

} // namespace

TEST_CASE("settings have their value and line") {
    const auto settings = settings_in_force(text, "/etc/postrider.toml", machine);
    const auto is = [&](std::string_view section, std::string_view key, std::string_view value, std::uint32_t line) {
        CAPTURE(section);
        CAPTURE(key);
        const auto found = find(settings, section, key);
        CHECK(found.value == value);
        CHECK(found.line == line);
    };
    is("queue", "connections_mx", "7", 2);
    is("queue", "lane_weights", "[9, 3, 1]", 3);
    is("queue", "connections_route", "100", 0);
    is("relay", "networks", R"(["192.0.2.0/24", "2001:db8::/32"])", 6);
    is("log", "syslog", "true", 10);
    is("mta", "hostname", R"("mx.test.example")", 0);
    is("hook.shop", "filter", R"(["text=a\"b\\c"])", 15);
    is(R"(route."mail.example.org")", "next_hop", R"([["[a.example]", "[b.example]:26"], "[c.example]"])", 18);
    is(R"(route.".example.net")", "next_hop", R"("relay.example.net")", 21);
}

TEST_CASE("what may be a secret is guarded, and what named sections do not set is left out") {
    const auto settings = settings_in_force(text, "/etc/postrider.toml", machine);
    CHECK(find(settings, "hook.shop", "url").guarded);
    CHECK_FALSE(find(settings, "hook.shop", "secret_file").guarded);
    CHECK_FALSE(find(settings, "queue", "connections_mx").guarded);
    CHECK(find(settings, "hook.shop", "retry").key == "");
}

TEST_CASE("a configuration that is wrong has no settings in force") {
    CHECK(settings_in_force("[queue]\nconnections_mx = 0\n", "x", machine).empty());
    CHECK(settings_in_force("[", "x", machine).empty());
    CHECK_FALSE(settings_in_force("", "x", machine).empty());
}
