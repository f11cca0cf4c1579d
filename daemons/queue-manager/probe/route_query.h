// Where would mail for this address go? Asks categorizer and router as for a message, but without one: nothing is
// recorded, sent or remembered. Knows their messages; must not know sockets or the engine.
#pragma once
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/route.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace queue_manager {

class RouteQuery {
public:
    // One final recipient; `route` only of a remote one.
    struct RecipientRoute {
        spool::ResolvedRecipient outcome;
        std::optional<proto::route::Routed> route;
    };
    struct Findings {
        std::vector<RecipientRoute> routes;
        std::string error; // "" unless nothing could be found out
    };
    using Done = std::function<void(const Findings&)>;
    // False: the service is not connected.
    struct Backends {
        std::function<bool(const proto::categorize::Categorize&)> categorizer;
        std::function<bool(const proto::route::Route&)> router;
    };

    explicit RouteQuery(Backends experts) : backends_(std::move(experts)) {}

    // Asked when the final recipients are known, and routes of some are missing; false: they are not wanted.
    using RoutesWanted = std::function<bool(const Findings&)>;
    // `pool`: of source addresses to use; "": the route's. `done` is called once, perhaps from within. Null: always.
    void ask(const std::string& address, const std::string& pool, Done done, RoutesWanted wanted = {});
    // An answer from a service; false: not to a question of ours.
    bool answered(const proto::categorize::Categorized& answer);
    bool answered(const proto::route::Routed& answer);
    // One of the services disconnected: its answers will never come.
    void lost(std::string_view who);

private:
    struct Question {
        Findings findings;
        std::string address, pool;
        std::map<std::string, std::vector<std::size_t>, std::less<>> open; // destinations asked for: their routes
        Done done;
        RoutesWanted wanted;
    };
    void finish(std::map<std::uint64_t, Question>::iterator question, std::string error = {});

    // Outside the range of queue ids.
    static constexpr std::uint64_t first_number = std::uint64_t{1} << 63;
    Backends backends_;
    std::uint64_t last_ = first_number;
    std::map<std::uint64_t, Question> questions_;
};

} // namespace queue_manager
