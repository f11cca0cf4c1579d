// The rows of the table of correspondences, one file for a few subjects. Only correspondences.cpp includes this beside
// them. Data.
#pragma once
#include "daemons/import-postfix/setting_map/setting_map.h"

namespace postrider {

std::span<const Correspondence> names_and_domains();
std::span<const Correspondence> tables_of_addresses();
std::span<const Correspondence> local_delivery();
std::span<const Correspondence> receiving();
std::span<const Correspondence> restrictions();
std::span<const Correspondence> content_and_filters();
std::span<const Correspondence> sending();
std::span<const Correspondence> security();
std::span<const Correspondence> queueing();
std::span<const Correspondence> the_rest();

} // namespace postrider
