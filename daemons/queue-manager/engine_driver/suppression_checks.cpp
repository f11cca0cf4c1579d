#include "daemons/queue-manager/engine_driver/suppression_checks.h"
#include "daemons/common/config/config.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include "libsmtp/text/date.h"
#include "libspool/format/lane.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <cerrno>
#include <optional>

namespace queue_manager {

using decide::queue::SuppressionsKnown;

struct SuppressionChecks::Question {
    decide::queue::DeliveryId delivery = 0;
    spool::QueueId id;
    spool::FileHint file{spool::Location::incoming};
    std::vector<std::uint32_t> numbers;
    std::vector<std::string> local_domains;
    smtp::WallTime now{};
};

struct SuppressionChecks::LookupResult {
    bool known = false, gone = false;
    std::string why; // not known
    std::vector<std::pair<std::uint32_t, decide::queue::Reason>> suppressed;
};

// On a thread: the addresses are in the message's file only.
SuppressionChecks::LookupResult SuppressionChecks::look_up(const common::SuppressionList& list, spool::Disk& disk,
                                                           const Question& question) {
    LookupResult out;
    const auto reader = spool::MessageReader::open(disk, question.id, question.file, spool::ReadLock::none);
    if (!reader) {
        const auto* error = std::get_if<spool::Error>(&reader.error());
        out.gone = error && error->code == ENOENT;
        out.why = spool::text_of(reader.error());
        return out;
    }
    const auto& state = reader->state();
    for (const auto number : question.numbers) {
        if (number >= state.recipients.size()) continue;
        const auto& recipient = state.recipients[number];
        if (common::is_own_postmaster(recipient.address, question.local_domains)) continue;
        const auto& path = recipient.reverse_path.empty() ? state.envelope.reverse_path : recipient.reverse_path;
        const auto entry = list.find(recipient.address,
                                     {.reverse_path = path == "<>" ? "" : path,
                                      .pool = state.envelope.pool,
                                      .lane = std::string(spool::lane_name(state.lane, state.priority))},
                                     question.now);
        if (!entry) {
            out.why = entry.error().what;
            return out;
        }
        if (*entry)
            out.suppressed.push_back(
                {number, {.status = "5.7.1", .text = decide::suppression_text(**entry), .suppressed = true}});
    }
    out.known = true;
    return out;
}

bool is_own_postmaster(std::string_view address, const CurrentConfig& config) {
    return common::is_own_postmaster(address, config->local.domains);
}

void SuppressionChecks::check(const decide::queue::AskSuppressions& action, std::span<const std::uint32_t> numbers) {
    if (!deps_.suppressions.any()) { // the list is empty: no file needs to be read
        deps_.driver.later([this, delivery = action.delivery] {
            deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
                engine.suppressions_known({delivery, true, {}}, now, out);
            });
        });
        return;
    }
    Question question{action.delivery,
                      action.id,
                      deps_.files.where(action.id, action.location),
                      {numbers.begin(), numbers.end()},
                      deps_.config->local.domains,
                      common::Loop::now().wall};
    deps_.suppressions.look([this, question = std::move(question)](const common::SuppressionList* list) {
        const auto result = list ? look_up(*list, deps_.pool.disk(), question) : LookupResult{};
        deps_.pool.complete([this, question, result] { answer(question, result); });
    });
}

void SuppressionChecks::answer(const Question& question, const LookupResult& result) {
    const auto id = question.id;
    const auto say = [&](bool known, std::span<const SuppressionsKnown::Suppressed> found) {
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
            engine.suppressions_known({question.delivery, known, found}, now, out);
        });
    };
    if (result.gone) return say(false, {}); // finished meanwhile, or it will be checked again
    if (!result.why.empty())
        deps_.log.error("{}: cannot check its recipients against the suppression list: {}", id.text(), result.why);
    using decide::queue::Outcome;
    if (deps_.config->bounce.soft_bounce && !result.suppressed.empty()) { // kept, and checked again
        for (const auto& [number, reason] : result.suppressed)
            deps_.undelivered.add(id, UndeliveredLog::Lines{{number}, Outcome::deferred, softened(reason)});
        return say(false, {});
    }
    std::vector<SuppressionsKnown::Suppressed> suppressed;
    std::vector<spool::Property> records;
    for (const auto& [number, reason] : result.suppressed) {
        records.emplace_back(failed_untried({number}, reason, "suppression list", common::Loop::now().wall));
        deps_.undelivered.add(id, UndeliveredLog::Lines{{number}, Outcome::failed, reason});
        suppressed.push_back({number, &reason});
    }
    if (!records.empty()) deps_.files.record(id, std::move(records));
    say(result.known, suppressed);
}

void SuppressionChecks::added(std::span<const decide::Suppression> entries) {
    decide::queue::SuppressionChanged event;
    std::vector<std::uint32_t> keys;
    std::vector<std::string_view> domains;
    for (const auto& each : entries) {
        if (each.recipient.starts_with('@'))
            domains.push_back(std::string_view(each.recipient).substr(1));
        else
            keys.push_back(decide::address_number(each.recipient, common::name_folding()));
        if (each.automatic)
            deps_.log.info("suppression: {} rejected permanently, gets no mail until {}: {}", each.recipient,
                           smtp::iso_date(each.expires), each.reply);
    }
    event.keys = keys;
    event.domains = domains;
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.suppression_changed(event, now, out); });
}

// Only a server's reply about a single recipient counts: at RCPT, or to content for that recipient alone.
void SuppressionChecks::add_refused(const proto::delivery::Done& done) {
    if (deps_.config->suppression.rules.empty()) return;
    std::vector<std::pair<std::uint32_t, std::string>> refused; // number and reply
    for (const auto& each : done.results) {
        if (each.outcome != proto::delivery::Outcome::failed || each.reply >= done.replies.size()) continue;
        const auto& reply = done.replies[each.reply];
        const bool of_it = reply.stage == smtp::Stage::rcpt || done.results.size() == 1;
        const bool said =
            !reply.remote_reply.empty() && (reply.stage == smtp::Stage::rcpt || reply.stage == smtp::Stage::data ||
                                            reply.stage == smtp::Stage::final_dot);
        if (of_it && said && std::ranges::any_of(deps_.config->suppression.rules, [&](const auto& rule) {
                return rule.covers(reply.code, reply.status);
            }))
            refused.emplace_back(each.recipient, reply.remote_reply);
    }
    if (refused.empty()) return;
    deps_.loader.read(
        done.queue_id, spool::Location::messages,
        [this, refused = std::move(refused), id = done.queue_id](const spool::MessageState& state, std::uint64_t) {
            const auto now = common::Loop::now().wall;
            for (const auto& [number, said] : refused) {
                if (number >= state.recipients.size()) continue;
                const auto& address = state.recipients[number].address;
                auto recipient = decide::suppression_recipient(address, common::name_folding());
                if (!recipient || recipient->starts_with('@') || is_own_postmaster(address, deps_.config)) continue;
                deps_.suppressions.refused({.recipient = std::move(*recipient),
                                            .scope = {},
                                            .reason = "rejected by its server, message " + id.text(),
                                            .reply = said,
                                            .who = "queue-manager",
                                            .automatic = true,
                                            .added = now,
                                            .expires = now + deps_.config->suppression.lifetime});
            }
        });
}

} // namespace queue_manager
