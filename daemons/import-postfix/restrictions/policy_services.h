// check_policy_service: each service becomes a [policy.NAME], asked at a stage of its own or by an access rule.
#pragma once
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/restrictions/smtpd_lists.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

class PolicyServices {
public:
    explicit PolicyServices(Import& import) : import_(import) {}

    // "inet:host:port", "unix:private/x", "{ inet:…, timeout=10s, default_action=DUNNO }": the name of its section;
    // nothing: there is none, which was recorded.
    std::optional<std::string> add(const Import::Listener& listener, const SmtpdList& list, std::string_view text,
                                   bool by_rule = false);
    void write(); // when all listeners and their lists are known

private:
    struct Service {
        std::string name;
        bool by_rule = false; // asked by an access rule, not at a stage of its own
        std::string address, stage, timeout, on_failure, origin;
        std::vector<std::string> listeners;
    };

    Import& import_;
    std::vector<Service> services_;
};

} // namespace postrider
