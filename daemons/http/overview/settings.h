// The settings in force, with their origin, and certificates with their expiry.
#pragma once
#include "daemons/common/config/inventory.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/http/requests/router.h"
#include <string>
#include <vector>

namespace http {

// Of the configuration that this process has.
struct SettingsInForce {
    std::string file;
    std::vector<config::Setting> settings;
    std::vector<proto::secrets::ShownCertificate> certificates;
};

// `in_force`: may change meanwhile; outlives the router.
void add_settings(Router& router, const SettingsInForce& in_force);

} // namespace http
