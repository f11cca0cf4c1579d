// In which order questions go out to the sources that answer them, tables and users: of each source so many are out at a
// time, and those who ask take turns for its places. So one who has a hundred thousand questions (a large list) costs one
// who has a single one (RCPT) a few answers' time and no more. Pure; knows neither the answers nor what they are for.
#pragma once
#include "daemons/decide/expansion_tables.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace decide {

class QuestionTurns {
public:
    using Questioner = std::uint64_t;
    explicit QuestionTurns(std::size_t out_at_a_time = 16) : out_at_a_time_(out_at_a_time) {}

    // At the end of that questioner's line. A question is out once, however many ask it.
    void ask(Questioner who, const Need& what);
    // The next one to go out now; none: there is none, or all places of the sources it could go to are taken.
    std::optional<Need> next();
    // It is known, whether it was out or not: its place is free.
    void answered(const Need& what);
    // What that questioner has in line and nobody else is not asked.
    void left(Questioner who);

private:
    using SourceName = std::pair<Need::Kind, std::string>;
    struct Line {
        Questioner who = 0;
        std::deque<Need> questions;
    };
    struct Source {
        std::deque<Line> lines; // whose turn is next first
        std::map<Need, std::size_t> waiting; // and not out: in so many lines
        std::set<Need> out;
    };
    // Questions of all lookup tables together would wait for the slowest of them.
    static SourceName source_of(const Need& what) {
        return {what.kind, what.kind == Need::Kind::table ? what.name : std::string()};
    }
    std::optional<Need> next_of(Source& source) const;

    std::size_t out_at_a_time_;
    std::map<SourceName, Source> sources_; // that are asked something
};

} // namespace decide
