#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/net/dns/servers.h"
#include "daemons/common/runtime/random.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>
#include <ares.h>
#include <arpa/nameser.h>
#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <utility>

namespace dns {

namespace {

// Open questions, at most; far fewer than there are ids.
constexpr std::size_t most_questions = 20'000;

// One key for cache and questions: the type's number, then the name.
std::string key_of(std::string_view name, Type type) {
    std::string key = std::to_string(static_cast<unsigned>(type));
    key += ' ';
    key += name;
    return key;
}

std::string said_by(int status) {
    switch (status) {
    case ARES_ESERVFAIL: return "SERVFAIL";
    case ARES_EREFUSED: return "REFUSED";
    case ARES_ETIMEOUT: return "timeout";
    case ARES_ECONNREFUSED:
        return "no name server gave an answer"; // c-ares: refused, SERVFAIL or unreachable, all of them
    default: return ares_strerror(status);
    }
}

std::vector<common::Endpoint> servers_of(ares_channel channel) {
    std::vector<common::Endpoint> out;
    ares_addr_port_node* servers = nullptr;
    if (ares_get_servers_ports(channel, &servers) != ARES_SUCCESS) return out;
    for (const auto* each = servers; each; each = each->next) {
        char text[INET6_ADDRSTRLEN] = "";
        inet_ntop(each->family, &each->addr, text, sizeof text);
        const auto port = each->udp_port == 0 ? NS_DEFAULTPORT : each->udp_port;
        if (const auto address = common::IpAddress::parse(text))
            out.push_back({*address, static_cast<std::uint16_t>(port)});
    }
    ares_free_data(servers);
    return out;
}

// An attacker on the path between us and another host can set a bit.
bool only_on_loopback(const std::vector<common::Endpoint>& servers) {
    return !servers.empty() &&
           std::ranges::all_of(servers, [](const auto& each) { return each.address.is_loopback(); });
}

} // namespace

Lookup& Lookup::operator=(Lookup&& other) noexcept {
    if (this == &other) return *this;
    cancel();
    resolver_ = std::exchange(other.resolver_, nullptr);
    place_ = other.place_;
    if (resolver_) place_->owner = this;
    return *this;
}

void Lookup::cancel() {
    auto* resolver = std::exchange(resolver_, nullptr);
    if (!resolver) return;
    // The query itself continues: its answer is worth keeping.
    auto& list = place_->question ? place_->question->waiters : resolver->answered_;
    list.erase(place_);
}

Resolver::Resolver(common::Loop& loop, const config::Dns& settings)
    : loop_(loop), settings_(settings), timer_(loop,
                                               [this] {
                                                   ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
                                                   rearm_timer();
                                               }),
      hook_(loop, [this] { deliver(); }) {
    ares_library_init(ARES_LIB_INIT_ALL);
    ares_options options{};
    char lookups[] = "b", no_file[] = "/dev/null";
    options.flags = ARES_FLAG_EDNS | ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.ednspsz = static_cast<int>(settings.edns_size);
    options.timeout = static_cast<int>(settings.timeout.count() / 1000);
    options.tries = static_cast<int>(settings.tries);
    options.lookups = lookups;
    options.resolvconf_path = no_file;
    options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
        static_cast<Resolver*>(self)->watch_socket(fd, readable != 0, writable != 0);
    };
    options.sock_state_cb_data = this;
    int mask = ARES_OPT_FLAGS | ARES_OPT_EDNSPSZ | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
               ARES_OPT_SOCK_STATE_CB;
    if (!settings.servers.empty()) mask |= ARES_OPT_RESOLVCONF; // only the configured servers are used
    int status = ares_init_options(&channel_, &options, mask);
    if (status != ARES_SUCCESS) channel_ = nullptr;
    if (status == ARES_SUCCESS && !settings.servers.empty()) {
        std::string servers;
        for (const auto& server : settings.servers) servers += (servers.empty() ? "" : ",") + server.to_string();
        status = ares_set_servers_ports_csv(channel_, servers.c_str());
    }
    if (status != ARES_SUCCESS) broken_ = std::string("resolver: ") + ares_strerror(status);
    if (status != ARES_SUCCESS) return;
    const auto servers = servers_of(channel_);
    trusts_ad_ = settings.trust_ad && only_on_loopback(servers);
    const auto from = settings.servers.empty() ? ServersFrom::resolv_conf : ServersFrom::dns_servers;
    const auto resolv_conf = from == ServersFrom::resolv_conf ? common::read_file("/etc/resolv.conf") : std::string();
    asked_ = servers_text(servers, from, resolv_conf ? &*resolv_conf : nullptr);
}

