#include "daemons/queue-manager/events/attempt_members.h"
#include "daemons/decide/outcome/reply_class.h"
#include "libspool/journal/message_facts.h"
#include <charconv>
#include <ranges>
#include <vector>

namespace queue_manager {

using spool::journal::JsonObject;

RemoteHost remote_of(std::string_view text) {
    const auto open = text.find('['), close = text.rfind(']');
    if (open == text.npos || close == text.npos || close < open) return {text, {}};
    RemoteHost out{text.substr(0, open), text.substr(open + 1, close - open - 1)};
    const auto rest = text.substr(close + 1);
    if (rest.starts_with(':')) std::from_chars(rest.data() + 1, rest.data() + rest.size(), out.port);
    return out;
}

void append_remote(JsonObject& event, std::string_view text) {
    event.object("remote", [&](JsonObject& remote) {
        const auto host = remote_of(text);
        remote.text("host", host.host);
        remote.text("address", host.address);
        remote.number("port", host.port);
    });
}

void append_reply(JsonObject& event, const smtp::RemoteReply& reply) {
    if (reply.stage != smtp::Stage::none) event.word("stage", name_of(reply.stage));
    event.number("code", reply.code);
    event.text("status", reply.status);
    event.text("text", reply.text, spool::journal::longest_text);
    event.flag("in_doubt", reply.in_doubt);
}

void append_failure(JsonObject& event, const smtp::RemoteReply& reply) {
    append_reply(event, reply);
    event.word("class", name_of(decide::class_of({.stage = reply.stage, .code = reply.code, .status = reply.status})));
}

void append_attempt(JsonObject& event, const proto::delivery::Done& done,
                    const proto::delivery::RecipientResult& result) {
    event.text("recipient", result.address);
    event.text("original_recipient", result.original);
    event.text("queue", done.queue);
    event.text("link", done.link);
    event.text("route", done.route);
    event.number("attempt", result.attempt);
    append_remote(event, done.host);
    event.text("source_address", done.source);
    event.number("connection_use", done.connection_use);
    if (result.reply < done.replies.size()) {
        const auto& reply = done.replies[result.reply];
        result.outcome == smtp::Outcome::delivered ? append_reply(event, reply) : append_failure(event, reply);
        if (result.reply < done.rules.size()) event.text("rule", done.rules[result.reply]);
    }
    event.object("tls", [&](JsonObject& tls) {
        if (done.tls != "none") tls.text("description", done.tls);
    });
    event.object("took", [&](JsonObject& took) {
        const auto part = [&](std::string_view name, std::int64_t microseconds) {
            took.number(name, microseconds / 1000);
        };
        part("queue", done.in_queue);
        part("dns", done.setup.dns);
        part("connect", done.setup.connect);
        part("tls", done.setup.tls);
        part("session", done.setup.session);
        part("data", done.transmission);
    });
    append_waited(event, waited_of(done, result));
}

void append_dialogue(JsonObject& event, const proto::delivery::Done& done, std::uint32_t recipient) {
    constexpr std::size_t most_lines = 20, most_bytes = 2048;
    std::vector<std::string_view> lines;
    std::size_t bytes = 0;
    for (const auto& line : done.dialogue | std::views::reverse) {
        if (line.recipient != 0 && line.recipient != recipient + 1) continue;
        bytes += line.text.size();
        if (lines.size() == most_lines || bytes > most_bytes) break;
        lines.push_back(line.text);
    }
    event.texts("dialogue", lines | std::views::reverse);
}

spool::Waited waited_of(const proto::delivery::Done& done, const proto::delivery::RecipientResult& result) {
    auto waited = result.waited;
    waited.pause += done.pause;
    waited.link += done.backoff;
    return waited;
}

void append_waited(JsonObject& event, const spool::Waited& waited) {
    if (waited == spool::Waited{}) return;
    event.object("waited", [&](JsonObject& gates) {
        gates.number("schedule", waited.schedule);
        gates.number("hold", waited.hold);
        gates.number("pause", waited.pause);
        gates.number("link", waited.link);
        gates.number("retry", waited.retry);
    });
}

} // namespace queue_manager
