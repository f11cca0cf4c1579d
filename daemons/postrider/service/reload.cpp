// reload: asks the queue-manager what the changed configuration would do to queued mail, then tells master to take it
// over. If the queue-manager does not answer, the reload continues with a warning: it may fix the problem.
#include "daemons/postrider/service/reload.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>

namespace postrider {

using nlohmann::json;

namespace {

constexpr std::size_t most_rows = 50; // of queues, for a person
constexpr std::string_view effects[] = {"returned",    "rerouted",     "limited",
                                        "rescheduled", "stricter_tls", "other_source"};
constexpr std::string_view effect_texts[] = {"would be returned to the sender", "would be rerouted",
                                             "would get stricter limits",       "would be retried at other times",
                                             "would require stricter TLS",      "would be sent from other addresses"};

struct ReloadPreview {
    std::vector<json> rows; // the fullest queue first
    json totals = json::object();
    std::int64_t limit = 0;
    std::int64_t moved_or_returned() const { return number_of(totals, "returned") + number_of(totals, "rerouted"); }
};

spool::Result<ReloadPreview> fetch_preview(const config::Config& config) {
    const auto text = config::read_text(config.file);
    if (!text) return std::unexpected(spool::Error{0, text.error().to_string()});
    auto queue = TRY(connect_control(config.spool, "control"));
    ReloadPreview out;
    TRY(queue.ask({{"op", proto::control::op::reload_effects}, {"configuration", *text}, {"file", config.file}},
                  [&](const json& line) {
                      if (!line.contains("totals")) return out.rows.push_back(line);
                      out.totals = line["totals"];
                      out.limit = number_of(line, "limit");
                  }));
    std::ranges::stable_sort(out.rows, std::ranges::greater{},
                             [](const json& row) { return number_of(row, "messages"); });
    return out;
}

std::string summary(const ReloadPreview& preview) {
    std::string out;
    for (std::size_t n = 0; n < std::size(effects); ++n)
        if (const auto count = number_of(preview.totals, std::string(effects[n]).c_str()); count > 0)
            out += fmt::format("{} {}\n", count_text(count, "queued message"), effect_texts[n]);
    return out;
}

void print(const ReloadPreview& preview) {
    fmt::print("{}", preview.rows.empty() ? "queued mail would not be affected\n" : summary(preview));
    Table table({"Effect", ">Messages", "Queue", "Link now", "How"});
    for (const auto& row : std::span(preview.rows).first(std::min(most_rows, preview.rows.size())))
        table.row({text_of(row, "effect"), std::to_string(number_of(row, "messages")), text_of(row, "queue"),
                   text_of(row, "link"), text_of(row, "detail")});
    if (!table.empty()) fmt::print("\n{}", table.text(terminal_width()));
    if (preview.rows.size() > most_rows)
        fmt::print("  and {} more; --json has all of them\n",
                   count_text(static_cast<std::int64_t>(preview.rows.size() - most_rows), "line"));
}

} // namespace

int reload(const Arguments& arguments) {
    const auto config = load_config(arguments);
    if (!config) return fail(bad_config, "nothing was changed: the configuration is invalid");
    const bool dry = arguments.has("--dry-run");
    if (dry || !arguments.has("--force")) {
        const auto preview = fetch_preview(*config);
        if (!preview && is_not_running(preview.error())) return report_socket_error(preview.error(), config->mta);
        if (!preview && dry) return fail(unavailable, preview.error().what);
        if (!preview)
            print_error(fmt::format("warning: the effect on queued mail is not known: {}", preview.error().what));
        if (dry && arguments.json) {
            for (const auto& row : preview->rows) print_json(row);
            print_json({{"totals", preview->totals}, {"limit", preview->limit}});
            return ok;
        }
        if (dry) {
            print(*preview);
            return ok;
        }
        if (preview && preview->limit > 0 && preview->moved_or_returned() > preview->limit) {
            print_error(fmt::format(
                "nothing was changed. With this configuration\n{}This is more than master.reload_limit ({}) "
                "allows. \"postrider reload --dry-run\" shows the details; --force reloads anyway",
                summary(*preview), preview->limit));
            return usage;
        }
    }
    auto master = connect_control(config->spool, "master");
    if (!master) return report_socket_error(master.error(), config->mta);
    std::uint64_t generation = 0;
    const auto done = master->ask(
        {{"op", "reload"}}, [&](const json& line) { generation = line.value("generation", generation); }, 60);
    if (!done) return fail(bad_config, "nothing was changed: " + done.error().what);
    fmt::print("postrider has applied the configuration (generation {})\n", generation);
    return ok;
}

} // namespace postrider
