#include "daemons/common/process/confinement.h"
#include "daemons/common/config/config.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/process/call_confinement.h"
#include "daemons/common/process/file_confinement.h"
#include "daemons/common/submission/idempotency/store.h"
#include "libspool/format/layout.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>

namespace common {

using proto::Role;

// Of the lookup tables that are queried over the network.
static std::vector<std::uint16_t> ports_of_tables(const config::Config& config) {
    std::vector<std::uint16_t> ports;
    const auto add = [&](const ServiceAddress& address) {
        if (address.endpoint.port != 0) ports.push_back(address.endpoint.port);
    };
    for (const auto& section : config.tables) add(section.address);
    for (const auto& named : config.table_references)
        if (const auto what = tables::Specification::parse(named.table)) add(what->address);
    return ports;
}

// The directories of the tables that keys with these names have: files there are replaced as they change.
static void add_tables(const config::Config& config, bool (*is_read)(std::string_view key),
                       std::vector<std::string>& directories) {
    const auto add = [&](const std::string& file) {
        const auto slash = file.rfind('/');
        if (slash == file.npos) return;
        auto directory = slash == 0 ? "/" : file.substr(0, slash);
        if (std::ranges::find(directories, directory) == directories.end()) directories.push_back(std::move(directory));
    };
    const auto add_table = [&](const auto& self, const std::string& table) -> void {
        const auto what = tables::Specification::parse(table);
        if (!what) return;
        if (what->kind == tables::Kind::section) {
            const auto section = std::ranges::find(config.tables, what->name, &config::LookupTable::name);
            if (section == config.tables.end()) return;
            add(section->database);
            for (const auto& part : section->tables) self(self, part); // none contains itself
        } else if (what->address == common::ServiceAddress{} && !tables::is_database(what->kind)) {
            add(what->name);
        }
    };
    for (const auto& named : config.table_references)
        if (is_read(named.key)) add_table(add_table, named.table);
}

static bool is_of_headers(std::string_view key) {
    return key.starts_with("canonical.header_") || key == "canonical.common";
}
static bool is_of_pickup(std::string_view key) { return is_of_headers(key) || key == "local.domain_tables"; }
static bool is_of_smtpd(std::string_view key) {
    return is_of_headers(key) || key.starts_with("access.") || key.starts_with("access_class.") ||
           key == "relay.client_certificates" || key == "client_tests.tables" || key == "auth.sender_login_tables" ||
           key.ends_with(".domain_tables");
}
static bool is_generic(std::string_view key) { return key == "generic.tables" || key.ends_with(".generic_tables"); }
static bool is_of_generic(std::string_view key) { return is_generic(key) || key == "local.domain_tables"; }

AccessRights access_rights_of(Role role, std::uint32_t instance, const config::Config& config) {
    const auto& spool = config.spool.directory;
    const auto own = [&] {
        return spool + "/" + directory_of(spool::QueueId{0x100u | instance}, spool::Location::incoming);
    };
    AccessRights a;
    // What libraries read: time zones, name services, CA certificates, devices.
    a.read = {"/etc", "/usr", "/lib", "/lib64", "/proc/self", "/proc/sys", "/proc/cpuinfo", "/proc/meminfo",
              "/proc/stat", "/proc/filesystems", "/sys/devices/system/cpu", "/run/nscd",
              // the targets that /etc/resolv.conf may point to
              "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"};
    a.write = {"/dev/null", "/dev/urandom"};
    a.look = {spool};
    switch (role) {
    case Role::smtpd:
        a.write.push_back(own());
        a.write.push_back(idempotency::directory_in(spool));
        a.write.push_back(config::ClientTests::directory(spool));
        add_tables(config, is_of_smtpd, a.read);
        break;
    case Role::pickup:
        a.write.push_back(own());
        a.write.push_back(spool + "/drop");
        a.write.push_back(spool + "/quarantine/incomplete"); // files left there that are not submissions
        a.write.push_back(idempotency::directory_in(spool));
        if (!config.submit.pickup_directory.empty()) a.write.push_back(config.submit.pickup_directory);
        add_tables(config, is_of_pickup, a.read);
        a.modes = true; // of drop/.limits, which programs of other users read
        break;
    case Role::bounce:
        a.read.push_back(spool + "/incoming");
        a.read.push_back(spool + "/messages");
        if (!config.bounce.templates.empty()) a.read.push_back(config.bounce.templates);
        a.write.push_back(own());
        a.write.push_back(spool + "/bad");
        a.network = false;
        break;
    case Role::smtp_client:
        if (std::ranges::any_of(config.table_references, is_generic, &config::TableReference::key))
            add_tables(config, is_of_generic, a.read);
        if (!config.smtp_client.tls_authorities.empty()) a.read.push_back(config.smtp_client.tls_authorities);
        a.read.push_back(spool + "/incoming");
        a.read.push_back(spool + "/messages");
        break;
    case Role::transfer: // the messages; the other nodes, which a reload may add
        a.read.push_back(spool + "/incoming");
        a.read.push_back(spool + "/messages");
        break;
    case Role::router: // of the spool only its own state
        a.look.clear();
        if (!config.smtp_client.tls_authorities.empty()) a.read.push_back(config.smtp_client.tls_authorities);
        a.write.push_back(spool + "/state");
        a.modes = true; // of the files it replaces
        break;
    case Role::categorizer: // aliases and the files they include may be anywhere
        a.read = {"/"};
        a.write.push_back(spool + "/state/categorizer");
        a.modes = true;
        a.write.push_back(spool + "/suppression"); // readers of the list register in its lock file
        a.network = false;
        a.tcp_ports = ports_of_tables(config);
        break;
    case Role::maps: // what the libraries of databases read; their servers, which a reload may add
        a.look.clear();
        break;
    case Role::fleet: // the store, which a reload may change; its name, through the system's resolver
        a.look.clear();
        break;
    case Role::metrics: // time zone data, and itself
        a.read = {"/etc/localtime", "/usr/share/zoneinfo", "/proc/self"};
        a.look.clear();
        a.write.clear();
        a.network = false;
        break;
    case Role::http: // its tokens, and the journal; no mail
        a.read = {"/etc/localtime", "/usr/share/zoneinfo", "/proc/self", config::Http::directory(spool),
                  config.history.path(spool)};
        a.look.clear();
        a.write = {"/dev/urandom"};
        a.network = false;
        break;
    case Role::events: // the journal, and no mail; the servers of hooks, which a reload may add
        a.look.clear();
        if (!config.smtp_client.tls_authorities.empty()) a.read.push_back(config.smtp_client.tls_authorities);
        a.write.push_back(config.history.path(spool));
        break;
    case Role::queue_manager:
        a.write.push_back(spool);
        if (!config.history.directory.empty()) a.write.push_back(config.history.directory);
        a.network = false;
        break;
    case Role::local: // becomes the recipient, whose rights then apply
    case Role::master: a.files_confined = false, a.programs = true; break;
    }
#ifdef POSTRIDER_KILL_POINTS
    if (const char* record = std::getenv("POSTRIDER_KILL_RECORD")) { // tests count the crash points that were hit
        const std::string path = record;
        a.write.push_back(path.substr(0, path.rfind('/')));
    }
#endif
    return a;
}

std::vector<std::string> missing_rights(const AccessRights& held, const AccessRights& wanted) {
    std::vector<std::string> out;
    if (!held.files_confined) return out;
    const auto look_for = [&](const std::vector<std::string>& paths,
                              std::initializer_list<const std::vector<std::string>*> allowed) {
        for (const auto& path : paths) {
            const bool reached = std::ranges::any_of(allowed, [&](const auto* places) {
                return std::ranges::any_of(*places, [&](const auto& place) {
                    return path == place || path.starts_with(place.ends_with('/') ? place : place + "/");
                });
            });
            if (!reached) out.push_back(path);
        }
    };
    look_for(wanted.read, {&held.read, &held.write});
    look_for(wanted.look, {&held.look, &held.read, &held.write});
    look_for(wanted.write, {&held.write});
    if (held.network) return out;
    for (const auto port : wanted.tcp_ports)
        if (std::ranges::find(held.tcp_ports, port) == held.tcp_ports.end())
            out.push_back(fmt::format("TCP port {}", port));
    return out;
}

Confinement confine(const AccessRights& rights) {
    if (!rights.files_confined) return {"no: runs as the recipients"};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {fmt::format("no: {}", std::strerror(errno))};
    const auto files = confine_files(rights), calls = confine_calls(rights);
    if (files.empty() && calls.empty())
        return {rights.network ? "files, system calls" : "files, system calls, network", true, true};
    if (files.empty()) return {fmt::format("files; not system calls: {}", calls), true, false};
    if (calls.empty()) return {fmt::format("system calls; not files: {}", files), false, true};
    return {fmt::format("no: files: {}; system calls: {}", files, calls)};
}

} // namespace common
