// One connection to a server of a database, for one table, as the pool's threads use it: each call blocks, no longer
// than until its deadline as far as the library can be told. An adapter knows its library and the table's file; no
// other connection, no loop, no log.
#pragma once
#include "daemons/common/lookup/database/table_file.h"
#include "daemons/common/lookup/format/answer.h"
#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <vector>

namespace maps {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// The result of a lookup.
struct Outcome {
    tables::Answer answer;
    bool whole_table = false; // unavailable is not this key alone: the query, or the server, is at fault
    bool lost = false;        // the connection cannot be used again
};

class Database {
public:
    virtual ~Database() = default;
    // The error does not name the server.
    virtual std::expected<void, std::string> connect(const tables::DatabaseServer& server, Deadline deadline) = 0;
    virtual Outcome look_up(const std::string& key, Deadline deadline) = 0;

protected:
    static Outcome unavailable(std::string why, bool whole_table, bool lost) {
        return {tables::Answer::unavailable(std::move(why)), whole_table, lost};
    }
};

// Null: this program was built without the library for this kind. The table must outlive it.
std::unique_ptr<Database> make_database(const tables::DatabaseTable& table);

// What libraries need once, before there are threads.
void prepare_libraries();

// Until then, at least 1.
inline std::chrono::milliseconds remaining(Deadline deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return std::max(left, std::chrono::milliseconds(1));
}
inline unsigned remaining_seconds(Deadline deadline) {
    return static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(remaining(deadline)).count());
}

} // namespace maps
