#include "daemons/pickup/relayed_submissions.h"
#include <algorithm>
#include <unistd.h>
#include <utility>

namespace pickup {

namespace relayed = proto::relayed_submission;
namespace submit = proto::submit;

class RelayedSubmissions::Client {
public:
    Client(RelayedSubmissions& owner, std::unique_ptr<Channel> channel) : owner_(owner), channel_(std::move(channel)) {
        channel_->set_callbacks({[this](relayed::Message&& message) { take(std::move(message)); },
                                 [this](const std::string&) { owner_.gone(*this); }});
    }
    ~Client() {
        if (submission_) submission_->abandon();
    }
    Client(const Client&) = delete;
    bool open() const { return submission_ && submission_->ended(); }

private:
    void take(relayed::Message&& message) {
        if (auto* source = std::get_if<relayed::Source>(&message)) return begin(std::move(*source));
        if (std::holds_alternative<relayed::Outcome>(message)) return channel_->fail("an outcome instead of a message");
        if (!submission_) return; // the rest of a refused one
        std::visit(
            [this](auto&& part) {
                if constexpr (std::is_constructible_v<submit::Message, decltype(part)>)
                    submission_->take(submit::Message(std::forward<decltype(part)>(part)));
            },
            std::move(message));
        if (!submission_ || !submission_->wants_pause()) return;
        channel_->stop_reading();
        submission_->on_resume([this] { channel_->resume_reading(); });
    }

    void begin(relayed::Source source) {
        if (submission_) return channel_->fail("a message within another one");
        submission_ = Submission::create(
            owner_.context_, ::geteuid(), [this](const submit::Answer& answer) { report(answer); },
            RejectionNotice::to_program, source.node ? ImportPolicy::transfers : ImportPolicy::rejected,
            RelayedClient{std::move(source.submitter), std::move(source.client)});
    }

    void report(const submit::Answer& answer) {
        const auto submission = std::exchange(submission_, nullptr);
        relayed::Outcome outcome{.status = answer.status,
                                 .queue_id = answer.queue_id,
                                 .message_id = submission->message_id(),
                                 .text = answer.status == 0 ? std::string() : answer.text,
                                 .cause = submission->cause(),
                                 .duplicate = submission->duplicate(),
                                 .node = submission->first_node(),
                                 .suppressed = {}};
        for (const auto& each : submission->left_out()) outcome.suppressed.push_back({each.address, each.reason});
        if (channel_->send(outcome) != ipc::SendResult::too_long) return;
        outcome.suppressed.clear();
        if (outcome.text.size() > 1000) outcome.text.resize(1000);
        static_cast<void>(channel_->send(outcome));
    }

    RelayedSubmissions& owner_;
    std::unique_ptr<Channel> channel_;
    std::shared_ptr<Submission> submission_;
};

RelayedSubmissions::RelayedSubmissions(SubmissionContext& context, common::Fd fd, ipc::ExpectedTokens expected)
    : context_(context), listener_(context.loop, context.log, std::move(fd), std::move(expected)) {
    listener_.serve<relayed::Message>(relayed::conversation, {proto::Role::http}, [this](ipc::Peer, auto channel) {
        clients_.push_back(std::make_unique<Client>(*this, std::move(channel)));
    });
}

RelayedSubmissions::~RelayedSubmissions() = default;

std::size_t RelayedSubmissions::open() const {
    return static_cast<std::size_t>(std::ranges::count_if(clients_, [](const auto& each) { return each->open(); }));
}

void RelayedSubmissions::gone(Client& client) {
    context_.loop.defer([this, &client] { // it is in the middle of a callback
        std::erase_if(clients_, [&](const auto& each) { return each.get() == &client; });
    });
}

} // namespace pickup
