#include "daemons/common/commands/effective_config.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/config/partial_config.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/replace_file.h"
#include "daemons/common/text/units.h"
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace common {

namespace {

constexpr std::size_t longest_published = 64 * 1024;

// A text as a TOML string.
std::string toml_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out + '"';
}

// Where a user's masters publish: a directory that only this user can write to.
std::string place_of(uid_t user) { return user == 0 ? "/run/postrider" : fmt::format("/run/user/{}/postrider", user); }

// "etc%2Fpostrider%2Fpostrider.toml": a name for each configuration file.
std::string name_of(const std::string& file) {
    std::error_code unknown;
    auto whole = std::filesystem::weakly_canonical(file, unknown);
    if (unknown) whole = std::filesystem::absolute(file, unknown).lexically_normal();
    std::string out;
    for (const char c : whole.string().substr(1)) out += c == '/' ? "%2F" : c == '%' ? "%25" : std::string(1, c);
    return out;
}

std::optional<config::Config> published_in(const std::string& place, const std::string& file) {
    const Fd fd(::open((place + '/' + name_of(file)).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat facts;
    if (!fd || ::fstat(fd.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
    if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) return {};
    std::string text(longest_published, '\0');
    const auto n = ::read(fd.number(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    auto config = config::parse(text, file);
    if (text.empty() || !config) return {};
    return *std::move(config);
}

std::optional<config::Config> published(const std::string& file) {
    if (auto own = published_in(place_of(::geteuid()), file)) return own;
    return published_in(place_of(0), file);
}

// The first problem and the number of the others; `postrider check` shows all of them.
std::string told(const std::vector<config::Problem>& problems) {
    const auto more = problems.size() - 1;
    return problems.front().to_string() + (more == 0 ? "" : fmt::format(" (and {} more)", more));
}

} // namespace

EffectiveConfig::EffectiveConfig(const config::Config& config, std::string warning)
    : mta(config.mta), spool(config.spool), history(config.history), local(config.local), submit(config.submit),
      master(config.master), idempotency(config.idempotency), pools(config.pools), pool_choice(config.pool_choice),
      warning(std::move(warning)) {}

std::expected<EffectiveConfig, std::vector<config::Problem>> effective_config(std::string_view given) {
    const auto file = config_file(given);
    auto partial = config::load_partial(file);
    if (partial && partial->problems.empty()) return EffectiveConfig(partial->config, "");
    const auto problems = partial ? partial->problems : partial.error();
    const auto instead = [&](const config::Config& config, std::string_view what) {
        return EffectiveConfig(
            config, fmt::format("{}; {} (\"postrider check\" shows all errors in the file)", told(problems), what));
    };
    const int closed = ::access(file.c_str(), R_OK) == 0 ? 0 : errno;
    if (auto config = published(file)) {
        // The file may be unreadable for ordinary users on purpose, and they cannot change that: no warning.
        if (closed == EACCES) return EffectiveConfig(*config, "");
        return instead(*config, "using the configuration of the running MTA");
    }
    if (partial)
        return instead(partial->config, fmt::format("assuming that the spool is {}", partial->config.spool.directory));
    // For any file but the standard one, a guess might find an unrelated MTA.
    if (file != standard_config_file || closed == ENOENT) return std::unexpected(problems);
    return instead(*config::parse("", file), fmt::format("assuming that the spool is {}", config::Spool{}.directory));
}

spool::Result<> publish_effective_config(const config::Config& config) {
    const auto place = place_of(::geteuid()), name = name_of(config.file);
    if (::mkdir(place.c_str(), 0755) != 0 && errno != EEXIST)
        return std::unexpected(spool::Error::from_errno("make directory " + place));
    return replace_file(place, name, effective_config_text(config), {fmt::format(".new-{}", ::getpid()), 0644});
}

void remove_effective_config(const config::Config& config) {
    ::unlink((place_of(::geteuid()) + '/' + name_of(config.file)).c_str());
}

std::string effective_config_text(const config::Config& config) {
    std::vector<std::string> aliases;
    for (const auto& each : config.local.aliases) aliases.push_back(toml_text(each));
    return fmt::format("# The part of {} that commands need, as the running master applied it. Written by "
                       "master.\n"
                       "[mta]\n"
                       "hostname = {}\n"
                       "origin = {}\n"
                       "multi_user = {}\n"
                       "user = {}\n"
                       "admin_group = {}\n"
                       "[spool]\n"
                       "directory = {}\n"
                       "[history]\n"
                       "directory = {}\n"
                       "[local]\n"
                       "aliases = [{}]\n"
                       "[submit]\n"
                       "message_size = {}\n"
                       "recipients = {}\n"
                       "[master]\n"
                       "stop_timeout = {}\n",
                       toml_text(config.file), toml_text(config.mta.hostname), toml_text(config.mta.origin),
                       config.mta.users, toml_text(config.mta.user), toml_text(config.mta.admin_group),
                       toml_text(config.spool.directory), toml_text(config.history.directory), fmt::join(aliases, ", "),
                       config.submit.message_size, config.submit.recipients,
                       toml_text(config::print_duration(config.master.stop_timeout)));
}

} // namespace common
