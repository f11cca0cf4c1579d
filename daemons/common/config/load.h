// Reads configurations: from a text or a file to a Config, or to a list of all its problems. parse.cpp and validate.cpp
// define what an unknown key, a default or a contradiction is.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/problem.h"
#include "daemons/common/config/schema/quantities.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace config {

inline constexpr std::size_t max_config_size = 4 * MiB; // of a configuration

// What parse() needs to know about the machine; tests supply their own.
struct System {
    std::string hostname; // as returned by gethostname(2)
    std::string user;     // the user running this: the only user in single-user mode
    std::uint32_t processors = 1;
    std::string mailname = {}; // text of /etc/mailname, as written; "" if there is no such file
    static System here();
};

// Is `text`, which may come from /etc/mailname, a domain name at all?
bool is_domain_name(std::string_view text);

// Returns all problems at once, in the order of the file. Relative paths in it are relative to the directory of `file`.
std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file,
                                                  const System& system = System::here());
// Reads and parses; an unreadable file, or missing files that it names, are Problems too.
std::expected<Config, std::vector<Problem>> load(const std::string& file, const System& system = System::here());
// The file's text; the Problem says why it cannot be read and what to do.
std::expected<std::string, Problem> read_text(const std::string& file);
// Reads and parses, without checking whether the files it names exist.
std::expected<Config, std::vector<Problem>> parse_file(const std::string& file, const System& system = System::here());
// The check that load() adds: files named in the configuration that are missing. For callers that have the text
// already.
std::vector<Problem> missing_files(const Config& config);

} // namespace config
