// Reads configurations: from a text or a file to a Config, or to all that is wrong with it. What an unknown key, a
// default or a contradiction is, parse.cpp and validate.cpp know.
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

// What parse() asks of the machine; a test brings its own.
struct System {
    std::string hostname; // as gethostname(2) says it
    std::string user;     // who runs this: the one user of single-user mode
    std::uint32_t processors = 1;
    std::string mailname = {}; // what /etc/mailname says, as written; "" there is no such file
    static System here();
};

// Is that, as /etc/mailname may have it, a domain name at all?
bool is_domain_name(std::string_view text);

// All problems at once, in the order of the file. Relative paths in it are taken from the directory `file` is
// in.
std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file,
                                                  const System& system = System::here());
// Reads and parses; that the file cannot be read, or files it names are missing, is a Problem too.
std::expected<Config, std::vector<Problem>> load(const std::string& file, const System& system = System::here());
// The file's text; a problem says why it cannot be read and what to do.
std::expected<std::string, Problem> read_text(const std::string& file);
// Reads and parses, whether the files it names are there or not.
std::expected<Config, std::vector<Problem>> parse_file(const std::string& file, const System& system = System::here());
// What load() adds to both, for who has the text already.
std::vector<Problem> missing_files(const Config& config);

} // namespace config
