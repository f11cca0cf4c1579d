// From what Postfix's files say to a postrider.toml: the work as a whole, and what its parts share. The
// machine is asked through a World only, so that a test brings its own. Knows both configurations; decides
// nothing about mail.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/setting_map/setting_map.h"
#include "daemons/import-postfix/conversion/config_draft.h"
#include "daemons/import-postfix/postfix/values.h"
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace postrider {

// What the importer asks of the machine.
struct World {
    std::string directory; // main.cf's, absolute
    std::string hostname;  // as gethostname(2) says it
    struct Interface {
        common::IpAddress address;
        int bits = 128; // of its network, of 128
    };
    std::vector<Interface> interfaces;
    std::function<std::expected<std::string, std::string>(const std::string& path)>
        read; // the error: "No such file …"
    std::function<bool(const std::string& path)> exists;
    std::function<std::string(std::uint32_t uid)> user_name; // "" nobody
};

// What became of one setting or service, for the comments and the summary.
struct Verdict {
    enum class Kind { carried, noted, without }; // as it was; otherwise, or with a remark; not at all
    std::string name;                            // "relayhost"; "smtp inet"
    std::string file;                            // "main.cf"
    std::uint32_t line = 0;
    Kind kind = Kind::carried;
    std::vector<std::string> remarks;
    std::string value = {}; // of main.cf: with everything put in
};

struct Imported {
    Draft draft;
    std::vector<Verdict> verdicts; // of all that main.cf and master.cf set, in their order
    std::size_t count(Verdict::Kind kind) const;
    // The whole file.
    std::string text();
    // A key that the check refused is taken out again: what came from it has no counterpart after all.
    void take_back(const std::string& path, const std::string& why);
};

// A Fault: the files make no sense, or a table they name cannot be read.
postfix::Read<Imported> import_postfix(const World& world);

// The state of the work; the parts below are handed it one after the other.
class Import {
public:
    Import(const World& world, postfix::Values values, std::vector<postfix::Service> services);

    const World& world;
    const postfix::Values values;
    const std::vector<postfix::Service> services;
    Draft draft;

    // A listener that was made of a service, with its own view of the settings.
    struct Door {
        std::string name; // of [listen.<name>]
        bool submission = false;
        const postfix::Service* service = nullptr;
        postfix::Values values;
    };
    std::vector<Door> doors;

    // What went wrong first; a part may go on, nothing comes of it.
    std::optional<postfix::Fault> fault;

    // The value put in; "" after a fault.
    std::string value(std::string_view name);
    std::string value(const postfix::Values& of, std::string_view name);
    std::vector<std::string> words(std::string_view name) { return split(value(name)); }
    bool yes(std::string_view name);
    bool given(std::string_view name) const { return values.given(name) != nullptr; }
    std::optional<std::uint64_t> seconds(std::string_view name, char unit = 's'); // a fault if it is none
    std::optional<std::uint64_t> number(std::string_view name);

    // Sets a key, and says that the setting is carried over.
    void set(std::string_view path, std::string value, std::string_view from);
    // What became of a setting that is set; nothing if it is not. The worse one counts, remarks add up.
    void carried(std::string_view name);
    void noted(std::string_view name, std::string remark);
    void without(std::string_view name, std::string remark);
    void wrong(std::string_view name, std::string message); // a fault at this setting
    // The same of services of master.cf.
    void service(const postfix::Service& service, Verdict::Kind kind, std::string remark = "");

    // Words of a list, of which files' names and tables are replaced by what stands in them (the keys of
    // tables).
    std::vector<std::string> listed(std::string_view name);
    // The lookup tables of a list, named in our way. What has no counterpart is noted at `name`.
    std::vector<std::string> tables(std::string_view name);
    std::optional<std::string> table(std::string_view name, std::string_view word);
    // The entries of a text table; nothing: it is none, and was noted.
    std::optional<std::vector<postfix::Entry>> entries(std::string_view name, std::string_view word);
    // Reads a file that a setting names; a fault at that setting.
    std::string file(std::string_view name, const std::string& path);
    // Where the file is that main.cf calls so: below DIR when it is not at its place in /etc/postfix.
    std::string located(const std::string& path) const;
    // Of a socket or file, relative to queue_directory.
    std::string queue_path(std::string_view path);

    // Networks, each named once however it is written; check would refuse it twice.
    static std::vector<std::string> each_once(const std::vector<std::string>& networks);

    // Of a milter or policy server, in our words; nothing: it cannot be named in figures.
    std::optional<std::string> service_address(std::string_view text);

    // A next hop of Postfix's in our words; nothing: it makes no sense to us.
    static std::optional<std::string> next_hop(std::string_view text);
    static std::optional<std::string> lmtp_hop(std::string_view text,
                                               const std::function<std::string(std::string_view)>& path);
    static std::vector<std::string> split(std::string_view text);

    Imported finish();

private:
    Verdict* verdict(std::string_view name);
    std::optional<std::string> file_table(std::string_view name, const std::string& type, std::string path);
    std::optional<std::string> sqlite_table(std::string_view name, const std::string& path);
    std::optional<std::string> inline_table(std::string_view name, std::string_view text);
    std::optional<std::string> service_table(std::string_view name, const std::string& type,
                                             std::string_view text);

    std::vector<Verdict> verdicts_;
    std::set<std::string, std::less<>> said_; // settings some part has spoken of
    std::size_t tables_made_ = 0;
};

// The parts, in the order of their work.
void import_names(Import& import);     // who we are, whose mail we take
void import_local(Import& import);     // mailboxes of users of this system
void import_addresses(Import& import); // virtual mailboxes, canonical, transport, …
void import_security(Import& import);  // certificates, levels of TLS, AUTH
void import_listeners(Import& import); // services of type inet
void import_restrictions(Import& import);
void import_filters(Import& import); // milters, header checks, copies
void import_sending(Import& import); // routes, limits, accounts
void import_accounts(Import& import); // at next hops; after them
void import_queue(Import& import);

} // namespace postrider
