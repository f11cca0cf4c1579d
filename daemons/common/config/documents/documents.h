// The annotated sample (conf/postrider.toml) and the manual's page (man/postrider.toml.5), made from the same table of
// keys.
#pragma once
#include <string>

namespace config {

std::string sample();
std::string manual();

} // namespace config
