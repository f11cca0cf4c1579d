// Restrictions of Postfix that are access rules here, word by word: [access.NAME] for the listeners,
// [access_class.NAME] for the classes. Knows both notations; what has no counterpart is reported by its caller.
#pragma once
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace postrider {

class AccessRules {
public:
    // A list of a listener: "smtpd_client_restrictions", "client".
    struct List {
        std::string_view setting, key;
        std::vector<postfix::Restriction> restrictions;
    };
    struct Reporter {
        // A restriction of a list that has no counterpart.
        std::function<void(std::string_view setting, const postfix::Restriction&)> missing;
        // A part of one, which guards: "check_sender_access hash:/x: a@b.example".
        std::function<void(std::string_view setting, const std::string& part, const std::string& why)> unguarded;
        // The name of the [policy.NAME] that is made of the argument; nothing: none is, which was reported.
        std::function<std::optional<std::string>(std::string_view argument)> policy_service;
    };

    explicit AccessRules(Import& import);

    // Can only an access rule express the restriction?
    bool only_as_rule(const postfix::Restriction& restriction) const;
    bool is_class(std::string_view word) const { return classes_.contains(word); }
    // Restrictions that have no effect; "warn_if_reject" comes with its own. To be set before the first add().
    void leave_out_of_classes(std::function<bool(const postfix::Restriction&)> which) { left_out_ = std::move(which); }
    void add(const Import::Listener& listener, const std::vector<List>& lists, const Reporter& reporter);
    void write(const std::function<bool(const std::string& listener)>& listens);

private:
    struct Section {
        std::vector<std::string> listeners;
        bool delay_reject = true;
        std::vector<std::pair<std::string, std::vector<std::string>>> lists; // by key
        std::string origin;
    };
    std::vector<std::string> rules_of(std::string_view setting, std::span<const postfix::Restriction> restrictions,
                                      const Reporter& reporter);
    std::optional<std::string> rule_of(std::string_view setting, const postfix::Restriction& restriction,
                                       const Reporter& reporter);
    std::optional<std::string> table_of(std::string_view setting, const std::string& word, const std::string& argument,
                                        const Reporter& reporter);
    void check_entries(std::string_view setting, const std::string& word, const std::string& argument,
                       const Reporter& reporter);
    void check_filter(std::string_view setting, const std::string& guard, std::string_view value,
                      const Reporter& reporter);
    void check_filters(std::string_view setting, const std::string& word, const std::string& argument,
                       const Reporter& reporter);
    void add_classes(const Reporter& reporter);

    Import& import_;
    std::set<std::string, std::less<>> classes_; // of smtpd_restriction_classes
    bool classes_added_ = false;
    std::function<bool(const postfix::Restriction&)> left_out_;
    std::map<std::string, std::vector<std::string>> class_rules_;
    std::map<std::string, std::string> tables_; // converted, by Postfix's notation
    std::vector<Section> sections_;
};

} // namespace postrider
