// The file of tokens (libspool/FORMAT.md): a line of JSON for each. Reads and writes its text; secrets are made here
// and are not in it. Pure but for randomness; knows no files.
#pragma once
#include "daemons/common/tokens/token.h"
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tokens {

inline constexpr std::string_view file_name = "tokens", secret_prefix = "prt_";
inline constexpr std::size_t largest_file = 4 << 20, longest_secret = 128;

// All or nothing: the error says in which line what is wrong.
std::expected<std::vector<Token>, std::string> parse(std::string_view text);
std::string text_of(const std::vector<Token>& tokens);

// "prt_" and 256 random bits.
std::string new_secret();
std::string hash_of(std::string_view secret);
// The one with that secret, whether it is valid now or not; null: none. Takes the same time for each token.
const Token* find(const std::vector<Token>& tokens, std::string_view secret);

} // namespace tokens
