// Verification of addresses for smtpd and operators: answers from memory, else asks categorizer and router where mail
// for the address goes, and has a delivery agent ask a server there, up to RCPT. What is delivered here is answered by
// the categorizer alone, and not remembered. Every check ends: with an answer, or with "unknown" where a limit, a
// pause, a link with problems or the time forbids it. Nothing of it reaches the engine. Knows no sessions.
#pragma once
#include "daemons/common/config/sections/server/verify.h"
#include "daemons/common/ipc/channel.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/verification.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/verification/probe_admission.h"
#include "daemons/decide/verification/verified_addresses.h"
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/verification/verified_store.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

class AddressVerification {
public:
    using Channel = ipc::Channel<proto::verification::Message>;
    using Result = decide::verification::Result;
    using Done = std::function<void(const Result&)>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        common::Metrics& metrics;
        DeliveryProbes& probes;
        std::function<void(const std::string& address, const std::string& reverse_path, RouteQuery::Done done,
                           RouteQuery::RoutesWanted wanted)>
            query_route;
        // Why no mail would be sent to that link now; "" it would.
        std::function<std::string(const proto::route::Routed&)> obstacle;
        VerifiedStore::Dependencies store; // without `read`
    };
    AddressVerification(Dependencies dependencies, const config::Verify& config);
    ~AddressVerification();
    AddressVerification(const AddressVerification&) = delete;

    // The spool's lock is ours, and rules may ask: reads what is stored. Once.
    void begin();
    void configure(const config::Verify& config);
    void stop() { store_.write_rest(); }
    void attach(std::unique_ptr<Channel> channel);

    // `done` is called once, perhaps from within, and at the latest when the check is over.
    void ask(const std::string& address, Done done);
    struct Remembered {
        decide::verification::Entry entry;
        smtp::WallTime expires{};
    };
    std::optional<Remembered> remembered(const std::string& address);
    // False: it was not remembered.
    bool forget(const std::string& address);
    std::size_t size() const { return memory_.size(); }

    static constexpr std::size_t most_waiting = 10'000;   // for the answer, of all addresses
    static constexpr std::size_t most_categorized = 1000; // addresses that are looked up, not yet at servers
    static constexpr auto longest_check = std::chrono::minutes(2);

private:
    using LinkState = decide::verification::ProbeAdmission::LinkState;
    struct Client {
        std::unique_ptr<Channel> channel;
        std::size_t open = 0; // its questions that wait
    };
    struct Check {
        std::uint64_t number = 0;
        std::string address, sender;      // as asked
        std::string recipient = {};       // what the address stands for …
        proto::route::Routed route = {};  // … and where its mail goes
        std::uint64_t probe = 0;          // 0: none yet
        std::string host = {}, said = {}; // by the probe so far
        smtp::Monotonic began{};
    };
    struct Waiting {
        Done done;
        std::optional<smtp::Monotonic> until; // then the answer comes too late
    };
    enum class Keep : std::uint8_t { nothing, former, result }; // of what is remembered of the address

    void handle(std::uint64_t client, const proto::verification::Verify& question);
    void answer(std::uint64_t client, std::uint64_t request, const Result& result);
    std::optional<Result> known(const std::string& key, const std::string& address);
    void wait(const std::string& key, const std::string& address, Waiting waiting);
    void begin_check(const std::string& key, const std::string& address);
    void routed(const std::string& key, const RouteQuery::Findings& findings);
    void routed_elsewhere(const std::string& key, const RouteQuery::RecipientRoute& found);
    void probe(const std::string& key);
    void probed(const std::string& key, const proto::delivery::ProbeResult& result);
    void not_made(const std::string& key, std::string_view why);
    void finish(const std::string& key, Result result, Keep keep, LinkState link = LinkState::answers);
    void conclude(const std::string& key, const Result& result);
    void begin_waiting();
    void end_late();
    void end_old_questions(smtp::Monotonic now);
    void watch_time();
    void store_changes() { store_.write(memory_.take_changes()); }
    void count(common::MetricId family, decide::verification::Deliverability what);

    Dependencies deps_;
    config::Verify config_;
    decide::verification::VerifiedAddresses memory_;
    decide::verification::ProbeAdmission admission_;
    VerifiedStore store_;
    std::map<std::string, Check> checks_;                 // by the key of the address
    std::map<std::string, std::vector<Waiting>> waiting_; // each for a check
    std::size_t waiting_count_ = 0;
    std::map<std::uint64_t, Client> clients_;
    std::uint64_t last_client_ = 0, last_check_ = 0;
    common::TurnHook next_;
    common::Timer rate_, late_;
};

} // namespace queue_manager
