#include "daemons/categorizer/categorizer.h"
#include "daemons/common/idn.h"
#include <algorithm>
#include <utility>

namespace categorizer {

using decide::FinalRecipient;
using decide::RecipientCheck;
using proto::categorize::Categorize;
using proto::categorize::Categorized;
using proto::recipient_check::Checked;
using proto::recipient_check::Verdict;

namespace {

proto::categorize::Outcome outcome_of(FinalRecipient&& recipient) {
    using Fate = proto::categorize::Fate;
    constexpr Fate fates[] = {Fate::remote, Fate::local, Fate::discard, Fate::failed, Fate::deferred};
    proto::categorize::Outcome out;
    out.index = recipient.index;
    out.fate = fates[static_cast<std::size_t>(recipient.fate)];
    out.changed = recipient.changed;
    out.address = std::move(recipient.address);
    out.user = std::move(recipient.user);
    out.target = std::move(recipient.target);
    out.transport = std::move(recipient.transport);
    out.reverse_path = std::move(recipient.reverse_path);
    out.status = std::move(recipient.status);
    out.text = std::move(recipient.text);
    return out;
}

} // namespace

spool::Result<std::unique_ptr<Categorizer>> Categorizer::create(common::Surroundings& surroundings,
                                                                common::Orders orders) {
    std::unique_ptr<Categorizer> out(new Categorizer(surroundings, orders.config));
    out->listen(orders);
    return out;
}

Categorizer::Categorizer(common::Surroundings& surroundings, const config::Config& config)
    : surroundings_(surroundings), aliases_(surroundings.log, surroundings.trouble),
      users_(surroundings.loop, [this](const std::string& name) { user_found(name); }),
      tables_{[this](const std::string& name) { return aliases_.find(name); },
              [this](const std::string& name) { return users_.answer(name); }},
      queue_manager_(surroundings.loop, surroundings.log, surroundings.run + "/private/queue-manager",
                     proto::categorize::conversation, surroundings.identity,
                     {[this](proto::categorize::Message&& message) {
                          auto* question = std::get_if<Categorize>(&message);
                          if (question)
                              categorize(std::move(*question));
                          else
                              queue_manager_.fail("only Categorize is said here");
                      },
                      {},
                      [this](const std::string&) { // it asks again when it is back
                          std::erase_if(waiting_, [](auto& w) {
                              return std::holds_alternative<Categorize>(w.second.question);
                          });
                          check_stopped();
                      }}) {
    apply(config);
}

void Categorizer::apply(const config::Config& config) {
    local_domains_ = config.local.domains;
    settings_.is_local = [this](std::string_view domain) {
        return std::ranges::find(local_domains_, idn::ascii_domain(domain)) != local_domains_.end();
    };
    settings_.folded = idn::folded;
    settings_.origin = config.mta.origin;
    settings_.postmaster = config.local.postmaster;
    settings_.delimiter =
        config.local.recipient_delimiter.empty() ? '\0' : config.local.recipient_delimiter.front();
    settings_.depth = config.local.alias_depth;
    settings_.recipients = config.local.alias_recipients;
    aliases_.configure(config.local.aliases);
    aliases_.look(common::Loop::now());
    users_.configure(config.local.users);
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
}

void Categorizer::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    check_stopped();
}

void Categorizer::check_stopped() {
    if (stopped_ && waiting_.empty()) std::exchange(stopped_, nullptr)();
}

void Categorizer::welcome(std::unique_ptr<Visitors> visitor) {
    const auto number = ++last_visitor_;
    visitor->set_callbacks({[this, number](proto::recipient_check::Message&& message) {
                                auto* question = std::get_if<proto::recipient_check::Check>(&message);
                                if (question)
                                    check({number, std::move(*question)});
                                else
                                    visitors_.at(number)->fail("only Check is said here");
                            },
                            [this, number](const std::string&) {
                                auto gone = visitors_.extract(number); // its callback is running
                                surroundings_.loop.later([keep = std::shared_ptr<Visitors>(std::move(
                                                              gone.mapped()))] { static_cast<void>(keep); });
                            }});
    visitors_.emplace(number, std::move(visitor));
}

void Categorizer::categorize(Categorize&& question) {
    std::vector<decide::EnvelopeRecipient> envelope;
    envelope.reserve(question.recipients.size());
    for (auto& recipient : question.recipients) envelope.push_back({recipient.index, recipient.address});
    aliases_.look(common::Loop::now());
    auto expanded = decide::expand(envelope, question.reverse_path.empty(), settings_, tables_);
    if (!expanded.users_needed.empty()) return wait({std::move(question), std::move(expanded.users_needed)});

    Categorized answer;
    answer.request = question.request;
    answer.outcomes.reserve(expanded.recipients.size());
    for (auto& recipient : expanded.recipients) answer.outcomes.push_back(outcome_of(std::move(recipient)));
    queue_manager_.send(answer);
}

void Categorizer::check(Check&& question) {
    const auto visitor = visitors_.find(question.visitor);
    if (visitor == visitors_.end()) return; // gone meanwhile
    aliases_.look(common::Loop::now());
    auto found = decide::check_recipient(question.check.address, settings_, tables_);
    Checked answer;
    answer.request = question.check.request;
    answer.text = std::move(found.text);
    switch (found.verdict) {
    case RecipientCheck::Verdict::not_yet: return wait({std::move(question), {std::move(found.user)}});
    case RecipientCheck::Verdict::known: answer.verdict = Verdict::known; break;
    case RecipientCheck::Verdict::unknown: answer.verdict = Verdict::unknown; break;
    case RecipientCheck::Verdict::not_ours: answer.verdict = Verdict::not_ours; break;
    case RecipientCheck::Verdict::try_later: answer.verdict = Verdict::try_later; break;
    }
    visitor->second->send(answer);
}

void Categorizer::wait(Waiting&& waiting) {
    for (const auto& user : waiting.users) users_.find(user);
    waiting_.emplace(++last_waiting_, std::move(waiting));
}

// Whoever waited for this one last asks again; with what is known now it comes further, or to its end.
void Categorizer::user_found(const std::string& name) {
    std::vector<Waiting> ready;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        at->second.users.erase(name);
        if (!at->second.users.empty()) {
            ++at;
            continue;
        }
        ready.push_back(std::move(at->second));
        at = waiting_.erase(at);
    }
    for (auto& waiting : ready) {
        if (auto* question = std::get_if<Categorize>(&waiting.question))
            categorize(std::move(*question));
        else
            check(std::move(std::get<Check>(waiting.question)));
    }
    check_stopped();
}

} // namespace categorizer
