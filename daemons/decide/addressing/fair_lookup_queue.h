// The order in which requests go out to the sources that answer them, tables and users: each source has a limited
// number of requests in flight, and requesters take turns for these places. So a requester with a hundred thousand
// requests (a large list) costs one with a single request (RCPT) the time of a few answers and no more. Users' files
// are read as those users, who can make that take as long as they like: few requests about one user are in flight, but
// there are places for many users. Pure; knows neither the answers nor what they are for.
#pragma once
#include "daemons/decide/rewriting/expansion_tables.h"
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
    static constexpr std::size_t max_per_user = 2, user_file_factor = 4; // … times the places of other sources
    explicit FairLookupQueue(std::size_t max_in_flight = 16) : max_in_flight_(max_in_flight) {}

    // At the end of that requester's line. A request is sent once, even if several requesters ask for it.
    void add(Requester requester, const LookupRequest& what);
    // The next one to send now; empty: there is none, or all places of the sources it could go to are taken.
    std::optional<LookupRequest> next();
    // It is known, whether it was sent or not: its place is free.
    void answered(const LookupRequest& what);
    // Requests that only this requester has in line are dropped.
    void remove_requester(Requester requester);

private:
    using SourceName = std::pair<LookupRequest::Kind, std::string>;
    struct Line {
        Requester requester = 0;
        std::deque<LookupRequest> requests;
    };
    struct Source {
        std::deque<Line> lines;                       // whose turn is next first
        std::map<LookupRequest, std::size_t> waiting; // not sent yet; value: number of lines it is in
        std::set<LookupRequest> in_flight;
        std::map<std::string, std::size_t> in_flight_of_user; // files of users
    };
    // A shared limit would make all lookup tables wait for the slowest of them.
    static SourceName source_of(const LookupRequest& what) {
        return {what.kind, what.kind == LookupRequest::Kind::table ? what.name : std::string()};
    }
    // The user whose file is requested; "" if none.
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
    std::map<SourceName, Source> sources_; // those with open requests
};

} // namespace decide
