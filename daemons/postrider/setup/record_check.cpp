#include "daemons/postrider/setup/record_check.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace postrider::setup {

namespace {

using dns::LookupStatus;

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!word.empty()) words.push_back(smtp::lowered(word));
    }
    return words;
}

// Of "v=DKIM1; k=rsa; p=…" (RFC 6376, 3.2): {"v": "DKIM1", …}; white space is removed from the values.
std::map<std::string, std::string> tags_of(std::string_view text) {
    std::map<std::string, std::string> tags;
    while (!text.empty()) {
        const auto part = text.substr(0, text.find(';'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const auto equals = part.find('=');
        if (equals == part.npos) continue;
        auto value = std::string(part.substr(equals + 1));
        std::erase_if(value, [](char c) { return c == ' ' || c == '\t'; });
        tags[smtp::lowered(smtp::trimmed(part.substr(0, equals)))] = std::move(value);
    }
    return tags;
}

std::string_view version_of(RecordKind kind) {
    switch (kind) {
    case RecordKind::mx: return "";
    case RecordKind::spf: return "v=spf1";
    case RecordKind::dkim: return ""; // the only record there; the version may be left out
    case RecordKind::dmarc: return "v=DMARC1";
    case RecordKind::mta_sts: return "v=STSv1";
    case RecordKind::tls_rpt: return "v=TLSRPTv1";
    }
    return "";
}

bool is_version(std::string_view text, std::string_view version) {
    if (text.size() < version.size() || !smtp::same_ignoring_case(text.substr(0, version.size()), version))
        return false;
    return text.size() == version.size() || text[version.size()] == ' ' || text[version.size()] == ';';
}

// What is wrong with the published text; nothing: it serves.
std::optional<std::string> difference(const Record& wanted, const std::string& found) {
    const auto tags = tags_of(found);
    const auto lacks = [&](const char* tag) {
        const auto at = tags.find(tag);
        return at == tags.end() || at->second.empty();
    };
    switch (wanted.kind) {
    case RecordKind::mx: return {};
    case RecordKind::spf: {
        const auto there = words_of(found);
        std::string missing;
        for (const auto& word : words_of(wanted.value))
            if (!word.ends_with("all") && std::ranges::find(there, word) == there.end())
                missing += (missing.empty() ? "" : " ") + word;
        if (missing.empty()) return {};
        return fmt::format("\"{}\" lacks \"{}\"", found, missing);
    }
    case RecordKind::dkim:
        if (lacks("p")) return "the key has been revoked (p= is empty or missing)";
        if (tags.at("p") != tags_of(wanted.value).at("p")) return "another key is published";
        return {};
    case RecordKind::dmarc: return lacks("p") ? std::optional("it has no policy (p=)") : std::nullopt;
    case RecordKind::mta_sts: return lacks("id") ? std::optional("it has no id") : std::nullopt;
    case RecordKind::tls_rpt:
        return lacks("rua") ? std::optional("it has no address for reports (rua=)") : std::nullopt;
    }
    return {};
}

Finding missing(const Record& wanted, Finding finding) {
    finding.grade = wanted.required ? Grade::bad : Grade::note;
    finding.text = wanted.required ? "missing" : "missing (optional)";
    return finding;
}

Finding compare_mx(const Record& wanted, const dns::Answer& published, Finding finding) {
    if (std::ranges::find(published.mx, wanted.value, &dns::MxRecord::host) != published.mx.end()) {
        finding.text = wanted.value;
        return finding;
    }
    std::string hosts;
    for (const auto& mx : published.mx) hosts += (hosts.empty() ? "" : ", ") + (mx.host.empty() ? "." : mx.host);
    finding.grade = wanted.required ? Grade::bad : Grade::note;
    finding.text = fmt::format("different: {}, expected {}", hosts, wanted.value);
    return finding;
}

} // namespace

Finding compare(const Record& wanted, const dns::Answer& published) {
    Finding finding{
        .grade = Grade::good, .subject = fmt::format("{} {}", wanted.type(), wanted.name), .text = "", .advice = ""};
    if (published.said == LookupStatus::failed) {
        finding.grade = Grade::bad;
        finding.text = "the lookup failed: " + published.why;
        return finding;
    }
    if (wanted.kind == RecordKind::mx)
        return published.mx.empty() ? missing(wanted, finding) : compare_mx(wanted, published, finding);
    std::vector<std::string> candidates;
    for (const auto& text : published.texts)
        if (is_version(text, version_of(wanted.kind)) || version_of(wanted.kind).empty()) candidates.push_back(text);
    if (candidates.empty()) return missing(wanted, finding);
    if (candidates.size() > 1) {
        finding.grade = Grade::bad;
        finding.text = fmt::format("different: there are {} such records, and only one is allowed", candidates.size());
        return finding;
    }
    if (const auto wrong = difference(wanted, candidates.front())) {
        finding.grade = Grade::bad;
        finding.text = "different: " + *wrong;
    } else {
        finding.text = candidates.front();
    }
    return finding;
}

} // namespace postrider::setup
