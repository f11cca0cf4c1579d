// Changes that filters make to a header, recorded beside the content and applied by
// every reader: the content itself never changes. A value with its encoding (fields),
// and the one function that applies it. Must not know who requested a change.
#pragma once
#include "libsmtp/message/header.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace spool {

struct FieldEdit {
    enum class What : std::uint8_t {
        insert,  // `text` before the field that has the number now; after the last if there is none
        replace, // the field of that number by `text`
        remove,  // the field of that number
        last_ = remove,
    };
    What what = What::insert;
    std::uint32_t number = 0; // from 0, counting all fields as left by the previous edits
    std::string text;         // one whole field with its CRLFs; "" for remove
    static void fields(auto& m, auto& f) {
        f(1, m.what);
        f(2, m.number);
        f(3, m.text);
    }
    bool operator==(const FieldEdit&) const = default;
};

struct Edits {
    std::uint64_t header_size = 0;  // size of the content's header in bytes, including the empty line
    std::vector<FieldEdit> changes; // in this order
    bool empty() const { return changes.empty(); }
    static void fields(auto& m, auto& f) {
        f(1, m.header_size);
        f(2, m.changes);
    }
    bool operator==(const Edits&) const = default;
};

inline constexpr std::uint64_t largest_edited_header = 64 * 1024 * 1024;

// One field, all of it, ended by CRLF, nothing bare in it?
bool is_one_field(std::string_view text);

// The header as edited, ended by an empty line; or what is wrong with the edits. `header` is the content's
// first header_size bytes.
std::expected<std::string, std::string> edited_header(std::string_view header, const std::vector<FieldEdit>& changes);

} // namespace spool
