// Between the engine and the suppression list: what it asks about waiting mail, what it is told when somebody
// is put there, and which refusals put somebody there.
#include "daemons/common/config/config.h"
#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include "libsmtp/text/date.h"
#include "libspool/message/message_reader.h"
#include <algorithm>

namespace queue_manager {

using common::Loop;
using decide::Suppression;
using decide::queue::SuppressionsKnown;

namespace {

struct Found {
    bool known = false, gone = false;
    std::string why; // not known
    std::vector<std::pair<std::uint32_t, decide::queue::Reason>> suppressed;
};

// On a thread: the addresses are in the message's file only.
Found look_up(const common::SuppressionList& list, spool::Disk& disk, spool::QueueId id, spool::Location location,
              const std::vector<std::uint32_t>& numbers, const std::vector<std::string>& local_domains,
              smtp::WallTime now) {
    Found out;
    const auto reader = spool::MessageReader::open(disk, id, location, spool::ReadLock::none);
    if (!reader) {
        const auto* error = std::get_if<spool::Error>(&reader.error());
        out.gone = error && error->code == ENOENT;
        out.why = spool::text_of(reader.error());
        return out;
    }
    const auto& state = reader->state();
    for (const auto number : numbers) {
        if (number >= state.recipients.size()) continue;
        const auto& recipient = state.recipients[number];
        if (common::is_own_postmaster(recipient.address, local_domains)) continue;
        const auto& path = recipient.reverse_path.empty() ? state.envelope.reverse_path : recipient.reverse_path;
        const auto entry = list.find(recipient.address, path == "<>" ? "" : path, now);
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

} // namespace

Suppressions::Dependencies QueueManager::suppression_dependencies() {
    return {.loop = context_.loop,
            .pool = pool_,
            .spool = config_->spool.directory,
            .report_problem = [this](std::string text) {
                if (!text.empty() && problems_["suppression"] != text) log_.critical("{}", text);
                report_problem("suppression", std::move(text));
            },
            .added = [this](std::span<const Suppression> entries) { suppressed(entries); },
            .changed = [this](bool any) { categorizer_.ask(proto::categorize::Suppressions{any}); }};
}

// They are on the list durably; what waits for them learns of it.
void QueueManager::suppressed(std::span<const Suppression> entries) {
    decide::queue::SuppressionChanged event;
    std::vector<std::uint32_t> keys;
    std::vector<std::string_view> domains;
    for (const auto& each : entries) {
        if (each.recipient.starts_with('@'))
            domains.push_back(std::string_view(each.recipient).substr(1));
        else
            keys.push_back(decide::address_number(each.recipient, common::name_folding()));
        if (each.automatic)
            log_.info("suppression: {} refused for good, gets no mail until {}: {}", each.recipient,
                      smtp::iso_date(each.expires), each.reply);
    }
    event.keys = keys;
    event.domains = domains;
    with_engine([&](smtp::Now now, auto& out) { engine_.suppression_changed(event, now, out); });
}

void QueueManager::execute(const decide::queue::AskSuppressions& action, smtp::Now) {
    const auto answer = [this, delivery = action.delivery](bool known,
                                                           std::span<const SuppressionsKnown::Suppressed> found) {
        with_engine([&](smtp::Now now, auto& out) {
            engine_.suppressions_known({delivery, known, found}, now, out);
        });
    };
    if (!suppressions_.any()) { // nobody is on it: no file needs to be read
        next_.push_back([answer] { answer(true, {}); });
        return;
    }
    const auto numbers = actions_.of(action.numbers);
    suppressions_.look([this, answer, id = action.id, location = action.location,
                        numbers = std::vector(numbers.begin(), numbers.end()), local = config_->local.domains,
                        now = Loop::now().wall](const common::SuppressionList* list) {
        const auto found = list ? look_up(*list, pool_.disk(), id, location, numbers, local, now) : Found{};
        pool_.complete([this, answer, id, found] {
            if (found.gone) return answer(false, {}); // finished meanwhile, or it is looked for again
            if (!found.why.empty())
                log_.error("{}: whether it may go to its recipients is not known: {}", id.text(), found.why);
            if (config_->bounce.soft_bounce && !found.suppressed.empty()) { // kept, and asked again
                for (const auto& [number, reason] : found.suppressed)
                    log_undelivered(id, {{number}, decide::queue::Outcome::deferred, softened(reason)});
                return answer(false, {});
            }
            std::vector<SuppressionsKnown::Suppressed> suppressed;
            std::vector<spool::Property> records;
            for (const auto& [number, reason] : found.suppressed) {
                records.emplace_back(failed_untried({number}, reason, "suppression list", Loop::now().wall));
                log_undelivered(id, {{number}, decide::queue::Outcome::failed, reason});
                suppressed.push_back({number, &reason});
            }
            if (!records.empty()) record(id, std::move(records));
            answer(found.known, suppressed);
        });
    });
}

// What a server says of one recipient counts: at RCPT, or of content that was for nobody else.
void QueueManager::suppress_refused(const proto::delivery::Done& done) {
    if (config_->suppression.rules.empty()) return;
    std::vector<std::pair<std::uint32_t, std::string>> refused; // what was said
    for (const auto& each : done.results) {
        if (each.outcome != proto::delivery::Outcome::failed || each.reply >= done.replies.size()) continue;
        const auto& reply = done.replies[each.reply];
        const bool of_it = reply.stage == smtp::Stage::rcpt || done.results.size() == 1;
        const bool said =
            !reply.remote_reply.empty() && (reply.stage == smtp::Stage::rcpt || reply.stage == smtp::Stage::data ||
                                            reply.stage == smtp::Stage::final_dot);
        if (of_it && said && std::ranges::any_of(config_->suppression.rules, [&](const auto& rule) {
                return rule.covers(reply.code, reply.status);
            }))
            refused.emplace_back(each.recipient, reply.remote_reply);
    }
    if (refused.empty()) return;
    readings_.read(done.queue_id, spool::Location::messages,
                   [this, refused = std::move(refused), id = done.queue_id](const spool::MessageState& state,
                                                                            std::uint64_t) {
                       const auto now = Loop::now().wall;
                       for (const auto& [number, said] : refused) {
                           if (number >= state.recipients.size()) continue;
                           const auto& address = state.recipients[number].address;
                           auto recipient = decide::suppression_recipient(address, common::name_folding());
                           if (!recipient || recipient->starts_with('@') ||
                               common::is_own_postmaster(address, config_->local.domains))
                               continue;
                           suppressions_.refused({.recipient = std::move(*recipient),
                                                  .sender = "",
                                                  .reason = "refused by its server, message " + id.text(),
                                                  .reply = said,
                                                  .who = "queue-manager",
                                                  .automatic = true,
                                                  .added = now,
                                                  .expires = now + config_->suppression.lifetime});
                       }
                   });
}

} // namespace queue_manager
