#include "daemons/smtp-client/tls/dane_lookup.h"
#include "daemons/common/crypto/tls/server_identity.h"

namespace smtp_client {

using decide::LookupStatus;

DaneLookup::DaneLookup(std::shared_ptr<dns::Resolver> resolver, const std::string& host, std::uint16_t port,
                       bool secure, Done done)
    : resolver_(std::move(resolver)), inquiry_(host, port, secure, tls::is_well_formed), done_(std::move(done)) {}

void DaneLookup::start() { step(); }

void DaneLookup::step() {
    const auto& question = inquiry_.question();
    if (!question) {
        const auto done = std::move(done_);
        const auto findings = inquiry_.findings();
        return done(findings); // may destroy this
    }
    using About = decide::DaneLookup::Question::About;
    switch (question->about) {
    case About::addresses:
        lookup_ = resolver_->look_up(question->name, dns::Type::a, [this](const dns::Answer& answer) {
            a_ = answer;
            on_addresses();
        });
        second_ = resolver_->look_up(question->name, dns::Type::aaaa, [this](const dns::Answer& answer) {
            aaaa_ = answer;
            on_addresses();
        });
        return;
    case About::alias:
        lookup_ = resolver_->look_up(question->name, dns::Type::cname, [this](const dns::Answer& answer) {
            inquiry_.alias(answer.said, answer.secure, answer.why);
            step();
        });
        return;
    case About::tlsa:
        lookup_ = resolver_->look_up(question->name, dns::Type::tlsa, [this](const dns::Answer& answer) {
            inquiry_.tlsa(answer.said, answer.secure, answer.tlsa, answer.why);
            step();
        });
        return;
    }
}

// What there is has to be secure; of what there is not, it does not matter.
void DaneLookup::on_addresses() {
    if (!a_ || !aaaa_) return;
    const bool v4 = a_->said == LookupStatus::records, v6 = aaaa_->said == LookupStatus::records;
    if (v4 || v6)
        inquiry_.addresses(LookupStatus::records, (!v4 || a_->secure) && (!v6 || aaaa_->secure),
                           v4 ? a_->canonical : aaaa_->canonical, "");
    else if (a_->said == LookupStatus::failed || aaaa_->said == LookupStatus::failed)
        inquiry_.addresses(LookupStatus::failed, false, "", a_->said == LookupStatus::failed ? a_->why : aaaa_->why);
    else
        inquiry_.addresses(a_->said, false, "", "");
    step();
}

} // namespace smtp_client
