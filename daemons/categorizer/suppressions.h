// The suppression list, as the expansion asks it: a look into a snapshot of it, which waits for nobody. Knows
// the list; must not know who asks, nor change it (the queue-manager keeps it).
#pragma once
#include "daemons/common/suppression_list.h"
#include "daemons/decide/expansion_tables.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace categorizer {

class Suppressions {
public:
    // `trouble`: for `status`; "" clears it.
    explicit Suppressions(std::function<void(std::string)> trouble) : trouble_(std::move(trouble)) {}
    void configure(const config::Config& config);

    // Is there anybody on it, as the queue-manager says? Nothing is looked up while there is nobody.
    void set_any(bool any) { any_ = any; }
    bool any() const { return any_; }

    // ExpansionTables::suppressed for mail from there; "" a report.
    std::function<decide::TableAnswer(const std::string& address)> for_mail_from(std::string reverse_path);

private:
    decide::TableAnswer find(const std::string& address, const std::string& reverse_path);

    std::function<void(std::string)> trouble_;
    std::string spool_;
    std::vector<std::string> local_domains_;
    std::unique_ptr<common::SuppressionList> list_;
    bool any_ = true; // until it is said
    bool in_trouble_ = false;
};

} // namespace categorizer
