// The lists that an expansion is in the middle of, innermost last: aliases, virtual aliases, .forward and included
// files. A member that leads back to an open list is a loop; a list that was expanded before is not expanded again.
#pragma once
#include "daemons/decide/addressing/expanded_recipients.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace decide {

// Whose list is being read.
struct ListContext {
    enum class From { aliases, forward, includes } from = From::aliases;
    std::string name;    // for texts: "alias team"
    std::string run_as;  // of commands and files
    std::string reader;  // that its includes are read as: a user; "" this system
    std::string address; // of commands and files
};

class ListStack {
public:
    struct List {
        std::string key; // "alias team": it is open under this name
        std::vector<AliasTarget> targets;
        std::optional<ListContext> reading; // none: addresses that a virtual alias leads to
        Provenance via;
        std::size_t next = 0; // of targets
    };

    bool empty() const { return open_.empty(); }
    std::size_t size() const { return open_.size(); }
    bool is_open(const std::string& key) const { return std::ranges::find(open_, key, &List::key) != open_.end(); }
    // False: it was expanded before, or is open.
    bool first_time(const std::string& key) { return done_.insert(key).second; }

    // It becomes the innermost one. The others stay where they are.
    void open(std::string key, std::vector<AliasTarget>&& targets, std::optional<ListContext> reading,
              const Provenance& via) {
        open_.push_back({std::move(key), std::move(targets), std::move(reading), via});
    }
    List& innermost() { return open_.back(); }
    void close() { open_.pop_back(); }

private:
    std::deque<List> open_;
    std::unordered_set<std::string> done_; // lists that share members of members are looked through once
};

} // namespace decide
