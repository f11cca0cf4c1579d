// The file of a table in a database ("mysql:FILE", "pgsql:FILE", "ldap:FILE"), in the format of Postfix's
// mysql_table(5), pgsql_table(5) and ldap_table(5): where the servers are, who we are there, what is asked, and what
// becomes of the result. Text to value: opens nothing. Errors never repeat a password.
#pragma once
#include "daemons/common/lookup/database/sql_query.h"
#include "daemons/common/lookup/format/specification.h"
#include "libsmtp/auth/secret.h"
#include "libsmtp/text/time_types.h"

namespace tables {

struct DatabaseServer {
    std::string socket;     // a UNIX socket; for PostgreSQL, its directory; "" for TCP
    std::string name;       // a host name or address
    std::uint16_t port = 0; // 0: the usual one
    std::string url;        // LDAP: the whole ("ldap://host:389")
    std::string text() const;
    bool operator==(const DatabaseServer&) const = default;
};

struct DatabaseTls {
    bool required = false; // never without
    bool verify = true;    // the server's certificate
    std::string ca_file, ca_directory, certificate, key, ciphers;
    bool operator==(const DatabaseTls&) const = default;
};

enum class LdapScope : std::uint8_t { subtree, base, one };

struct LdapQuery {
    Template base, filter;
    LdapScope scope = LdapScope::subtree;
    std::vector<std::string> attributes;    // whose values are results
    std::vector<std::string> dn_attributes; // … whose values name further entries
    bool bind = true;                       // as `user`; else anonymously
    bool start_tls = false;
    int version = 3;
    int dereference = 0;
    bool chase_referrals = false;
    std::size_t size_limit = 0, recursion_limit = 1000;
};

// What one table asks.
struct DatabaseTable {
    Kind kind = Kind::mysql;
    std::vector<DatabaseServer> servers;
    std::string database, user;
    smtp::Secret password;
    std::string charset;
    SqlQuery query; // of mysql and pgsql
    LdapQuery ldap;
    bool requires_result_set = true;
    Template result_format;
    std::vector<std::string> domains; // lower case; "!example.com" excludes; none: of every key
    std::size_t expansion_limit = 0;
    DatabaseTls tls;
    // The whole of a lookup; an idle connection is closed; a server that failed is not tried again.
    smtp::Duration timeout = std::chrono::seconds(10);
    smtp::Duration idle_interval = std::chrono::seconds(60);
    smtp::Duration retry_interval = std::chrono::seconds(60);
    std::size_t connections = 2;    // at most
    std::vector<std::string> notes; // "line 4: dbname: …": what has no effect

    // Is this key, in lower case, looked up at all?
    bool asks_for(std::string_view key) const;
};

// What is wrong with a parameter of the file.
struct FileProblem {
    std::uint32_t line = 0; // 0: the file as a whole
    std::string parameter;  // "" none
    std::string why;
    bool unsupported = false; // Postfix has it
    std::string text() const; // "line 3: hosts: …"
};

std::expected<DatabaseTable, std::vector<FileProblem>> read_table_file(Kind kind, std::string_view text);

} // namespace tables
