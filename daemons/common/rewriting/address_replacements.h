// What tables make of the addresses of one message: each address is looked up in the tables of its place, until all
// answers are known; few at a time, so that others who ask the same tables get their turn. Each answer is seen once,
// whatever happens to caches meanwhile. Knows tables; must not know fields
// or envelopes.
#pragma once
#include "daemons/common/rewriting/awaited_tables.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include "daemons/decide/rewriting/answer_memo.h"
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace common {

class AddressReplacements {
public:
    // `tables` and `settings` must outlive it. `unicode`: whether the message may have addresses beyond ASCII
    // (SMTPUTF8). `wake`: look_up() has more to do; never called from within it, and must not destroy this.
    AddressReplacements(AwaitedTables& tables, const decide::RewritingSettings& settings, bool unicode,
                        std::function<void()> wake);
    AddressReplacements(const AddressReplacements&) = delete;
    AddressReplacements& operator=(const AddressReplacements&) = delete;

    // The number of these tables, by which add() and find() name them; from 0 in the order in which they come. `then`:
    // tables for what those have made of an address.
    using List = std::vector<std::string>;
    std::size_t number_of(const List& tables, const List& then = {});
    void add(std::size_t list, const std::string& address) { open_.insert({list, address}); }

    enum class State : std::uint8_t {
        ready,
        waits,  // for an answer: `wake` is called when there is one
        failed, // a table cannot be read, or has an invalid value; see why()
    };
    State look_up();
    const std::string& why() const { return why_; }

    // Once it is ready. Null: the address stays.
    const std::string* find(std::size_t list, const std::string& address) const;
    bool empty() const { return replaced_.empty(); }
    // For the log, once: what stays as it is, and why.
    std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

private:
    struct Place { // an address, and the tables that apply where it stands
        std::size_t list = 0;
        std::string address;
        auto operator<=>(const Place&) const = default;
    };
    void begin();
    void answered(const decide::LookupRequest& request);
    void settle(const decide::LookupRequest& request);
    void replace(const Place& place, std::string other);

    AwaitedTables& tables_;
    const decide::RewritingSettings& settings_;
    const bool unicode_;
    std::vector<std::pair<List, List>> lists_; // tables, and those for their results
    std::set<Place> open_;                     // not looked up yet
    std::map<Place, std::string> replaced_;
    std::set<decide::LookupRequest> pending_;
    std::set<decide::LookupRequest> to_ask_; // those of them that have not been asked for
    std::size_t under_way_ = 0;              // those that have been
    decide::AnswerMemo memo_;
    std::string why_;
    std::vector<std::string> warnings_;
    const std::function<void()> wake_;
    AwaitedTables::Waiter waiter_;
};

} // namespace common
