// The operations of run/control, served by the queue-manager to root and to members of mta.admin_group
// (common/operators.h), whose tool is `postrider`. Lines of JSON as framed by ipc/json_lines.h; here are the names.
// Knows no JSON library.
//
// A request: {"version":1,"op":…, fields}. The answer: lines as described below, then {"done":true}, or
// {"done":true,"error":"in plain words","code":one of `code`} and nothing was changed.
// Times are whole seconds since 1970, 0 when there is none; durations whole seconds. An unset
// field is "" or 0, never missing. More fields may be added: ignore unknown ones.
//
// The objects of an operation: messages by "ids": ["4F0D…", …] or by "filter": [words]. A filter's words must
// all hold, several of one key are alternatives; * and ? are wildcards; case does not matter
// (daemons/decide/queue/filter.h):
//   sender=PATTERN ("<>": the null one)  recipient=PATTERN  domain=PATTERN  link=PATTERN  id=PATTERN
//   age=+2h (at least), age=-10m (at most)   size=+1M, size=-10K
//   submitter=PATTERN  pool=PATTERN  policy=PATTERN  message-id=PATTERN  subject=TEXT (somewhere in it)
//   state=new|scheduled|held|paused|routing|retrying|due|active|report   lane=high|normal|bulk
//   reason=TEXT (in the reason it waits)   all (every message)
#pragma once
#include <string_view>

