// Several tables as one: the values that all of them have for a key ("union"), or the value that the last one has,
// where the value in each table is the key in the next one ("chain"). As Postfix's unionmap and pipemap. If one of them
// cannot be queried, neither can this one. Owns its tables; waits for none.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/tables/answer_cache.h"
#include "daemons/common/lookup/tables/table.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tables {

class CombinedTable final : public Table {
public:
    // Makes one of the tables, which calls what is passed with each key that it was asked for.
    using Make = std::function<std::unique_ptr<Table>(OnAnswer)>;
    // `named`: "table NAME: ", for what it says itself.
    CombinedTable(std::string named, config::LookupKind kind, const std::vector<Make>& parts, OnAnswer on_answer);

    Answer find(std::string_view key, smtp::Now now) override;
    bool ask(const std::string& key, smtp::Now now) override;
    bool forget_none(const std::string& key, smtp::Now since) override;
    void refresh(smtp::Now now) override;
    std::string problem() const override;
    std::vector<Problem> problems() const override;

private:
    // What the tables have said about a key so far; of a chain about the key that each of them was asked for.
    using Progress = std::vector<std::optional<Answer>>;
    struct Open { // a question that is still to be answered
        std::size_t part = 0;
        std::string key;
        auto operator<=>(const Open&) const = default;
    };
    Answer merged(std::string_view key, Progress& progress, smtp::Now now, std::vector<Open>& open);
    Answer chained(std::string_view key, Progress& progress, smtp::Now now, std::vector<Open>& open);
    Answer evaluate(std::string_view key, Progress& progress, smtp::Now now, std::vector<Open>& open);
    // Asks for what is open. Nothing: an answer follows; else there is nothing to wait for.
    std::optional<Answer> wait(const std::string& key, Progress& progress, smtp::Now now);
    void part_answered(std::size_t part, const std::string& key);

    std::string named_;
    config::LookupKind kind_; // merged or chained
    OnAnswer on_answer_;
    std::map<std::string, Progress, std::less<>> pending_;
    std::map<Open, std::vector<std::string>> waiting_; // keys that depend on the answer
    AnswerCache cache_{1 << 20};                       // until those who asked have called find()
    std::vector<std::unique_ptr<Table>> parts_;        // last: they call this one
};

} // namespace tables
