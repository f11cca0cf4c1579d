#include "daemons/postrider/service/fleet.h"
#include "daemons/common/proto/fleet_control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace postrider {

using nlohmann::json;
namespace op = proto::fleet_control::op;

namespace {

// -1: not known.
std::string count_or_dash(const json& line, const char* key) {
    const auto number = number_of(line, key);
    return number < 0 ? "-" : fmt::format("{}", number);
}

std::string yes_or_no(const json& line, const char* key) { return flag_of(line, key) ? "yes" : "no"; }

std::string store_text(const json& store) {
    const auto state = text_of(store, "state"), version = text_of(store, "version"), error = text_of(store, "error");
    auto out = fmt::format("{}: {}", text_of(store, "store"), state);
    if (const auto since = number_of(store, "since"); since > 0)
        out += fmt::format(" for {}", duration_text(std::max<std::int64_t>(std::time(nullptr) - since, 0)));
    if (!version.empty()) out += fmt::format(", version {}", version);
    if (!error.empty()) out += ": " + error;
    return out;
}

void print_page(const json& store, const std::vector<json>& nodes) {
    fmt::print("{:<12}{}\n", "Store", store_text(store));
    if (const auto effect = text_of(store, "effect"); !effect.empty()) fmt::print("{:<12}{}\n", "", effect);
    const auto present =
        std::ranges::count_if(nodes, [](const auto& each) { return text_of(each, "state") == "present"; });
    const auto expected = number_of(store, "expected_nodes");
    fmt::print("{:<12}{} present{}; this is {}\n", "Nodes", present,
               expected > 0 ? fmt::format(" of {}", expected) : "", text_of(store, "node"));
    Table table(
        {"Node", "State", ">Seen", "Version", ">Messages", "Accepting", "Delivering", ">Lag", ">Waiting", ">Clock"});
    for (const auto& node : nodes)
        table.row({text_of(node, "node"), text_of(node, "state"),
                   fmt::format("{} ago", duration_text(number_of(node, "seen"))), text_of(node, "version"),
                   count_or_dash(node, "messages"), yes_or_no(node, "accepting"), yes_or_no(node, "delivering"),
                   count_or_dash(node, "lag"), count_or_dash(node, "waiting"),
                   fmt::format("{:+} ms", number_of(node, "clock_ms"))});
    if (!table.empty()) fmt::print("\n{}", table.text(terminal_width(), "  "));
}

} // namespace

int show_fleet(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto fleet = connect_control(config->spool, "fleet");
    if (!fleet && is_not_running(fleet.error()) && connect_control(config->spool, "master"))
        return fail(unavailable, "no fleet process is running: set fleet.store, or see \"postrider status\" for why it "
                                 "was not started");
    if (!fleet) return report_socket_error(fleet.error(), config->mta);
    json store;
    std::vector<json> nodes;
    const auto done = fleet->ask({{"op", op::nodes}}, [&](const json& line) {
        if (store.is_null())
            store = line;
        else
            nodes.push_back(line);
    });
    if (!done && fleet->refusal().empty()) return report_socket_error(done.error(), config->mta);
    if (!done) return fail(unavailable, done.error().what);
    if (!arguments.json) {
        print_page(store, nodes);
        return ok;
    }
    store["nodes"] = nodes;
    print_json(store);
    return ok;
}

} // namespace postrider
