// The lookup tables that the configuration names, by their specifications as written there: files
// ("text:/etc/postrider/virtual", "lmdb:…", "regexp:…", "cidr:…"), services ("socketmap:unix:/run/x:name",
// "tcp:127.0.0.1:3000") and sections ("table:NAME" for [table.NAME]). Files are read again when they
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

class Tables {
public:
    // `answered`: a key that was not_yet and asked for is known now, from any turn of the loop but never from within
    // find() or ask(). With an empty key: of that table ask everything again (its configuration has changed).
    using Answered = std::function<void(const std::string& table, const std::string& key)>;
    Tables(common::Loop& loop, common::Log& log, Answered answered);
    ~Tables();
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;

    // The [table.NAME] sections there are. What waits for an answer of the old ones is `answered`.
    void configure(const std::vector<config::LookupTable>& sections);

    // Keys are as the caller has them: tables that know no case fold both sides. A key that no table can have (empty,
    // longer than 4096 bytes, with control characters) is `none`.
    Answer find(std::string_view table, std::string_view key);
    // Fetches what was not_yet; `answered` follows, once for each key however often it was asked for.
    void ask(std::string_view table, std::string_view key);

    // Lines of a table's file that were skipped or are odd, the first of them, as far as it was read.
    std::vector<Problem> problems(std::string_view table);
    // Notices what has changed of the files of tables with problems, though nobody asks them. Cheap.
    void refresh();
    // For whoever asks how we are: what is wrong with each of the tables that were asked, "one; two"; "" nothing.
    std::string problem() const;

private:
    Table& table(std::string_view specification);
    std::unique_ptr<Table> make(const std::string& name);
    std::unique_ptr<Table> make(const std::string& name, const config::LookupTable& section);
    void tell();

    common::Loop& loop_;
    common::Log& log_;
    Answered answered_;
    std::vector<config::LookupTable> sections_;
    std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
    std::vector<std::pair<std::string, std::string>> ready_; // known already when they were asked for
    common::TurnHook hook_;
};

} // namespace tables
