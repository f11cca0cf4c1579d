#include "daemons/common/commands/database_files.h"
#include "daemons/common/lookup/database/table_file.h"
#include "daemons/common/runtime/read_file.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>

namespace common {

namespace {

constexpr std::size_t largest_file = 64 << 10;

// Files that maps reads itself, confined and as the service user; the group of that is not known here.
void look_at_tls_files(const std::string& table, const tables::DatabaseTls& tls, std::vector<std::string>& out) {
    for (const auto& path : {tls.ca_file, tls.ca_directory, tls.certificate, tls.key}) {
        if (path.empty()) continue;
        struct stat facts{};
        const auto below = [&](std::string_view folder) { return path.starts_with(folder); };
        std::string why;
        if (!below("/etc/") && !below("/usr/") && !below("/lib/"))
            why = "it has to be below /etc, /usr or /lib";
        else if (::stat(path.c_str(), &facts) != 0)
            why = std::strerror(errno);
        else if (facts.st_uid == 0 && facts.st_gid == 0 && (facts.st_mode & 04) == 0)
            why = "mta.user must be able to read it";
        if (!why.empty())
            out.push_back(fmt::format("table {}: {}: {}; mail that depends on this table waits", table, path, why));
    }
}

void look_at(const std::string& table, const tables::Specification& what, std::vector<std::string>& out) {
    const auto text = read_bounded(what.name, largest_file);
    if (!text) return; // missing: an error of the configuration; not readable: root's to check
    const auto read = tables::read_table_file(what.kind, *text);
    if (!read)
        for (const auto& each : read.error())
            out.push_back(fmt::format("table {}: {}; mail that depends on this table waits", table, each.text()));
    if (read)
        for (const auto& note : read->notes) out.push_back(fmt::format("table {}: {}", table, note));
    if (read) look_at_tls_files(table, read->tls, out);
    struct stat facts{};
    if (read && !read->password.empty() && ::stat(what.name.c_str(), &facts) == 0 && (facts.st_mode & 07) != 0)
        out.push_back(fmt::format("table {0}: the file has a password and is accessible to every user (mode {1:04o}): "
                                  "\"chmod o= {2}\" fixes this",
                                  table, facts.st_mode & 07777, what.name));
}

} // namespace

std::vector<std::string> database_file_warnings(const std::vector<config::TableReference>& named) {
    std::vector<std::string> out;
    std::set<std::string> seen;
    for (const auto& each : named) {
        const auto what = tables::Specification::parse(each.table);
        if (what && tables::is_database(what->kind) && seen.insert(each.table).second) look_at(each.table, *what, out);
    }
    return out;
}

std::string test_key_for(const std::string& table) {
    constexpr std::string_view user = "postmaster@";
    const auto what = tables::Specification::parse(table);
    if (!what || !tables::is_database(what->kind)) return "postmaster";
    const auto text = read_bounded(what->name, largest_file);
    const auto read =
        text ? tables::read_table_file(what->kind, *text) : std::unexpected(std::vector<tables::FileProblem>{});
    if (read)
        for (const auto& domain : read->domains)
            if (!domain.starts_with('!')) return std::string(user) + domain;
    return std::string(user) + "g.f.e.d.c.b.mail.example.com"; // has every part that a query may name
}

} // namespace common
