// Writes a private key to a new file that only its owner can read. A file that exists is never overwritten: a key that
// is lost is lost.
#pragma once
#include <optional>
#include <string>

namespace postrider {

// On stable storage when it returns. An errno if it failed (EEXIST: the file exists); then nothing was left there.
std::optional<int> write_new_key_file(const std::string& path, const std::string& pem);

} // namespace postrider
