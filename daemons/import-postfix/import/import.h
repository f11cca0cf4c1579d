// The state of a conversion of Postfix's configuration to a postrider.toml: what its steps read, what they write, and
// what becomes of each setting. Accesses the machine only through a HostEnvironment, so that a test can bring its own.
// Knows none of the steps.
#pragma once
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/draft/config_draft.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/values.h"
#include "daemons/import-postfix/setting_map/setting_map.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace postrider {

// What the importer asks of the machine.
struct HostEnvironment {
    std::string directory; // main.cf's, absolute
    std::string hostname;  // as gethostname(2) returns it
    struct Interface {
        common::IpAddress address;
        int bits = 128; // of its network, of 128
    };
    std::vector<Interface> interfaces;
    std::function<std::expected<std::string, std::string>(const std::string& path)> read; // the error: "No such file …"
    std::function<bool(const std::string& path)> exists;
    std::function<std::string(std::uint32_t uid)> user_name; // "" unknown
    std::function<bool(const std::string& name)> is_user;
};

// The result of one setting or service, for the comments and the summary.
struct SettingResult {
    enum class Kind { converted, with_remark, unsupported }; // unchanged; differently, or with a remark; not at all
    std::string name;                                        // "relayhost"; "smtp inet"
    std::string file;                                        // "main.cf"
    std::uint32_t line = 0;
    Kind kind = Kind::converted;
    std::vector<std::string> remarks;
    std::string value = {}; // of main.cf, expanded
};

// Something that guarded in Postfix and is not carried over: a line of [undecided], which the operator deletes once
// they have decided what replaces it.
struct Undecided {
    std::string file; // "main.cf"
    std::uint32_t line = 0;
    std::string guard;  // "body_checks = pcre:/x", "smtpd_client_restrictions: check_client_access cidr:/x"
    std::string advice; // what is no longer guarded, and what to do
};

struct ImportResult {
    ConfigDraft draft;
    std::vector<SettingResult> results; // of all that main.cf and master.cf set, in their order
    std::vector<Undecided> undecided;   // in the order of the files; they are in `draft`
    std::size_t count(SettingResult::Kind kind) const;
    // The whole file.
    std::string text();
    // Removes a key that the check rejects; its setting then counts as unsupported.
    void drop_key(const std::string& path, const std::string& why);
};

// The state of the conversion; passed to the steps below one after the other.
class Import {
public:
    Import(const HostEnvironment& environment, postfix::Values values, std::vector<postfix::Service> services);

    const HostEnvironment& environment;
    const postfix::Values values;
    const std::vector<postfix::Service> services;
    ConfigDraft draft;

    // A listener that was made of a service, with its own view of the settings.
    struct Listener {
        std::string name; // of [listen.<name>]
        bool submission = false;
        const postfix::Service* service = nullptr;
        postfix::Values values;
    };
    std::vector<Listener> listeners;
    bool names_filters = false;              // a FILTER of access tables or checks was imported
    std::set<std::string> sources_by_system; // sections of routes that do not have main.cf's source addresses

    // The first error; steps may continue after it, but there is no result.
    std::optional<postfix::FileError> error;

    // The expanded value; "" after an error.
    std::string value(std::string_view name);
    std::string value(const postfix::Values& of, std::string_view name);
    std::vector<std::string> words(std::string_view name) { return postfix::words_of(value(name)); }
    bool flag(std::string_view name);
    bool given(std::string_view name) const { return values.given(name) != nullptr; }
    std::optional<std::uint64_t> seconds(std::string_view name, char unit = 's'); // an error if it is not one
    std::optional<std::uint64_t> number(std::string_view name);

    // Sets a key and marks the setting as converted.
    void set(std::string_view path, std::string value, std::string_view from);
    // The result of a setting, if it is set. The worst one counts; remarks accumulate.
    void mark_converted(std::string_view name);
    void add_remark(std::string_view name, std::string remark);
    // If the setting is one that guards, its loss has to be decided; `if_lost`: what the row of the setting does not
    // know about this value.
    void mark_unsupported(std::string_view name, std::string remark, std::optional<IfLost> if_lost = {});
    // The same for a part of the setting, "check_client_access cidr:/x", whose loss has to be decided.
    void mark_unguarded(std::string_view name, std::string_view part, std::string remark);
    void fail(std::string_view name, std::string message); // an error at this setting
    // The same of services of master.cf.
    void record_service(const postfix::Service& service, SettingResult::Kind kind, std::string remark = "");
    void record_unguarded(const postfix::Service& service, const std::string& guard, const std::string& remark);
    // Does the service set something without effect here that guards? `over`: one of its -o; the loss is recorded.
    void record_override(const postfix::Service& service, const postfix::Setting& over, std::string_view remark);

    // Reads a file that a setting names; an error at that setting.
    std::string file(std::string_view name, const std::string& path);
    // The path of a file that main.cf names: below DIR when it is not at its place in /etc/postfix.
    std::string resolved_path(const std::string& path) const;
    // Of a socket or file, relative to queue_directory.
    std::string queue_path(std::string_view path);
    // A name that no [table.NAME] has yet, for a table made of this setting.
    std::string new_table_name(std::string_view setting);
    // The name of the [table.NAME] that is made of what `origin` says, however many settings name it.
    struct TableSection {
        std::string name;
        bool is_new = true; // to be filled
    };
    TableSection table_section(const std::string& origin, std::string_view setting);

    ImportResult finish();

private:
    SettingResult* result_of(std::string_view name);
    // The value; without a remark behind it, "0 # none", which Postfix does not know. `read`: what reads such a value.
    template <class F> auto without_remark(std::string_view name, F read) -> decltype(read(std::string_view()));
    void add_undecided(std::string_view file, std::uint32_t line, std::string guard, std::string_view advice);

    std::vector<SettingResult> results_;
    std::vector<Undecided> undecided_;
    std::set<std::string, std::less<>> handled_; // settings that some step has dealt with
    std::size_t tables_made_ = 0;
    std::map<std::string, std::string> table_sections_; // names by origin
};

} // namespace postrider
