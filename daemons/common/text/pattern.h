// A regular expression as written in the rules of tables, "/pattern/flags", in Perl's
// syntax (PCRE2), and a match that is bounded however bad the pattern is. Pure.
#pragma once
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace common {

class Pattern {
public:
    // Removes it from the front of `text`: a pattern between two equal characters that are neither letters nor digits,
    // and the flags after it, each of which toggles one option, as in pcre_table(5): i (case is ignored unless it is
    // given), s ("." matches line ends, too), m, x, A, E, U.
    static std::expected<Pattern, smtp::Malformed> take(std::string_view& text);

    const std::string& text() const { return text_; } // "/pattern/"
    std::uint32_t groups() const;                     // that it captures

private:
    friend class PatternMatch;
    struct Free {
        void operator()(pcre2_real_code_8* code) const;
    };
    std::shared_ptr<pcre2_real_code_8> code_;
    std::string text_;
};

// Does a pattern match, and what did its groups capture? For many matches, one after the other.
class PatternMatch {
public:
    enum class Result : std::uint8_t { no, yes, too_long };

    PatternMatch();
    ~PatternMatch();
    PatternMatch(const PatternMatch&) = delete;
    PatternMatch& operator=(const PatternMatch&) = delete;

    // Within at most `steps` steps of matching, from which the steps used are subtracted. 5,000,000 take a tenth of a
    // second.
    Result match(const Pattern& pattern, std::string_view subject, std::int64_t& steps);

    // `text` with $1, ${1} and $(1) replaced by what the groups captured in `subject`, which was matched last; "$$" is
    // one "$". Where nothing matched, the groups are empty. About `longest` bytes of it at most.
    std::string filled_in(std::string_view text, std::string_view subject, std::size_t longest) const;

private:
    pcre2_real_match_data_8* data_;
    pcre2_real_match_context_8* limits_;
    std::int64_t left_ = 0; // steps that may still be taken
    std::size_t at_ = 0;    // in the subject, at the last step
    std::uint32_t caught_ = 0;
};

// `text` with the same word for every group that it references.
std::string filled_in_with(std::string_view text, std::string_view word);

// The highest group that a text to be filled in references; 0 none.
std::uint32_t highest_group(std::string_view text);

} // namespace common
