// The common part of tables whose answers must be fetched: answers are cached, each key is fetched
// once however many callers wait for it, and a source that fails is not queried for a moment,
// during which every lookup is unavailable. The same applies to one domain, if several of its keys
// in a row fail while the source answers others: they do not delay the lookups of others.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/tables/answer_cache.h"
#include "daemons/common/lookup/tables/table.h"
#include "daemons/common/runtime/loop.h"
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace tables {

class FetchedTable : public Table {
public:
    Answer find(std::string_view key, smtp::Now now) final;
    bool ask(const std::string& key, smtp::Now now) final;
    bool forget_none(const std::string& key, smtp::Now since) final;
    std::string problem() const final;

protected:
    // `name`: the specification, for logs and answers.
    FetchedTable(common::Log& log, std::string name, smtp::Duration cache, OnAnswer on_answer);

    // Keys are waiting: fetch as many as possible now. Called from ask(); must not answer from within.
    virtual void fetch() = 0;

    std::optional<std::string> next();      // the key that has waited longest; now being fetched
    void put_back(std::string key);         // … and first again
    void ask_first(const std::string& key); // by the table on its own; no caller need wait for it
    bool is_pending(const std::string& key) const { return pending_.contains(key); }
    bool has_waiting_keys() const { return !waiting_.empty(); }
    // For a key from next(). Values that are empty or have control characters are unavailable.
    void answered(const std::string& key, Answer answer);
    // A key from next() is unavailable, and after several failures so are the others of its domain.
    void key_failed(const std::string& key, std::string why);
    // All keys, waiting or being fetched, are unavailable.
    void failed(std::string why);
    const std::string& name() const { return name_; }

private:
    struct Domain { // with failed keys
        unsigned consecutive_failures = 0;
        std::string why; // why it is not queried; "": it is
        smtp::Monotonic until{};
        smtp::Duration pause{};
    };
    const Domain* backing_off(std::string_view key, smtp::Monotonic now) const;
    void back_off(std::string_view name, Domain& domain, const std::string& why);

    common::Log& log_;
    std::string name_;
    smtp::Duration cache_time_;
    OnAnswer on_answer_;
    AnswerCache cache_;
    std::deque<std::string> waiting_;
    std::set<std::string, std::less<>> pending_; // those waiting, and those being fetched
    std::map<std::string, Domain, std::less<>> domains_;
    std::string outage_; // why it failed last; "": it has answered since
    smtp::Monotonic outage_until_{};
    smtp::Duration outage_backoff_{};
};

} // namespace tables
