// In which order requests go out to the sources that answer them, tables and users: of each source so many are out at a
// time, and those who ask take turns for its places. So one who has a hundred thousand requests (a large list) costs
// one who has a single one (RCPT) a few answers' time and no more. Files of users are read as those users, who may have
// it take as long as they like: few requests about one user are out, and there are places for many users. Pure; knows
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

class FairLookupQueue {
public:
    using Requester = std::uint64_t;
    static constexpr std::size_t max_per_user = 2, user_file_factor = 4; // as many places as others have, so many times
    explicit FairLookupQueue(std::size_t max_in_flight = 16) : max_in_flight_(max_in_flight) {}

    // At the end of that questioner's line. A question is out once, however many ask it.
    void add(Requester requester, const LookupRequest& what);
    // The next one to go out now; none: there is none, or all places of the sources it could go to are taken.
    std::optional<LookupRequest> next();
    // It is known, whether it was out or not: its place is free.
    void answered(const LookupRequest& what);
    // What that questioner has in line and nobody else is not asked.
    void remove_requester(Requester requester);

private:
    using SourceName = std::pair<LookupRequest::Kind, std::string>;
    struct Line {
        Requester requester = 0;
        std::deque<LookupRequest> requests;
    };
    struct Source {
        std::deque<Line> lines;                       // whose turn is next first
        std::map<LookupRequest, std::size_t> waiting; // and not out: in so many lines
        std::set<LookupRequest> in_flight;
        std::map<std::string, std::size_t> in_flight_of_user; // files of users
    };
    // Questions of all lookup tables together would wait for the slowest of them.
    static SourceName source_of(const LookupRequest& what) {
        return {what.kind, what.kind == LookupRequest::Kind::table ? what.name : std::string()};
    }
    // Whose file it asks for; "" nobody's.
    static std::string user_of(const LookupRequest& what) {
        if (what.kind == LookupRequest::Kind::forward) return what.name;
        return what.kind == LookupRequest::Kind::include ? what.key : std::string();
    }
    static bool is_user_files(const SourceName& source) {
        return source.first == LookupRequest::Kind::forward || source.first == LookupRequest::Kind::include;
    }
    static std::optional<LookupRequest> next_of(Source& source);
    static std::optional<LookupRequest> take_from(Source& source, Line& line, bool& must_wait);

    std::size_t max_in_flight_;
    std::map<SourceName, Source> sources_; // that are asked something
};

} // namespace decide
