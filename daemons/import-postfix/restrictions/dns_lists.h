// DNS lists of reject_rbl_client, permit_dnswl_client and postscreen: each becomes a [dns_list."ZONE"], whatever names
// it.
#pragma once
#include "daemons/import-postfix/import/import.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

class DnsLists {
public:
    explicit DnsLists(Import& import) : import_(import) {}

    // "ZONE" or "ZONE=127.0.0.[2..4]"; false: the zone is not a domain, or the answers are invalid.
    bool add(std::string_view text, bool allow, int weight, std::string_view listener, std::string origin,
             bool rejects_alone = false);
    // reject_rbl_client, permit_dnswl_client with its argument; what cannot be carried over is recorded.
    void add(const Import::Listener& listener, std::string_view list, std::string_view word,
             const std::string& argument);
    void write(); // when all listeners and their lists are known

private:
    struct List {
        std::vector<std::string> answers, listeners;
        bool allow = false;
        bool any_answer = false;    // of a mention without answers
        bool rejects_alone = false; // by reject_rbl_client, whatever other lists say
        int weight = 1;
        std::string origin;
    };
    void report_exempted(const std::string& zone);

    Import& import_;
    std::map<std::string, List> lists_; // by zone
};

} // namespace postrider
