#include "daemons/pickup/submit_listener.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/net/local_socket.h"
#include <algorithm>
#include <cstring>
#include <sys/socket.h>

namespace pickup {

using namespace std::chrono_literals;
using namespace proto::submit;

// One program and its message.
class SubmitListener::Client final : ipc::Connection::Sink {
public:
    Client(SubmitListener& listener, common::Fd fd, const common::Credentials& peer)
        : listener_(listener), uid_(peer.uid), patience_(listener.deadlines_, [this] { listener_.gone(*this); }),
          submission_(Submission::create(
              listener.context_, uid_, [this](const Answer& answer) { say(answer); }, RejectionNotice::to_program,
              listener.context_.operators.includes(peer) ? ImportPolicy::accepted : ImportPolicy::rejected)),
          connection_(std::make_unique<ipc::Connection>(listener.context_.loop, std::move(fd),
                                                        static_cast<ipc::Connection::Sink*>(this))) {
        wait();
    }
    ~Client() { submission_->abandon(); }
    Client(const Client&) = delete;

    uid_t uid() const { return uid_; }
    bool leaving = false;

private:
    void wait() { patience_.set(common::Loop::now().monotonic + listener_.context_.config->submit.timeout); }

    void on_frame(std::string_view frame) override {
        if (answered_ || leaving) return; // the rest of a rejected submission
        wait();
        const auto message = ipc::decode<Message>(frame);
        if (!message) return connection_->fail("malformed message: " + message.error().why);
        submission_->take(*message);
        if (submission_->ended()) patience_.clear(); // the disk's patience is longer than ours
        if (!submission_->wants_pause()) return;
        connection_->stop_reading();
        patience_.clear();
        submission_->on_resume([this] {
            wait();
            connection_->resume_reading();
        });
    }
    void on_closed(const std::string& reason) override {
        if (!answered_ && !submission_->ended())
            listener_.context_.log.warning("a submission by uid={} was interrupted: {}", uid_, reason);
        listener_.gone(*this);
    }
    void say(const Answer& answer) {
        answered_ = true;
        ipc::encode<Message>(answer, connection_->begin());
        if (connection_->end() == ipc::Connection::Ended::too_long) {
            ipc::encode<Message>(Answer{answer.status, answer.queue_id, "the reason is too long to be reported"},
                                 connection_->begin());
            static_cast<void>(connection_->end());
        }
        patience_.set(common::Loop::now().monotonic + 10s); // to read it and go
    }

    SubmitListener& listener_;
    const uid_t uid_;
    bool answered_ = false;
    common::Deadline patience_;
    std::shared_ptr<Submission> submission_;
    std::unique_ptr<ipc::Connection> connection_;
};

SubmitListener::SubmitListener(SubmissionContext& context, common::Fd fd)
    : context_(context), deadlines_(context.loop) {
    acceptor_.emplace(
        context.loop, std::move(fd), [this](common::Fd socket) { admit(std::move(socket)); },
        [this](int error) { context_.log.warning("cannot accept a submission: {}", std::strerror(error)); });
}

SubmitListener::~SubmitListener() = default;

void SubmitListener::close() {
    if (!acceptor_) return;
    acceptor_->drain(); // clients already connected may have sent everything, and cannot know that it would not be read
    acceptor_.reset();
}

void SubmitListener::admit(common::Fd fd) {
    const auto& limits = context_.config->submit;
    const auto peer = common::peer_credentials(fd.number());
    if (!peer) return turn_away(std::move(fd), "the kernel does not identify the caller");
    if (clients_.size() >= limits.connections)
        return turn_away(std::move(fd), "too many submissions at once, try again later");
    auto& mine = per_user_[peer->uid];
    if (mine >= limits.connections_per_user)
        return turn_away(std::move(fd), "too many simultaneous submissions by this user, try again later");
    ++mine;
    clients_.push_back(std::make_unique<Client>(*this, std::move(fd), *peer));
}

// Always sends an answer.
void SubmitListener::turn_away(common::Fd fd, const char* why) {
    std::string wire;
    const auto begun = ipc::begin_frame(wire);
    ipc::encode<Message>(Answer{EX_TEMPFAIL, {}, why}, wire);
    ipc::end_frame(wire, begun);
    static_cast<void>(::send(fd.number(), wire.data(), wire.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    context_.log.warning("submission turned away: {}", why);
}

void SubmitListener::gone(Client& client) {
    if (std::exchange(client.leaving, true)) return;
    if (const auto user = per_user_.find(client.uid()); --user->second == 0) per_user_.erase(user);
    context_.loop.defer([this, &client] { // it may be in the middle of a callback
        std::erase_if(clients_, [&](const auto& each) { return each.get() == &client; });
    });
}

} // namespace pickup
