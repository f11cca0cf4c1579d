// The lookup tables that the configuration names, by their specifications as written there: files
// ("text:/etc/postrider/virtual", "lmdb:…", "regexp:…", "cidr:…"), services ("socketmap:unix:/run/x:name",
// "tcp:127.0.0.1:3000") and sections ("table:NAME" for [table.NAME], "patterns:NAME"). Files are read again when they
// change, services are queried asynchronously; nothing here waits. Knows no mail: the caller decides which
// keys are looked up, in which order, and what values mean. See postrider-tables(5).
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/format/answer.h"
#include "daemons/common/lookup/format/contents.h"
#include "daemons/common/runtime/loop.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tables {

class Table;

// Of the process that queries databases. `spool`: spool.directory.
std::string maps_socket(const std::string& spool);

class Tables {
public:
    // `answered`: the answer for a key that was not_yet, and was asked for, is now known; called from any turn of the
    // loop but never from within find() or ask(). An empty key: ask again for all keys of that table (its configuration
    // has changed).
    using Answered = std::function<void(const std::string& table, const std::string& key)>;
    Tables(common::Loop& loop, common::Log& log, Answered answered);
    ~Tables();
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;

    // The [table.NAME] sections, and the socket of the process maps (maps_socket()). Keys that wait for an answer of an
    // old table are `answered`.
    void configure(const std::vector<config::LookupTable>& sections, std::string maps_socket = {});

    // Keys are as the caller has them: tables that ignore case fold both sides. A key that no table can have (empty,
    // longer than 4096 bytes, with control characters) is `none`.
    Answer find(std::string_view table, std::string_view key);
    // Fetches an answer that was not_yet; `answered` follows, once for each key however often it was asked for.
    void ask(std::string_view table, std::string_view key);
    // Forgets that a table does not have the key, if that answer is older. True: find() says not_yet now. For those to
    // whom it matters that an entry may be new.
    bool forget_none(std::string_view table, std::string_view key, smtp::Now since);

    // The first lines of a table's file that were skipped or are odd, as far as it was read.
    std::vector<Problem> problems(std::string_view table);
    // Checks the files of tables with problems for changes, even without lookups. Cheap.
    void refresh();
    // For status: the problems of all tables used so far, "one; two"; "" none.
    std::string problem() const;

private:
    Table& table(std::string_view specification);
    using OnAnswer = std::function<void(const std::string& key)>;
    std::unique_ptr<Table> make(const std::string& name, OnAnswer known);
    std::unique_ptr<Table> make(const std::string& name, const config::LookupTable& section, OnAnswer known);
    void tell();

    common::Loop& loop_;
    common::Log& log_;
    Answered answered_;
    std::vector<config::LookupTable> sections_;
    std::string maps_socket_;
    std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
    std::vector<std::pair<std::string, std::string>> ready_; // known already when asked for
    common::TurnHook hook_;
};

} // namespace tables
