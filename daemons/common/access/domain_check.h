// Asks which class a domain is in, where the names of the configuration do not decide it: looks it up in the tables.
// Knows the tables; must not know the session.
#pragma once
#include "daemons/common/access/access_lookups.h"
#include "daemons/decide/addressing/domain_classes.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace common {

// Of an address, in lower case, as the DNS has it; "" none.
std::string ascii_domain_of(std::string_view address);
// By what one evaluation has asked so far; the rest is pending in `questions`.
decide::ClassAnswer class_of(const decide::DomainClasses& domains, const std::string& domain,
                             decide::access::Questions& questions);

// Are its users those of this system? pending, failed: as the tables of local.
decide::access::Answer::Status is_local(const decide::DomainClasses& domains, const std::string& domain,
                                        decide::access::Questions& questions);

class DomainCheck {
public:
    using Done = std::function<void(const decide::ClassAnswer&)>; // never pending

    // All outlive it. `lookups`: null if there are no tables.
    DomainCheck(const decide::DomainClasses& domains, std::string domain, std::shared_ptr<AccessLookups> lookups);
    DomainCheck(const DomainCheck&) = delete;

    // The class; or none yet, and `done` is called once from the loop. It may destroy this.
    std::optional<decide::ClassAnswer> ask(Done done);

private:
    // Nothing: the answer is being fetched.
    std::optional<decide::ClassAnswer> look_up();
    void fetch();

    const decide::DomainClasses& domains_;
    const std::string domain_;
    const bool has_tables_;
    AccessAnswers answers_;
    decide::access::Questions questions_;
    Done done_;
};

} // namespace common
