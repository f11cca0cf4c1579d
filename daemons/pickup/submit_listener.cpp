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
class Door::Visitor final : ipc::Connection::Sink {
public:
    Visitor(Door& door, common::Fd fd, const common::Credentials& peer)
        : door_(door), uid_(peer.uid), patience_(door.deadlines_, [this] { door_.gone(*this); }),
          submission_(Submission::create(door.service_, uid_, [this](const Answer& answer) { say(answer); }, Waits::program,
                                         door.service_.operators.include(peer) ? Imports::taken : Imports::refused)),
          connection_(std::make_unique<ipc::Connection>(door.service_.loop, std::move(fd),
                                                        static_cast<ipc::Connection::Sink*>(this))) {
        wait();
    }
    ~Visitor() { submission_->abandon(); }
    Visitor(const Visitor&) = delete;

    uid_t uid() const { return uid_; }
    bool leaving = false;

private:
    void wait() { patience_.set(common::Loop::now().monotonic + door_.service_.config->submit.timeout); }

    void on_frame(std::string_view frame) override {
        if (answered_ || leaving) return; // the rest of what was refused
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
            door_.service_.log.warning("a submission by uid={} broke off: {}", uid_, reason);
        door_.gone(*this);
    }
    void say(const Answer& answer) {
        answered_ = true;
        ipc::encode<Message>(answer, connection_->begin());
        if (connection_->end() == ipc::Connection::Ended::too_long) {
            ipc::encode<Message>(Answer{answer.status, answer.queue_id, "the reason is too long to be told"}, connection_->begin());
            static_cast<void>(connection_->end());
        }
        patience_.set(common::Loop::now().monotonic + 10s); // to read it and go
    }

    Door& door_;
    const uid_t uid_;
    bool answered_ = false;
    common::Deadline patience_;
    std::shared_ptr<Submission> submission_;
    std::unique_ptr<ipc::Connection> connection_;
};

Door::Door(Service& service, common::Fd fd)
    : service_(service), fd_(std::move(fd)), poll_(common::make_poll(service.loop.uv(), this, fd_.number())),
      pause_(service.loop, [this] { listen(); }), deadlines_(service.loop) {
    listen();
}

Door::~Door() = default;

void Door::close() {
    if (!poll_) return;
    while (accept()) {} // whoever has connected may have said all, and could not know that nobody heard it
    pause_.stop();
    poll_.reset();
    fd_.reset();
}

void Door::listen() {
    if (!poll_) return;
    uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        if (auto* self = common::owner_of<Door>(poll)) self->accept();
    });
}

bool Door::accept() {
    for (int n = 0; n < 64; ++n) {
        common::Fd fd(::accept4(fd_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd) {
            admit(std::move(fd));
            continue;
        }
        if (errno == EAGAIN) return false;
        if (errno == EINTR || errno == ECONNABORTED) continue;
        service_.log.warning("cannot accept a submission: {}", std::strerror(errno));
        uv_poll_stop(poll_.get()); // else it would spin
        pause_.start(200ms);
        return false;
    }
    return true;
}

void Door::admit(common::Fd fd) {
    const auto& limits = service_.config->submit;
    const auto peer = common::peer_credentials(fd.number());
    if (!peer) return turn_away(std::move(fd), "the kernel does not say who you are");
    if (visitors_.size() >= limits.connections)
        return turn_away(std::move(fd), "too many submissions at once, try again later");
    auto& mine = per_user_[peer->uid];
    if (mine >= limits.connections_per_user)
        return turn_away(std::move(fd), "too many submissions of yours at once, try again later");
    ++mine;
    visitors_.push_back(std::make_unique<Visitor>(*this, std::move(fd), *peer));
}

// Never in silence.
void Door::turn_away(common::Fd fd, const char* why) {
    std::string wire;
    const auto begun = ipc::begin_frame(wire);
    ipc::encode<Message>(Answer{EX_TEMPFAIL, {}, why}, wire);
    ipc::end_frame(wire, begun);
    static_cast<void>(::send(fd.number(), wire.data(), wire.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    service_.log.warning("submission turned away: {}", why);
}

void Door::gone(Visitor& visitor) {
    if (std::exchange(visitor.leaving, true)) return;
    if (const auto user = per_user_.find(visitor.uid()); --user->second == 0) per_user_.erase(user);
    service_.loop.later([this, &visitor] { // it may be in the middle of a callback
        std::erase_if(visitors_, [&](const auto& each) { return each.get() == &visitor; });
    });
}

} // namespace pickup
