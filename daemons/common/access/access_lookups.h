// Answers what the evaluation of access rules asks: lookup tables and the DNS, for all sessions of a process. Nothing
// waits: what is not known yet is fetched. Knows no rules and no sessions; the caller asks policy services, and whether
// an address is deliverable.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/decide/access/lookup.h"
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace common {

class AccessAnswers;

// The tables and the resolver that they share.
class AccessLookups {
public:
    AccessLookups(Loop& loop, Log& log, std::shared_ptr<dns::Resolver> resolver,
                  const std::vector<config::LookupTable>& sections, std::string maps_socket);
    AccessLookups(const AccessLookups&) = delete;

    // For status; "" none.
    std::string problem() const { return tables_.problem(); }

private:
    friend class AccessAnswers;
    using Key = std::pair<std::string, std::string>; // of a table
    using Waiting = std::multimap<Key, AccessAnswers*>;
    void answered(const std::string& table, const std::string& key);
    void answer(Waiting::iterator waiting);

    std::shared_ptr<dns::Resolver> resolver_;
    Waiting waiting_;
    tables::Tables tables_;
};

// The answers for one evaluation; remembers what was fetched for it.
class AccessAnswers final : public decide::access::Source {
public:
    using Action = std::function<void(std::string action)>;
    // Asks a policy service for one action. The call to `done` may come at once; not after the end of this object.
    using AskPolicy = std::function<void(const std::string& service, Action done)>;

    // Asks whether a mail address is deliverable, for one answer; likewise. Null: no such service.
    using AskVerification =
        std::function<void(const std::string& address, std::function<void(decide::access::Answer)> done)>;

    AccessAnswers(std::shared_ptr<AccessLookups> shared, AskPolicy ask_policy, AskVerification ask_verification = {});
    ~AccessAnswers();
    AccessAnswers(const AccessAnswers&) = delete;

    decide::access::Answer find(decide::access::Lookup::Kind kind, std::string_view source,
                                std::string_view key) override;
    // Fetches what is pending. `done` is called once, from the loop or within; it may destroy this.
    void fetch(std::span<const decide::access::Lookup> pending, std::function<void()> done);

private:
    friend class AccessLookups;
    struct Records { // of one lookup in the DNS
        std::vector<dns::Lookup> lookups;
        std::size_t open = 0;
        decide::access::Answer answer;
    };
    void fetch_table(const decide::access::Lookup& lookup);
    void fetch_records(const decide::access::Lookup& lookup);
    void ask_records(const decide::access::Lookup& lookup, dns::Type type);
    void take(Records& records, dns::Type type, const dns::Answer& answer);
    void known(const decide::access::Lookup& lookup, decide::access::Answer answer);

    std::shared_ptr<AccessLookups> shared_;
    AskPolicy ask_policy_;
    AskVerification ask_verification_;
    std::map<decide::access::Lookup, decide::access::Answer> known_;
    std::map<decide::access::Lookup, Records> records_;
    std::vector<AccessLookups::Waiting::iterator> waiting_;
    std::size_t open_ = 0; // being fetched
    std::function<void()> done_;
};

} // namespace common
