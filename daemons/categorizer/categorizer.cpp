#include "daemons/categorizer/categorizer.h"
#include "daemons/categorizer/settings.h"
#include "daemons/decide/addressing/recipient_check.h"
#include <fmt/format.h>
#include <utility>

namespace categorizer {

using decide::RecipientCheck;
using proto::categorize::Categorize;
using proto::recipient_check::Checked;
using proto::recipient_check::Verdict;

namespace {
constexpr auto look_again_in = std::chrono::seconds(5);
constexpr std::size_t steps_a_turn = 500; // a few milliseconds
}

spool::Result<std::unique_ptr<Categorizer>> Categorizer::create(common::Surroundings& surroundings,
                                                                common::Orders orders) {
    std::unique_ptr<Categorizer> out(new Categorizer(surroundings, orders.config));
    out->listen(orders);
    return out;
}

Categorizer::Categorizer(common::Surroundings& surroundings, const config::Config& config)
    : surroundings_(surroundings), troubles_(surroundings.trouble),
      look_again_(surroundings.loop, [this] { sources_.look(), tell_troubles(); }),
      sources_(surroundings, config.spool.directory, troubles_, [this](const decide::Need& need) { known(need); }),
      suppressions_(surroundings.loop, troubles_.about("suppressions"),
                    [this](const std::string& address) { known({decide::Need::Kind::suppressed, address, {}}); }),
      next_turn_(surroundings.loop, [this] { work(); }),
      queue_manager_(surroundings.loop, surroundings.log, surroundings.run + "/private/queue-manager",
                     proto::categorize::conversation, surroundings.identity,
                     {[this](proto::categorize::Message&& message) {
                          if (auto* question = std::get_if<Categorize>(&message))
                              asked(std::move(*question));
                          else if (auto* list = std::get_if<proto::categorize::Suppressions>(&message))
                              suppressions_.set_any(list->any), tell_of_suppressions();
                          else
                              queue_manager_.fail("only Categorize and Suppressions are said here");
                      },
                      {},
                      [this](const std::string&) { // it asks again when it is back
                          replies_ = {};
                          questions_.forget_all();
                          working_.clear();
                          std::erase_if(waiting_, [this](auto& each) {
                              if (!std::holds_alternative<Categorize>(each.second->question)) return false;
                              turns_.left(each.first);
                              return true;
                          });
                          check_stopped();
                      },
                      [this] { reply(), check_stopped(); }}) {
    apply(config);
}

void Categorizer::apply(const config::Config& config) {
    settings_ = settings_of(std::make_shared<const config::Config>(config));
    sources_.configure(config);
    suppressions_.configure(config);
    trails_.configure(config.spool.directory);
    tell_troubles();
}

void Categorizer::listen(common::Orders& orders) {
    if (listener_) return listener_->expect(orders.expected); // the socket in force stays
    auto fd = orders.take("categorizer");
    if (!fd) return;
    listener_ = std::make_unique<ipc::Listener>(surroundings_.loop, surroundings_.log, std::move(fd),
                                                orders.expected);
    listener_->serve<proto::recipient_check::Message>(
        proto::recipient_check::conversation, {proto::Role::smtpd},
        [this](ipc::Peer, std::unique_ptr<Visitors> visitor) { welcome(std::move(visitor)); });
}

void Categorizer::reconfigure(common::Orders orders) {
    apply(orders.config);
    listen(orders);
    // Who waited for an answer of the old tables asks the new ones, from the beginning.
    wanted_.clear();
    turns_ = decide::QuestionTurns();
    for (auto& asked : std::exchange(working_, {})) ask(std::move(asked->question));
    for (auto& [number, asked] : std::exchange(waiting_, {})) ask(std::move(asked->question));
    check_stopped();
}

void Categorizer::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    check_stopped();
}

void Categorizer::check_stopped() {
    if (stopped_ && waiting_.empty() && working_.empty() && replies_.empty()) std::exchange(stopped_, nullptr)();
}

void Categorizer::welcome(std::unique_ptr<Visitors> visitor) {
    const auto number = ++last_visitor_;
    visitor->set_callbacks({[this, number](proto::recipient_check::Message&& message) {
                                auto* question = std::get_if<proto::recipient_check::Check>(&message);
                                if (question)
                                    ask(Check{number, std::move(*question)});
                                else
                                    visitors_.at(number)->fail("only Check is said here");
                            },
                            [this, number](const std::string&) {
                                auto gone = visitors_.extract(number); // its callback is running
                                surroundings_.loop.later([keep = std::shared_ptr<Visitors>(std::move(
                                                              gone.mapped()))] { static_cast<void>(keep); });
                            }});
    visitor->send(proto::recipient_check::Suppressions{suppressions_.any()});
    visitors_.emplace(number, std::move(visitor));
}

void Categorizer::asked(Categorize&& part) {
    auto question = questions_.add(std::move(part));
    if (!question) return; // more of it follows
    if (question->complete) return ask(std::move(question->message));
    replies_.refuse(question->message.request,
                    fmt::format("its recipients are more than the {} MiB that the categorizer takes at a time",
                                proto::categorize::largest_questions >> 20));
    reply();
}

