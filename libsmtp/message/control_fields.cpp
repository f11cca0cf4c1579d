#include "libsmtp/message/control_fields.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace smtp {

// A colon ends the name; spaces before it belong to it (RFC 5322, 4.5.8 obs-optional).
void ControlFields::name_ended(std::string& out) {
    const auto name = trimmed_right(held_);
    const auto found = std::ranges::find_if(names_, [&](auto each) { return same_ignoring_case(each, name); });
    if (found == names_.end() && !chosen_.empty() && name.size() > chosen_.size() &&
        same_ignoring_case(name.substr(0, chosen_.size()), chosen_)) {
        take_chosen(name.substr(chosen_.size()));
    } else if (found == names_.end()) {
        place_ = Place::kept;
        (out += held_) += ':';
    } else {
        place_ = Place::taken;
        current_ = static_cast<std::size_t>(found - names_.begin());
        ++values_[current_].fields;
    }
    held_.clear();
}

void ControlFields::take_chosen(std::string_view name) {
    place_ = Place::taken;
    if (++chosen_count_ <= most_chosen) {
        chosen_names_.emplace_back(name);
        values_.emplace_back();
    } else if (chosen_count_ == most_chosen + 1) {
        values_.push_back({.complete = true}); // for all further ones
    }
    current_ = values_.size() - 1;
}

void ControlFields::feed(std::string_view content, std::string& out) {
    constexpr std::size_t longest_name = 200; // no control field's name, with any blanks after it
    while (!content.empty()) {
        const char c = content.front();
        switch (place_) {
        case Place::body: out += content; return;
        case Place::taken_line_start:
            if (c == ' ' || c == '\t') {
                place_ = Place::taken;
                continue;
            }
            values_[current_].complete = true;
            place_ = Place::line_start;
            continue;
        case Place::line_start:
            if (c == '\r' || c == '\n') {
                place_ = Place::body;
            } else if (c == ' ' || c == '\t') {
                place_ = Place::kept; // continues the previous field
            } else {
                place_ = Place::name;
            }
            continue;
        case Place::name:
            content.remove_prefix(1);
            if (c == ':') {
                name_ended(out);
            } else if (held_.push_back(c); c == '\n' || held_.size() > longest_name) {
                out += held_;
                held_.clear();
                place_ = c == '\n' ? Place::body : Place::kept; // a line without a colon ends the header
            }
            continue;
        case Place::kept: {
            const auto end = content.find('\n');
            const auto line = content.substr(0, end == content.npos ? end : end + 1);
            out += line;
            content.remove_prefix(line.size());
            if (end != content.npos) place_ = Place::line_start;
            continue;
        }
        case Place::taken: {
            const auto end = content.find('\n');
            const auto line = content.substr(0, end == content.npos ? end : end + 1);
            auto& value = values_[current_];
            if (!value.complete)
                value.text += line.substr(0, longest_value - std::min(longest_value, value.text.size()));
            content.remove_prefix(line.size());
            if (end != content.npos) place_ = Place::taken_line_start;
            continue;
        }
        }
    }
}

void ControlFields::finish(std::string& out) {
    out += held_;
    held_.clear();
}

std::string ControlFields::text_of(std::size_t number) const {
    std::string out = values_[number].text;
    std::erase_if(out, [](char c) { return c == '\r' || c == '\n'; });
    return std::string(trimmed(out));
}

std::string ControlFields::value(std::size_t number) const { return text_of(number); }

std::vector<ControlFields::Chosen> ControlFields::chosen() const {
    std::vector<Chosen> out;
    for (std::size_t n = 0; n < chosen_names_.size(); ++n)
        out.push_back({chosen_names_[n], text_of(names_.size() + n)});
    return out;
}

} // namespace smtp
