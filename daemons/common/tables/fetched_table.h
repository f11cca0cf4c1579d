// What tables have in common whose answers must be fetched: they are kept for a while, each key is asked for once
// however many wait for it, and a source that fails is left alone for a moment, while all it is asked is unavailable.
#pragma once
#include "daemons/common/log.h"
#include "daemons/common/loop.h"
#include "daemons/common/tables/answer_cache.h"
#include "daemons/common/tables/table.h"
#include <deque>
#include <optional>
#include <set>

namespace tables {

class FetchedTable : public Table {
public:
    Answer find(std::string_view key, smtp::Now now) final;
    bool ask(const std::string& key, smtp::Now now) final;
    std::string trouble() const final;

protected:
    // `name`: the specification, for logs and answers.
    FetchedTable(common::Log& log, std::string name, smtp::Duration cache, Known known);

    // Keys are waiting: take as many as can be fetched now. Called from ask(); nothing may be answered from within.
    virtual void fetch() = 0;

    std::optional<std::string> next(); // the key that has waited longest; it is under way now
    void put_back(std::string key);    // … and first again
    // For a key that was taken. Values that are empty or have control characters are unavailable.
    void answered(const std::string& key, Answer answer);
    // All that wait and all that are under way: unavailable.
    void failed(std::string why);
    const std::string& name() const { return name_; }

private:
    common::Log& log_;
    std::string name_;
    smtp::Duration cache_time_;
    Known known_;
    AnswerCache cache_;
    std::deque<std::string> waiting_;
    std::set<std::string, std::less<>> pending_; // those waiting, and those under way
    std::string down_;                           // why it failed last; "" it has answered since
    smtp::Monotonic down_until_{};
    smtp::Duration down_for_{};
};

} // namespace tables
