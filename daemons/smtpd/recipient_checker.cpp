#include "daemons/smtpd/recipient_checker.h"
#include <vector>

namespace smtpd {

using namespace std::chrono_literals;
using proto::recipient_check::Check;
using proto::recipient_check::Checked;

static constexpr std::size_t most_kept = 10'000; // of each generation
static constexpr auto patience = 10s;            // for an answer
static constexpr auto known_for = 60s, unknown_for = 5s;

RecipientChecker::RecipientChecker(common::Loop& loop, common::Log& log, const std::string& run,
                                   const ipc::Identity& identity)
    : patience_(loop, [this] { give_up(); }),
      categorizer_(loop, log, run + "/private/categorizer", proto::recipient_check::conversation, identity,
                   {[this](proto::recipient_check::Message&& message) { heard(std::move(message)); },
                    [this] { connected(); }}) {}

const RecipientChecker::Answer* RecipientChecker::remembered(const std::string& address,
                                                             smtp::Monotonic now) {
    for (auto* generation : {&young_, &old_}) {
        const auto at = generation->find(address);
        if (at != generation->end() && now < at->second.until) return &at->second.answer;
    }
    return nullptr;
}

std::uint64_t RecipientChecker::ask(const std::string& address, smtp::Monotonic now, Done done) {
    const auto request = ++last_;
    open_.emplace(request, Question{address, now + patience, std::move(done)});
    categorizer_.send(Check{request, address}); // if it is down: when it comes up
    if (!patience_.armed()) patience_.start(1s);
    return request;
}

void RecipientChecker::forget() {
    young_.clear();
    old_.clear();
}

void RecipientChecker::connected() {
    for (auto& [request, question] : open_) categorizer_.send(Check{request, question.address});
}

void RecipientChecker::heard(proto::recipient_check::Message&& message) {
    auto* checked = std::get_if<Checked>(&message);
    if (!checked) return categorizer_.fail("only Checked is said here");
    finish(checked->request, {checked->verdict, std::move(checked->text), std::move(checked->status)});
}

void RecipientChecker::finish(std::uint64_t request, Answer answer) {
    auto question = open_.extract(request); // gone: cancelled
    if (question.empty()) return;
    const auto now = common::Loop::now().monotonic;
    if (answer.verdict != Verdict::try_later) {
        if (young_.size() >= most_kept) {
            old_ = std::move(young_);
            young_.clear();
        }
        const auto lasts = answer.verdict == Verdict::unknown ? unknown_for : known_for;
        young_.insert_or_assign(question.mapped().address, Kept{answer, now + lasts});
    }
    question.mapped().done(answer);
}

void RecipientChecker::give_up() {
    const auto now = common::Loop::now().monotonic;
    std::vector<std::uint64_t> late;
    for (auto& [request, question] : open_)
        if (question.until <= now) late.push_back(request);
    for (auto request : late)
        finish(request, {Verdict::try_later, "unverified address, try again later"});
    if (!open_.empty()) patience_.start(1s);
}

} // namespace smtpd
