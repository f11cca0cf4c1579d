// Which clients may relay by their certificates: permit_tls_clientcerts with relay_clientcerts,
// permit_tls_all_clientcerts. Here one key each applies to all listeners that ask for certificates.
#pragma once
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include <string_view>
#include <vector>

namespace postrider {

class CertificatePermits {
public:
    explicit CertificatePermits(Import& import) : import_(import) {}

    // Of one listener after the other: start, each list, finish.
    void start();
    // `for_relaying`: one of the lists that are judged at RCPT.
    void read(const std::vector<postfix::Restriction>& restrictions, bool for_relaying);
    void finish(const Import::Listener& listener);
    // May some clients of the current listener relay by their certificates, here as there?
    bool permit_some() const;

    void write(); // without it, they may not, which guards

private:
    // One of the two words.
    struct Permit {
        bool permits = true, named = false;            // the current listener
        bool some_permit = false;                      // of those that ask for certificates
        std::vector<const Import::Listener*> others{}; // that ask for them, and do not permit
    };
    static void read(Permit& permit, const std::vector<postfix::Restriction>& restrictions, std::string_view word);
    void report_others(const Permit& permit, std::string_view word, std::string_view key);

    Import& import_;
    Permit listed_, verified_;
    bool some_named_ = false; // permit_tls_clientcerts, in any list
};

} // namespace postrider
