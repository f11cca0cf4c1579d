#include "daemons/smtpd/policy/address_verifier.h"
#include <algorithm>
#include <vector>

namespace smtpd {

using namespace std::chrono_literals;
using decide::verification::Deliverability;
using proto::verification::Verified;
using proto::verification::Verify;

AddressVerifier::AddressVerifier(common::Loop& loop, common::Log& log, const std::string& run,
                                 const ipc::Identity& identity)
    : expiry_timer_(loop, [this] { expire_questions(); }), connect_([this, &loop, &log, run, identity] {
          queue_manager_.emplace(loop, log, run + "/private/queue-manager", proto::verification::conversation, identity,
                                 ipc::Connector<proto::verification::Message>::Callbacks{
                                     [this](proto::verification::Message&& message) { on_message(std::move(message)); },
                                     [this] { on_connected(); }});
      }) {}

AddressVerifier::Answer AddressVerifier::in_progress() {
    return {Deliverability::unknown, "Address verification in progress"};
}

std::uint64_t AddressVerifier::ask(std::string address, smtp::Monotonic now, Done done) {
    const auto request = ++last_;
    if (!queue_manager_) connect_();
    // If it is down, when it comes up. What a command's line holds fits a frame.
    static_cast<void>(queue_manager_->send(Verify{request, address}));
    open_.emplace(request, Question{std::move(address), now + wait_, std::move(done)});
    arm(now);
    return request;
}

void AddressVerifier::on_connected() {
    for (const auto& [request, question] : open_)
        static_cast<void>(queue_manager_->send(Verify{request, question.address}));
}

void AddressVerifier::on_message(proto::verification::Message&& message) {
    auto* verified = std::get_if<Verified>(&message);
    if (!verified) return queue_manager_->fail("unexpected message: only Verified is accepted here");
    finish(verified->request, {verified->what, std::move(verified->text)});
}

void AddressVerifier::finish(std::uint64_t request, const Answer& answer) {
    const auto question = open_.extract(request); // gone: cancelled, or too late
    if (!question.empty()) question.mapped().done(answer);
}

// A reload may have made the wait shorter: the first question is not always the first to run out.
void AddressVerifier::expire_questions() {
    const auto now = common::Loop::now().monotonic;
    std::vector<std::uint64_t> late;
    for (const auto& [request, question] : open_)
        if (question.until <= now) late.push_back(request);
    for (const auto request : late) finish(request, in_progress());
    arm(now);
}

void AddressVerifier::arm(smtp::Monotonic now) {
    if (open_.empty() || expiry_timer_.armed()) return;
    const auto first = open_.begin()->second.until;
    expiry_timer_.start(std::clamp<smtp::Duration>(first - now, 1ms, 1s));
}

} // namespace smtpd
