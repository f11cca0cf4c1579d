#include "daemons/http/pages/parts/search_words.h"
#include <algorithm>

namespace http::pages {

namespace {
constexpr std::string_view everything = "all";
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool begun = false;
    char quote = 0;
    const auto end_word = [&] {
        if (begun && words.size() < most_words) words.push_back(word);
        word.clear();
        begun = false;
    };
    for (const char c : text) {
        if (quote == 0 && (c == ' ' || c == '\t')) {
            end_word();
            continue;
        }
        begun = true;
        if (c == quote)
            quote = 0;
        else if (quote == 0 && (c == '"' || c == '\''))
            quote = c;
        else
            word += c;
    }
    end_word();
    return words;
}

std::vector<std::string> queue_words(std::vector<std::string> words) {
    for (auto& word : words) {
        if (word == everything || word.contains('=')) continue;
        word = (word.contains('@') ? "recipient=" : "id=") + word;
    }
    return words;
}

std::vector<std::string> history_words(std::vector<std::string> words) {
    std::erase(words, everything);
    return words;
}

} // namespace http::pages
