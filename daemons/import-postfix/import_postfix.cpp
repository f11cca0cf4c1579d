// import-postfix: reads Postfix's configuration, prints ours, and checks what it prints as `check` would.
#include "daemons/import-postfix/import_postfix.h"
#include "daemons/common/commands/config_files_check.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/terminal/arguments.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "daemons/import-postfix/conversion/conversion.h"
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace postrider {

using nlohmann::json;

namespace {

// A file of sane size; pipes and devices would never end.
std::expected<std::string, std::string> read_regular(const std::string& path) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) return std::unexpected(std::string(std::strerror(errno)));
    if (!S_ISREG(info.st_mode)) return std::unexpected(std::string("not a regular file"));
    if (static_cast<std::uint64_t>(info.st_size) > postfix::max_file_size)
        return std::unexpected(fmt::format("too large: {} bytes, limit {}", info.st_size, postfix::max_file_size));
    auto text = common::read_file(path);
    if (!text) return std::unexpected(std::string(std::strerror(text.error().code)));
    return *std::move(text);
}

int prefix_of(const sockaddr* mask) {
    if (!mask) return 128;
    int bits = 0;
    const auto count = [&](const unsigned char* bytes, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) bits += __builtin_popcount(bytes[i]);
    };
    if (mask->sa_family == AF_INET) {
        count(reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr), 4);
        return 96 + bits;
    }
    count(reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr), 16);
    return bits;
}

std::vector<HostEnvironment::Interface> interfaces() {
    std::vector<HostEnvironment::Interface> out;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return out;
    for (const auto* each = all; each; each = each->ifa_next)
        if (each->ifa_addr)
            if (const auto address = common::IpAddress::of(each->ifa_addr))
                out.push_back({*address, prefix_of(each->ifa_netmask)});
    freeifaddrs(all);
    return out;
}

std::string user_name(std::uint32_t uid) {
    const auto* entry = getpwuid(uid);
    return entry ? entry->pw_name : "";
}

// Everything `check` finds in this text.
std::vector<config::Problem> config_problems(const std::string& text, const std::string& name) {
    auto config = config::parse(text, name);
    if (!config) return config.error();
    auto problems = config::missing_files(*config);
    if (!problems.empty()) return problems;
    // The user of the daemons may come with the package, later: until then only root can be the owner of
    // secrets.
    if (!common::look_up_user(config->mta.user)) config->mta.users = false;
    return problems_in_files(*config);
}

// A number or a time: out of our range, our default is as good. Nothing else goes: a file, a level of TLS, a list of
// who may do what would leave a gate open or mail without a way.
bool is_quantity(std::string_view value) {
    if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
    if (!value.empty() && std::isalpha(static_cast<unsigned char>(value.back()))) value.remove_suffix(1);
    return !value.empty() && value.find_first_not_of("0123456789") == value.npos;
}

// Quantities that the check refuses are taken out again, with the reason; what else it refuses is for the
// administrator.
std::vector<config::Problem> drop_rejected_quantities(ImportResult& imported, std::string& text,
                                                      const std::string& name) {
    constexpr int most_rounds = 100;
    for (int round = 0;; ++round) {
        text = imported.text();
        auto problems = config_problems(text, name);
        if (problems.empty() || round == most_rounds) return problems;
        std::set<std::string> taken;
        for (const auto& problem : problems)
            if (const auto key = imported.draft.key_at_line(problem.line);
                imported.draft.find(key) && is_quantity(imported.draft.find(key)->value) && taken.insert(key).second)
                imported.drop_key(key, problem.message);
        if (taken.empty()) return problems;
    }
}

// Never over a file that is there.
int write_file(const std::string& path, const std::string& text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST)
        return fail(cannot_create, fmt::format("{} already exists and is not overwritten: choose another file", path));
    if (fd < 0) return fail(cannot_create, fmt::format("{}: {}", path, std::strerror(errno)));
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto written = ::write(fd, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            print_error(fmt::format("{}: {}", path, std::strerror(errno)));
            close(fd);
            unlink(path.c_str());
            return disk_error;
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    fsync(fd);
    close(fd);
    return ok;
}

json as_json(const ImportResult& imported, const std::string& text) {
    constexpr const char* names[] = {"converted", "converted_with_remarks", "unsupported"};
    json settings = json::array();
    for (const auto& result : imported.results)
        settings.push_back({{"name", result.name},
                            {"file", result.file},
                            {"line", result.line},
                            {"value", result.value},
                            {"result", names[static_cast<int>(result.kind)]},
                            {"remarks", result.remarks}});
    json undecided = json::array();
    for (const auto& each : imported.undecided)
        undecided.push_back({{"file", each.file}, {"line", each.line}, {"guard", each.guard}, {"advice", each.advice}});
    return {{"version", 1},
            {"undecided", undecided},
            {"converted", imported.count(SettingResult::Kind::converted)},
            {"converted_with_remarks", imported.count(SettingResult::Kind::with_remark)},
            {"unsupported", imported.count(SettingResult::Kind::unsupported)},
            {"settings", settings},
            {"configuration", text}};
}

} // namespace

int import_from_postfix(const Arguments& arguments) {
    HostEnvironment environment;
    const std::unique_ptr<char, decltype(&std::free)> directory(realpath(arguments.words[0].c_str(), nullptr),
                                                                std::free);
    if (!directory) return fail(data_error, fmt::format("{}: {}", arguments.words[0], std::strerror(errno)));
    environment.directory = directory.get();
    environment.hostname = config::System::here().hostname;
    environment.interfaces = interfaces();
    environment.read = read_regular;
    environment.exists = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
    environment.user_name = user_name;
    environment.is_user = [](const std::string& name) { return getpwnam(name.c_str()) != nullptr; };
    auto imported = import_postfix(environment);
    if (!imported) return fail(data_error, imported.error().to_string());

    const auto file = arguments.option("-o");
    std::string text;
    const auto problems = drop_rejected_quantities(*imported, text, file.value_or("postrider.toml"));
    if (file) {
        if (const int status = write_file(*file, text); status != ok) return status;
    } else if (!arguments.json) {
        fmt::print("{}", text);
    }
    if (arguments.json) print_json(as_json(*imported, text));
    for (const auto& problem : problems) print_error(problem.to_string());
    if (std::fflush(stdout) != 0) return fail(disk_error, fmt::format("standard output: {}", std::strerror(errno)));
    print_error(fmt::format("{}: imported {}, with remarks {}, without a counterpart {}", arguments.words[0],
                            imported->count(SettingResult::Kind::converted),
                            imported->count(SettingResult::Kind::with_remark),
                            imported->count(SettingResult::Kind::unsupported)));
    if (!imported->undecided.empty())
        print_error(fmt::format("protection that is missing: decide about {} {} of [undecided], and delete each",
                                imported->undecided.size(), imported->undecided.size() == 1 ? "line" : "lines"));
    if (!problems.empty())
        return fail(bad_config, "the result is incomplete: resolve the remarks above, then run postrider check");
    return ok;
}

} // namespace postrider
