// The store, for the parts of this process: one connection that is renewed, calls with a time limit, and whether the
// store is present or away. Nothing waits for it: a call while it is away fails at once. Knows the login; must not know
// what the calls are for.
#pragma once
#include "daemons/common/config/sections/system/fleet.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/fleet/redis/availability.h"
#include "daemons/fleet/redis/session.h"
#include "daemons/fleet/store_connection.h"
#include <functional>
#include <memory>
#include <string>

namespace fleet {

class StoreClient {
public:
    static constexpr smtp::Duration login_limit = std::chrono::seconds(3);
    static constexpr smtp::Duration call_limit = std::chrono::seconds(1); // keyed mail waits that long at most

    struct Settings {
        config::Fleet fleet; // with a store
        proto::secrets::Fleet secrets;
        bool operator==(const Settings&) const = default;
    };
    struct Callbacks {
        std::function<void()> ready;   // logged in: the first call shows whether the store works
        std::function<void()> changed; // it is present or away from now on
    };
    StoreClient(common::Loop& loop, common::Log& log, common::Metrics& metrics, Settings settings, Callbacks callbacks);
    ~StoreClient();
    StoreClient(const StoreClient&) = delete;
    StoreClient& operator=(const StoreClient&) = delete;

    const Settings& settings() const { return settings_; }
    const redis::Availability& availability() const { return availability_; }
    // Calls can be made now.
    bool ready() const { return session_ && session_->ready(); }
    std::string version() const { return session_ ? session_->version() : std::string(); }
    std::string eviction_policy() const { return session_ ? session_->eviction_policy() : std::string(); }
    // Of the store that runs now, another one each time that it is started; "": unknown.
    std::string run_id() const { return session_ ? session_->run_id() : std::string(); }

    // What an answer means besides itself. A store that can be read, but takes no changes, does not work.
    enum class Proves : std::uint8_t { nothing, store_works };
    // `done` is called once, from the loop, unless this is destroyed before. `keys`: without the prefix, which is put
    // before each.
    using Done = redis::Session::Done;
    void run(const redis::Script& script, const redis::Command& keys, const redis::Command& arguments, Done done,
             Proves proves = Proves::nothing);
    void call(const redis::Command& command, Done done);
    std::string key(std::string_view name) const { return settings_.fleet.prefix + ":" + std::string(name); }

private:
    void connect();
    void connected();
    void received(std::string_view bytes);
    void closed(const std::string& why);
    void flush();
    void look();
    void drop(const std::string& why);
    void failed(const std::string& why);
    Done counted(Done done, Proves proves);
    void worked();
    void not_ready(Done done);

    common::Loop& loop_;
    common::Log& log_;
    common::Metrics& metrics_;
    const Settings settings_;
    const common::StoreAddress address_;
    Callbacks callbacks_;
    std::shared_ptr<const tls::Context> tls_;
    std::string tls_problem_;
    redis::Availability availability_;
    std::unique_ptr<StoreConnection> connection_;
    std::unique_ptr<redis::Session> session_; // of the connection, once it is ready
    bool failure_noted_ = false;              // and about to be counted
    smtp::Monotonic call_failed_{};           // and was counted
    std::size_t attempts_ = 0;                // to connect
    bool announced_ = false;                  // `ready` was called for this session
    smtp::Monotonic begun_{};                 // of the connection
    common::Timer retry_, deadline_;
    common::TurnHook look_hook_;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

} // namespace fleet
