// The output of `setup`: findings, records and what to add to the configuration, as text. Pure. Without --check the
// text is a zone file, in which everything but the records is a comment.
#pragma once
#include "daemons/postrider/setup/finding.h"
#include "daemons/postrider/setup/records.h"
#include "daemons/postrider/setup/signing_keys.h"
#include <string>
#include <vector>

namespace postrider::setup {

// A line each, with the advice below it. What others have written has no control characters in it.
std::string findings_text(const std::vector<Finding>& findings);

// The lines for postrider.toml by which mail is signed; "" if it is signed already.
std::string signing_configuration(const std::string& domain, const std::vector<DomainKey>& keys);

struct ZoneFacts {
    const DomainFacts& domain;
    const std::vector<RecordGroup>& groups;
    const std::vector<DomainKey>& keys;
    const std::vector<Finding>& findings; // about the host
    std::string config_file;
};
std::string zone_text(const ZoneFacts& facts);

} // namespace postrider::setup
