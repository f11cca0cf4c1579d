#include "daemons/queue-manager/peers/report_client.h"
#include "daemons/common/ipc/parts.h"
#include <fmt/format.h>
#include <utility>

namespace queue_manager {

namespace {

void shorten(std::string& text) {
    if (text.size() <= proto::report::longest_text) return;
    std::size_t end = proto::report::longest_text - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end; // not within a character
    text.replace(end, text.npos, "...");
}

} // namespace

ReportClient::ReportClient(const Dependencies& dependencies)
    : deps_(dependencies), service_(deps_.loop, {[this] { report_presence(decide::queue::Presence::up); },
                                                 [this] {
                                                     asked_.clear();
                                                     report_presence(decide::queue::Presence::down);
                                                 },
                                                 [this](proto::report::Message&& message) {
                                                     if (auto* answer = std::get_if<proto::report::Reported>(&message))
                                                         answered(*answer);
                                                 }}) {}

void ReportClient::report_presence(decide::queue::Presence presence) {
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        engine.service(decide::queue::Service::bounce, presence, now, out);
    });
}

void ReportClient::make(const decide::queue::MakeReport& action, smtp::Now now) {
    proto::report::Report out{.request = action.request,
                              .queue_id = action.id,
                              .location = action.location,
                              .reused_file = deps_.files.where(action.id, action.location).reused.value,
                              .kind = action.kind,
                              .retry_until = to_wire(action.retry_until)};
    bool reasons_missing = false;
    out.recipients = action.recipients;
    for (auto& each : out.recipients) {
        if (!each.expired) each.last_attempt = to_wire(now.wall);
        reasons_missing = reasons_missing || each.expired || each.reason.status.empty();
    }
    asked_[action.request] = action.id;
    if (!reasons_missing) return ask(std::move(out));
    deps_.loader.read(
        action.id, action.location,
        [this, out = std::move(out)](const spool::MessageState& state, std::uint64_t) mutable {
            for (auto& recipient : out.recipients) {
                if (recipient.number >= state.recipients.size()) continue;
                const auto& last = state.recipients[recipient.number];
                if (recipient.reason.text.empty()) {
                    recipient.reason.text = last.reply.text;
                    recipient.reason.suppressed = is_suppressed(last);
                }
                if (recipient.reason.status.empty()) recipient.reason.status = last.reply.status;
                if (recipient.last_attempt == 0) recipient.last_attempt = to_wire(last.last_attempt);
            }
            ask(std::move(out));
        },
        [this, request = action.request, id = action.id](const MessageLoader::Failure& failure) {
            failed(request, id, fmt::format("the message's file cannot be read: {}", failure.why));
        });
}

void ReportClient::ask(proto::report::Report question) {
    using Parts = ipc::PartSplitter<proto::report::Report, &proto::report::Report::recipients>;
    using Part = Service<proto::report::Message>::Part;
    for (auto& each : question.recipients) {
        auto& reason = each.reason;
        for (auto* text : {&reason.status, &reason.text, &reason.remote_reply, &reason.remote_host, &reason.at})
            shorten(*text);
    }
    const auto request = question.request;
    service_.ask_in_parts(request,
                          [this, request, id = question.queue_id, parts = Parts(std::move(question))]() mutable {
                              if (service_.ask(parts.next()) == ipc::SendResult::too_long) { // not with texts so short
                                  failed(request, id, "the report request is too long");
                                  return Part::last;
                              }
                              return parts.more() ? Part::more : Part::last;
                          });
}

// The message waits, and the reason is shown; others' reports do not wait.
void ReportClient::failed(std::uint64_t request, spool::QueueId id, std::string why) {
    deps_.driver.later([this, request, id, why = std::move(why)] {
        if (!asked_.contains(request)) return; // bounce has disconnected meanwhile
        answered({.request = request, .outcome = proto::report::Outcome::try_later, .report_id = id, .text = why});
    });
}

void ReportClient::answered(const proto::report::Reported& answer) {
    auto asked = asked_.extract(answer.request);
    if (!asked) return;
    using proto::report::Outcome;
    const bool later = answer.outcome == Outcome::try_later;
    if (later) {
        deps_.log.warning("{}: the report could not be written: {}: will be retried", asked.mapped().text(),
                          answer.text);
        deps_.reserve.release();
    }
    EventContext context;
    context.reported = answer.outcome == Outcome::submitted    ? spool::Reported::submitted
                       : answer.outcome == Outcome::not_wanted ? spool::Reported::not_wanted
                                                               : spool::Reported::kept_in_bad;
    if (answer.outcome == Outcome::kept_in_bad) deps_.cleaner.soon();
    deps_.driver.tell(
        [&](auto& engine, smtp::Now now, auto& out) {
            engine.reported({answer.request,
                             later ? decide::queue::ReportOutcome::try_later : decide::queue::ReportOutcome::done,
                             answer.outcome == Outcome::submitted ? answer.report_id : spool::QueueId{}, answer.text},
                            now, out);
        },
        context);
}

} // namespace queue_manager
