// Name lookups on the loop, by c-ares: never waits. Simultaneous lookups of the same name are made once;
// answers are kept for their TTL in a bounded cache, failures for a few seconds. One per daemon, owned
// by it. The query id cannot be guessed: it comes from the kernel, not from c-ares' weak generator.
#pragma once
#include "daemons/common/config/sections/delivery/dns.h"
#include "daemons/common/net/dns/answer.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct ares_channeldata;

namespace dns {

class Lookup;

class Resolver {
public:
    using Done = std::function<void(const Answer&)>;

    Resolver(common::Loop& loop, const config::Dns& settings);
    ~Resolver(); // every Lookup must be gone
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    // `done` is called once, at the end of this loop turn at the earliest, unless the Lookup is destroyed
    // before. It may start and drop lookups, but not destroy the Resolver.
    [[nodiscard]] Lookup look_up(std::string_view name, Type type, Done done);

    // Answers may be `secure`: all name servers are on this host, and the configuration does not say otherwise.
    bool trusts_ad() const { return trusts_ad_; }

    // The cached answer; null: ask. Valid until the next call of any function here.
    const Answer* cached(std::string_view name, Type type);

private:
    friend class Lookup;
    struct Question;
    struct Waiting {
        Lookup* owner;
        Done done;
        Answer answer;                // once it is known
        Question* question = nullptr; // null: answered, `done` is about to be called
    };
    using Waiters = std::list<Waiting>;
    struct Question {
        Resolver& resolver;
        std::string key, name;
        Type type;
        std::uint16_t id;
        Waiters waiters;
    };
    struct CacheEntry {
        Answer answer;
        smtp::Monotonic until;
    };
    using Cache = std::unordered_map<std::string, CacheEntry>;

    std::uint16_t fresh_id() const;
    void ask(Question& question);
    void answered(Question& question, Answer answer);
    void keep(const std::string& key, const Answer& answer);
    void deliver();
    void watch_socket(int fd, bool readable, bool writable);
    void rearm_timer();
    static void on_answer(void* question, int status, int timeouts, unsigned char* packet, int size);

    common::Loop& loop_;
    config::Dns settings_;
    ares_channeldata* channel_ = nullptr;
    std::string broken_; // why there is no channel
    std::string asked_;  // servers_text(), for the reasons of failures
    std::map<int, common::Handle<uv_poll_t>> sockets_;
    common::Timer timer_;
    common::TurnHook hook_;
    std::unordered_map<std::string, std::unique_ptr<Question>> questions_;
    std::set<std::uint16_t> ids_; // of the questions
    Waiters answered_;            // answered, `done` is about to be called
    Cache recent_, previous_;     // two generations: when the young one is full it becomes the old one
    bool closing_ = false, trusts_ad_ = false;
};

// A lookup under way; destroying it cancels it.
class Lookup {
public:
    Lookup() = default;
    Lookup(Lookup&& other) noexcept { *this = std::move(other); }
    Lookup& operator=(Lookup&& other) noexcept;
    ~Lookup() { cancel(); }
    void cancel();

private:
    friend class Resolver;
    Lookup(Resolver& resolver, Resolver::Waiters::iterator place) : resolver_(&resolver), place_(place) {
        place_->owner = this;
    }
    Resolver* resolver_ = nullptr;
    Resolver::Waiters::iterator place_;
};

// The name of a client: its PTR record, if that name's addresses (A, AAAA) include the client's.
// Calls done once, unless destroyed before.
class ClientName {
public:
    struct Names {
        std::string confirmed; // "" none
        std::string reverse;   // the first one its address has, confirmed or not; "" none
    };
    using Done = std::function<void(const Names&)>;
    ClientName(Resolver& resolver, const common::IpAddress& address, Done done);
    ClientName(const ClientName&) = delete;
    ClientName& operator=(const ClientName&) = delete;

private:
    void next();
    Resolver& resolver_;
    void finish(std::string confirmed);
    common::IpAddress address_;
    Done done_;
    std::string reverse_;
    std::vector<std::string> names_; // not yet confirmed, at most three
    Lookup lookup_;
};

} // namespace dns
