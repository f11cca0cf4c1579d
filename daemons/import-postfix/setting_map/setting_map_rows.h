// The rows of the setting map, one file for a few subjects. Only setting_map.cpp includes this beside them. Data.
#pragma once
#include "daemons/import-postfix/setting_map/setting_map.h"

namespace postrider {

std::span<const SettingMapping> names_and_domains();
std::span<const SettingMapping> address_tables();
std::span<const SettingMapping> local_delivery();
std::span<const SettingMapping> receiving();
std::span<const SettingMapping> restrictions();
std::span<const SettingMapping> content_and_filters();
std::span<const SettingMapping> sending();
std::span<const SettingMapping> security();
std::span<const SettingMapping> queueing();
std::span<const SettingMapping> other_settings();

} // namespace postrider
