# The package's configuration: mail of this host's programs only, until its owner says otherwise.
s/^#\[listen\.smtp\]/# Debian's package: only programs of this host are served. ["*:25"] is every address: then mail comes in from outside.\n[listen.smtp]/
s/^#addresses = \["\*:25"\]/addresses = ["127.0.0.1:25", "[::1]:25"]/
