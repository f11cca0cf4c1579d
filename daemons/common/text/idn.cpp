#include "daemons/common/text/idn.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"
#include <cstdlib>
#include <idn2.h>
#include <memory>
#include <unicase.h>
#include <uninorm.h>

namespace idn {

namespace {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

} // namespace

std::string ascii_domain(std::string_view domain) {
    if (smtp::is_ascii(domain)) return smtp::lowered(domain);
    if (domain.find('\0') != domain.npos || !smtp::is_utf8_text(domain)) return {};
    const std::string whole(domain);
    char* result = nullptr;
    const int failed = idn2_to_ascii_8z(whole.c_str(), &result, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    const std::unique_ptr<char, Free> owner(result);
    if (failed != IDN2_OK || !smtp::valid_domain(result) || !smtp::is_ascii(result)) return {};
    return smtp::lowered(result);
}

std::string folded(std::string_view name) {
    if (smtp::is_ascii(name) || !smtp::is_utf8_text(name)) return smtp::lowered(name);
    std::size_t length = 0;
    const std::unique_ptr<std::uint8_t, Free> small(u8_tolower(reinterpret_cast<const std::uint8_t*>(name.data()),
                                                               name.size(), nullptr, UNINORM_NFC, nullptr, &length));
    if (!small) return smtp::lowered(name); // no memory
    return {reinterpret_cast<const char*>(small.get()), length};
}

} // namespace idn
