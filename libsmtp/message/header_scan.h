// Scans a message's header while its content streams past: the Message-ID, whether TLS
// is optional, its Precedence, the number of Received fields, fields that are asked for, sizes. Sees every byte of the
// header once, in views of any length, and keeps only what it reports. Changes nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

class HeaderScan {
public:
    static constexpr std::size_t longest_value = 998; // of a field asked for: what is longer is cut

    HeaderScan() = default;
    // Keeps the values of the fields with these names, in any case.
    explicit HeaderScan(const std::vector<std::string>& wanted) {
        for (const auto& name : wanted) fields_wanted_.push_back({name, {}, false});
    }

    // Content with CRLF line ends, in order. Cheap once the header has ended.
    void feed(std::string_view content) {
        if (!ended_) scan(content);
    }

    bool ended() const { return ended_; } // the empty line, or a line that is no header field, was seen
    // "<id@example.org>", unfolded and made printable, at most 998 bytes; "" if there is none (yet).
    std::string message_id() const;
    bool tls_optional() const;                           // "TLS-Required: No" (RFC 8689, 5), once
    std::string precedence() const;                      // "bulk": the first such field, in lower case; "" none
    std::uint32_t received() const { return received_; } // Received fields: hops so far
    std::uint32_t fields() const { return fields_; }
    std::uint64_t size() const { return size_; } // bytes of header so far
    struct Found {
        std::string name, value;
    };
    // The first field of each name that was asked for, as it was asked for; values unfolded, without blanks around
    // them.
    std::vector<Found> found() const;

private:
    void scan(std::string_view content);
    void field_named(std::string_view name);

    enum class Place : std::uint8_t { line_start, name, after_name, rest_of_line, header_end };
    enum class Kept : std::uint8_t { nothing, message_id, tls_required, precedence }; // of the field at hand
    Place place_ = Place::line_start;
    Kept kept_ = Kept::nothing;
    bool ended_ = false;
    std::uint32_t received_ = 0, fields_ = 0, tls_requireds_ = 0, precedences_ = 0;
    std::uint64_t size_ = 0;
    std::string name_, message_id_, tls_required_, precedence_;
    struct Wanted {
        std::string name, text;
        bool seen = false;
    };
    std::vector<Wanted> fields_wanted_;
    std::string* value_ = nullptr; // of the field at hand, if it is wanted
};

} // namespace smtp
