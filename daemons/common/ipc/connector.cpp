#include "daemons/common/ipc/connector.h"
#include "daemons/common/net/local_socket.h"
#include <algorithm>

namespace ipc {

using namespace std::chrono_literals;

Dialer::Dialer(common::Loop& loop, common::Log& log, std::string path, std::string_view conversation, Identity identity,
               std::function<void(std::unique_ptr<Connection>)> connected)
    : loop_(loop), log_(log), path_(std::move(path)), conversation_(conversation), identity_(std::move(identity)),
      connected_(std::move(connected)), retry_(loop, [this] { dial(); }) {}

void Dialer::dial() {
    connection_.reset();
    auto fd = common::connect_local(path_);
    if (!fd) return failed(fd.error().what);
    connection_.reset(new Connection(loop_, *std::move(fd), this));
    encode<proto::hello::Message>(proto::hello::Hello{conversation_, proto::version, identity_.role, identity_.instance,
                                                      identity_.token_for(path_)},
                                  connection_->begin());
    if (connection_->end() == Connection::Ended::too_long) return failed("its Hello is too long"); // a bad token
    retry_.start(5s); // a server that does not answer is asked again
}

void Dialer::reconnect() {
    const auto wait = std::min<smtp::Duration>(50ms * (1 << std::min(failures_, 6)), 2s);
    retry_.start(wait);
}

void Dialer::connection_lost(const std::string& reason, Connection::Closing closing) {
    if (closing == Connection::Closing::failure) log_.error("\"{}\" connection ended: {}", conversation_, reason);
    reconnect();
}

// A server that is being started may take a moment: only a longer failure is logged.
void Dialer::failed(const std::string& reason) {
    reconnect();
    if (++failures_ == 8) log_.warning("no \"{}\" connection yet: {}", conversation_, reason);
}

void Dialer::on_frame(std::string_view frame) {
    auto message = decode<proto::hello::Message>(frame);
    if (!message || !std::holds_alternative<proto::hello::Welcome>(*message))
        return connection_->fail("it did not answer with Welcome");
    retry_.stop();
    if (failures_ >= 8) log_.info("\"{}\" connection established", conversation_);
    failures_ = 0;
    connected_(std::move(connection_));
}

void Dialer::on_closed(const std::string& reason) {
    const std::string why = reason; // the connection that holds it goes now
    connection_.reset();
    failed(why);
}

} // namespace ipc
