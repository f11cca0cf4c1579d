// The words of a search box: what a person types becomes the words of the filters for the queue and for the history.
// Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace http::pages {

inline constexpr std::size_t most_words = 50;

// Separated by blanks; "…" and '…' keep blanks together: subject="two words".
std::vector<std::string> words_of(std::string_view text);

// Words without a key are recipients, if they are addresses, or ids.
std::vector<std::string> queue_words(std::vector<std::string> words);
// The history finds words without a key by itself.
std::vector<std::string> history_words(std::vector<std::string> words);

} // namespace http::pages
