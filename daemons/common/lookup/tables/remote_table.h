// A table served by another process over its socket: a few connections, one request at a time on each, the
// others queued. A connection that was closed while it was idle costs nothing. A request that makes the
// service close the connection, or that gets an invalid answer or none, is unavailable by itself; while
// others wait it has one second, if the service is a fast one. Several in a row are a failure of the whole
// table if a key that was answered before is not answered either; so is a service that cannot be reached.
#pragma once
#include "daemons/common/lookup/tables/fetched_table.h"
#include "daemons/common/lookup/tables/remote_protocol.h"
#include "daemons/common/net/client_stream.h"
#include "daemons/common/runtime/timer.h"
#include <memory>

namespace tables {

// A service: where, and in which words it is asked.
struct Service {
    common::ServiceAddress address;
    std::function<std::string(std::string_view key)> request;
    ParseResult (*parse_reply)(std::string_view buffer) = nullptr;
    smtp::Duration timeout = std::chrono::seconds(10); // to connect and to be answered
    smtp::Duration cache = std::chrono::seconds(30);
    smtp::Duration contended_timeout = std::chrono::seconds(1); // while other keys wait
    std::string unreachable = {}; // what to report when no connection can be made; "": the error
};

class RemoteTable final : public FetchedTable {
public:
    static constexpr std::size_t most_connections = 4;
    static constexpr unsigned max_consecutive_failures =
        3; // questions that came to nothing: then the service is out of order
    RemoteTable(common::Loop& loop, common::Log& log, std::string name, Service service, OnAnswer on_answer);
    ~RemoteTable() override;

private:
    struct Connection;
    void fetch() override;
    void put(Connection& line, std::string key);
    void on_data(Connection& line, std::string_view bytes);
    void on_closed(Connection& line, const std::string& why);
    void request_failed(Connection& line, std::string why);
    bool may_be_key_specific(const Connection& line);
    void expire_slow_requests();
    void give_up(std::string why);
    void leave(std::vector<std::unique_ptr<Connection>>&& lines);

    common::Loop& loop_;
    Service service_;
    std::vector<std::unique_ptr<Connection>> connections_;
    unsigned consecutive_failures_ = 0; // questions that came to nothing since the last answer
    std::string last_answered_key_;     // the key that was answered last
    bool answers_quickly_ = false;      // … in a small part of contended_timeout
    common::Timer slow_request_timer_;
};

} // namespace tables
