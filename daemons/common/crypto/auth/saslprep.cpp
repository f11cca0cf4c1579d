#include "daemons/common/crypto/auth/saslprep.h"
#include "libsmtp/text/utf8.h"
#include <cstdlib>
#include <cstring>
#include <stringprep.h>

namespace auth {

std::string saslprep(std::string_view text) {
    std::string whole(text);
    if (smtp::is_ascii(whole) || !smtp::is_utf8_text(whole) || whole.find('\0') != whole.npos) return whole;
    char* result = nullptr;
    // As one asks, not as one stores (RFC 3454, 7): letters younger than the RFC's Unicode are in real passwords.
    const int failed = stringprep_profile(whole.c_str(), &result, "SASLprep", Stringprep_profile_flags{});
    if (failed != STRINGPREP_OK) return whole;
    std::string prepared(result);
    explicit_bzero(result, prepared.size()); // it may be a password
    std::free(result);
    if (prepared.empty()) return whole;
    explicit_bzero(whole.data(), whole.size());
    return prepared;
}

} // namespace auth
