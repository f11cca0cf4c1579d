// The operations of run/hooks, on hooks and on the journal's files, served by the events process to root and to members
// of mta.admin_group. Framed as those of run/control (control.h), with the same codes of errors. Knows no JSON library.
#pragma once
#include <string_view>

namespace proto::hook_control {

namespace op {

// A line per hook: "hook", "target" (address or command), "state" (starting, delivering, failing, paused, off),
// "reason" (of paused and off), "next" (number of the first event that is not accounted for), "published" (of the last
// one in the journal), "behind" (how many numbers that is), "event" (number of the event that is sent next; 0: none
// waits), "oldest" (its time; ""), "failures" (in a row), "failing_since" (seconds since 1970), "next_attempt" (seconds
// from now; 0: none waits), "last_answer", "problem", and since the process began: "pushed", "failed" (requests),
// "dead" (events given up).
inline constexpr std::string_view list = "hooks";

// Erasing an address: what is asked for is on stable storage before "done", and is done after that. "address",
// "through": number of the last event that is concerned.
inline constexpr std::string_view erase = "erase";
// "address". One line: "known" (asked for and not finished, or finished since the process began), "finished", and so
// far: "events", "segments" (erased, and from how many), "given_up" (events that hooks had given up).
inline constexpr std::string_view erasure = "erasure";

// All others: "hook", its name; "why", for the log, may be missing.

// Sends an event hook.test, whatever the hook's state. One line: "accepted", "answer" (status and first line).
inline constexpr std::string_view test = "hook-test";
inline constexpr std::string_view pause = "hook-pause";
inline constexpr std::string_view resume = "hook-resume";
// Gives up the event that is sent next, or with "all" (true) everything in the journal. "event", if it is there: only
// this one, if it still is the next. One line: "skipped" (the event's number; with "all": how many numbers).
inline constexpr std::string_view skip = "hook-skip";
// "start_at": continues with that event.
inline constexpr std::string_view replay = "hook-replay";

} // namespace op

} // namespace proto::hook_control