namespace proto::control {

namespace op {

// ---- looking ----

// One line: "messages", "loading", "accepting", "accepting_reason", "delivering", "delivering_reason",
// "rates": {"in","out"} messages a second over the last minute, "oldest": {"id","arrival"},
// "states": {"new","scheduled","held","paused","routing","retrying","due","active","report"} deliveries
// ("held": messages),
// "drain_seconds" (-1: nothing leaves), "connections", "services": {name: present},
// "links": [at most 20 as `links` says, most overdue first], "other_links": {"links","due","waiting","deliveries"} (the
// sum of the others that have mail waiting), "unrouted": mail that waits where there is no link,
// [at most 20 {"gate" (route, categorizer, report),"queue" (route: whose next hop it is),"deliveries","failures",
// "failing_since","next_attempt","last_error","last_error_status","waiting_for"}], "pauses":
// [{"scope","name","by","reason","since"}], "problems": [text],
// "retained": [{"directory","messages","bytes","deleted"}] (kept for a while: bad/, quarantine/, removed/, failed/).
inline constexpr std::string_view status = "status";

// One line, of the last hour, or since the queue-manager started: "changes": [{"time","type","name","who","why",
// "count"}], the latest first: links, pauses, the configuration, routes, the suppression list (types as in the
// journal), and started, problem.appeared, problem.gone ("name": its text); those of one type, name and person are one,
// with the time of the last. At most 100; "left_out": how many earlier ones are not listed. "in", "out": messages
// accepted, and messages that have left the queue, by minute, the oldest first, the last one of the minute that has
// begun.
inline constexpr std::string_view recent = "recent";

// "configuration" (its text), and its "file": what it would do to queued mail, compared with the one in force. A line
// for each queue and effect: "effect" (returned, rerouted, limited, rescheduled, stricter_tls, other_source), "queue",
// "link" (now), "messages", "detail"; then one: "totals": {effect: messages}, "limit" (master.reload_limit in force;
// 0: none).
inline constexpr std::string_view reload_effects = "reload-effects";

// "limit" (0: none); with it, those with the most deliveries first, and "after": {"deliveries","link"} (the list
// continues behind that place). A line per link: "link", "kind" (mx, configured, local), "pool" (of source addresses),
// "backing_off":
// [{"source","until","reason"}] (addresses of it that the site rejected, or mail from which), "state" (ready, glitch,
// retry, down), "paused", "failures" (in a row), "failing_since", "next_attempt", "last_error", "last_error_status",
// "connections", "window", "limit", "at_address_limit" (waits for room at an address), "addresses":
// [{"address","connections" (of all links),"this_link" (of this one),"limit"}], "queues", "deliveries", "due",
// "in_flight", "waiting" (for their own time), "waiting_for", "waiting_for_status" (of the last of these that was
// deferred), "oldest" (arrival of its oldest message, 0 in `status`), "transaction_ms", "idle_reason" (why nothing is
// happening; "" when something is).
inline constexpr std::string_view links = "links";
// "link": name; "limit", "after" as in `queues`, for its queues. Its line as above and "history" (failed tries, as
// "link_failures" below) and "limits": [{"name","value","setting" (key of the configuration that it comes from)}], then
// a line per queue of it as below.
inline constexpr std::string_view link = "link";

// "limit" (0: none); with it, those with the most deliveries first, and "after": {"deliveries","queue"}. A line per
// queue: "queue", "link", "pool", "state" (ready, glitch, retry, routing), "paused", "failures",
// "failing_since", "next_attempt", "last_error", "last_error_status", "link_failing" (the state and the failures are
// its link's), "deliveries", "due", "in_flight", "problem_messages", "oldest", "idle_reason".
inline constexpr std::string_view queues = "queues";
// "queue": name.
inline constexpr std::string_view queue = "queue";

// "filter" or "ids" (neither: all), "limit" (0: none), "count" (true: only their number), "sort" (oldest, newest,
// largest, next), "after_id" (continue after this message), "recipients" (at most that many of each message; unset:
// all). "effort" (that it may take: 1 for a message that is visited, 10 for one whose file is read; unset: any; if
// others could follow, the last line is {"continue_after": id}). A line per message: "id", "state" (the first of its
// deliveries'), "arrival", "expiry", "size", "lane", "sender", "recipients_total", "recipients":
// [{"address","original","state", "queue","link","failures","next_attempt","reason","since" (since when the reason
// applies; 0: not known), "waiting_for" (besides the reason, what it waits for, in plain words)}].
inline constexpr std::string_view messages = "messages";
// "id"; of its recipients: "from" (this number on; 0), "limit" (at most 2000, as without it). One line: as above, and
// "recipients_next" (where the rest begins; 0: there is none), "location", "client", "helo", "protocol", "submitter",
// "envelope_id", "policy", "policy_values" (as recorded, in plain words), "problem_message", "held_by", "held_reason",
// "rerouted_to", and for each recipient also "tries", "in_doubt",
// "attempts": [{"first","last","count","host","outcome","stage","code","status","text","in_doubt","tls","source"}],
// "link_failures": [{"time","phase" (connecting, session),"status","text"}] since it came: of its link, not of itself,
// "advice" (what to do about what it waits for, or "").
inline constexpr std::string_view message = "message";
// "id", "offset" (0). One line: "content" (in Base64: what is there from the offset on, at most 256 KiB), "size" (of
// all of it). For offset 0 all of it is verified first. Also of failed mail that is kept (history.keep_failed).
inline constexpr std::string_view content = "content";
// "id", "from" and "limit" as above. A line per recipient that is not finished: "id", "number" (among all), "address",
// "queue", "link", "gates": [{"gate","open","text","origin","by",
// "since","until","advice"}] in order (schedule, hold, pause, categorizer, suppression, route, link, queue, retry,
// rate, window, turn; or report alone), "blocked_by" (the gate; "" when it is in flight), "next_attempt", "backing_off"
// (as of its link). "origin": where the gate comes from (configuration key, command, remote reply).
inline constexpr std::string_view explain = "explain";

// "address" in place of "id": where mail for it would go: a line per final recipient: "address", "disposition" (remote,
// local, discard, failed, deferred), "user" (local), "status" and "text" (failed, deferred, or of a route that leads
// nowhere), and for a remote one "queue", "kind" (mx, configured, temporary, permanent), "link", "link_state" ("" as
// long as no mail is for it), "paused", "last_error", "hosts": [{"name","port","preference"}]. Other hosts get no
// requests but name lookups.

// "address"; "from" (""), "host" ("" or one as in [route], without an MX lookup: instead of the route's),
// "every_host" (false), "dialogue" (false). Goes the way a message would, as far as RCPT, and streams a line per step
// as it comes: "at_us" (µs since it was asked for), "step" (categorize, route, queue, addresses, connect, greeting,
// ehlo, starttls, tls, auth, mail, rcpt; with "dialogue" also client and server: lines said and heard; at last result),
// "finding" (good, notice, temporary, permanent), "host", "recipient", "code", "status", "text", "advice" (what to
// do), "rule" (of a route: the pattern of the [route] that decides). No message, link or counter is touched.
inline constexpr std::string_view attempt = "try";

// "address"; "action" ("" or forget). Whether the address is deliverable, as the access rules that verify addresses see
// it: from memory, else after a check, which may take two minutes. One line: "address", "result" (unknown, deliverable,
// undeliverable, unreachable), "text" and "host" (what was said, and who said it), "checked" and "expires" (0: it is
// not remembered), "doubted" (the last check was rejected, the next one decides). Forget: "address", "forgotten"
// (false: it was not remembered).
inline constexpr std::string_view verify = "verify";

// "filter" (decide::SuppressionFilter; none: all), "limit" (0: none), "after": {"recipient","sender","pool","lane"}
// (continue behind the entry of that name). A line per entry of the suppression list:
// "recipient" ("ann@example.org", "@example.org"), "sender" (a domain; "" all), "pool", "lane", "reason", "reply",
// "added_by", "automatic", "added", "expires" (0: never).
inline constexpr std::string_view suppressions = "suppressions";
// "address" (or a domain), "sender", "pool", "lane" (""). The entry that covers it, as above; no line: none does.
inline constexpr std::string_view suppressed = "suppressed";

// ---- changing: durable before "done"; "reason" is kept and shown beside who asked (the peer's user name) ----

// "scope": everything, link, queue, pool; "name" ("" for everything); "reason". A link must have mail or a [route] that
// leads there, a pool must have mail or be configured; a queue may be any domain, and @ a pool. One line: "scope",
// "name", "has_mail" (false: none is there now).
inline constexpr std::string_view pause = "pause";
inline constexpr std::string_view resume = "resume";

// "ids", or "all" (true): what `remove` took is delivered after all, as long as it is there (spool.removed_age). One
// line: "matched", "changed", "skipped".
inline constexpr std::string_view restore = "restore";

// "ids": what is kept of failed mail (history.keep_failed) is removed. One line: "removed".
inline constexpr std::string_view forget = "forget";
// The journal's events so far end a segment; an event says that some of them are to be erased, and who asks. One line:
// "through", the number of the last one.
inline constexpr std::string_view end_segment = "end-segment";

// The others take "ids" or "filter", "reason", "dry_run"; they answer one line: "matched", "changed" (0 in a dry
// run), "would_change", "skipped" (already so, or gone meanwhile), "in_flight" (of these: to be removed, being
// delivered, and past stopping), "still_paused" (of force: what a pause keeps nevertheless), "dry_run". force takes
// "scope" and "name" instead, if given; it answers "has_mail" (true) and "paused_by" (the pause that keeps all of it,
// by whom and why; "" none).
inline constexpr std::string_view force = "force";
inline constexpr std::string_view hold = "hold";
inline constexpr std::string_view release = "release";
inline constexpr std::string_view remove =
    "remove"; // without a report to the sender; "permanently" (false): not for restore
inline constexpr std::string_view expire =
    "expire"; // the sender is notified; "after": seconds, its lifetime instead of now
inline constexpr std::string_view reroute = "reroute";           // "to": a next hop as in [route], "" back
inline constexpr std::string_view reprioritise = "reprioritise"; // "lane"
// "at": when it is to be sent, at most 90 days from now; 0 or past: now. Also answers "not_changed": [{"id","why"}], at
// most 20 of those skipped.
inline constexpr std::string_view schedule = "schedule";
inline constexpr std::string_view requeue = "requeue"; // categorize again; "policy" if another one is to hold
// "to": a node ([node.<name>]): messages are moved there. What is in flight is stopped first, as by remove; "changed":
// those that are recorded, durably, as being moved.
inline constexpr std::string_view move = "move";
// Of messages that are being moved: they stay here. "in_doubt" (false): also those that the other node may have.
inline constexpr std::string_view move_back = "move-back";
// "to": nodes; "filter" (all), "rate" (messages per second; 0: no limit), "reason". This node takes no mail from now
// on, and its messages are moved there, until it is canceled; answers as drain-status.
inline constexpr std::string_view drain = "drain";
inline constexpr std::string_view drain_cancel = "drain-cancel"; // what is being moved is, nevertheless
// One line: "draining", and if so "to": [{"node","moved","failed"}], "filter", "rate", "by", "reason", "since",
// "finished" (nothing is left that could be moved), "under_way", "in_doubt", "left" (messages in the queue).
inline constexpr std::string_view drain_status = "drain-status";
// "entries": up to 1000 of {"recipient","sender","pool","lane","reason","reply","expires"} (one scope), "dry_run". One
// line: "added", "replaced".
inline constexpr std::string_view suppress = "suppress";
// "entries" as above, or "filter"; "dry_run". One line: "removed", "not_found".
inline constexpr std::string_view unsuppress = "unsuppress";
inline constexpr std::string_view flush = "flush"; // force everything (sendmail -q)

} // namespace op

namespace code {

inline constexpr std::string_view bad_request = "bad-request";     // an operation, field or filter that is invalid
inline constexpr std::string_view not_permitted = "not-permitted"; // neither root nor of mta.admin_group
inline constexpr std::string_view unknown = "unknown";             // no such message, link or queue
inline constexpr std::string_view no_match = "no-match";           // the filter matches nothing
inline constexpr std::string_view already = "already";             // it is in that state already
inline constexpr std::string_view in_delivery = "in-delivery";     // it is being delivered and can no longer be stopped
inline constexpr std::string_view loading = "loading";             // the spool is still being read: try again
inline constexpr std::string_view failed = "failed";               // a disk error
inline constexpr std::string_view unavailable = "unavailable";     // a daemon needed for the answer is not running

} // namespace code

} // namespace proto::control
