// The suppression list of all nodes: sends the changes of this node to the store, follows those of the others, and
// compares everything when this node joins, when the store was started again or has less than it had, and once a day.
// What it follows is a stream with numbers, beside a hash with the last change of every entry; of two changes the
// newest stays. Knows the store and what the queue-manager keeps; must not know what an entry means.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/fleet.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/fleet/store_client.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fleet {

class SuppressionSync {
public:
    static constexpr smtp::Duration look_interval = std::chrono::milliseconds(500);
    static constexpr smtp::Duration retry = std::chrono::seconds(1), longest_retry = std::chrono::minutes(1);
    static constexpr smtp::Duration compare_interval = std::chrono::hours(24);
    static constexpr std::size_t kept_changes = 100'000; // in the stream, about

    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        common::Metrics& metrics;
        std::function<void(std::string_view)> report_problem; // for `status`; "" clears it
        // To the queue-manager. False: it is not connected, or the message was too long.
        std::function<bool(const proto::fleet::Message&)> send;
    };
    explicit SuppressionSync(Dependencies dependencies);
    SuppressionSync(const SuppressionSync&) = delete;
    SuppressionSync& operator=(const SuppressionSync&) = delete;

    // To the store: it may be another one.
    void connected_anew() { restart(); }
    // Null: none that can be called now.
    void use(StoreClient* store);
    // The queue-manager has just connected, or gone.
    void connected();
    void disconnected();
    void received(const proto::fleet::Message& message);

    // Changes of others that are yet to be applied; nothing: not known.
    std::optional<std::uint64_t> lag() const { return following_ ? std::optional(lag_) : std::nullopt; }
    std::uint64_t waiting() const { return waiting_; }

private:
    enum class Asked : std::uint8_t { nothing, position, all, merge };
    using Changes = std::vector<proto::fleet::Change>;

    // Why one of the two directions does not work, logged once, and when it is tried again.
    struct Trouble {
        std::string why;
        smtp::Duration pause = retry;
    };
    smtp::Duration note(Trouble& trouble, const std::string& why);
    void works(Trouble& trouble);
    void restart();
    void start_over();
    void begin();
    void again_later(const std::string& why);
    void run(const redis::Script& script, redis::Command arguments, std::function<void(const redis::Reply&)> then);
    void positioned(const proto::fleet::Position& position);
    void compare();
    void copy_from_store(const std::string& cursor);
    void copied(const redis::Reply& reply);
    void take_copies(std::deque<Changes> batches, std::string cursor);
    void copy_to_store(const std::string& after);
    void offered(const proto::fleet::All& all);
    void put(const Changes& changes, std::function<void(const redis::Reply&)> then);
    void merge(Changes changes, std::optional<std::uint64_t> cursor, std::function<void()> then);
    void merged(const proto::fleet::Merged& answer);
    void follow();
    void look();
    void looked(const redis::Reply& reply);
    void ask_own();
    void share(const proto::fleet::Own& own);
    void shared(const Changes& changes, const redis::Result& result);

    Dependencies deps_;
    StoreClient* store_ = nullptr;
    bool peer_ = false;                              // the queue-manager is connected
    std::uint64_t round_ = 0;                        // what belongs to an earlier one is over
    Asked asked_ = Asked::nothing;                   // of the queue-manager, besides its own changes
    bool asked_own_ = false, own_news_ = false;      // the same for these
    bool sharing_ = false;                           // of them are on their way to the store
    std::string store_id_, former_store_;            // followed now; by the position of the queue-manager
    std::uint64_t cursor_ = 0, start_ = 0, lag_ = 0; // applied; to be followed from after a comparison
    bool following_ = false, looking_ = false, compare_ = false;
    std::uint64_t waiting_ = 0, compared_ = 0;
    std::function<void()> merged_;
    Trouble following_trouble_, sharing_trouble_;
    Changes sent_last_;                   // to the store
    bool known_ = false, future_ = false; // which store it is; changes from the future were logged
    common::Timer timer_, own_timer_, daily_;
};

} // namespace fleet
