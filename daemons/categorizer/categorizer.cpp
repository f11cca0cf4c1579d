#include "daemons/categorizer/categorizer.h"
#include "daemons/common/config/config.h"
#include "daemons/common/expansion/expansion_settings.h"
#include "daemons/common/runtime/destroy_later.h"
#include "daemons/decide/addressing/recipient_check.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace categorizer {

using decide::RecipientCheck;
using proto::categorize::Categorize;
using proto::recipient_check::Checked;
using proto::recipient_check::Verdict;

namespace {
constexpr auto recheck_interval = std::chrono::seconds(5);
constexpr std::size_t steps_per_turn = 500;     // a few milliseconds
constexpr std::size_t most_asked_again = 1'000; // recipients: of large lists the members are not asked for twice
constexpr std::string_view no_such_recipient = "5.1.1";

// What says so may be a table's answer of half a minute ago, to another question.
bool has_unknown(const std::vector<spool::ResolvedRecipient>& recipients) {
    return recipients.size() <= most_asked_again && std::ranges::any_of(recipients, [](const auto& each) {
               return each.fate == spool::Fate::failed && each.status == no_such_recipient;
           });
}
} // namespace

spool::Result<std::unique_ptr<Categorizer>> Categorizer::create(common::DaemonContext& context,
                                                                common::DaemonConfig daemon_config) {
    std::unique_ptr<Categorizer> out(new Categorizer(context, daemon_config.config));
    out->listen(daemon_config);
    return out;
}

Categorizer::Categorizer(common::DaemonContext& context, const config::Config& config)
    : context_(context), problems_(context.report_problem),
      recheck_timer_(context.loop, [this] { sources_.refresh(), update_problems(); }),
      sources_(context, config.spool.directory, problems_,
               [this](const decide::LookupRequest& need) { on_known(need); }),
      suppressions_(
          context.loop, problems_.reporter("suppressions"),
          [this](const std::string& address) { on_known({decide::LookupRequest::Kind::suppressed, address, {}}); }),
      next_turn_(context.loop, [this] { continue_expansions(); }),
      queue_manager_(context.loop, context.log, context.run_directory + "/private/queue-manager",
                     proto::categorize::conversation, context.identity,
                     {[this](proto::categorize::Message&& message) {
                          if (auto* question = std::get_if<Categorize>(&message))
                              on_request_part(std::move(*question));
                          else if (auto* list = std::get_if<proto::categorize::Suppressions>(&message))
                              suppressions_.set_any(list->any), announce_suppressions();
                          else
                              queue_manager_.fail("unexpected message: only Categorize and Suppressions are "
                                                  "accepted here");
                      },
                      {},
                      [this](const std::string&) { // it asks again when it is back
                          answers_to_send_ = {};
                          questions_.forget_all();
                          working_.clear();
                          std::erase_if(waiting_, [this](auto& each) {
                              if (!std::holds_alternative<Categorize>(each.second->question)) return false;
                              lookup_queue_.remove_requester(each.first);
                              return true;
                          });
                          check_stopped();
                      },
                      [this] { reply(), check_stopped(); }}) {
    apply(config);
}

void Categorizer::apply(const config::Config& config) {
    settings_ = common::expansion_settings(config);
    sources_.configure(config.local, config.mta, config.tables);
    suppressions_.configure(config.spool.directory, config.local.domains);
    delivered_to_lookup_.configure(config.spool.directory);
    update_problems();
}

void Categorizer::listen(common::DaemonConfig& daemon_config) {
    if (listener_) return listener_->expect(daemon_config.expected); // the socket in force stays
    auto fd = daemon_config.take("categorizer");
    if (!fd) return;
    listener_ = std::make_unique<ipc::Listener>(context_.loop, context_.log, std::move(fd), daemon_config.expected);
    listener_->serve<proto::recipient_check::Message>(
        proto::recipient_check::conversation, {proto::Role::smtpd, proto::Role::pickup},
        [this](ipc::Peer, std::unique_ptr<CheckChannel> client) { add_client(std::move(client)); });
}

