// dkim-key: a key pair for DKIM. The private half goes into a file that only its owner may read, the public one
// to standard output as a line for the zone's file.
#include "daemons/postrider/configuration/dkim_key.h"
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/command/new_key_file.h"
#include "daemons/postrider/command/txt_strings.h"
#include "libsmtp/text/text.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::uint64_t default_bits = 2048, max_bits = 8192;

} // namespace

int dkim_key(const Arguments& arguments) {
    const auto domain = config::domain_name(arguments.words[0]), selector = config::domain_name(arguments.words[1]);
    if (domain.empty()) return fail(usage, fmt::format("\"{}\" is not a domain", arguments.words[0]));
    if (selector.empty()) return fail(usage, fmt::format("\"{}\" is not a valid selector", arguments.words[1]));
    const bool ed25519 = arguments.has("--ed25519");
    if (ed25519 && arguments.has("--bits")) return fail(usage, "--bits is for RSA keys");
    const auto bits = smtp::parse_number(arguments.option("--bits").value_or(std::to_string(default_bits)), max_bits);
    if (!bits || *bits < dkim::min_rsa_bits)
        return fail(usage, fmt::format("--bits: from {} to {}", dkim::min_rsa_bits, max_bits));

    const auto key = ed25519 ? dkim::SigningKey::make_ed25519() : dkim::SigningKey::make_rsa(static_cast<int>(*bits));
    if (!key) return fail(software, key.error().what);
    const auto path =
        std::filesystem::absolute(arguments.option("--file").value_or(fmt::format("{}.{}.pem", selector, domain)))
            .string();
    if (const auto error = write_new_key_file(path, key->pem()))
        return fail(*error == EEXIST ? already_so : disk_error, fmt::format("{}: {}", path, std::strerror(*error)));
    const auto name = fmt::format("{}._domainkey.{}", selector, domain);
    if (arguments.json) {
        print_json({{"version", 1}, {"file", path}, {"name", name}, {"record", key->record()}});
        return ok;
    }
    fmt::print("{}. IN TXT ( {} )\n\n", name, txt_strings(key->record()));
    fmt::print("Publish this record. Then, in postrider.toml:\n\n[dkim.\"{}\"]\nkeys = [\"{} {}\"]\n", domain, selector,
               path);
    return ok;
}

} // namespace postrider
