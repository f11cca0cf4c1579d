// The socket of maps: daemons, and root's commands, ask one key at a time on each connection, in the words of
// maps_protocol. Programs of other users are turned away. Knows no tables: each request goes to the daemon.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/format/answer.h"
#include "daemons/common/net/acceptor.h"
#include "daemons/common/net/client_stream.h"
#include "daemons/common/runtime/timer.h"
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace maps {

class RequestServer {
public:
    static constexpr std::size_t most_connections = 1000;
    static constexpr std::chrono::seconds idle_limit{30}; // clients connect again when they have a question

    using Reply = std::function<void(const tables::Answer& answer, bool whole_table)>;
    // `reply` is called once, not from within; it does nothing after the connection's end. The result is called when
    // the connection ends before the reply.
    using Ask = std::function<std::function<void()>(const std::string& table, const std::string& key, Reply reply)>;

    RequestServer(common::Loop& loop, common::Log& log, common::Fd listening, Ask ask);
    ~RequestServer();

    std::size_t connections() const { return clients_.size(); }

private:
    struct Client;
    void admit(common::Fd socket);
    void on_data(std::uint64_t number, std::string_view bytes);
    void answer(std::uint64_t number, const tables::Answer& answer, bool whole_table);
    void end(std::uint64_t number);
    void close_idle();

    common::Loop& loop_;
    common::Log& log_;
    Ask ask_;
    std::map<std::uint64_t, std::unique_ptr<Client>> clients_;
    std::uint64_t last_ = 0;
    bool full_ = false; // and logged
    common::Timer sweep_;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
    common::Acceptor acceptor_;
};

} // namespace maps
