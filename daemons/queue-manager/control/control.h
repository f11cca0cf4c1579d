// The queue-manager's side of run/control (proto/control.h): takes a request, looks into the engine and the
// files, changes both, answers. An operator's word is durable before it is answered. Knows the engine's
// judgement only through its interface; must not know the daemons' conversations.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/outcome/source_backoff.h"
#include "daemons/decide/queue/filter.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/delivery_stops.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "daemons/queue-manager/control/pause_text.h"
#include "daemons/queue-manager/control/pauses.h"
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/message/message_state.h"
#include "libspool/store/store.h"
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace queue_manager {

// What the rest of the queue-manager knows and `status` tells.
struct QueueStatus {
    bool loading = false, stopping = false;
    std::string not_accepting, not_delivering; // why not; "" if it is
    double in = 0, out = 0;                    // messages a second
    std::vector<std::pair<std::string, bool>> services;
    std::vector<std::string> problems;
    std::vector<QuarantineCleaner::Place> put_aside;
};

class Control {
public:
    struct Dependencies {
        common::Loop& loop;
        common::Log& log;
        spool::CommitPool& pool;
        spool::Store& store;
        const decide::queue::Engine& engine;
        Suppressions& suppressions;
        std::function<bool(std::string_view)> own_postmaster;
        // Tells the engine something and carries out what it says.
        std::function<void(
            const std::function<void(decide::queue::Engine&, smtp::Now, decide::queue::Actions&)>&)>
            with_engine;
        std::function<QueueStatus()> queue_status;
        std::function<void()> written;               // something is to be flushed at the end of the turn
        std::function<void(spool::QueueId)>
            write_pending_records; // what its file does not say yet, before its other records
        enum class Removal : std::uint8_t { may_be_restored, permanently };
        std::function<void(spool::QueueId, Removal)> removed; // the engine has forgotten it: its file goes
        // What was removed waits for delivery again.
        std::function<void(spool::QueueId, std::string who, spool::Store::Done)> restore_removed;
        // Ends what is in flight of it, if it can be: nothing of it is begun until it is removed, or this has failed.
        std::function<void(const decide::queue::MessageInfo&, DeliveryStops::Then)> stop_delivery;
        std::function<bool(spool::QueueId)> foreign; // an agent of an earlier queue-manager has it in flight
        std::function<std::string(std::string_view)> bad_next_hop; // what is wrong with it; "" nothing
        // Its values now; none: there is no such policy.
        std::function<std::optional<decide::queue::RetryPolicy>(std::string_view)> policy_named;
        std::function<bool(std::string_view)> routed; // a link that some [route] leads to
        std::function<bool(std::string_view)> knows_pool; // of the configuration
        // Source addresses that rest for a link.
        std::function<std::vector<decide::SourceBackoff::Entry>(std::string_view link)> resting;
        std::function<void(const std::string& address, RouteQuery::Done done)> query_route;
        // The number of what has begun, for cancel().
        std::function<std::uint64_t(DeliveryProbes::Order order, DeliveryProbes::Listener listener)> attempt;
        std::function<void(std::uint64_t number)> cancel;
        std::function<std::string()> agent_user; // as in DeliveryProbes::Dependencies
        std::function<const config::Config&()> config; // in force
    };

    // `pauses`: as the file had them; the engine has been told.
    Control(Dependencies hands, Pauses pauses) : deps_(std::move(hands)), pauses_(std::move(pauses)) {}
    void listen(common::Fd fd, common::Operators operators);
    // By whom and why, if everything is paused.
    std::optional<std::string> everything_paused() const;
    // What an operator's pause keeps has that for its reason, and what is scheduled its time.
    void set_pause_reasons(decide::queue::MessageInfo& info) const { queue_manager::set_pause_reasons(info, pauses_); }
    // Why mail that takes this route would wait: pauses, a link or queue that is not well.
    std::vector<std::string> obstacles(const proto::route::Routed& route) const;

private:
    using Request = ipc::JsonServer::Request;
    using json = nlohmann::json;

    // One message of a selection; without a state if the file was not asked for.
    struct Selected {
        decide::queue::MessageInfo info;
        std::optional<spool::MessageState> state;
        bool read = false; // the file was asked for
        HeaderFacts header = {}; // where it was asked for, too
        // Of one whose delivery was stopped: who is left of its recipients, and whether it goes on if it stays.
        std::optional<std::vector<std::uint32_t>> left = {};
        bool goes_on = false;
    };
    // A walk over the messages of a selection, a batch at a time.
    struct Walk {
        std::uint64_t peer = 0;
        std::vector<spool::QueueId> ids; // named ones; empty: by filter
        std::size_t at = 0;
        decide::queue::Filter filter;
        decide::queue::Order order = decide::queue::Order::oldest;
        std::vector<decide::queue::Rank> ranks;      // the next of all messages, in that order; looked through up to
        std::size_t looked = 0;                      // … this one
        std::optional<decide::queue::Rank> behind;   // the last of them, or of what was listed before
        bool read_files = false, read_headers = false, over = false;
        // Calls on(walk) again when it is through with these; none left and over: the end.
        std::function<void(const std::shared_ptr<Walk>&, std::vector<Selected>)> take;
    };
    // A change to the messages of a selection.
    struct Change {
        Request request;
        std::string op, who, why, lane, to;
        std::optional<decide::queue::RetryPolicy> policy; // requeue
        smtp::Duration after{};                           // expire: when so old; {}: now
        bool dry_run = false;
        bool permanently = false; // remove: it cannot be brought back
        std::uint64_t matched = 0, changed = 0, skipped = 0;
        std::uint64_t in_flight = 0; // of those skipped: could not be removed, for they are being delivered
        std::uint64_t kept = 0; // to be tried, of what was changed, when a pause ends
        std::string why_not;  // the first of those that were skipped
        std::string failure;  // of the disk
        std::size_t open = 0; // of the batch at hand
    };

    void handle(const Request& request, const json& body);
    bool look(const Request& request, const json& body, std::string_view op);
    bool change(const Request& request, const json& body, std::string_view op);
    json status() const;
    json line_of(const decide::queue::LinkInfo& link) const;
    json line_of(const decide::queue::QueueInfo& queue) const;
    json resting(const std::string& link) const;
    void send_links(const Request& request, const std::string& name);
    void send_queues(const Request& request, const std::string& name);
    void send_messages(const Request& request, const json& body);
    void count_messages(const Request& request, const std::shared_ptr<Walk>& walk);
    void send_message(const Request& request, const json& body, bool explain);

    void send_reload_effects(const Request& request, const json& body);
    void query_routes(const Request& request, const std::string& address);
    void attempt(const Request& request, const json& body);
    void send_routes(const Request& request, const RouteQuery::Findings& findings);
    std::optional<std::pair<decide::queue::Scope, std::string>> scope_in(const Request& request, const json& body);
    std::string pause_error(decide::queue::Scope scope, const std::string& name) const; // why; "" it is
    void set_pause(const Request& request, const json& body, bool on);
    void next_pause();
    void force(const Request& request, const json& body);
    std::string pause_covering(decide::queue::Scope scope, const std::string& name) const;
    void change_messages(const Request& request, const json& body, std::string op);
    void change_batch(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk,
                      std::vector<Selected> selected);
    std::vector<spool::Property> records_of(const Change& change, const Selected& selected) const;
    void delivery_stopped(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk, Selected selected,
                        bool stopped);
    void write_change(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk, const Selected& selected);
    bool apply(const Change& change, spool::QueueId id); // to the engine; false: it was so, or has gone
    void execute(Change& change, spool::QueueId id); // and counted
    std::string why_not(const Change& change, const Selected& selected) const; // it is not changed; "" it is
    bool paused(spool::QueueId id) const; // all of it
    void finish(const std::shared_ptr<Change>& change, bool by_filter);
    void after_batch(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk);

    // ---- control_restore.cpp ----
    struct Restoration;
    void restore(const Request& request, const json& body);
    void restore_some(const std::shared_ptr<Restoration>& work);
    void restored(const std::shared_ptr<Restoration>& work);

    // ---- control_suppressions.cpp ----
    struct SuppressionWalk;
    void change_suppressions(const Request& request, const json& body, Suppressions::Operation doing);
    void walk_suppressions(const Request& request, const json& body, bool remove);
    void step_suppressions(const std::shared_ptr<SuppressionWalk>& walk);
    void remove_suppressions(const std::shared_ptr<SuppressionWalk>& walk, Suppressions::Entries matched);
    void after_suppressions(const std::shared_ptr<SuppressionWalk>& walk);
    void check_suppression(const Request& request, const json& body);

    // The selection a request names, or null: refused.
    std::shared_ptr<Walk> selection(const Request& request, const json& body, bool optional);
    void step(const std::shared_ptr<Walk>& walk);
    // The user name of whoever asks, looked up on a thread.
    void with_name(const Request& request, std::function<void(std::string who)> then);
    void refuse(const Request& request, std::string_view error, std::string_view code);

    struct PauseRequest {
        Request request;
        Pause pause;
        bool on;
    };

    Dependencies deps_;
    Pauses pauses_;
    std::unique_ptr<ipc::JsonServer> server_;
    std::deque<PauseRequest> pause_requests_; // one after the other: each writes the whole file
    bool writing_pauses_ = false;
};

} // namespace queue_manager
