#include "daemons/common/ipc/listener.h"
#include <algorithm>
#include <sys/socket.h>

namespace ipc {

using namespace std::chrono_literals;

// A connection that has not sent Hello yet.
class Listener::PendingConnection final : Connection::Sink {
public:
    PendingConnection(Listener& listener, common::Fd fd)
        : listener_(listener), connection_(new Connection(listener.loop_, std::move(fd), this)),
          patience_(listener.loop_, [this] { listener_.reject(*this, "it sent nothing for 5 s"); }) {
        patience_.start(5s);
    }
    std::unique_ptr<Connection> take() {
        patience_.stop();
        return std::move(connection_);
    }
    void end() {
        patience_.stop();
        over_ = true;
    }
    bool over() const { return over_; }

private:
    void on_frame(std::string_view frame) override {
        if (over_) return;
        auto message = decode<proto::hello::Message>(frame);
        if (!message) return listener_.reject(*this, "malformed: " + message.error().why);
        if (auto* hello = std::get_if<proto::hello::Hello>(&*message)) return listener_.welcome(*this, *hello);
        listener_.reject(*this, "it did not begin with Hello");
    }
    void on_closed(const std::string& reason) override {
        if (!over_) listener_.reject(*this, reason);
    }

    Listener& listener_;
    std::unique_ptr<Connection> connection_;
    common::Timer patience_;
    bool over_ = false;
};

Listener::Listener(common::Loop& loop, common::Log& log, common::Fd fd, ExpectedTokens expected)
    : loop_(loop), log_(log), expected_(std::move(expected)),
      sweep_(loop, [this] { pending_.remove_if([](const auto& each) { return each->over(); }); }),
      acceptor_(
          loop, std::move(fd),
          [this](common::Fd socket) {
              pending_.push_back(std::make_unique<PendingConnection>(*this, std::move(socket)));
          },
          [this](int error) { log_.warning("cannot accept a local connection: {}", std::strerror(error)); }) {}

Listener::~Listener() = default;

void Listener::welcome(PendingConnection& greeting, const proto::hello::Hello& hello) {
    const auto service = std::ranges::find(services_, hello.conversation, &Service::conversation);
    if (service == services_.end()) return reject(greeting, "unknown conversation \"" + hello.conversation + "\"");
    if (auto why = rejection_reason(hello, service->roles, expected_); !why.empty()) return reject(greeting, why);
    auto connection = greeting.take();
    greeting.end();
    sweep_.schedule();
    encode<proto::hello::Message>(proto::hello::Welcome{}, connection->begin());
    static_cast<void>(connection->end()); // numbers
    service->accepted({hello.role, hello.instance}, std::move(connection));
}

void Listener::reject(PendingConnection& greeting, const std::string& why) {
    log_.warning("local connection refused: {}", why);
    greeting.end();
    sweep_.schedule();
}

} // namespace ipc