void Categorizer::reconfigure(common::DaemonConfig daemon_config) {
    apply(daemon_config.config);
    listen(daemon_config);
    // Who waited for an answer of the old tables asks the new ones, from the beginning.
    waiting_for_.clear();
    lookup_queue_ = decide::FairLookupQueue();
    for (auto& asked : std::exchange(working_, {})) start(std::move(asked->question));
    for (auto& [number, asked] : std::exchange(waiting_, {})) start(std::move(asked->question));
    check_stopped();
}

void Categorizer::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    check_stopped();
}

void Categorizer::check_stopped() {
    if (stopped_ && waiting_.empty() && working_.empty() && answers_to_send_.empty())
        std::exchange(stopped_, nullptr)();
}

void Categorizer::add_client(std::unique_ptr<CheckChannel> client) {
    const auto number = ++last_client_;
    client->set_callbacks({[this, number](proto::recipient_check::Message&& message) {
                               auto* question = std::get_if<proto::recipient_check::Check>(&message);
                               if (question)
                                   start(Check{number, std::move(*question)});
                               else
                                   check_channels_.at(number)->fail("unexpected message: only Check is accepted here");
                           },
                           [this, number](const std::string&) {
                               auto gone = check_channels_.extract(number); // its callback is running
                               common::destroy_later(context_.loop, std::move(gone.mapped()));
                           }});
    client->send(proto::recipient_check::Suppressions{suppressions_.any()});
    check_channels_.emplace(number, std::move(client));
}

void Categorizer::on_request_part(Categorize&& part) {
    auto question = questions_.add(std::move(part));
    if (!question) return; // more of it follows
    if (question->complete) return start(std::move(question->message));
    answers_to_send_.refuse(question->message.request,
                            fmt::format("its recipients exceed the {} MiB that the categorizer can handle at a time",
                                        proto::categorize::largest_questions >> 20));
    reply();
}

void Categorizer::update_problems() {
    sources_.update_problems();
    if (problems_.any() && !recheck_timer_.armed()) recheck_timer_.start(recheck_interval);
}

void Categorizer::announce_suppressions() {
    for (auto& [number, client] : check_channels_)
        client->send(proto::recipient_check::Suppressions{suppressions_.any()});
}

static decide::SuppressionSubject mail_of(const auto& question) {
    if (const auto* message = std::get_if<Categorize>(&question))
        return {message->reverse_path, message->pool, message->lane};
    const auto& check = std::get<1>(question).check;
    return {check.sender, check.pool, check.lane};
}

decide::ExpansionTables Categorizer::tables_for(const PendingQuestion& asked) {
    auto tables = asked.memo.layered_over(sources_.tables());
    if (asked.fresh) tables = sources_.fresh(std::move(tables), asked.since);
    tables.suppressed = suppressions_.for_mail(mail_of(asked.question));
    return tables;
}

// What the answers kept so far say may rest on older ones, of which several make one answer.
void Categorizer::ask_afresh(PendingQuestion& asked) {
    asked.fresh = true;
    asked.memo = {};
}

void Categorizer::begin_expansion(PendingQuestion& asked) {
    const auto& question = std::get<Categorize>(asked.question);
    auto tables = tables_for(asked);
    if (question.queue_id.value != 0)
        tables.delivered_before = delivered_to_lookup_.of(question.queue_id, spool::QueueId{question.reused_file});
    asked.expansion.emplace(question.recipients, question.reverse_path, settings_, std::move(tables));
}

void Categorizer::answer(Work asked) {
    sources_.refresh();
    if (std::holds_alternative<Categorize>(asked->question)) {
        begin_expansion(*asked);
        if (!expand_step(*asked)) {
            working_.push_back(std::move(asked));
            if (!next_turn_.armed()) next_turn_.start({});
            return;
        }
    } else {
        asked->unanswered = check(*asked);
    }
    wait_or_finish(std::move(asked));
}

bool Categorizer::expand_step(PendingQuestion& asked) {
    if (!asked.expansion->run(steps_per_turn)) return false;
    auto expanded = asked.expansion->take_result();
    asked.expansion.reset();
    asked.unanswered = std::move(expanded.unanswered);
    if (!asked.unanswered.empty()) return true;
    if (!asked.fresh && has_unknown(expanded.recipients)) {
        ask_afresh(asked);
        begin_expansion(asked);
        return false;
    }
    answers_to_send_.add(std::get<Categorize>(asked.question).request, std::move(expanded.recipients));
    reply();
    return true;
}

