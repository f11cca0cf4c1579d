// Reads a TOML text into sections of keys (tables.h): what is unknown, of the wrong
// type or out of range becomes a Problem with file, line, column and the nearest
// existing key. Used for the configuration and for the scenarios of `postrider
// simulate`; must not know what the keys mean. Only its .cpp knows the TOML library.
#pragma once
#include "daemons/common/config/problem.h"
#include "daemons/common/config/renamed_keys.h"
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/sections/recipients/lookup.h"
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace config {

struct Position {
    std::uint32_t line = 0, column = 0;
    auto operator<=>(const Position&) const = default;
};

// Sections that come any number of times, each with a name: [listen.<name>].
struct NamedSections {
    std::string_view name, pattern; // "listen", "[listen.<name>]"
    bool quoted = false;            // the name is written in quotation marks: [route."<domain>"]
    // Called once for each; `fill` reads it into the keys it is given.
    using Fill = std::function<void(Section)>;
    std::function<void(const std::string& word, const std::string& path, const Fill& fill)> take;
};

class TomlReader {
public:
    // `renamed`: former names, which are refused with the present one.
    explicit TomlReader(std::string_view file, std::span<const RenamedKey> renamed = {})
        : file_(file), renamed_(renamed) {}

    // Called for each named section after it has been read, also if a value was wrong.
    using OnSection = std::function<void(const std::string& path, const Section& section)>;
    void on_named_section(OnSection called) { on_named_section_ = std::move(called); }

    // False: it is no TOML at all, and problems() says where.
    bool read(std::string_view text, std::span<Section> fixed, std::span<const NamedSections> named);

    // A relative name of a file is taken from the directory of this one.
    void resolve(std::string& path) const;
    // Does the text set that key ("smtpd.workers") or have that named section?
    bool is_set(const std::string& path) const { return positions_.contains(path); }
    Position position(const std::string& path) const {
        const auto found = positions_.find(path);
        return found == positions_.end() ? Position{} : found->second;
    }
    // `about`: the key or section it concerns ("spool.directory", "spool"), or that was probably meant; "" none.
    void problem(Position place, std::string message, std::string_view about = {});
    void problem_at(const std::string& path, std::string message) { problem(position(path), std::move(message), path); }
    // Does a problem concern that section, or is it likely that the section was meant?
    bool has_problem(std::string_view section) const { return has_problem_.contains(section); }
    // The lookup tables that were named, in the order of the text.
    const std::vector<TableReference>& table_references() const { return table_references_; }
    bool ok() const { return problems_.empty(); }
    // All there are, in the order of the file. Ends the reading.
    std::vector<Problem> problems();

private:
    struct Inside;
    std::string file_;
    std::span<const RenamedKey> renamed_;
    OnSection on_named_section_;                // may be empty
    std::map<std::string, Position> positions_; // of the keys that the text sets
    std::vector<TableReference> table_references_;
    std::set<std::string, std::less<>> has_problem_; // sections
    std::vector<Problem> problems_;
};

} // namespace config
