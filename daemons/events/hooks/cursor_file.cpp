#include "daemons/events/hooks/cursor_file.h"
#include "libspool/disk/durable_file.h"
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace events {

using decide::hooks::HookProgress;
using decide::hooks::HookState;
using nlohmann::json;
using spool::Result;

namespace {

constexpr std::uint64_t version = 1;
constexpr std::size_t largest = 64 * 1024;
constexpr std::string_view state_names[] = {"delivering", "paused", "off"};

std::string file_of(const std::string& hook) { return std::string(cursors_directory) + "/" + hook; }

constexpr std::uint64_t last_second = 253'402'300'799; // of the year 9999

// 0 if it is missing. Nothing: it is no such number.
std::optional<std::uint64_t> number_of(const json& from, const char* name, std::uint64_t largest_value) {
    const auto found = from.find(name);
    if (found == from.end()) return 0;
    if (!found->is_number_unsigned()) return {};
    const auto value = found->get<std::uint64_t>();
    return value <= largest_value ? std::optional(value) : std::nullopt;
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
    if (!from.is_object() || number_of(from, "v", version) != version || !text.ends_with('\n')) return {};
    constexpr std::uint64_t most_attempts = std::numeric_limits<unsigned>::max() / 2;
    const auto next = number_of(from, "next", largest_event_number),
               through = number_of(from, "through", largest_event_number),
               failures = number_of(from, "failures", most_attempts),
               failing_since = number_of(from, "failing_since", last_second),
               refusals = number_of(from, "refusals", most_attempts),
               set_aside = number_of(from, "set_aside", largest_event_number);
    if (!next || !through || !failures || !failing_since || !refusals || !set_aside) return {};
    HookProgress out;
    out.next = *next;
    out.through = *through;
    out.failures = static_cast<unsigned>(*failures);
    out.failing_since = static_cast<std::int64_t>(*failing_since);
    out.refusals = static_cast<unsigned>(*refusals);
    out.set_aside = *set_aside;
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
    return spool::replace_durably(disk, file_of(hook), encode(progress));
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
