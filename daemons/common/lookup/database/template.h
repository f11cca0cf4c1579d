// Texts with placeholders, as queries and result formats of tables in databases have them; the same ones as in
// Postfix's mysql_table(5): %s the whole, %u its local part, %d its domain, %1 … %9 components of the key's domain from
// the right, %S %U %D those of the key also in a result format, %% a percent sign. Pure.
#pragma once
#include "libsmtp/text/text.h"
#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tables {

class Template {
public:
    struct Piece {
        std::string text;       // where there is no placeholder
        char placeholder = 0;   // 's' 'u' 'd' 'S' 'U' 'D' '1' … '9'; 0 none
        std::size_t offset = 0; // in the text as written
    };
    using Quote = std::function<std::string(std::string_view)>;

    // "%s".
    Template() : pieces_{{"", 's', 0}} {}
    static std::expected<Template, smtp::Malformed> parse(std::string_view text);

    // Of a value found for a key; in a query, both are the key. Nothing: one of them lacks a part that is named here,
    // so there is no query, or no result.
    std::optional<std::string> expand(std::string_view value, std::string_view key, const Quote& quote = {}) const;
    // Has the key every part of it that is named here? Parts of the value do not matter.
    bool suits(std::string_view key) const;

    const std::vector<Piece>& pieces() const { return pieces_; }
    bool has_placeholders() const;

private:
    std::vector<Piece> pieces_;
};

// What a placeholder stands for; nothing where there is no such part.
std::optional<std::string_view> part_of(char placeholder, std::string_view value, std::string_view key);

} // namespace tables
