// The file of a hook's cursor with any bytes, up to a NUL: what is taken for a cursor is written again as the same, and
// delivery continues from it with whatever the endpoint answers, one byte an answer; what that makes of it is a cursor,
// too.
#include "daemons/decide/hooks/hook_delivery.h"
#include "daemons/events/hooks/cursor_file.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using decide::hooks::HookProgress;

void require(bool holds) {
    if (!holds) std::abort();
}

void require_cursor(const HookProgress& progress) {
    require(events::decode_progress(events::encode(progress)) == progress);
}

// By their status; 0: none.
constexpr unsigned statuses[] = {200, 0, 401, 410, 413, 422, 429, 500, 301, 204};

void deliver(HookProgress from, std::string_view answers) {
    // If the next one is refused, too, it goes back to the event that was given up.
    const auto first = from.set_aside == 0 ? from.next : std::min(from.next, from.set_aside);
    decide::hooks::HookDelivery delivery({.batch = 4, .retries = {std::chrono::seconds(1)}}, std::move(from));
    smtp::Now now{smtp::Monotonic(std::chrono::hours(1)), smtp::WallTime(std::chrono::seconds(1'764'172'800))};
    for (const char byte : answers) {
        const auto code = static_cast<unsigned char>(byte);
        if (delivery.read_from() > events::largest_event_number - 16) return; // no journal comes that far
        for (int n = 0; n < 5 && delivery.has_room(); ++n)
            delivery.add({delivery.read_from() + code % 3, std::string(code, 'x')});
        now.monotonic += std::chrono::hours(25);
        now.wall += std::chrono::hours(25);
        if (const auto sent = delivery.begin(now.monotonic); sent > 0) {
            require(sent <= delivery.events().size());
            static_cast<void>(delivery.finish({.status = statuses[code % std::size(statuses)]}, now, code / 255.0));
        } else if (delivery.progress().state != decide::hooks::HookState::delivering) {
            delivery.resume();
        }
        if (code == 255) static_cast<void>(delivery.skip());
        require(delivery.progress().next >= first);
        require_cursor(delivery.progress());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto end = std::min(bytes.find('\0'), bytes.size());
    const auto progress = events::decode_progress(bytes.substr(0, end));
    if (!progress) return 0;
    require(progress->next > 0);
    require_cursor(*progress);
    deliver(*progress, bytes.substr(std::min(end + 1, bytes.size())));
    return 0;
}
