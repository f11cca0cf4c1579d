// What the evaluation of access rules asks others, and what they answer. Values.
#pragma once
#include "daemons/decide/verification/verified_addresses.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide::access {

struct Lookup {
    enum class Kind : std::uint8_t {
        table,
        addresses,
        mail_hosts,
        name_servers,
        texts,
        policy_service,
        verification, // is the key, a mail address, deliverable?
    };
    Kind kind = Kind::table;
    std::string source = {}; // the table or service
    std::string key = {};    // "" of a policy service
    auto operator<=>(const Lookup&) const = default;
};

struct Answer {
    enum class Status : std::uint8_t { none, found, failed, pending };
    Status status = Status::none;
    std::vector<std::string> values = {};   // found: at least one; of a null MX one that is ""
    std::string why = {};                   // failed; of a verification the reason for it
    verification::Deliverability what = {}; // found, of a verification
    bool operator==(const Answer&) const = default;
};

class Source {
public:
    // The same for each lookup during an evaluation, once it is not pending. Most are of tables that have no such key.
    virtual Answer find(Lookup::Kind kind, std::string_view source, std::string_view key) = 0;

protected:
    ~Source() = default;
};

// Asks a source, and records what is pending.
class Questions {
public:
    void begin(Source& source) {
        source_ = &source;
        pending_.clear();
    }
    // None: pending.
    std::optional<Answer> ask(Lookup::Kind kind, std::string_view source, std::string_view key) {
        auto answer = source_->find(kind, source, key);
        if (answer.status != Answer::Status::pending) return answer;
        pending_.push_back({kind, std::string(source), std::string(key)});
        return {};
    }
    const std::vector<Lookup>& pending() const { return pending_; }

private:
    Source* source_ = nullptr;
    std::vector<Lookup> pending_;
};

} // namespace decide::access
