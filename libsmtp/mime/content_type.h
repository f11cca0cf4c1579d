// The values of Content-Type and Content-Transfer-Encoding (RFC 2045, 5 and 6), as far as the structure of a
// message depends on them. Knows nothing of fields, parts or bodies.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

struct ContentType {
    std::string type = "text", subtype = "plain"; // lower case
    std::string boundary;                         // "" none given

    bool is(std::string_view other_type, std::string_view other_subtype) const {
        return type == other_type && subtype == other_subtype;
    }
    bool operator==(const ContentType&) const = default;
};

// Folded or not, with comments. Parameters that are invalid are skipped; nothing where there is no
// type/subtype, or where the boundary is given twice.
std::optional<ContentType> parse_content_type(std::string_view value);

enum class TransferEncoding { seven_bit, eight_bit, binary, quoted_printable, base64, unknown };

// "" is seven_bit, as where there is no such field.
TransferEncoding parse_transfer_encoding(std::string_view value);

} // namespace smtp
