#include "daemons/smtpd/session/certificate_check.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtpd {

using Kind = CertificatePermission::Kind;

static constexpr std::size_t longest_name = 100;

CertificateCheck::CertificateCheck(const Rules& rules, const tls::ClientCertificate& certificate,
                                   std::shared_ptr<common::AccessLookups> lookups)
    : rules_(rules), certificate_(certificate), has_tables_(lookups != nullptr), answers_(std::move(lookups), {}) {}

std::optional<CertificatePermission> CertificateCheck::ask(smtp::WallTime now, Done done) {
    if (auto why = certificate_.why_not_valid(now); !why.empty())
        return CertificatePermission{Kind::none, {}, std::move(why)};
    auto found = look_up();
    if (found) return found;
    done_ = std::move(done);
    fetch();
    return {};
}

std::optional<CertificatePermission> CertificateCheck::look_up() {
    const auto& relay = rules_.config->relay;
    if (!has_tables_ && !relay.client_certificates.empty()) // a reload has taken them away
        return CertificatePermission{Kind::unavailable, {}, "relay.client_certificates is no longer configured"};
    questions_.begin(answers_);
    for (const auto& table : relay.client_certificates)
        for (const auto& fingerprint : {certificate_.fingerprint, certificate_.key_fingerprint}) {
            const auto answer = questions_.ask(decide::access::Lookup::Kind::table, table, fingerprint);
            if (!answer) return {};
            using Status = decide::access::Answer::Status;
            if (answer->status == Status::failed) return CertificatePermission{Kind::unavailable, {}, answer->why};
            if (answer->status == Status::found) return permitted(answer->values.front(), true);
        }
    // An authority chooses its names without knowing those of the table. "?" stands for characters that differ.
    if (relay.verified_certificates && certificate_.problem.empty())
        return permitted(
            certificate_.subject.empty() || certificate_.subject.contains('?') ? "" : "CN=" + certificate_.subject,
            false);
    std::string why;
    if (!relay.client_certificates.empty())
        why = fmt::format("relay.client_certificates lists neither {} nor its key, {}", certificate_.fingerprint,
                          certificate_.key_fingerprint);
    if (relay.verified_certificates)
        why += fmt::format("{}tls.client_ca_file does not verify it: {}", why.empty() ? "" : ", and ",
                           certificate_.problem);
    return CertificatePermission{Kind::none, {}, std::move(why)};
}

// Its owner has a name in history and rules for senders, if it can be one.
CertificatePermission CertificateCheck::permitted(std::string_view name, bool listed) const {
    const bool word = !name.empty() && name.size() <= longest_name &&
                      std::ranges::all_of(name, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != ','; });
    return {Kind::permitted, word ? std::string(name) : certificate_.fingerprint, {}, listed};
}

void CertificateCheck::fetch() {
    answers_.fetch(questions_.pending(), [this] {
        auto found = look_up();
        if (!found) return fetch();
        const auto done = std::move(done_);
        done(*std::move(found)); // may destroy this
    });
}

} // namespace smtpd
