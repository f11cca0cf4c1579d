// In which order questions go out to the sources that answer them, tables and users: of each source so many are out at a
// time, and those who ask take turns for its places. So one who has a hundred thousand questions (a large list) costs one
// who has a single one (RCPT) a few answers' time and no more. Files of users are read as those users, who may have it
// take as long as they like: few questions about one user are out, and there are places for many users. Pure; knows
// neither the answers nor what they are for.
#pragma once
#include "daemons/decide/addressing/expansion_tables.h"
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
    static constexpr std::size_t most_of_one_user = 2, users_for_one = 4; // as many places as others have, so many times
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
        std::map<std::string, std::size_t> out_of_user; // files of users
    };
    // Questions of all lookup tables together would wait for the slowest of them.
    static SourceName source_of(const Need& what) {
        return {what.kind, what.kind == Need::Kind::table ? what.name : std::string()};
    }
    // Whose file it asks for; "" nobody's.
    static std::string user_of(const Need& what) {
        if (what.kind == Need::Kind::forward) return what.name;
        return what.kind == Need::Kind::include ? what.key : std::string();
    }
    static bool of_users(const SourceName& source) {
        return source.first == Need::Kind::forward || source.first == Need::Kind::include;
    }
    static std::optional<Need> next_of(Source& source);
    static std::optional<Need> take_from(Source& source, Line& line, bool& has_to_wait);

    std::size_t out_at_a_time_;
    std::map<SourceName, Source> sources_; // that are asked something
};

} // namespace decide
