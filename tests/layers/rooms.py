"""The rooms of the house: every folder with sources, what it is, and which other folders it may include.

From the ground up: a room includes only rooms above it in this list. Not listed, because always allowed: libsmtp and libspool
for all daemons, and daemons/common and daemons/decide for the daemons beside them. A folder that is not here, and an include
that is neither, fails test_layers.py. A new arrow is a decision: add it where the room should know the other one.
"""

ROOMS = {
    # characters, Base64, UTF-8, dates and the types of time
    "libsmtp/text": set(),
    # SASL mechanisms, SCRAM and secrets in memory
    "libsmtp/auth": {"libsmtp/text"},
    # outcome of a delivery attempt, its stage and the server's reply
    "libsmtp/delivery": set(),
    # structure, encodings and encoded words of MIME messages
    "libsmtp/mime": {"libsmtp/text"},
    # addresses and header fields of Internet messages
    "libsmtp/message": {"libsmtp/mime", "libsmtp/text"},
    # canonical forms and signature field of DKIM, without keys
    "libsmtp/dkim": {"libsmtp/message", "libsmtp/text"},
    # syntax of SMTP and LMTP: replies, parameters, capabilities, content framing
    "libsmtp/protocol": {"libsmtp/message", "libsmtp/text"},
    # kinds of delivery reports, and the messages that carry them
    "libsmtp/dsn": {"libsmtp/delivery", "libsmtp/message", "libsmtp/mime", "libsmtp/protocol", "libsmtp/text"},
    # parts of the client's side: commands, opening, transactions in a pipeline, time limits
    "libsmtp/session/client": {"libsmtp/auth", "libsmtp/delivery", "libsmtp/message", "libsmtp/protocol", "libsmtp/text"},
    # client and server side of a conversation, without sockets
    "libsmtp/session": {"libsmtp/auth", "libsmtp/message", "libsmtp/protocol", "libsmtp/session/client", "libsmtp/text"},
    # facts about recipients shared by queue, daemons and message files
    "libspool/delivery": {"libsmtp/delivery", "libsmtp/dsn"},
    # bytes and names of a message file, as values
    "libspool/format": {"libsmtp/delivery", "libsmtp/message", "libsmtp/protocol", "libsmtp/text",
        "libspool/delivery"},
    # file system, durable commits, free-space reserve, files put aside
    "libspool/disk": {"libspool/format"},
    # one message's file: its state, reading, writing and export
    "libspool/message": {"libsmtp/text", "libspool/delivery", "libspool/disk", "libspool/format"},
    # the spool as a whole: ids, storage, recovery, check, snapshot
    "libspool/store": {"libsmtp/text", "libspool/disk", "libspool/format", "libspool/message"},
    # what became of every message: lines of the journal, numbered, written and made durable
    "libspool/journal": {"libsmtp/text", "libspool/disk", "libspool/format"},
    # the journal's segments: read, sealed, searched block by block
    "libspool/journal/segments": {"libsmtp/text", "libspool/disk", "libspool/format", "libspool/journal"},
    # the hosts of a next hop, in the order they are tried
    "daemons/decide/hosts": set(),
    # what a failure means, advice on it, choice of source
    "daemons/decide/outcome": set(),
    # heaps, lists and slabs of the queue engine
    "daemons/decide/queue/containers": set(),
    # rates that all nodes of a fleet keep together, as one node sees them
    "daemons/decide/queue/rates": set(),
    # what the queue engine is told and says, its settings and listings, ladders, filters
    "daemons/decide/queue": {"daemons/decide/hosts", "daemons/decide/outcome", "daemons/decide/queue/rates"},
    # the objects of the queue, the step that is taken for an event, terms by number
    "daemons/decide/queue/model": {"daemons/decide/queue", "daemons/decide/queue/containers"},
    # messages, deliveries, queues and links, and each queue's share of its link's turns
    "daemons/decide/queue/tables": {"daemons/decide/hosts", "daemons/decide/queue", "daemons/decide/queue/containers",
        "daemons/decide/queue/model"},
    # where deliveries wait, connections and what goes over them, reports
    "daemons/decide/queue/delivery": {"daemons/decide/queue/containers", "daemons/decide/queue/model",
        "daemons/decide/queue/tables"},
    # questions about the state of the engine
    "daemons/decide/queue/inspection": {"daemons/decide/queue", "daemons/decide/queue/delivery",
        "daemons/decide/queue/model", "daemons/decide/queue/tables"},
    # what each event makes of the state; the parts put together as the engine
    "daemons/decide/queue/engine": {"daemons/decide/outcome", "daemons/decide/queue", "daemons/decide/queue/delivery",
        "daemons/decide/queue/inspection", "daemons/decide/queue/model", "daemons/decide/queue/tables"},
    # TLS policies: DANE, MTA-STS, levels, results
    "daemons/decide/tls": {"daemons/decide/hosts"},
    # routes: which next hop a domain has
    "daemons/decide/routing": {"daemons/decide/hosts", "daemons/decide/outcome", "daemons/decide/queue",
        "daemons/decide/tls"},
    # forms of an address, their lookup in tables, and what they are rewritten to
    "daemons/decide/rewriting": set(),
    # expansion of addresses into recipients
    "daemons/decide/addressing": {"daemons/decide/rewriting", "daemons/decide/routing"},
    # addresses that are verified at servers: what is remembered of them, and when one may be asked about
    "daemons/decide/verification": set(),
    # access rules for clients and their mail: what they are, and what they decide
    "daemons/decide/access": {"daemons/decide/rewriting", "daemons/decide/routing", "daemons/decide/verification"},
    # the tests of a client before it may send mail, and what is remembered of them
    "daemons/decide/screening": set(),
    # decisions about one message: DSN, idempotency, signing, suppression
    "daemons/decide/message": {"daemons/decide/queue"},
    # delivery of the journal's events to one endpoint: order, retries, what an answer means
    "daemons/decide/hooks": set(),
    # event loop, timers, descriptors, files, randomness, crash points
    "daemons/common/runtime": set(),
    # addresses, sockets, streams, HTTPS, the PROXY header
    "daemons/common/net": {"daemons/common/runtime"},
    # HTTP/1.1 server: connections, requests and answers, without routes
    "daemons/common/web": {"daemons/common/net", "daemons/common/runtime"},
    # IDNA names, regular expressions, units, manual page text
    "daemons/common/text": set(),
    # questions to the journal: query words, search, what became of a message
    "daemons/common/history": {"daemons/common/net", "daemons/decide/queue"},
    # kinds of configuration values and keys
    "daemons/common/config/schema": {"daemons/common/net", "daemons/common/text", "daemons/decide/routing"},
    # declares the key tables of all sections
    "daemons/common/config/sections": {"daemons/common/config/schema"},
    # formats of table files, their rules and specifications
    "daemons/common/lookup/format": {"daemons/common/net", "daemons/common/runtime", "daemons/common/text",
        "daemons/decide/routing"},
    # tables in databases: the files that describe their queries, templates, results; pure
    "daemons/common/lookup/database": {"daemons/common/lookup/format"},
    # sections for recipients: local, addresses, tables
    "daemons/common/config/sections/recipients": {"daemons/common/config/schema", "daemons/common/config/sections",
        "daemons/common/lookup/format", "daemons/common/net", "daemons/common/text", "daemons/decide/addressing",
        "daemons/decide/message", "daemons/decide/queue", "daemons/decide/rewriting", "daemons/decide/routing"},
    # sections for the process: names, spool, log, master, metrics
    "daemons/common/config/sections/system": {"daemons/common/config/schema", "daemons/common/config/sections",
        "daemons/common/config/sections/recipients", "daemons/common/history", "daemons/common/net",
        "daemons/common/text", "daemons/decide/queue", "daemons/decide/routing"},
    # sections for sending mail: DNS, routes, pools, reports
    "daemons/common/config/sections/delivery": {"daemons/common/config/schema", "daemons/common/config/sections",
        "daemons/common/config/sections/system", "daemons/common/net", "daemons/common/text",
        "daemons/decide/message", "daemons/decide/queue", "daemons/decide/routing", "daemons/decide/tls"},
    # sections for accepting mail: listeners, TLS, AUTH, filters
    "daemons/common/config/sections/server": {"daemons/common/config/schema", "daemons/common/config/sections",
        "daemons/common/config/sections/system", "daemons/common/lookup/format", "daemons/common/net",
        "daemons/common/text", "daemons/decide/access", "daemons/decide/routing", "daemons/decide/screening",
        "daemons/decide/verification"},
    # the messages between daemons, as values
    "daemons/common/proto": {"daemons/decide/hosts", "daemons/decide/tls", "daemons/decide/verification"},
    # TLS contexts, sessions and the verification of servers
    "daemons/common/crypto/tls": {"daemons/common/proto", "daemons/decide/tls"},
    # reads, completes and checks the whole configuration
    "daemons/common/config": {"daemons/common/config/schema", "daemons/common/config/sections",
        "daemons/common/config/sections/delivery", "daemons/common/config/sections/recipients",
        "daemons/common/config/sections/server", "daemons/common/config/sections/system", "daemons/common/crypto/tls",
        "daemons/common/lookup/format", "daemons/common/net", "daemons/common/runtime", "daemons/common/text",
        "daemons/decide/access", "daemons/decide/addressing", "daemons/decide/message", "daemons/decide/queue", "daemons/decide/routing"},
    # the sample configuration and its manual page, written from the tables of keys
    "daemons/common/config/documents": {"daemons/common/config", "daemons/common/config/schema",
        "daemons/common/config/sections", "daemons/common/text"},
    # how recipients are expanded, by the configuration
    "daemons/common/expansion": {"daemons/common/config", "daemons/common/config/sections/recipients", "daemons/common/text",
        "daemons/decide/addressing", "daemons/decide/routing"},
    # password files and the accounts at next hops
    "daemons/common/crypto/auth": {"daemons/common/net", "daemons/common/text"},
    # DKIM keys and signatures
    "daemons/common/crypto/dkim": {"daemons/common/crypto/tls"},
    # secrets and signatures of Standard Webhooks
    "daemons/common/crypto/webhook": set(),
    # log lines, their destination, and problems shown by status
    "daemons/common/logging": {"daemons/common/config", "daemons/common/config/sections/server",
        "daemons/common/runtime"},
    # the registry of metrics and their values in a process
    "daemons/common/logging/metrics": {"daemons/common/proto"},
    # what delivery agents share: message cache, log line, loop check
    "daemons/common/delivery": {"daemons/common/logging", "daemons/common/logging/metrics", "daemons/common/proto",
        "daemons/common/runtime"},
    # frames, channels and handshakes on UNIX sockets
    "daemons/common/ipc": {"daemons/common/logging", "daemons/common/net", "daemons/common/proto",
        "daemons/common/runtime"},
    # lookup tables: files, LMDB, SQLite, socketmap, tcp
    "daemons/common/lookup/tables": {"daemons/common/config/sections/recipients", "daemons/common/logging",
        "daemons/common/lookup/format", "daemons/common/net", "daemons/common/runtime", "daemons/common/text"},
    # alias files, included files, and a check of them
    "daemons/common/lookup/aliases": {"daemons/common/config", "daemons/common/config/sections/recipients",
        "daemons/common/lookup/format", "daemons/common/lookup/tables", "daemons/common/runtime",
        "daemons/common/text", "daemons/decide/access", "daemons/decide/rewriting"},
    # the key-value store on LMDB, and the suppression list
    "daemons/common/store": {"daemons/common/runtime", "daemons/common/text", "daemons/decide/message"},
    # idempotency keys: reservations, their store and owner
    "daemons/common/submission/idempotency": {"daemons/common/config/sections/server",
        "daemons/common/config/sections/system", "daemons/common/ipc", "daemons/common/logging",
        "daemons/common/logging/metrics", "daemons/common/proto", "daemons/common/runtime", "daemons/common/store",
        "daemons/decide/message"},
    # life of a daemon: start, supervision, confinement, privileges
    "daemons/common/process": {"daemons/common/config", "daemons/common/config/sections/system", "daemons/common/ipc",
        "daemons/common/logging", "daemons/common/logging/metrics", "daemons/common/lookup/format",
        "daemons/common/proto", "daemons/common/runtime", "daemons/common/submission/idempotency"},
    # what commands share: configuration in effect, warnings, listings
    "daemons/common/commands": {"daemons/common/config", "daemons/common/config/sections/delivery",
        "daemons/common/config/sections/recipients", "daemons/common/config/sections/server",
        "daemons/common/config/sections/system", "daemons/common/crypto/auth", "daemons/common/crypto/dkim",
        "daemons/common/crypto/tls", "daemons/common/crypto/webhook", "daemons/common/delivery", "daemons/common/ipc", "daemons/common/logging",
        "daemons/common/lookup/aliases", "daemons/common/lookup/database", "daemons/common/net", "daemons/common/process", "daemons/common/proto",
        "daemons/common/runtime", "daemons/common/text"},
    # the milter protocol and its client
    "daemons/common/filters/milter": {"daemons/common/config/sections/server", "daemons/common/logging",
        "daemons/common/net", "daemons/common/runtime"},
    # the effect of header checks on one message
    "daemons/common/filters": {"daemons/common/config/sections/delivery", "daemons/common/config/sections/server",
        "daemons/common/filters/milter", "daemons/common/lookup/format", "daemons/decide/routing"},
    # tables that rewrite the addresses of a message, and its header with them
    "daemons/common/rewriting": {"daemons/common/config/sections/recipients", "daemons/common/filters/milter",
        "daemons/common/lookup/format", "daemons/common/lookup/tables", "daemons/common/runtime", "daemons/common/text",
        "daemons/decide/addressing", "daemons/decide/rewriting"},
    # the DNS resolver and its answers
    "daemons/common/net/dns": {"daemons/common/config/sections/delivery", "daemons/common/net",
        "daemons/common/runtime", "daemons/decide/hosts", "daemons/decide/tls"},
    # what access rules ask: tables and the DNS
    "daemons/common/access": {"daemons/common/config/sections/recipients",
        "daemons/common/config/sections/server", "daemons/common/logging",
        "daemons/common/lookup/tables", "daemons/common/net/dns", "daemons/common/runtime", "daemons/common/text",
        "daemons/decide/access", "daemons/decide/addressing"},
    # tokens of the API's clients, and their file
    "daemons/common/tokens": {"daemons/common/net", "daemons/common/runtime"},
    # what all writers share: spool access, limits, pools, copies
    "daemons/common/submission": {"daemons/common/config/sections/delivery", "daemons/common/config/sections/server",
        "daemons/common/config/sections/system", "daemons/common/ipc", "daemons/common/logging",
        "daemons/common/logging/metrics", "daemons/common/proto", "daemons/common/runtime", "daemons/common/text",
        "daemons/decide/message", "daemons/decide/queue"},
    # command lines and terminal output of the commands
    "daemons/common/terminal": {"daemons/common/commands", "daemons/common/config"},
    # composes delivery reports and submits them
    "daemons/bounce": set(),
    # sources of an expansion: aliases, users, their files, tables, suppressions
    "daemons/categorizer/lookup": set(),
    # resolves recipients for the queue manager and smtpd
    "daemons/categorizer": {"daemons/categorizer/lookup"},
    # Postfix's file syntax, settings and defaults; pure
    "daemons/import-postfix/postfix": set(),
    # the table of what each Postfix setting becomes; data
    "daemons/import-postfix/setting_map": {"daemons/import-postfix/postfix"},
    # the configuration that is being written
    "daemons/import-postfix/draft": set(),
    # the state of a conversion; tables and networks, in both notations
    "daemons/import-postfix/import": {"daemons/import-postfix/draft", "daemons/import-postfix/postfix", "daemons/import-postfix/setting_map"},
    # next hops and transports, in both notations: programs, routes, pools, filters behind the queue
    "daemons/import-postfix/transports": {"daemons/import-postfix/import",
        "daemons/import-postfix/postfix"},
    # restrictions of smtpd and tests of postscreen
    "daemons/import-postfix/restrictions": {"daemons/import-postfix/import", "daemons/import-postfix/postfix",
        "daemons/import-postfix/transports"},
    # the conversion as a whole, and its other steps, subject by subject
    "daemons/import-postfix/conversion": {"daemons/import-postfix/import", "daemons/import-postfix/postfix", "daemons/import-postfix/restrictions",
        "daemons/import-postfix/transports"},
    # converts a Postfix configuration: the program
    "daemons/import-postfix": {"daemons/import-postfix/conversion"},
    # mbox and Maildir delivery, safe file access
    "daemons/local/mailbox": set(),
    # helper processes that run as the recipient; users' own files
    "daemons/local/as_user": {"daemons/local/mailbox"},
    # delivery to a command, and its exit status
    "daemons/local/command": {"daemons/local/as_user", "daemons/local/mailbox"},
    # one delivery: chooses, checks and writes each recipient's target
    "daemons/local/delivery": {"daemons/local/as_user", "daemons/local/command", "daemons/local/mailbox"},
    # local delivery process and the entry of its helper processes
    "daemons/local": {"daemons/local/as_user", "daemons/local/command", "daemons/local/delivery"},
    # starting and watching a child process; memory kills
    "daemons/master/children": set(),
    # keys, credentials and access tokens, sealed for the workers
    "daemons/master/secrets": set(),
    # runtime directory, sockets, systemd notification, startup advice
    "daemons/master/system": set(),
    # starts, watches, reloads and stops all other daemons
    "daemons/master": {"daemons/master/children", "daemons/master/secrets", "daemons/master/system"},
    # collects the daemons' metrics and serves them to Prometheus
    "daemons/metrics": set(),
    # pushes the journal's events to web servers and commands
    "daemons/events/hooks": set(),
    # compresses and indexes the journal, removes what is too old, and runs the hooks
    "daemons/events": {"daemons/events/hooks"},
    # messages made of texts and files, in the form of RFC 5322 and MIME; pure
    "daemons/http/compose": set(),
    # requests of the API as values: routes, JSON, submissions, errors; pure
    "daemons/http/requests": {"daemons/http/compose"},
    # what browsers send and keep: forms, cookies, logins; pure
    "daemons/http/browser": {"daemons/http/requests"},
    # clients of the queue-manager and of pickup
    "daemons/http/backend": {"daemons/http/requests"},
    # places in lists, as clients come back to them; pure
    "daemons/http/lists": set(),
    # what each path of the API does
    "daemons/http/endpoints": {"daemons/http/backend", "daemons/http/lists", "daemons/http/requests"},
    # the system as a whole: what passes, counted from the journal, and the settings in force
    "daemons/http/overview": {"daemons/http/endpoints", "daemons/http/requests"},
    # answers that are streamed as fast as a client reads, or as their parts come
    "daemons/http/streams": {"daemons/http/endpoints", "daemons/http/requests"},
    # what the API has for other software: hooks, metrics, EmailEngine's outbox
    "daemons/http/integration": {"daemons/http/endpoints", "daemons/http/requests"},
    # HTML and addresses as values that escape by construction; pure
    "daemons/http/html": set(),
    # style sheet, script and icon of the pages
    "daemons/http/pages/assets": set(),
    # the frame of pages, their routes, and the API as they use it
    "daemons/http/pages/frame": {"daemons/http/browser", "daemons/http/html", "daemons/http/pages/assets",
        "daemons/http/requests"},
    # what pages are made of: tables, fields, rows of links and messages; pure
    "daemons/http/pages/parts": {"daemons/http/html"},
    # pages about the system itself rather than its mail: hooks, trials, settings
    "daemons/http/pages/system": {"daemons/http/backend", "daemons/http/pages/frame", "daemons/http/pages/parts"},
    # pages that count what the journal has of a time: senders, refusals
    "daemons/http/pages/traffic": {"daemons/http/pages/frame", "daemons/http/pages/parts"},
    # what people see and do in a browser, by the API
    "daemons/http/pages": {"daemons/http/backend", "daemons/http/browser", "daemons/http/pages/frame",
        "daemons/http/pages/parts", "daemons/http/pages/system", "daemons/http/pages/traffic", "daemons/http/requests"},
    # the API over HTTP, and the pages: who may come in, and who answers
    "daemons/http": {"daemons/http/backend", "daemons/http/browser", "daemons/http/endpoints", "daemons/http/integration",
        "daemons/http/overview", "daemons/http/pages", "daemons/http/pages/frame", "daemons/http/requests", "daemons/http/streams"},
    # the pickup directory without mail: the form of its files, which are whole, those that failed
    "daemons/pickup/directory": set(),
    # accepts local submissions from a socket, the drop directory and the pickup directory
    "daemons/pickup": {"daemons/pickup/directory"},
    # Postfix's administration commands, as far as scripts use them
    "daemons/postfix-commands": set(),
    # what all commands share: control socket, message selection
    "daemons/postrider/command": set(),
    # commands for configuration, tables, passwords and DKIM keys
    "daemons/postrider/configuration": {"daemons/postrider/command"},
    # what became of mail, and the files of the journal
    "daemons/postrider/history": set(),
    # commands for messages, queues, links, suppressions and the spool
    "daemons/postrider/queue": {"daemons/postrider/command", "daemons/postrider/configuration",
        "daemons/postrider/history"},
    # what would become of mail: a test delivery, a client's session
    "daemons/postrider/try": {"daemons/postrider/command"},
    # hooks: their state, and commands for them
    "daemons/postrider/hooks": {"daemons/postrider/command"},
    # tokens of the API's clients
    "daemons/postrider/tokens": set(),
    # commands that start, stop, reload, activate and show the service
    "daemons/postrider/service": {"daemons/postrider/command"},
    # whether this host is fit to send mail for a domain; the domain's DNS records and keys
    "daemons/postrider/setup": {"daemons/postrider/command"},
    # the table of commands, help, glossary, shell completion
    "daemons/postrider/table": {"daemons/postrider/configuration", "daemons/postrider/history",
        "daemons/postrider/hooks", "daemons/postrider/queue", "daemons/postrider/service", "daemons/postrider/setup",
        "daemons/postrider/tokens", "daemons/postrider/try"},
    # main program of the administrator's command
    "daemons/postrider": {"daemons/postrider/table"},
    # converts between daemon messages, spool records and engine values; pure
    "daemons/queue-manager/conversion": set(),
    # route queries and test deliveries for operators, with advice
    "daemons/queue-manager/probe": {"daemons/queue-manager/conversion"},
    # the journal: lines that are written and synced together, and what waits for that
    "daemons/queue-manager/journal": set(),
    # reads, changes, checks and cleans the spool's files and stores
    "daemons/queue-manager/spool": set(),
    # addresses that are verified for smtpd: the memory of them on disk, and the checks
    "daemons/queue-manager/verification": {"daemons/queue-manager/probe"},
    # what operators see and pause: listings, JSON, pauses, a reload's effects; the showq socket
    "daemons/queue-manager/control": {"daemons/queue-manager/conversion", "daemons/queue-manager/probe",
        "daemons/queue-manager/spool"},
    # what happens to messages, as events of the journal
    "daemons/queue-manager/events": {"daemons/queue-manager/conversion", "daemons/queue-manager/journal",
        "daemons/queue-manager/spool"},
    # reports events to the queue engine and has its actions executed
    "daemons/queue-manager/engine_driver": {"daemons/queue-manager/conversion", "daemons/queue-manager/events",
        "daemons/queue-manager/spool"},
    # the conversations with the other daemons
    "daemons/queue-manager/peers": {"daemons/queue-manager/conversion", "daemons/queue-manager/engine_driver",
        "daemons/queue-manager/events", "daemons/queue-manager/probe", "daemons/queue-manager/spool"},
    # messages that are moved to other nodes
    "daemons/queue-manager/transfers": {"daemons/queue-manager/engine_driver", "daemons/queue-manager/events",
        "daemons/queue-manager/peers", "daemons/queue-manager/spool"},
    # what the fleet process asks for
    "daemons/queue-manager/fleet": {"daemons/queue-manager/engine_driver", "daemons/queue-manager/peers", "daemons/queue-manager/spool"},
    # the control socket: one class for each kind of request
    "daemons/queue-manager/requests": {"daemons/queue-manager/control", "daemons/queue-manager/conversion",
        "daemons/queue-manager/engine_driver", "daemons/queue-manager/events", "daemons/queue-manager/journal",
        "daemons/queue-manager/probe", "daemons/queue-manager/spool", "daemons/queue-manager/transfers",
        "daemons/queue-manager/verification"},
    # builds and connects the queue manager's parts; executes the engine's actions; main program
    "daemons/queue-manager": {"daemons/queue-manager/control", "daemons/queue-manager/conversion",
        "daemons/queue-manager/engine_driver", "daemons/queue-manager/events", "daemons/queue-manager/fleet",
        "daemons/queue-manager/journal", "daemons/queue-manager/peers", "daemons/queue-manager/probe", "daemons/queue-manager/requests",
        "daemons/queue-manager/spool", "daemons/queue-manager/transfers", "daemons/queue-manager/verification"},
    # sends messages to other nodes
    "daemons/transfer": set(),
    # the protocol of the store that nodes share: commands, replies, a session, whether it is there; pure
    "daemons/fleet/redis": set(),
    # rates that nodes share: tokens of the store, and how many nodes there are
    "daemons/fleet/rates": {"daemons/decide/queue/rates", "daemons/fleet/redis"},
    # idempotency keys that nodes share: the writers that ask, and the queue-manager, which knows what became of them
    "daemons/fleet/keys": {"daemons/fleet/redis"},
    # the store that nodes share: the connection, the heartbeat, the nodes
    "daemons/fleet": {"daemons/fleet/keys", "daemons/fleet/rates", "daemons/fleet/redis"},
    # queries tables in databases for the other daemons
    "daemons/maps": set(),
    # finds the next hops of domains; MTA-STS policies and TLS reports
    "daemons/router": set(),
    # the sendmail, mailq and newaliases commands
    "daemons/sendmail": set(),
    # what happened in a simulation, as text, charts and JSON
    "daemons/simulate/report": set(),
    # reads scenarios: traffic, remote servers and their failures
    "daemons/simulate/scenario": set(),
    # derives a scenario from a mail log and compares both
    "daemons/simulate/from_log": {"daemons/simulate/report", "daemons/simulate/scenario"},
    # the simulated world around the real queue engine
    "daemons/simulate/model": {"daemons/simulate/report", "daemons/simulate/scenario"},
    # simulates traffic and outages with a configuration: the program
    "daemons/simulate": {"daemons/simulate/from_log", "daemons/simulate/model", "daemons/simulate/report",
        "daemons/simulate/scenario"},
    # accounts at next hops and the throttling of logins
    "daemons/smtp-client/auth": set(),
    # a message's content as sent: signed, encoded; its results
    "daemons/smtp-client/message": set(),
    # TLS with a host as a value, DANE lookups, session resumption, TLS results for reports
    "daemons/smtp-client/tls": set(),
    # state that all connections of the process share
    "daemons/smtp-client/context": {"daemons/smtp-client/auth", "daemons/smtp-client/message",
        "daemons/smtp-client/tls"},
    # from a link's hosts to an open, possibly encrypted stream
    "daemons/smtp-client/connect": {"daemons/smtp-client/context"},
    # one connection's conversation and its deliveries
    "daemons/smtp-client/session": {"daemons/smtp-client/auth", "daemons/smtp-client/connect",
        "daemons/smtp-client/context", "daemons/smtp-client/message", "daemons/smtp-client/tls"},
    # test deliveries of operators, reported step by step
    "daemons/smtp-client/probe": {"daemons/smtp-client/session"},
    # SMTP client process: takes delivery orders and keeps their results
    "daemons/smtp-client": {"daemons/smtp-client/probe", "daemons/smtp-client/session", "daemons/smtp-client/tls"},
    # listening sockets, byte streams, PROXY protocol, limits per client, session eviction
    "daemons/smtpd/access": set(),
    # who may send what: rules, relay control, policy services
    "daemons/smtpd/policy": {"daemons/smtpd/access"},
    # AUTH exchanges by password file or Dovecot, lockouts
    "daemons/smtpd/auth": {"daemons/smtpd/policy"},
    # a message from MAIL to its commit
    "daemons/smtpd/intake": {"daemons/smtpd/policy"},
    # one client's connection: its questions, who answers them, and what the log says of it
    "daemons/smtpd/session": {"daemons/smtpd/access", "daemons/smtpd/auth", "daemons/smtpd/intake",
        "daemons/smtpd/policy"},
    # SMTP server process: lets clients in, limits them, stops in order
    "daemons/smtpd": {"daemons/smtpd/access", "daemons/smtpd/session"},
}
