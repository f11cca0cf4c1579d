// Header fields with which a submitter controls how this system handles the message,
// removed from the header as it streams past. All other fields are passed on unchanged.
// The names are passed in, and the beginning of names that are chosen by the submitter; must not know what they mean or
// who may use them.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

class ControlFields {
public:
    static constexpr std::size_t longest_value = 998; // what is longer is cut
    static constexpr std::size_t most_chosen = 16;    // fields; further ones are only taken out and counted

    // `names`: "X-Control"; `chosen`: "X-Control-Tag-", of names that continue as the submitter likes; "" none. In any
    // case; they outlive it.
    explicit ControlFields(std::span<const std::string_view> names, std::string_view chosen = {})
        : names_(names), chosen_(chosen), values_(names.size()) {}

    // Content with CRLF line ends, in order. What stays is appended to `out`; a few bytes may be kept back until
    // it is known what they begin.
    void feed(std::string_view content, std::string& out);
    // The content has ended.
    void finish(std::string& out);

    // The header's end, or a line that is no header field, was seen: feed() only copies.
    bool ended() const { return place_ == Place::body; }
    // How many fields of that name there were so far.
    std::size_t count(std::size_t number) const { return values_[number].fields; }
    // Of the first field of that name (its number in `names`), unfolded, without blanks around it; "" none.
    std::string value(std::size_t number) const;
    // The fields with a chosen name, in their order: what follows the beginning, and the value.
    struct Chosen {
        std::string name, value;
    };
    std::vector<Chosen> chosen() const;
    std::size_t chosen_count() const { return chosen_count_; } // with those beyond most_chosen

private:
    enum class Place : unsigned char { line_start, name, kept, taken, taken_line_start, body };
    void name_ended(std::string& out);
    void take_chosen(std::string_view name);
    std::string text_of(std::size_t number) const;

    struct Value {
        std::string text;
        bool complete = false; // further fields of the name are only taken out
        std::size_t fields = 0;
    };
    std::span<const std::string_view> names_;
    std::string_view chosen_;
    std::vector<Value> values_;             // of the names, then of those chosen
    std::vector<std::string> chosen_names_; // without the beginning
    std::size_t chosen_count_ = 0;
    Place place_ = Place::line_start;
    std::string held_;        // the name so far
    std::size_t current_ = 0; // taken: whose value
};

} // namespace smtp
