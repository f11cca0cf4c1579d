#include "daemons/common/submission/recipient_checker.h"
#include <vector>

namespace common {

using namespace std::chrono_literals;
using proto::recipient_check::Check;
using proto::recipient_check::Checked;

static constexpr std::size_t max_cached = 10'000; // of each generation
static constexpr auto patience = 10s;             // for an answer
static constexpr auto known_for = 60s, unknown_for = 5s;

RecipientChecker::RecipientChecker(Loop& loop, Log& log, const std::string& run, const ipc::Identity& identity)
    : expiry_timer_(loop, [this] { expire_questions(); }),
      categorizer_(loop, log, run + "/private/categorizer", proto::recipient_check::conversation, identity,
                   {[this](proto::recipient_check::Message&& message) { on_message(std::move(message)); },
                    [this] { on_connected(); }}) {}

// Entries of the suppression list may be for some mail only.
std::string RecipientChecker::key_of(const Subject& subject) const {
    if (!any_suppressed_) return subject.address;
    const auto at = subject.sender.rfind('@');
    return subject.address + ' ' + (at == subject.sender.npos ? "" : subject.sender.substr(at)) + ' ' + subject.pool +
           ' ' + subject.lane;
}

static Check check_of(std::uint64_t request, const RecipientChecker::Subject& subject) {
    return {request, subject.address, subject.sender, subject.pool, subject.lane};
}

const RecipientChecker::Answer* RecipientChecker::cached(const Subject& subject, smtp::Monotonic now) {
    const auto key = key_of(subject);
    for (auto* generation : {&new_cache_, &old_cache_}) {
        const auto at = generation->find(key);
        if (at != generation->end() && now < at->second.until) return &at->second.answer;
    }
    return nullptr;
}

std::uint64_t RecipientChecker::ask(Subject subject, smtp::Monotonic now, Done done) {
    const auto request = ++last_;
    // If it is down, when it comes up. What a command's line holds fits a frame.
    static_cast<void>(categorizer_.send(check_of(request, subject)));
    open_.emplace(request, Question{std::move(subject), now + patience, std::move(done)});
    if (!expiry_timer_.armed()) expiry_timer_.start(1s);
    return request;
}

void RecipientChecker::clear_cache() {
    new_cache_.clear();
    old_cache_.clear();
}

void RecipientChecker::on_connected() {
    for (auto& [request, question] : open_) static_cast<void>(categorizer_.send(check_of(request, question.subject)));
}

void RecipientChecker::on_message(proto::recipient_check::Message&& message) {
    if (const auto* list = std::get_if<proto::recipient_check::Suppressions>(&message)) {
        any_suppressed_ = list->any;
        return clear_cache();
    }
    auto* checked = std::get_if<Checked>(&message);
    if (!checked) return categorizer_.fail("unexpected message: only Checked and Suppressions are accepted here");
    finish(checked->request,
           {checked->verdict, std::move(checked->text), std::move(checked->status), checked->suppressed});
}

void RecipientChecker::finish(std::uint64_t request, Answer answer) {
    auto question = open_.extract(request); // gone: cancelled
    if (question.empty()) return;
    const auto now = Loop::now().monotonic;
    // Our own domains are asked about: "not ours" is a table that changes just now.
    if (answer.verdict != Verdict::try_later && answer.verdict != Verdict::not_ours) {
        if (new_cache_.size() >= max_cached) {
            old_cache_ = std::move(new_cache_);
            new_cache_.clear();
        }
        const auto lasts = answer.verdict == Verdict::unknown ? unknown_for : known_for;
        new_cache_.insert_or_assign(key_of(question.mapped().subject), CacheEntry{answer, now + lasts});
    }
    question.mapped().done(answer);
}

void RecipientChecker::expire_questions() {
    const auto now = Loop::now().monotonic;
    std::vector<std::uint64_t> late;
    for (auto& [request, question] : open_)
        if (question.until <= now) late.push_back(request);
    for (auto request : late) finish(request, {Verdict::try_later, "unverified address, try again later"});
    if (!open_.empty()) expiry_timer_.start(1s);
}

} // namespace common
