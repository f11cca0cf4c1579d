#include "daemons/events/hooks/cursor_file.h"
#include <array>
#include <nlohmann/json.hpp>

namespace events {

using decide::hooks::HookProgress;
using decide::hooks::HookState;
using nlohmann::json;
using spool::Result;

namespace {

constexpr int version = 1;
constexpr std::size_t largest = 64 * 1024;
constexpr std::string_view state_names[] = {"delivering", "paused", "off"};

std::string file_of(const std::string& hook) { return std::string(cursors_directory) + "/" + hook; }

template <class T> T number_of(const json& from, const char* name) {
    const auto found = from.find(name);
    return found != from.end() && found->is_number_integer() ? found->get<T>() : T{};
}

} // namespace

std::string encode(const HookProgress& progress) {
    json out = {{"v", version},
                {"next", progress.next},
                {"through", progress.through},
                {"state", state_names[static_cast<std::size_t>(progress.state)]},
                {"reason", progress.reason},
                {"failures", progress.failures},
                {"failing_since", progress.failing_since},
                {"refusals", progress.refusals},
                {"set_aside", progress.set_aside}};
    return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<HookProgress> decode_progress(std::string_view text) {
    const auto from = json::parse(text, nullptr, false);
    if (!from.is_object() || number_of<int>(from, "v") != version || !text.ends_with('\n')) return {};
    HookProgress out;
    out.next = number_of<std::uint64_t>(from, "next");
    out.through = number_of<std::uint64_t>(from, "through");
    out.failures = number_of<unsigned>(from, "failures");
    out.failing_since = number_of<std::int64_t>(from, "failing_since");
    out.refusals = number_of<unsigned>(from, "refusals");
    out.set_aside = number_of<std::uint64_t>(from, "set_aside");
    const auto state = from.find("state"), reason = from.find("reason");
    if (out.next == 0 || state == from.end() || !state->is_string()) return {};
    const auto* known = std::ranges::find(state_names, state->get<std::string>());
    if (known == std::end(state_names)) return {};
    out.state = static_cast<HookState>(known - std::begin(state_names));
    if (reason != from.end() && reason->is_string()) out.reason = reason->get<std::string>();
    return out;
}

Result<> save_progress(spool::Disk& disk, const std::string& hook, const HookProgress& progress) {
    TRY(disk.make_directory(cursors_directory, 0700));
    const auto path = file_of(hook), fresh = path + ".new";
    const auto text = encode(progress);
    const std::string_view whole = text;
    {
        const auto file = TRY(disk.open(fresh, spool::Open::upsert));
        TRY(disk.truncate(file, 0));
        TRY(disk.write(file, 0, {&whole, 1}));
        TRY(disk.sync(file));
    }
    TRY(disk.rename(fresh, path));
    return disk.sync(TRY(disk.open(cursors_directory, spool::Open::directory)));
}

Result<LoadedProgress> load_progress(spool::Disk& disk, const std::string& hook) {
    const auto file = disk.open(file_of(hook), spool::Open::read);
    if (!file && file.error().code == ENOENT) return LoadedProgress{};
    if (!file) return std::unexpected(file.error());
    std::string text(largest, '\0');
    text.resize(TRY(disk.read(*file, 0, text)));
    auto progress = decode_progress(text);
    const bool damaged = !progress;
    return LoadedProgress{std::move(progress), damaged};
}

} // namespace events
