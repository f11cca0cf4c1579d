// Compares a record that a domain needs with what the DNS has there. What its administrator may decide otherwise, such
// as the policy of DMARC, is not a difference. Pure.
#pragma once
#include "daemons/common/net/dns/answer.h"
#include "daemons/postrider/setup/finding.h"
#include "daemons/postrider/setup/records.h"

namespace postrider::setup {

// `published`: the answer for the record's name and type.
Finding compare(const Record& wanted, const dns::Answer& published);

} // namespace postrider::setup
