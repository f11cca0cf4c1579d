// master → daemons that speak TLS, check passwords or authenticate elsewhere: data
// that only root can read, and data shared by the workers of one kind. Each role
// gets only its own. Passed as a sealed file with Configure, never over a socket.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace proto::secrets {

struct Certificate {
    std::string file;       // as configured, for messages
    std::string chain, key; // PEM
    static void fields(auto& m, auto& f) {
        f("file", m.file);
        f("chain", m.chain);
        f("key", m.key);
    }
    bool operator==(const Certificate&) const = default;
};

struct TicketKey {
    std::string name, cipher, mac; // 16, 32 and 32 bytes
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("cipher", m.cipher);
        f("mac", m.mac);
    }
    bool operator==(const TicketKey&) const = default;
};

struct Server {                            // smtpd's
    std::vector<Certificate> certificates; // in the order of tls.certificates
    std::vector<TicketKey> ticket_keys;    // the first seals new tickets, all open old ones
    std::string client_authorities;        // PEM; "" none
    std::string passwords;                 // the text of auth.passwords; "" none
    std::string pepper;                    // 32 bytes, the same for all workers until master ends
    static void fields(auto& m, auto& f) {
        f("certificates", m.certificates);
        f("ticket_keys", m.ticket_keys);
        f("client_authorities", m.client_authorities);
        f("passwords", m.passwords);
        f("pepper", m.pepper);
    }
    bool operator==(const Server&) const = default;
};

struct SigningKey {
    std::string file; // as configured
    std::string key;  // PEM
    static void fields(auto& m, auto& f) {
        f("file", m.file);
        f("key", m.key);
    }
    bool operator==(const SigningKey&) const = default;
};

struct ShownCertificates {                 // to servers
    std::string route;                     // the pattern of the route that has them; "" all routes without their own
    std::vector<Certificate> certificates; // empty: none is shown
    static void fields(auto& m, auto& f) {
        f("route", m.route);
        f("certificates", m.certificates);
    }
    bool operator==(const ShownCertificates&) const = default;
};

struct Client {                           // smtp-client's
    std::string credentials;              // the text of smtp_client.credentials; "" none
    std::vector<SigningKey> signing_keys; // of all [dkim] sections, each file once
    std::vector<ShownCertificates> shown;
    static void fields(auto& m, auto& f) {
        f("credentials", m.credentials);
        f("signing_keys", m.signing_keys);
        f("shown", m.shown);
    }
    bool operator==(const Client&) const = default;
};

struct HookSecret {
    std::string hook; // [hook.<name>]
    std::string text; // of its secret_file
    static void fields(auto& m, auto& f) {
        f("hook", m.hook);
        f("text", m.text);
    }
    bool operator==(const HookSecret&) const = default;
};

struct Hooks { // the events process's
    std::vector<HookSecret> secrets;
    static void fields(auto& m, auto& f) { f("secrets", m.secrets); }
    bool operator==(const Hooks&) const = default;
};

struct ShownCertificate {
    std::string file, subject;
    bool authority = false;   // that clients are verified with; false: one that we show
    std::int64_t expires = 0; // seconds since 1970
    static void fields(auto& m, auto& f) {
        f("file", m.file);
        f("subject", m.subject);
        f("authority", m.authority);
        f("expires", m.expires);
    }
    bool operator==(const ShownCertificate&) const = default;
};

struct Api {                              // the http process's
    std::vector<Certificate> certificate; // its own: one, or none
    std::vector<ShownCertificate> shown;  // what the files of all say of themselves
    static void fields(auto& m, auto& f) {
        f("certificate", m.certificate);
        f("shown", m.shown);
    }
    bool operator==(const Api&) const = default;
};

struct NodeAccess {
    std::string node; // [node.<name>]
    std::string token;
    std::string authorities; // PEM, that its certificate is verified with
    static void fields(auto& m, auto& f) {
        f("node", m.node);
        f("token", m.token);
        f("authorities", m.authorities);
    }
    bool operator==(const NodeAccess&) const = default;
};

struct Nodes { // the transfer process's
    std::vector<NodeAccess> nodes;
    static void fields(auto& m, auto& f) { f("nodes", m.nodes); }
    bool operator==(const Nodes&) const = default;
};

struct TableFile {
    std::string table; // "mysql:/etc/postrider/users.cf"
    std::string text;  // with the password for the database
    std::string error; // why the file cannot be read; "": it was
    static void fields(auto& m, auto& f) {
        f("table", m.table);
        f("text", m.text);
        f("error", m.error);
    }
    bool operator==(const TableFile&) const = default;
};

struct Maps { // the maps process's
    std::vector<TableFile> tables;
    static void fields(auto& m, auto& f) { f("tables", m.tables); }
    bool operator==(const Maps&) const = default;
};

struct Fleet {               // the fleet process's
    std::string password;    // for the store; "" none
    std::string authorities; // PEM, that the store's certificate is verified with
    static void fields(auto& m, auto& f) {
        f("password", m.password);
        f("authorities", m.authorities);
    }
    bool operator==(const Fleet&) const = default;
};

using Message = std::variant<Server, Client, Hooks, Api, Nodes, Maps, Fleet>;

} // namespace proto::secrets
