// An address on this server: a path and a query, escaped by construction. It cannot lead elsewhere, nor be a script.
// Pure.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace html {

class Url {
public:
    using Parameters = std::vector<std::pair<std::string, std::string>>;

    // Url({"messages", id}, {{"q", words}}): "/messages/4F0D?q=all". Parameters without a value are left out.
    Url(std::initializer_list<std::string_view> segments, const Parameters& parameters = {});

    Url(const std::vector<std::string>& segments, const Parameters& parameters);
    // A place on the same page: "#main".
    static Url within(std::string_view id);

    const std::string& text() const { return text_; }

private:
    Url() = default;
    void add_segment(std::string_view segment);
    void add_query(const Parameters& parameters);
    std::string text_;
};

} // namespace html