// In this turn a piece of one, in the next a piece of another; sockets are looked after in between.
void Categorizer::continue_expansions() {
    if (working_.empty()) return;
    auto asked = std::move(working_.front());
    working_.pop_front();
    if (expand_step(*asked))
        wait_or_finish(std::move(asked));
    else
        working_.push_back(std::move(asked));
    if (!working_.empty()) next_turn_.start({});
    check_stopped();
}

void Categorizer::wait_or_finish(Work asked) {
    update_problems();
    if (asked->unanswered.empty()) return;
    const auto number = ++last_waiting_;
    const auto& waiting = *waiting_.emplace(number, std::move(asked)).first->second;
    for (const auto& need : waiting.unanswered) {
        waiting_for_[need].push_back(number);
        lookup_queue_.add(number, need);
    }
    fetch();
}

void Categorizer::fetch() {
    while (const auto need = lookup_queue_.next()) {
        if (need->kind == decide::LookupRequest::Kind::suppressed)
            suppressions_.fetch(need->name);
        else
            sources_.fetch(*need);
    }
}

// As much as the connection takes; the rest when it has sent that.
void Categorizer::reply() {
    while (!answers_to_send_.empty() && !queue_manager_.congested()) {
        auto part = answers_to_send_.next();
        const auto request = part.request;
        if (queue_manager_.send(part) == ipc::SendResult::too_long)
            answers_to_send_.refuse(request, "the expansion of one of its addresses is too long");
    }
}

std::set<decide::LookupRequest> Categorizer::check(PendingQuestion& asked) {
    const auto& question = std::get<Check>(asked.question);
    const auto client = check_channels_.find(question.client);
    if (client == check_channels_.end()) return {}; // gone meanwhile
    auto found = decide::check_recipient(question.check.address, settings_, tables_for(asked));
    if (!asked.fresh && found.verdict == RecipientCheck::Verdict::unknown && found.status == no_such_recipient) {
        ask_afresh(asked);
        found = decide::check_recipient(question.check.address, settings_, tables_for(asked));
    }
    Checked answer;
    answer.request = question.check.request;
    answer.status = std::move(found.status);
    answer.text = std::move(found.text);
    answer.suppressed = found.suppressed;
    switch (found.verdict) {
    case RecipientCheck::Verdict::pending: return std::move(found.unanswered);
    case RecipientCheck::Verdict::known: answer.verdict = Verdict::known; break;
    case RecipientCheck::Verdict::unknown: answer.verdict = Verdict::unknown; break;
    case RecipientCheck::Verdict::not_local: answer.verdict = Verdict::not_ours; break;
    case RecipientCheck::Verdict::try_later: answer.verdict = Verdict::try_later; break;
    }
    if (client->second->send(answer) == ipc::SendResult::too_long) { // the words are a table's, and not needed
        answer.text.clear();
        static_cast<void>(client->second->send(answer));
    }
    return {};
}

// Whoever waited for this one last asks again; with what is known now it comes further, or to its end. Each run
// sees what the ones before saw (the memo), so that it does come to an end.
void Categorizer::on_known(const decide::LookupRequest& need) {
    lookup_queue_.answered(need);
    const auto wanted = waiting_for_.extract(need);
    std::vector<Work> ready;
    for (const auto number : wanted.empty() ? std::vector<std::uint64_t>() : wanted.mapped()) {
        const auto at = waiting_.find(number);
        if (at == waiting_.end()) continue;
        auto& waiting = *at->second;
        const bool lasting = need.kind == decide::LookupRequest::Kind::suppressed; // never forgotten
        const auto known = [&] {
            const auto& tables = sources_.tables();
            return waiting.memo.look_up(need, waiting.fresh ? sources_.fresh(tables, waiting.since) : tables);
        };
        if (!lasting && !known()) { // forgotten already, or older than the question: fetched again
            waiting_for_[need].push_back(number);
            lookup_queue_.add(number, need);
            continue;
        }
        waiting.unanswered.erase(need);
        if (!waiting.unanswered.empty()) continue;
        ready.push_back(std::move(at->second));
        waiting_.erase(at);
    }
    fetch();
    for (auto& each : ready) answer(std::move(each));
    check_stopped();
}

} // namespace categorizer