void Categorizer::tell_troubles() {
    sources_.tell_troubles();
    if (troubles_.any() && !look_again_.armed()) look_again_.start(look_again_in);
}

void Categorizer::tell_of_suppressions() {
    for (auto& [number, visitor] : visitors_) visitor->send(proto::recipient_check::Suppressions{suppressions_.any()});
}

static std::string sender_of(const auto& question) {
    if (const auto* message = std::get_if<Categorize>(&question)) return message->reverse_path;
    return std::get<1>(question).check.sender;
}

void Categorizer::answer(Work asked) {
    sources_.look();
    auto tables = asked->notebook.before(sources_.tables());
    tables.suppressed = suppressions_.for_mail_from(sender_of(asked->question));
    if (const auto* question = std::get_if<Categorize>(&asked->question)) {
        if (question->queue_id.value != 0) tables.delivered_before = trails_.of(question->queue_id);
        asked->expansion.emplace(question->recipients, question->reverse_path, settings_, std::move(tables));
        if (!worked_on(*asked)) {
            working_.push_back(std::move(asked));
            if (!next_turn_.armed()) next_turn_.start({});
            return;
        }
    } else {
        asked->needed = check(std::get<Check>(asked->question), tables);
    }
    settle(std::move(asked));
}

bool Categorizer::worked_on(Asked& asked) {
    if (!asked.expansion->go_on(steps_a_turn)) return false;
    auto expanded = asked.expansion->take();
    asked.expansion.reset();
    asked.needed = std::move(expanded.needed);
    if (!asked.needed.empty()) return true;
    replies_.add(std::get<Categorize>(asked.question).request, std::move(expanded.recipients));
    reply();
    return true;
}

// In this turn a piece of one, in the next a piece of another; sockets are looked after in between.
void Categorizer::work() {
    if (working_.empty()) return;
    auto asked = std::move(working_.front());
    working_.pop_front();
    if (worked_on(*asked))
        settle(std::move(asked));
    else
        working_.push_back(std::move(asked));
    if (!working_.empty()) next_turn_.start({});
    check_stopped();
}

void Categorizer::settle(Work asked) {
    tell_troubles();
    if (asked->needed.empty()) return;
    const auto number = ++last_waiting_;
    const auto& waiting = *waiting_.emplace(number, std::move(asked)).first->second;
    for (const auto& need : waiting.needed) {
        wanted_[need].push_back(number);
        turns_.ask(number, need);
    }
    fetch();
}

void Categorizer::fetch() {
    while (const auto need = turns_.next()) {
        if (need->kind == decide::Need::Kind::suppressed)
            suppressions_.fetch(need->name);
        else
            sources_.fetch(*need);
    }
}

// As much as the connection takes; the rest when it has sent that.
void Categorizer::reply() {
    while (!replies_.empty() && !queue_manager_.congested()) {
        auto part = replies_.next();
        const auto request = part.request;
        if (queue_manager_.send(part) == ipc::Sent::too_long)
            replies_.refuse(request, "what one of its addresses leads to is too long to be told");
    }
}

std::set<decide::Need> Categorizer::check(const Check& question, const decide::ExpansionTables& tables) {
    const auto visitor = visitors_.find(question.visitor);
    if (visitor == visitors_.end()) return {}; // gone meanwhile
    auto found = decide::check_recipient(question.check.address, settings_, tables);
    Checked answer;
    answer.request = question.check.request;
    answer.status = std::move(found.status);
    answer.text = std::move(found.text);
    switch (found.verdict) {
    case RecipientCheck::Verdict::not_yet: return std::move(found.needed);
    case RecipientCheck::Verdict::known: answer.verdict = Verdict::known; break;
    case RecipientCheck::Verdict::unknown: answer.verdict = Verdict::unknown; break;
    case RecipientCheck::Verdict::not_ours: answer.verdict = Verdict::not_ours; break;
    case RecipientCheck::Verdict::try_later: answer.verdict = Verdict::try_later; break;
    }
    if (visitor->second->send(answer) == ipc::Sent::too_long) { // the words are a table's, and not needed
        answer.text.clear();
        static_cast<void>(visitor->second->send(answer));
    }
    return {};
}

// Whoever waited for this one last asks again; with what is known now it comes further, or to its end. Each run
// sees what the ones before saw (the notebook), so that it does come to an end.
void Categorizer::known(const decide::Need& need) {
    turns_.answered(need);
    const auto wanted = wanted_.extract(need);
    std::vector<Work> ready;
    for (const auto number : wanted.empty() ? std::vector<std::uint64_t>() : wanted.mapped()) {
        const auto at = waiting_.find(number);
        if (at == waiting_.end()) continue;
        auto& waiting = *at->second;
        const bool lasting = need.kind == decide::Need::Kind::suppressed; // never forgotten
        if (!lasting && !waiting.notebook.note(need, sources_.tables())) { // forgotten already: fetched again
            wanted_[need].push_back(number);
            turns_.ask(number, need);
            continue;
        }
        waiting.needed.erase(need);
        if (!waiting.needed.empty()) continue;
        ready.push_back(std::move(at->second));
        waiting_.erase(at);
    }
    fetch();
    for (auto& each : ready) answer(std::move(each));
    check_stopped();
}

} // namespace categorizer
