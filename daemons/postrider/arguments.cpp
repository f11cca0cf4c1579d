#include "daemons/postrider/arguments.h"

namespace postrider {

std::expected<Arguments, std::string> parse_arguments(const std::vector<std::string_view>& given) {
    Arguments out;
    bool only_words = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto word = given[i];
        if (only_words || word.empty() || word[0] != '-' || word == "-") {
            out.words.emplace_back(word);
        } else if (word == "--") {
            only_words = true;
        } else if (word == "-c" || word == "--config") {
            if (++i == given.size()) return std::unexpected(std::string(word) + " needs the name of a file");
            out.config = given[i];
        } else if (word.starts_with("--config=")) {
            out.config = word.substr(9);
        } else if (word.starts_with("-c")) {
            out.config = word.substr(2);
        } else if (word == "--json") {
            out.json = true;
        } else if (word == "-h" || word == "--help") {
            out.help = true;
        } else if (word == "--version") {
            out.version = true;
        } else {
            return std::unexpected("unknown option " + std::string(word));
        }
    }
    return out;
}

} // namespace postrider