Resolver::~Resolver() {
    closing_ = true;
    if (channel_) ares_destroy(channel_); // ends all questions; their callbacks find closing_
    ares_library_cleanup();
}

Lookup Resolver::look_up(std::string_view name, Type type, Done done) {
    auto canonical = canonical_name(name);
    const auto key = key_of(canonical, type);
    const auto tell = [&](Answer answer) {
        answered_.push_back({nullptr, std::move(done), std::move(answer), nullptr});
        hook_.schedule();
        return Lookup(*this, std::prev(answered_.end()));
    };
    if (canonical.empty()) {
        Answer none;
        none.said = LookupStatus::no_name;
        none.ttl = 3600;
        none.why = "not a host name";
        return tell(std::move(none));
    }
    if (const auto* known = cached(canonical, type)) return tell(*known);
    if (questions_.size() >= most_questions && !questions_.contains(key)) {
        Answer none;
        none.why = "too many lookups at the same time";
        return tell(std::move(none));
    }
    auto& question = questions_[key];
    const bool is_new = !question;
    if (is_new) question.reset(new Question{*this, key, std::move(canonical), type, fresh_id(), {}});
    auto& asked = *question;
    asked.waiters.push_back({nullptr, std::move(done), {}, &asked});
    Lookup lookup(*this, std::prev(asked.waiters.end()));
    if (is_new) ids_.insert(asked.id);
    if (is_new) ask(asked); // may be answered at once, with a failure
    return lookup;
}

void Resolver::ask(Question& question) {
    if (!broken_.empty()) {
        Answer none;
        none.why = broken_;
        return answered(question, std::move(none));
    }
    unsigned char* query = nullptr;
    int size = 0;
    const int status = ares_create_query(question.name.c_str(), ns_c_in, static_cast<int>(question.type), question.id,
                                         1, &query, &size, static_cast<int>(settings_.edns_size));
    if (status == ARES_SUCCESS) {
        // In a question AD asks whether the answer was validated (RFC 6840, 5.7).
        if (trusts_ad_) query[3] |= 0x20;
        ares_send(channel_, query, size, on_answer, &question); // may answer at once, which ends the question
    }
    ares_free_string(query);
    if (status != ARES_SUCCESS) {
        Answer none;
        none.why = ares_strerror(status);
        return answered(question, std::move(none));
    }
    rearm_timer();
}

// Different from that of any question under way: c-ares matches answers by it.
std::uint16_t Resolver::fresh_id() const {
    while (true) {
        std::uint16_t id;
        std::memcpy(&id, common::random_bytes(sizeof id).data(), sizeof id);
        if (!ids_.contains(id)) return id;
    }
}

void Resolver::on_answer(void* asked, int status, int, unsigned char* packet, int size) {
    auto& question = *static_cast<Question*>(asked);
    auto& self = question.resolver;
    if (self.closing_) return;
    Answer answer;
    if (packet && size > 0 && (status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND))
        answer = parse_answer({packet, static_cast<std::size_t>(size)}, question.name, question.type);
    else
        answer.why = said_by(status);
    if (answer.said == LookupStatus::failed) answer.why += ": " + self.asked_;
    answer.secure = answer.secure && self.trusts_ad_;
    self.answered(question, std::move(answer));
}

void Resolver::answered(Question& question, Answer answer) {
    keep(question.key, answer);
    if (const auto kept = recent_.find(question.key); kept != recent_.end()) answer.ttl = kept->second.answer.ttl;
    for (auto& waiting : question.waiters) {
        waiting.answer = answer;
        waiting.question = nullptr;
    }
    if (!question.waiters.empty()) hook_.schedule();
    answered_.splice(answered_.end(), question.waiters);
    ids_.erase(question.id);
    questions_.erase(std::string(question.key));
}

