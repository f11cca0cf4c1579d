#include "daemons/common/config/load.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/runtime/read_file.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace config {

std::string Problem::to_string() const {
    if (line == 0) return fmt::format("{}: {}", file, message);
    return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

namespace {

// Its first line that says anything. Debian: "the name of the mail system", one for all mail programs of a host.
std::string first_line_of(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return {};
    char text[1024];
    const auto n = read(fd, text, sizeof text);
    close(fd);
    std::string_view rest(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    while (!rest.empty()) {
        auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        line = smtp::trimmed_left(smtp::trimmed_right(line, " \t\r"));
        if (!line.empty() && line.front() != '#') return std::string(line);
    }
    return {};
}

} // namespace

bool is_domain_name(std::string_view text) { return !domain_name(text).empty(); }

System System::here() {
    System system;
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) == 0) system.hostname = name;
    if (const auto* entry = getpwuid(geteuid()))
        system.user = entry->pw_name;
    else
        system.user = std::to_string(geteuid());
    system.mailname = first_line_of("/etc/mailname");
    system.processors = std::max(1u, std::thread::hardware_concurrency());
    return system;
}

namespace {

std::string why_unreadable(int code, const System& system) {
    std::string why = std::strerror(code);
    if (code == ENOENT)
        why += ": use -c FILE, or POSTRIDER_CONFIG in the environment, to name another file; its contents are "
               "described in postrider.toml(5)";
    if (code == EACCES)
        why += fmt::format(": running as {}, which needs read permission on the file and search permission on its "
                           "parent directories",
                           system.user);
    if (code == EFBIG) why += ": not a configuration";
    if (code == EISDIR) why += ": expected the name of a file, such as postrider.toml in it";
    return why;
}

} // namespace

std::expected<std::string, Problem> read_text(const std::string& file) {
    auto text = common::read_bounded(file, max_config_size);
    if (!text) return std::unexpected(Problem{file, 0, 0, why_unreadable(text.error(), System::here())});
    return *std::move(text);
}

std::expected<Config, std::vector<Problem>> parse_file(const std::string& file, const System& system) {
    const auto text = read_text(file);
    if (!text) return std::unexpected(std::vector<Problem>{text.error()});
    return parse(*text, file, system);
}

std::expected<Config, std::vector<Problem>> load(const std::string& file, const System& system) {
    auto config = parse_file(file, system);
    if (!config) return config;
    auto missing = missing_files(*config);
    if (!missing.empty()) return std::unexpected(std::move(missing));
    return config;
}

std::vector<Problem> missing_files(const Config& config) {
    std::vector<Problem> problems;
    for (const auto& [path, key, line, column] : config.files) {
        struct stat facts;
        if (stat(path.c_str(), &facts) != 0)
            problems.push_back(
                {config.file, line, column,
                 fmt::format("{}: {}: {}{}", key, path, std::strerror(errno),
                             key == "auth.passwords" && errno == ENOENT ? "; create it with \"postrider passwd USER\""
                                                                        : "")});
    }
    return problems;
}

} // namespace config
