#include "daemons/http/overview/settings.h"
#include "daemons/http/requests/call.h"
#include "daemons/http/requests/schemas.h"
#include "libsmtp/text/date.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;

namespace {

// Where a value that may be a secret is kept from those who are no administrators.
json json_of(const config::Setting& setting, const std::string& file, bool admin) {
    const bool hidden = setting.guarded && setting.line > 0 && !admin;
    return {{"section", setting.section},
            {"key", setting.key},
            {"value", hidden ? json() : json(setting.value)},
            {"hidden", hidden},
            {"origin", setting.line > 0 ? fmt::format("{}:{}", file, setting.line) : "default"},
            {"line", setting.line > 0 ? json(setting.line) : json()}};
}

json json_of(const proto::secrets::ShownCertificate& certificate) {
    return {{"file", certificate.file},
            {"subject", certificate.subject},
            {"use", certificate.authority ? "verifies clients" : "server"},
            {"expires", smtp::rfc3339_date(smtp::WallTime(std::chrono::seconds(certificate.expires)))}};
}

bool is_wanted(const config::Setting& setting, std::string_view section, bool only_set) {
    return (section.empty() || setting.section == section) && (!only_set || setting.line > 0);
}

void show_settings(const SettingsInForce& in_force, const std::shared_ptr<Call>& call) {
    const auto section = call->parameter("section");
    const bool only_set = call->parameter("set") == "true", admin = call->caller().scopes.has(Scope::admin);
    json settings = json::array(), certificates = json::array();
    for (const auto& each : in_force.settings)
        if (is_wanted(each, section, only_set)) settings.push_back(json_of(each, in_force.file, admin));
    for (const auto& each : in_force.certificates) certificates.push_back(json_of(each));
    call->respond(json_response(
        200, {{"file", in_force.file}, {"settings", std::move(settings)}, {"certificates", std::move(certificates)}}));
}

} // namespace

void add_settings(Router& router, const SettingsInForce& in_force) {
    router.add({.method = "GET",
                .path = "/v1/settings",
                .scope = Scope::read,
                .summary = "Show the settings in force and their origin, and certificates",
                .parameters = {{"section", "Only of this section: smtpd, or route.\"example.org\""},
                               {"set", "true: only those that the file sets", Parameter::Kind::flag}},
                .answer = schema::settings,
                .statuses = {200},
                .handle = [&in_force](const std::shared_ptr<Call>& call) { show_settings(in_force, call); }});
}

} // namespace http