void Resolver::deliver() {
    while (!answered_.empty()) {
        auto& first = answered_.front();
        first.owner->resolver_ = nullptr;
        const auto done = std::move(first.done);
        const auto answer = std::move(first.answer);
        answered_.pop_front();
        done(answer);
    }
}

void Resolver::keep(const std::string& key, const Answer& answer) {
    const auto seconds = [](smtp::Duration d) { return static_cast<std::uint32_t>(d.count() / 1'000'000); };
    CacheEntry kept{answer, {}};
    auto& ttl = kept.answer.ttl;
    if (answer.said == LookupStatus::failed) {
        ttl = seconds(settings_.failure_ttl);
    } else {
        ttl = std::clamp(ttl, seconds(settings_.minimum_ttl), seconds(settings_.maximum_ttl));
        if (answer.said != LookupStatus::records) ttl = std::min(ttl, seconds(settings_.negative_ttl));
    }
    previous_.erase(key);
    if (settings_.cache_entries == 0 || ttl == 0) {
        recent_.erase(key);
        return;
    }
    if (recent_.size() >= (settings_.cache_entries + 1) / 2) previous_ = std::exchange(recent_, {});
    kept.until = common::Loop::now().monotonic + std::chrono::seconds(ttl);
    recent_.insert_or_assign(key, std::move(kept));
}

const Answer* Resolver::cached(std::string_view name, Type type) {
    const auto key = key_of(name, type);
    auto* cache = &recent_;
    auto found = recent_.find(key);
    if (found == recent_.end()) {
        cache = &previous_;
        found = previous_.find(key);
        if (found == previous_.end()) return nullptr;
    }
    const auto left = found->second.until - common::Loop::now().monotonic;
    if (left <= smtp::Duration::zero()) {
        cache->erase(found);
        return nullptr;
    }
    found->second.answer.ttl = static_cast<std::uint32_t>(left.count() / 1'000'000);
    return &found->second.answer;
}

void Resolver::watch_socket(int fd, bool readable, bool writable) {
    if (!readable && !writable) {
        sockets_.erase(fd); // c-ares closes it right after
        return;
    }
    auto& poll = sockets_[fd];
    if (!poll) poll = common::make_poll(loop_.uv(), this, fd);
    if (!poll) return;
    uv_poll_start(poll.get(), (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0),
                  [](uv_poll_t* handle, int status, int events) {
                      auto* self = common::owner_of<Resolver>(handle);
                      uv_os_fd_t fd = -1;
                      if (!self || uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd) != 0) return;
                      if (status < 0) events = UV_READABLE | UV_WRITABLE; // let c-ares find out what is wrong
                      ares_process_fd(self->channel_, events & UV_READABLE ? fd : ARES_SOCKET_BAD,
                                      events & UV_WRITABLE ? fd : ARES_SOCKET_BAD);
                      self->rearm_timer();
                  });
}

void Resolver::rearm_timer() {
    timeval space{};
    const timeval* in = ares_timeout(channel_, nullptr, &space);
    if (!in) return timer_.stop();
    // A millisecond more: c-ares compares finer than the loop's timers.
    timer_.start(std::chrono::seconds(in->tv_sec) + std::chrono::microseconds(in->tv_usec) +
                 std::chrono::milliseconds(1));
}

ClientName::ClientName(Resolver& resolver, const common::IpAddress& address, Done done)
    : resolver_(resolver), address_(address), done_(std::move(done)) {
    lookup_ = resolver_.look_up(reverse_name(address), Type::ptr, [this](const Answer& answer) {
        names_ = answer.names;
        if (names_.size() > 3) names_.resize(3);
        if (!names_.empty()) reverse_ = names_.front();
        std::reverse(names_.begin(), names_.end());
        next();
    });
}

void ClientName::next() {
    if (names_.empty()) return finish("");
    const auto type = address_.is_v4() ? Type::a : Type::aaaa;
    lookup_ = resolver_.look_up(names_.back(), type, [this](const Answer& answer) {
        auto name = std::move(names_.back());
        names_.pop_back();
        if (std::find(answer.addresses.begin(), answer.addresses.end(), address_) == answer.addresses.end())
            return next();
        finish(std::move(name));
    });
}

void ClientName::finish(std::string confirmed) {
    const auto done = std::move(done_);
    done({std::move(confirmed), std::move(reverse_)}); // may destroy this
}

} // namespace dns
