// A table that a service answers for, over its socket: a few connections, on each one question at a time, the others in
// a row behind. A connection that was closed while it was idle costs nothing. A question that the service hangs up on,
// or answers with nonsense or not at all, is unavailable by itself; while others wait it has a second, if the service is
// a quick one. Several in a row are the whole table's failure if a key that was answered before is not answered either;
// so is a service that cannot be reached.
#pragma once
#include "daemons/common/net/client_stream.h"
#include "daemons/common/lookup/tables/fetched_table.h"
#include "daemons/common/lookup/tables/remote_protocol.h"
#include "daemons/common/runtime/timer.h"
#include <memory>

namespace tables {

// A service: where, and in which words it is asked.
struct Service {
    common::ServiceAddress address;
    std::function<std::string(std::string_view key)> question;
    Heard (*hear)(std::string_view buffer) = nullptr;
    smtp::Duration timeout = std::chrono::seconds(10); // to connect and to be answered
    smtp::Duration cache = std::chrono::seconds(30);
    smtp::Duration crowded_timeout = std::chrono::seconds(1); // while other keys wait
};

class RemoteTable final : public FetchedTable {
public:
    static constexpr std::size_t most_connections = 4;
    static constexpr unsigned most_in_a_row = 3; // questions that came to nothing: then the service is out of order
    RemoteTable(common::Loop& loop, common::Log& log, std::string name, Service service, Known known);
    ~RemoteTable() override;

private:
    struct Line;
    void fetch() override;
    void put(Line& line, std::string key);
    void heard(Line& line, std::string_view bytes);
    void lost(Line& line, const std::string& why);
    void in_vain(Line& line, std::string why);
    bool may_be_the_keys(const Line& line);
    void relieve();
    void give_up(std::string why);
    void leave(std::vector<std::unique_ptr<Line>>&& lines);

    common::Loop& loop_;
    Service service_;
    std::vector<std::unique_ptr<Line>> lines_;
    unsigned in_a_row_ = 0; // questions that came to nothing since the last answer
    std::string answered_before_; // the key that was answered last
    bool quick_ = false;          // … in a small part of crowded_timeout
    common::Timer relief_;
};

} // namespace tables
