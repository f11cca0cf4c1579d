#include "daemons/maps/request_server.h"
#include "daemons/common/lookup/tables/remote_protocol.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/runtime/destroy_later.h"
#include <unistd.h>

namespace maps {

namespace {

// Ours, and root's: the directory of the socket keeps out all others already.
bool may_ask(int socket) {
    const auto peer = common::peer_credentials(socket);
    return peer && (peer->uid == 0 || peer->uid == ::geteuid());
}

} // namespace

struct RequestServer::Client {
    std::unique_ptr<common::ClientStream> stream;
    std::string buffer;
    bool asking = false;
    smtp::Monotonic since{};      // its last question or answer
    std::function<void()> cancel; // of what is being asked
};

RequestServer::RequestServer(common::Loop& loop, common::Log& log, common::Fd listening, Ask ask)
    : loop_(loop), log_(log), ask_(std::move(ask)), sweep_(loop, [this] { close_idle(); }),
      acceptor_(loop, std::move(listening), [this](common::Fd socket) { admit(std::move(socket)); }) {}

RequestServer::~RequestServer() {
    for (const auto& [number, client] : clients_)
        if (client->asking && client->cancel) client->cancel();
}

void RequestServer::admit(common::Fd socket) {
    if (!may_ask(socket.number())) return;
    if (clients_.size() >= most_connections) {
        if (!std::exchange(full_, true))
            log_.warning("{} connections of clients are open: further ones are closed", most_connections);
        return;
    }
    full_ = false;
    if (!sweep_.armed()) sweep_.start(idle_limit);
    const auto number = ++last_;
    auto& client = *(clients_[number] = std::make_unique<Client>());
    client.since = common::Loop::now().monotonic;
    client.stream = std::make_unique<common::ClientStream>(
        loop_, std::move(socket), "a client",
        common::ClientStream::Callbacks{[this, number](std::string_view bytes) { on_data(number, bytes); },
                                        [this, number](const std::string&) { end(number); }});
}

void RequestServer::on_data(std::uint64_t number, std::string_view bytes) {
    const auto found = clients_.find(number);
    if (found == clients_.end()) return;
    auto& client = *found->second;
    client.buffer += bytes;
    if (client.asking) return end(number); // one at a time
    auto request = tables::maps_protocol::parse_request(client.buffer);
    if (!request) return end(number);
    if (!*request) return;
    if ((*request)->bytes != client.buffer.size()) return end(number);
    client.buffer.clear();
    client.asking = true;
    client.since = common::Loop::now().monotonic;
    client.cancel = ask_((*request)->table, (*request)->key,
                         [this, number, alive = std::weak_ptr(alive_)](const tables::Answer& found_answer, bool whole) {
                             if (alive.lock()) answer(number, found_answer, whole);
                         });
}

void RequestServer::answer(std::uint64_t number, const tables::Answer& answer, bool whole_table) {
    const auto found = clients_.find(number);
    if (found == clients_.end()) return;
    found->second->asking = false;
    found->second->since = common::Loop::now().monotonic;
    found->second->stream->send(tables::maps_protocol::reply(answer, whole_table));
}

void RequestServer::close_idle() {
    const auto now = common::Loop::now().monotonic;
    std::vector<std::uint64_t> idle;
    for (const auto& [number, client] : clients_)
        if (!client->asking && now - client->since >= idle_limit) idle.push_back(number);
    for (const auto number : idle) end(number);
    if (!clients_.empty()) sweep_.start(idle_limit);
}

void RequestServer::end(std::uint64_t number) {
    const auto found = clients_.find(number);
    if (found == clients_.end()) return;
    auto client = std::move(found->second);
    clients_.erase(found);
    if (client->asking && client->cancel) client->cancel();
    common::destroy_later(loop_, std::move(client));
}

} // namespace maps
