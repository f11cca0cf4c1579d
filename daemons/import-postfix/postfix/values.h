// The values of Postfix's settings after substitution of "$name": main.cf, overridden by the -o of a service, with
// Postfix's defaults for the rest. Knows Postfix's rules and nothing about Postrider. Pure and bounded.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include <map>
#include <string>
#include <string_view>

namespace postrider::postfix {

class Values {
public:
    static constexpr std::size_t max_size = 1 << 20, max_depth = 100; // of one value; of names in names

    // `host`: defaults that only the machine knows (myhostname, mydomain, config_directory, mynetworks).
    Values(std::string file, std::vector<Setting> main, std::map<std::string, std::string, std::less<>> host);
    // The same seen by a service: its -o go first.
    Values of(const Service& service, const std::string& file) const;

    // Set by main.cf, or by this service's -o? Null if not.
    const Setting* given(std::string_view name) const;
    // As written, else the default; "" for unknown names.
    std::string raw(std::string_view name) const;
    // With substitutions. A FileError names the line: a name in its own value, braces that never close.
    Read<std::string> value(std::string_view name) const;
    // The default, with substitutions.
    Read<std::string> default_value(std::string_view name) const;
    // Any text.
    Read<std::string> expand(std::string_view text, std::string_view where, std::uint32_t line) const;

    const std::string& file() const { return file_; }
    const std::map<std::string, Setting, std::less<>>& all() const { return main_; } // of two the last

private:
    class Expansion;
    std::string file_;
    std::map<std::string, Setting, std::less<>> main_;
    std::map<std::string, std::string, std::less<>> host_;
};

} // namespace postrider::postfix
