// The result of one check of `setup`. Value.
#pragma once
#include <string>
#include <string_view>

namespace postrider::setup {

enum class Grade {
    good,
    note, // worth knowing; mail works
    bad,  // to be fixed
};

struct Finding {
    Grade grade = Grade::good;
    std::string subject; // what was checked: "reverse", "TXT _dmarc.example.com"
    std::string text;    // what was found
    std::string advice;  // what to do; "": nothing
    bool operator==(const Finding&) const = default;
};

constexpr std::string_view name_of(Grade grade) {
    constexpr std::string_view names[] = {"ok", "note", "bad"};
    return names[static_cast<int>(grade)];
}

} // namespace postrider::setup
