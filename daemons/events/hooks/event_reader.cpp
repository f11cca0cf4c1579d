#include "daemons/events/hooks/event_reader.h"
#include "libspool/journal/json_object.h"
#include <algorithm>

namespace events {

using spool::Result;

namespace {

constexpr const char* here = ".";         // the journal's directory, as its disk sees it
constexpr unsigned blocks_at_a_time = 16; // then other work on the same thread has its turn
constexpr std::size_t most_damage = 20;   // reported of one piece

} // namespace

void EventReader::add_gap(ReadEvents& into, std::uint64_t from, std::uint64_t to, const std::string& time,
                          const char* why) const {
    decide::hooks::HookEvent event{to, {}};
    spool::journal::JsonObject object(event.line);
    object.number("v", spool::journal_version);
    object.number("seq", to);
    object.text("node", node_);
    object.text("time", time);
    object.text("type", "hook.gap");
    object.number("from", from);
    object.number("to", to);
    object.text("why", why);
    object.close();
    into.events.push_back(std::move(event));
    into.gap += to - from + 1;
}

Result<ReadEvents> EventReader::read(std::uint64_t from, std::uint64_t through, const std::string& time) {
    ReadEvents out;
    if (from > through) return out;
    const auto segments = TRY(spool::list_segments(disk_, here));
    if (segments.empty()) return out;
    if (const auto first = segments.front().first; first > from) {
        const auto to = std::min(first - 1, through);
        add_gap(out, from, to, time, "the journal no longer has these events");
        out.through = to;
        cursor_.reset();
        return out;
    }
    if (!cursor_ || cursor_->next() != from) {
        cursor_.emplace(disk_, here, from);
        damaged_ = false;
    }
    auto expected = from; // number of the next line, if none is missing
    for (unsigned i = 0; i < blocks_at_a_time && out.events.empty(); ++i) {
        const bool more = TRY(cursor_->read(
            through,
            [&](const spool::JournalLine& line) {
                if (std::exchange(damaged_, false) && line.number > expected)
                    add_gap(out, expected, line.number - 1, time, "this part of the journal is damaged");
                expected = line.number + 1;
                if (selection_.selects(line)) out.events.push_back({line.number, std::string(line.text)});
            },
            [&](const spool::Damage& damage) {
                damaged_ = true;
                if (out.damage.size() < most_damage) out.damage.push_back(damage);
            }));
        if (cursor_->next() > from) out.through = std::max(out.through, cursor_->next() - 1);
        if (!more) break;
    }
    return out;
}

} // namespace events
