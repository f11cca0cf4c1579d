// The heartbeat of this node: publishes its facts in the store every five seconds and keeps the answer, the list of all
// nodes. A beat is also what shows whether the store works. Knows the store and the facts; must not know what else is
// shared.
#pragma once
#include "daemons/common/runtime/timer.h"
#include "daemons/fleet/node_list.h"
#include "daemons/fleet/store_client.h"
#include <functional>
#include <string>

namespace fleet {

class Heartbeat {
public:
    static constexpr smtp::Duration interval = std::chrono::seconds(5);
    static constexpr smtp::Duration retry = std::chrono::milliseconds(500);
    static constexpr smtp::Duration remembered = std::chrono::hours(7 * 24); // nodes that are gone

    struct Dependencies { // all outlive it
        common::Loop& loop;
        std::function<NodeFacts()> facts;   // of this node, without version, instance and clock
        std::function<void()> facts_wanted; // new ones, for the next beat
        std::function<void()> list_received;
    };
    Heartbeat(std::string node, Dependencies dependencies);
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    // The store to beat in; null: none now.
    void use(StoreClient* store);
    // Another name from now on; the entry under the previous name is removed.
    void rename(const std::string& node);
    // Now; it was not possible before.
    void beat();
    // The last one, which says that this node stops in good order. `done` is called once, later.
    void stop(std::function<void()> done);

    const NodeList& list() const { return list_; }

private:
    void send(bool stopped, std::function<void()> then);

    std::string node_, former_; // former_: to be removed; "": none
    const std::string instance_;
    Dependencies deps_;
    StoreClient* store_ = nullptr;
    NodeList list_;
    common::Timer timer_;
    bool stopped_ = false;
};

} // namespace fleet
