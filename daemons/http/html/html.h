// HTML as a value that escapes by construction: text becomes part of it only as text, and the names of elements and
// attributes only as literals of the source. Pure; knows no pages.
#pragma once
#include "daemons/http/html/url.h"
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace html {

// Of an element or attribute. Does not compile with anything else than a literal of lower-case letters, digits and "-".
class Name {
public:
    consteval Name(const char* text) : text_(text) {
        for (const char c : text_)
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) throw "not a name";
        if (text_.empty()) throw "not a name";
    }
    constexpr std::string_view text() const { return text_; }

private:
    std::string_view text_;
};

struct Attribute {
    Attribute(Name name) : name(name) {}
    // Attributes that hold an address take a Url; scripts are no attributes.
    Attribute(Name name, std::string_view value);
    Attribute(Name name, const Url& value) : name(name), value(value.text()), has_value(true) {}

    Name name;
    std::string value = {};
    bool has_value = false;
};

using Attributes = std::initializer_list<Attribute>;

class Html {
public:
    Html() = default;
    Html(std::string_view text) { add_text(text); }
    Html(const std::string& text) { add_text(text); }
    Html(const char* text) { add_text(text); }
    Html(std::integral auto number) : markup_(std::to_string(number)) {}

    Html& operator+=(const Html& other) {
        markup_ += other.markup_;
        return *this;
    }
    bool empty() const { return markup_.empty(); }
    const std::string& markup() const { return markup_; }

private:
    friend class Writer;
    void add_text(std::string_view text);
    std::string markup_;
};

// Writes one element; use element() and empty_element().
class Writer {
public:
    Writer(Name name, Attributes attributes);
    void add(const Html& part) { out_ += part; }
    Html close(Name name) &&;
    Html leave_empty() && { return std::move(out_); }

private:
    Html out_;
};

// element("p", {{"class", "note"}}, "text ", element("b", {}, 7))
template <class... Parts> Html element(Name name, Attributes attributes, const Parts&... parts) {
    Writer writer(name, attributes);
    (writer.add(parts), ...);
    return std::move(writer).close(name);
}

// Of those without content: input, link, meta.
inline Html empty_element(Name name, Attributes attributes) { return Writer(name, attributes).leave_empty(); }

template <class... Parts> Html join(const Parts&... parts) {
    Html out;
    ((out += parts), ...);
    return out;
}

// A whole document, with its root element.
std::string document(const Html& root);

} // namespace html
